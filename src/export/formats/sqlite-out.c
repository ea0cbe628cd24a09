/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows into tables, see sqlite-out.h. The file is made once and read by nobody before it is whole,
 * so there is neither a journal nor a wait for the disk.
 */
#include "export/formats/sqlite-out.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"

static const struct {
	const char *name, *columns;
} tables[DB_TABLES] = {
#define TABLE(constant, name, columns) {#name, columns},
#include "export/formats/sqlite-schema.def"
#undef TABLE
};

static void fail(struct db *d, struct err *e)
{
	d->failed = err_first(d->failed, e);
}

/* --- what SQLite does itself --- */

static void check(struct db *d, sqlite3 *h, int result)
{
	if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW || d->failed)
		return;
	d->failed = err_new(ERR_SYSTEM, "cannot write the database: %s",
		h ? sqlite3_errmsg(h) : sqlite3_errstr(result));
}

static void run(struct db *d, sqlite3 *h, const char *sql)
{
	if (!d->failed)
		check(d, h, sqlite3_exec(h, sql, NULL, NULL, NULL));
}

static sqlite3 *open_it(struct db *d)
{
	sqlite3 *h = NULL;

	check(d, h,
		sqlite3_open_v2(d->path, &h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
	run(d, h,
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 16384;"
		"PRAGMA locking_mode = EXCLUSIVE; BEGIN");
	return h;
}

static void close_it(struct db *d, sqlite3 *h)
{
	run(d, h, "COMMIT");
	if (h)
		check(d, h, sqlite3_close(h));
}

static sqlite3_stmt *prepare(struct db *d, sqlite3 *h, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (!d->failed)
		check(d, h, sqlite3_prepare_v2(h, sql, -1, &s, NULL));
	return s;
}

/* Which columns of the table are what. */
static void learn_columns(struct db *d, sqlite3 *h, enum db_table t)
{
	enum { NOT_NULL = 3, KEY = 5 };
	char *sql = xasprintf("PRAGMA table_info(%s)", tables[t].name);
	sqlite3_stmt *s = prepare(d, h, sql);
	unsigned n = 0;

	for (; s && sqlite3_step(s) == SQLITE_ROW; n++) {
		d->tables[t].never_null |= sqlite3_column_int(s, NOT_NULL) ? 1u << n : 0;
		d->tables[t].numbered |= sqlite3_column_int(s, KEY) != 0;
	}
	BUG_ON(n > SQLITE_COLUMNS_MAX);
	d->tables[t].columns = n;
	sqlite3_finalize(s);
	free(sql);
}

static void make(struct db *d, sqlite3 *h, enum db_table t)
{
	char *sql = xasprintf("CREATE TABLE %s (%s)", tables[t].name, tables[t].columns),
	     *root = xasprintf(
		     "SELECT rootpage FROM sqlite_master WHERE name = '%s'", tables[t].name);
	sqlite3_stmt *s;

	run(d, h, sql);
	learn_columns(d, h, t);
	s = prepare(d, h, root);
	if (s && sqlite3_step(s) == SQLITE_ROW)
		d->tables[t].tree = sqlite_tree_new((uint32_t)sqlite3_column_int64(s, 0));
	sqlite3_finalize(s);
	if (!d->failed && !d->tables[t].tree)
		d->failed = err_new(ERR_SYSTEM, "cannot find the table %s", tables[t].name);
	free(sql);
	free(root);
}

static FILE *open_late(struct db *d)
{
	char *path = xasprintf("%s.late", d->path);
	FILE *f = fopen(path, "w+xe");

	if (f)
		unlink(path);
	else
		fail(d, err_sys(errno, "cannot make %s", path));
	free(path);
	return f;
}

void db_open(struct db *d, const char *path, int fd)
{
	sqlite3 *h;

	*d = (struct db){.path = xstrdup(path)};
	h = open_it(d);
	for (enum db_table t = 0; t < DB_TABLES && !d->failed; t++)
		make(d, h, t);
	close_it(d, h);
	d->late = open_late(d);
	if (!d->failed)
		d->failed = sqlite_pages_open(&d->pages, fd);
}

/* --- rows --- */

void db_row(struct db *d, enum db_table t)
{
	d->row = t;
	d->column = 0;
	d->nulls = 0;
	sqlite_record_begin(&d->record);
}

void db_text(struct db *d, const char *s)
{
	char *safe;

	if (!s) {
		db_null(d);
		return;
	}
	d->column++;
	if (text_is_safe(s)) {
		sqlite_record_text(&d->record, s, strlen(s));
		return;
	}
	safe = text_safe_dup(s, strlen(s));
	sqlite_record_text(&d->record, safe, strlen(safe));
	free(safe);
}

void db_skip(struct db *d, unsigned columns)
{
	while (columns--)
		db_null(d);
}

/* --- rows that wait --- */

struct late {
	enum db_table t;
	bool numbered; /* number is the row's */
	int64_t number;
	size_t ntypes, nvalues; /* bytes that follow */
};

static void keep_late(struct db *d, bool numbered)
{
	const struct late l = {d->row, numbered, d->number, d->record.ntypes, d->record.values.len};

	d->nlate++;
	if (fwrite(&l, sizeof l, 1, d->late) != 1 ||
		fwrite(d->record.types, 1, l.ntypes, d->late) != l.ntypes ||
		fwrite(d->record.values.data, 1, l.nvalues, d->late) != l.nvalues)
		fail(d, err_sys(errno, "cannot write the database"));
}

void db_end(struct db *d)
{
	const bool numbered = d->tables[d->row].numbered && !(d->nulls & 1);
	struct sqlite_tree *tree = d->tables[d->row].tree;
	int64_t number;

	if (d->failed)
		return;
	db_skip(d, d->tables[d->row].columns - d->column);
	number = numbered ? d->number : sqlite_tree_next(tree);
	if (d->nulls & d->tables[d->row].never_null || !sqlite_tree_takes(tree, number, &d->record))
		keep_late(d, numbered);
	else
		fail(d, sqlite_tree_append(tree, &d->pages, number, &d->record));
}

/* The insertion of a row that has a value for each column. */
static sqlite3_stmt *insertion(struct db *d, sqlite3 *h, enum db_table t)
{
	struct buf sql = BUF_INIT;
	sqlite3_stmt *s;

	buf_printf(&sql, "INSERT INTO %s VALUES (?", tables[t].name);
	for (unsigned i = 1; i < d->tables[t].columns; i++)
		buf_str(&sql, ",?");
	buf_byte(&sql, ')');
	s = prepare(d, h, buf_cstr(&sql));
	buf_free(&sql);
	return s;
}

static void bind(struct db *d, sqlite3 *h, sqlite3_stmt *s, const struct sqlite_record *r)
{
	struct sqlite_value v;
	size_t type = 0, value = 0;

	for (int i = 1; sqlite_record_value(r, &type, &value, &v); i++) {
		if (v.text)
			check(d, h,
				sqlite3_bind_text(s, i, v.text, (int)v.length, SQLITE_TRANSIENT));
		else if (!v.is_null)
			check(d, h, sqlite3_bind_int64(s, i, v.number));
	}
}

/* The next row that waits, into d->record; false: there is none. */
static bool read_late(struct db *d, struct late *l)
{
	sqlite_record_begin(&d->record);
	if (fread(l, sizeof *l, 1, d->late) != 1)
		return false;
	buf_room(&d->record.values, l->nvalues);
	if (fread(d->record.types, 1, l->ntypes, d->late) != l->ntypes ||
		fread(d->record.values.data, 1, l->nvalues, d->late) != l->nvalues)
		return false;
	d->record.ntypes = l->ntypes;
	d->record.values.len = l->nvalues;
	return true;
}

static void insert_late(struct db *d)
{
	sqlite3_stmt *insert[DB_TABLES] = {0};
	sqlite3 *h = open_it(d);
	struct late l;
	uint64_t done = 0;

	rewind(d->late);
	while (!d->failed && read_late(d, &l)) {
		if (!insert[l.t])
			insert[l.t] = insertion(d, h, l.t);
		if (d->failed)
			break;
		bind(d, h, insert[l.t], &d->record);
		if (l.numbered)
			check(d, h, sqlite3_bind_int64(insert[l.t], 1, l.number));
		check(d, h, sqlite3_step(insert[l.t]));
		sqlite3_reset(insert[l.t]);
		sqlite3_clear_bindings(insert[l.t]);
		done++;
	}
	if (done != d->nlate)
		fail(d, err_new(ERR_SYSTEM, "cannot read the database's rows again"));
	for (enum db_table t = 0; t < DB_TABLES; t++)
		sqlite3_finalize(insert[t]);
	close_it(d, h);
}

struct err *db_close(struct db *d)
{
	for (enum db_table t = 0; t < DB_TABLES; t++) {
		if (!d->failed)
			d->failed = sqlite_tree_end(d->tables[t].tree, &d->pages);
		sqlite_tree_free(d->tables[t].tree);
	}
	if (!d->failed)
		d->failed = sqlite_pages_end(&d->pages);
	if (!d->failed && d->nlate)
		insert_late(d);
	if (d->late)
		fclose(d->late);
	buf_free(&d->record.values);
	free(d->path);
	return d->failed;
}
