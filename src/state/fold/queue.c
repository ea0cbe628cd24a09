/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams' queues and how commands leave them. Whatever a command depends on has the form
 * "stream T up to seq x", so retiring is raising goals, stream by stream, until nothing more moves:
 * no graph is ever built. The surprise: of a queue longer than STATE_QUEUE_MAX only the newest
 * entries are kept; the older ones are one summary, which is retired as a whole.
 */
#include <stddef.h>
#include "state/fold/state-private.h"
#include "sbt/fields.h"

/* Which fields of a command a queue keeps, and where: a row for each kind, ended by size 0. */
struct queue_field {
	uint16_t cmd_off, entry_off, size;
};

#define F(member, slot)                                                                            \
	{                                                                                          \
		offsetof(struct sbt_cmd, u.member), offsetof(struct entry, slot),                  \
			sizeof(((struct entry *)0)->slot)                                          \
	}

static const struct queue_field queue_fields[SBT_KIND_END][11] = {
	[SBT_ALLOC] = {F(alloc.addr, a[0]), F(alloc.size, a[1]), F(alloc.mem, d[0]),
		F(alloc.device, d[1])},
	[SBT_FREE] = {F(free.addr, a[0]), F(free.mem, d[0])},
	[SBT_LAUNCH] = {F(launch.kernel, object), F(launch.grid_x, d[0]), F(launch.grid_y, d[1]),
		F(launch.grid_z, d[2]), F(launch.block_x, d[3]), F(launch.block_y, d[4]),
		F(launch.block_z, d[5]), F(launch.cooperative, d[6]), F(launch.cluster_x, d[7]),
		F(launch.shared, a[0])},
	[SBT_COPY] = {F(copy.dst, a[0]), F(copy.src, a[1]), F(copy.size, a[2]), F(copy.dir, d[0]),
		F(copy.async, d[1]), F(copy.pageable, d[2])},
	[SBT_FILL] = {F(fill.dst, a[0]), F(fill.size, a[1]), F(fill.value, a[2]),
		F(fill.elem, d[0]), F(fill.async, d[1])},
	[SBT_EVENT_RECORD] = {F(event_record.event, object)},
	[SBT_STREAM_WAIT] = {F(stream_wait.event, object)},
	[SBT_HOST_FUNC] = {F(host_func.fn, a[0]), F(host_func.user_data, a[1])},
	[SBT_GRAPH_LAUNCH] = {F(graph_launch.exec, object)},
	[SBT_BATCH] = {F(batch.is_wait, d[0]), F(batch.elem, d[1]), F(batch.addr, a[0]),
		F(batch.value, a[1])},
};
#undef F

bool queue_takes(unsigned kind)
{
	return kind < SBT_KIND_END && sbt_kind(kind) && sbt_kind_does(kind) & SBT_QUEUED;
}

static void keep_fields(struct entry *e, const struct sbt_cmd *c)
{
	for (const struct queue_field *f = queue_fields[c->kind]; f->size; f++) {
		uint64_t v = *(const uint64_t *)((const char *)c + f->cmd_off);

		if (f->size == 4)
			*(uint32_t *)((char *)e + f->entry_off) = (uint32_t)v;
		else
			*(uint64_t *)((char *)e + f->entry_off) = v;
	}
}

void queue_brief(struct sbt_cmd *c, const struct entry *e, uint32_t stream)
{
	*c = (struct sbt_cmd){.seq = e->seq,
		.kind = e->kind,
		.flags = e->flags,
		.thread = e->thread,
		.ctx = e->ctx,
		.stack = e->stack};
	*(uint64_t *)((char *)c + sbt_stream_offset(e->kind)) = stream;
	for (const struct queue_field *f = queue_fields[e->kind]; f->size; f++) {
		const char *slot = (const char *)e + f->entry_off;

		*(uint64_t *)((char *)c + f->cmd_off) =
			f->size == 4 ? *(const uint32_t *)slot : *(const uint64_t *)slot;
	}
}

/* --- the ring --- */

void ring_grow(struct stream *st)
{
	struct vec old = st->ring;
	size_t cap = old.n ? old.n * 2 : 8;

	if (st->len < old.n)
		return;
	st->ring = (struct vec){0};
	vec_add(&st->ring, ROW(entry), cap);
	for (uint32_t i = 0; i < st->len; i++)
		((struct entry *)st->ring.data)[i] =
			((struct entry *)old.data)[(st->head + i) & (old.n - 1)];
	st->head = 0;
	vec_free(&old);
}

uint32_t ring_lower(const struct stream *st, uint64_t seq)
{
	uint32_t lo = 0, hi = st->len;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (ring_at(st, mid)->seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t queue_head(const struct stream *st)
{
	if (st->old_count)
		return st->done_to < st->old_first ? st->old_first : st->done_to + 1;
	return st->len ? ring_at(st, 0)->seq : 0;
}

uint64_t queue_last_below(const struct stream *st, uint64_t seq)
{
	uint32_t i = ring_lower(st, seq);

	if (i)
		return ring_at(st, i - 1)->seq;
	if (!st->old_count || st->old_first >= seq)
		return 0;
	return st->old_last < seq ? st->old_last : seq - 1;
}

static void graph_done(struct state *s, uint32_t id)
{
	struct graph *g = table_find(&s->graphs, ROW(graph), id);

	if (g && g->queued && --g->queued == 0 && g->destroyed)
		graph_drop(s, g);
}

/* Moves the oldest entry of a full window to the summary. */
static void push_out(struct state *s, struct stream *st)
{
	const struct entry *e = ring_at(st, 0);
	struct old_wait *w;

	if (!st->old_count++)
		st->old_first = e->seq;
	st->old_last = e->seq;
	if (e->dep_seq) {
		w = table_own(&st->old_waits, ROW(old_wait), e->dep_stream);
		if (!w)
			w = table_insert(&st->old_waits, ROW(old_wait), e->dep_stream);
		w->seq = e->seq;
		if (w->dep_seq < e->dep_seq)
			w->dep_seq = e->dep_seq;
	}
	if (e->kind == SBT_GRAPH_LAUNCH)
		graph_done(s, e->object);
	st->head++;
	st->len--;
}

void queue_push(struct state *s, struct stream *st, const struct sbt_cmd *c, uint32_t object,
	uint32_t dep_stream, uint64_t dep_seq)
{
	struct entry *e;

	if (st->len == STATE_QUEUE_MAX)
		push_out(s, st);
	if (st->len == st->ring.n)
		ring_grow(st);
	else
		vec_own(&st->ring, ROW(entry));
	e = ring_at(st, st->len++);
	memset(e, 0, sizeof *e);
	e->seq = c->seq;
	e->kind = c->kind;
	e->flags = c->flags;
	e->thread = c->thread;
	e->ctx = c->ctx;
	e->stack = c->stack;
	keep_fields(e, c);
	e->object = object;
	e->dep_stream = dep_stream;
	e->dep_seq = dep_seq;
	st->submitted++;
	st->last_submitted = c->seq;
}

/* --- retiring --- */

void retire_raise(struct state *s, uint32_t id, uint64_t seq)
{
	struct stream *st = find_stream(s, id);
	uint64_t head;

	if (!st || seq <= st->goal)
		return;
	head = queue_head(st);
	if (!head || head > seq)
		return;
	if (!st->goal)
		*(uint32_t *)vec_add(&s->worklist, sizeof(uint32_t), 1) = id;
	st->goal = seq;
}

/* Command seq of st has finished; drops the objects that waited for that. */
static void finish(struct state *s, const struct entry *e)
{
	const struct event *ev;

	if (e->kind == SBT_EVENT_RECORD) {
		ev = table_find(&s->events, ROW(event), e->object);
		if (ev && ev->destroyed && ev->record_seq == e->seq)
			table_remove(&s->events, ROW(event), e->object);
	} else if (e->kind == SBT_GRAPH_LAUNCH) {
		graph_done(s, e->object);
	}
}

/* The summary does not know its records one by one: drops every destroyed event whose record was in
 * it. */
static void finish_old_events(struct state *s, const struct stream *st)
{
	for (size_t i = 0; i < s->events.n; i++) {
		const struct event *e = &ROWS(s, events, event)[i];

		if (e->destroyed && e->stream == st->id && e->record_seq <= st->old_last)
			vec_remove(&s->events, ROW(event), i--);
	}
}

/* Retires from the summary: its waits are followed as far as they are known, its count falls when
 * all of it is done. */
static uint64_t finish_old(struct state *s, struct stream *st, uint64_t goal)
{
	uint64_t last = goal < st->old_last ? goal : st->old_last;

	for (size_t i = 0; i < st->old_waits.n; i++) {
		struct old_wait w = ((struct old_wait *)st->old_waits.data)[i];

		if (w.seq <= last)
			retire_raise(s, w.dep_stream, w.dep_seq);
	}
	if (last == st->old_last) {
		finish_old_events(s, st);
		st->finished += st->old_count;
		st->old_count = st->old_first = st->old_last = 0;
		vec_free(&st->old_waits);
	}
	return last;
}

/* Work of a blocking stream comes after earlier work of the legacy default stream, and the other
 * way round. */
static void raise_barrier(struct state *s, const struct stream *st, uint64_t last)
{
	const struct context *ctx = table_find(&s->contexts, ROW(context), st->ctx);

	if (st->is_default) {
		for (size_t i = 0; i < s->streams.n; i++) {
			const struct stream *other = &ROWS(s, streams, stream)[i];

			if (other->ctx == st->ctx && is_blocking(other))
				retire_raise(s, other->id, last - 1);
		}
	} else if (ctx && is_blocking(st)) {
		retire_raise(s, ctx->default_stream, last - 1);
	}
}

/* Finishes st up to its goal and raises the goals of what that depends on. A destroyed stream goes
 * with its last command. */
static void retire_stream(struct state *s, struct stream *st)
{
	uint64_t goal = st->goal, last = 0;

	st->goal = 0;
	if (st->old_count)
		last = finish_old(s, st, goal);
	while (st->len && ring_at(st, 0)->seq <= goal) {
		const struct entry *e = ring_at(st, 0);

		last = e->seq;
		if (e->dep_seq)
			retire_raise(s, e->dep_stream, e->dep_seq);
		finish(s, e);
		st->head = (st->head + 1) & (uint32_t)(st->ring.n - 1);
		st->len--;
		st->finished++;
	}
	if (!last)
		return;
	if (last > st->done_to)
		st->done_to = last;
	raise_barrier(s, st, last);
	if (st->destroyed && !stream_pending(st))
		stream_drop(s, st);
}

void retire_run(struct state *s)
{
	while (s->worklist.n) {
		uint32_t id = ((uint32_t *)s->worklist.data)[--s->worklist.n];
		struct stream *st = find_stream(s, id);

		if (st)
			retire_stream(s, st);
	}
}

void queue_retire(struct state *s, uint32_t id, uint64_t seq)
{
	retire_raise(s, id, seq);
	retire_run(s);
}

void queue_retire_before(struct state *s, struct stream *st, uint64_t seq)
{
	retire_raise(s, st->id, seq - 1);
	raise_barrier(s, st, seq);
	retire_run(s);
}

void state_retire(struct state *s, uint64_t seq)
{
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &ROWS(s, streams, stream)[i];
		uint32_t at = ring_lower(st, seq);

		if (at < st->len && ring_at(st, at)->seq == seq) {
			queue_retire(s, st->id, seq);
			return;
		}
	}
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &ROWS(s, streams, stream)[i];

		if (st->old_count && (seq == queue_head(st) || seq == st->old_last)) {
			queue_retire(s, st->id, st->old_last); /* the summary goes as a whole */
			return;
		}
	}
}

void state_begin(struct state *s, uint64_t seq)
{
	s->timed = true;
	for (size_t i = 0; i < s->streams.n; i++) {
		struct stream *st = &ROWS(s, streams, stream)[i];
		uint32_t at = ring_lower(st, seq);

		if (at < st->len && ring_at(st, at)->seq == seq) {
			vec_own(&st->ring, ROW(entry));
			ring_at(st, at)->begun = true;
			return;
		}
	}
}

bool event_complete(const struct state *s, const struct event *e)
{
	const struct stream *st = find_stream(s, e->stream);

	return e->record_seq && (!st || e->record_seq <= st->done_to);
}
