/* SPDX-License-Identifier: Apache-2.0
 *
 * A database under construction: rows are put in column by column, in the order of
 * sqlite-schema.def. The first error stays, and what comes after it does nothing.
 *
 * Rows go straight into pages; those that cannot, because they are not the last of their table or
 * do not fit, wait in a file of their own until SQLite inserts them at the end.
 */
#ifndef EXPORT_SQLITE_OUT_H
#define EXPORT_SQLITE_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "export/formats/sqlite-tree.h"

enum db_table {
#define TABLE(constant, name, columns) DB_##constant,
#include "export/formats/sqlite-schema.def"
#undef TABLE
	DB_TABLES
};

struct db {
	char *path;
	struct sqlite_pages pages;
	struct {
		struct sqlite_tree *tree;
		uint32_t never_null; /* columns, as bits */
		bool numbered;	     /* the first column is the row's number */
		unsigned columns;
	} tables[DB_TABLES];
	enum db_table row; /* under construction: */
	struct sqlite_record record;
	unsigned column; /* how many were put */
	uint32_t nulls;	 /* as bits */
	int64_t number;	 /* of a numbered row */
	FILE *late;	 /* rows that do not go at the end of their table */
	uint64_t nlate;
	struct err *failed;
};

/* Makes the tables in the file at path, which is empty and open as fd. */
void db_open(struct db *d, const char *path, int fd);
/* Begins a row. Columns that are not put are NULL. */
void db_row(struct db *d, enum db_table t);
/* The next column: NULL. */
static inline void db_null(struct db *d)
{
	d->nulls |= 1u << d->column++;
	sqlite_record_null(&d->record);
}
/* A number. */
static inline void db_i64(struct db *d, int64_t v)
{
	if (!d->column && d->tables[d->row].numbered) {
		d->number = v;
		d->column++;
		sqlite_record_null(&d->record); /* as the format wants it: the row's number tells */
		return;
	}
	d->column++;
	sqlite_record_i64(&d->record, v);
}
/* A number; NULL above INT64_MAX, which SQL has no number for. */
static inline void db_u64(struct db *d, uint64_t v)
{
	if (v > INT64_MAX)
		db_null(d);
	else
		db_i64(d, (int64_t)v);
}
/* A number that may be unknown. */
static inline void db_u64_if(struct db *d, bool known, uint64_t v)
{
	db_u64(d, known ? v : UINT64_MAX);
}
/* Text, with what is not UTF-8 or would drive a terminal written out; NULL is NULL. */
void db_text(struct db *d, const char *s);
/* So many columns are NULL. */
void db_skip(struct db *d, unsigned columns);
void db_end(struct db *d);
/* Ends all; the file is whole unless an error is returned. */
struct err *db_close(struct db *d) TS_CHECK;

#endif
