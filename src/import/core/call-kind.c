/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of calls, see call-kind.h. The runtimes and drivers of both vendors use the same words
 * behind their prefixes.
 */
#include "import/core/call-kind.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *word;
	enum call_kind kind;
} words[] = {{"GraphLaunch", CALL_GRAPH}, {"LaunchHostFunc", CALL_OTHER},
	{"LaunchHostFn", CALL_OTHER}, {"Launch", CALL_LAUNCHES}, {"ModuleLaunch", CALL_LAUNCHES},
	{"ExtLaunch", CALL_LAUNCHES}, {"ExtModuleLaunch", CALL_LAUNCHES}, {"Memcpy", CALL_COPIES},
	{"Memset", CALL_FILLS}, {"DeviceSynchronize", CALL_WAITS_CTX},
	{"CtxSynchronize", CALL_WAITS_CTX}, {"ThreadSynchronize", CALL_WAITS_CTX},
	{"StreamSynchronize", CALL_WAITS_STREAM}, {"EventSynchronize", CALL_WAITS_EVENT},
	{"EventRecord", CALL_RECORDS}, {"StreamWaitEvent", CALL_STREAM_WAITS}};

/* The name behind its vendor's prefix; NULL: it has none. */
static const char *behind_prefix(const char *name)
{
	static const char *const prefixes[] = {"cuda", "hip", "cu"};

	for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		const size_t n = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], n) && name[n] >= 'A' && name[n] <= 'Z')
			return name + n;
	}
	return NULL;
}

enum call_kind call_kind_of(const char *name)
{
	const char *rest = behind_prefix(name);

	for (unsigned i = 0; rest && i < sizeof words / sizeof *words; i++) {
		if (!strncmp(rest, words[i].word, strlen(words[i].word)))
			return words[i].kind;
	}
	return CALL_OTHER;
}

bool call_kind_waits(enum call_kind k)
{
	return k == CALL_WAITS_CTX || k == CALL_WAITS_STREAM || k == CALL_WAITS_EVENT;
}

bool call_is_async(const char *name)
{
	return strstr(name, "Async") != NULL;
}

bool call_is_hip(const char *name)
{
	return !strncmp(name, "hip", 3) && behind_prefix(name);
}
