/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows a value as gdb's print does: numbers by their type or a format letter, texts with their
 * repeats, arrays up to a limit, structs by their members.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lang/core/core.h"

enum { REPEATS = 10, DEPTH_MAX = 32, TEXT_MAX = 200, WHOLE = 1 << 20, MEMBERS_MAX = 1 << 20 };

struct show {
	struct lang *l;
	const struct lang_scope *scope;
	const struct lang_format *f;
	struct buf *out;
	unsigned depth;
	unsigned members; /* that were shown: types may be made so that there is no end */
};

static struct err *show(struct show *s, const struct lang_value *v);

bool lang_is_letter(char letter)
{
	return letter && strchr("xduotcfazs", letter);
}

/* --- characters --- */

/* One character within quotes; of a type of `size` bytes. */
static void add_char(struct buf *out, uint32_t c, unsigned size, char quote)
{
	static const char names[] = "ntrabfv", means[] = "\n\t\r\a\b\f\v";
	const char *name = c && c < 128 ? strchr(means, (int)c) : NULL;

	if (c == (unsigned char)quote || c == '\\')
		buf_printf(out, "\\%c", (int)c);
	else if (name)
		buf_printf(out, "\\%c", names[name - means]);
	else if (c == 033)
		buf_str(out, "\\033");
	else if (c < 128 && isprint((int)c))
		buf_byte(out, (uint8_t)c);
	else if (size == 1 || c < 256)
		buf_printf(out, "\\%03o", c);
	else
		buf_printf(out, size == 2 ? "\\u%04x" : "\\U%08x", c);
}

static uint32_t char_at(const unsigned char *p, uint64_t i, unsigned size)
{
	uint32_t c = 0;

	memcpy(&c, p + i * size, size);
	return c;
}

/* What C writes before the quotes. */
static const char *char_prefix(const struct lang_type *t)
{
	if (t->size == 1)
		return "";
	return t->size == 2 ? "u" : t->is_signed ? "L" : "U";
}

static void add_character(struct buf *out, const struct lang_type *t, uint32_t c)
{
	buf_printf(out, "%s'", char_prefix(t));
	add_char(out, c, (unsigned)t->size, '\'');
	buf_byte(out, '\'');
}

static uint64_t run_at(const unsigned char *p, uint64_t i, uint64_t n, unsigned size)
{
	uint64_t k = 1;

	while (i + k < n && !memcmp(p + (i + k) * size, p + i * size, size))
		k++;
	return k;
}

/* n characters of type t in quotes, long runs of one as "'\000' <repeats 12 times>". */
static void add_text(
	struct buf *out, const struct lang_type *t, const unsigned char *p, uint64_t n, bool more)
{
	const unsigned size = (unsigned)t->size;
	bool quoted = false;

	if (!n)
		buf_printf(out, "%s\"\"", char_prefix(t));
	for (uint64_t i = 0; i < n;) {
		const uint64_t run = run_at(p, i, n, size);

		if (run >= REPEATS) {
			buf_str(out, quoted ? "\", " : i ? ", " : "");
			quoted = false;
			add_character(out, t, char_at(p, i, size));
			buf_printf(out, " <repeats %" PRIu64 " times>", run);
			i += run;
			continue;
		}
		if (!quoted)
			buf_printf(out, "%s%s\"", i ? ", " : "", char_prefix(t));
		quoted = true;
		for (uint64_t k = 0; k < run; k++)
			add_char(out, char_at(p, i + k, size), size, '"');
		i += run;
	}
	if (quoted)
		buf_byte(out, '"');
	if (more)
		buf_str(out, "...");
}

static const struct lang_type plain_char = {.kind = LANG_CHAR, .size = 1, .is_signed = true};

/* --- numbers --- */

static void add_binary(struct buf *out, uint64_t v, unsigned width)
{
	while (width--)
		buf_byte(out, v >> width & 1 ? '1' : '0');
}

/* The fraction's bits of a number that is none. */
static uint64_t nan_bits(const struct lang_type *t, const uint8_t *bytes, bool *ret_negative)
{
	const unsigned fraction = t->size == 4 ? 23 : t->size == 8 ? 52 : t->is_brain ? 7 : 10;
	uint64_t u = 0;

	memcpy(&u, bytes, t->size < 8 ? (size_t)t->size : 8);
	*ret_negative = u >> (8 * (t->size < 8 ? t->size : 8) - 1) & 1;
	return u & ((1ull << fraction) - 1);
}

static void add_float(struct buf *out, const struct lang_type *t, const uint8_t *bytes)
{
	struct lang_number n;
	bool negative;

	if (!lang_load(t, bytes, &n)) {
		buf_str(out, "<floating point of an unknown format>");
	} else if (isnan(n.f)) {
		uint64_t bits = nan_bits(t, bytes, &negative);

		buf_printf(out, "%snan(0x%" PRIx64 ")", negative ? "-" : "", bits);
	} else if (t->size == 16) {
		long double f80;

		memcpy(&f80, bytes, sizeof f80);
		buf_printf(out, "%.18Lg", f80);
	} else {
		/* as many digits as tell every value of the format apart */
		buf_printf(out, "%.*g",
			t->size == 8   ? 17
			: t->size == 4 ? 9
			: t->is_brain  ? 4
				       : 5,
			n.f);
	}
}

/* An integer's bits as the floating type of its size; false when there is none. */
static bool add_bits_as_float(struct buf *out, uint64_t u, unsigned size)
{
	const struct lang_type t = {.kind = LANG_FLOAT, .size = size, .is_signed = true};
	uint8_t bytes[8];

	if (size != 4 && size != 8)
		return false;
	memcpy(bytes, &u, sizeof bytes);
	add_float(out, &t, bytes);
	return true;
}

static void describe(struct show *s, unsigned space, uint64_t addr)
{
	if (s->scope && s->scope->describe)
		s->scope->describe(s->scope->arg, space, addr, s->out);
}

static int64_t as_signed(uint64_t u, unsigned size)
{
	return (int64_t)(u << (64 - 8 * size)) >> (64 - 8 * size);
}

/* u: size bytes without a sign. */
static void add_by_letter(struct show *s, char letter, uint64_t u, unsigned size, bool is_signed)
{
	struct buf *out = s->out;

	switch (letter) {
	case 'x':
		buf_printf(out, "0x%" PRIx64, u);
		break;
	case 'z':
		buf_printf(out, "0x%0*" PRIx64, (int)size * 2, u);
		break;
	case 'o':
		buf_printf(out, u ? "0%" PRIo64 : "%" PRIo64, u);
		break;
	case 't':
		add_binary(out, u, u ? 64 - (unsigned)__builtin_clzll(u) : 1);
		break;
	case 'd':
		buf_printf(out, "%" PRId64, as_signed(u, size));
		break;
	case 'u':
		buf_printf(out, "%" PRIu64, u);
		break;
	case 'a':
		buf_printf(out, "0x%" PRIx64, u);
		describe(s, 0, u);
		break;
	case 'c':
		buf_printf(out, "%d ", is_signed ? (int)(int8_t)u : (int)(uint8_t)u);
		add_character(out, &plain_char, (unsigned char)u);
		break;
	default: /* 'f' of a size that no floating type has */
		if (letter == 'f' && add_bits_as_float(out, u, size))
			break;
		buf_printf(out, is_signed ? "%" PRId64 : "%" PRIu64,
			is_signed ? (uint64_t)as_signed(u, size) : u);
	}
}

void lang_show_bits(struct buf *out, char letter, const void *bytes, unsigned size)
{
	struct show s = {.out = out};
	uint64_t u = 0;

	memcpy(&u, bytes, size < 8 ? size : 8);
	add_by_letter(&s, letter, u, size < 8 ? size : 8, letter == 'd' || letter == 'c');
}

static uint64_t bits_of(const struct lang_type *t, const uint8_t *bytes)
{
	uint64_t u = 0;

	memcpy(&u, bytes, t->size < 8 ? (size_t)t->size : 8);
	return u;
}

/* Whether an enumeration's values are flags: 0 or one bit each. */
static bool are_flags(const struct lang_type *t)
{
	for (unsigned i = 0; i < t->nenumerators; i++) {
		const int64_t v = t->enumerators[i].value;

		if (v < 0 || (v & (v - 1)))
			return false;
	}
	return t->nenumerators > 0;
}

/* The name of an enumeration's value, its flags joined, or the number. */
static void add_enum(struct buf *out, const struct lang_type *t, int64_t v)
{
	uint64_t rest = (uint64_t)v;
	bool first = true;

	for (unsigned i = 0; i < t->nenumerators; i++) {
		if (t->enumerators[i].value == v) {
			buf_str(out, t->enumerators[i].name);
			return;
		}
	}
	if (!v || !are_flags(t)) {
		buf_printf(out, "%" PRId64, v);
		return;
	}
	for (unsigned i = 0; i < t->nenumerators; i++) {
		const uint64_t bit = (uint64_t)t->enumerators[i].value;

		if (!bit || !(rest & bit))
			continue;
		buf_printf(out, "%s%s", first ? "(" : " | ", t->enumerators[i].name);
		rest &= ~bit;
		first = false;
	}
	if (rest)
		buf_printf(out, "%sunknown: 0x%" PRIx64, first ? "(" : " | ", rest);
	buf_byte(out, ')');
}

/* --- pointers --- */

/* The text that a pointer to char leads to, when it can be read. */
static void add_pointed_text(struct show *s, unsigned space, uint64_t addr)
{
	const uint64_t most =
		s->f->elements && s->f->elements < TEXT_MAX ? s->f->elements : TEXT_MAX;
	unsigned char text[TEXT_MAX + 1];
	uint64_t n = 0;
	bool ended = false;

	if (!addr || !s->scope || !s->scope->read)
		return;
	for (; n < most && !ended; n++) {
		struct err *e = s->scope->read(s->scope->arg, space, addr + n, text + n, 1);

		if (e) {
			err_free(e);
			if (!n)
				buf_printf(s->out, " <error: cannot be read>");
			break;
		}
		ended = !text[n];
	}
	if (n) {
		buf_byte(s->out, ' ');
		add_text(s->out, &plain_char, text, n - ended, !ended);
	}
}

/* "(int &) @0x7ffe: 5"; within a struct the address alone. */
static struct err *add_reference(
	struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	const uint64_t addr = bits_of(t, v->bytes);
	struct lang_value to = lang_at(t->target, v->space, addr);
	struct err *e;

	if (!s->depth && !s->f->nested) {
		buf_byte(s->out, '(');
		lang_type_name(s->out, v->type, "");
		buf_str(s->out, ") ");
	}
	buf_printf(s->out, "@0x%" PRIx64, addr);
	if (s->depth)
		return NULL;
	buf_str(s->out, ": ");
	s->depth++;
	e = show(s, &to);
	s->depth--;
	if (e) {
		buf_str(s->out, "<error: cannot be read>");
		err_free(e);
	}
	return NULL;
}

static void add_pointer(struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	const struct lang_type *to = lang_strip(t->target);
	const uint64_t addr = bits_of(t, v->bytes);
	const bool text = to && to->kind == LANG_CHAR && to->size == 1;

	if (!s->depth && !s->f->nested && !text) {
		buf_byte(s->out, '(');
		lang_type_name(s->out, v->type, "");
		buf_str(s->out, ") ");
	}
	buf_printf(s->out, "0x%" PRIx64, addr);
	describe(s, v->space, addr);
	if (text)
		add_pointed_text(s, v->space, addr);
}

/* --- scalars --- */

/* An integer of 16 bytes. */
static void add_wide(struct buf *out, const struct lang_type *t, const uint8_t *bytes)
{
	unsigned __int128 u;
	char digits[48];
	size_t n = sizeof digits;
	bool negative;

	memcpy(&u, bytes, sizeof u);
	negative = t->is_signed && u >> 127;
	u = negative ? -u : u;
	do {
		digits[--n] = (char)('0' + (int)(u % 10));
		u /= 10;
	} while (u);
	if (negative)
		digits[--n] = '-';
	buf_add(out, digits + n, sizeof digits - n);
}

static void add_scalar(struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	const char letter = s->f->letter && s->f->letter != 's' ? s->f->letter : t->letter;
	const unsigned size = t->size < 8 ? (unsigned)t->size : 8;
	const uint64_t u = bits_of(t, v->bytes);

	if (t->size > 8 && letter && (t->kind != LANG_FLOAT || letter != 'f'))
		buf_printf(s->out, "<%" PRIu64 " bytes>", t->size);
	else if (t->kind == LANG_FLOAT && (!letter || letter == 'f'))
		add_float(s->out, t, v->bytes);
	else if (letter && size)
		add_by_letter(s, letter, u, size, t->is_signed);
	else if (t->kind == LANG_POINTER)
		add_pointer(s, v, t);
	else if (t->kind == LANG_BOOL)
		u > 1 ? buf_printf(s->out, "%" PRIu64, u) : buf_str(s->out, u ? "true" : "false");
	else if (t->kind == LANG_ENUM)
		add_enum(s->out, t, t->is_signed ? as_signed(u, size) : (int64_t)u);
	else if (t->kind == LANG_CHAR) {
		buf_printf(s->out, "%" PRId64 " ", t->is_signed ? as_signed(u, size) : (int64_t)u);
		add_character(s->out, t, (uint32_t)u);
	} else if (t->size == 16) {
		add_wide(s->out, t, v->bytes);
	} else
		add_by_letter(s, 'g', u, size, t->is_signed);
}

/* --- arrays --- */

/* Element i of an array whose bytes are there. */
static struct lang_value element(const struct lang_value *v, const struct lang_type *t, uint64_t i)
{
	struct lang_value one = lang_from_bytes(t->target, v->bytes + i * t->target->size);

	one.space = v->space;
	return one;
}

/* How many elements from i on have the same bytes. */
static uint64_t same_from(
	const struct lang_value *v, const struct lang_type *t, uint64_t i, uint64_t n)
{
	const size_t size = (size_t)t->target->size;
	uint64_t k = 1;

	while (i + k < n && !memcmp(v->bytes + i * size, v->bytes + (i + k) * size, size))
		k++;
	return k;
}

static struct err *add_elements(
	struct show *s, const struct lang_value *v, const struct lang_type *t, uint64_t n)
{
	struct err *e = NULL;
	uint64_t shown = 0, i = 0;

	buf_byte(s->out, '{');
	while (i < n && !e && (!s->f->elements || shown < s->f->elements)) {
		uint64_t run = same_from(v, t, i, n);
		struct lang_value one = element(v, t, i);

		if (run < REPEATS)
			run = 1;
		buf_str(s->out, i ? ", " : "");
		e = show(s, &one);
		lang_value_free(&one);
		if (run > 1)
			buf_printf(s->out, " <repeats %" PRIu64 " times>", run);
		shown += run > 1 ? REPEATS : 1;
		i += run;
	}
	buf_str(s->out, i < t->count ? "...}" : "}");
	return e;
}

/* An array in memory is read whole up to WHOLE bytes, so that repeats are counted right; of a
 * larger one what is shown. */
static struct err *add_array(struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	const struct lang_type *of = lang_strip(t->target);
	const bool text =
		of->kind == LANG_CHAR && (!s->f->letter || s->f->letter == 's') && !of->letter;
	uint64_t most = s->f->elements && !v->bytes && t->size > WHOLE ? s->f->elements + REPEATS
								       : t->count,
		 n;
	struct lang_value part = *v;
	struct err *e;

	n = most < t->count ? most : t->count;
	if (!of->size || !n) {
		buf_str(s->out, "{}");
		return NULL;
	}
	if (!v->bytes) {
		part.type = lang_array_of(s->l, t->target, n);
		TRY(lang_fetch(s->scope, &part));
	}
	if (text) {
		uint64_t len = s->f->elements && n > s->f->elements ? s->f->elements : n;
		const bool more = len < t->count;

		if (!more && len && !char_at(part.bytes, len - 1, (unsigned)of->size))
			len--; /* the end of a text is not shown */
		add_text(s->out, of, part.bytes, len, more);
		e = NULL;
	} else {
		e = add_elements(s, &part, t, n);
	}
	if (!v->bytes)
		free(part.bytes);
	return e;
}

/* --- structs --- */

static struct err *show_bits(struct show *s, const struct lang_member *m, const uint8_t *bytes)
{
	struct lang_value v = lang_bits(m, bytes);
	struct err *e = show(s, &v);

	lang_value_free(&v);
	return e;
}

static struct err *add_member(
	struct show *s, const struct lang_value *v, const struct lang_member *m)
{
	const struct lang_type *t = lang_strip(v->type);
	const uint64_t size = m->bits ? (m->bit_offset + m->bits + 7) / 8 : m->type->size;
	struct lang_value one;
	struct err *e;

	if (m->is_base) {
		buf_byte(s->out, '<');
		lang_type_name(s->out, m->type, "");
		buf_str(s->out, "> = ");
	} else if (m->name) {
		buf_printf(s->out, "%s = ", m->name);
	}
	if (m->offset > t->size || size > t->size - m->offset) {
		buf_str(s->out, "<outside its struct>");
		return NULL;
	}
	if (m->bits)
		return show_bits(s, m, v->bytes + m->offset);
	one = lang_from_bytes(m->type, v->bytes + m->offset);
	one.space = v->space;
	e = show(s, &one);
	lang_value_free(&one);
	return e;
}

static struct err *add_struct(struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	struct err *e = NULL;

	buf_str(s->out, t->nmembers ? "{" : "{<No data fields>");
	for (unsigned i = 0; i < t->nmembers && !e; i++) {
		buf_str(s->out, i ? ", " : "");
		if (++s->members > MEMBERS_MAX) {
			buf_str(s->out, "...");
			break;
		}
		e = add_member(s, v, &t->members[i]);
	}
	buf_byte(s->out, '}');
	return e;
}

/* --- all --- */

static struct err *show_read(struct show *s, const struct lang_value *v, const struct lang_type *t)
{
	struct err *e;

	if (s->depth > DEPTH_MAX) {
		buf_str(s->out, "{...}");
		return NULL;
	}
	if (t->kind == LANG_POINTER && t->is_reference)
		return add_reference(s, v, t);
	if (lang_is_scalar(t)) {
		add_scalar(s, v, t);
		return NULL;
	}
	s->depth++;
	e = t->kind == LANG_ARRAY ? add_array(s, v, t) : add_struct(s, v, t);
	s->depth--;
	return e;
}

static struct err *show(struct show *s, const struct lang_value *v)
{
	const struct lang_type *t = lang_strip(v->type);
	struct lang_value whole;
	struct err *e;

	if (!t || t->kind == LANG_VOID) {
		buf_str(s->out, "void");
		return NULL;
	}
	if (v->place == LANG_GONE) {
		buf_str(s->out, "<optimized out>");
		return NULL;
	}
	lang_complete(t);
	if (t->opaque) {
		buf_str(s->out, t->opaque);
		return NULL;
	}
	if (t->kind == LANG_FUNCTION) {
		buf_byte(s->out, '{');
		lang_type_name(s->out, v->type, "");
		buf_printf(s->out, "} 0x%" PRIx64, v->addr);
		describe(s, v->space, v->addr);
		return NULL;
	}
	if (v->bytes || t->kind == LANG_ARRAY)
		return show_read(s, v, t);
	whole = *v;
	TRY(lang_fetch(s->scope, &whole));
	e = show_read(s, &whole, t);
	free(whole.bytes);
	return e;
}

struct err *lang_show(struct lang *l, const struct lang_scope *scope, const struct lang_format *f,
	const struct lang_value *v, struct buf *out)
{
	struct show s = {.l = l, .scope = scope, .f = f, .out = out};

	if (f->letter && !lang_is_letter(f->letter))
		return err_cure(err_new(ERR_USAGE, "there is no format letter \"%c\"", f->letter),
			"It is one of x d u o t c f a z s");
	return show(&s, v);
}
