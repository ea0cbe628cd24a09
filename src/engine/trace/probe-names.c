/* SPDX-License-Identifier: Apache-2.0
 *
 * The source's variables in the expressions of probes: each is replaced, for each place of the
 * probe's line, by what it is there, since a variable is in another register at each. `sum` becomes
 * "s32(%r4)", `arr[i]` "s32[&__local_depot0+8+(s32(%r1))*4]". A name that is no variable stays as
 * it is. What cannot be said in one expression stays, too, and the software GPU then has no value.
 */
#include "engine/trace/probe-names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "engine/kernel-lines.h"
#include "symbols/kernel-debug.h"
#include "symbols/places.h"

enum { NESTED_MAX = 16, FILES_MAX = 4096 };

/* One place of the line in a text. */
struct at {
	struct kernel_debug *debug;
	struct symbols_scope *sc;
	struct dwarf_context ctx;
	struct variables_frame vars;
	/* what frame_variable() asked for */
	char reg[9];
	unsigned nregs;
	bool failed;
	unsigned depth;
};

/* --- a variable --- */

static const char *note_register(void *arg, uint64_t number, uint64_t *ret)
{
	struct at *a = arg;

	*ret = 0;
	a->nregs++;
	return kernel_debug_register(number, a->reg) ? NULL : "no register";
}

static struct err *no_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	(void)arg, (void)addr, (void)dst, (void)n;
	return err_new(ERR_UNSUPPORTED, "memory is not read here");
}

/* A value on the way through an expression: text is its address, or itself. */
struct low {
	const struct lang_type *type;
	bool memory;
	struct buf text;
};

/* "s32" and its like for a scalar that the software GPU can load; NULL: it is none. */
static const char *scalar(const struct lang_type *t)
{
	static const char *const ints[2][4] = {
		{"u8", "u16", "u32", "u64"}, {"s8", "s16", "s32", "s64"}};

	t = t ? lang_strip(t) : NULL;
	if (!t)
		return NULL;
	if (t->kind == LANG_FLOAT)
		return t->size == 4 ? "f32" : t->size == 8 ? "f64" : NULL;
	if (t->kind != LANG_INT && t->kind != LANG_CHAR && t->kind != LANG_BOOL &&
		t->kind != LANG_ENUM && t->kind != LANG_POINTER)
		return NULL;
	for (unsigned k = 0; k < 4; k++)
		if (t->size == 1u << k)
			return ints[t->is_signed && t->kind != LANG_POINTER][k];
	return NULL;
}

/* A register of floats holds one; the bits of others would be another number. */
static bool register_fits(const char *reg, const char *type)
{
	const bool is_float = reg[1] == 'f';

	return is_float == (*type == 'f') && (strcmp(type, "f64") || reg[2] == 'd');
}

static bool find(struct at *a, const char *name, struct low *ret)
{
	struct lang_value v = {0};
	uint64_t offset;
	const char *symbol;
	bool found = false;
	struct err *e;

	a->nregs = 0;
	e = frame_variable(&a->vars, name, &v, &found);
	if (!e && !found)
		e = file_variable(a->vars.names, &a->ctx, &a->sc->cu, name, &v, &found);
	found = found && !e && v.type;
	err_free(e);
	if (!found) {
		lang_value_free(&v);
		return false;
	}
	ret->type = v.type;
	if (v.place == LANG_MEMORY) {
		symbol = kernel_debug_symbol(a->debug, v.addr, &offset);
		ret->memory = true;
		found = symbol && !a->nregs;
		if (found)
			buf_printf(&ret->text, "&%s+%llu", symbol, (unsigned long long)offset);
	} else {
		found = v.place == LANG_COMPUTED && a->nregs == 1 && scalar(v.type) &&
			register_fits(a->reg, scalar(v.type));
		if (found)
			buf_printf(&ret->text, "%s(%s)", scalar(v.type), a->reg);
	}
	a->failed |= !found;
	lang_value_free(&v);
	return found;
}

/* Its value: an array's is its address. */
static bool take_value(struct low *v)
{
	const struct lang_type *t = lang_strip(v->type);
	const char *type = scalar(v->type);
	char *text;

	if (!v->memory || t->kind == LANG_ARRAY)
		return true;
	if (!type)
		return false;
	text = buf_steal(&v->text);
	buf_printf(&v->text, "%s[%s]", type, text);
	free(text);
	v->memory = false;
	return true;
}

/* --- what follows a variable --- */

static const struct lang_member *member_of(const struct lang_type *t, const char *name, size_t n)
{
	lang_complete(t);
	for (unsigned i = 0; i < t->nmembers; i++)
		if (t->members[i].name && strlen(t->members[i].name) == n &&
			!memcmp(t->members[i].name, name, n) && !t->members[i].bits)
			return &t->members[i];
	return NULL;
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

/* Makes it the memory that it points to. */
static bool follow(struct low *v)
{
	const struct lang_type *t;

	if (!take_value(v))
		return false;
	t = lang_strip(v->type);
	if ((t->kind != LANG_POINTER && t->kind != LANG_ARRAY) || !t->target)
		return false;
	v->type = t->target;
	v->memory = true;
	return true;
}

static bool take_member(struct low *v, const char **p)
{
	const size_t n = word_length(*p);
	const struct lang_type *t = lang_strip(v->type);
	const struct lang_member *m =
		v->memory && t->kind == LANG_STRUCT && n ? member_of(t, *p, n) : NULL;

	if (!m)
		return false;
	buf_printf(&v->text, "+%llu", (unsigned long long)m->offset);
	v->type = m->type;
	*p += n;
	return true;
}

static bool translate(struct at *a, const char **p, char end, struct buf *out);

/* Behind the bracket. */
static bool take_index(struct at *a, struct low *v, const char **p)
{
	struct buf inner = BUF_INIT;
	bool good = translate(a, p, ']', &inner) && follow(v);

	if (good)
		buf_printf(&v->text, "+(%s)*%llu", buf_cstr(&inner),
			(unsigned long long)lang_strip(v->type)->size);
	buf_free(&inner);
	return good;
}

static bool take_path(struct at *a, struct low *v, const char **p)
{
	for (;;) {
		const char *q = *p + strspn(*p, " \t");

		if (lang_strip(v->type)->is_reference && !follow(v))
			return false;
		if (*q == '.' && word_length(q + 1)) {
			*p = q + 1;
			if (!take_member(v, p))
				return false;
		} else if (q[0] == '-' && q[1] == '>') {
			*p = q + 2 + strspn(q + 2, " \t");
			if (!follow(v) || !take_member(v, p))
				return false;
		} else if (*q == '[') {
			*p = q + 1;
			if (!take_index(a, v, p))
				return false;
		} else {
			return take_value(v);
		}
	}
}

/* --- the text --- */

/* Copies text up to the bracket `end` (0: all of it), with variables replaced. */
static bool translate(struct at *a, const char **p, char end, struct buf *out)
{
	bool good = ++a->depth < NESTED_MAX;
	char before = 0;

	while (good && **p && **p != end) {
		const size_t n = isdigit((unsigned char)**p) ? 0 : word_length(*p);
		char name[80];
		struct low v = {0};

		if (isdigit((unsigned char)**p) || !n || n >= sizeof name || before == '%' ||
			before == '&' || before == '.') {
			const size_t k = word_length(*p) ? word_length(*p) : 1;

			if (**p == '[' || **p == '(') {
				const char close = **p == '[' ? ']' : ')';

				buf_byte(out, (uint8_t) * (*p)++);
				good = translate(a, p, close, out);
				buf_byte(out, (uint8_t)close);
				before = close;
				continue;
			}
			before = (*p)[k - 1];
			buf_add(out, *p, k);
			*p += k;
			continue;
		}
		memcpy(name, *p, n);
		name[n] = 0;
		*p += n;
		if (find(a, name, &v))
			good = take_path(a, &v, p);
		else
			good = !a->failed;
		buf_str(out, v.type && good ? buf_cstr(&v.text) : name);
		buf_free(&v.text);
		before = 'a';
	}
	a->depth--;
	if (!good || !end)
		return good;
	if (**p != end)
		return false;
	++*p;
	return true;
}

/* The text at this place; false: it cannot be said. */
static bool translated(struct at *a, const char *text, char *dst, size_t n)
{
	struct buf out = BUF_INIT;
	const char *p = text ? text : "";
	bool good;

	a->failed = false;
	a->depth = 0;
	good = translate(a, &p, 0, &out) && out.len < n;
	if (good)
		memcpy(dst, buf_cstr(&out), out.len + 1);
	buf_free(&out);
	return good;
}

struct err *probe_row_fill(struct kernel_debug *d, unsigned line, const char *expr,
	const char *condition, struct soft_probe_row *ret)
{
	struct symbols_scope sc;
	struct at a = {.debug = d, .sc = &sc};
	bool good;

	if (!kernel_debug_scopes(d, line, &sc))
		return err_new(ERR_NOT_FOUND, "there is no debug information");
	a.ctx = (struct dwarf_context){
		.read = no_memory, .arg = &a, .reg = note_register, .pc = sc.addr};
	a.vars = (struct variables_frame){kernel_debug_names(d), &a.ctx, &sc, 0, 0};
	good = translated(&a, expr, ret->expr, sizeof ret->expr) &&
	       translated(&a, condition, ret->condition, sizeof ret->condition);
	free(sc.scopes);
	return good ? NULL
		    : err_new(ERR_UNSUPPORTED, "a variable has no place that a probe can read");
}

/* --- the places of a line --- */

struct place {
	uint64_t file;
	unsigned line;
};

struct scan {
	const char *file; /* that is asked for; NULL: any */
	unsigned asked, best;
	struct kernel_debug *debug;
	void (*row)(void *arg, unsigned ptx_line);
	void *arg;
};

static bool is_file(const struct scan *s, uint64_t file)
{
	const char *name = kernel_debug_file(s->debug, file);

	return name && (!s->file || symbols_same_file(name, s->file));
}

/* `.loc 1 12 5`, behind blanks; false: the line is something else. */
static bool take_loc(const char *line, struct place *ret)
{
	char *end;
	unsigned long n;

	if (strncmp(line, ".loc", 4) || !strchr(" \t", line[4]))
		return false;
	ret->file = strtoull(line + 4, &end, 10);
	n = strtoul(end, &end, 10);
	ret->line = n < INT32_MAX ? (unsigned)n : 0;
	return true;
}

static bool is_function(const char *line)
{
	return strstr(line, ".entry") || strstr(line, ".func");
}

/* Calls s->row for the instructions at which a run of the line begins, as the software GPU sees it;
 * with s->row NULL finds that line: the first one asked for, or behind it. */
static void scan_text(struct scan *s, const char *text)
{
	struct place now = {0}, before = {0}, none = {0};
	unsigned number = 1;

	for (; *text; number++) {
		const size_t n = strcspn(text, "\n");
		char line[256];
		const char *p = line;

		snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1),
			text);
		text += n + (text[n] == '\n');
		p += strspn(p, " \t");
		if (take_loc(p, &now)) {
			if (!s->row && now.line >= s->asked && (!s->best || now.line < s->best) &&
				is_file(s, now.file))
				s->best = now.line;
		} else if (*p == '.' && is_function(p)) {
			now = before = none;
		} else if ((isalpha((unsigned char)*p) || *p == '@') && now.line) {
			if (s->row && now.line == s->best &&
				(before.line != now.line || before.file != now.file) &&
				is_file(s, now.file))
				s->row(s->arg, number);
			before = now;
		}
	}
}

struct rows {
	struct soft_probe *to;
	struct kernel_debug *debug;
	struct lang *l;
	uint64_t hash;
	bool any; /* some variable was replaced, or cannot be */
};

static void add_row(void *arg, unsigned line)
{
	struct rows *r = arg;
	struct soft_probe_row *row = &r->to->row[r->to->nrows];
	struct err *e;

	if (r->to->nrows == SOFT_PROBE_ROWS)
		return;
	*row = (struct soft_probe_row){.text = r->hash, .line = line};
	e = probe_row_fill(r->debug, line, r->to->expr, r->to->condition, row);
	if (e && e->code == ERR_NOT_FOUND) { /* a function without variables */
		memcpy(row->expr, r->to->expr, sizeof row->expr);
		memcpy(row->condition, r->to->condition, sizeof row->condition);
	} else if (e) {
		strcpy(row->expr, "?");
	}
	r->any |= strcmp(row->expr, r->to->expr) || strcmp(row->condition, r->to->condition);
	r->to->nrows++;
	err_free(e);
}

static void add_text(void *arg, const char *text)
{
	struct rows *r = arg;
	struct scan s = {.file = r->to->file[0] ? r->to->file : NULL, .asked = r->to->line};

	r->debug = kernel_debug_new(r->l, text);
	if (r->debug && kernel_debug_names(r->debug)) {
		s.debug = r->debug;
		r->hash = soft_probe_hash(text, strlen(text));
		scan_text(&s, text);
		s.row = add_row;
		s.arg = r;
		if (s.best)
			scan_text(&s, text);
	}
	kernel_debug_free(r->debug);
}

struct err *probe_names_fill(
	struct lang *l, struct sbt_reader *trace, const char *program, struct soft_probe *p)
{
	struct rows r = {.to = p, .l = l};
	struct err *e = NULL;

	p->nrows = 0;
	if (!p->expr[0] && !p->condition[0])
		return NULL;
	if (trace)
		e = kernel_texts_of_trace(trace, add_text, &r);
	else if (program)
		kernel_texts_of_program(program, add_text, &r);
	if (!r.any)
		p->nrows = 0;
	return e;
}
