/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, each by itself: what it did and what it waited for. A stream executes its commands in
 * the order in which they were submitted, so the time between two of them is divided by what is
 * known when the later one comes: when it was submitted, and when what it waits for had ended.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "state/stats/stats-parts.h"

enum { DEVICES_MAX = 256 };

struct lane {
	uint32_t row; /* in stats.streams, plus 1; 0: it has done no work */
	uint32_t ctx; /* plus 1; 0: not known */
	bool blocking, is_default;
	bool begun;	   /* it has done timed work within the range */
	bool host_holds;   /* the next work is behind a host function or a wait for a value */
	uint64_t free_at;  /* when all of its work so far has ended */
	uint64_t held;	   /* when what it waits for has ended */
	uint64_t asked_at; /* when the first wait or host function behind its last work was
			    * submitted; 0: there is none */
};
struct context {
	uint32_t device; /* plus 1 */
	uint64_t default_end, blocking_end;
};

void streams_init(struct stream_pass *p, struct stats *st)
{
	*p = (struct stream_pass){.st = st,
		.lanes.size = sizeof(struct lane),
		.contexts.size = sizeof(struct context),
		.events.size = sizeof(uint64_t),
		.devices.size = sizeof(uint32_t)};
}

void streams_free(struct stream_pass *p)
{
	free(p->lanes.at);
	free(p->contexts.at);
	free(p->events.at);
	free(p->devices.at);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t clamp(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* --- objects --- */

static struct context *context_of(struct stream_pass *p, const struct lane *l)
{
	return l->ctx ? id_table_row(&p->contexts, l->ctx - 1, false) : NULL;
}

static void learn_lane(
	struct stream_pass *p, uint64_t id, uint64_t ctx, bool blocking, bool is_default)
{
	struct lane *l = id_table_row(&p->lanes, id, true);

	if (!l)
		return;
	l->ctx = ctx < ID_TABLE_MAX ? (uint32_t)ctx + 1 : 0;
	l->blocking = blocking;
	l->is_default = is_default;
}

static void learn_context(struct stream_pass *p, const struct sbt_cmd_ctx_create *c)
{
	struct context *x = id_table_row(&p->contexts, c->new_ctx, true);

	if (x && c->device < ID_TABLE_MAX)
		x->device = (uint32_t)c->device + 1;
	learn_lane(p, c->default_stream, c->new_ctx, false, true);
}

struct stats_device *streams_device(struct stream_pass *p, uint64_t device)
{
	struct stats *st = p->st;
	uint32_t *row = id_table_row(&p->devices, device, true);

	if (!row)
		return NULL;
	if (!*row) {
		if (st->ndevices == DEVICES_MAX)
			return NULL;
		st->devices = xrealloc(st->devices, (st->ndevices + 1) * sizeof *st->devices);
		st->devices[st->ndevices++] = (struct stats_device){.device = (uint32_t)device};
		*row = (uint32_t)st->ndevices;
	}
	return &st->devices[*row - 1];
}

/* --- waits --- */

/* When all that lane l waits for, should work be submitted now, has ended. */
static uint64_t held_until(struct stream_pass *p, const struct lane *l)
{
	const struct context *x = context_of(p, l);

	if (x && l->is_default)
		return max(l->held, x->blocking_end);
	if (x && l->blocking)
		return max(l->held, x->default_end);
	return l->held;
}

static void asks(struct lane *l, const struct sbt_cmd *c)
{
	if (!l->asked_at)
		l->asked_at = c->host_ns;
}

static void take_record(struct stream_pass *p, const struct lane *l, const struct sbt_cmd *c)
{
	uint64_t *ends = id_table_row(&p->events, c->u.event_record.event, true);

	if (ends)
		*ends = max(l->free_at, held_until(p, l));
}

static void take_wait(struct stream_pass *p, struct lane *l, const struct sbt_cmd *c)
{
	const uint64_t *ends = id_table_row(&p->events, c->u.stream_wait.event, false);

	if (ends)
		l->held = max(l->held, *ends);
	asks(l, c);
}

static void see_work(struct stream_pass *p, const struct sbt_cmd *c)
{
	struct lane *l = id_table_row(&p->lanes, sbt_cmd_stream(c), true);

	if (!l)
		return;
	if (c->kind == SBT_EVENT_RECORD) {
		take_record(p, l, c);
	} else if (c->kind == SBT_STREAM_WAIT) {
		take_wait(p, l, c);
	} else if (c->kind == SBT_HOST_FUNC || (c->kind == SBT_BATCH && c->u.batch.is_wait)) {
		l->host_holds = true;
		asks(l, c);
	}
}

void streams_see(struct stream_pass *p, const struct sbt_cmd *c)
{
	const struct sbt_cmd_stream_create *s = &c->u.stream_create;

	if (c->kind == SBT_CTX_CREATE)
		learn_context(p, &c->u.ctx_create);
	else if (c->kind == SBT_STREAM_CREATE)
		learn_lane(p, s->new_stream, c->ctx, !(s->stream_flags & (1 | SBT_STREAM_UNKNOWN)),
			false);
	else if (sbt_cmd_is_work(c))
		see_work(p, c);
}

/* --- work --- */

static struct stats_stream *stream_row(struct stream_pass *p, struct lane *l, uint32_t id)
{
	struct stats *st = p->st;
	const struct context *x = context_of(p, l);

	if (!l->row) {
		if (!(st->nstreams & (st->nstreams - 1)))
			st->streams = xrealloc(st->streams,
				(st->nstreams ? 2 * st->nstreams : 1) * sizeof *st->streams);
		st->streams[st->nstreams++] = (struct stats_stream){
			.id = id, .device = x && x->device ? x->device - 1 : 0};
		l->row = (uint32_t)st->nstreams;
	}
	return &st->streams[l->row - 1];
}

static void add_span(struct stream_work *k, enum stream_doing what, uint64_t from, uint64_t to)
{
	if (to > from)
		k->spans[k->nspans++] = (struct stream_span){what, from, to};
}

/* Divides the time from `from`, when the stream became free or got its first work, to the start of
 * work. first: when the first of what is queued was submitted. */
static void divide(
	struct stream_work *k, const struct lane *l, uint64_t from, uint64_t first, uint64_t held)
{
	const uint64_t start = max(k->start, from), asked = clamp(first, from, start),
		       free = clamp(held, asked, start), ready = clamp(k->submitted, free, start);

	add_span(k, STREAM_IDLE, from, asked);
	add_span(k, STREAM_WAITS, asked, free);
	add_span(k, STREAM_IDLE, free, ready);
	add_span(k, l->host_holds ? STREAM_IDLE : STREAM_STARTING, ready, start);
}

static void count_spans(struct stats_stream *s, const struct stream_work *k)
{
	uint64_t *const sums[STREAM_DOINGS] = {[STREAM_IDLE] = &s->host_ns,
		[STREAM_WAITS] = &s->event_ns,
		[STREAM_STARTING] = &s->starting_ns,
		[STREAM_RUNNING] = &s->busy_ns};

	for (unsigned i = 0; i < k->nspans; i++)
		*sums[k->spans[i].what] += k->spans[i].to - k->spans[i].from;
}

static void count_time(struct stats *st, struct stats_stream *s, struct lane *l, uint64_t held,
	struct stream_work *k)
{
	uint64_t first = l->asked_at && l->asked_at < k->submitted ? l->asked_at : k->submitted;

	first = max(first, st->begin_ns);
	divide(k, l, l->begun ? l->free_at : first, first, held);
	add_span(k, STREAM_RUNNING, l->begun ? max(k->start, l->free_at) : k->start, k->end);
	count_spans(s, k);
	l->begun = true;
}

/* The work's own times; false: it has none. */
static bool times_of(
	struct stats *st, const struct sbt_cmd *c, bool counted, struct stream_work *ret)
{
	if (!c->gpu_start_ns || c->gpu_end_ns < c->gpu_start_ns) {
		st->impossible += counted && c->gpu_start_ns;
		return false;
	}
	*ret = (struct stream_work){
		.start = c->gpu_start_ns, .end = c->gpu_end_ns, .submitted = c->host_ns};
	if (!c->host_ns || c->host_ns > c->gpu_start_ns)
		ret->submitted = c->gpu_start_ns;
	if (counted && c->host_ns > c->gpu_start_ns) {
		st->early++;
		st->early_most_ns = max(st->early_most_ns, c->host_ns - c->gpu_start_ns);
	}
	return true;
}

static void ended(struct stream_pass *p, struct lane *l, uint64_t end)
{
	struct context *x = context_of(p, l);

	l->free_at = max(l->free_at, end);
	l->host_holds = false;
	l->asked_at = 0;
	if (x && l->is_default)
		x->default_end = max(x->default_end, l->free_at);
	else if (x && l->blocking)
		x->blocking_end = max(x->blocking_end, l->free_at);
}

bool streams_work(
	struct stream_pass *p, const struct sbt_cmd *c, bool counted, struct stream_work *ret)
{
	const uint32_t id = sbt_cmd_stream(c);
	struct lane *l = id_table_row(&p->lanes, id, true);
	struct stats_stream *s = l && counted ? stream_row(p, l, id) : NULL;
	struct stats_device *d = s ? streams_device(p, s->device) : NULL;
	uint64_t held;

	if (s)
		s->work++;
	if (d)
		d->work++;
	if (!times_of(p->st, c, counted, ret) || !l)
		return false;
	held = held_until(p, l);
	ret->was_empty = l->free_at <= ret->submitted && held <= ret->submitted && !l->host_holds;
	if (s) {
		s->timed++;
		count_time(p->st, s, l, held, ret);
		ret->stream = l->row - 1;
	}
	if (d) {
		d->timed++;
		ret->device = (uint32_t)(d - p->st->devices);
	}
	ended(p, l, ret->end);
	return s && d;
}

void streams_end(struct stream_pass *p)
{
	struct stats *st = p->st;

	for (size_t i = 0; i < st->nstreams; i++) {
		struct stats_stream *s = &st->streams[i];

		const uint64_t used = s->busy_ns + s->event_ns + s->host_ns + s->starting_ns;

		if (s->timed && used <= st->end_ns - st->begin_ns)
			s->empty_ns = st->end_ns - st->begin_ns - used;
	}
}
