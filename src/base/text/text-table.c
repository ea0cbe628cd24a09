/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables, see text-table.h.
 */
#include "base/text-table.h"

#include <inttypes.h>
#include <string.h>

/* --- cells --- */

/* A text from a program may hold anything: what a terminal could act on becomes a '?'. */
static void put_text(struct buf *out, const struct js_blob *t)
{
	const uint8_t *p = t->p;

	for (uint64_t i = 0; i < t->len; i++)
		buf_byte(out, p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
}

/* A table of some thousand rows is mostly numbers, and printf is several times slower. */
static void put_number(struct buf *out, uint64_t v, unsigned base)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		buf_byte(out, (uint8_t)digits[--n]);
}

static void put_blanks(struct buf *out, size_t n)
{
	if (n)
		memset(buf_room(out, n), ' ', n);
	out->len += n;
}

static void put_cell(struct buf *out, const void *row, const struct column *c)
{
	uint64_t v;

	if (c->calc) {
		c->calc(out, row);
		return;
	}
	if (c->js.type == JS_TEXT) {
		const char *text =
			*(const char *const *)(const void *)((const char *)row + c->js.offset);

		put_text(out, &(struct js_blob){text, text ? strlen(text) : 0});
		return;
	}
	if (c->js.type == JS_BLOB) {
		put_text(out, (const void *)((const char *)row + c->js.offset));
		return;
	}
	v = js_number(&c->js, row);
	switch (c->js.type) {
	case JS_ID:
		if (v == UINT32_MAX || v == UINT64_MAX)
			buf_byte(out, '-');
		else
			put_number(out, v, 10);
		break;
	case JS_SEQ:
		buf_byte(out, v ? '#' : '-');
		if (v)
			put_number(out, v, 10);
		break;
	case JS_INT:
		buf_printf(out, "%" PRId64, (int64_t)v);
		break;
	case JS_HEX:
		buf_str(out, "0x");
		put_number(out, v, 16);
		break;
	case JS_BOOL:
		buf_str(out, v ? "yes" : "no");
		break;
	case JS_NAMED:
		buf_str(out, c->js.named(v));
		break;
	default:
		put_number(out, v, 10);
	}
}

static bool is_left(const struct column *c)
{
	const enum js_type t = c->js.type;

	return c->calc ? !c->right : t == JS_BOOL || t == JS_BLOB || t == JS_TEXT || t == JS_NAMED;
}

/* --- text --- */

/* Characters that s takes on the screen: bytes that do not continue a UTF-8 character. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct table *t, unsigned column, size_t start)
{
	size_t w;

	buf_byte(&t->cells, 0);
	w = width((const char *)t->cells.data + start);
	if (t->width[column] < w)
		t->width[column] = w;
}

/* A column that is optional stays away until a row has something there. */
static void note_presence(
	struct table *t, unsigned column, const struct column *c, bool is_title, size_t start)
{
	const char *cell = (const char *)t->cells.data + start;

	if (is_title)
		t->absent[column] = c->optional;
	else if (*cell && strcmp(cell, "0") != 0)
		t->absent[column] = false;
}

/* row NULL: the titles. */
static void add_row(struct table *t, const void *row)
{
	const struct column *c = t->of;
	unsigned column = 0;

	for (; c->js.type != JS_END; c++) {
		size_t start = t->cells.len;

		if (!c->title)
			continue;
		BUG_ON(column == TABLE_COLUMNS_MAX);
		if (row)
			put_cell(&t->cells, row, c);
		else
			buf_str(&t->cells, c->title);
		t->left[column] = is_left(c);
		add_cell(t, column, start);
		note_presence(t, column++, c, !row, start);
	}
	t->columns = column;
}

/* Columns 0 and from..to-1. */
static void print_part(struct buf *out, const struct table *t, unsigned from, unsigned to)
{
	const char *cell = (const char *)t->cells.data;

	for (unsigned r = 0; r <= t->rows; r++) {
		size_t blanks =
			0; /* owed before the next character, so that no line ends with one */

		for (unsigned i = 0; i < t->columns; i++, cell += strlen(cell) + 1) {
			size_t pad = t->width[i] - width(cell);

			if (t->absent[i] || (i && (i < from || i >= to)))
				continue;
			blanks += t->left[i] ? 0 : pad;
			if (*cell) {
				put_blanks(out, blanks);
				buf_str(out, cell);
				blanks = 0;
			}
			blanks += (t->left[i] ? pad : 0) + 2;
		}
		buf_byte(out, '\n');
	}
}

/* Columns that do not fit into so many characters come below, beside the first one again. */
static void print_parts(struct buf *out, const struct table *t, unsigned columns)
{
	size_t used = t->width[0];
	unsigned from = 1;

	for (unsigned i = 1; i < t->columns; i++) {
		if (t->absent[i])
			continue;
		if (columns && used > t->width[0] && used + 2 + t->width[i] > columns) {
			print_part(out, t, from, i);
			buf_byte(out, '\n');
			used = t->width[0];
			from = i;
		}
		used += 2 + t->width[i];
	}
	print_part(out, t, from, t->columns);
}

struct table table_begin(const struct column *of)
{
	struct table t = {.of = of, .cells = BUF_INIT};

	add_row(&t, NULL);
	return t;
}

void table_row(struct table *t, const void *row)
{
	add_row(t, row);
	t->rows++;
}

void table_end(struct table *t, struct buf *out, unsigned columns)
{
	if (t->rows)
		print_parts(out, t, columns);
	buf_free(&t->cells);
}

void table_json(
	struct buf *out, const struct js_object *of, const void *rows, size_t size, size_t n)
{
	struct buf list = BUF_INIT;

	buf_byte(&list, '[');
	for (size_t i = 0; i < n; i++)
		js_add(&list, of, (const char *)rows + i * size);
	buf_byte(&list, ']');
	buf_add(out, list.data, list.len);
	buf_free(&list);
}
