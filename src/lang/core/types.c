/* SPDX-License-Identifier: Apache-2.0
 *
 * Types: those that are built in, those derived from others, and their names.
 */
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "lang/core/core.h"

enum { BLOCK = 16384 };
struct lang_block {
	struct lang_block *next;
	size_t used, size;
	uint8_t data[];
};

struct base {
	const char *name;
	enum lang_kind kind;
	uint8_t size;
	bool is_signed, is_brain;
	char letter;
};
/* A name that C has comes before the short ones of the same size: lang_int_type() takes the first.
 */
static const struct base bases[] = {
	{"void", LANG_VOID, 0, false, false, 0},
	{"char", LANG_CHAR, 1, true, false, 0},
	{"signed char", LANG_CHAR, 1, true, false, 0},
	{"unsigned char", LANG_CHAR, 1, false, false, 0},
	{"short", LANG_INT, 2, true, false, 0},
	{"unsigned short", LANG_INT, 2, false, false, 0},
	{"int", LANG_INT, 4, true, false, 0},
	{"unsigned int", LANG_INT, 4, false, false, 0},
	{"long", LANG_INT, 8, true, false, 0},
	{"unsigned long", LANG_INT, 8, false, false, 0},
	{"long long", LANG_INT, 8, true, false, 0},
	{"unsigned long long", LANG_INT, 8, false, false, 0},
	{"bool", LANG_BOOL, 1, false, false, 0},
	{"_Bool", LANG_BOOL, 1, false, false, 0},
	{"float", LANG_FLOAT, 4, true, false, 0},
	{"double", LANG_FLOAT, 8, true, false, 0},
	{"size_t", LANG_INT, 8, false, false, 0},
	{"int8_t", LANG_CHAR, 1, true, false, 0},
	{"uint8_t", LANG_CHAR, 1, false, false, 0},
	{"int16_t", LANG_INT, 2, true, false, 0},
	{"uint16_t", LANG_INT, 2, false, false, 0},
	{"int32_t", LANG_INT, 4, true, false, 0},
	{"uint32_t", LANG_INT, 4, false, false, 0},
	{"int64_t", LANG_INT, 8, true, false, 0},
	{"uint64_t", LANG_INT, 8, false, false, 0},
	{"f16", LANG_FLOAT, 2, true, false, 0},
	{"half", LANG_FLOAT, 2, true, false, 0},
	{"bf16", LANG_FLOAT, 2, true, true, 0},
	{"f32", LANG_FLOAT, 4, true, false, 0},
	{"f64", LANG_FLOAT, 8, true, false, 0},
	{"s8", LANG_INT, 1, true, false, 0},
	{"s16", LANG_INT, 2, true, false, 0},
	{"s32", LANG_INT, 4, true, false, 0},
	{"s64", LANG_INT, 8, true, false, 0},
	{"u8", LANG_INT, 1, false, false, 0},
	{"u16", LANG_INT, 2, false, false, 0},
	{"u32", LANG_INT, 4, false, false, 0},
	{"u64", LANG_INT, 8, false, false, 0},
	{"x8", LANG_INT, 1, false, false, 'z'},
	{"x16", LANG_INT, 2, false, false, 'z'},
	{"x32", LANG_INT, 4, false, false, 'z'},
	{"x64", LANG_INT, 8, false, false, 'z'},
};
enum { NBASES = sizeof bases / sizeof *bases };

struct lang *lang_new(void)
{
	struct lang *l = xcalloc(1, sizeof *l);

	l->bases = lang_alloc(l, sizeof *l->bases * NBASES);
	l->nbases = NBASES;
	for (unsigned i = 0; i < NBASES; i++)
		l->bases[i] = (struct lang_type){.kind = bases[i].kind,
			.name = bases[i].name,
			.size = bases[i].size,
			.is_signed = bases[i].is_signed,
			.is_brain = bases[i].is_brain,
			.letter = bases[i].letter};
	return l;
}

void lang_free(struct lang *l)
{
	struct lang_block *next;

	if (!l)
		return;
	for (struct lang_block *b = l->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(l);
}

void *lang_alloc(struct lang *l, size_t n)
{
	struct lang_block *b = l->blocks;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		b = xmalloc(sizeof *b + size);
		*b = (struct lang_block){.next = l->blocks, .size = size};
		l->blocks = b;
	}
	p = b->data + b->used;
	b->used += n;
	return memset(p, 0, n);
}

const char *lang_strdup(struct lang *l, const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(lang_alloc(l, n), s, n);
}

const struct lang_type *lang_base_type(struct lang *l, const char *name)
{
	for (unsigned i = 0; i < l->nbases; i++) {
		if (!strcmp(l->bases[i].name, name))
			return &l->bases[i];
	}
	return NULL;
}

const struct lang_type *lang_int_type(struct lang *l, unsigned size, bool is_signed)
{
	for (unsigned i = 0; i < l->nbases; i++) {
		const struct lang_type *t = &l->bases[i];

		if ((t->kind == LANG_INT || t->kind == LANG_CHAR) && t->size == size &&
			t->is_signed == is_signed)
			return t;
	}
	BUG("no integer of %u bytes", size);
}

static struct lang_type *new_type(struct lang *l, enum lang_kind kind, uint64_t size)
{
	struct lang_type *t = lang_alloc(l, sizeof *t);

	t->kind = kind;
	t->size = size;
	return t;
}

const struct lang_type *lang_pointer_to(struct lang *l, const struct lang_type *target)
{
	struct lang_type *t = new_type(l, LANG_POINTER, 8);

	t->target = target;
	return t;
}

const struct lang_type *lang_array_of(struct lang *l, const struct lang_type *of, uint64_t count)
{
	struct lang_type *t;
	uint64_t size;

	if (ckd_mul(&size, of->size, count))
		return NULL;
	t = new_type(l, LANG_ARRAY, size);
	t->target = of;
	t->count = count;
	return t;
}

const struct lang_type *lang_qualified(
	struct lang *l, const struct lang_type *target, const char *quals)
{
	struct lang_type *t = lang_alloc(l, sizeof *t);
	struct buf b = BUF_INIT;

	*t = *target;
	buf_printf(&b, "%s%s", target->quals && !strstr(target->quals, quals) ? target->quals : "",
		quals);
	t->quals = lang_strdup(l, buf_cstr(&b));
	buf_free(&b);
	return t;
}

const struct lang_type *lang_strip(const struct lang_type *t)
{
	while (t && t->kind == LANG_TYPEDEF)
		t = t->target;
	return t;
}

void lang_complete(const struct lang_type *t)
{
	struct lang_type *now = (struct lang_type *)(uintptr_t)t;
	void (*complete)(struct lang_type *) = t->complete;

	if (!complete)
		return;
	now->complete = NULL;
	complete(now);
}

/* --- names --- */

static void add_words(struct buf *out, const struct lang_type *t)
{
	const char *quals = t->kind == LANG_POINTER ? NULL : t->quals;

	if (quals)
		buf_str(out, quals);
	if ((t->kind == LANG_STRUCT || t->kind == LANG_ENUM) && t->prefix && !t->is_plain)
		buf_printf(out, "%s ", t->prefix);
	buf_str(out, t->name ? t->name : t->kind == LANG_VOID ? "void" : "{...}");
}

static void add_params(struct buf *out, const struct lang_type *t)
{
	buf_byte(out, '(');
	if (!t->nparams && !t->is_variadic)
		buf_str(out, "void");
	for (unsigned i = 0; i < t->nparams; i++) {
		buf_str(out, i ? ", " : "");
		lang_type_name(out, t->params[i], "");
	}
	if (t->is_variadic)
		buf_str(out, t->nparams ? ", ..." : "...");
	buf_byte(out, ')');
}

static bool wants_brackets(const struct lang_type *target)
{
	return target && (target->kind == LANG_ARRAY || target->kind == LANG_FUNCTION);
}

/* inner: what is declared so far, from the name outwards. */
static void add_declaration(struct buf *out, const struct lang_type *t, const char *inner)
{
	struct buf b = BUF_INIT;

	if (!t) {
		buf_printf(out, "void%s%s", *inner ? " " : "", inner);
	} else if (t->kind == LANG_POINTER) {
		const char *quals = t->quals;
		bool brackets = wants_brackets(t->target);

		buf_printf(&b, "%s%s", brackets ? "(" : "",
			!t->is_reference ? "*"
			: t->is_rvalue	 ? "&&"
					 : "&");
		if (quals) /* " const" stands behind the star */
			buf_printf(&b, " %.*s", (int)strlen(quals) - 1, quals);
		buf_printf(&b, "%s%s%s", quals && *inner && *inner != '[' ? " " : "", inner,
			brackets ? ")" : "");
		add_declaration(out, t->target, buf_cstr(&b));
	} else if (t->kind == LANG_ARRAY) {
		buf_str(&b, inner);
		if (t->count || !t->size)
			buf_printf(&b, "[%llu]", (unsigned long long)t->count);
		add_declaration(out, t->target, buf_cstr(&b));
	} else if (t->kind == LANG_FUNCTION) {
		buf_str(&b, inner);
		add_params(&b, t);
		add_declaration(out, t->target, buf_cstr(&b));
	} else {
		add_words(out, t);
		buf_printf(out, "%s%s", *inner ? " " : "", inner);
	}
	buf_free(&b);
}

void lang_type_name(struct buf *out, const struct lang_type *t, const char *name)
{
	add_declaration(out, t, name);
}

/* --- layouts --- */

static void add_members(struct buf *out, const struct lang_type *t)
{
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct lang_member *m = &t->members[i];

		if (m->is_base)
			continue;
		buf_str(out, "    ");
		lang_type_name(out, m->type, m->name ? m->name : "");
		if (m->bits)
			buf_printf(out, " : %u", m->bits);
		buf_str(out, ";\n");
	}
}

static void add_bases(struct buf *out, const struct lang_type *t)
{
	bool first = true;

	for (unsigned i = 0; i < t->nmembers; i++) {
		if (!t->members[i].is_base)
			continue;
		buf_str(out, first ? ": public " : ", public ");
		lang_type_name(out, t->members[i].type, "");
		buf_byte(out, ' ');
		first = false;
	}
}

static void add_enumerators(struct buf *out, const struct lang_type *t)
{
	buf_byte(out, '{');
	for (unsigned i = 0; i < t->nenumerators; i++) {
		const struct lang_enumerator *e = &t->enumerators[i];
		int64_t expected = i ? t->enumerators[i - 1].value + 1 : 0;

		buf_printf(out, "%s%s", i ? ", " : "", e->name);
		if (e->value != expected)
			buf_printf(out, " = %lld", (long long)e->value);
	}
	buf_byte(out, '}');
}

/* A type that is not made of others, but for members. */
static void add_layout(struct buf *out, const struct lang_type *t)
{
	if (!t || (t->kind != LANG_STRUCT && t->kind != LANG_ENUM)) {
		lang_type_name(out, t, "");
		return;
	}
	lang_complete(t);
	buf_printf(out, "%s%s%s%s ", t->quals ? t->quals : "",
		t->prefix	       ? t->prefix
		: t->kind == LANG_ENUM ? "enum"
				       : "struct",
		t->name ? " " : "", t->name ? t->name : "");
	if (t->kind == LANG_ENUM) {
		if (t->target) {
			buf_str(out, ": ");
			lang_type_name(out, t->target, "");
			buf_byte(out, ' ');
		}
		add_enumerators(out, t);
		return;
	}
	add_bases(out, t);
	buf_str(out, "{\n");
	add_members(out, t);
	if (t->nmembers)
		buf_byte(out, '}');
	else
		buf_printf(out, "    %s\n}", t->opaque ? t->opaque : "<no data fields>");
}

/* Goes through pointers, arrays and functions, which are copied into the callers' frames, down to
 * the type that has a layout. */
static void resolve(struct buf *out, const struct lang_type *t, const struct lang_type *top,
	struct lang_type *parent)
{
	struct lang_type copy;
	struct buf layout = BUF_INIT;

	t = lang_strip(t);
	if (t && (t->kind == LANG_POINTER || t->kind == LANG_ARRAY || t->kind == LANG_FUNCTION)) {
		copy = *t;
		if (parent)
			parent->target = &copy;
		resolve(out, t->target, top ? top : &copy, &copy);
		return;
	}
	add_layout(&layout, t);
	copy = (struct lang_type){.kind = LANG_INT, .name = buf_cstr(&layout)};
	if (parent)
		parent->target = &copy;
	lang_type_name(out, top ? top : &copy, "");
	buf_free(&layout);
}

void lang_type_layout(struct buf *out, const struct lang_type *type)
{
	resolve(out, type, NULL, NULL);
}
