/* SPDX-License-Identifier: Apache-2.0
 *
 * Values: made, copied, read from memory, converted.
 */
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "lang/core/core.h"

enum { FETCH_MAX = 1u << 30 }; /* bytes of one value */

void lang_value_free(struct lang_value *v)
{
	free(v->bytes);
	free(v->variable);
	*v = (struct lang_value){0};
}

struct lang_value lang_value_copy(const struct lang_value *v)
{
	struct lang_value r = *v;

	if (v->bytes) {
		r.bytes = xmalloc((size_t)v->type->size + 1);
		memcpy(r.bytes, v->bytes, (size_t)v->type->size);
	}
	if (v->variable)
		r.variable = xstrdup(v->variable);
	return r;
}

static struct lang_value from_number(const struct lang_type *t, const struct lang_number *n)
{
	struct lang_value v = {.type = t, .bytes = xcalloc(1, (size_t)t->size + 1)};

	lang_store(t, n, v.bytes);
	return v;
}

struct lang_value lang_from_int(const struct lang_type *t, int64_t i)
{
	struct lang_number n = {.type = lang_strip(t), .u = (uint64_t)i};

	return from_number(t, &n);
}

struct lang_value lang_from_double(const struct lang_type *t, double f)
{
	struct lang_number n = {.type = lang_strip(t), .is_float = true, .f = f};

	return from_number(t, &n);
}

struct lang_value lang_from_bytes(const struct lang_type *t, const void *bytes)
{
	struct lang_value v = {.type = t, .bytes = xcalloc(1, (size_t)t->size + 1)};

	if (bytes)
		memcpy(v.bytes, bytes, (size_t)t->size);
	return v;
}

struct lang_value lang_bits(const struct lang_member *m, const uint8_t *bytes)
{
	const unsigned n = (m->bit_offset + m->bits + 7) / 8;
	const struct lang_type *t = lang_strip(m->type);
	uint64_t u = 0;

	for (unsigned i = n; i-- > 0;) /* 9 bytes at most: the first one's low bits go */
		u = i ? u << 8 | bytes[i] : u << (8 - m->bit_offset) | bytes[0] >> m->bit_offset;
	if (m->bits < 64) {
		u &= (1ull << m->bits) - 1;
		if (t->is_signed && u >> (m->bits - 1) & 1)
			u |= ~0ull << m->bits;
	}
	return lang_from_int(m->type, (int64_t)u);
}

struct lang_value lang_at(const struct lang_type *t, unsigned space, uint64_t addr)
{
	return (struct lang_value){.type = t, .place = LANG_MEMORY, .space = space, .addr = addr};
}

struct lang_value lang_from_text(struct lang *l, const char *text, size_t n)
{
	const struct lang_type *t = lang_array_of(l, lang_base_type(l, "char"), n + 1);
	struct lang_value v = lang_from_bytes(t, NULL);

	if (n)
		memcpy(v.bytes, text, n);
	return v;
}

struct err *lang_fetch(const struct lang_scope *scope, struct lang_value *v)
{
	struct err *e;

	if (v->place == LANG_GONE)
		return err_new(ERR_NOT_FOUND, "the value has been optimized out");
	if (v->bytes || !v->type)
		return NULL;
	if (v->place == LANG_COMPUTED) {
		v->bytes = xcalloc(1, (size_t)v->type->size + 1);
		return NULL;
	}
	if (!scope || !scope->read)
		return err_new(ERR_STATE, "there is no memory to read");
	if (v->type->size > FETCH_MAX)
		return err_new(ERR_LIMIT, "a value of %llu bytes is not read whole",
			(unsigned long long)v->type->size);
	v->bytes = xcalloc(1, (size_t)v->type->size + 1);
	e = scope->read(scope->arg, v->space, v->addr, v->bytes, (size_t)v->type->size);
	if (e) {
		free(v->bytes);
		v->bytes = NULL;
	}
	return e;
}

static struct err *no_number(const struct lang_value *v)
{
	struct buf b = BUF_INIT;
	struct err *e;

	lang_type_name(&b, v->type, "");
	e = err_new(ERR_USAGE, "a value of type %s is no number", buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* The number v is; an array or a function is its address, as in C. */
static struct err *number_of(
	const struct lang_scope *scope, const struct lang_value *v, struct lang_number *ret)
{
	const struct lang_type *t = lang_strip(v->type);
	struct lang_value whole;
	bool good;

	if (t && (t->kind == LANG_ARRAY || t->kind == LANG_FUNCTION) && v->place == LANG_MEMORY) {
		*ret = (struct lang_number){.type = t, .u = v->addr};
		return NULL;
	}
	if (!lang_is_scalar(t))
		return no_number(v);
	if (v->bytes)
		return lang_load(t, v->bytes, ret) ? NULL : no_number(v);
	whole = *v;
	whole.variable = NULL;
	TRY(lang_fetch(scope, &whole));
	good = lang_load(t, whole.bytes, ret);
	free(whole.bytes);
	return good ? NULL : no_number(v);
}

struct err *lang_to_int(const struct lang_scope *scope, const struct lang_value *v, int64_t *ret)
{
	struct lang_number n;
	uint8_t bytes[8];
	const struct lang_type s64 = {.kind = LANG_INT, .size = 8, .is_signed = true};

	TRY(number_of(scope, v, &n));
	lang_store(&s64, &n, bytes);
	memcpy(ret, bytes, sizeof *ret);
	return NULL;
}

struct err *lang_to_double(const struct lang_scope *scope, const struct lang_value *v, double *ret)
{
	struct lang_number n;
	uint8_t bytes[8];
	const struct lang_type f64 = {.kind = LANG_FLOAT, .size = 8, .is_signed = true};

	TRY(number_of(scope, v, &n));
	lang_store(&f64, &n, bytes);
	memcpy(ret, bytes, sizeof *ret);
	return NULL;
}

struct err *lang_to_bool(const struct lang_scope *scope, const struct lang_value *v, bool *ret)
{
	struct lang_number n;

	TRY(number_of(scope, v, &n));
	*ret = n.is_float ? n.f != 0 : n.u != 0;
	return NULL;
}

struct err *lang_cast(struct lang *l, const struct lang_scope *scope, const struct lang_type *type,
	const struct lang_value *v, struct lang_value *ret)
{
	const struct lang_type *t = lang_strip(type);
	struct lang_number n;

	(void)l;
	if (!t || t->kind == LANG_VOID) {
		*ret = (struct lang_value){0};
		return NULL;
	}
	if (!lang_is_scalar(t)) {
		if (lang_strip(v->type) != t && (!v->type || v->type->size != t->size))
			return err_new(
				ERR_USAGE, "there is no cast to this type: its size is another");
		*ret = lang_value_copy(v);
		free(ret->variable);
		ret->variable = NULL;
		ret->type = type;
		return NULL;
	}
	TRY(number_of(scope, v, &n));
	if (t->kind == LANG_POINTER && n.is_float)
		return err_new(ERR_USAGE, "floating point is no address");
	if (!t->size || t->size > 16)
		return err_new(ERR_UNSUPPORTED, "there is no cast to a type of %llu bytes",
			(unsigned long long)t->size);
	*ret = from_number(type, &n);
	return NULL;
}
