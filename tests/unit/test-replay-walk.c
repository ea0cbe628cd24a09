/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on random traces, against lists: which commands there are, which of them change which
 * byte, and what the state is after each. Every answer of a move, a run, a watch or a search for a
 * writer is found in the lists by looking at every command. The executor is a table; it can fail at
 * a command, noticed there or some commands later.
 */
#include "random-trace.h"
#include "replay/replay.h"

#define COMMANDS 2600
#define BYTES 6 /* that are watched */
#define ADDR(byte) (UINT64_C(0x100000) + 0x1000 * (byte) + 8 * (byte))

static struct {
	unsigned n;	      /* commands; 0 is the beginning, the last is n */
	unsigned first, last; /* of the window */
	uint64_t seq[COMMANDS + 1], hash[COMMANDS + 1];
	struct sbt_cmd cmd[COMMANDS + 1];
	uint8_t changes[COMMANDS + 1]; /* bit k: byte k */
	uint64_t late[COMMANDS + 1];
} all;

static struct random_cmds dice = {.x = 5};

static unsigned below(unsigned n)
{
	return (unsigned)random_below(&dice, n);
}

/* --- the trace --- */

static struct sbt_reader *make_trace(uint64_t seed, unsigned n, uint64_t keyframe_every)
{
	struct sbt_reader *r =
		trace_random(seed, n, keyframe_every, seed % 2 ? 1000 : 3, all.seq, all.hash);
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;

	all.n = n;
	ok(sbt_cursor_open(&cur, r));
	for (unsigned i = 1; i <= n; i++) {
		ok(sbt_cursor_next(cur, &c));
		assert_int_equal(c->seq, all.seq[i]);
		all.cmd[i] = *c; /* its blobs are not looked at */
		all.changes[i] = 0;
		all.late[i] = 0;
		for (unsigned k = 0; k < BYTES; k++)
			if (below(k < 2 ? 40 : k < 4 ? 700 : 4000) == 0)
				all.changes[i] |= (uint8_t)(1 << k);
		if (all.changes[i] && i > 9 && below(5) == 0)
			all.late[i] = all.seq[i - 1 - below(8)];
	}
	sbt_cursor_close(cur);
	return r;
}

/* --- the executor --- */

static struct {
	unsigned at;	  /* in all; what is between two commands counts as the former */
	unsigned fault;	  /* the command that it fails at; 0: none */
	unsigned suspect; /* the first of those that may be to blame */
	uint64_t late;
	bool failed;
} device;

static unsigned index_of(uint64_t seq)
{
	unsigned i = all.n;

	while (i && all.seq[i] > seq)
		i--;
	return i;
}

static struct err *go_to(unsigned to)
{
	device.failed = device.fault && to >= device.fault;
	if (device.failed)
		return err_new(ERR_INFERIOR, "it failed");
	device.at = to;
	return NULL;
}

static struct err *execute(void *arg, const struct sbt_cmd *c, bool wait)
{
	assert_int_equal(index_of(c->seq), device.at + 1);
	return go_to(device.at + 1);
}

static struct err *seek(void *arg, uint64_t seq)
{
	assert_true(seq + 1 >= all.seq[all.first]);
	return go_to(index_of(seq));
}

static struct err *run(
	void *arg, uint64_t to, uint64_t addr, uint64_t size, uint64_t *ret_seq, bool *hit)
{
	const unsigned end = index_of(to);

	*hit = false;
	*ret_seq = to;
	while (device.at < end && !*hit) {
		struct err *e = go_to(device.at + 1);

		if (e)
			return e;
		for (unsigned k = 0; k < BYTES; k++)
			*hit |= size && all.changes[device.at] >> k & 1 && ADDR(k) >= addr &&
				ADDR(k) - addr < size;
		if (*hit) {
			*ret_seq = all.seq[device.at];
			device.late = all.late[device.at];
		}
	}
	return NULL;
}

static uint64_t late(void *arg)
{
	return device.late;
}

static uint64_t culprit(void *arg, uint64_t *ret_first)
{
	*ret_first = device.failed ? all.seq[device.suspect] : 0;
	return device.failed ? all.seq[device.fault] : 0;
}

static void close_it(void *arg)
{
}

/* --- what must be --- */

struct place {
	struct replay *p;
	unsigned at; /* in all; 0 is the beginning, and so is what is before the window */
	bool runs;   /* the executor can */
	bool has_ex;
};

static unsigned begin_of(const struct place *x)
{
	return x->has_ex ? all.first - 1 : 0;
}

static unsigned end_of(const struct place *x)
{
	return x->has_ex ? all.last : all.n;
}

static void is_at(struct place *x, unsigned at)
{
	const uint64_t seq = at == begin_of(x) ? 0 : all.seq[at];

	assert_int_equal(replay_seq(x->p), seq);
	if (state_hash(replay_state(x->p)) != all.hash[at])
		fail_msg("another state at #%u", (unsigned)seq);
	assert_int_equal(totals_of(replay_state(x->p)).commands, at);
	if (x->has_ex && !device.failed)
		assert_int_equal(device.at, at);
	x->at = at;
}

/* A move to `to`, or the device fails on the way there: then it is before the first of those that
 * may be to blame. The device goes there at the next move. */
static void moved(struct place *x, struct err *e, const struct replay_stop *stop, unsigned to,
	enum replay_why why)
{
	const bool must_fail = x->has_ex && device.fault && to >= device.fault;
	const uint64_t seq = to == begin_of(x) ? 0 : all.seq[to];

	if (!must_fail) {
		ok(e);
		assert_int_equal(stop->why, why);
		assert_int_equal(stop->seq, seq);
		is_at(x, to);
		if (seq)
			assert_int_equal(replay_cmd(x->p)->seq, seq);
		else
			assert_null(replay_cmd(x->p));
		return;
	}
	assert_non_null(e);
	assert_int_equal(e->code, ERR_INFERIOR);
	err_free(e);
	is_at(x, device.suspect - 1 > begin_of(x) ? device.suspect - 1 : begin_of(x));
	device.at = x->at; /* as executor.culprit says */
	device.failed = false;
}

static const struct replay_breakpoint points[] = {{.id = 7, .kind = SBT_EVENT_RECORD},
	{.id = 8, .kind = SBT_HOST_FUNC}, {.id = 9, .kind = SBT_FILL},
	{.id = 10, .kind = SBT_ALLOC}, {.id = 11, .kind = SBT_CTX_DESTROY},
	{.id = 12, .kind = SBT_DEVICE}};

/* The first of n breakpoints that matches. */
static int match(unsigned i, const struct replay_breakpoint *bps, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (bps[k].kind == all.cmd[i].kind)
			return bps[k].id;
	return 0;
}

static bool changes(unsigned i, const struct replay_watchpoint *w)
{
	for (unsigned k = 0; k < BYTES; k++)
		if (all.changes[i] >> k & 1 && ADDR(k) >= w->addr && ADDR(k) - w->addr < w->size)
			return true;
	return false;
}

/* One of n watchpoints; of several any may be named. */
static bool hits(unsigned i, const struct replay_watchpoint *ws, unsigned n, int id)
{
	for (unsigned k = 0; k < n; k++)
		if (changes(i, &ws[k]) && (!id || ws[k].id == id))
			return true;
	return false;
}

static void some_points(const struct replay_breakpoint **ret, unsigned *ret_n)
{
	const unsigned from = below(6), n = below(3);

	*ret = points + from;
	*ret_n = n < 6 - from ? n : 6 - from;
}

static void step(struct place *x, bool back)
{
	const unsigned n = below(3) ? 1 + below(5) : 1 + below(below(3) ? 200 : 2 * COMMANDS);
	const unsigned room = back ? x->at - begin_of(x) : end_of(x) - x->at;
	const unsigned by = n < room ? n : room;
	struct replay_stop stop;
	struct err *e = back ? replay_reverse_step(x->p, n, &stop) : replay_step(x->p, n, &stop);

	if (back)
		moved(x, e, &stop, x->at - by,
			x->at - by == begin_of(x) ? REPLAY_BEGIN : REPLAY_STEPPED);
	else
		moved(x, e, &stop, x->at + by, n > room ? REPLAY_END : REPLAY_STEPPED);
}

static void go(struct place *x)
{
	const unsigned to = begin_of(x) + below(end_of(x) - begin_of(x) + 1);
	const uint64_t seq = to == begin_of(x) ? 0 : all.seq[to];
	struct replay_stop stop;

	if (below(8) == 0) { /* between two commands, or behind the last */
		const uint64_t gap = all.seq[x->at] + 1;

		if (x->at == end_of(x) || gap < all.seq[x->at + 1]) {
			struct err *e = x->at == begin_of(x) ? NULL : replay_goto(x->p, gap, &stop);

			if (x->at != begin_of(x)) {
				assert_non_null(e);
				assert_int_equal(e->code, ERR_NOT_FOUND);
			}
			err_free(e);
			is_at(x, x->at);
			return;
		}
	}
	moved(x, replay_goto(x->p, seq, &stop), &stop, to, seq ? REPLAY_STEPPED : REPLAY_BEGIN);
}

static void until(struct place *x)
{
	const unsigned to = begin_of(x) + 1 + below(end_of(x) - begin_of(x));
	struct replay_stop stop;
	struct err *e = replay_until(x->p, all.seq[to], &stop);

	if (to > x->at) {
		moved(x, e, &stop, to, REPLAY_STEPPED);
		return;
	}
	assert_non_null(e);
	assert_int_equal(e->code, ERR_USAGE);
	err_free(e);
	is_at(x, x->at);
}

/* To the next, or the last, that matches; with watchpoints also to the next change. */
static void run_or_watch(struct place *x, bool watch, bool back)
{
	const struct replay_watchpoint ws[2] = {{.id = 1, .addr = ADDR(below(BYTES)), .size = 1},
		{.id = 2, .addr = ADDR(below(3)) - 0x100, .size = below(2) ? 0x101 : 0x2000}};
	const unsigned most = device.fault ? 2 : 3; /* one run for each may come to the fault */
	const unsigned nws = watch ? below(most) : 0;
	const struct replay_breakpoint *bps;
	struct replay_stop stop;
	unsigned nbps, to = x->at;
	struct err *e;

	some_points(&bps, &nbps);
	e = watch ? replay_watch(x->p, back, ws, nws, bps, nbps, NULL, &stop)
		  : replay_run(x->p, back, bps, nbps, NULL, &stop);
	if (back)
		while (to > begin_of(x) &&
			(--to == begin_of(x) || (!match(to, bps, nbps) && !hits(to, ws, nws, 0))))
			;
	else
		while (to < end_of(x) && ++to < end_of(x) && !match(to, bps, nbps) &&
			!hits(to, ws, nws, 0))
			;
	const bool stays = to == x->at || to == begin_of(x);
	const bool hit = !stays && hits(to, ws, nws, 0), matched = !stays && match(to, bps, nbps);

	moved(x, e, &stop, to,
		hit	  ? REPLAY_WATCHPOINT
		: matched ? REPLAY_BREAKPOINT
		: back	  ? REPLAY_BEGIN
			  : REPLAY_END);
	if (x->at != to || e)
		return;
	if (hit) {
		assert_true(hits(to, ws, nws, stop.breakpoint));
		assert_int_equal(stop.late, all.late[to]);
	} else {
		assert_int_equal(stop.breakpoint, matched ? match(to, bps, nbps) : 0);
		assert_int_equal(stop.late, 0);
	}
	assert_int_equal(stop.node_seq, 0);
}

/* The last one that was seen to change the byte, or whose record says that it writes there. */
static void who_wrote(struct place *x)
{
	const struct replay_watchpoint w = {
		.addr = ADDR(below(BYTES)) - below(2) * 8, .size = 1 + below(16)};
	struct state_alloc a;
	const bool known = state_alloc_at(replay_state(x->p), w.addr, &a);
	unsigned lo = begin_of(x) + 1, record = 0, seen = 0;
	struct replay_writer got;
	struct err *e = replay_who_wrote(x->p, w.addr, w.size, NULL, &got);
	uint64_t want;

	while (known && all.seq[lo] < a.alloc_seq)
		lo++;
	for (unsigned i = lo; i <= x->at; i++) {
		record = replay_writes(&all.cmd[i], w.addr, w.size) ? i : record;
		seen = x->runs && changes(i, &w) ? i : seen;
	}
	if (device.fault && seen >= device.fault)
		fail_msg("beyond the fault");
	seen = seen < record ? 0 : seen;
	want = seen	? all.late[seen] ? all.late[seen] : all.seq[seen]
		   : record ? all.seq[record]
			: 0;
	const bool perhaps = !x->runs && known && !a.writer_certain &&
			     a.last_writer > (record ? all.seq[record] : 0);

	want = lo > x->at ? 0 : perhaps ? a.last_writer : want; /* 0: nothing is in reach */
	if (!want) {
		assert_non_null(e);
		assert_int_equal(e->code, ERR_NOT_FOUND);
		err_free(e);
	} else {
		ok(e);
		assert_int_equal(got.seq, want);
		assert_int_equal(got.certain, !perhaps);
		assert_int_equal(got.changed, seen != 0);
	}
	is_at(x, x->at);
}

/* What matches here, all of it. */
static void matching(struct place *x)
{
	struct replay_breakpoint bps[8] = {0};
	int got[8] = {0};
	unsigned n, max = 1 + below(4), want = 0;

	for (unsigned i = 0; i < 8; i++)
		bps[i] = (struct replay_breakpoint){.id = (int)(1 + i / 2),
			.kind = below(2) ? all.cmd[x->at].kind : SBT_DEVICE};
	n = replay_matching(x->p, bps, 8, got, max);
	for (unsigned id = 1; id <= 4 && want < max && x->at > begin_of(x); id++)
		if (bps[2 * id - 2].kind == all.cmd[x->at].kind ||
			bps[2 * id - 1].kind == all.cmd[x->at].kind)
			assert_int_equal(got[want++], id);
	assert_int_equal(n, want);
}

static void one_move(struct place *x)
{
	switch (below(12)) {
	case 0:
	case 1:
		step(x, false);
		break;
	case 2:
	case 3:
		step(x, true);
		break;
	case 4:
		go(x);
		break;
	case 5:
		until(x);
		break;
	case 6:
		run_or_watch(x, false, false);
		break;
	case 7:
		run_or_watch(x, false, true);
		break;
	case 8:
		who_wrote(x);
		break;
	case 9:
		matching(x);
		break;
	default:
		if (x->runs)
			run_or_watch(x, true, below(2));
	}
}

/* Without an executor, with one that goes command by command, and with one that runs; in a window
 * or not; with a command that breaks the device or not. */
static void walks(unsigned commands, unsigned moves, unsigned keyframe_every, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct sbt_reader *r = make_trace(1000 + i, commands, keyframe_every);
		struct replay_executor ex = {
			.execute = execute, .seek = seek, .close = close_it, .culprit = culprit};
		struct place x = {.has_ex = i % 4 != 0, .runs = i % 4 > 1};

		all.first = i % 3 ? 1 + below(commands / 2) : 1;
		all.last = i % 3 ? all.first + below(commands - all.first + 1) : commands;
		memset(&device, 0, sizeof device);
		device.at = all.first - 1;
		if (x.runs) {
			ex.run = run;
			ex.late = late;
		}
		if (i % 3) {
			ex.first = all.seq[all.first];
			ex.last = all.seq[all.last];
		}
		ok(replay_open(&x.p, r, x.has_ex ? &ex : NULL));
		x.at = begin_of(&x);
		for (unsigned k = 0; k < moves; k++) {
			if (k == moves / 2 && i % 5 > 2 && x.at < end_of(&x)) {
				device.fault = x.at + 1 + below(end_of(&x) - x.at);
				device.suspect =
					device.fault -
					below(device.fault - x.at < 30 ? device.fault - x.at : 30);
			}
			one_move(&x);
		}
		replay_close(x.p);
		sbt_reader_close(r);
	}
}

static void short_traces(void **arg)
{
	walks(60, 200, 0, 40);
}

static void traces_with_keyframes(void **arg)
{
	walks(700, 80, 90, 10);
}

static void a_long_trace(void **arg)
{
	walks(COMMANDS, 60, 0, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_traces),
		cmocka_unit_test(traces_with_keyframes),
		cmocka_unit_test(a_long_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
