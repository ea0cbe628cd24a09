/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path: of traces whose path is found by hand, and of random programs, which a small
 * simulation runs again with other durations to see whether slack and gain are what they say.
 */
#include "random-trace.h"
#include "order/critical-path.h"

static struct trace_maker t;

static void begin(void)
{
	trace_begin(&t, 0);
	for (uint64_t i = 0; i < 6; i++) {
		struct sbt_cmd c = i == 0   ? cmd_ctx_create(1, 0, 0)
				   : i <= 2 ? cmd_stream_create(1 + i, i, 1)
					    : cmd_kernel_def(1 + i, i - 3, SBT_NO_ID, "k", NULL, 0);

		c.host_ns = 1000;
		trace_add(&t, c);
	}
}

static void add(struct sbt_cmd c, uint64_t host, uint32_t stack)
{
	c.host_ns = host;
	c.stack = stack;
	trace_add(&t, c);
}

static void launch(uint64_t seq, uint64_t stream, uint64_t kernel, uint64_t host, uint32_t stack,
	uint64_t start, uint64_t end)
{
	struct sbt_cmd c = cmd_launch(seq, stream, kernel);

	c.gpu_start_ns = start;
	c.gpu_end_ns = end;
	add(c, host, stack);
}

static void waited(uint64_t seq, uint64_t host, uint32_t thread)
{
	struct sbt_cmd c = cmd_any(seq, SBT_SYNC_END);

	c.u.sync_end.begin = seq - 1;
	c.thread = thread;
	add(c, host, 0);
}

static struct critical_path path_of(void)
{
	const struct order_options all = {0};
	struct sbt_reader *r = trace_end(&t);
	struct critical_path p;
	uint64_t sum = 0;

	ok(critical_path(&p, r, &all));
	sbt_reader_close(r);
	for (unsigned i = 0; i < CRITICAL_WHATS; i++)
		sum += p.by_what[i];
	assert_int_equal(sum, p.end_ns - p.begin_ns);
	for (size_t i = 0; i < p.nsteps; i++)
		assert_int_equal(p.steps[i].from_ns, i ? p.steps[i - 1].to_ns : p.begin_ns);
	return p;
}

static const struct critical_part *part(
	const struct critical_path *p, enum critical_what what, uint32_t id)
{
	for (size_t i = 0; i < p->nparts; i++)
		if (p->parts[i].what == what && p->parts[i].id == id)
			return &p->parts[i];
	fail_msg("no part %u %u", what, id);
	return NULL;
}

static void part_is(const struct critical_path *p, enum critical_what what, uint32_t id,
	uint64_t on, uint64_t count, uint64_t gain, enum critical_what next, uint32_t next_id)
{
	const struct critical_part *x = part(p, what, id);

	assert_int_equal(x->on_ns, on);
	assert_int_equal(x->on_count, count);
	assert_int_equal(x->gain_ns, gain);
	assert_int_equal(x->next, next);
	assert_int_equal(x->next_id, next_id);
}

/* Stream 1:  [2100 k0 3100][3100 k2 3600]                       [4520 k0 4720]
 * stream 2:                 [3150 k1 4150]
 * host: 2000 to 2050 all but the last, waits until 4200, launches that at 4500. */
static void by_hand(void **state)
{
	struct critical_path p;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 2100, 3100);
	add(cmd_event_record(11, 1, 0), 2010, 9);
	add(cmd_stream_wait(12, 2, 0), 2020, 9);
	launch(13, 2, 1, 2030, 2, 3150, 4150);
	launch(14, 1, 2, 2040, 3, 3100, 3600);
	add(cmd_sync_ctx(15), 2050, 4);
	waited(16, 4200, 1);
	launch(17, 1, 0, 4500, 5, 4520, 4720);
	p = path_of();
	assert_int_equal(p.begin_ns, 2000);
	assert_int_equal(p.end_ns, 4720);
	assert_int_equal(p.by_what[CRITICAL_KERNEL], 2200);
	assert_int_equal(p.by_what[CRITICAL_HOST], 350);
	assert_int_equal(p.by_what[CRITICAL_STARTING], 170);
	assert_int_equal(p.non, 5);
	assert_int_equal(p.parts[0].id, 0);
	assert_int_equal(p.parts[0].longest_seq, 10);
	assert_int_equal(p.parts[0].stack, 1);
	part_is(&p, CRITICAL_KERNEL, 0, 1200, 2, 1200, CRITICAL_KERNEL, 1);
	/* without k1, k2 is what the host waits for */
	part_is(&p, CRITICAL_KERNEL, 1, 1000, 1, 550, CRITICAL_KERNEL, 0);
	part_is(&p, CRITICAL_HOST, 5, 300, 1, 300, CRITICAL_KERNEL, 0);
	part_is(&p, CRITICAL_HOST, 4, 50, 1, 50, CRITICAL_KERNEL, 0);
	part_is(&p, CRITICAL_STARTING, 0, 170, 3, 170, CRITICAL_KERNEL, 0);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 2)->beside, 1);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 2)->slack_ns, 550);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 2)->slack_seq, 14);
	assert_int_equal(p.contradictions, 0);
	critical_path_free(&p);
	assert_null(p.steps);
}

static void host_is_the_long_pole(void **state)
{
	struct critical_path p;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 2010, 2020);
	launch(11, 1, 0, 3000, 2, 3010, 3020);
	p = path_of();
	assert_int_equal(p.parts[0].what, CRITICAL_HOST);
	part_is(&p, CRITICAL_HOST, 2, 1000, 1, 980, CRITICAL_KERNEL, 0);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 0)->beside, 1);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 0)->slack_ns, 980);
	critical_path_free(&p);
}

/* What one thread waited for does not hold up another. */
static void threads(void **state)
{
	struct critical_path p;
	struct sbt_cmd c;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 2000, 9000);
	c = cmd_launch(11, 2, 1);
	c.gpu_start_ns = 2100;
	c.gpu_end_ns = 2200;
	c.thread = 2;
	add(c, 2100, 2);
	add(cmd_sync_ctx(12), 2200, 3);
	waited(13, 9100, 1);
	c.seq = 14;
	c.gpu_start_ns = 9200;
	c.gpu_end_ns = 9300;
	add(c, 9200, 4);
	p = path_of();
	assert_int_equal(p.by_what[CRITICAL_HOST], 7200);
	assert_int_equal(p.by_what[CRITICAL_KERNEL], 100);
	part_is(&p, CRITICAL_HOST, 4, 7100, 1, 200, CRITICAL_KERNEL, 0);
	critical_path_free(&p);
}

/* What tsdb put in, and what has no time, is no call of the host's. */
static void calls_that_nobody_made(void **state)
{
	struct critical_path p;
	struct sbt_cmd c;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 2010, 2020);
	c = cmd_event_record(11, 1, 0);
	c.flags = SBT_F_SYNTHETIC;
	add(c, 2500, 7);
	add(cmd_event_record(12, 1, 0), 0, 8);
	launch(13, 1, 0, 3000, 2, 3010, 3020);
	p = path_of();
	part_is(&p, CRITICAL_HOST, 2, 1000, 1, 980, CRITICAL_KERNEL, 0);
	assert_int_equal(p.nparts, 4); /* two calls, the kernel, starting */
	assert_int_equal(p.commands, 2);
	assert_int_equal(p.untimed, 0);
	critical_path_free(&p);
	assert_memory_equal(&p, &(struct critical_path){0}, sizeof p);
}

static void synchronous_copy(void **state)
{
	struct critical_path p;
	struct sbt_cmd c = cmd_copy(10, 1, SBT_COPY_D2H, 0x1000, 0x2000, 8, false);

	(void)state;
	begin();
	c.gpu_start_ns = 2000;
	c.gpu_end_ns = 5000;
	add(c, 2000, 1);
	launch(11, 2, 0, 5100, 2, 5100, 5200);
	p = path_of();
	assert_int_equal(p.by_what[CRITICAL_COPY], 3000);
	assert_int_equal(p.by_what[CRITICAL_HOST], 100);
	critical_path_free(&p);
	/* an asynchronous one to pageable memory returns when it is done as well: CUDA driver API,
	 * "API synchronization behavior" */
	begin();
	c.u.copy.async = 1;
	c.u.copy.pageable = 1;
	add(c, 2000, 1);
	launch(11, 2, 0, 5100, 2, 5100, 5200);
	p = path_of();
	assert_int_equal(p.by_what[CRITICAL_COPY], 3000);
	critical_path_free(&p);
	/* one that returns at once is not waited for */
	begin();
	c.u.copy.pageable = 0;
	add(c, 2000, 1);
	launch(11, 2, 0, 5100, 2, 5100, 5200);
	p = path_of();
	assert_int_equal(p.by_what[CRITICAL_COPY], 0);
	assert_int_equal(p.by_what[CRITICAL_HOST], 3100);
	critical_path_free(&p);
}

/* --- what cannot be --- */

static void write_value(uint64_t seq, uint64_t stream, bool is_wait, uint64_t host)
{
	struct sbt_cmd c = cmd_any(seq, SBT_BATCH);

	c.u.batch = (struct sbt_cmd_batch){
		.stream = stream, .is_wait = is_wait, .addr = 0x100000, .value = 7, .elem = 4};
	add(c, host, 9);
}

/* Work that a wait for a value holds comes later than its number, and is on the path all the same:
 * stream 2 waits for what stream 1 writes behind k0, then runs k1, which ends last. */
static void wait_for_a_value(void **state)
{
	struct critical_path p;

	(void)state;
	begin();
	write_value(10, 2, true, 2000);
	launch(11, 2, 1, 2010, 1, 3100, 4100);
	launch(12, 1, 0, 2020, 2, 2030, 3000);
	write_value(13, 1, false, 2030);
	p = path_of();
	assert_int_equal(p.end_ns, 4100);
	assert_int_equal(p.commands, 2);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 1)->on_ns, 1000);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 0)->on_ns, 0);
	assert_int_equal(part(&p, CRITICAL_KERNEL, 0)->beside, 1);
	critical_path_free(&p);
}

static void refused(void **state)
{
	const struct order_options all = {0};
	struct critical_path p;
	struct sbt_reader *r;
	struct err *e;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 0, 0);
	launch(11, 1, 0, 2000, 1, 7, 6);
	r = trace_end(&t);
	e = critical_path(&p, r, &all);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_INCOMPLETE);
	assert_non_null(strstr(e->what, "GPU times"));
	err_free(e);
	sbt_reader_close(r);
	assert_null(p.parts);
}

static void times_that_contradict(void **state)
{
	struct critical_path p;

	(void)state;
	begin();
	launch(10, 1, 0, 2000, 1, 2100, 3100);
	launch(11, 1, 1, 2010, 1, 2500, 4000); /* began before the one in front had ended */
	launch(12, 1, 0, 9000, 1, 5000, 6000); /* and before it was submitted */
	launch(13, 2, 0, 0, 1, 1, 2);	       /* before everything */
	launch(14, 2, 0, 5, 1, UINT64_MAX - 1, UINT64_MAX);
	launch(15, SBT_NO_ID - 1, SBT_NO_ID - 1, 5, UINT32_MAX, 6, 7);
	p = path_of();
	assert_true(p.contradictions >= 2);
	assert_int_equal(p.end_ns, UINT64_MAX);
	critical_path_free(&p);
}

/* --- random programs --- */

enum { OPS = 60, STREAMS = 2, EVENTS = 3, KERNELS = 3 };
/* What work there is, and what is over when its call returns: CUDA driver API, "API synchronization
 * behavior". */
static const struct {
	enum critical_what what;
	uint32_t id;
	bool async, pageable;
	enum { AT_ONCE, DONE, PRIOR } returns;
} works[] = {{CRITICAL_KERNEL, 0, true, false, AT_ONCE}, {CRITICAL_KERNEL, 1, true, false, AT_ONCE},
	{CRITICAL_KERNEL, 2, true, false, AT_ONCE}, {CRITICAL_GRAPH, 5, true, false, AT_ONCE},
	{CRITICAL_FILL, 0, true, false, AT_ONCE},
	{CRITICAL_COPY, SBT_COPY_D2D, true, false, AT_ONCE},
	{CRITICAL_COPY, SBT_COPY_D2H, false, false, DONE},
	{CRITICAL_COPY, SBT_COPY_H2D, false, true, PRIOR}};
enum { WORKS = sizeof works / sizeof *works };
struct op {
	enum { OP_LAUNCH, OP_RECORD, OP_WAIT, OP_SYNC } kind;
	uint32_t stream, event, work;
	uint64_t delay, latency, takes;
	uint64_t host, start, end; /* as simulated */
};

static uint64_t next(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *x >> 33;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct clocks {
	uint64_t host, free_at[STREAMS], held[STREAMS], events[EVENTS];
};

static void simulate_work(struct op *o, struct clocks *k)
{
	const uint64_t before = max(k->free_at[o->stream], k->held[o->stream]);

	o->start = max(k->host, before) + o->latency;
	o->end = k->free_at[o->stream] = o->start + o->takes;
	if (works[o->work].returns == DONE)
		k->host = max(k->host, o->end);
	else if (works[o->work].returns == PRIOR)
		k->host = max(k->host, before);
}

/* Runs the program; returns when its last command, or the host, was done. */
static uint64_t simulate(struct op *ops)
{
	struct clocks k = {.host = 5000};
	uint64_t end = 0;

	for (unsigned i = 0; i < OPS; i++) {
		struct op *o = &ops[i];

		o->host = k.host += i ? o->delay : 0;
		end = max(end, o->host);
		if (o->kind == OP_LAUNCH) {
			simulate_work(o, &k);
			end = max(end, o->end);
		} else if (o->kind == OP_RECORD) {
			k.events[o->event] = max(k.free_at[o->stream], k.held[o->stream]);
		} else if (o->kind == OP_WAIT) {
			k.held[o->stream] = max(k.held[o->stream], k.events[o->event]);
		} else {
			for (unsigned s = 0; s < STREAMS; s++)
				k.host = max(k.host, max(k.free_at[s], k.held[s]));
			o->end = k.host += o->latency;
			end = max(end, o->end);
		}
	}
	return end;
}

static void make_program(struct op *ops, uint64_t *x)
{
	for (unsigned i = 0; i < OPS; i++) {
		const unsigned dice = (unsigned)(next(x) % 10);

		ops[i] = (struct op){.kind = !i || dice < 6 ? OP_LAUNCH
					     : dice < 7	    ? OP_RECORD
					     : dice < 9	    ? OP_WAIT
							    : OP_SYNC,
			.stream = (uint32_t)(next(x) % STREAMS),
			.event = (uint32_t)(next(x) % EVENTS),
			.work = (uint32_t)(next(x) % WORKS),
			.delay = 1 + next(x) % 30,
			.latency = next(x) % 10,
			.takes = 1 + next(x) % 100};
	}
}

static struct sbt_cmd command_of(const struct op *o, uint64_t seq)
{
	const uint64_t stream = 1 + o->stream;
	struct sbt_cmd c = cmd_sync_ctx(seq);

	if (o->kind == OP_RECORD)
		c = cmd_event_record(seq, stream, o->event);
	else if (o->kind == OP_WAIT)
		c = cmd_stream_wait(seq, stream, o->event);
	if (o->kind != OP_LAUNCH)
		return c;
	switch (works[o->work].what) {
	case CRITICAL_KERNEL:
		c = cmd_launch(seq, stream, works[o->work].id);
		break;
	case CRITICAL_GRAPH:
		c = cmd_graph_launch(seq, stream, works[o->work].id);
		break;
	case CRITICAL_COPY:
		c = cmd_copy(seq, stream, works[o->work].id, 0x100000, 0x800000, 0x100000,
			works[o->work].async); /* not a small one */
		c.u.copy.pageable = works[o->work].pageable;
		break;
	default:
		c = cmd_fill(seq, stream, 0x1000, 8);
	}
	c.gpu_start_ns = o->start;
	c.gpu_end_ns = o->end;
	return c;
}

/* Op i is command 10 + 2 * i; a wait's end is the one behind it. */
static void write_program(const struct op *ops)
{
	begin();
	for (unsigned i = 0; i < OPS; i++) {
		const struct op *o = &ops[i];

		add(command_of(o, 10 + 2 * i), o->host, i + 1);
		if (o->kind == OP_SYNC)
			waited(11 + 2 * i, o->end, 1);
	}
}

static void check_slack(struct op *ops, const struct critical_part *x, uint64_t end)
{
	struct op *o = &ops[(x->slack_seq - 10) / 2];

	o->takes += x->slack_ns;
	assert_int_equal(simulate(ops), end);
	o->takes++;
	assert_int_equal(simulate(ops), end + 1);
	o->takes -= x->slack_ns + 1;
}

static void check_gain(const struct op *ops, const struct critical_part *x, uint64_t end)
{
	struct op other[OPS];

	memcpy(other, ops, sizeof other);
	for (unsigned i = 0; i < OPS; i++) {
		if (x->what == works[other[i].work].what && x->id == works[other[i].work].id)
			other[i].takes = 0;
		if (x->what == CRITICAL_STARTING && other[i].kind == OP_LAUNCH)
			other[i].latency = 0;
		if (x->what == CRITICAL_HOST && x->id == i + 1)
			other[i].delay = 0;
		if (x->what == CRITICAL_HOST && x->id == i + 1 && other[i].kind == OP_SYNC)
			other[i].latency = 0;
	}
	assert_int_equal(simulate(other), end - x->gain_ns);
}

static void random_programs(void **state)
{
	unsigned slacks = 0, gains = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct op ops[OPS];
		struct critical_path p;
		uint64_t x = seed, end;

		make_program(ops, &x);
		end = simulate(ops);
		write_program(ops);
		p = path_of();
		assert_int_equal(p.end_ns, end);
		assert_int_equal(p.contradictions, 0);
		for (size_t i = 0; i < p.nparts; i++) {
			if (p.parts[i].beside) {
				check_slack(ops, &p.parts[i], end);
				slacks++;
			}
			if (i < p.non && i < CRITICAL_ASKED) {
				check_gain(ops, &p.parts[i], end);
				gains++;
			}
		}
		critical_path_free(&p);
	}
	assert_true(slacks > 100 && gains > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(host_is_the_long_pole),
		cmocka_unit_test(threads),
		cmocka_unit_test(calls_that_nobody_made),
		cmocka_unit_test(synchronous_copy),
		cmocka_unit_test(wait_for_a_value),
		cmocka_unit_test(refused),
		cmocka_unit_test(times_that_contradict),
		cmocka_unit_test(random_programs),
	};

	return cmocka_run_group_tests_name("order-critical", tests, NULL, NULL);
}
