/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans PTX text, see ptx-scan.h. A statement ends with a semicolon, but .loc and .file, and
 * everything before the first function ends where its words do.
 */
#include "gpucode/probe/ptx-scan.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct scanner {
	struct ptx_scan *s;
	const char *p, *end;
	unsigned line;	     /* of p */
	const char *counted; /* up to where lines were counted */
	unsigned stack[DEPTH_MAX], depth;
	uint32_t file, source; /* of the last .loc in the function */
	bool marked;
};

void ptx_scan_free(struct ptx_scan *s)
{
	free(s->decls);
	free(s->scopes);
	free(s->functions);
	free(s->statements);
	free(s->files);
	*s = (struct ptx_scan){0};
}

static unsigned line_of(struct scanner *c, const char *at)
{
	for (; c->counted < at; c->counted++)
		c->line += *c->counted == '\n';
	return c->line;
}

static void blanks(struct scanner *c)
{
	c->p = ptx_skip(c->p, c->end);
}

/* Behind a text in quotation marks that begins at p. */
static const char *behind_quoted(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

/* One character, comment or text in quotation marks further. */
static const char *next(const char *p, const char *end)
{
	const char *q = ptx_skip_comment(p, end);

	return q != p ? q : *p == '"' ? behind_quoted(p, end) : p + 1;
}

/* At the first of the characters outside of comments and quotations; NULL: there is none. */
static const char *find_any(const char *p, const char *end, const char *chars)
{
	while (p < end && !strchr(chars, *p))
		p = next(p, end);
	return p < end ? p : NULL;
}

static struct err *cut_off(void)
{
	return err_new(ERR_UNSUPPORTED, "the PTX ends in the middle of a statement");
}

/* To behind the character. */
static struct err *skip_behind(struct scanner *c, const char *chars)
{
	const char *q = find_any(c->p, c->end, chars);

	if (!q)
		return cut_off();
	c->p = q + 1;
	return NULL;
}

static bool is_number(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static uint64_t number(struct scanner *c)
{
	uint64_t v = 0;

	blanks(c);
	for (; is_number(c->p, c->end) && v < UINT32_MAX; c->p++)
		v = v * 10 + (uint64_t)(*c->p - '0');
	while (is_number(c->p, c->end))
		c->p++;
	return v;
}

static struct ptx_text name(struct scanner *c)
{
	struct ptx_text t;

	blanks(c);
	t.p = t.end = c->p;
	while (t.end < c->end && ptx_is_name(*t.end))
		t.end++;
	c->p = t.end;
	return t;
}

static bool is_word(struct ptx_text t, const char *word)
{
	return (size_t)(t.end - t.p) == strlen(word) && !memcmp(t.p, word, strlen(word));
}

/* The word behind the dot at p, which moves behind it. */
static struct ptx_text directive(struct scanner *c)
{
	c->p++;
	return name(c);
}

/* --- declarations --- */

static const struct {
	const char *word;
	enum ptx_where where;
} spaces[] = {{"reg", PTX_IN_REGISTER}, {"global", PTX_IN_GLOBAL}, {"const", PTX_IN_CONST},
	{"shared", PTX_IN_SHARED}, {"local", PTX_IN_LOCAL}, {"param", PTX_IN_PARAM}};

static unsigned type_bytes(const char *type)
{
	const char *digits = strpbrk(type, "0123456789");

	return digits ? (unsigned)strtoul(digits, NULL, 10) / 8 : 0;
}

static bool is_type(struct ptx_text t)
{
	static const char *const types[] = {"b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32",
		"u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32", "f64", "pred", "bf16",
		"bf16x2"};

	for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
		if (is_word(t, types[i]))
			return true;
	return false;
}

/* "[4][8]", "<10>" behind a name. */
static void take_dimensions(struct scanner *c, struct ptx_decl *d)
{
	uint64_t size = type_bytes(d->type), n;

	blanks(c);
	if (c->p < c->end && *c->p == '<') {
		c->p++;
		d->count = (unsigned)number(c);
		blanks(c);
		c->p += c->p < c->end && *c->p == '>';
	}
	for (blanks(c); c->p < c->end && *c->p == '['; blanks(c)) {
		c->p++;
		n = number(c);
		if (__builtin_mul_overflow(size, n, &size))
			size = 0;
		blanks(c);
		c->p += c->p < c->end && *c->p == ']';
	}
	d->size = size;
}

/* What is declared behind ".reg" or ".shared", up to chars; p moves to there. */
static struct err *take_decls(struct scanner *c, enum ptx_where where, const char *chars)
{
	struct ptx_scan *s = c->s;
	struct ptx_decl d = {.where = where, .scope = c->stack[c->depth]};

	for (;;) {
		struct ptx_text t;

		blanks(c);
		if (c->p >= c->end)
			return cut_off();
		if (strchr(chars, *c->p))
			return NULL;
		if (*c->p == '.') {
			t = directive(c);
			if (is_type(t)) {
				memset(d.type, 0, sizeof d.type);
				memcpy(d.type, t.p, (size_t)(t.end - t.p));
			} else if (is_word(t, "align")) {
				number(c);
			}
			continue;
		}
		if (*c->p == '=') { /* initial values */
			while (c->p < c->end && *c->p != ';' && *c->p != ',') {
				const char *close =
					*c->p == '{' ? ptx_close(c->p + 1, c->end) : NULL;

				c->p = close ? close : next(c->p, c->end);
			}
			continue;
		}
		t = name(c);
		if (t.p == t.end) {
			c->p = next(c->p, c->end);
			continue;
		}
		if (is_number(t.p, t.end))
			continue;
		d.name = t;
		d.at = t.p;
		d.count = 0;
		take_dimensions(c, &d);
		MAKE_ROOM(s->decls, s->ndecls, s->cap_decls);
		s->decls[s->ndecls++] = d;
	}
}

static bool space_of(struct ptx_text t, enum ptx_where *ret)
{
	for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (is_word(t, spaces[i].word)) {
			*ret = spaces[i].where;
			return true;
		}
	return false;
}

/* --- bodies --- */

static unsigned add_scope(struct scanner *c, const char *begin)
{
	struct ptx_scan *s = c->s;

	MAKE_ROOM(s->scopes, s->nscopes, s->cap_scopes);
	s->scopes[s->nscopes] = (struct ptx_scope){.parent = c->stack[c->depth], .begin = begin};
	return s->nscopes++;
}

static struct err *push(struct scanner *c, unsigned scope)
{
	if (c->depth + 1 == DEPTH_MAX)
		return err_new(ERR_UNSUPPORTED, "the PTX has blocks in blocks without end");
	c->stack[++c->depth] = scope;
	return NULL;
}

/* .loc 1 12 5 [, function_name $L+4, inlined_at 1 3 4] */
static void take_loc(struct scanner *c)
{
	c->file = (uint32_t)number(c);
	c->source = (uint32_t)number(c);
	number(c);
	c->marked = true;
	for (blanks(c); c->p < c->end && *c->p == ','; blanks(c)) {
		c->p++;
		if (is_word(name(c), "function_name")) {
			name(c);
			blanks(c);
			if (c->p < c->end && *c->p == '+') {
				c->p++;
				number(c);
			}
		} else {
			for (unsigned k = 0; k < 3; k++)
				number(c);
		}
	}
}

static struct err *take_body_directive(struct scanner *c)
{
	const struct ptx_text t = directive(c);
	enum ptx_where where;

	if (is_word(t, "loc")) {
		take_loc(c);
		return NULL;
	}
	if (space_of(t, &where)) {
		TRY(take_decls(c, where, ";"));
		c->p++;
		return NULL;
	}
	return skip_behind(c, ";");
}

/* An instruction at p, or a label, which ends with a colon. */
static struct err *take_statement(struct scanner *c)
{
	struct ptx_scan *s = c->s;
	const char *begin = c->p, *word;
	struct ptx_text t;

	if (*c->p != '@') {
		t = name(c);
		blanks(c);
		if (t.p != t.end && c->p < c->end && *c->p == ':' &&
			!(c->p + 1 < c->end && c->p[1] == ':')) {
			c->p++;
			return NULL;
		}
		word = begin;
	} else {
		c->p++;
		blanks(c);
		c->p += c->p < c->end && *c->p == '!';
		name(c);
		blanks(c);
		word = c->p;
	}
	MAKE_ROOM(s->statements, s->nstatements, s->cap_statements);
	s->statements[s->nstatements++] = (struct ptx_statement){.at = begin,
		.line = line_of(c, begin),
		.scope = c->stack[c->depth],
		.function = s->nfunctions - 1,
		.file = c->file,
		.source = c->source,
		.marked = c->marked};
	c->marked = false;
	if (ptx_begins(ptx_word(word, c->end), "call") && !s->scopes[c->stack[c->depth]].call)
		s->scopes[c->stack[c->depth]].call = begin;
	if (c->p == begin)
		c->p++;
	return skip_behind(c, ";");
}

/* From behind the brace to behind the one that closes the body. */
static struct err *take_body(struct scanner *c)
{
	const unsigned from = c->depth;

	c->file = c->source = 0;
	c->marked = false;
	TRY(push(c, add_scope(c, c->p - 1)));
	while (c->depth > from) {
		blanks(c);
		if (c->p >= c->end)
			return cut_off();
		if (*c->p == '{') {
			TRY(push(c, add_scope(c, c->p)));
			c->p++;
		} else if (*c->p == '}') {
			c->s->scopes[c->stack[c->depth--]].end = c->p++;
		} else if (*c->p == '.') {
			TRY(take_body_directive(c));
		} else if (*c->p == ';') {
			c->p++;
		} else {
			TRY(take_statement(c));
		}
	}
	return NULL;
}

/* --- the module --- */

/* Behind ".entry" or ".func": (results) name (parameters) ... { or ; */
static struct err *take_function(struct scanner *c, bool entry)
{
	struct ptx_scan *s = c->s;
	struct ptx_function_at f = {.entry = entry};
	const char *body = find_any(c->p, c->end, "{;"), *open;
	unsigned scope;

	if (!body)
		return cut_off();
	blanks(c);
	if (c->p < c->end && *c->p == '(')
		TRY(skip_behind(c, ")"));
	f.name = name(c);
	if (*body == ';') {
		c->p = body + 1;
		return NULL;
	}
	scope = add_scope(c, body); /* of parameters; the body's own is in it */
	TRY(push(c, scope));
	open = find_any(c->p, body, "(");
	while (open && c->p < body) {
		const char *dot = find_any(c->p, body, ".");
		enum ptx_where where;

		c->p = dot ? dot : body;
		if (dot && space_of(directive(c), &where))
			TRY(take_decls(c, where, ",)"));
	}
	c->p = body + 1;
	f.scope = scope;
	f.first = s->nstatements;
	MAKE_ROOM(s->functions, s->nfunctions, s->cap_functions);
	s->functions[s->nfunctions++] = f;
	TRY(take_body(c));
	s->functions[s->nfunctions - 1].end = s->nstatements;
	s->scopes[c->stack[c->depth--]].end = c->p - 1;
	return NULL;
}

/* .file 1 "path"[, time, size] */
static void take_file(struct scanner *c)
{
	struct ptx_scan *s = c->s;
	struct ptx_file_name f = {.number = number(c)};

	blanks(c);
	if (c->p < c->end && *c->p == '"') {
		f.name.p = c->p + 1;
		c->p = behind_quoted(c->p, c->end);
		f.name.end = c->p - 1;
		MAKE_ROOM(s->files, s->nfiles, s->cap_files);
		s->files[s->nfiles++] = f;
	}
	for (blanks(c); c->p < c->end && *c->p == ','; blanks(c)) {
		c->p++;
		number(c);
	}
}

static struct err *take_module_directive(struct scanner *c)
{
	const struct ptx_text t = directive(c);
	enum ptx_where where;

	if (is_word(t, "file")) {
		take_file(c);
	} else if (is_word(t, "address_size")) {
		if (number(c) == 64)
			c->s->head = c->p;
	} else if (is_word(t, "version") || is_word(t, "target")) {
		while (c->p < c->end && *c->p != '\n')
			c->p++;
	} else if (is_word(t, "section")) {
		TRY(skip_behind(c, "{"));
		c->p = ptx_close(c->p, c->end);
	} else if (is_word(t, "entry") || is_word(t, "func")) {
		TRY(take_function(c, is_word(t, "entry")));
	} else if (space_of(t, &where)) {
		TRY(take_decls(c, where, ";"));
		c->p++;
	} else if (is_word(t, "pragma") || is_word(t, "alias")) {
		TRY(skip_behind(c, ";"));
	}
	return NULL;
}

struct err *ptx_scan(struct ptx_scan *ret, const char *text, size_t n)
{
	struct scanner c = {.s = ret, .p = text, .counted = text, .line = 1};

	*ret = (struct ptx_scan){0};
	c.end = text + strnlen(text, n);
	ret->text = (struct ptx_text){text, c.end};
	add_scope(&c, text);
	ret->scopes[0].parent = 0;
	ret->scopes[0].end = c.end;
	for (blanks(&c); c.p < c.end; blanks(&c)) {
		if (*c.p == '.')
			TRY(take_module_directive(&c));
		else
			c.p = next(c.p, c.end);
	}
	return NULL;
}

/* --- questions --- */

struct ptx_text ptx_scan_file(const struct ptx_scan *s, uint32_t number)
{
	for (unsigned i = 0; i < s->nfiles; i++)
		if (s->files[i].number == number)
			return s->files[i].name;
	return (struct ptx_text){s->text.p, s->text.p};
}

bool ptx_scan_begins(const struct ptx_scan *s, unsigned i)
{
	const struct ptx_statement *t = &s->statements[i], *before;

	if (!t->marked || !t->source)
		return false;
	if (i == s->functions[t->function].first)
		return true;
	before = t - 1;
	return before->source != t->source || before->file != t->file;
}

/* Whether d is name: the whole of it, or with a number behind. */
static bool is_name_of(const struct ptx_decl *d, const char *name, size_t n)
{
	const size_t k = (size_t)(d->name.end - d->name.p);
	uint64_t v = 0;

	if (n < k || memcmp(d->name.p, name, k) != 0)
		return false;
	if (!d->count)
		return n == k;
	if (n == k || n - k > 9 || (name[k] == '0' && n - k > 1))
		return false;
	for (size_t i = k; i < n; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(name[i] - '0');
	}
	return v < d->count;
}

const struct ptx_decl *ptx_scan_find(
	const struct ptx_scan *s, unsigned scope, const char *at, const char *name, size_t n)
{
	for (;; scope = s->scopes[scope].parent) {
		for (unsigned i = s->ndecls; i-- > 0;)
			if (s->decls[i].scope == scope && s->decls[i].at < at &&
				is_name_of(&s->decls[i], name, n))
				return &s->decls[i];
		if (!scope)
			return NULL;
	}
}
