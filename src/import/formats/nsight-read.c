/* SPDX-License-Identifier: Apache-2.0
 *
 * The database of Nsight Systems ("SQLite Schema Reference" in its user guide, releases 2019 to
 * 2025). The schema changes from release to release, so columns are looked up by name and a table
 * may be missing. Times are nanoseconds since the session began, TARGET_INFO_SESSION_START_TIME; a
 * globalTid is process << 24 | thread in its low 48 bits.
 *
 * The database is hostile: only tables are read, never views, and each value is taken as a number
 * if it is one.
 */
#include <string.h>
#include "base/checked.h"
#include "import/core/call-kind.h"
#include "import/core/figure.h"
#include "import/formats/readers.h"
#include "sbt/cmd.h"

enum { PARTS_MAX = 32, NO_NUMBER = -1 };

struct nsight {
	struct stage *s;
	sqlite3 *db;
	int64_t other_pid; /* of a second process */
	bool any;	   /* a table with events was there */
};
/* A table, read column by column: value i is that of names[i], wherever it lies. */
struct rows {
	struct nsight *n;
	sqlite3_stmt *q;
};

static void failed(struct nsight *n)
{
	stage_fail(n->s, err_new(ERR_BAD_TRACE, "cannot read %s: %s", n->s->ask->file,
				 sqlite3_errmsg(n->db)));
}

static sqlite3_stmt *prepare(struct nsight *n, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (!n->s->failed && sqlite3_prepare_v2(n->db, sql, -1, &q, NULL) != SQLITE_OK)
		failed(n);
	return q;
}

static bool step(struct nsight *n, sqlite3_stmt *q)
{
	int got = SQLITE_DONE;

	if (q && !n->s->failed)
		got = sqlite3_step(q);
	if (got != SQLITE_ROW && got != SQLITE_DONE)
		failed(n);
	return got == SQLITE_ROW;
}

static bool is_table(struct nsight *n, const char *table)
{
	sqlite3_stmt *q = prepare(n, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
				     " AND sql LIKE 'CREATE TABLE%'");
	bool found;

	if (q)
		sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
	found = step(n, q);
	sqlite3_finalize(q);
	return found;
}

static bool has_column(struct nsight *n, const char *table, const char *column)
{
	sqlite3_stmt *q = prepare(n, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?");
	bool found;

	if (q) {
		sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(q, 2, column, -1, SQLITE_STATIC);
	}
	found = step(n, q);
	sqlite3_finalize(q);
	return found;
}

/* Opens a table; columns is "start end ...", and one that the table lacks is NULL in each row.
 * False: there is no such table. */
static bool open_rows(
	struct nsight *n, struct rows *r, const char *table, const char *columns, const char *order)
{
	struct buf sql = BUF_INIT;
	char name[64];

	*r = (struct rows){.n = n};
	if (!is_table(n, table))
		return false;
	buf_str(&sql, "SELECT ");
	for (const char *at = columns; *at; at += *at == ' ') {
		const size_t len = strcspn(at, " ");

		BUG_ON(len >= sizeof name);
		memcpy(name, at, len);
		name[len] = 0;
		buf_printf(&sql, "%s%s%s%s", at == columns ? "" : ", ",
			has_column(n, table, name) ? "\"" : "NULL AS \"", name, "\"");
		at += len;
	}
	buf_printf(&sql, " FROM \"%s\"%s", table, order);
	r->q = prepare(n, buf_cstr(&sql));
	buf_free(&sql);
	return true;
}

static bool next(struct rows *r)
{
	return step(r->n, r->q);
}

static void close_rows(struct rows *r)
{
	sqlite3_finalize(r->q);
}

/* A column's number; NO_NUMBER: it is none. */
static int64_t number(const struct rows *r, int i)
{
	return sqlite3_column_type(r->q, i) == SQLITE_INTEGER ? sqlite3_column_int64(r->q, i)
							      : NO_NUMBER;
}

/* The same where nothing means 0. */
static int64_t amount(const struct rows *r, int i)
{
	return sqlite3_column_type(r->q, i) == SQLITE_INTEGER ? sqlite3_column_int64(r->q, i) : 0;
}

/* --- names --- */

/* The text with this id; copied into the buffer. */
static const char *string(struct nsight *n, sqlite3_stmt *q, int64_t id, struct buf *to)
{
	const char *text = NULL;

	buf_clear(to);
	if (q && !n->s->failed) {
		sqlite3_reset(q);
		sqlite3_bind_int64(q, 1, id);
		if (step(n, q))
			text = (const char *)sqlite3_column_text(q, 0);
	}
	buf_printf(to, "%.65535s", text ? text : "");
	return buf_cstr(to);
}

static sqlite3_stmt *strings(struct nsight *n)
{
	return is_table(n, "StringIds") ? prepare(n, "SELECT value FROM StringIds WHERE id = ?")
					: NULL;
}

/* --- processes --- */

static int64_t pid_of(int64_t global)
{
	return global > 0 ? global >> 24 & 0xffffff : NO_NUMBER;
}

static int64_t tid_of(int64_t global)
{
	return global > 0 ? global & 0xffffff : NO_NUMBER;
}

/* Whether a row of this process is wanted. */
static bool wanted(struct nsight *n, int64_t global)
{
	const int64_t pid = pid_of(global), ask = (int64_t)n->s->ask->pid;

	if (pid == NO_NUMBER)
		return true;
	if (ask && pid != (ask & 0xffffff))
		return false;
	if (n->s->pid < 0)
		n->s->pid = pid;
	else if (pid != n->s->pid)
		n->other_pid = pid;
	return true;
}

/* --- tables --- */

static void read_runtime(struct nsight *n)
{
	enum { START, END, TID, CORR, NAME, CHAIN };
	struct buf name = BUF_INIT;
	sqlite3_stmt *texts = strings(n);
	struct rows r;

	if (open_rows(n, &r, "CUPTI_ACTIVITY_KIND_RUNTIME",
		    "start end globalTid correlationId nameId callchainId", ""))
		n->any = true;
	while (next(&r)) {
		struct stage_host h = {.kind = STAGE_CALL,
			.start = number(&r, START),
			.tid = tid_of(number(&r, TID)),
			.corr = number(&r, CORR),
			.chain = number(&r, CHAIN)};

		if (!wanted(n, number(&r, TID)))
			continue;
		h.name = string(n, texts, number(&r, NAME), &name);
		if (call_kind_waits(call_kind_of(h.name)))
			h.kind = STAGE_WAIT;
		if (h.start < 0 || ckd_sub(&h.length, number(&r, END), h.start))
			stage_bad(n->s);
		else
			stage_host(n->s, &h);
	}
	close_rows(&r);
	sqlite3_finalize(texts);
	buf_free(&name);
}

/* The columns that all work on a device has, in this order. */
#define WORK_COLUMNS "start end correlationId deviceId contextId streamId globalPid "
enum { WORK_GLOBAL = 6, WORK_OWN };

/* False: another process's, or no time. */
static bool take_work(struct nsight *n, const struct rows *r, struct stage_work *w)
{
	*w = (struct stage_work){.start = number(r, 0),
		.end = number(r, 1),
		.corr = number(r, 2),
		.device = number(r, 3),
		.ctx = number(r, 4),
		.stream = number(r, 5),
		.graph = NO_NUMBER,
		.name = ""};
	if (!wanted(n, number(r, WORK_GLOBAL)))
		return false;
	if (w->start >= 0)
		return true;
	stage_bad(n->s);
	return false;
}

static void read_kernels(struct nsight *n)
{
	enum {
		MANGLED = WORK_OWN,
		PLAIN,
		SHORT,
		REGS,
		GRID,
		BLOCK = GRID + 3,
		STATIC = BLOCK + 3,
		DYNAMIC,
		GRAPH
	};
	struct buf name = BUF_INIT;
	sqlite3_stmt *texts = strings(n);
	struct stage_work w;
	struct rows r;

	if (open_rows(n, &r, "CUPTI_ACTIVITY_KIND_KERNEL",
		    WORK_COLUMNS
		    "mangledName demangledName shortName registersPerThread gridX gridY "
		    "gridZ blockX blockY blockZ staticSharedMemory "
		    "dynamicSharedMemory graphId",
		    ""))
		n->any = true;
	while (next(&r)) {
		if (!take_work(n, &r, &w))
			continue;
		for (int i = MANGLED; i <= SHORT && !*w.name; i++)
			w.name = string(n, texts, number(&r, i), &name);
		w.regs = amount(&r, REGS);
		w.static_shared = amount(&r, STATIC);
		w.shared = amount(&r, DYNAMIC);
		w.graph = number(&r, GRAPH);
		for (int i = 0; i < 3; i++) {
			w.grid[i] = amount(&r, GRID + i);
			w.block[i] = amount(&r, BLOCK + i);
		}
		stage_work(n->s, &w);
	}
	close_rows(&r);
	sqlite3_finalize(texts);
	buf_free(&name);
}

/* By CUpti_ActivityMemcpyKind: from host to device, back, from and to arrays, ... */
static int64_t direction(int64_t kind)
{
	static const uint8_t dirs[] = {SBT_COPY_ANY, SBT_COPY_H2D, SBT_COPY_D2H, SBT_COPY_H2D,
		SBT_COPY_D2H, SBT_COPY_D2D, SBT_COPY_D2D, SBT_COPY_D2D, SBT_COPY_D2D, SBT_COPY_H2H,
		SBT_COPY_PEER};

	return kind >= 0 && kind < (int64_t)sizeof dirs ? dirs[kind] : SBT_COPY_ANY;
}

/* Stages the rows of a table of work; own() takes the columns that the others do not have. False:
 * there is no such table. */
static bool read_work(struct nsight *n, const char *table, const char *columns,
	void (*own)(const struct rows *r, struct stage_work *w))
{
	struct stage_work w;
	struct rows r;
	const bool there = open_rows(n, &r, table, columns, "");

	while (next(&r)) {
		if (!take_work(n, &r, &w))
			continue;
		own(&r, &w);
		stage_work(n->s, &w);
	}
	close_rows(&r);
	return there;
}

static void own_of_copy(const struct rows *r, struct stage_work *w)
{
	enum { BYTES = WORK_OWN, KIND };

	w->kind = STAGE_COPY;
	w->bytes = amount(r, BYTES);
	w->dir = direction(number(r, KIND));
}

static void own_of_fill(const struct rows *r, struct stage_work *w)
{
	enum { VALUE = WORK_OWN, BYTES };

	w->kind = STAGE_FILL;
	w->value = amount(r, VALUE);
	w->bytes = amount(r, BYTES);
}

/* Graph launches that were traced as a whole. */
static void own_of_graph(const struct rows *r, struct stage_work *w)
{
	enum { GRAPH = WORK_OWN, EXEC };

	w->kind = STAGE_GRAPH;
	w->graph = number(r, GRAPH) >= 0 ? number(r, GRAPH) : number(r, EXEC);
}

static void read_other_work(struct nsight *n)
{
	if (read_work(n, "CUPTI_ACTIVITY_KIND_MEMCPY", WORK_COLUMNS "bytes copyKind", own_of_copy))
		n->any = true;
	if (read_work(n, "CUPTI_ACTIVITY_KIND_MEMSET", WORK_COLUMNS "value bytes", own_of_fill))
		n->any = true;
	(void)read_work(n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", WORK_COLUMNS "graphId graphExecId",
		own_of_graph);
}

static void read_syncs(struct nsight *n)
{
	enum { CORR, DEVICE, CTX, STREAM, TYPE, EVENT, GLOBAL };
	struct rows r;

	open_rows(n, &r, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
		"correlationId deviceId contextId streamId syncType eventId globalPid", "");
	while (next(&r)) {
		const int64_t type = number(&r, TYPE), stream = number(&r, STREAM);
		const struct stage_sync y = {.kind = (enum stage_sync_kind)type,
			.corr = number(&r, CORR),
			.device = number(&r, DEVICE),
			.ctx = number(&r, CTX),
			.stream = stream < UINT32_MAX ? stream : NO_NUMBER,
			.event = number(&r, EVENT)};

		if (wanted(n, number(&r, GLOBAL)) && type >= STAGE_SYNC_EVENT &&
			type <= STAGE_SYNC_CTX)
			stage_sync(n->s, &y);
	}
	close_rows(&r);
}

/* On which stream events were recorded: newer releases say it. */
static void read_events(struct nsight *n)
{
	enum { CORR, DEVICE, CTX, STREAM, EVENT, GLOBAL };
	struct rows r;

	open_rows(n, &r, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
		"correlationId deviceId contextId streamId eventId globalPid", "");
	while (next(&r)) {
		const int64_t corr = number(&r, CORR), stream = number(&r, STREAM);

		if (wanted(n, number(&r, GLOBAL)) && corr > 0 && stream >= 0 && stream < UINT32_MAX)
			stage_record(n->s, corr, number(&r, DEVICE), number(&r, CTX), stream,
				number(&r, EVENT));
	}
	close_rows(&r);
}

static void read_ranges(struct nsight *n)
{
	enum { START, END, TYPE, TEXT, ID, TID };
	enum { MARK = 34, PUSH_POP = 59, START_END = 60 }; /* ENUM_NSYS_EVENT_TYPE */
	struct buf name = BUF_INIT;
	sqlite3_stmt *texts = strings(n);
	struct rows r;

	open_rows(n, &r, "NVTX_EVENTS", "start end eventType text textId globalTid", "");
	while (next(&r)) {
		const int64_t type = number(&r, TYPE), end = number(&r, END);
		struct stage_host h = {.kind = type == MARK ? STAGE_MARK : STAGE_RANGE,
			.start = number(&r, START),
			.tid = tid_of(number(&r, TID)),
			.corr = NO_NUMBER,
			.chain = NO_NUMBER};
		const bool is_text = sqlite3_column_type(r.q, TEXT) == SQLITE_TEXT;

		if (!wanted(n, number(&r, TID)) ||
			(type != MARK && type != PUSH_POP && type != START_END))
			continue;
		h.name = is_text ? (const char *)sqlite3_column_text(r.q, TEXT)
				 : string(n, texts, number(&r, ID), &name);
		if (type != MARK && end >= 0 && h.start >= 0)
			h.length = end - h.start;
		if (type == START_END || (type == PUSH_POP && end < 0))
			n->s->result->unclosed++;
		else if (h.start < 0)
			stage_bad(n->s);
		else
			stage_host(n->s, &h);
	}
	close_rows(&r);
	sqlite3_finalize(texts);
	buf_free(&name);
}

/* Stacks of calls; depth 0 is the innermost. */
static void read_chains(struct nsight *n)
{
	enum { ID, SYMBOL, DEPTH };
	struct buf name = BUF_INIT;
	sqlite3_stmt *texts = strings(n);
	struct rows r;

	open_rows(n, &r, "CUDA_CALLCHAINS", "id symbol stackDepth", "");
	while (next(&r)) {
		const int64_t id = number(&r, ID), depth = number(&r, DEPTH);

		if (id >= 0 && depth >= 0 && depth < 65536)
			stage_frame(n->s, id, depth, string(n, texts, number(&r, SYMBOL), &name),
				NULL, 0);
	}
	close_rows(&r);
	sqlite3_finalize(texts);
	buf_free(&name);
}

static void read_threads(struct nsight *n)
{
	enum { NAME, TID };
	struct buf name = BUF_INIT;
	sqlite3_stmt *texts = strings(n);
	struct rows r;

	open_rows(n, &r, "ThreadNames", "nameId globalTid", "");
	while (next(&r)) {
		const int64_t global = number(&r, TID);

		if (global > 0 && pid_of(global) == n->s->pid)
			stage_thread(
				n->s, tid_of(global), string(n, texts, number(&r, NAME), &name));
	}
	close_rows(&r);
	sqlite3_finalize(texts);
	buf_free(&name);
}

static void read_target(struct nsight *n)
{
	enum { ID, NAME, MEMORY, PROCESSORS, MAJOR, MINOR };
	struct rows r;

	open_rows(n, &r, "TARGET_INFO_GPU", "id name totalMemory smCount computeMajor computeMinor",
		" ORDER BY id");
	while (next(&r)) {
		const char *name = (const char *)sqlite3_column_text(r.q, NAME);

		stage_device(n->s, number(&r, ID), name ? name : "", amount(&r, MEMORY),
			amount(&r, PROCESSORS), amount(&r, MAJOR), amount(&r, MINOR));
	}
	close_rows(&r);
	n->s->base = 0;
	n->s->dated = false;
	open_rows(n, &r, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", " LIMIT 1");
	if (next(&r) && number(&r, 0) > 0 && number(&r, 0) <= FIGURE_MAX) {
		n->s->base = number(&r, 0);
		n->s->dated = true;
	}
	close_rows(&r);
}

/* --- the whole --- */

static int tick(void *stage)
{
	struct stage *s = stage;

	return s->ask->cancelled && s->ask->cancelled(s->ask->arg, s->rows);
}

static struct err *open_file(struct nsight *n)
{
	enum { INSTRUCTIONS = 1 << 20 };
	const char *file = n->s->ask->file;
	struct err *e;

	if (sqlite3_open_v2(file, &n->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
		e = err_new(ERR_SYSTEM, "cannot open %s: %s", file, sqlite3_errmsg(n->db));
		sqlite3_close(n->db);
		return e;
	}
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_progress_handler(n->db, INSTRUCTIONS, tick, n->s);
	return NULL;
}

static struct err *verdict(const struct nsight *n)
{
	const char *file = n->s->ask->file;

	if (!n->any)
		return err_cure(err_new(ERR_BAD_TRACE,
					"%s has no table of calls, kernels, copies or fills", file),
			"It is made by: nsys export --type sqlite REPORT.nsys-rep");
	if (n->other_pid == NO_NUMBER)
		return NULL;
	return err_cure(err_new(ERR_USAGE, "%s is of several processes: %lld and %lld", file,
				(long long)n->s->pid, (long long)n->other_pid),
		"Choose one with --pid");
}

struct err *read_nsight(struct stage *s)
{
	static void (*const tables[])(struct nsight * n) = {read_target, read_runtime, read_kernels,
		read_other_work, read_syncs, read_events, read_ranges, read_chains, read_threads};
	struct nsight n = {.s = s, .other_pid = NO_NUMBER};
	struct err *e;

	TRY(open_file(&n));
	for (unsigned i = 0; i < sizeof tables / sizeof *tables && !s->failed; i++)
		tables[i](&n);
	e = s->failed ? NULL : verdict(&n);
	sqlite3_close(n.db);
	return e;
}
