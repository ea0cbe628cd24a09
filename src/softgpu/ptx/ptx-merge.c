/* SPDX-License-Identifier: Apache-2.0
 *
 * Links PTX statement by statement: each text is cut into the statements at its outermost level,
 * and these are put together again. Nothing here knows instructions; a text that is no PTX at all
 * is found by the parser that reads the result.
 */
#include "softgpu/ptx/ptx-merge.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { ST_OTHER, ST_HEADER, ST_FILE, ST_VAR, ST_FUNC };
enum linkage { LK_PRIVATE, LK_VISIBLE, LK_WEAK, LK_EXTERN };

struct word {
	const char *s;
	size_t n;
};

struct statement {
	const char *start, *end;
	enum kind kind;
	enum linkage linkage;
	bool body; /* a function's */
	struct word name;
};

struct text {
	struct statement *list;
	unsigned n, room;
	unsigned file_base, files; /* added to its file numbers; the highest */
};

struct out {
	char *p;
	size_t n, room;
	bool failed;
};

static void put(struct out *o, const char *s, size_t n)
{
	if (o->n + n + 1 > o->room) {
		size_t room = (o->n + n + 1) * 2;
		char *p = o->failed ? NULL : realloc(o->p, room);

		if (!p) {
			o->failed = true;
			return;
		}
		o->p = p;
		o->room = room;
	}
	memcpy(o->p + o->n, s, n);
	o->n += n;
	o->p[o->n] = '\0';
}

/* --- words --- */
static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* The end of the comment, string, word or single character at s. */
static const char *after(const char *s)
{
	const char *e;

	if (s[0] == '/' && s[1] == '/')
		return s + strcspn(s, "\n");
	if (s[0] == '/' && s[1] == '*') {
		e = strstr(s + 2, "*/");
		return e ? e + 2 : s + strlen(s);
	}
	if (s[0] == '"') {
		for (e = s + 1; *e && *e != '"'; e++)
			if (*e == '\\' && e[1])
				e++;
		return *e ? e + 1 : e;
	}
	if (word_char(*s)) {
		while (word_char(*s))
			s++;
		return s;
	}
	return s + 1;
}

static bool is_comment(const char *s)
{
	return s[0] == '/' && (s[1] == '/' || s[1] == '*');
}

static const char *skip(const char *s)
{
	while (*s && (isspace((unsigned char)*s) || is_comment(s)))
		s = is_comment(s) ? after(s) : s + 1;
	return s;
}

static bool same(struct word a, struct word b)
{
	return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

static bool is(struct word w, const char *s)
{
	return w.n == strlen(s) && !memcmp(w.s, s, w.n);
}

/* --- cutting --- */
/* Notes what a directive's name says about the statement. */
static void directive(struct statement *st, struct word w)
{
	if (is(w, "visible"))
		st->linkage = LK_VISIBLE;
	else if (is(w, "weak") || is(w, "common"))
		st->linkage = LK_WEAK;
	else if (is(w, "extern"))
		st->linkage = LK_EXTERN;
	else if (st->kind != ST_OTHER)
		return;
	else if (is(w, "func") || is(w, "entry"))
		st->kind = ST_FUNC;
	else if (is(w, "global") || is(w, "const") || is(w, "shared"))
		st->kind = ST_VAR;
	else if (is(w, "version") || is(w, "target") || is(w, "address_size"))
		st->kind = ST_HEADER;
	else if (is(w, "file") || is(w, "loc"))
		st->kind = ST_FILE;
}

/* One statement from s on, which is no blank. */
static struct statement cut(const char *s)
{
	struct statement st = {.start = s, .end = s};
	int braces = 0, parens = 0;
	bool section = false, dot = false;

	while (*s) {
		const char *e = after(s);
		struct word w = {s, (size_t)(e - s)};

		if (*s == '\n' && (st.kind == ST_HEADER || st.kind == ST_FILE))
			break;
		braces += *s == '{' ? 1 : *s == '}' ? -1 : 0;
		parens += *s == '(' ? 1 : *s == ')' ? -1 : 0;
		if (*s == '{' && st.kind == ST_FUNC)
			st.body = true;
		if (word_char(*s) && dot && !braces && !parens) {
			section |= is(w, "section");
			directive(&st, w);
		} else if (word_char(*s) && !isdigit((unsigned char)*s) && !dot && !braces &&
			   !parens && !st.name.n && (st.kind == ST_FUNC || st.kind == ST_VAR)) {
			st.name = w;
		}
		if (!isspace((unsigned char)*s) && !is_comment(s))
			dot = *s == '.';
		s = e;
		if (braces <= 0 && ((w.s[0] == ';') || (w.s[0] == '}' && (st.body || section))))
			break;
	}
	st.end = s;
	return st;
}

static bool add(struct text *t, struct statement st)
{
	if (t->n == t->room) {
		unsigned room = t->room ? 2 * t->room : 64;
		struct statement *p = realloc(t->list, room * sizeof(*p));

		if (!p)
			return false;
		t->list = p;
		t->room = room;
	}
	t->list[t->n++] = st;
	return true;
}

static bool cut_all(struct text *t, const char *s)
{
	for (s = skip(s); *s; s = skip(s)) {
		struct statement st = cut(s);

		if (!add(t, st))
			return false;
		s = st.end;
	}
	return true;
}

/* --- putting together --- */
static bool defines(const struct statement *st)
{
	return st->name.n &&
	       (st->kind == ST_VAR ? st->linkage != LK_EXTERN : st->kind == ST_FUNC && st->body);
}

/* The definition of a public name among the first n texts. */
static const struct statement *defined(const struct text *texts, unsigned n, struct word name)
{
	unsigned i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < texts[i].n; k++) {
			const struct statement *st = &texts[i].list[k];

			if (defines(st) && st->linkage != LK_PRIVATE && same(st->name, name))
				return st;
		}
	return NULL;
}

/* A name that a text defines, and not for others. */
static bool private_name(const struct text *t, struct word w)
{
	unsigned k;

	for (k = 0; k < t->n; k++)
		if (defines(&t->list[k]) && t->list[k].linkage == LK_PRIVATE &&
			same(t->list[k].name, w))
			return true;
	return false;
}

/* A name that a text declares or defines for others, or takes from them. */
static bool public_name(const struct text *t, struct word w)
{
	unsigned k;

	for (k = 0; k < t->n; k++)
		if (t->list[k].linkage != LK_PRIVATE && same(t->list[k].name, w))
			return true;
	return false;
}

/* Whether a text's private name gets its number. The first text's names stay as they are, for those
 * that look them up, unless another text has the name, too, and means another thing. */
static bool is_marked(const struct text *texts, unsigned n, unsigned number, struct word w)
{
	if (!private_name(&texts[number], w))
		return false;
	if (number)
		return true;
	for (unsigned i = 1; i < n; i++)
		if (public_name(&texts[i], w))
			return true;
	return false;
}

/* Copies a statement, its private names marked with the text's number and its file numbers moved.
 */
static void copy(
	struct out *o, struct text *texts, unsigned n, const struct statement *st, unsigned number)
{
	struct text *t = &texts[number];
	const char *s = st->start;
	bool dot = false, file = false;
	char mark[32];

	while (s < st->end) {
		const char *e = after(s);
		struct word w = {s, (size_t)(e - s)};

		put(o, w.s, w.n);
		if (word_char(*s) && !dot && is_marked(texts, n, number, w))
			put(o, mark, (size_t)snprintf(mark, sizeof(mark), "__link%u", number));
		if (file && isdigit((unsigned char)*s)) {
			unsigned v = (unsigned)strtoul(s, NULL, 10);

			o->n -= w.n;
			put(o, mark, (size_t)snprintf(mark, sizeof(mark), "%u", v + t->file_base));
			t->files = v > t->files ? v : t->files;
			file = false;
		}
		if ((dot && (is(w, "file") || is(w, "loc"))) || is(w, "inlined_at"))
			file = true;
		if (!isspace((unsigned char)*s) && !is_comment(s))
			dot = *s == '.';
		s = e;
	}
	put(o, "\n", 1);
}

static bool fail(char *log, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(log, n, fmt, ap);
	va_end(ap);
	return false;
}

/* Text i of the list, after those before it. */
static bool merge_one(struct out *o, const struct ptx_input *in, struct text *texts, unsigned n,
	unsigned i, char *log, size_t log_size)
{
	struct text *t = &texts[i];
	unsigned k;

	for (k = 0; k < t->n; k++) {
		const struct statement *st = &t->list[k], *before = NULL;

		if (st->name.n && (st->linkage != LK_PRIVATE || !defines(st)))
			before = defined(texts, i, st->name);
		if (st->kind == ST_HEADER && i)
			continue;
		if (before && st->kind == ST_VAR && !defines(st))
			continue; /* declared after its definition */
		if (before && defines(st)) {
			if (st->linkage == LK_WEAK)
				continue;
			if (before->linkage != LK_WEAK)
				return fail(log, log_size, "'%.*s' of %s is defined before",
					(int)(st->name.n < 100 ? st->name.n : 100), st->name.s,
					in[i].name ? in[i].name : "an input");
			return fail(log, log_size,
				"'%.*s' of %s is weak before: its strong definition must come first",
				(int)(st->name.n < 100 ? st->name.n : 100), st->name.s,
				in[i].name ? in[i].name : "an input");
		}
		copy(o, texts, n, st, i);
	}
	return true;
}

char *ptx_merge(const struct ptx_input *in, unsigned n, size_t *size, char *log, size_t log_size)
{
	struct text *texts = calloc(n + 1, sizeof(*texts));
	struct out o = {0};
	bool ok = texts != NULL;
	unsigned i;

	if (log_size)
		log[0] = '\0';
	for (i = 0; ok && i < n; i++)
		ok = cut_all(&texts[i], in[i].text);
	for (i = 0; ok && i < n; i++) {
		texts[i].file_base = i ? texts[i - 1].file_base + texts[i - 1].files : 0;
		ok = merge_one(&o, in, texts, n, i, log, log_size);
	}
	for (i = 0; texts && i < n; i++)
		free(texts[i].list);
	free(texts);
	if (!ok || o.failed || !o.p) {
		const bool empty = ok && !o.failed, wrong = empty || (log_size && log[0]);
		if (log_size && !log[0])
			fail(log, log_size, empty ? "nothing to link" : "out of memory");
		free(o.p);
		errno = wrong ? EINVAL : ENOMEM;
		return NULL;
	}
	*size = o.n;
	return o.p;
}
