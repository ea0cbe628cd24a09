/* SPDX-License-Identifier: Apache-2.0
 *
 * The database, see stage.h. It has no name: SQLite makes it in TMPDIR, or keeps it in memory while
 * it is small, and removes it.
 */
#include "import/core/stage.h"

#include <string.h>
#include <stdlib.h>
#include "import/core/figure.h"

enum { TELL_EVERY = 4096 };

static const char schema[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = 1;"
	"PRAGMA cache_size = -65536;"
	"CREATE TABLE host (id INTEGER PRIMARY KEY, kind INT, start INT, length INT, tid INT,"
	" corr INT, name TEXT, chain INT);"
	"CREATE TABLE work (id INTEGER PRIMARY KEY, kind INT, start INT, end INT, corr INT,"
	" device INT, ctx INT, stream INT, graph INT, name TEXT, gx INT, gy INT, gz INT, bx INT,"
	" by INT, bz INT, shared INT, static INT, regs INT, bytes INT, value INT, dir INT,"
	" host INT, at INT);"
	"CREATE TABLE sync (kind INT, corr INT, device INT, ctx INT, stream INT, event INT);"
	"CREATE TABLE record (corr INT, device INT, ctx INT, stream INT, event INT);"
	"CREATE TABLE frame (chain INT, depth INT, function TEXT, file TEXT, line INT);"
	"CREATE TABLE thread (tid INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE device (device INTEGER PRIMARY KEY, name TEXT, memory INT, processors INT,"
	" major INT, minor INT);"
	"BEGIN";

void stage_fail(struct stage *s, struct err *e)
{
	s->failed = err_first(s->failed, e);
}

static void check(struct stage *s, int result)
{
	if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW || s->failed)
		return;
	s->failed = err_new(ERR_SYSTEM, "cannot sort the profile: %s",
		s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(result));
	s->failed = err_cure(s->failed, "Its database lies in TMPDIR, or in /var/tmp");
}

sqlite3_stmt *stage_prepare(struct stage *s, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (!s->failed)
		check(s, sqlite3_prepare_v2(s->db, sql, -1, &q, NULL));
	return q;
}

void stage_run(struct stage *s, const char *sql)
{
	if (!s->failed)
		check(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

bool stage_step(struct stage *s, sqlite3_stmt *q)
{
	int got;

	if (s->failed || !q)
		return false;
	got = sqlite3_step(q);
	check(s, got);
	return got == SQLITE_ROW;
}

void stage_open(struct stage *s, const struct import_ask *ask, struct import_result *result)
{
	*s = (struct stage){
		.ask = ask, .result = result, .pid = -1, .rank = -1, .ranks = -1, .dated = true};
	check(s, sqlite3_open_v2("", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
	stage_run(s, schema);
	s->host = stage_prepare(s, "INSERT INTO host VALUES (NULL,?,?,?,?,?,?,?)");
	s->work = stage_prepare(s, "INSERT INTO work VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
				   "?,?,?,?,?,NULL,NULL)");
	s->sync = stage_prepare(s, "INSERT INTO sync VALUES (?,?,?,?,?,?)");
	s->record = stage_prepare(s, "INSERT INTO record VALUES (?,?,?,?,?)");
	s->frame = stage_prepare(s, "INSERT INTO frame VALUES (?,?,?,?,?)");
	s->thread = stage_prepare(s, "INSERT OR REPLACE INTO thread VALUES (?,?)");
	s->device = stage_prepare(s, "INSERT OR REPLACE INTO device VALUES (?,?,?,?,?,?)");
}

static void put_numbers(struct stage *s, sqlite3_stmt *q, int *column, const int64_t *v, int n)
{
	for (int i = 0; i < n && !s->failed; i++)
		check(s, sqlite3_bind_int64(q, ++*column, v[i]));
}

static void put_text(struct stage *s, sqlite3_stmt *q, int *column, const char *text)
{
	++*column;
	if (!s->failed)
		check(s, sqlite3_bind_text(q, *column, text, -1, SQLITE_STATIC));
}

static void put_row(struct stage *s, sqlite3_stmt *q)
{
	(void)stage_step(s, q);
	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	if (!s->failed && s->ask->cancelled && !(++s->rows % TELL_EVERY) &&
		s->ask->cancelled(s->ask->arg, s->rows))
		s->failed = err_new(ERR_INTERRUPTED, "interrupted");
}

void stage_bad(struct stage *s)
{
	s->result->bad++;
}

static bool fits(int64_t v)
{
	return v >= -FIGURE_MAX && v <= FIGURE_MAX;
}

void stage_host(struct stage *s, const struct stage_host *h)
{
	const int64_t first[] = {h->kind, h->start, h->length, h->tid, h->corr};
	int column = 0;

	if (!fits(h->start) || h->length < 0 || h->length > FIGURE_MAX) {
		stage_bad(s);
		return;
	}
	put_numbers(s, s->host, &column, first, 5);
	put_text(s, s->host, &column, h->name);
	put_numbers(s, s->host, &column, &h->chain, 1);
	put_row(s, s->host);
}

/* What of a row would not fit into a command. */
static bool work_is_bad(const struct stage_work *w)
{
	enum { DEVICES_MAX = 1024 };
	const int64_t amounts[] = {w->shared, w->static_shared, w->regs, w->bytes};
	bool bad = !fits(w->start) || !fits(w->end) || w->end < w->start || w->device < 0 ||
		   w->device >= DEVICES_MAX || w->stream < 0 || w->stream > FIGURE_MAX;

	for (unsigned i = 0; i < 3; i++)
		bad |= w->grid[i] < 0 || w->block[i] < 0;
	for (unsigned i = 0; i < sizeof amounts / sizeof *amounts; i++)
		bad |= amounts[i] < 0;
	return bad;
}

void stage_work(struct stage *s, const struct stage_work *w)
{
	const int64_t first[] = {
		w->kind, w->start, w->end, w->corr, w->device, w->ctx, w->stream, w->graph};
	const int64_t last[] = {w->grid[0], w->grid[1], w->grid[2], w->block[0], w->block[1],
		w->block[2], w->shared, w->static_shared, w->regs, w->bytes, w->value, w->dir};
	int column = 0;

	if (work_is_bad(w)) {
		stage_bad(s);
		return;
	}
	put_numbers(s, s->work, &column, first, 8);
	put_text(s, s->work, &column, w->name);
	put_numbers(s, s->work, &column, last, 12);
	put_row(s, s->work);
}

void stage_sync(struct stage *s, const struct stage_sync *y)
{
	const int64_t v[] = {y->kind, y->corr, y->device, y->ctx, y->stream, y->event};
	int column = 0;

	put_numbers(s, s->sync, &column, v, 6);
	put_row(s, s->sync);
}

void stage_record(
	struct stage *s, int64_t corr, int64_t device, int64_t ctx, int64_t stream, int64_t event)
{
	const int64_t v[] = {corr, device, ctx, stream, event};
	int column = 0;

	put_numbers(s, s->record, &column, v, 5);
	put_row(s, s->record);
}

void stage_frame(struct stage *s, int64_t chain, int64_t depth, const char *function,
	const char *file, int64_t line)
{
	int column = 0;

	put_numbers(s, s->frame, &column, (const int64_t[]){chain, depth}, 2);
	put_text(s, s->frame, &column, function);
	put_text(s, s->frame, &column, file);
	put_numbers(s, s->frame, &column, &line, 1);
	put_row(s, s->frame);
}

void stage_thread(struct stage *s, int64_t tid, const char *name)
{
	int column = 0;

	put_numbers(s, s->thread, &column, &tid, 1);
	put_text(s, s->thread, &column, name);
	put_row(s, s->thread);
}

void stage_device(struct stage *s, int64_t device, const char *name, int64_t memory,
	int64_t processors, int64_t major, int64_t minor)
{
	int column = 0;

	if (device < 0 || device > 1023 || memory < 0 || processors < 0 || major < 0 || minor < 0) {
		stage_bad(s);
		return;
	}
	put_numbers(s, s->device, &column, &device, 1);
	put_text(s, s->device, &column, name);
	put_numbers(s, s->device, &column, (const int64_t[]){memory, processors, major, minor}, 4);
	put_row(s, s->device);
	if (!s->gpu)
		s->gpu = xstrdup(name);
}

/*
 * A call is there once: older releases of Nsight Systems have it twice, the runtime's function and
 * the wrapper around it, with one correlation on one thread, one within the other.
 *
 * Work finds its call by correlation: the first of several, which is the outermost. Work without a
 * call comes where the last call for its stream was, or where it began if that is earlier; so it
 * keeps its place among the stream's work.
 */
static const char joins[] =
	"CREATE INDEX host_corr ON host(corr) WHERE corr > 0;"
	"DELETE FROM host WHERE corr > 0 AND kind <= 1 AND EXISTS (SELECT 1 FROM host AS around"
	" WHERE around.corr = host.corr AND around.corr > 0 AND around.tid = host.tid"
	" AND around.kind <= 1 AND around.start <= host.start"
	" AND around.start + around.length >= host.start + host.length"
	" AND (around.start, -around.length, around.id) < (host.start, -host.length, host.id));"
	"UPDATE work SET host = (SELECT id FROM host WHERE host.corr = work.corr AND corr > 0"
	" AND kind <= 1 ORDER BY start, id LIMIT 1) WHERE corr > 0;"
	"UPDATE work SET at = placed.at FROM (SELECT id, min(start, ifnull(max(called) OVER"
	" (PARTITION BY device, ctx, stream ORDER BY start, id ROWS UNBOUNDED PRECEDING), start))"
	" AS at FROM (SELECT work.id, work.start, device, ctx, stream, host.start AS called"
	" FROM work LEFT JOIN host ON host.id = work.host)) AS placed"
	" WHERE placed.id = work.id AND work.host IS NULL;"
	"CREATE INDEX work_host ON work(host);"
	"CREATE INDEX sync_corr ON sync(corr);"
	"CREATE INDEX record_corr ON record(corr);"
	"CREATE INDEX frame_chain ON frame(chain, depth);";

/* Times that count from no date are moved so that the first is at least 1. */
static void date(struct stage *s)
{
	enum { YEAR_2001_SECONDS = 978307200 };
	sqlite3_stmt *q = stage_prepare(s, "SELECT min(at) FROM (SELECT min(start) AS at FROM host"
					   " UNION ALL SELECT min(start) FROM work)");

	if (stage_step(s, q) && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		const int64_t first = sqlite3_column_int64(q, 0);

		if (s->base < 0 || s->base > FIGURE_MAX || first < 1 - s->base) {
			s->base = 1 - first;
			s->dated = false;
		}
		s->dated &= s->base + first > YEAR_2001_SECONDS * INT64_C(1000000000);
	}
	sqlite3_finalize(q);
	s->result->no_date = !s->dated;
}

struct err *stage_end(struct stage *s)
{
	struct err *e;

	stage_run(s, joins);
	if (!s->failed)
		date(s);
	e = s->failed;
	s->failed = NULL;
	return e;
}

void stage_close(struct stage *s)
{
	sqlite3_stmt *const all[] = {
		s->host, s->work, s->sync, s->record, s->frame, s->thread, s->device};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		sqlite3_finalize(all[i]);
	sqlite3_close(s->db);
	err_free(s->failed);
	free(s->program);
	free(s->gpu);
}
