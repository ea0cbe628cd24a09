/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a command by what the user typed: gdb's rules. Command names form a tree by their words
 * ("info streams"); at each level an exact name or alias wins, then a prefix that only one name
 * has.
 */
#include <ctype.h>
#include <string.h>
#include "shell/line/command.h"
#include "base/words.h"

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static size_t name_len(const char *text)
{
	size_t n = 0;

	if (*text == '!' || *text == '|')
		return 1;
	while (is_name_char(text[n]))
		n++;
	return n;
}

/* The part of a row's name at the level below `parent` ("" or "info "), or NULL if it is
 * elsewhere. */
static const char *level_name(const struct command *c, const char *parent)
{
	size_t n = strlen(parent);

	if (strncmp(c->name, parent, n) || strchr(c->name + n, ' '))
		return NULL;
	return c->name + n;
}

static bool has_alias(const struct command *c, const char *word, size_t len)
{
	const char *p = c->aliases;

	while (*p) {
		size_t n = strcspn(p, " ");

		if (n == len && !memcmp(p, word, len))
			return true;
		p += n;
		p += strspn(p, " ");
	}
	return false;
}

static const struct command *find_exact(
	const struct command *table, unsigned n, const char *parent, const char *word, size_t len)
{
	for (unsigned i = 0; i < n; i++) {
		const char *name = level_name(&table[i], parent);

		if (name && ((strlen(name) == len && !memcmp(name, word, len)) ||
				    has_alias(&table[i], word, len)))
			return &table[i];
	}
	return NULL;
}

unsigned lookup_distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	unsigned d[MAX + 1][MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > MAX || lb > MAX)
		return MAX;
	for (size_t i = 0; i <= la; i++) {
		for (size_t j = 0; j <= lb; j++) {
			unsigned best;

			if (!i || !j) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[la][lb];
}

static struct err *unknown(
	const struct command *table, unsigned n, const char *parent, const char *word, size_t len)
{
	char typed[40];
	const char *nearest = NULL;
	/* in a short word, two wrong letters leave too little */
	unsigned best = len < 3 ? 0 : len < 5 ? 2 : 3;
	int up = *parent ? (int)strlen(parent) - 1 : 0;
	struct err *e;

	if (len >= sizeof typed)
		len = sizeof typed - 1;
	memcpy(typed, word, len);
	typed[len] = 0;
	for (unsigned i = 0; i < n; i++) {
		const char *name = level_name(&table[i], parent);
		unsigned d = name ? lookup_distance(typed, name) : best;

		if (d < best) {
			best = d;
			nearest = name;
		}
	}
	e = err_new(ERR_USAGE, "unknown command: %s%s", parent, *typed ? typed : word);
	if (nearest)
		return err_cure(e, "Did you mean \"%s%s\"? \"help%s%.*s\" lists what there is",
			parent, nearest, up ? " " : "", up, parent);
	return err_cure(e, "\"help%s%.*s\" lists what there is", up ? " " : "", up, parent);
}

static struct err *ambiguous(const char *parent, const char *word, size_t len, struct buf *names)
{
	struct err *e = err_new(ERR_USAGE, "ambiguous command: %s%.*s, could be: %s", parent,
		(int)len, word, buf_cstr(names));

	return err_cure(e, "Type more letters of the one you mean");
}

/* Looks up one level: the row named by word, or by a prefix of it. */
static struct err *find_one(const struct command *table, unsigned n, const char *parent,
	const char *word, size_t len, const struct command **ret)
{
	const struct command *found = len ? find_exact(table, n, parent, word, len) : NULL;
	struct buf names = BUF_INIT;
	unsigned matches = 0;
	struct err *e = NULL;

	for (unsigned i = 0; !found && len && i < n; i++) {
		const char *name = level_name(&table[i], parent);

		if (!name || strncmp(name, word, len))
			continue;
		*ret = &table[i];
		buf_printf(&names, "%s%s", matches++ ? ", " : "", name);
	}
	if (found)
		*ret = found;
	else if (!matches)
		e = unknown(table, n, parent, word, len);
	else if (matches > 1)
		e = ambiguous(parent, word, len, &names);
	buf_free(&names);
	return e;
}

struct err *lookup_command(const struct command *table, unsigned n, const char *text,
	const struct command **ret, const char **ret_rest)
{
	char parent[64] = "";

	*ret = NULL;
	for (;;) {
		size_t len;

		text += strspn(text, " \t");
		len = name_len(text);
		if (*ret && !*text)
			break;
		TRY(find_one(table, n, parent, text, len, ret));
		text += len;
		if (!((*ret)->flags & CMD_PREFIX))
			break;
		BUG_ON(strlen((*ret)->name) + 2 > sizeof parent);
		strcpy(parent, (*ret)->name);
		strcat(parent, " ");
	}
	*ret_rest = text + strspn(text, " \t");
	return NULL;
}

bool lookup_is_name(const struct command *c, const char *word)
{
	const char *last = strrchr(c->name, ' ');

	return !strcmp(last ? last + 1 : c->name, word) || has_alias(c, word, strlen(word));
}

void lookup_complete(const struct command *table, unsigned n, const char *before, const char *word,
	void (*add)(void *arg, const char *candidate), void *arg)
{
	for (unsigned i = 0; i < n; i++) {
		const char *name = level_name(&table[i], before);

		if (name && !(table[i].flags & CMD_UNLISTED) && !strncmp(name, word, strlen(word)))
			add(arg, name);
	}
}

struct err *cmd_count(const struct cmd_args *a, uint64_t *ret)
{
	*ret = 1;
	if (a->argc && (a->argc > 1 || !word_u64(a->argv[0], ret) || !*ret))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no count", a->rest), "Use \"%s 3\"",
			a->cmd->name);
	return NULL;
}
