/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of the user's commands. As in gdb they are replaced as text, with their quotes, before
 * a line is run: `$arg0*2` of "1+1" is 1+1*2.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "shell/script/script.h"

enum { LINE_MAX_BYTES = 1 << 20 }; /* of a line whose arguments have been put in */

struct user_args {
	char **v;
	unsigned n, cap;
};

/* The length of the argument at p: blanks within quotes, and behind a backslash, belong to it. */
static size_t argument_length(const char *p)
{
	char quote = 0;
	size_t n = 0;

	for (; p[n] && (quote || !isspace((unsigned char)p[n])); n++) {
		if (p[n] == '\\' && p[n + 1])
			n++;
		else if (quote)
			quote = p[n] == quote ? 0 : quote;
		else if (p[n] == '"' || p[n] == '\'')
			quote = p[n];
	}
	return n;
}

struct user_args *user_args_new(const char *text)
{
	struct user_args *a = xcalloc(1, sizeof *a);

	for (;;) {
		size_t n;

		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			return a;
		n = argument_length(text);
		MAKE_ROOM(a->v, a->n, a->cap);
		a->v[a->n++] = xasprintf("%.*s", (int)n, text);
		text += n;
	}
}

void user_args_free(struct user_args *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	free(a);
}

/* Finds the next $argc or $argN; *ret_len is its length. */
static const char *find_argument(const char *p, size_t *ret_len)
{
	for (; (p = strstr(p, "$arg")) != NULL; p += 4) {
		const char after = p[4];

		if (after == 'c' && !isalnum((unsigned char)p[5]) && p[5] != '_') {
			*ret_len = 5;
			return p;
		}
		*ret_len = 4 + strspn(p + 4, "0123456789");
		if (*ret_len > 4)
			return p;
	}
	return NULL;
}

struct err *user_args_put(const struct user_args *a, const char *line, char **ret)
{
	struct buf b = BUF_INIT;
	const char *at;
	size_t len;

	*ret = NULL;
	while (a && (at = find_argument(line, &len)) != NULL) {
		const unsigned long i = strtoul(at + 4, NULL, 10);

		buf_add(&b, line, (size_t)(at - line));
		if (at[4] == 'c') {
			buf_printf(&b, "%u", a->n);
		} else if (i < a->n) {
			buf_str(&b, a->v[i]);
		} else {
			buf_free(&b);
			return err_cure(err_new(ERR_USAGE, "argument %lu is missing", i),
				"The command was given %u", a->n);
		}
		line = at + len;
		if (b.len > LINE_MAX_BYTES) {
			buf_free(&b);
			return err_new(ERR_LIMIT,
				"with its arguments the line is longer than %u bytes",
				LINE_MAX_BYTES);
		}
	}
	buf_str(&b, line);
	*ret = buf_steal(&b);
	return NULL;
}
