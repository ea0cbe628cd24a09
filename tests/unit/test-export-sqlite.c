/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows written into SQLite's pages by hand: SQLite itself reads them back and finds nothing wrong.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "export/formats/sqlite-tree.h"

static char path[] = "/tmp/test-export-sqlite-XXXXXX";
static int fd;

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static sqlite3 *database(void)
{
	sqlite3 *h;

	assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
	return h;
}

static void run(const char *sql)
{
	sqlite3 *h = database();

	assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(h);
}

/* A database with a table t of three columns, whose root is page 2. */
static struct sqlite_tree *begin(struct sqlite_pages *p)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	run("PRAGMA page_size = 16384; CREATE TABLE t (a, b, c)");
	ok(sqlite_pages_open(p, fd));
	assert_int_equal(p->n, 2);
	return sqlite_tree_new(2);
}

static void end(struct sqlite_tree *t, struct sqlite_pages *p)
{
	ok(sqlite_tree_end(t, p));
	ok(sqlite_pages_end(p));
	sqlite_tree_free(t);
}

static void row(struct sqlite_record *r, int64_t a, const char *b, size_t n)
{
	sqlite_record_begin(r);
	sqlite_record_i64(r, a);
	sqlite_record_text(r, b, n);
	sqlite_record_null(r);
}

static void is_sound(void)
{
	sqlite3 *h = database();
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(h, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
	sqlite3_finalize(s);
	sqlite3_close(h);
}

/* Numbers around each power of two, and the texts' lengths around what takes one byte more. */
static int64_t number_of(unsigned i)
{
	const uint64_t power = UINT64_C(1) << (i / 6 % 64);

	return (int64_t)((i & 1 ? power : 0 - power) + i / 2 % 3 - 1);
}

static size_t length_of(unsigned i)
{
	static const size_t around[] = {0, 1, 56, 57, 58, 120, 127, 128, 2000, 8000, 8100};

	return around[i % (sizeof around / sizeof *around)];
}

static void check_rows(unsigned n, int64_t (*rowid)(unsigned), const char *text)
{
	sqlite3 *h = database();
	sqlite3_stmt *s;

	assert_int_equal(
		sqlite3_prepare_v2(h, "SELECT rowid, a, b, c FROM t", -1, &s, NULL), SQLITE_OK);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(sqlite3_step(s), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int64(s, 0), rowid(i));
		assert_int_equal(sqlite3_column_int64(s, 1), number_of(i));
		assert_int_equal(sqlite3_column_bytes(s, 2), length_of(i));
		assert_memory_equal(sqlite3_column_blob(s, 2) ? sqlite3_column_blob(s, 2) : "",
			text, length_of(i));
		assert_int_equal(sqlite3_column_type(s, 3), SQLITE_NULL);
	}
	assert_int_equal(sqlite3_step(s), SQLITE_DONE);
	sqlite3_finalize(s);
	sqlite3_close(h);
}

static int64_t in_order(unsigned i)
{
	return (int64_t)i + 1;
}

/* One byte to nine. */
static int64_t far_apart(unsigned i)
{
	return (int64_t)(i < 60 ? UINT64_C(1) << i : (UINT64_C(1) << 62) + i);
}

static void write_rows(unsigned n, int64_t (*rowid)(unsigned), uint32_t pages)
{
	struct sqlite_record r = {0};
	struct sqlite_pages p;
	struct sqlite_tree *t = begin(&p);
	char text[8192];

	memset(text, 'x', sizeof text);
	if (pages)
		p.n = pages;
	for (unsigned i = 0; i < n; i++) {
		row(&r, number_of(i), text, length_of(i));
		assert_true(sqlite_tree_takes(t, rowid(i), &r));
		ok(sqlite_tree_append(t, &p, rowid(i), &r));
		assert_false(sqlite_tree_takes(t, rowid(i), &r));
		assert_int_equal(sqlite_tree_next(t), rowid(i) + 1);
	}
	end(t, &p);
	check_rows(n, rowid, text);
	buf_free(&r.values);
}

static void test_rows(void **state)
{
	static const unsigned counts[] = {0, 1, 2, 11, 400, 4000};

	(void)state;
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		write_rows(counts[i], in_order, 0);
		is_sound();
		write_rows(counts[i], far_apart, 0);
		is_sound();
	}
}

/* More leaves than a page above has room for, by one, two and so on: a third level. */
static void test_levels(void **state)
{
	struct sqlite_record r = {0};
	char text[8000];

	(void)state;
	memset(text, 'y', sizeof text);
	for (unsigned n = 1089; n < 1096; n++) {
		struct sqlite_pages p;
		struct sqlite_tree *t = begin(&p);
		sqlite3 *h;
		sqlite3_stmt *s;

		for (unsigned i = 0; i < n; i++) {
			row(&r, i, text, sizeof text);
			ok(sqlite_tree_append(t, &p, i + 1, &r));
		}
		end(t, &p);
		is_sound();
		h = database();
		assert_int_equal(
			sqlite3_prepare_v2(
				h, "SELECT count(*), sum(a), sum(length(b)) FROM t", -1, &s, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_step(s), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int64(s, 0), n);
		assert_int_equal(sqlite3_column_int64(s, 1), n * (n - 1) / 2);
		assert_int_equal(sqlite3_column_int64(s, 2), n * sizeof text);
		sqlite3_finalize(s);
		sqlite3_close(h);
	}
	buf_free(&r.values);
}

/* The page in which SQLite locks a byte, at 1 GiB, holds no row. */
static void test_lock_page(void **state)
{
	const uint32_t lock = (1u << 30) / SQLITE_PAGE + 1;
	uint8_t page[SQLITE_PAGE];
	struct stat is;

	(void)state;
	for (uint32_t before = 1; before < 8; before++) {
		write_rows(200, in_order, lock - before);
		assert_int_equal(pread(fd, page, sizeof page, (off_t)1 << 30), sizeof page);
		for (size_t i = 0; i < sizeof page; i++)
			assert_int_equal(page[i], 0);
		assert_int_equal(fstat(fd, &is), 0);
		assert_true(is.st_size > (off_t)1 << 30);
	}
	assert_int_equal(ftruncate(fd, 0), 0);
}

/* A row that SQLite adds afterwards, in the middle and at the end. */
static void test_added(void **state)
{
	struct sqlite_record r = {0};
	struct sqlite_pages p;
	struct sqlite_tree *t = begin(&p);

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		row(&r, i, "text", 4);
		ok(sqlite_tree_append(t, &p, 2 * i + 2, &r));
	}
	end(t, &p);
	run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 2 FROM n WHERE i < 6001)"
	    "INSERT INTO t (rowid, a) SELECT i, i FROM n");
	is_sound();
	buf_free(&r.values);
}

static void test_values(void **state)
{
	struct sqlite_record r = {0};
	struct sqlite_tree *t;
	struct sqlite_value v;
	size_t type, value;
	char text[8192];

	(void)state;
	memset(text, 'z', sizeof text);
	for (unsigned i = 0; i < 800; i++) {
		type = value = 0;
		row(&r, number_of(i), text, length_of(i));
		assert_true(sqlite_record_value(&r, &type, &value, &v));
		assert_null(v.text);
		assert_int_equal(v.number, number_of(i));
		assert_true(sqlite_record_value(&r, &type, &value, &v));
		assert_non_null(v.text);
		assert_int_equal(v.length, length_of(i));
		assert_memory_equal(v.text, text, v.length);
		assert_true(sqlite_record_value(&r, &type, &value, &v));
		assert_true(v.is_null);
		assert_false(sqlite_record_value(&r, &type, &value, &v));
	}
	row(&r, 1, text, sizeof text);
	t = sqlite_tree_new(2);
	assert_false(sqlite_tree_takes(t, 1, &r)); /* too large for a page */
	sqlite_tree_free(t);
	buf_free(&r.values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
		cmocka_unit_test(test_levels), cmocka_unit_test(test_lock_page),
		cmocka_unit_test(test_added), cmocka_unit_test(test_values)};
	int failed;

	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
