/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that holds itself, see ptx-hold.h. The text is not parsed: the body of an entry function is what follows the first brace behind its
 * name, and PTX has no braces and no semicolons in between but in comments.
 */
#include <string.h>
#include "replay/ptx-hold.h"

static const char hold[] =
	"\n{\n"
	"\t.reg .pred %%tsdb_p;\n"
	"\t.reg .b64 %%tsdb_begin, %%tsdb_now;\n"
	"\tgriddepcontrol.launch_dependents;\n"
	"\tmov.u64 %%tsdb_begin, %%globaltimer;\n"
	"$tsdb_hold:\n"
	"\tnanosleep.u32 1000;\n"
	"\tmov.u64 %%tsdb_now, %%globaltimer;\n"
	"\tsub.u64 %%tsdb_now, %%tsdb_now, %%tsdb_begin;\n"
	"\tsetp.lt.u64 %%tsdb_p, %%tsdb_now, %u;\n"
	"\t@%%tsdb_p bra $tsdb_hold;\n"
	"}\n";

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* Behind the comment that begins at p, or p when none does. */
static const char *skip_comment(const char *p, const char *end)
{
	const char *at;

	if (end - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
		return p;
	at = p[1] == '/' ? memchr(p, '\n', (size_t)(end - p)) : memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
	return !at ? end : at + (p[1] == '/' ? 1 : 2);
}

static bool begins_with(const char *p, const char *end, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(end - p) > n && !memcmp(p, word, n) && !is_name(p[n]);
}

/* Behind the brace that opens the body of what is declared at p; NULL: it has none. */
static const char *body(const char *p, const char *end)
{
	while (p < end && *p != '{' && *p != ';') {
		const char *q = skip_comment(p, end);

		p = q == p ? p + 1 : q;
	}
	return p < end && *p == '{' ? p + 1 : NULL;
}

/* Behind ".entry", when that is at p and declares this kernel. */
static bool is_entry(const char *p, const char *end, const char *kernel)
{
	if (!begins_with(p, end, ".entry"))
		return false;
	for (p += strlen(".entry"); p < end && strchr(" \t\r\n", *p); p++)
		;
	return begins_with(p, end, kernel);
}

bool ptx_hold(struct buf *out, const char *text, size_t n, const char *kernel)
{
	const char *end = text + strnlen(text, n), *p = text, *at = NULL;

	while (p < end && !at) {
		const char *q = skip_comment(p, end);

		at = q == p && is_entry(p, end, kernel) ? body(p, end) : NULL;
		p = q == p ? p + 1 : q;
	}
	if (!at)
		return false;
	buf_add(out, text, (size_t)(at - text));
	buf_printf(out, hold, PTX_HOLD_NS);
	buf_add(out, at, (size_t)(end - at));
	buf_byte(out, 0);
	return true;
}
