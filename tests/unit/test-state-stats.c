/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a trace's time went: small traces whose figures are computed by hand, traces that somebody
 * made to break the sums, and random ones against a count of every single nanosecond.
 */
#include "random-trace.h"
#include "state/stats/stats-parts.h"
#include "state/set-stats.h"
#include "state/trace-stats.h"

#define FIRST 1000 /* when the setup's calls were made */

static struct sbt_cmd at(struct sbt_cmd c, uint64_t host, uint64_t start, uint64_t end)
{
	c.host_ns = host;
	c.gpu_start_ns = start;
	c.gpu_end_ns = end;
	return c;
}

static struct sbt_cmd host(struct sbt_cmd c, uint64_t ns, uint32_t stack)
{
	c.host_ns = ns;
	c.stack = stack;
	return c;
}

/* seqs 1 to 6: device 0, context 0 with default stream 0, streams 1 and 2 that do not block, stream
 * 3 that does, kernel 0. */
static void begin(struct trace_maker *t)
{
	trace_begin(t, 0);
	trace_add(t, host(cmd_device(1, 0, "Soft"), FIRST, 0));
	trace_add(t, host(cmd_ctx_create(2, 0, 0), FIRST, 0));
	trace_add(t, host(cmd_stream_create(3, 1, 1), FIRST, 0));
	trace_add(t, host(cmd_stream_create(4, 2, 1), FIRST, 0));
	trace_add(t, host(cmd_stream_create(5, 3, 0), FIRST, 0));
	trace_add(t, host(cmd_kernel_def(6, 0, SBT_NO_ID, "alpha", NULL, 0), FIRST, 0));
}

static struct stats stats_from(struct trace_maker *t, uint64_t first, uint64_t last)
{
	const struct stats_ask ask = {.first = first, .last = last};
	struct sbt_reader *r = trace_end(t);
	struct stats s;

	ok(stats_make(&s, r, &ask));
	sbt_reader_close(r);
	return s;
}

static struct stats stats_all(struct trace_maker *t)
{
	return stats_from(t, 0, UINT64_MAX);
}

static const struct stats_stream *stream(const struct stats *s, uint32_t id)
{
	for (size_t i = 0; i < s->nstreams; i++)
		if (s->streams[i].id == id)
			return &s->streams[i];
	fail_msg("no stream %u", id);
	return NULL;
}

static void stream_is(const struct stats *st, uint32_t id, uint64_t busy, uint64_t event,
	uint64_t host_ns, uint64_t starting, uint64_t empty)
{
	const struct stats_stream *s = stream(st, id);

	assert_int_equal(s->busy_ns, busy);
	assert_int_equal(s->event_ns, event);
	assert_int_equal(s->host_ns, host_ns);
	assert_int_equal(s->starting_ns, starting);
	assert_int_equal(s->empty_ns, empty);
	assert_int_equal(busy + event + host_ns + starting + empty, st->end_ns - st->begin_ns);
}

static void spread_is(const struct stats_spread *s, uint64_t n, uint64_t sum, uint64_t least,
	uint64_t half, uint64_t p99, uint64_t most)
{
	assert_int_equal(s->n, n);
	assert_int_equal(s->sum, sum);
	assert_int_equal(s->least, least);
	assert_int_equal(s->half, half);
	assert_int_equal(s->p99, p99);
	assert_int_equal(s->most, most);
}

/* Stream 1:  [2100 k 3100]            [4100 copy 4600]  [5200 k 5300]
 * stream 2:                [3200 k 4200]
 * Stream 2 was told at 2300 to wait for what stream 1 had at 2200. */
static void two_streams(struct trace_maker *t)
{
	struct sbt_cmd c;

	begin(t);
	c = at(cmd_launch(10, 1, 0), 2000, 2100, 3100);
	c.stack = 5;
	trace_add(t, c);
	trace_add(t, host(cmd_event_record(11, 1, 0), 2200, 5));
	trace_add(t, host(cmd_stream_wait(12, 2, 0), 2300, 5));
	trace_add(t, at(cmd_launch(13, 2, 0), 2400, 3200, 4200));
	trace_add(
		t, at(cmd_copy(14, 1, SBT_COPY_H2D, 0x1000, 0x2000, 1000, true), 4000, 4100, 4600));
	trace_add(t, host(cmd_sync_ctx(15), 4300, 7));
	c = host(cmd_any(16, SBT_SYNC_END), 4700, 0);
	c.u.sync_end.begin = 15;
	trace_add(t, c);
	c = at(cmd_launch(17, 1, 0), 5000, 5200, 5300);
	c.stack = 9;
	trace_add(t, c);
}

static void by_hand(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	two_streams(&t);
	s = stats_all(&t);
	assert_true(s.known.times && s.known.order);
	assert_int_equal(s.begin_ns, 1000);
	assert_int_equal(s.end_ns, 5300);
	assert_int_equal(s.work, 4);
	assert_int_equal(s.timed, 4);
	assert_int_equal(s.nstreams, 2); /* the others did nothing */
	stream_is(&s, 1, 1600, 0, 1300, 400, 1000);
	stream_is(&s, 2, 1000, 800, 0, 100, 2400);
	assert_int_equal(stream(&s, 1)->depth_most, 1);
	stats_free(&s);
	assert_null(s.streams);
}

static void device_is(const struct stats_device *d, uint64_t begin_ns, uint64_t end_ns,
	uint64_t busy, uint64_t idle, uint64_t gaps)
{
	assert_int_equal(d->begin_ns, begin_ns);
	assert_int_equal(d->end_ns, end_ns);
	assert_int_equal(d->busy_ns, busy);
	assert_int_equal(d->idle_ns, idle);
	assert_int_equal(d->gaps, gaps);
}

/* A device that comes when others have worked begins with nothing, and changes nothing of theirs:
 * two_streams(), then [6000 k 6400] and [6600 k 6700] on the other. */
static void a_device_comes_late(void **state)
{
	struct trace_maker t;
	struct stats s;
	struct sbt_cmd c;

	(void)state;
	two_streams(&t);
	trace_add(&t, host(cmd_device(18, 1, "Late"), 5400, 0));
	c = host(cmd_ctx_create(19, 1, 10), 5400, 0);
	c.u.ctx_create.device = 1;
	trace_add(&t, c);
	c = host(cmd_stream_create(20, 11, 1), 5400, 0);
	c.ctx = 1;
	trace_add(&t, c);
	for (unsigned i = 0; i < 2; i++) {
		c = at(cmd_launch(21 + i, 11, 0), 5900, 6000 + 600 * i, 6400 + 300 * i);
		c.ctx = 1;
		trace_add(&t, c);
	}
	s = stats_all(&t);
	assert_int_equal(s.ndevices, 2);
	device_is(&s.devices[0], 2100, 5300, 2500, 700, 2);
	device_is(&s.devices[1], 6000, 6700, 500, 200, 1);
	assert_int_equal(s.devices[1].kernel_ns, 500);
	assert_int_equal(s.devices[1].copy_ns, 0);
	stats_free(&s);
}

/* 64 parts are what there may be; one nanosecond more, and they are twice as long. */
static void parts_at_their_limit(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		const uint64_t end = 1000 + 64 * 1024 - 1 + more;
		struct trace_maker t;
		struct stats s;
		uint64_t sum = 0;

		two_streams(&t);
		trace_add(&t, at(cmd_launch(18, 1, 0), 5400, end - 100, end));
		s = stats_all(&t);
		assert_int_equal(s.bucket_ns, more ? 2048 : 1024);
		assert_int_equal(s.buckets, more ? 33 : 64);
		for (unsigned i = 0; i < s.buckets; i++)
			sum += s.devices[0].busy[i];
		assert_int_equal(sum, 2600);
		assert_int_equal(s.devices[0].busy[more ? 31 : 63], 100);
		stats_free(&s);
	}
}

static void device_by_hand(void **state)
{
	struct trace_maker t;
	struct stats s;
	const struct stats_device *d;

	(void)state;
	two_streams(&t);
	s = stats_all(&t);
	assert_int_equal(s.ndevices, 1);
	d = &s.devices[0];
	assert_string_equal(d->name, "Soft");
	assert_int_equal(d->begin_ns, 2100);
	assert_int_equal(d->end_ns, 5300);
	assert_int_equal(d->busy_ns, 2500);
	assert_int_equal(d->kernel_ns, 2100);
	assert_int_equal(d->copy_ns, 500);
	assert_int_equal(d->overlap_ns, 100);
	assert_int_equal(d->concurrent_ns, 0);
	assert_int_equal(d->idle_ns, 700);
	assert_int_equal(d->late_ns, 400);
	assert_int_equal(d->starting_ns, 300);
	assert_int_equal(d->gaps, 2);
	assert_int_equal(d->depth_most, 2);
	assert_int_equal(d->depth_mean * 3300 + 0.5, 3800);
	/* parts of 1024 ns from 1000 on */
	assert_int_equal(s.buckets_begin_ns, 1000);
	assert_int_equal(s.bucket_ns, 1024);
	assert_int_equal(s.buckets, 5);
	assert_int_equal(d->busy[0], 0);
	assert_int_equal(d->busy[1], 948);
	assert_int_equal(d->busy[2], 924);
	assert_int_equal(d->busy[3], 528);
	assert_int_equal(d->busy[4], 100);
	/* 4600 to 4700 the host waited for #14, 4700 to 5000 it was on its way to #17 */
	assert_int_equal(s.nblame, 2);
	assert_int_equal(s.blame[0].stack, 9);
	assert_int_equal(s.blame[0].idle_ns, 300);
	assert_int_equal(s.blame[0].waits_ns, 0);
	assert_int_equal(s.blame[0].first_seq, 17);
	assert_int_equal(s.blame[1].stack, 7);
	assert_int_equal(s.blame[1].idle_ns, 100);
	assert_int_equal(s.blame[1].waits_ns, 100);
	assert_int_equal(s.blame_lost_ns, 0);
	stats_free(&s);
}

static void spreads_by_hand(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	two_streams(&t);
	s = stats_all(&t);
	/* between 64 and 128 a step is 2, up to 256 it is 4 */
	spread_is(&s.latency, 2, 300, 100, 101, 200, 200); /* #13 had to wait for an event */
	spread_is(&s.queued, 3, 1100, 100, 203, 800, 800);
	spread_is(&s.waits, 1, 400, 400, 400, 400, 400);
	assert_int_equal(s.ncopies, 1);
	assert_int_equal(s.copies[0].dir, SBT_COPY_H2D);
	assert_int_equal(s.copies[0].bytes, 1000);
	assert_int_equal(s.copies[0].time_ns, 500);
	assert_int_equal(s.copies[0].fastest, 2000000000); /* 1000 bytes in 500 ns */
	assert_int_equal(s.copies[0].fastest_seq, 14);
	assert_int_equal(s.sums.all.count, 4);
	assert_int_equal(s.sums.all.time_ns, 2600);
	stats_free(&s);
}

/* A quantile is the least value of which so many of 100 are not above it. Below 32 each value is
 * its own row, so it is exact. */
static void quantiles(void **state)
{
	struct spread s = {0};
	struct stats_spread is;

	for (unsigned i = 0; i < 200; i++)
		spread_add(&s, i < 100 ? 3 : i < 180 ? 5 : i < 198 ? 7 : 11);
	is = spread_of(&s);
	spread_is(&is, 200, 300 + 400 + 126 + 22, 3, 3, 7, 11);
	assert_int_equal(is.p90, 5);
	spread_add(&s, 11); /* 99 of 100 of 201 are 199, one more than are below 11 */
	is = spread_of(&s);
	assert_int_equal(is.half, 5);
	assert_int_equal(is.p90, 7);
	assert_int_equal(is.p99, 11);
}

/* A part of the trace: what came before is known, and not counted. */
static void a_part(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	two_streams(&t);
	s = stats_from(&t, 13, 14);
	assert_int_equal(s.begin_ns, 2400);
	assert_int_equal(s.end_ns, 4600);
	assert_int_equal(s.commands, 2);
	/* it waits for #10 until 3100, from the beginning of the part on */
	stream_is(&s, 2, 1000, 700, 0, 100, 400);
	stream_is(&s, 1, 500, 0, 0, 100, 1600);
	assert_int_equal(s.waits.n, 0);
	stats_free(&s);
}

static void kernels_at_the_same_time(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_launch(10, 1, 0), 2000, 2000, 3000));
	trace_add(&t, at(cmd_launch(11, 2, 0), 2000, 2500, 3500));
	trace_add(&t, at(cmd_launch(12, 3, 0), 2000, 2600, 2700));
	trace_add(&t, at(cmd_fill(13, 1, 0x1000, 64), 2000, 3000, 3400));
	s = stats_all(&t);
	assert_int_equal(s.devices[0].busy_ns, 1500);
	assert_int_equal(s.devices[0].concurrent_ns, 500);
	assert_int_equal(s.devices[0].overlap_ns, 400);
	assert_int_equal(s.devices[0].idle_ns, 0);
	assert_int_equal(s.devices[0].depth_most, 4);
	stats_free(&s);
}

/* The legacy default stream waits for blocking streams, and they for it; others do not. */
static void legacy_default_stream(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_launch(10, 3, 0), 2000, 2000, 3000));
	trace_add(&t, at(cmd_launch(11, 0, 0), 2000, 3050, 4000)); /* waits 2000 to 3000 */
	trace_add(&t, at(cmd_launch(12, 3, 0), 2000, 4000, 4100)); /* waits 3000 to 4000 */
	trace_add(&t, at(cmd_launch(13, 1, 0), 2000, 4000, 4200)); /* for nothing */
	s = stats_all(&t);
	stream_is(&s, 0, 950, 1000, 0, 50, 1200);
	stream_is(&s, 3, 1100, 1000, 0, 0, 1100);
	stream_is(&s, 1, 200, 0, 0, 2000, 1000);
	stats_free(&s);
}

static void host_function_and_value(void **state)
{
	struct trace_maker t;
	struct sbt_cmd c;
	struct stats s;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_launch(10, 1, 0), 2000, 2000, 3000));
	trace_add(&t, host(cmd_host_func(11, 1), 2000, 0));
	trace_add(&t, at(cmd_launch(12, 1, 0), 2000, 3700, 4000));
	c = host(cmd_any(13, SBT_BATCH), 2000, 0);
	c.u.batch.stream = 1;
	c.u.batch.is_wait = 1;
	trace_add(&t, c);
	trace_add(&t, at(cmd_launch(14, 1, 0), 2000, 4200, 4300));
	trace_add(&t, at(cmd_launch(15, 1, 0), 2000, 4350, 4400)); /* behind nothing of the kind */
	s = stats_all(&t);
	stream_is(&s, 1, 1450, 0, 900, 50, 1000);
	stats_free(&s);
}

static void no_times(void **state)
{
	struct trace_maker t;
	struct sbt_cmd c;
	struct stats s;

	(void)state;
	begin(&t);
	c = cmd_any(9, SBT_ALLOC);
	c.u.alloc = (struct sbt_cmd_alloc){.addr = 0x10000, .size = 4096, .stream = 1};
	c.stack = 3;
	trace_add(&t, c);
	trace_add(&t, at(cmd_launch(10, 1, 0), 2000, 0, 0));
	trace_add(&t, at(cmd_copy(14, 1, SBT_COPY_D2H, 0x1000, 0x2000, 70, true), 4000, 0, 0));
	c = cmd_any(15, SBT_FREE);
	c.u.free = (struct sbt_cmd_free){.addr = 0x10000, .stream = SBT_NO_ID};
	trace_add(&t, c);
	s = stats_all(&t);
	assert_false(s.known.times);
	assert_int_equal(s.work, 2);
	assert_int_equal(stream(&s, 1)->work, 2);
	assert_int_equal(stream(&s, 1)->empty_ns, 0);
	assert_int_equal(s.copies[0].bytes, 70);
	assert_int_equal(s.copies[0].timed, 0);
	assert_int_equal(s.devices[0].allocated_most, 4096);
	assert_int_equal(s.devices[0].allocated_most_seq, 9);
	assert_int_equal(s.devices[0].allocated_stack, 3);
	assert_int_equal(s.devices[0].allocated_end, 0);
	stats_free(&s);
}

/* --- made to break the sums --- */

static void clocks_that_differ(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_launch(10, 1, 0), 2500, 2000, 3000));
	trace_add(&t, at(cmd_launch(11, 1, 0), 3100, 2900, 3200)); /* overlaps, too */
	s = stats_all(&t);
	assert_int_equal(s.early, 2);
	assert_int_equal(s.early_most_ns, 500);
	stream_is(&s, 1, 1200, 0, 0, 0, 1000);
	assert_int_equal(s.devices[0].busy_ns, 1200);
	stats_free(&s);
}

static void hostile_times(void **state)
{
	struct trace_maker t;
	struct stats s;
	struct sbt_cmd c;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_launch(10, 1, 0), 2000, 3000, 2900)); /* ends before it begins */
	trace_add(&t, at(cmd_launch(11, 1, 0), 0, 1, UINT64_MAX));
	trace_add(&t, at(cmd_launch(12, 2, 0), UINT64_MAX, UINT64_MAX, UINT64_MAX));
	trace_add(&t, at(cmd_launch(13, SBT_NO_ID - 1, SBT_NO_ID - 1), 5, 6, 7));
	c = at(cmd_copy(14, 2, 0, 0, 0, UINT64_MAX, true), 5, 6, 7);
	c.u.copy.dir = 200;
	trace_add(&t, c);
	c = cmd_any(15, SBT_SYNC_END);
	c.u.sync_end.begin = 99;
	trace_add(&t, c);
	s = stats_all(&t);
	assert_int_equal(s.impossible, 1);
	assert_int_equal(s.work, 5);
	assert_int_equal(s.timed, 3);
	assert_int_equal(s.end_ns, UINT64_MAX);
	assert_int_equal(s.waits.n, 0);
	stats_free(&s);
}

/* More than the pass can put in order: the figures that need the order are not there. */
static void out_of_order(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	begin(&t);
	for (uint64_t i = 0; i < 100000; i++)
		trace_add(&t, at(cmd_launch(10 + i, 1, 0), 10000 + 10 * i, 10000 + 10 * i,
				      10005 + 10 * i));
	trace_add(&t, at(cmd_launch(200000, 2, 0), 2000, 2000, 3000));
	s = stats_all(&t);
	assert_true(s.known.times);
	assert_false(s.known.order);
	assert_int_equal(s.late, 1);
	assert_int_equal(s.devices[0].busy_ns, 0);
	assert_int_equal(s.devices[0].work, 100001);
	assert_int_equal(s.nblame, 0);
	assert_int_equal(s.blame_lost_ns, 0);
	for (size_t i = 0; i < s.nstreams; i++)
		assert_true(!s.streams[i].depth_most && s.streams[i].depth_mean == 0);
	assert_int_equal(stream(&s, 1)->busy_ns, 500000); /* needs no other stream */
	stats_free(&s);
}

/* The end of another call's wait, or of none, is no wait. */
static void ends_without_their_beginning(void **state)
{
	struct trace_maker t;
	struct stats s;

	(void)state;
	begin(&t);
	trace_add(&t, at(cmd_sync_end(9, 8), 900, 0, 0));
	trace_add(&t, at(cmd_sync_ctx(10), 1000, 0, 0));
	trace_add(&t, at(cmd_sync_end(11, 9), 2000, 0, 0));
	trace_add(&t, at(cmd_sync_end(12, 10), 3000, 0, 0));
	trace_add(&t, at(cmd_sync_end(13, 10), 4000, 0, 0));
	s = stats_all(&t);
	assert_int_equal(s.waits.n, 1);
	assert_int_equal(s.waits.sum, 2000);
	stats_free(&s);
}

/* --- against a count of every nanosecond --- */

enum { TIME = 4000, COUNT = 120, STREAMS = 3 };

struct counted {
	uint8_t kernels[TIME], copies[TIME];
	uint64_t busy, kernel, copy, overlap, concurrent;
};

static uint64_t next(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *x >> 33;
}

static void scattered_work(
	struct trace_maker *t, uint64_t *x, struct counted *n, uint64_t free_at[])
{
	for (uint64_t i = 0; i < COUNT; i++) {
		const uint32_t st = (uint32_t)(next(x) % STREAMS);
		const bool copy = next(x) % 3 == 0;
		const uint64_t from = free_at[st] + next(x) % 40, to = from + next(x) % 60;

		if (to >= TIME)
			continue;
		free_at[st] = to;
		for (uint64_t k = from; k < to; k++)
			copy ? n->copies[k]++ : n->kernels[k]++;
		trace_add(t, at(copy ? cmd_copy(10 + i, st + 1, SBT_COPY_D2D, 0, 0, 1, true)
				     : cmd_launch(10 + i, st + 1, 0),
				     from - next(x) % 5, from, to));
	}
	for (unsigned k = 0; k < TIME; k++) {
		n->busy += n->kernels[k] || n->copies[k];
		n->kernel += n->kernels[k] != 0;
		n->copy += n->copies[k] != 0;
		n->overlap += n->kernels[k] && n->copies[k];
		n->concurrent += n->kernels[k] > 1;
	}
}

static void every_nanosecond(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t x = seed, free_at[STREAMS] = {1100, 1100, 1100}, parts = 0;
		struct counted n = {0};
		struct trace_maker t;
		struct stats s;

		begin(&t);
		scattered_work(&t, &x, &n, free_at);
		s = stats_all(&t);
		assert_int_equal(s.devices[0].busy_ns, n.busy);
		assert_int_equal(s.devices[0].kernel_ns, n.kernel);
		assert_int_equal(s.devices[0].copy_ns, n.copy);
		assert_int_equal(s.devices[0].overlap_ns, n.overlap);
		assert_int_equal(s.devices[0].concurrent_ns, n.concurrent);
		assert_int_equal(s.devices[0].busy_ns + s.devices[0].idle_ns,
			s.devices[0].end_ns - s.devices[0].begin_ns);
		assert_int_equal(
			s.devices[0].late_ns + s.devices[0].starting_ns, s.devices[0].idle_ns);
		for (unsigned i = 0; i < s.buckets; i++)
			parts += s.devices[0].busy[i];
		assert_int_equal(parts, n.busy);
		for (size_t i = 0; i < s.nstreams; i++)
			assert_int_equal(s.streams[i].busy_ns + s.streams[i].event_ns +
						 s.streams[i].host_ns + s.streams[i].starting_ns +
						 s.streams[i].empty_ns,
				s.end_ns - s.begin_ns);
		stats_free(&s);
	}
}

/* --- several ranks --- */

static uint64_t later(const void *by, uint64_t ns)
{
	return ns + *(const uint64_t *)by;
}

static void add_row(
	struct summary_rows *k, const char *name, uint64_t count, uint64_t timed, uint64_t ns)
{
	k->v = xrealloc(k->v, (k->n + 1) * sizeof *k->v);
	k->v[k->n++] = (struct summary_row){
		.name = xstrdup(name), .count = count, .timed = timed, .time_ns = ns, .bytes = 8};
}

static void add_kernel(
	struct stats *s, const char *name, uint64_t count, uint64_t timed, uint64_t ns)
{
	add_row(&s->sums.kernels, name, count, timed, ns);
}

/* A device whose figures are n times some primes. */
static void add_device(struct stats *s, uint64_t n, uint64_t bytes)
{
	s->devices = xrealloc(s->devices, (s->ndevices + 1) * sizeof *s->devices);
	s->devices[s->ndevices++] = (struct stats_device){.timed = n,
		.begin_ns = 5,
		.end_ns = 5 + 3 * (n ? n : 1),
		.busy_ns = 7 * (n ? n : 1),
		.kernel_ns = 11 * (n ? n : 1),
		.copy_ns = 13 * (n ? n : 1),
		.overlap_ns = 17 * (n ? n : 1),
		.idle_ns = 19 * (n ? n : 1),
		.late_ns = 23 * (n ? n : 1),
		.allocated_most = bytes};
}

static void assert_devices_of(const struct set_rank *r, uint64_t n, uint64_t bytes)
{
	assert_int_equal(r->span_ns, 3 * n);
	assert_int_equal(r->busy_ns, 7 * n);
	assert_int_equal(r->kernel_ns, 11 * n);
	assert_int_equal(r->copy_ns, 13 * n);
	assert_int_equal(r->overlap_ns, 17 * n);
	assert_int_equal(r->idle_ns, 19 * n);
	assert_int_equal(r->late_ns, 23 * n);
	assert_int_equal(r->allocated_most, bytes);
}

static void ranks_together(void **state)
{
	const uint64_t shift[] = {0, 100, 7, 50};
	struct set_stats x = {0};
	struct stats s[4] = {
		{.begin_ns = 10, .end_ns = 90, .commands = 5, .work = 3, .timed = 3},
		{.begin_ns = 5, .end_ns = 40, .commands = 4, .work = 2, .timed = 2},
		{.commands = 0},
		{.begin_ns = 1, .end_ns = 2, .commands = 1, .work = 1},
	};

	(void)state;
	add_device(&s[0], 1, 1000);
	add_device(&s[0], 2, 2000);
	add_device(&s[0], 0, 3000); /* without times: its memory counts, nothing else */
	add_device(&s[1], 1, 500);
	s[0].waits.sum = 12;
	s[0].known.times = s[0].known.order = true;
	s[1].known.times = true;
	s[3].known.order = true;
	add_kernel(&s[0], "b", 2, 2, 30);
	add_kernel(&s[0], "a", 1, 1, 10);
	add_kernel(&s[1], "a", 2, 2, 50);
	add_kernel(&s[1], "a", 1, 1, 2); /* two rows of a rank with one name */
	add_kernel(&s[3], "a", 1, 0, 0); /* without times: neither the least nor the most */
	add_row(&s[0].sums.ranges, "s", 1, 1, 20);
	add_row(&s[0].sums.ranges, "t", 1, 1, 100);
	add_row(&s[0].sums.ranges, "r", 1, 1, 10);
	add_row(&s[1].sums.ranges, "r", 3, 1, 10);
	add_row(&s[0].sums.sites, "main", 4, 1, 10);
	add_row(&s[3].sums.sites, "main", 5, 1, 10);
	for (unsigned i = 0; i < 4; i++) {
		set_stats_add(&x, 3 - i, &s[i], later, &shift[i]);
		stats_free(&s[i]);
		assert_memory_equal(&s[i], &(struct stats){0}, sizeof s[i]);
	}
	set_stats_end(&x);
	assert_int_equal(x.ranges.n, 3);
	assert_string_equal(x.ranges.v[0].name, "t"); /* the most time */
	assert_string_equal(x.ranges.v[1].name, "r");
	assert_int_equal(x.ranges.v[1].ranks, 2);
	assert_string_equal(x.ranges.v[2].name, "s"); /* the same time, less often */
	assert_int_equal(x.sites.n, 1);
	assert_int_equal(x.sites.v[0].count, 9);
	assert_int_equal(x.sites.v[0].ranks, 2);
	assert_devices_of(&x.r[0], 1 + 2, 3000);
	assert_devices_of(&x.r[1], 1, 500);
	assert_devices_of(&x.r[2], 0, 0);
	assert_int_equal(x.r[0].waits_ns, 12);
	assert_true(set_rank_used(&x.r[0]));
	assert_false(set_rank_used(&x.r[1]));
	assert_false(set_rank_used(&x.r[3]));
	assert_int_equal(x.n, 4);
	assert_int_equal(x.commands, 10);
	assert_int_equal(x.work, 6);
	assert_int_equal(x.timed, 5);
	assert_int_equal(x.begin_ns, 10);
	assert_int_equal(x.end_ns, 140);
	assert_int_equal(x.r[1].rank, 2);
	assert_int_equal(x.r[1].begin_ns, 105);
	assert_int_equal(x.r[2].end_ns, 0);
	assert_int_equal(x.kernels.n, 2);
	assert_string_equal(x.kernels.v[0].name, "a");
	assert_int_equal(x.kernels.v[0].count, 5);
	assert_int_equal(x.kernels.v[0].timed, 4);
	assert_int_equal(x.kernels.v[0].time_ns, 62);
	assert_int_equal(x.kernels.v[0].bytes, 32);
	assert_int_equal(x.kernels.v[0].ranks, 3);
	assert_int_equal(x.kernels.v[0].least_ns, 10);
	assert_int_equal(x.kernels.v[0].least_rank, 3);
	assert_int_equal(x.kernels.v[0].most_ns, 52);
	assert_int_equal(x.kernels.v[0].most_rank, 2);
	assert_string_equal(x.kernels.v[1].name, "b");
	assert_int_equal(x.kernels.v[1].ranks, 1);
	set_stats_free(&x);
	assert_memory_equal(&x, &(struct set_stats){0}, sizeof x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(device_by_hand),
		cmocka_unit_test(a_device_comes_late),
		cmocka_unit_test(parts_at_their_limit),
		cmocka_unit_test(spreads_by_hand),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(a_part),
		cmocka_unit_test(kernels_at_the_same_time),
		cmocka_unit_test(legacy_default_stream),
		cmocka_unit_test(host_function_and_value),
		cmocka_unit_test(no_times),
		cmocka_unit_test(clocks_that_differ),
		cmocka_unit_test(hostile_times),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(ends_without_their_beginning),
		cmocka_unit_test(every_nanosecond),
		cmocka_unit_test(ranks_together),
	};

	return cmocka_run_group_tests_name("state-stats", tests, NULL, NULL);
}
