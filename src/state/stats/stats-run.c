/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass of trace-stats.h: gives each command to streams, sweep and sums, and adds up what needs
 * no other command: copies, allocations, waits of the host.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "base/text.h"
#include "state/state.h"
#include "state/stats/stats-parts.h"

enum { TELL_EVERY = 1 << 16 };

/* A thread's wait that has not ended. */
struct waiting {
	uint64_t seq, host_ns;
	uint32_t stack;
};
struct pass {
	struct stats *st;
	const struct stats_ask *ask;
	struct stream_pass streams;
	struct sweep *sweep;
	struct summary_ask sum_ask;
	struct summary_pass *sums;
	struct spread latency, queued, waits;
	struct id_table threads; /* struct waiting */
	struct stats_copies copies[SBT_COPY_ANY + 2];
};

/* --- copies and allocations --- */

static void count_copy(
	struct pass *p, const struct sbt_cmd *c, bool timed, const struct stream_work *k)
{
	const bool copy = c->kind == SBT_COPY;
	const uint64_t dir = !copy			    ? SBT_COPY_ANY + 1
			     : c->u.copy.dir < SBT_COPY_ANY ? c->u.copy.dir
							    : SBT_COPY_ANY;
	const uint64_t bytes = copy ? c->u.copy.size : c->u.fill.size,
		       ns = timed ? k->end - k->start : 0;
	struct stats_copies *row = &p->copies[dir];

	row->dir = dir;
	row->count++;
	row->bytes = sat_add(row->bytes, bytes);
	if (!timed)
		return;
	row->timed++;
	row->timed_bytes = sat_add(row->timed_bytes, bytes);
	row->time_ns = sat_add(row->time_ns, ns);
	if (ns && (double)bytes * 1e9 / (double)ns > row->fastest) {
		row->fastest = (double)bytes * 1e9 / (double)ns;
		row->fastest_seq = c->seq;
	}
}

/* Whether a device has more memory in use than ever. */
static void count_memory(struct pass *p, const struct sbt_cmd *c)
{
	struct state_device is;

	for (unsigned i = 0; state_device(summary_state(p->sums), i, &is); i++) {
		struct stats_device *d = is.alloc_bytes || is.alloc_peak
						 ? streams_device(&p->streams, is.device)
						 : NULL;

		if (!d)
			continue;
		d->allocated_end = is.alloc_bytes;
		if (is.alloc_bytes <= d->allocated_most)
			continue;
		d->allocated_most = is.alloc_bytes;
		d->allocated_most_seq = c->seq;
		d->allocated_stack = c->stack;
	}
}

/* --- the host --- */

/* Ends a wait, or begins it. Returns the stack of the call that ended, *ret_waits: it waited. */
static uint32_t count_wait(struct pass *p, const struct sbt_cmd *c, bool counted, bool *ret_waits)
{
	struct waiting *t = id_table_row(&p->threads, c->thread, true);
	uint32_t stack;

	*ret_waits = false;
	if (t && c->kind == SBT_SYNC)
		*t = (struct waiting){c->seq, c->host_ns, c->stack};
	if (!t || c->kind != SBT_SYNC_END || !t->seq || t->seq != c->u.sync_end.begin)
		return c->stack;
	if (counted && t->host_ns && c->host_ns >= t->host_ns)
		spread_add(&p->waits, c->host_ns - t->host_ns);
	stack = t->stack;
	*t = (struct waiting){0};
	*ret_waits = true;
	return stack;
}

/* --- one command --- */

/* Whether the program's thread made a call with it. */
static bool is_call(const struct sbt_cmd *c)
{
	if (c->flags & SBT_F_SYNTHETIC)
		return false;
	return c->kind == SBT_SYNC_END || c->kind == SBT_QUERY ||
	       !(sbt_kind_does(c->kind) & SBT_PASSED);
}

static void count_launch(struct pass *p, const struct stream_work *k)
{
	spread_add(&p->queued, k->start - k->submitted);
	if (k->was_empty)
		spread_add(&p->latency, k->start - k->submitted);
}

static void take_work(struct pass *p, const struct sbt_cmd *c, bool counted)
{
	struct stats *st = p->st;
	struct stream_work k = {0};
	const bool timed = streams_work(&p->streams, c, counted, &k);

	if (!counted)
		return;
	st->work++;
	if (c->kind == SBT_COPY || c->kind == SBT_FILL)
		count_copy(p, c, timed, &k);
	if (!timed) {
		sweep_call(p->sweep, c, c->stack, false);
		return;
	}
	st->timed++;
	if (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH)
		count_launch(p, &k);
	sweep_work(p->sweep, c, &k);
}

/* What the trace lasted, so far. */
static void count_time(struct stats *st, const struct sbt_cmd *c)
{
	const bool timed = c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns;
	const uint64_t least = timed && (!c->host_ns || c->gpu_start_ns < c->host_ns)
				       ? c->gpu_start_ns
				       : c->host_ns,
		       most = timed && c->gpu_end_ns > c->host_ns ? c->gpu_end_ns : c->host_ns;

	if (!least)
		return;
	if (!st->begin_ns || least < st->begin_ns)
		st->begin_ns = least;
	if (most > st->end_ns)
		st->end_ns = most;
}

static struct err *take(struct pass *p, const struct sbt_cmd *c)
{
	struct stats *st = p->st;
	const bool counted = c->seq >= p->ask->first;
	uint32_t stack;
	bool waits;

	TRY(summary_take(p->sums, c));
	streams_see(&p->streams, c);
	if (c->kind == SBT_ALLOC || c->kind == SBT_FREE)
		count_memory(p, c);
	stack = count_wait(p, c, counted, &waits);
	if (counted && (is_call(c) || c->kind == SBT_MARK)) {
		count_time(st, c);
		st->first_seq = st->first_seq ? st->first_seq : c->seq;
		st->last_seq = c->seq;
		st->commands++;
	}
	if (summary_counts(c))
		take_work(p, c, counted);
	else if (counted && is_call(c))
		sweep_call(p->sweep, c, stack, waits);
	return NULL;
}

/* --- the pass --- */

static void name_devices(struct pass *p)
{
	struct state_device is;

	for (unsigned i = 0; state_device(summary_state(p->sums), i, &is); i++) {
		struct stats_device *d = streams_device(&p->streams, is.device);

		if (d && !d->name && is.name.len)
			d->name = text_safe_dup(is.name.p, is.name.len);
	}
}

static void finish(struct pass *p)
{
	struct stats *st = p->st;

	sweep_end(p->sweep);
	p->sweep = NULL;
	streams_end(&p->streams);
	name_devices(p);
	st->known.times = st->timed != 0;
	st->latency = spread_of(&p->latency);
	st->queued = spread_of(&p->queued);
	st->waits = spread_of(&p->waits);
	st->copies = xmalloc(sizeof p->copies);
	for (size_t i = 0; i < sizeof p->copies / sizeof *p->copies; i++)
		if (p->copies[i].count)
			st->copies[st->ncopies++] = p->copies[i];
	summary_end(p->sums, &st->sums);
	p->sums = NULL;
}

static struct err *read_all(struct pass *p, struct sbt_reader *r, struct sbt_cursor *cursor)
{
	const struct stats_ask *a = p->ask;
	const struct sbt_cmd *c;
	uint64_t done = 0;

	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > a->last)
			return NULL;
		TRY(take(p, c));
		if (!(++done % TELL_EVERY) && a->cancelled &&
			a->cancelled(a->arg, done, sbt_reader_count(r)))
			return err_new(ERR_INTERRUPTED, "interrupted");
	}
}

struct err *stats_make(struct stats *ret, struct sbt_reader *r, const struct stats_ask *ask)
{
	struct pass *p = xcalloc(1, sizeof *p);
	struct sbt_cursor *cursor = NULL;
	struct err *e;

	*ret = (struct stats){0};
	p->st = ret;
	p->ask = ask;
	p->threads.size = sizeof(struct waiting);
	p->sum_ask =
		(struct summary_ask){.first = ask->first, .last = ask->last, .allocations = true};
	streams_init(&p->streams, ret);
	p->sweep = sweep_new(ret);
	e = summary_begin(&p->sums, r, &p->sum_ask);
	if (!e)
		e = sbt_cursor_open(&cursor, r);
	if (!e)
		e = read_all(p, r, cursor);
	if (!e)
		finish(p);
	if (cursor)
		sbt_cursor_close(cursor);
	if (p->sweep)
		sweep_end(p->sweep);
	if (p->sums)
		summary_end(p->sums, NULL);
	streams_free(&p->streams);
	free(p->threads.at);
	free(p);
	if (e)
		stats_free(ret);
	return e;
}

void stats_free(struct stats *s)
{
	for (size_t i = 0; i < s->ndevices; i++)
		free(s->devices[i].name);
	free(s->streams);
	free(s->devices);
	free(s->copies);
	free(s->blame);
	summary_free(&s->sums);
	*s = (struct stats){0};
}
