/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens on all streams at the same time: a sweep over the beginnings and ends of work and
 * the calls of the host, in order of time. Commands come in order of their numbers, which is
 * another order: up to POINTS of these points are kept back in a heap, and the earliest goes when
 * there are more. What comes later than that is counted, and then all figures of the sweep are left
 * out.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "state/stats/stats-parts.h"

enum { POINTS = 1 << 16, CALLS = 1 << 16, BUCKET_FIRST_NS = 1024 };

/* At one time, in this order. */
enum point_what { POINT_END, POINT_CALL, POINT_SUBMIT, POINT_BEGIN, POINT_PASS /* both in one */ };
struct point {
	uint64_t at, seq, submitted;
	uint32_t stream, device, thread, stack;
	uint8_t what;
	bool copies; /* else a kernel or a graph */
	bool waits;  /* of a call */
};

struct call {
	uint64_t at, seq;
	uint32_t thread, stack;
	bool waits;
};

struct device_now {
	bool begun;
	uint64_t since, idle_since; /* of the last change; when its last work ended */
	unsigned kernels, copies;
	uint64_t depth;
	double depth_time;
	uint64_t depth_since, depth_first;
};
struct stream_now {
	uint64_t depth, since, first;
	double depth_time;
};

struct sweep {
	struct stats *st;
	struct point *heap;
	size_t n;
	uint64_t now, begin; /* begin: of the first point */
	bool any;
	struct device_now *devices;
	struct stream_now *streams;
	size_t ndevices, nstreams;
	struct call calls[CALLS]; /* the newest ncalls, a ring that begins at first_call */
	size_t first_call, ncalls;
	struct id_table by_stack; /* numbers of rows of blame, plus 1 */
};

struct sweep *sweep_new(struct stats *st)
{
	struct sweep *w = xcalloc(1, sizeof *w);

	w->st = st;
	w->heap = xmalloc(POINTS * sizeof *w->heap);
	w->by_stack.size = sizeof(uint32_t);
	st->bucket_ns = BUCKET_FIRST_NS;
	st->known.order = true;
	return w;
}

/* --- the heap --- */

static bool earlier(const struct point *a, const struct point *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->what != b->what)
		return a->what < b->what;
	return a->seq < b->seq;
}

static void heap_put(struct sweep *w, const struct point *p)
{
	size_t i = w->n++;

	for (; i && earlier(p, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = *p;
}

static struct point heap_take(struct sweep *w)
{
	const struct point first = w->heap[0], last = w->heap[--w->n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < w->n) {
		if (k + 1 < w->n && earlier(&w->heap[k + 1], &w->heap[k]))
			k++;
		if (!earlier(&w->heap[k], &last))
			break;
		w->heap[i] = w->heap[k];
		i = k;
	}
	w->heap[i] = last;
	return first;
}

/* --- utilisation --- */

/* Makes parts twice as long until `at` lies in one. */
static void widen(struct sweep *w, uint64_t at)
{
	struct stats *st = w->st;

	while ((at - w->begin) / st->bucket_ns >= STATS_BUCKETS) {
		st->bucket_ns *= 2;
		for (size_t d = 0; d < st->ndevices; d++) {
			uint64_t *b = st->devices[d].busy;

			for (unsigned i = 0; i < STATS_BUCKETS; i++)
				b[i] = i < STATS_BUCKETS / 2 ? b[2 * i] + b[2 * i + 1] : 0;
		}
	}
}

static void add_busy(struct sweep *w, struct stats_device *d, uint64_t from, uint64_t to)
{
	const uint64_t width = w->st->bucket_ns;

	d->busy_ns += to - from;
	for (uint64_t i = (from - w->begin) / width; from < to; i++) {
		const uint64_t end = sat_add(w->begin, sat_mul(i + 1, width));
		const uint64_t until = end > from && end < to ? end : to;

		d->busy[i < STATS_BUCKETS ? i : STATS_BUCKETS - 1] += until - from;
		from = until;
	}
}

/* --- blame --- */

static struct stats_blame *blame_row(struct sweep *w, uint32_t stack)
{
	struct stats *st = w->st;
	uint32_t *row = id_table_row(&w->by_stack, stack, true);

	if (!row)
		return NULL;
	if (!*row) {
		if (!(st->nblame & (st->nblame - 1)))
			st->blame = xrealloc(
				st->blame, (st->nblame ? 2 * st->nblame : 1) * sizeof *st->blame);
		st->blame[st->nblame++] = (struct stats_blame){.stack = stack};
		*row = (uint32_t)st->nblame;
	}
	return &st->blame[*row - 1];
}

static void blame(struct sweep *w, const struct call *c, uint64_t ns)
{
	struct stats_blame *b = blame_row(w, c->stack);

	if (!b) {
		w->st->blame_lost_ns += ns;
		return;
	}
	if (!b->calls++)
		b->first_seq = c->seq;
	b->idle_ns += ns;
	if (c->waits)
		b->waits_ns += ns;
}

static struct call *call_at(struct sweep *w, size_t i)
{
	return &w->calls[(w->first_call + i) % CALLS];
}

/* The number of the first call that is later than `at`. */
static size_t calls_after(struct sweep *w, uint64_t at)
{
	size_t lo = 0, hi = w->ncalls;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (call_at(w, mid)->at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The time from `from` to the submission of p, on a device that had nothing to run: by the calls of
 * p's thread, each of which ends a part of it. */
static void blame_gap(struct sweep *w, const struct point *p, uint64_t from, uint64_t to)
{
	uint64_t at = from;

	for (size_t i = calls_after(w, from); i < w->ncalls && at < to; i++) {
		const struct call *c = call_at(w, i);
		const uint64_t end = c->at < to ? c->at : to;

		if (c->thread != p->thread || c->at <= at)
			continue;
		blame(w, c, end - at);
		at = end;
	}
	w->st->blame_lost_ns += to - at;
}

static void keep_call(struct sweep *w, const struct point *p)
{
	if (w->ncalls == CALLS) {
		w->first_call = (w->first_call + 1) % CALLS;
		w->ncalls--;
	}
	*call_at(w, w->ncalls++) = (struct call){p->at, p->seq, p->thread, p->stack, p->waits};
}

/* Forgets the calls that no gap can be blamed on any more. */
static void forget_calls(struct sweep *w)
{
	uint64_t least = w->now;

	for (size_t i = 0; i < w->ndevices; i++) {
		const struct device_now *d = &w->devices[i];

		if (d->begun && !d->kernels && !d->copies && d->idle_since < least)
			least = d->idle_since;
	}
	while (w->ncalls && call_at(w, 0)->at < least) {
		w->first_call = (w->first_call + 1) % CALLS;
		w->ncalls--;
	}
}

/* --- depths --- */

static void deepen(uint64_t *depth, double *time, uint64_t *since, uint64_t at, int by)
{
	*time += (double)*depth * (double)(at - *since);
	*since = at;
	*depth += (uint64_t)(int64_t)by;
}

static void change_depths(struct sweep *w, const struct point *p, int by)
{
	struct device_now *d = &w->devices[p->device];
	struct stream_now *s = &w->streams[p->stream];
	struct stats_device *ds = &w->st->devices[p->device];
	struct stats_stream *ss = &w->st->streams[p->stream];

	if (!d->depth_first)
		d->depth_first = d->depth_since = p->at;
	if (!s->first)
		s->first = s->since = p->at;
	deepen(&d->depth, &d->depth_time, &d->depth_since, p->at, by);
	deepen(&s->depth, &s->depth_time, &s->since, p->at, by);
	if (d->depth > ds->depth_most)
		ds->depth_most = d->depth;
	if (s->depth > ss->depth_most)
		ss->depth_most = s->depth;
}

/* --- points --- */

/* What device d did since its last change. */
static void pass_time(struct sweep *w, struct device_now *d, struct stats_device *ds, uint64_t at)
{
	const uint64_t ns = at - d->since;

	if (d->kernels || d->copies)
		add_busy(w, ds, d->since, at);
	ds->kernel_ns += d->kernels ? ns : 0;
	ds->copy_ns += d->copies ? ns : 0;
	ds->overlap_ns += d->kernels && d->copies ? ns : 0;
	ds->concurrent_ns += d->kernels > 1 ? ns : 0;
	d->since = at;
}

static void end_gap(
	struct sweep *w, struct device_now *d, struct stats_device *ds, const struct point *p)
{
	uint64_t from = d->idle_since, submitted = p->submitted;

	if (!d->begun) {
		ds->begin_ns = p->at;
		d->begun = true;
		return;
	}
	if (p->at == from)
		return;
	submitted = submitted < from ? from : submitted;
	ds->gaps++;
	ds->idle_ns += p->at - from;
	ds->late_ns += submitted - from;
	ds->starting_ns += p->at - submitted;
	if (submitted > from)
		blame_gap(w, p, from, submitted);
	forget_calls(w);
}

static void begin_work(struct sweep *w, const struct point *p)
{
	struct device_now *d = &w->devices[p->device];
	struct stats_device *ds = &w->st->devices[p->device];

	pass_time(w, d, ds, p->at);
	if (!d->kernels && !d->copies)
		end_gap(w, d, ds, p);
	d->kernels += !p->copies;
	d->copies += p->copies;
}

static void end_work(struct sweep *w, const struct point *p)
{
	struct device_now *d = &w->devices[p->device];
	struct stats_device *ds = &w->st->devices[p->device];

	pass_time(w, d, ds, p->at);
	d->kernels -= !p->copies;
	d->copies -= p->copies;
	if (!d->kernels && !d->copies)
		d->idle_since = p->at;
	ds->end_ns = p->at;
	change_depths(w, p, -1);
}

static void grow(struct sweep *w)
{
	if (w->ndevices < w->st->ndevices) {
		w->devices = xrealloc(w->devices, w->st->ndevices * sizeof *w->devices);
		memset(w->devices + w->ndevices, 0,
			(w->st->ndevices - w->ndevices) * sizeof *w->devices);
		w->ndevices = w->st->ndevices;
	}
	if (w->nstreams < w->st->nstreams) {
		w->streams = xrealloc(w->streams, w->st->nstreams * sizeof *w->streams);
		memset(w->streams + w->nstreams, 0,
			(w->st->nstreams - w->nstreams) * sizeof *w->streams);
		w->nstreams = w->st->nstreams;
	}
}

static void handle(struct sweep *w, const struct point *p)
{
	if (!w->any) {
		w->begin = p->at;
		w->any = true;
	}
	w->now = p->at;
	widen(w, p->at);
	grow(w);
	if (p->what == POINT_CALL || p->what == POINT_SUBMIT)
		keep_call(w, p);
	if (p->what == POINT_SUBMIT)
		change_depths(w, p, 1);
	if (p->what == POINT_BEGIN || p->what == POINT_PASS)
		begin_work(w, p);
	if (p->what == POINT_END || p->what == POINT_PASS)
		end_work(w, p);
}

/* False: what came before it is gone already. */
static bool put(struct sweep *w, const struct point *p)
{
	struct point first;

	if (!w->st->known.order || (w->any && p->at < w->now))
		return false;
	if (w->n < POINTS) {
		heap_put(w, p);
	} else if (earlier(p, &w->heap[0])) {
		handle(w, p);
	} else {
		first = heap_take(w);
		handle(w, &first);
		heap_put(w, p);
	}
	return true;
}

void sweep_call(struct sweep *w, const struct sbt_cmd *c, uint32_t stack, bool waits)
{
	const struct point p = {.at = c->host_ns,
		.seq = c->seq,
		.thread = c->thread,
		.stack = stack,
		.what = POINT_CALL,
		.waits = waits};

	/* one that is too late changes nothing but which call a gap is blamed on */
	if (c->host_ns)
		(void)put(w, &p);
}

void sweep_work(struct sweep *w, const struct sbt_cmd *c, const struct stream_work *k)
{
	struct point p = {.at = k->submitted,
		.seq = c->seq,
		.submitted = k->submitted,
		.stream = k->stream,
		.device = k->device,
		.thread = c->thread,
		.stack = c->stack,
		.what = POINT_SUBMIT,
		.copies = c->kind == SBT_COPY || c->kind == SBT_FILL};

	if (!put(w, &p)) {
		w->st->late++;
		w->st->known.order = false;
		return;
	}
	p.at = k->start;
	p.what = k->start == k->end ? POINT_PASS : POINT_BEGIN;
	(void)put(w, &p);
	p.at = k->end;
	if (p.what == POINT_PASS)
		return;
	p.what = POINT_END;
	(void)put(w, &p);
}

/* --- the end --- */

static int by_idle(const void *x, const void *y)
{
	const struct stats_blame *a = x, *b = y;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns < b->idle_ns ? 1 : -1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

static double mean(double time, uint64_t first, uint64_t last)
{
	return last > first ? time / (double)(last - first) : 0;
}

static void give(struct sweep *w)
{
	struct stats *st = w->st;

	for (size_t i = 0; i < w->ndevices; i++)
		st->devices[i].depth_mean = mean(w->devices[i].depth_time,
			w->devices[i].depth_first, w->devices[i].depth_since);
	for (size_t i = 0; i < w->nstreams; i++)
		st->streams[i].depth_mean =
			mean(w->streams[i].depth_time, w->streams[i].first, w->streams[i].since);
	st->buckets_begin_ns = w->begin;
	if (w->any)
		st->buckets = (unsigned)((w->now - w->begin) / st->bucket_ns) + 1;
	if (st->nblame)
		qsort(st->blame, st->nblame, sizeof *st->blame, by_idle);
}

/* Leaves out what the sweep would have given. */
static void give_nothing(struct stats *st)
{
	for (size_t i = 0; i < st->ndevices; i++) {
		const struct stats_device d = st->devices[i];

		/* what comes from elsewhere */
		st->devices[i] = (struct stats_device){.device = d.device,
			.name = d.name,
			.work = d.work,
			.timed = d.timed,
			.allocated_most = d.allocated_most,
			.allocated_most_seq = d.allocated_most_seq,
			.allocated_end = d.allocated_end,
			.allocated_stack = d.allocated_stack};
	}
	for (size_t i = 0; i < st->nstreams; i++) {
		st->streams[i].depth_most = 0;
		st->streams[i].depth_mean = 0;
	}
	free(st->blame);
	st->blame = NULL;
	st->nblame = 0;
	st->blame_lost_ns = 0;
}

void sweep_end(struct sweep *w)
{
	while (w->n && w->st->known.order) {
		const struct point p = heap_take(w);

		handle(w, &p);
	}
	if (w->st->known.order)
		give(w);
	else
		give_nothing(w->st);
	free(w->heap);
	free(w->devices);
	free(w->streams);
	free(w->by_stack.at);
	free(w);
}
