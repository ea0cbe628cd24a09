/* SPDX-License-Identifier: Apache-2.0
 *
 * The second pass: what begins and ends on the host, and work without a call, in order of time.
 * Surprise: what ends at a moment comes before what begins then, the inner before the outer.
 */
#include "config.h"
#include "import/core/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "import/core/call-kind.h"
#include "sbt/vendor.h"

enum { PUSH = 1, POP = 2, TELL_EVERY = 4096 };
enum item { ITEM_END, ITEM_BEGIN, ITEM_ORPHAN };

static const char order[] = "SELECT what, id FROM ("
			    " SELECT start AS t, 1 AS what, -length AS d, id AS k, id FROM host"
			    " UNION ALL SELECT start + length, 0, -start, -id, id FROM host"
			    "  WHERE kind IN (1, 2) AND length > 0"
			    " UNION ALL SELECT at, 2, start, id, id FROM work WHERE host IS NULL"
			    ") ORDER BY t, what, d, k";
static const char work_columns[] =
	"SELECT kind, start, end, device, ctx, stream, graph, name, gx, gy, gz, bx, by, bz, shared,"
	" static, regs, bytes, value, dir FROM work WHERE ";

/* A row of work, whose name lives until the statement moves on. */
static void take_work_row(sqlite3_stmt *q, struct stage_work *w)
{
	const char *name = (const char *)sqlite3_column_text(q, 7);

	*w = (struct stage_work){.kind = (enum stage_work_kind)sqlite3_column_int(q, 0),
		.start = sqlite3_column_int64(q, 1),
		.end = sqlite3_column_int64(q, 2),
		.device = sqlite3_column_int64(q, 3),
		.ctx = sqlite3_column_int64(q, 4),
		.stream = sqlite3_column_int64(q, 5),
		.graph = sqlite3_column_int64(q, 6),
		.name = name ? name : "",
		.shared = sqlite3_column_int64(q, 14),
		.static_shared = sqlite3_column_int64(q, 15),
		.regs = sqlite3_column_int64(q, 16),
		.bytes = sqlite3_column_int64(q, 17),
		.value = sqlite3_column_int64(q, 18),
		.dir = sqlite3_column_int64(q, 19)};
	for (int i = 0; i < 3; i++) {
		w->grid[i] = sqlite3_column_int64(q, 8 + i);
		w->block[i] = sqlite3_column_int64(q, 11 + i);
	}
}

/* --- work --- */

static struct err *fill_launch(struct emit *e, const struct stage_work *w, struct sbt_cmd *c)
{
	struct sbt_cmd_launch *u = &c->u.launch;

	TRY(emit_stream(e, w->device, w->ctx, w->stream, c, &u->stream));
	TRY(emit_kernel(e, w->name, w->regs, w->static_shared, c, &u->kernel));
	u->grid_x = (uint64_t)w->grid[0];
	u->grid_y = (uint64_t)w->grid[1];
	u->grid_z = (uint64_t)w->grid[2];
	u->block_x = (uint64_t)w->block[0];
	u->block_y = (uint64_t)w->block[1];
	u->block_z = (uint64_t)w->block[2];
	u->shared = (uint64_t)w->shared;
	return NULL;
}

static struct err *fill_work(
	struct emit *e, const struct stage_work *w, const char *call, struct sbt_cmd *c)
{
	const bool async = !call || call_is_async(call);

	if (w->kind == STAGE_KERNEL) {
		c->kind = SBT_LAUNCH;
		return fill_launch(e, w, c);
	}
	if (w->kind == STAGE_COPY) {
		c->kind = SBT_COPY;
		c->u.copy.dir =
			w->dir >= 0 && w->dir <= SBT_COPY_ANY ? (uint64_t)w->dir : SBT_COPY_ANY;
		c->u.copy.size = (uint64_t)w->bytes;
		c->u.copy.async = async;
		return emit_stream(e, w->device, w->ctx, w->stream, c, &c->u.copy.stream);
	}
	if (w->kind == STAGE_GRAPH) {
		c->kind = SBT_GRAPH_LAUNCH;
		TRY(emit_graph(e, w->graph, c, &c->u.graph_launch.exec));
		return emit_stream(e, w->device, w->ctx, w->stream, c, &c->u.graph_launch.stream);
	}
	c->kind = SBT_FILL;
	c->u.fill.size = (uint64_t)w->bytes;
	c->u.fill.value = (uint64_t)w->value;
	c->u.fill.elem = 1;
	c->u.fill.async = async;
	return emit_stream(e, w->device, w->ctx, w->stream, c, &c->u.fill.stream);
}

static void count_work(struct import_result *r, const struct sbt_cmd *c)
{
	const bool launch = c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH;

	r->launches += c->kind == SBT_LAUNCH;
	r->graphs += c->kind == SBT_GRAPH_LAUNCH;
	r->copies += c->kind == SBT_COPY;
	r->fills += c->kind == SBT_FILL;
	r->stacks += launch && c->stack;
}

static struct err *emit_work(
	struct emit *e, const struct stage_work *w, const char *call, struct sbt_cmd c)
{
	TRY(fill_work(e, w, call, &c));
	c.gpu_start_ns = (uint64_t)(e->s->base + w->start);
	c.gpu_end_ns = (uint64_t)(e->s->base + w->end);
	count_work(e->r, &c);
	return emit_cmd(e, &c);
}

/* All work of a graph launch as one command: from the first begin to the last end. */
static struct err *emit_graph_launch(struct emit *e, struct sbt_cmd c)
{
	struct stage_work w, first = {0};
	int64_t end = INT64_MIN;
	uint64_t n = 0, nodes = 0;

	for (; stage_step(e->s, e->works); n++) {
		take_work_row(e->works, &w);
		if (!n)
			first = w;
		nodes += w.kind != STAGE_GRAPH;
		end = w.end > end ? w.end : end;
	}
	if (!n) {
		e->r->no_work++;
		return NULL;
	}
	e->r->graph_nodes += nodes;
	TRY(emit_graph(e, first.graph, &c, &c.u.graph_launch.exec));
	c.kind = SBT_GRAPH_LAUNCH;
	TRY(emit_stream(e, first.device, first.ctx, first.stream, &c, &c.u.graph_launch.stream));
	c.gpu_start_ns = (uint64_t)(e->s->base + first.start);
	c.gpu_end_ns = (uint64_t)(e->s->base + end);
	count_work(e->r, &c);
	return emit_cmd(e, &c);
}

/* Commands for all work of a call. */
static struct err *emit_works(
	struct emit *e, enum call_kind kind, const char *call, const struct sbt_cmd *c)
{
	struct stage_work w;
	uint64_t n = 0;

	if (kind == CALL_GRAPH && !e->s->ask->graph_nodes)
		return emit_graph_launch(e, *c);
	for (; stage_step(e->s, e->works); n++) {
		take_work_row(e->works, &w);
		TRY(emit_work(e, &w, call, *c));
	}
	if (!n && kind >= CALL_LAUNCHES && kind <= CALL_GRAPH)
		e->r->no_work++;
	return NULL;
}

/* --- what waits --- */

static bool find_row(struct emit *e, sqlite3_stmt *q, int64_t corr)
{
	if (!q || corr <= 0)
		return false;
	sqlite3_reset(q);
	sqlite3_bind_int64(q, 1, corr);
	return stage_step(e->s, q);
}

static struct err *emit_record(struct emit *e, int64_t corr, struct sbt_cmd c)
{
	if (!find_row(e, e->record, corr)) {
		e->r->no_stream++;
		return NULL;
	}
	TRY(emit_event(e, sqlite3_column_int64(e->record, 3), &c, &c.u.event_record.event));
	c.kind = SBT_EVENT_RECORD;
	TRY(emit_stream(e, sqlite3_column_int64(e->record, 0), sqlite3_column_int64(e->record, 1),
		sqlite3_column_int64(e->record, 2), &c, &c.u.event_record.stream));
	return emit_cmd(e, &c);
}

static struct err *emit_stream_wait(struct emit *e, int64_t corr, struct sbt_cmd c)
{
	if (!find_row(e, e->sync, corr) || sqlite3_column_int(e->sync, 0) != STAGE_SYNC_WAIT ||
		sqlite3_column_int64(e->sync, 3) < 0) {
		e->r->no_stream++;
		return NULL;
	}
	TRY(emit_event(e, sqlite3_column_int64(e->sync, 4), &c, &c.u.stream_wait.event));
	c.kind = SBT_STREAM_WAIT;
	TRY(emit_stream(e, sqlite3_column_int64(e->sync, 1), sqlite3_column_int64(e->sync, 2),
		sqlite3_column_int64(e->sync, 3), &c, &c.u.stream_wait.stream));
	return emit_cmd(e, &c);
}

/* What a host's wait is for; the profile may not say which stream or event. */
static struct err *fill_sync(struct emit *e, enum call_kind kind, int64_t corr, struct sbt_cmd *c)
{
	struct sbt_cmd_sync *u = &c->u.sync;
	const bool found = find_row(e, e->sync, corr);
	const int64_t device = found ? sqlite3_column_int64(e->sync, 1) : -1,
		      ctx = found ? sqlite3_column_int64(e->sync, 2) : -1,
		      stream = found ? sqlite3_column_int64(e->sync, 3) : -1;

	c->kind = SBT_SYNC;
	u->stream = u->event = SBT_NO_ID;
	u->scope = kind == CALL_WAITS_CTX      ? SBT_SYNC_CTX
		   : kind == CALL_WAITS_STREAM ? SBT_SYNC_STREAM
					       : SBT_SYNC_EVENT;
	if (!found)
		return kind == CALL_WAITS_CTX && e->one_context
			       ? emit_context(e, e->one_device, e->one_ctx, c, &c->ctx)
			       : NULL;
	if (kind == CALL_WAITS_EVENT)
		return emit_event(e, sqlite3_column_int64(e->sync, 4), c, &u->event);
	if (kind == CALL_WAITS_STREAM && stream >= 0)
		return emit_stream(e, device, ctx, stream, c, &u->stream);
	return device >= 0 ? emit_context(e, device, ctx, c, &c->ctx) : NULL;
}

static struct err *emit_wait(
	struct emit *e, const struct stage_host *h, int64_t row, struct sbt_cmd c)
{
	struct emit_thread *t = emit_thread_now(e, c.thread);
	struct sbt_cmd end;

	if (t->wait_row) {
		e->r->unclosed++;
		return NULL;
	}
	TRY(fill_sync(e, call_kind_of(h->name), h->corr, &c));
	e->r->waits++;
	TRY(emit_cmd(e, &c));
	if (h->length) {
		t->wait_row = row;
		t->wait_seq = c.seq;
		return NULL;
	}
	end = emit_new(e, SBT_SYNC_END, c.thread, h->start);
	end.ctx = c.ctx;
	end.u.sync_end.begin = c.seq;
	return emit_cmd(e, &end);
}

/* --- ranges --- */

static struct err *emit_mark(struct emit *e, unsigned kind, const char *text, struct sbt_cmd c)
{
	c.kind = SBT_MARK;
	c.stack = 0;
	c.u.mark.mark_kind = kind;
	c.u.mark.text = (struct sbt_blob){text, strlen(text)};
	return emit_cmd(e, &c);
}

static struct err *emit_range(
	struct emit *e, const struct stage_host *h, int64_t row, const struct sbt_cmd *c)
{
	struct emit_thread *t = emit_thread_now(e, c->thread);
	const int64_t end = h->start + h->length;

	if (t->nranges == EMIT_OPEN_MAX ||
		(h->length && t->nranges && t->ranges[t->nranges - 1].end < end)) {
		e->r->unclosed++;
		return NULL;
	}
	e->r->ranges++;
	TRY(emit_mark(e, PUSH, h->name, *c));
	if (!h->length)
		return emit_mark(e, POP, "", *c);
	t->ranges[t->nranges].row = row;
	t->ranges[t->nranges++].end = end;
	return NULL;
}

/* --- items --- */

static struct err *begin(struct emit *e, const struct stage_host *h, int64_t row)
{
	const enum call_kind kind = call_kind_of(h->name);
	struct sbt_cmd c;
	uint32_t thread;

	TRY(emit_thread_id(e, h->tid, h->start, &thread));
	if (h->kind == STAGE_FRAME)
		return emit_enter(e, thread, h->name, h->start, h->start + h->length);
	c = emit_new(e, SBT_MARK, thread, h->start);
	c.corr = h->corr > 0 && h->corr <= UINT32_MAX ? (uint32_t)h->corr : 0;
	if (h->kind == STAGE_RANGE)
		return emit_range(e, h, row, &c);
	if (h->kind == STAGE_MARK)
		return emit_mark(e, 0, h->name, c);
	TRY(emit_stack(e, thread, h->chain, h->start, &c.stack));
	if (h->kind == STAGE_WAIT)
		return emit_wait(e, h, row, c);
	if (kind == CALL_RECORDS)
		return emit_record(e, h->corr, c);
	if (kind == CALL_STREAM_WAITS)
		return emit_stream_wait(e, h->corr, c);
	sqlite3_reset(e->works);
	sqlite3_bind_int64(e->works, 1, row);
	return emit_works(e, kind, h->name, &c);
}

static struct err *end(struct emit *e, const struct stage_host *h, int64_t row)
{
	struct emit_thread *t;
	uint32_t thread;
	struct sbt_cmd c;

	TRY(emit_thread_id(e, h->tid, h->start, &thread));
	t = emit_thread_now(e, thread);
	c = emit_new(e, SBT_SYNC_END, thread, h->start + h->length);
	if (t->wait_row == row) {
		t->wait_row = 0;
		c.u.sync_end.begin = t->wait_seq;
		return emit_cmd(e, &c);
	}
	if (!t->nranges || t->ranges[t->nranges - 1].row != row)
		return NULL;
	t->nranges--;
	return emit_mark(e, POP, "", c);
}

static struct err *orphan(struct emit *e, int64_t row)
{
	enum { NO_THREAD = -1 };
	struct stage_work w;
	struct sbt_cmd c;
	uint32_t thread;

	sqlite3_reset(e->orphan);
	sqlite3_bind_int64(e->orphan, 1, row);
	if (!stage_step(e->s, e->orphan))
		return NULL;
	take_work_row(e->orphan, &w);
	TRY(emit_thread_id(e, NO_THREAD, w.start, &thread));
	c = emit_new(e, SBT_LAUNCH, thread, w.start);
	c.host_ns = 0;
	e->r->no_call++;
	return emit_work(e, &w, NULL, c);
}

static struct err *host_item(struct emit *e, enum item what, int64_t row)
{
	sqlite3_stmt *q = e->host;
	struct stage_host h;
	const char *name;

	sqlite3_reset(q);
	sqlite3_bind_int64(q, 1, row);
	if (!stage_step(e->s, q))
		return NULL;
	name = (const char *)sqlite3_column_text(q, 5);
	h = (struct stage_host){.kind = (enum stage_host_kind)sqlite3_column_int(q, 0),
		.start = sqlite3_column_int64(q, 1),
		.length = sqlite3_column_int64(q, 2),
		.tid = sqlite3_column_int64(q, 3),
		.corr = sqlite3_column_int64(q, 4),
		.name = name ? name : "",
		.chain = sqlite3_column_int64(q, 6)};
	return what == ITEM_END ? end(e, &h, row) : begin(e, &h, row);
}

static struct err *all_items(struct emit *e)
{
	const struct import_ask *ask = e->s->ask;
	sqlite3_stmt *q = stage_prepare(e->s, order);
	struct err *err = NULL;
	uint64_t n = 0;

	while (!err && stage_step(e->s, q)) {
		const enum item what = (enum item)sqlite3_column_int(q, 0);
		const int64_t row = sqlite3_column_int64(q, 1);

		err = what == ITEM_ORPHAN ? orphan(e, row) : host_item(e, what, row);
		if (!err && !(++n % TELL_EVERY) && ask->cancelled && ask->cancelled(ask->arg, n))
			err = err_new(ERR_INTERRUPTED, "interrupted");
	}
	sqlite3_finalize(q);
	return err;
}

/* --- the trace --- */

static struct sbt_meta meta_of(const struct emit *e)
{
	const struct stage *s = e->s;

	return (struct sbt_meta){.program = s->program ? s->program : "",
		.cwd = "",
		.host = "",
		.gpu = s->gpu ? s->gpu : "",
		.vendor = s->hip ? SBT_AMD : SBT_NVIDIA,
		.tsdb = PACKAGE_VERSION,
		.start_ns = (uint64_t)s->base,
		.pid = s->pid > 0 && s->pid <= UINT32_MAX ? (uint32_t)s->pid : 0,
		.rank = s->rank >= 0 ? (uint64_t)s->rank + 1 : 0,
		.ranks = s->ranks > 0 ? (uint64_t)s->ranks + 1 : 0,
		.stacks = e->r->stacks != 0,
		.timestamps = e->r->launches + e->r->graphs + e->r->copies + e->r->fills != 0,
		.observed = true};
}

static void prepare(struct emit *e)
{
	char sql[400];

	e->host = stage_prepare(
		e->s, "SELECT kind, start, length, tid, corr, name, chain FROM host WHERE id = ?");
	snprintf(sql, sizeof sql, "%s host = ? ORDER BY start, id", work_columns);
	e->works = stage_prepare(e->s, sql);
	snprintf(sql, sizeof sql, "%s id = ?", work_columns);
	e->orphan = stage_prepare(e->s, sql);
	e->sync = stage_prepare(
		e->s, "SELECT kind, device, ctx, stream, event FROM sync WHERE corr = ? LIMIT 1");
	e->record = stage_prepare(
		e->s, "SELECT device, ctx, stream, event FROM record WHERE corr = ? LIMIT 1");
	e->chain = stage_prepare(e->s,
		"SELECT function, file, line FROM frame WHERE chain = ? ORDER BY depth LIMIT 512");
}

/* Whether all work is of one context: then a wait for "the" context is for it. */
static void find_context(struct emit *e)
{
	sqlite3_stmt *q = stage_prepare(
		e->s, "SELECT min(device), max(device), min(ctx), max(ctx) FROM work");

	if (stage_step(e->s, q) && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		e->one_device = sqlite3_column_int64(q, 0);
		e->one_ctx = sqlite3_column_int64(q, 2);
		e->one_context = e->one_device == sqlite3_column_int64(q, 1) &&
				 e->one_ctx == sqlite3_column_int64(q, 3);
	}
	sqlite3_finalize(q);
}

static void release(struct emit *e)
{
	struct key_table *const keys[] = {&e->threads, &e->contexts, &e->streams, &e->kernels,
		&e->events, &e->graphs, &e->frames, &e->stacks, &e->chains};
	sqlite3_stmt *const all[] = {e->host, e->works, e->orphan, e->sync, e->record, e->chain};
	struct emit_thread **now = e->thread_now.at;

	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		key_table_free(keys[i]);
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		sqlite3_finalize(all[i]);
	for (size_t i = 0; i < e->thread_now.n; i++)
		free(now[i]);
	free(e->thread_now.at);
	free(e->stream_ids.at);
	free(e->context_ids.at);
	free(e->streams_used.at);
	free(e->contexts_used.at);
	free(e->frame);
	free(e->chain_stack);
	state_free(e->state);
}

static struct err *write_all(struct emit *e)
{
	struct sbt_meta m;

	TRY(emit_devices(e));
	TRY(all_items(e));
	if (e->s->failed) {
		struct err *failed = e->s->failed;

		e->s->failed = NULL;
		return failed;
	}
	m = meta_of(e);
	return sbt_writer_meta(e->w, &m);
}

struct err *emit_trace(struct stage *s, const char *path)
{
	struct emit e = {.s = s,
		.r = s->result,
		.thread_now.size = sizeof(struct emit_thread *),
		.stream_ids.size = sizeof(uint32_t),
		.context_ids.size = sizeof(uint32_t),
		.streams_used.size = sizeof(bool),
		.contexts_used.size = sizeof(bool)};
	const struct sbt_meta m = meta_of(&e);
	struct err *err, *closing;

	err = sbt_writer_open(&e.w, path, &m);
	if (err)
		return err;
	e.state = state_new();
	prepare(&e);
	find_context(&e);
	err = write_all(&e);
	closing = sbt_writer_close(e.w);
	release(&e);
	return err_first(err, closing);
}
