/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of structs as a table, from one description for text and JSON: a column names the member
 * that it shows. Numbers are aligned to the right, texts to the left.
 */
#ifndef BASE_TEXT_TABLE_H
#define BASE_TEXT_TABLE_H

#include "base/json-put.h"

struct column {
	const char *title;				/* NULL: JSON only */
	struct js_field js;				/* its name NULL: text only */
	void (*calc)(struct buf *out, const void *row); /* writes the text; NULL: by js */
	bool right;					/* calc's text is aligned like a number */
	bool optional; /* text: left out where no row has anything there but 0 */
};

/* The text of all cells, each with a NUL, row by row, and the width of each column. */
#define TABLE_COLUMNS_MAX 16
struct table {
	const struct column *of; /* the last one's js is JS_END */
	struct buf cells;
	unsigned columns, rows;
	size_t width[TABLE_COLUMNS_MAX];
	bool left[TABLE_COLUMNS_MAX], absent[TABLE_COLUMNS_MAX];
};

struct table table_begin(const struct column *of);
void table_row(struct table *t, const void *row);
/* Appends the table with its titles, nothing if it has no row, and frees it. columns: of the
 * screen, 0 for any number; what does not fit comes as another table below, behind an empty line.
 */
void table_end(struct table *t, struct buf *out, unsigned columns);
/* The same rows as a JSON list, n of them, `size` bytes from one to the next. of: made by
 * TABLE_OBJECT(). */
void table_json(
	struct buf *out, const struct js_object *of, const void *rows, size_t size, size_t n);

/* The JSON object of the columns, for rows of struct T. */
#define TABLE_OBJECT(columns, what, row_size)                                                      \
	static const struct js_object columns##_object = {                                         \
		what, row_size, &(columns)[0].js, sizeof *(columns)};                              \
	JS_LISTED(columns##_object)

#endif
