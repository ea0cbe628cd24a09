/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a trace's time went, in the figures that are sums over commands: copies and fills, waits of
 * the host, memory in use, work of streams and devices, what was seen at all. Random traces, of
 * which every figure is counted by a loop over all commands, whole and from one command to another.
 */
#include "random-trace.h"
#include "state/trace-stats.h"

#define COMMANDS 300
#define DEVICES 2
#define STREAMS 4 /* two of each device */
#define THREADS 3

static struct random_cmds dice = {.x = 21};
static struct sbt_cmd list[COMMANDS];
static unsigned n;

static unsigned below(unsigned of)
{
	return (unsigned)random_below(&dice, of);
}

static void add(struct trace_maker *t, struct sbt_cmd c, uint64_t host_ns)
{
	c.seq = n ? list[n - 1].seq + 1 + (below(9) == 0) : 1;
	c.host_ns = host_ns;
	list[n++] = c;
	trace_add(t, c);
}

static struct sbt_cmd any_work(uint32_t stream)
{
	static const uint64_t dirs[] = {SBT_COPY_H2D, SBT_COPY_D2H, SBT_COPY_D2D, SBT_COPY_H2H,
		SBT_COPY_PEER, SBT_COPY_ANY, SBT_COPY_ANY + 7};
	struct sbt_cmd c;

	switch (below(4)) {
	case 0:
		return cmd_launch(0, stream, 0);
	case 1:
		return cmd_fill(0, stream, 0x100000, 1 + below(5000));
	default:
		c = cmd_copy(0, stream, 0, 0x100000, 0x200000, 1 + below(1 << 20), true);
		c.u.copy.dir = dirs[below(7)];
		return c;
	}
}

/* Each stream works one after the other, begun when it was submitted or later; some work has no
 * times, or impossible ones, or began before it was submitted. */
static void set_times(struct sbt_cmd *c, uint64_t now, uint64_t *free_at)
{
	const uint64_t from = now > *free_at ? now : *free_at;

	if (below(8) == 0)
		return;
	c->gpu_start_ns = from + below(50);
	c->gpu_end_ns = c->gpu_start_ns + below(20) * below(100);
	*free_at = c->gpu_end_ns;
	if (below(20) == 0)
		c->gpu_end_ns = c->gpu_start_ns - 1;
}

static struct sbt_reader *make_trace(void)
{
	uint64_t now = 5000, free_at[STREAMS] = {0}, open[THREADS] = {0}, next = 0x1000000;
	uint64_t allocated[40];
	unsigned nallocs = 0;
	struct trace_maker t;

	n = 0;
	trace_begin(&t, 0);
	add(&t, cmd_device(1, 0, "first"), now);
	add(&t, cmd_device(1, 1, "second"), now);
	for (unsigned i = 0; i < DEVICES; i++) {
		struct sbt_cmd ctx = cmd_ctx_create(1, i, 10 + i);

		ctx.u.ctx_create.device = i;
		add(&t, ctx, now);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		struct sbt_cmd s = cmd_stream_create(1, i, 1);

		s.ctx = i / 2;
		add(&t, s, now);
	}
	add(&t, cmd_kernel_def(1, 0, SBT_NO_ID, "alpha", NULL, 0), now);
	while (n < COMMANDS) {
		const unsigned thread = below(THREADS), stream = below(STREAMS);
		struct sbt_cmd c;

		now += below(300);
		switch (below(6)) {
		case 0: /* a wait begins, or ends */
			c = open[thread] ? cmd_sync_end(0, open[thread]) : cmd_sync_ctx(0);
			break;
		case 1:
			if (nallocs && (nallocs == 40 || below(3) == 0)) {
				c = cmd_free(0, allocated[--nallocs]);
			} else {
				c = cmd_alloc(0, next, 1 + below(9000));
				c.u.alloc.device = below(DEVICES);
				allocated[nallocs++] = next;
				next += 0x10000;
			}
			break;
		default:
			c = any_work(stream);
			c.ctx = stream / 2;
			set_times(&c, now, &free_at[stream]);
		}
		c.thread = 1 + thread;
		c.stack = 1 + below(5);
		add(&t, c, below(40) ? now : 0);
		if (c.kind == SBT_SYNC)
			open[thread] = list[n - 1].seq;
		if (c.kind == SBT_SYNC_END)
			open[thread] = 0;
	}
	return trace_end(&t);
}

/* --- counted --- */

static bool is_timed(const struct sbt_cmd *c)
{
	return c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns;
}

static bool is_work(const struct sbt_cmd *c)
{
	return c->kind == SBT_LAUNCH || c->kind == SBT_FILL || c->kind == SBT_COPY;
}

static uint64_t row_of(const struct sbt_cmd *c)
{
	return c->kind == SBT_FILL	      ? SBT_COPY_ANY + 1
	       : c->u.copy.dir < SBT_COPY_ANY ? c->u.copy.dir
					      : SBT_COPY_ANY;
}

static void copies_are(const struct stats *s, unsigned first, unsigned last)
{
	size_t k = 0;

	for (uint64_t dir = 0; dir <= SBT_COPY_ANY + 1; dir++) {
		struct stats_copies want = {.dir = dir};

		for (unsigned i = first; i <= last; i++) {
			const struct sbt_cmd *c = &list[i];
			const uint64_t bytes =
				c->kind == SBT_FILL ? c->u.fill.size : c->u.copy.size;
			const uint64_t ns = c->gpu_end_ns - c->gpu_start_ns;

			if (!is_work(c) || c->kind == SBT_LAUNCH || row_of(c) != dir)
				continue;
			want.count++;
			want.bytes += bytes;
			if (!is_timed(c))
				continue;
			want.timed++;
			want.timed_bytes += bytes;
			want.time_ns += ns;
			if (ns && (double)bytes * 1e9 / (double)ns > want.fastest) {
				want.fastest = (double)bytes * 1e9 / (double)ns;
				want.fastest_seq = c->seq;
			}
		}
		if (!want.count)
			continue;
		assert_true(k < s->ncopies);
		const struct stats_copies *got = &s->copies[k++];

		assert_int_equal(got->dir, want.dir);
		assert_int_equal(got->count, want.count);
		assert_int_equal(got->bytes, want.bytes);
		assert_int_equal(got->timed, want.timed);
		assert_int_equal(got->timed_bytes, want.timed_bytes);
		assert_int_equal(got->time_ns, want.time_ns);
		assert_int_equal(got->fastest_seq, want.fastest_seq);
		assert_true(got->fastest == want.fastest);
	}
	assert_int_equal(s->ncopies, k);
}

/* A wait counts when it ends in the range; both ends need a time. */
static void waits_are(const struct stats *s, unsigned first, unsigned last)
{
	uint64_t count = 0, sum = 0, least = UINT64_MAX, most = 0;

	for (unsigned i = first; i <= last; i++) {
		uint64_t ns;
		unsigned b = 0;

		if (list[i].kind != SBT_SYNC_END)
			continue;
		while (list[b].seq != list[i].u.sync_end.begin)
			b++;
		if (!list[b].host_ns || list[i].host_ns < list[b].host_ns)
			continue;
		ns = list[i].host_ns - list[b].host_ns;
		count++;
		sum += ns;
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	assert_int_equal(s->waits.n, count);
	assert_int_equal(s->waits.sum, sum);
	assert_int_equal(s->waits.least, count ? least : 0);
	assert_int_equal(s->waits.most, most);
}

/* What is in use, of all from the trace's beginning on: the largest, when that was, and at last. */
static void memory_is(const struct stats_device *d, unsigned last)
{
	uint64_t now = 0, most = 0, seq = 0;
	uint32_t stack = 0;

	for (unsigned i = 0; i <= last; i++) {
		unsigned a = i;

		if (list[i].kind == SBT_FREE)
			for (a = 0; list[a].kind != SBT_ALLOC ||
				    list[a].u.alloc.addr != list[i].u.free.addr;
				a++)
				;
		if (list[a].kind != SBT_ALLOC || list[a].u.alloc.device != d->device)
			continue;
		now += list[i].kind == SBT_ALLOC ? list[a].u.alloc.size : -list[a].u.alloc.size;
		if (now > most) {
			most = now;
			seq = list[i].seq;
			stack = list[i].stack;
		}
	}
	assert_int_equal(d->allocated_most, most);
	assert_int_equal(d->allocated_most_seq, seq);
	assert_int_equal(d->allocated_stack, stack);
	assert_int_equal(d->allocated_end, now);
}

static void work_is(const struct stats *s, unsigned first, unsigned last)
{
	uint64_t work[STREAMS] = {0}, timed[STREAMS] = {0}, all = 0, all_timed = 0, bad = 0;

	for (unsigned i = first; i <= last; i++) {
		const uint32_t stream = sbt_cmd_stream(&list[i]);

		if (!is_work(&list[i]))
			continue;
		work[stream]++;
		all++;
		timed[stream] += is_timed(&list[i]);
		all_timed += is_timed(&list[i]);
		bad += list[i].gpu_start_ns && !is_timed(&list[i]);
	}
	assert_int_equal(s->work, all);
	assert_int_equal(s->timed, all_timed);
	assert_int_equal(s->impossible, bad);
	assert_int_equal(s->known.times, all_timed != 0);
	for (size_t i = 0; i < s->nstreams; i++) {
		const struct stats_stream *of = &s->streams[i];

		assert_int_equal(of->work, of->id < STREAMS ? work[of->id] : 0);
		assert_int_equal(of->timed, of->id < STREAMS ? timed[of->id] : 0);
		if (of->id < STREAMS)
			assert_int_equal(of->device, of->id / 2);
	}
	for (size_t i = 0; i < s->ndevices; i++) {
		const struct stats_device *d = &s->devices[i];

		assert_int_equal(d->work, work[2 * d->device] + work[2 * d->device + 1]);
		assert_int_equal(d->timed, timed[2 * d->device] + timed[2 * d->device + 1]);
		assert_string_equal(d->name, d->device ? "second" : "first");
		memory_is(d, last);
	}
}

/* From the first time of a call or of its work to the last one; numbers and how many there are. */
static void range_is(const struct stats *s, unsigned first, unsigned last)
{
	uint64_t begin = 0, end = 0, calls = 0, first_seq = 0;

	for (unsigned i = first; i <= last; i++) {
		const struct sbt_cmd *c = &list[i];

		if (c->kind == SBT_DEVICE || c->kind == SBT_KERNEL_DEF) /* told by no call */
			continue;
		first_seq = calls++ ? first_seq : c->seq;
		const uint64_t of[] = {c->host_ns, is_timed(c) ? c->gpu_start_ns : 0,
			is_timed(c) ? c->gpu_end_ns : 0};

		for (unsigned k = 0; k < 3; k++) {
			begin = of[k] && (!begin || of[k] < begin) ? of[k] : begin;
			end = of[k] > end ? of[k] : end;
		}
	}
	assert_int_equal(s->commands, calls);
	assert_int_equal(s->first_seq, first_seq);
	assert_int_equal(s->last_seq, list[last].seq);
	assert_int_equal(s->begin_ns, begin);
	assert_int_equal(s->end_ns, end);
}

static void every_command(void **state)
{
	for (unsigned round = 0; round < 60; round++) {
		struct sbt_reader *r = make_trace();

		for (unsigned k = 0; k < 3; k++) {
			const unsigned first = k ? 10 + below(COMMANDS - 20) : 0,
				       last = k == 1 ? first + below(COMMANDS - first)
						     : COMMANDS - 1;
			const struct stats_ask ask = {
				.first = k ? list[first].seq : 0, .last = list[last].seq};
			struct stats s;

			ok(stats_make(&s, r, &ask));
			range_is(&s, first, last);
			copies_are(&s, first, last);
			waits_are(&s, first, last);
			work_is(&s, first, last);
			stats_free(&s);
		}
		sbt_reader_close(r);
	}
}

static bool cancel(void *arg, uint64_t done, uint64_t of)
{
	*(uint64_t *)arg = done;
	return true;
}

/* Whoever asks is asked every 65,536 commands whether to go on. */
static void cancelled(void **state)
{
	for (unsigned more = 0; more < 2; more++) {
		uint64_t done = 0;
		const struct stats_ask ask = {
			.last = UINT64_MAX, .cancelled = cancel, .arg = &done};
		struct trace_maker t;
		struct sbt_reader *r;
		struct err *e;
		struct stats s;

		trace_begin(&t, 0);
		for (uint64_t seq = 1; seq < 65536 + more; seq++)
			trace_add(&t, cmd_any(seq, SBT_QUERY));
		r = trace_end(&t);
		e = stats_make(&s, r, &ask);
		assert_int_equal(e != NULL, more);
		assert_int_equal(done, more ? 65536 : 0);
		if (e)
			assert_int_equal(e->code, ERR_INTERRUPTED);
		err_free(e);
		stats_free(&s);
		sbt_reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command),
		cmocka_unit_test(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
