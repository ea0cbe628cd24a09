/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of lines, see script.h: reading them up to their `end`, splitting them, showing them.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "shell/line/input.h"
#include "shell/script/defined.h"
#include "shell/script/script.h"

enum { BLOCKS_MAX = 200 }; /* within one another */

void script_block_free(struct script_block *b)
{
	free(b->text);
	free(b->name);
	*b = (struct script_block){0};
}

void script_block_copy(const struct script_block *b, struct script_block *ret)
{
	*ret = (struct script_block){.text = xstrdup(b->text ? b->text : ""),
		.name = b->name ? xstrdup(b->name) : NULL,
		.line = b->line};
}

/* What a line does to the blocks around it. */
enum line_role { LINE_PLAIN, LINE_OPENS, LINE_OPENS_TEXT, LINE_ELSE, LINE_END };

static enum line_role role_of(const struct session *s, const char *line)
{
	const struct command *c = NULL;
	const char *rest;
	struct err *e;

	if (!strcmp(line, "end"))
		return LINE_END;
	if (!strcmp(line, "else"))
		return LINE_ELSE;
	if (!*line || *line == '#')
		return LINE_PLAIN;
	if (!strcmp(line, "python") || !strcmp(line, "py"))
		return LINE_OPENS_TEXT;
	e = defined_lookup(s, line, &c, &rest);
	if (e) {
		err_free(e);
		return LINE_PLAIN;
	}
	return !(c->flags & CMD_BLOCK)	? LINE_PLAIN
	       : c->run == cmd_document ? LINE_OPENS_TEXT
					: LINE_OPENS;
}

/* How deep in blocks the lines read so far end. */
struct nesting {
	unsigned depth;
	bool text; /* the innermost block is one of text */
};

/* Follows one line; returns its role for the block it is in. */
static enum line_role follow(const struct session *s, struct nesting *n, const char *line)
{
	enum line_role role = n->text && strcmp(line, "end") ? LINE_PLAIN : role_of(s, line);

	if (role == LINE_END) {
		n->depth--;
		n->text = false;
	} else if (role == LINE_OPENS || role == LINE_OPENS_TEXT) {
		n->depth++;
		n->text = role == LINE_OPENS_TEXT;
	}
	return role;
}

/* The line without the blanks around it. */
static char *trimmed(char *line)
{
	size_t n;

	line += strspn(line, " \t");
	n = strlen(line);
	while (n && strchr(" \t\r", line[n - 1]))
		line[--n] = 0;
	return line;
}

static struct err *no_end(const struct session *s, const char *what, unsigned line)
{
	struct err *e;

	if (s->input && (s->input->name || s->input->kind == INPUT_STREAM))
		e = err_new(ERR_USAGE, "the block of `%s` in line %u has no end", what, line);
	else
		e = err_new(ERR_USAGE, "the block of `%s` has no end", what);
	return err_cure(e, "Close it with a line \"end\"");
}

struct err *script_read(
	struct session *s, const char *what, enum script_lines how, struct script_block *ret)
{
	struct nesting n = {1, how == SCRIPT_TEXT};
	const unsigned begin = s->input ? s->input->line : 0;
	struct buf b = BUF_INIT;
	char prompt[2 * BLOCKS_MAX + 2], *line;

	*ret = (struct script_block){.line = begin + 1};
	if (s->input && s->input->name)
		ret->name = xstrdup(s->input->name);
	while (n.depth && n.depth <= BLOCKS_MAX) {
		const bool raw = n.text; /* Python's blanks count */
		char *text;

		snprintf(prompt, sizeof prompt, "%*s>", (int)n.depth - 1, "");
		line = session_read(s, prompt);
		if (!line)
			break;
		text = trimmed(line);
		follow(s, &n, text);
		if (n.depth)
			buf_printf(&b, "%s\n", raw ? line : text);
		free(line);
	}
	ret->text = b.len ? buf_steal(&b) : xstrdup("");
	buf_free(&b);
	if (!n.depth)
		return NULL;
	script_block_free(ret);
	if (n.depth > BLOCKS_MAX)
		return err_new(ERR_LIMIT, "more than %u blocks are within one another", BLOCKS_MAX);
	return no_end(s, what, begin);
}

struct err *script_skip(struct session *s, enum script_lines how)
{
	struct script_block b;

	if (!s->input || s->input->kind == INPUT_TERMINAL)
		return NULL;
	TRY(script_read(s, "end", how, &b));
	script_block_free(&b);
	return NULL;
}

/* Calls each with the lines of a block, one after the other, and their roles; ends when it returns
 * false. depth: of the blocks within it. */
static void each_line(const struct session *s, const char *text,
	bool (*each)(void *arg, const char *line, enum line_role role, unsigned depth), void *arg)
{
	struct nesting n = {1, false};
	bool on = true;

	while (on && *text) {
		size_t len = strcspn(text, "\n");
		char *line = xasprintf("%.*s", (int)len, text);
		const unsigned before = n.depth;
		enum line_role role = follow(s, &n, trimmed(line));

		on = each(arg, line, role, (n.depth < before ? n.depth : before) - 1);
		free(line);
		text += len + (text[len] == '\n');
	}
}

struct halves {
	struct buf half[2];
	unsigned lines[2], elses;
};

static bool take_half(void *arg, const char *line, enum line_role role, unsigned depth)
{
	struct halves *h = arg;

	if (role == LINE_ELSE && !depth && ++h->elses)
		return h->elses < 2;
	buf_printf(&h->half[h->elses], "%s\n", line);
	h->lines[h->elses]++;
	return true;
}

struct err *script_split(const struct session *s, const struct script_block *b,
	struct script_block *ret_then, struct script_block *ret_else)
{
	struct halves h = {0};

	each_line(s, b->text, take_half, &h);
	*ret_then = *ret_else = (struct script_block){0};
	if (h.elses < 2) {
		*ret_then = (struct script_block){
			xstrdup(buf_cstr(&h.half[0])), b->name ? xstrdup(b->name) : NULL, b->line};
		*ret_else = (struct script_block){xstrdup(buf_cstr(&h.half[1])),
			b->name ? xstrdup(b->name) : NULL, b->line + h.lines[0] + 1};
	}
	buf_free(&h.half[0]);
	buf_free(&h.half[1]);
	return h.elses < 2 ? NULL
			   : err_cure(err_new(ERR_USAGE, "an `if` has two `else`"),
				     "Put another `if` with an `end` of its own into the first");
}

struct printing {
	struct buf *out;
	unsigned indent;
};

static bool print_line(void *arg, const char *line, enum line_role role, unsigned depth)
{
	const struct printing *p = arg;

	if (*line)
		buf_printf(p->out, "%*s%s\n",
			(int)(p->indent + 2 * (depth - (role == LINE_ELSE && depth))), "", line);
	else
		buf_byte(p->out, '\n');
	return true;
}

void script_print(const struct session *s, const char *text, unsigned indent, struct buf *out)
{
	each_line(s, text, print_line, &(struct printing){out, indent});
}
