/* SPDX-License-Identifier: Apache-2.0
 *
 * Watched memory, breakpoints and writers on an executor that is a table: which command changes
 * which byte, which was kept back, and where a run is interrupted. No process is started.
 */
#include <pthread.h>
#include <signal.h>
#include "random-trace.h"
#include "replay/replay.h"
#include "sbt/cmd-pack.h"

/* --- the trace --- */

#define LAST UINT64_C(3000)
#define FILLED(seq) (UINT64_C(0x10000) + 16 * (seq)) /* by the fill at seq, 16 bytes */

static void add_graph(
	struct trace_maker *t, uint64_t *seq, uint64_t graph, bool fill, unsigned kernels)
{
	static uint64_t packed[64];
	const struct sbt_cmd launch = cmd_launch(0, SBT_NO_ID, 0);
	struct sbt_cmd create = cmd_any((*seq)++, SBT_GRAPH_CREATE);

	create.u.graph_create.new_graph = graph;
	create.u.graph_create.clone_of = SBT_NO_ID;
	trace_add(t, create);
	sbt_pack(packed, &launch);
	if (fill)
		trace_add(t, cmd_graph_node((*seq)++, graph, 0, SBT_NODE_FILL, SBT_NO_ID, NULL, 0));
	for (unsigned i = 1; i <= kernels; i++)
		trace_add(t, cmd_graph_node((*seq)++, graph, i, SBT_NODE_KERNEL, 0, packed,
				     sbt_pack_size(&launch)));
	trace_add(t, cmd_graph_instantiate((*seq)++, 10 + graph, graph));
}

static struct sbt_cmd mark(uint64_t seq, const char *text)
{
	struct sbt_cmd c = cmd_any(seq, SBT_MARK);

	c.u.mark.text = cmd_blob(text);
	return c;
}

/* Commands 1 to 14 make kernel relu and three graphs: fill, relu and relu; fill; relu. Then to
 * LAST: at seqs that end in 00, 50 and 70 a launch of these; in 5 a fill, and #94 fills what #95
 * does; at #33 the mark "step 1"; else a launch of nothing known. */
static struct sbt_reader *commands(void)
{
	static const uint32_t params[] = {0, 4};
	struct trace_maker t;
	uint64_t seq = 3;

	trace_begin(&t, 700);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_kernel_def(2, 0, SBT_NO_ID, "relu", params, 1));
	add_graph(&t, &seq, 0, true, 2);
	add_graph(&t, &seq, 1, true, 0);
	add_graph(&t, &seq, 2, false, 1);
	for (; seq <= LAST; seq++)
		trace_add(&t, seq % 100 == 0	? cmd_graph_launch(seq, 0, 10)
			      : seq % 100 == 50 ? cmd_graph_launch(seq, 0, 11)
			      : seq % 100 == 70 ? cmd_graph_launch(seq, 0, 12)
			      : seq % 10 == 5	? cmd_fill(seq, 0, FILLED(seq), 16)
			      : seq == 94	? cmd_fill(seq, 0, FILLED(95), 16)
			      : seq == 33	? mark(seq, "step 1")
						: cmd_launch(seq, 0, 9));
	return trace_end(&t);
}

/* --- the executor --- */

static struct {
	uint64_t pos;
	struct change {
		uint64_t seq, addr, late;
	} change[8];
	unsigned n;
	uint64_t kept, wait; /* command kept is kept back by wait */
	uint64_t stop_at;    /* a run that comes there is interrupted */
	uint64_t late;	     /* of the last hit */
	bool fails;	     /* instead of an interrupt: execute() */
	uint64_t faults_at;  /* a run that executes it fails, ... */
	uint64_t suspects;   /* ... and blames so many commands, it the last of them */
	uint64_t culprit;    /* of the last call */
} device;

static struct err *execute(void *arg, const struct sbt_cmd *c, bool wait)
{
	if (device.stop_at && c->seq == device.stop_at)
		return err_new(device.fails ? ERR_STATE : ERR_INTERRUPTED, "no further");
	device.pos = c->seq;
	return NULL;
}

static struct err *seek(void *arg, uint64_t seq)
{
	device.culprit = 0;
	device.pos = seq;
	return NULL;
}

static void close_it(void *arg)
{
}

static struct err *run(
	void *arg, uint64_t to, uint64_t addr, uint64_t size, uint64_t *ret_seq, bool *hit)
{
	*hit = false;
	while (device.pos < to && !*hit) {
		if (device.stop_at && device.pos == device.stop_at) {
			*ret_seq = device.pos;
			return err_new(ERR_INTERRUPTED, "Interrupted");
		}
		device.pos++;
		if (device.pos == device.faults_at) {
			device.culprit = device.pos;
			device.pos -= device.suspects + 1; /* where it begins again */
			return err_new(ERR_INFERIOR, "a fault");
		}
		for (unsigned i = 0; i < device.n; i++)
			if (device.change[i].seq == device.pos && device.change[i].addr >= addr &&
				device.change[i].addr < addr + size) {
				*hit = true;
				device.late = device.change[i].late;
			}
	}
	*ret_seq = device.pos;
	return NULL;
}

static uint64_t culprit(void *arg, uint64_t *ret_first)
{
	*ret_first = device.culprit - (device.culprit ? device.suspects : 0);
	return device.culprit;
}

static uint64_t late(void *arg)
{
	return device.late;
}

static struct err *kept(void *arg, uint64_t seq, uint64_t *ret_wait)
{
	*ret_wait = seq == device.kept ? device.wait : 0;
	return NULL;
}

static struct sbt_reader *trace;

static struct replay *begin(const struct change *changes, unsigned n)
{
	const struct replay_executor ex = {.execute = execute,
		.seek = seek,
		.close = close_it,
		.run = run,
		.late = late,
		.kept = kept,
		.culprit = culprit};
	struct replay *p;

	memset(&device, 0, sizeof device);
	for (unsigned i = 0; i < n; i++)
		device.change[i] = changes[i];
	device.n = n;
	ok(replay_open(&p, trace, &ex));
	return p;
}

static void go(struct replay *p, uint64_t seq)
{
	struct replay_stop stop;

	ok(replay_goto(p, seq, &stop));
}

/* Where a run stops, and that engine, state and device are there. */
struct want {
	enum replay_why why;
	int id;
	uint64_t seq, node_seq, late;
	uint32_t node;
};

static void stopped(struct replay *p, const struct replay_stop *stop, struct want want)
{
	assert_int_equal(stop->why, want.why);
	assert_int_equal(stop->breakpoint, want.id);
	assert_int_equal(stop->seq, want.seq);
	assert_int_equal(stop->node_seq, want.node_seq);
	assert_int_equal(stop->node, want.node);
	assert_int_equal(stop->late, want.late);
	assert_int_equal(replay_seq(p), want.seq);
	assert_int_equal(totals_of(replay_state(p)).seq, want.seq);
	assert_int_equal(device.pos, want.seq);
	if (want.seq)
		assert_int_equal(replay_cmd(p)->seq, want.seq);
	else
		assert_null(replay_cmd(p));
}

static const struct replay_watchpoint watched[] = {
	{.id = 1, .addr = 8, .size = 4}, {.id = 2, .addr = 20, .size = 4}};
static const struct replay_breakpoint fills = {.id = 3, .kind = SBT_FILL},
				      nodes = {.id = 4,
					      .kind = SBT_LAUNCH,
					      .glob = "relu",
					      .nodes = true},
				      marks = {.id = 5, .kind = SBT_MARK, .glob = "step*"};

#define WATCH(p, back, nws, bp, nbps, ...)                                                         \
	do {                                                                                       \
		struct replay_stop stop_;                                                          \
		ok(replay_watch(p, back, watched, nws, bp, nbps, NULL, &stop_));                   \
		stopped(p, &stop_, (struct want){__VA_ARGS__});                                    \
	} while (0)

/* --- watching --- */

static void the_nearest_of_two(void **arg)
{
	static const struct change changes[] = {
		{100, 8, 0}, {1499, 23, 0}, {1500, 11, 0}, {1501, 12, 0}, {1502, 19, 0}};
	struct replay *p = begin(changes, 5);

	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 1, 100);
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 2, 1499);
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 1, 1500);
	WATCH(p, false, 2, NULL, 0, REPLAY_END, 0, LAST);
	WATCH(p, true, 2, NULL, 0, REPLAY_WATCHPOINT, 1, 1500);
	WATCH(p, true, 2, NULL, 0, REPLAY_WATCHPOINT, 2, 1499);
	WATCH(p, true, 2, NULL, 0, REPLAY_WATCHPOINT, 1, 100);
	WATCH(p, true, 2, NULL, 0, REPLAY_BEGIN, 0, 0);
	replay_close(p);
}

/* Backwards goes by blocks of 64, 128, 256 ... commands: none is between two of them. */
static void every_command_on_the_way_back(void **arg)
{
	static const uint64_t before[] = {1, 2, 63, 64, 65, 66, 191, 192, 193, 194, 447, 448, 449,
		450, 959, 960, 961, LAST - 2, LAST - 1};

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		const struct change c = {LAST - before[i], 8, 0};
		struct replay *p = begin(&c, 1);

		go(p, LAST);
		WATCH(p, true, 2, NULL, 0, REPLAY_WATCHPOINT, 1, c.seq);
		WATCH(p, true, 2, NULL, 0, REPLAY_BEGIN, 0, 0);
		go(p, LAST - before[i] - 1);
		WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 1, c.seq);
		replay_close(p);
	}
}

/* A command that was kept back changed the bytes when the one at the position let it go. */
static void changed_by_one_that_came_late(void **arg)
{
	static const struct change changes[] = {{40, 8, 31}};
	struct replay *p = begin(changes, 1);

	WATCH(p, false, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 15);
	go(p, 35);
	WATCH(p, false, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 40, 0, 31);
	WATCH(p, false, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 45);
	WATCH(p, true, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 40, 0, 31);
	WATCH(p, true, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 35);
	replay_close(p);
}

/* A change at a breakpoint counts as a change. */
static void watches_and_breakpoints(void **arg)
{
	static const struct change changes[] = {{1507, 8, 0}, {1515, 8, 0}};
	struct replay *p = begin(changes, 2);

	go(p, 1500);
	WATCH(p, false, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 1505);
	WATCH(p, false, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 1507);
	WATCH(p, false, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 1515);
	WATCH(p, false, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 1525);
	WATCH(p, true, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 1515);
	WATCH(p, true, 1, &fills, 1, REPLAY_WATCHPOINT, 1, 1507);
	WATCH(p, true, 1, &fills, 1, REPLAY_BREAKPOINT, 3, 1505);
	replay_close(p);
}

/* Forwards a stop at a step is before its launch, backwards at it. */
static void watches_and_steps(void **arg)
{
	static const struct change changes[] = {{180, 8, 0}, {230, 8, 0}};
	struct replay *p = begin(changes, 2);

	go(p, 150);
	WATCH(p, false, 1, &nodes, 1, REPLAY_BREAKPOINT, 4, 169, 170, 0, 1);
	go(p, 170);
	WATCH(p, false, 1, &nodes, 1, REPLAY_WATCHPOINT, 1, 180);
	WATCH(p, false, 1, &nodes, 1, REPLAY_BREAKPOINT, 4, 199, 200, 0, 2);
	go(p, 260); /* #250 launches a graph without that kernel */
	WATCH(p, true, 1, &nodes, 1, REPLAY_WATCHPOINT, 1, 230);
	WATCH(p, true, 1, &nodes, 1, REPLAY_BREAKPOINT, 4, 200, 200, 0, 3);
	WATCH(p, true, 1, &nodes, 1, REPLAY_WATCHPOINT, 1, 180);
	WATCH(p, true, 1, &nodes, 1, REPLAY_BREAKPOINT, 4, 170, 170, 0, 1);
	go(p, 99);
	WATCH(p, true, 1, &nodes, 1, REPLAY_BREAKPOINT, 4, 70, 70, 0, 1);
	replay_close(p);
}

/* The executor sees Ctrl-C first. Forwards that is a stop where it got to; backwards a later change
 * may be missing, so the position stays. */
static void interrupted_on_the_way(void **arg)
{
	struct replay *p = begin(NULL, 0);
	struct replay_stop stop;

	device.stop_at = 1200;
	WATCH(p, false, 1, &marks, 1, REPLAY_BREAKPOINT, 5, 33);
	WATCH(p, false, 1, &marks, 1, REPLAY_INTERRUPTED, 0, 1200);
	device.stop_at = 0;
	go(p, LAST);
	device.stop_at = 2990;
	WATCH(p, true, 1, &marks, 1, REPLAY_INTERRUPTED, 0, LAST);
	go(p, 100);
	ok(replay_run(p, false, NULL, 0, NULL, &stop));
	stopped(p, &stop, (struct want){REPLAY_INTERRUPTED, 0, 2990});
	replay_close(p);
}

/* Each range is run over by itself, and the first that is, or all, come to the fault; a change of
 * another before it is the nearer stop. */
static void a_change_before_a_fault(void **arg)
{
	static const struct change changes[] = {
		{100, 20, 0}, {200, 8, 0}, {270, 20, 0}, {310, 8, 0}, {320, 20, 0}};
	struct replay *p = begin(changes, 5);
	struct replay_stop stop;

	device.faults_at = 300;
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 2, 100);
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 1, 200);
	device.faults_at = 201;
	fails(replay_watch(p, false, watched, 2, NULL, 0, NULL, &stop), ERR_INFERIOR);
	assert_int_equal(replay_seq(p), 200); /* right before it */
	device.faults_at = 300;
	device.suspects = 40; /* #270 lies among those that may be to blame */
	fails(replay_watch(p, false, watched, 2, NULL, 0, NULL, &stop), ERR_INFERIOR);
	assert_int_equal(stop.seq, 259);
	assert_int_equal(replay_seq(p), 259);
	device.suspects = 0;
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 2, 270);
	device.suspects = 60; /* the position, too */
	fails(replay_watch(p, false, watched, 2, NULL, 0, NULL, &stop), ERR_INFERIOR);
	assert_int_equal(replay_seq(p), 239);
	device.suspects = 0;
	go(p, 270);
	fails(replay_watch(p, false, watched, 2, NULL, 0, NULL, &stop), ERR_INFERIOR);
	assert_int_equal(replay_seq(p), 299);
	go(p, 50);
	WATCH(p, false, 2, &marks, 1, REPLAY_WATCHPOINT, 2, 100);
	replay_close(p);
}

/* Ctrl-C while the first of two ranges is run over: the second may change before, so nothing is
 * passed. While the last one is, all before it has been looked at. */
static void interrupted_before_all_were_looked_at(void **arg)
{
	static const struct change changes[] = {{40, 20, 0}};
	struct replay *p = begin(changes, 1);

	go(p, 30);
	device.stop_at = 1200;
	WATCH(p, false, 2, NULL, 0, REPLAY_INTERRUPTED, 0, 30);
	device.stop_at = 0;
	WATCH(p, false, 2, NULL, 0, REPLAY_WATCHPOINT, 2, 40);
	device.stop_at = 1200;
	WATCH(p, false, 1, NULL, 0, REPLAY_INTERRUPTED, 0, 1200);
	replay_close(p);
}

/* A long way takes a thread, which gets no signals; this one gets them as before. */
static void signals_on_a_long_way(void **arg)
{
	struct replay *p = begin(NULL, 0);
	struct replay_stop stop;
	sigset_t before, after;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	ok(replay_run(p, false, NULL, 0, NULL, &stop));
	stopped(p, &stop, (struct want){REPLAY_END, 0, LAST});
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	for (int n = 1; n < 65; n++)
		assert_int_equal(sigismember(&after, n), sigismember(&before, n));
	replay_close(p);
}

static void interrupted_before_it_begins(void **arg)
{
	static const struct change changes[] = {{180, 8, 0}};
	struct replay *p = begin(changes, 1);
	struct replay_writer w;
	volatile bool now = true;
	struct replay_stop stop;

	go(p, 100);
	ok(replay_watch(p, false, watched, 1, &fills, 1, &now, &stop));
	stopped(p, &stop, (struct want){REPLAY_INTERRUPTED, 0, 100});
	ok(replay_watch(p, true, watched, 1, &fills, 1, &now, &stop));
	stopped(p, &stop, (struct want){REPLAY_INTERRUPTED, 0, 100});
	fails(replay_who_wrote(p, FILLED(95), 1, &now, &w), ERR_INTERRUPTED);
	assert_int_equal(replay_seq(p), 100);
	replay_close(p);
}

/* --- who wrote --- */

static void wrote(struct replay *p, uint64_t addr, uint64_t seq, bool changed)
{
	const uint64_t at = replay_seq(p);
	struct replay_writer w;

	ok(replay_who_wrote(p, addr, 1, NULL, &w));
	assert_int_equal(w.seq, seq);
	assert_true(w.certain);
	assert_int_equal(w.changed, changed);
	assert_int_equal(replay_seq(p), at);
	assert_int_equal(device.pos, at);
}

static void wrote_nothing(struct replay *p, uint64_t addr)
{
	struct replay_writer w;

	fails(replay_who_wrote(p, addr, 1, NULL, &w), ERR_NOT_FOUND);
}

/* Records are read by blocks, too. */
static void every_record_on_the_way_back(void **arg)
{
	struct replay *p = begin(NULL, 0);

	for (uint64_t back = 0; back < 10; back++) {
		go(p, LAST - back);
		for (uint64_t seq = 15; seq <= LAST - back; seq += 10)
			if (seq % 100 != 5 || seq > 1900)
				wrote(p, FILLED(seq), seq, false);
	}
	wrote(p, FILLED(15) + 15, 15, false);
	wrote_nothing(p, FILLED(15) + 16);
	wrote_nothing(p, FILLED(15) - 1);
	go(p, 14);
	wrote_nothing(p, FILLED(15));
	replay_close(p);
}

static void every_change_on_the_way_back(void **arg)
{
	static const uint64_t before[] = {0, 1, 63, 64, 65, 191, 192, 193, 447, 448, 449, LAST - 1};

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		const struct change c = {LAST - before[i], 8, 0};
		struct replay *p = begin(&c, 1);

		go(p, LAST);
		wrote(p, 8, c.seq, true);
		if (before[i] < LAST - 1) {
			go(p, c.seq - 1);
			wrote_nothing(p, 8);
		}
		replay_close(p);
	}
}

/* The later of what the records say and what was seen. */
static void records_and_changes(void **arg)
{
	static const struct change changes[] = {
		{95, FILLED(95), 0}, {97, FILLED(95), 0}, {120, FILLED(115), 101}};
	struct replay *p = begin(changes, 3);

	go(p, 95);
	wrote(p, FILLED(95), 95, true);
	go(p, 96);
	wrote(p, FILLED(95), 95, true);
	go(p, 97);
	wrote(p, FILLED(95), 97, true);
	go(p, 119);
	wrote(p, FILLED(115), 115, false);
	go(p, 120); /* which let #101 go */
	wrote(p, FILLED(115), 101, true);
	replay_close(p);
}

/* A fill that is kept back has written nothing yet. */
static void a_record_that_is_kept_back(void **arg)
{
	struct replay *p = begin(NULL, 0);

	go(p, 100);
	wrote(p, FILLED(95), 95, false);
	device.kept = 95;
	wrote(p, FILLED(95), 95, false); /* nothing keeps it any more */
	device.wait = 91;
	wrote(p, FILLED(95), 94, false);
	go(p, 15);
	device.kept = 15;
	wrote_nothing(p, FILLED(15));
	replay_close(p);
}

/* 1 context, 2 kernel f(p), 3 the allocation X; 4 fills its beginning, 5 f(X), 6 fills other bytes
 * of it, 7 f(nothing), 8 f(X + 200), 9 fills its beginning, 10 frees it, 11 it is there again. */
static struct sbt_reader *launches_and_fills(void)
{
	static const uint32_t params[] = {0, 8};
	static const uint64_t args[] = {0x50000, 0, 0x50000 + 200};
	static const uint64_t at[] = {5, 7, 8};
	struct trace_maker t;

	trace_begin(&t, 3);
	trace_add(&t, cmd_ctx_create(1, 0, 0));
	trace_add(&t, cmd_kernel_def(2, 0, SBT_NO_ID, "f", params, 1));
	trace_add(&t, cmd_alloc(3, 0x50000, 0x1000));
	for (uint64_t seq = 4; seq <= 9; seq++) {
		struct sbt_cmd c = cmd_launch(seq, 0, 0);

		for (unsigned k = 0; k < 3; k++)
			if (at[k] == seq)
				c.u.launch.args = (struct sbt_blob){&args[k], 8};
		trace_add(&t, c.u.launch.args.len ? c
			      : seq == 6	  ? cmd_fill(seq, 0, 0x50080, 64)
						  : cmd_fill(seq, 0, 0x50000, 64));
	}
	trace_add(&t, cmd_free(10, 0x50000));
	trace_add(&t, cmd_alloc(11, 0x50000, 0x1000));
	trace_add(&t, cmd_fill(12, 0, 0x50100, 64));
	return trace_end(&t);
}

/* Without a device a launch is a writer by its pointers, and never a certain one, whatever wrote
 * other bytes for certain since. */
static void who_wrote_by_the_records(void **arg)
{
	static const struct {
		uint64_t at, addr, seq;
		bool certain;
	} rows[] = {{4, 0x50000, 4, true}, {4, 0x5003f, 4, true}, {5, 0x50000, 5, false},
		{5, 0x50900, 5, false}, {6, 0x50000, 5, false}, {6, 0x50080, 6, true},
		{6, 0x500bf, 6, true}, {6, 0x500c0, 5, false}, {7, 0x50000, 5, false},
		{7, 0x50080, 6, true}, {8, 0x50080, 8, false}, {9, 0x50000, 9, true},
		{9, 0x50080, 8, false}, {12, 0x50100, 12, true}};
	struct sbt_reader *r = launches_and_fills();
	struct replay_writer w;
	volatile bool now = true;
	struct replay *p;

	ok(replay_open(&p, r, NULL));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		go(p, rows[i].at);
		ok(replay_who_wrote(p, rows[i].addr, 1, NULL, &w));
		if (w.seq != rows[i].seq || w.certain != rows[i].certain)
			fail_msg("row %d: #%d, %s", (int)i, (int)w.seq,
				w.certain ? "certain" : "perhaps");
		assert_false(w.changed);
		assert_int_equal(replay_seq(p), rows[i].at);
		assert_int_equal(replay_cmd(p)->seq, rows[i].at);
	}
	go(p, 3);
	wrote_nothing(p, 0x50000);
	go(p, 4);
	wrote_nothing(p, 0x50040);
	go(p, 12);
	wrote_nothing(p, 0x50000); /* what was there before is another allocation */
	go(p, 6);
	fails(replay_who_wrote(p, 0x50000, 1, &now, &w), ERR_INTERRUPTED);
	replay_close(p);
	sbt_reader_close(r);
}

/* Numbers that the trace does not hold: before it, in a hole, behind it. */
static void numbers_that_are_not_there(void **arg)
{
	static const struct {
		uint64_t seq;
		const char *says;
	} rows[] = {{2, "does not hold #2"}, {5, "#5 is missing"}, {7, "#7 is missing"},
		{9, "does not hold #9"}, {UINT64_MAX, "does not hold"}};
	struct replay_stop stop;
	struct sbt_reader *r;
	struct trace_maker t;
	struct replay *p;

	trace_begin(&t, 0);
	trace_add(&t, cmd_ctx_create(3, 0, 0));
	trace_add(&t, cmd_launch(4, 0, 0));
	trace_add(&t, cmd_launch(6, 0, 0));
	trace_add(&t, cmd_launch(8, 0, 0));
	r = trace_end(&t);
	ok(replay_open(&p, r, NULL));
	for (uint64_t seq = 4; seq <= 8; seq += 2)
		go(p, seq);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err *e = replay_goto(p, rows[i].seq, &stop);

		assert_non_null(e);
		assert_int_equal(e->code, ERR_NOT_FOUND);
		if (!strstr(e->what, rows[i].says))
			fail_msg("%s", e->what);
		err_free(e);
		assert_int_equal(replay_seq(p), 8);
	}
	go(p, 3);
	go(p, 0);
	replay_close(p);
	sbt_reader_close(r);
}

/* --- which breakpoints match --- */

static bool from(void *arg, int id, uint32_t stack)
{
	assert_int_equal(id, 7);
	assert_int_equal(stack, 0);
	return *(const bool *)arg;
}

static void which_match(void **arg)
{
	bool from_there = true;
	const struct replay_breakpoint bps[] = {fills, fills, marks, {.id = 6},
		{.id = 7, .kind = SBT_FILL, .from = from, .from_arg = &from_there}};
	struct replay *p = begin(NULL, 0);
	int ids[5] = {0};

	assert_int_equal(replay_matching(p, bps, 5, ids, 5), 0); /* no command is there */
	go(p, 15);
	assert_int_equal(replay_matching(p, bps, 5, ids, 5), 3);
	assert_int_equal(ids[0], 3); /* once */
	assert_int_equal(ids[1], 6);
	assert_int_equal(ids[2], 7);
	assert_int_equal(replay_matching(p, bps, 5, ids, 2), 2);
	assert_int_equal(replay_matching(p, bps, 1, ids, 5), 1);
	from_there = false;
	assert_int_equal(replay_matching(p, bps, 5, ids, 5), 2);
	go(p, 33);
	assert_int_equal(replay_matching(p, bps, 5, ids, 5), 2);
	assert_int_equal(ids[0], 5);
	assert_int_equal(ids[1], 6);
	replay_close(p);
}

/* Without a device it is the same, but that memory cannot be watched. */
static void steps_without_a_device(void **arg)
{
	struct replay_stop stop;
	struct replay *p;

	ok(replay_open(&p, trace, NULL));
	ok(replay_run(p, false, &nodes, 1, NULL, &stop));
	assert_int_equal(stop.seq, 69);
	assert_int_equal(stop.node_seq, 70);
	assert_int_equal(stop.node, 1);
	go(p, 70);
	ok(replay_run(p, false, &nodes, 1, NULL, &stop));
	assert_int_equal(stop.node_seq, 100);
	assert_int_equal(stop.node, 2);
	go(p, 160); /* behind #150, a graph without that kernel */
	ok(replay_run(p, true, &nodes, 1, NULL, &stop));
	assert_int_equal(stop.seq, 100);
	assert_int_equal(stop.node_seq, 100);
	assert_int_equal(stop.node, 3);
	ok(replay_run(p, true, &marks, 1, NULL, &stop));
	assert_int_equal(stop.seq, 33);
	assert_int_equal(stop.breakpoint, 5);
	fails(replay_watch(p, false, watched, 1, NULL, 0, NULL, &stop), ERR_STATE);
	replay_close(p);
}

static int open_trace(void **state)
{
	trace = commands();
	return 0;
}

static int close_trace(void **state)
{
	sbt_reader_close(trace);
	return 0;
}

/* An executor that takes one command after the other sees Ctrl-C first; another failure is one. */
static void an_executor_that_cannot_run(void **arg)
{
	const struct replay_executor ex = {.execute = execute, .seek = seek, .close = close_it};
	struct replay_stop stop;
	struct replay *p;

	memset(&device, 0, sizeof device);
	device.stop_at = 50;
	ok(replay_open(&p, trace, &ex));
	ok(replay_run(p, false, &marks, 1, NULL, &stop));
	stopped(p, &stop, (struct want){REPLAY_BREAKPOINT, 5, 33});
	ok(replay_run(p, false, &marks, 1, NULL, &stop));
	stopped(p, &stop, (struct want){REPLAY_INTERRUPTED, 0, 49});
	device.fails = true;
	fails(replay_run(p, false, &marks, 1, NULL, &stop), ERR_STATE);
	assert_int_equal(replay_seq(p), 49);
	fails(replay_watch(p, false, watched, 1, NULL, 0, NULL, &stop), ERR_STATE);
	device.stop_at = 0;
	ok(replay_run(p, false, NULL, 0, NULL, &stop));
	stopped(p, &stop, (struct want){REPLAY_END, 0, LAST});
	replay_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_of_two),
		cmocka_unit_test(every_command_on_the_way_back),
		cmocka_unit_test(changed_by_one_that_came_late),
		cmocka_unit_test(watches_and_breakpoints),
		cmocka_unit_test(watches_and_steps),
		cmocka_unit_test(interrupted_on_the_way),
		cmocka_unit_test(a_change_before_a_fault),
		cmocka_unit_test(interrupted_before_all_were_looked_at),
		cmocka_unit_test(signals_on_a_long_way),
		cmocka_unit_test(interrupted_before_it_begins),
		cmocka_unit_test(every_record_on_the_way_back),
		cmocka_unit_test(every_change_on_the_way_back),
		cmocka_unit_test(records_and_changes),
		cmocka_unit_test(a_record_that_is_kept_back),
		cmocka_unit_test(who_wrote_by_the_records),
		cmocka_unit_test(numbers_that_are_not_there),
		cmocka_unit_test(which_match),
		cmocka_unit_test(steps_without_a_device),
		cmocka_unit_test(an_executor_that_cannot_run),
	};

	return cmocka_run_group_tests(tests, open_trace, close_trace);
}
