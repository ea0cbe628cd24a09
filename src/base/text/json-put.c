/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs as JSON, see json-put.h.
 */
#include "base/json-put.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/member.h"
#include "base/text.h"

void js_bytes(struct buf *out, const void *text, size_t n)
{
	const uint8_t *p = text;
	size_t len;

	buf_byte(out, '"');
	for (size_t i = 0; i < n; i += len) {
		len = text_plain(p + i, n - i, TEXT_QUOTE);
		if (len) {
			buf_add(out, p + i, len);
			continue;
		}
		len = text_utf8_length(p + i, n - i);
		if (!len) {
			buf_str(out, "\\ufffd");
			len = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			buf_byte(out, '\\');
			buf_byte(out, p[i]);
		} else if (p[i] == 0 || text_unsafe(p + i, len)) {
			buf_printf(out, "\\u%04x", text_unsafe(p + i, len));
		} else {
			buf_add(out, p + i, len);
		}
	}
	buf_byte(out, '"');
}

void js_text(struct buf *out, const char *text)
{
	if (text)
		js_bytes(out, text, strlen(text));
	else
		buf_str(out, "null");
}

void js_raw(struct buf *out, const void *buf)
{
	const struct buf *b = buf;

	if (b->len)
		buf_add(out, b->data, b->len);
	else
		buf_str(out, "null");
}

static unsigned digits_of(uint64_t v)
{
	static const uint64_t tens[JS_DIGITS] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000,
		100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, UINT64_C(10000000000000000000)};
	const unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1),
		       log = bits * 1233 >> 12; /* log10(2) is 1233 / 4096, nearly */

	return log + (v >= tens[log]);
}

/* A trace has millions of them, and printf is several times slower. */
uint8_t *js_digits(uint8_t *to, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	uint8_t *end = to + digits_of(v), *p = end;

	for (; v >= 100; v /= 100)
		memcpy(p -= 2, pairs + 2 * (v % 100), 2);
	if (v >= 10)
		memcpy(p - 2, pairs + 2 * v, 2);
	else
		p[-1] = (uint8_t)('0' + v);
	return end;
}

void js_u64(struct buf *out, uint64_t v)
{
	uint8_t *to = buf_room(out, JS_DIGITS);

	out->len += (size_t)(js_digits(to, v) - to);
}

uint64_t js_number(const struct js_field *f, const void *row)
{
	return member_load(row, f->offset, f->size);
}

/* What is left out where it is optional. */
static bool is_none(const struct js_field *f, const void *row)
{
	const void *p = (const char *)row + f->offset;

	switch (f->type) {
	case JS_TEXT:
	case JS_POINTER:
		return !*(const void *const *)p;
	case JS_CALL:
		return f->optional && !*(const void *const *)p;
	case JS_ID:
		return js_number(f, row) == (f->size == 8 ? UINT64_MAX : UINT32_MAX);
	case JS_SEQ:
		return !js_number(f, row);
	case JS_HEX:
		return f->optional && !js_number(f, row);
	default:
		return false;
	}
}

/* The shortest of 15 and 17 digits that is this very number. */
static void put_real(struct buf *out, double v)
{
	char digits[32];

	snprintf(digits, sizeof digits, "%.15g", v);
	if (strtod(digits, NULL) != v)
		snprintf(digits, sizeof digits, "%.17g", v);
	buf_str(out, isfinite(v) ? digits : "null");
}

static void put_hex(struct buf *out, const uint8_t *p, size_t n)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%02x", p[i]);
	buf_byte(out, '"');
}

static void put_list(struct buf *out, const struct js_object *o, const char *p, uint64_t n)
{
	buf_byte(out, '[');
	for (uint64_t i = 0; i < n; i++) {
		buf_str(out, i ? "," : "");
		js_put(out, o, p + i * o->size);
	}
	buf_byte(out, ']');
}

static void put_numbers(struct buf *out, const void *p, unsigned size, uint64_t n)
{
	buf_byte(out, '[');
	for (uint64_t i = 0; i < n; i++) {
		buf_str(out, i ? "," : "");
		js_u64(out, member_load((const char *)p + i * size, 0, size));
	}
	buf_byte(out, ']');
}

/* A value of several parts. */
static void put_compound(struct buf *out, const struct js_field *f, const void *row, const char *p)
{
	switch (f->type) {
	case JS_U32S:
		put_numbers(out, p, 4, f->size / 4);
		break;
	case JS_NUMBERS:
		put_numbers(out, *(const void *const *)(const void *)p, 8,
			member_load(row, f->count_offset, f->count_size));
		break;
	case JS_OBJECT:
		js_put(out, f->of, p);
		break;
	case JS_POINTER:
		js_put(out, f->of, *(const void *const *)(const void *)p);
		break;
	case JS_ARRAY:
		put_list(out, f->of, p, f->size / f->of->size);
		break;
	case JS_LIST:
		put_list(out, f->of, *(const void *const *)(const void *)p,
			member_load(row, f->count_offset, f->count_size));
		break;
	case JS_CALL:
		f->call(out, p);
		break;
	default:
		BUG("a value behind the last one");
	}
}

void js_value(struct buf *out, const struct js_field *f, const void *row)
{
	const char *p = (const char *)row + f->offset;

	if (is_none(f, row)) {
		buf_str(out, "null");
		return;
	}
	switch (f->type) {
	case JS_UINT:
	case JS_ID:
	case JS_SEQ:
		js_u64(out, js_number(f, row));
		break;
	case JS_INT:
		buf_printf(out, "%" PRId64,
			f->size == 4 ? *(const int32_t *)(const void *)p
				     : *(const int64_t *)(const void *)p);
		break;
	case JS_HEX:
		buf_printf(out, "\"0x%" PRIx64 "\"", js_number(f, row));
		break;
	case JS_BOOL:
		buf_str(out, *(const bool *)p ? "true" : "false");
		break;
	case JS_REAL:
		put_real(out, *(const double *)(const void *)p);
		break;
	case JS_TEXT:
		js_text(out, *(const char *const *)(const void *)p);
		break;
	case JS_CHARS:
		js_bytes(out, p, strnlen(p, f->size));
		break;
	case JS_BLOB:
		js_bytes(out, ((const struct js_blob *)(const void *)p)->p,
			((const struct js_blob *)(const void *)p)->len);
		break;
	case JS_BYTES:
		put_hex(out, (const uint8_t *)p, f->size);
		break;
	case JS_NAMED:
		js_text(out, f->named(js_number(f, row)));
		break;
	default:
		put_compound(out, f, row, p);
	}
}

void js_members(struct buf *out, const struct js_object *o, const void *row)
{
	const size_t stride = o->stride ? o->stride : sizeof *o->fields;
	const struct js_field *f = o->fields;
	const char *sep = "\"";

	for (; f->type != JS_END; f = (const void *)((const char *)f + stride)) {
		if (!f->name || (f->optional && is_none(f, row)))
			continue;
		buf_str(out, sep);
		buf_str(out, f->name);
		buf_str(out, "\":");
		sep = ",\"";
		js_value(out, f, row);
	}
}

void js_put(struct buf *out, const struct js_object *o, const void *row)
{
	buf_byte(out, '{');
	js_members(out, o, row);
	buf_byte(out, '}');
}

void js_add(struct buf *out, const struct js_object *o, const void *row)
{
	if (out->len && out->data[out->len - 1] != '[')
		buf_str(out, out->data[0] == '[' ? ",\n" : ",");
	js_put(out, o, row);
}
