/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows written straight into the pages of an SQLite database (sqlite.org/fileformat2.html), table
 * by table, each in the order of its rowids: no statement is executed for them, which is what most
 * of the time goes to. SQLite makes the file with its empty tables before, and opens it afterwards.
 */
#ifndef EXPORT_SQLITE_TREE_H
#define EXPORT_SQLITE_TREE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/buf.h"

enum { SQLITE_PAGE = 16384, SQLITE_COLUMNS_MAX = 32 };

/* A row as it is stored: the header, which has a type for each column, and the values. */
struct sqlite_record {
	uint8_t types[SQLITE_COLUMNS_MAX * 9];
	size_t ntypes; /* bytes */
	struct buf values;
};
void sqlite_record_begin(struct sqlite_record *r);
static inline void sqlite_record_null(struct sqlite_record *r)
{
	r->types[r->ntypes++] = 0;
}
/* A million commands have forty million numbers. */
static inline void sqlite_record_i64(struct sqlite_record *r, int64_t v)
{
	/* By bytes; numbers have 1, 2, 3, 4, 6 or 8. */
	static const uint8_t types[] = {1, 1, 2, 3, 4, 5, 5, 6, 6},
			     stored[] = {1, 1, 2, 3, 4, 6, 6, 8, 8};
	const uint64_t sign = v < 0 ? UINT64_MAX : 0;
	unsigned bytes;
	uint64_t x;

	if (v == 0 || v == 1) {
		r->types[r->ntypes++] = (uint8_t)(8 + v);
		return;
	}
	/* without those bits that repeat the sign, and the sign itself */
	bytes = (72 - (unsigned)__builtin_clzll(((uint64_t)v ^ sign) | 1)) / 8;
	r->types[r->ntypes++] = types[bytes];
	x = htobe64((uint64_t)v << (64 - 8 * stored[bytes]));
	memcpy(r->values.data + r->values.len, &x, sizeof x);
	r->values.len += stored[bytes];
}
void sqlite_record_text(struct sqlite_record *r, const char *s, size_t n);

struct sqlite_value {
	bool is_null;
	int64_t number;
	const char *text; /* NULL: it is a number; not terminated */
	size_t length;
};
/* The value at these places, which are 0 at first and go on to the next one; false: there is none.
 */
bool sqlite_record_value(
	const struct sqlite_record *r, size_t *type, size_t *value, struct sqlite_value *ret);

/* The pages of a database that is made. */
struct sqlite_pages {
	int fd;
	uint32_t n; /* pages that the file has */
};
struct sqlite_tree;

/* root: the table's page, which is empty. */
struct sqlite_tree *sqlite_tree_new(uint32_t root);
void sqlite_tree_free(struct sqlite_tree *t);
/* Whether the row can be appended: its rowid is above the last one's, and it fits into a page. */
bool sqlite_tree_takes(const struct sqlite_tree *t, int64_t rowid, const struct sqlite_record *r);
/* The rowid of a row that has no number of its own. */
int64_t sqlite_tree_next(const struct sqlite_tree *t);
struct err *sqlite_tree_append(struct sqlite_tree *t, struct sqlite_pages *p, int64_t rowid,
	const struct sqlite_record *r) TS_CHECK;
/* Writes what is left, and the root. */
struct err *sqlite_tree_end(struct sqlite_tree *t, struct sqlite_pages *p) TS_CHECK;

/* The number of pages of the database at fd, from its length. */
struct err *sqlite_pages_open(struct sqlite_pages *p, int fd) TS_CHECK;
/* Writes into the database's header how many pages there are. */
struct err *sqlite_pages_end(struct sqlite_pages *p) TS_CHECK;

#endif
