/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel's result may be the time: its PTX, where the trace has it, reads a clock.
 */
#include "shell/reads-clock.h"

#include <string.h>

/* The text between the braces of .entry name; false: this PTX has no such kernel. */
static bool find_body(const char *ptx, const char *name, const char **ret, size_t *ret_n)
{
	const size_t n = strlen(name);

	for (const char *at = ptx; (at = strstr(at, ".entry ")); at++) {
		const char *word = at + strlen(".entry "), *open, *close;

		word += strspn(word, " \t\n");
		if (strncmp(word, name, n) || !strchr(" \t\n({", word[n]))
			continue;
		open = strchr(word, '{');
		close = open ? strstr(open, "\n}") : NULL;
		*ret = open ? open : word;
		*ret_n = close ? (size_t)(close - *ret) : strlen(*ret);
		return true;
	}
	return false;
}

static const char *clock_in(const char *body, size_t n)
{
	static const char *const clocks[] = {"%globaltimer", "%clock"};

	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
		if (memmem(body, n, clocks[i], strlen(clocks[i])))
			return clocks[i];
	return NULL;
}

const char *reads_clock(struct sbt_reader *r, const char *kernel)
{
	const char *found = NULL, *body;
	struct buf code = BUF_INIT;
	bool is_ptx, done = false;
	uint64_t hash;
	size_t n;

	for (unsigned i = 0; !done && sbt_reader_code_at(r, i, &hash, &is_ptx); i++) {
		if (!is_ptx)
			continue;
		buf_clear(&code);
		struct err *e = sbt_reader_code(r, hash, &code, &is_ptx);
		done = !e && find_body(buf_cstr(&code), kernel, &body, &n);
		if (done)
			found = clock_in(body, n);
		err_free(e);
	}
	buf_free(&code);
	return found;
}
