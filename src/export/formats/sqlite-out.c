/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows into tables, see sqlite-out.h. The file is made once and read by nobody before it is whole,
 * so there is neither a journal nor a wait for the disk.
 */
#include "export/formats/sqlite-out.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/text.h"

static const struct {
	const char *name, *columns;
} tables[DB_TABLES] = {
#define TABLE(constant, name, columns) {#name, columns},
#include "export/formats/sqlite-schema.def"
#undef TABLE
};

static void check(struct db *d, int result)
{
	if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW || d->failed)
		return;
	d->failed = err_new(ERR_SYSTEM, "cannot write the database: %s",
		d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(result));
}

static void run(struct db *d, const char *sql)
{
	if (!d->failed)
		check(d, sqlite3_exec(d->handle, sql, NULL, NULL, NULL));
}

/* The statement that puts a row into the table, with a parameter for each column. */
static void prepare(struct db *d, enum db_table t)
{
	struct buf sql = BUF_INIT;
	sqlite3_stmt *all = NULL;

	buf_printf(&sql, "SELECT * FROM %s", tables[t].name);
	check(d, sqlite3_prepare_v2(d->handle, buf_cstr(&sql), -1, &all, NULL));
	buf_clear(&sql);
	buf_printf(&sql, "INSERT INTO %s VALUES (?", tables[t].name);
	for (int i = 1; !d->failed && i < sqlite3_column_count(all); i++)
		buf_str(&sql, ",?");
	buf_byte(&sql, ')');
	sqlite3_finalize(all);
	if (!d->failed)
		check(d, sqlite3_prepare_v2(d->handle, buf_cstr(&sql), -1, &d->insert[t], NULL));
	buf_free(&sql);
}

static void make(struct db *d, enum db_table t)
{
	struct buf sql = BUF_INIT;

	buf_printf(&sql, "CREATE TABLE %s (%s)", tables[t].name, tables[t].columns);
	run(d, buf_cstr(&sql));
	buf_free(&sql);
	if (!d->failed)
		prepare(d, t);
}

void db_open(struct db *d, const char *path)
{
	*d = (struct db){0};
	check(d, sqlite3_open_v2(path, &d->handle,
			 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
	run(d, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 16384;"
	       "PRAGMA locking_mode = EXCLUSIVE; BEGIN");
	for (enum db_table t = 0; t < DB_TABLES; t++)
		make(d, t);
}

void db_row(struct db *d, enum db_table t)
{
	d->row = t;
	d->column = 0;
}

void db_i64(struct db *d, int64_t v)
{
	if (!d->failed)
		check(d, sqlite3_bind_int64(d->insert[d->row], ++d->column, v));
}

void db_u64(struct db *d, uint64_t v)
{
	if (v > INT64_MAX)
		db_skip(d, 1);
	else
		db_i64(d, (int64_t)v);
}

void db_u64_if(struct db *d, bool known, uint64_t v)
{
	db_u64(d, known ? v : UINT64_MAX);
}

void db_text(struct db *d, const char *s)
{
	char *safe;

	if (d->failed)
		return;
	if (!s || text_is_safe(s)) {
		check(d, sqlite3_bind_text(d->insert[d->row], ++d->column, s, -1, SQLITE_STATIC));
		return;
	}
	safe = text_safe_dup(s, strlen(s));
	check(d, sqlite3_bind_text(d->insert[d->row], ++d->column, safe, -1, SQLITE_TRANSIENT));
	free(safe);
}

void db_skip(struct db *d, int columns)
{
	d->column += columns;
}

void db_end(struct db *d)
{
	sqlite3_stmt *s = d->insert[d->row];

	if (d->failed)
		return;
	check(d, sqlite3_step(s));
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
}

struct err *db_close(struct db *d)
{
	run(d, "COMMIT");
	for (enum db_table t = 0; t < DB_TABLES; t++)
		sqlite3_finalize(d->insert[t]);
	if (d->handle)
		check(d, sqlite3_close(d->handle));
	return d->failed;
}
