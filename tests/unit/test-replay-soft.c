/* SPDX-License-Identifier: Apache-2.0
 *
 * Examples recorded and executed again on the software GPU, through tsdb-replayer: verified, and
 * every way to a position gives the same state and the same memory. On a machine with a GPU the
 * same list can be run there: TSDB_TEST_GPU=real (scripts/gpu-check does).
 */
#include <unistd.h>
#include "random-trace.h"
#include "replay-recorded.h"
#include "replay-trace.h"
#include "softgpu/memory/mem.h"
#include "replay/plan.h"

static void assert_verified(const struct run *x)
{
	struct device_verified v;
	struct buf b = BUF_INIT;

	ok(device_verify(x->d, &v));
	device_verified_print(&b, &v);
	if (!device_verified_ok(&v) || v.sums.unchecked == v.sums.pieces + v.sums.outputs)
		fail_msg("%s", buf_cstr(&b));
	buf_free(&b);
	device_verified_free(&v);
}

static void verified(const char *example)
{
	struct run x = open_run(example);
	struct replay_stop stop;

	ok(replay_until(x.p, x.last, &stop)); /* without a stop */
	assert_verified(&x);
	ok(replay_goto(x.p, 0, &stop)); /* once more, command by command */
	ok(replay_step(x.p, UINT64_MAX, &stop));
	assert_int_equal(stop.why, REPLAY_END);
	assert_verified(&x);
	close_run(&x);
}

#define VERIFIED(name)                                                                             \
	static void verified_##name(void **arg)                                                    \
	{                                                                                          \
		verified(#name);                                                                   \
	}
VERIFIED(vecadd)
VERIFIED(matmul)
VERIFIED(pipeline)
VERIFIED(reduce)
VERIFIED(transformer)

static void verified_reuse(void **arg)
{
	verified("tests/programs/reuse");
}

static void move(const struct run *x, struct random_cmds *dice, const uint64_t *seqs, unsigned n)
{
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_LAUNCH};
	struct replay_stop stop;
	struct err *e = NULL;

	switch (random_below(dice, 7)) {
	case 0:
		e = replay_step(x->p, 1 + random_below(dice, 20), &stop);
		break;
	case 1:
		e = replay_reverse_step(x->p, 1 + random_below(dice, 20), &stop);
		break;
	case 2:
		e = replay_goto(x->p, seqs[random_below(dice, n)], &stop);
		break;
	case 3:
		e = replay_run(x->p, random_below(dice, 2), &bp, 1, NULL, &stop);
		break;
	case 5:
		e = replay_step(x->p, 60 + random_below(dice, 20), &stop);
		break;
	case 4:
		e = replay_until(x->p, seqs[random_below(dice, n)], &stop);
		break;
	default:
		e = replay_reverse_step(x->p, 1, &stop);
		break;
	}
	if (e && e->code != ERR_USAGE)
		fail_msg("%s", e->what);
	err_free(e);
}

#define COMMANDS 2000

/* What a position is, by stepping there: index 0 is the beginning. */
struct way {
	uint64_t seqs[COMMANDS], state[COMMANDS + 1], mem[COMMANDS + 1];
	unsigned n;
};

static void note(struct way *w, const struct run *x)
{
	w->state[w->n] = state_hash(replay_state(x->p));
	w->mem[w->n] = mem_hash(x);
}

static void step_all(struct way *w, const struct run *x)
{
	struct replay_stop stop;

	w->n = 0;
	note(w, x);
	for (;;) {
		ok(replay_step(x->p, 1, &stop));
		if (stop.why == REPLAY_END)
			return;
		assert_true(w->n < COMMANDS);
		w->seqs[w->n++] = stop.seq;
		note(w, x);
	}
}

static void walk(const char *program, unsigned moves, uint64_t seed)
{
	static struct way way;
	struct run x = open_run(program);
	struct random_cmds dice = {.x = seed};

	step_all(&way, &x);
	for (unsigned k = 0; k < moves; k++) {
		unsigned i = 0;

		move(&x, &dice, way.seqs, way.n);
		while (replay_seq(x.p) && way.seqs[i++] != replay_seq(x.p))
			;
		if (state_hash(replay_state(x.p)) != way.state[i])
			fail_msg("%s, move %u: not the same state at #%d", program, k,
				(int)replay_seq(x.p));
		if (mem_hash(&x) != way.mem[i])
			fail_msg("%s, move %u: not the same memory at #%d", program, k,
				(int)replay_seq(x.p));
	}
	close_run(&x);
}

#define WALK(name, program, moves)                                                                 \
	static void walk_##name(void **arg)                                                        \
	{                                                                                          \
		walk(program, moves, 99);                                                          \
	}
WALK(vecadd, "vecadd", 60)
WALK(matmul, "matmul", 60)
WALK(reduce, "reduce", 60)
WALK(pipeline, "pipeline", 150)
WALK(transformer, "transformer", 25)
WALK(graphs, "tests/programs/graphs", 100)
WALK(all_kinds, "tests/programs/all_kinds", 100)
WALK(reuse, "tests/programs/reuse", 150)

/* That reuse does what the walk over it is for: an address allocated again within the window,
 * graphs, three streams, host writes. */
static void reuse_reuses(void **arg)
{
	struct run x = open_run("tests/programs/reuse");
	uint64_t addrs[64], streams = 0;
	unsigned n = 0, again = 0, graphs = 0;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	ok(sbt_cursor_open(&cursor, x.r));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c)
			break;
		graphs += c->kind == SBT_GRAPH_LAUNCH;
		if (c->kind == SBT_LAUNCH && !(c->flags & SBT_F_GRAPH))
			streams |= UINT64_C(1) << c->u.launch.stream % 64;
		if (c->kind != SBT_ALLOC)
			continue;
		for (unsigned i = 0; i < n; i++)
			again += addrs[i] == c->u.alloc.addr;
		assert_true(n < 64);
		addrs[n++] = c->u.alloc.addr;
	}
	sbt_cursor_close(cursor);
	assert_int_equal(__builtin_popcountll(streams), 3);
	assert_int_equal(graphs, 4);
	assert_true(again >= 4);
	close_run(&x);
}

/* A window of few long kernels: the host does not run ahead of the device, so there are checkpoints
 * between them, and a step back does not execute all of them again. How long they take is
 * pretended: each that was waited for took 70 ms. */
static void long_kernels_leave_checkpoints(void **arg)
{
	struct replay_trace t = {.contents = CONTENTS_WEIGHTS,
		.bytes = 1 << 20,
		.launches = 8,
		.iterations = 1000,
		.blocks = 1,
		.large = MEM_DEVICE_BASE + 0x2000000,
		.small = MEM_DEVICE_BASE};
	const char *tmp = getenv("TMPDIR");
	struct replayer_figures f, g;
	struct replay_stop stop;

	snprintf(trace_path, sizeof trace_path, "%s/tsdb-test-long-%d", tmp && *tmp ? tmp : "/tmp",
		(int)getpid());
	ok(replay_trace_write(&t, trace_path));
	setenv("TSDB_REPLAYER_MARK_NS", "70000000", 1);
	struct run x = open_trace(REPLAYER_ANY_DEVICE);
	unsetenv("TSDB_REPLAYER_MARK_NS");
	ok(replay_until(x.p, x.last, &stop));
	assert_verified(&x);
	ok(device_figures(x.d, &f));
	if (f.checkpoints < 1 + t.launches / 2)
		fail_msg("%u checkpoints after %u kernels", f.checkpoints, t.launches);
	ok(replay_reverse_step(x.p, 1, &stop));
	ok(device_figures(x.d, &g));
	if (g.executed - f.executed > t.launches / 2)
		fail_msg("a step back executed %u commands of %u",
			(unsigned)(g.executed - f.executed), t.launches);
	ok(replay_goto(x.p, x.last, &stop));
	assert_verified(&x);
	close_run(&x);
}

/* The sums of vecadd: written by the launch, watched both ways. */
/* Written bytes of each launch, one after the other. */
struct written {
	struct soft_span *s;
	uint64_t *seq;
	size_t n;
	uint64_t bytes;
};

static struct err *take_written(void *arg, const struct access_set *a)
{
	struct written *w = arg;

	for (unsigned k = SOFT_ACCESS_WRITTEN; k <= SOFT_ACCESS_ATOMIC; k++)
		for (size_t i = 0; i < a->set.n[k]; i++) {
			w->s = xrealloc(w->s, (w->n + 1) * sizeof *w->s);
			w->seq = xrealloc(w->seq, (w->n + 1) * sizeof *w->seq);
			w->s[w->n] = a->set.span[k][i];
			w->seq[w->n++] = a->seq;
			w->bytes += a->set.span[k][i].size;
		}
	return NULL;
}

static bool is_written(const struct written *w, uint64_t seq, struct soft_span s)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->seq[i] == seq && s.addr >= w->s[i].addr &&
			s.addr + s.size <= w->s[i].addr + w->s[i].size)
			return true;
	return false;
}

/* What launches changed is part of what they wrote, as the software GPU saw it; and the way there
 * leaves the same memory. */
static void changed(void **arg)
{
	static const char *const examples[] = {"vecadd", "reduce", "transformer"};

	for (unsigned i = 0; i < sizeof examples / sizeof *examples; i++) {
		struct run x = open_run(examples[i]);
		struct written changed = {0}, wrote = {0};
		struct replay_stop stop;

		ok(device_changed_sets(x.d, x.first, x.last, 0, take_written, &changed));
		assert_true(changed.bytes > 0);
		if (!real_gpu()) {
			ok(device_access_sets(x.d, x.first, x.last, 0, take_written, &wrote));
			assert_true(changed.bytes <= wrote.bytes);
			for (size_t k = 0; k < changed.n; k++)
				if (!is_written(&wrote, changed.seq[k], changed.s[k]))
					fail_msg("#%llu is not said to have written 0x%llx",
						(unsigned long long)changed.seq[k],
						(unsigned long long)changed.s[k].addr);
		}
		ok(replay_goto(x.p, x.last, &stop));
		assert_verified(&x);
		free(changed.s);
		free(changed.seq);
		free(wrote.s);
		free(wrote.seq);
		close_run(&x);
	}
}

struct sets_of {
	uint64_t seq[2], bytes[2];
	unsigned n[2];
};

static struct err *count_sets(void *arg, const struct access_set *a)
{
	struct sets_of *x = arg;

	for (unsigned i = 0; i < 2; i++) {
		x->n[i] += a->seq == x->seq[i];
		for (size_t k = 0; a->seq == x->seq[i] && k < a->set.n[SOFT_ACCESS_WRITTEN]; k++)
			x->bytes[i] += a->set.span[SOFT_ACCESS_WRITTEN][k].size;
	}
	return NULL;
}

/* A launch that is kept back behind a wait for a value changes nothing at its own place, and that
 * is no answer. */
static void changed_late(void **arg)
{
	struct run x = open_run("tests/programs/value_waits stream");
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_LAUNCH};
	struct replay_stop fetch, put;
	struct sets_of sets;

	ok(replay_run(x.p, false, &bp, 1, NULL, &fetch));
	ok(replay_run(x.p, false, &bp, 1, NULL, &put));
	sets = (struct sets_of){.seq = {fetch.seq, put.seq}};
	ok(device_changed_sets(x.d, x.first, x.last, 0, count_sets, &sets));
	assert_int_equal(sets.n[0], 0);
	assert_int_equal(sets.n[1], 1);
	assert_int_equal(sets.bytes[1], 1024); /* of 1,024 words that become 5 one byte each */
	close_run(&x);
}

static void watched(void **arg)
{
	struct run x = open_run("vecadd");
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_LAUNCH};
	struct replay_watchpoint w = {.id = 2, .size = 64};
	struct replay_writer who;
	struct replay_stop stop, again;
	uint64_t args[8] = {0};
	const struct sbt_cmd *c;
	struct plan plan;

	ok(replay_run(x.p, false, &bp, 1, NULL, &stop));
	assert_int_equal(stop.why, REPLAY_BREAKPOINT);
	c = replay_cmd(x.p);
	assert_in_range(c->u.launch.args.len, 24, sizeof args);
	memcpy(args, c->u.launch.args.p, c->u.launch.args.len);
	for (unsigned i = 0; i < 3;
		i++) { /* a, b by copies, c by the launch, in whatever order the parameters are */
		struct sbt_hash now, was;

		w.addr = args[i];
		ok(replay_goto(x.p, stop.seq, &again));
		ok(device_hash(x.d, w.addr, 64, &now));
		ok(replay_who_wrote(x.p, w.addr, 64, NULL, &who));
		ok(replay_goto(x.p, who.seq - 1, &again));
		ok(device_hash(x.d, w.addr, 64, &was));
		assert_true(who.changed);
		assert_false(sbt_hash_equal(now, was));
		ok(replay_watch(x.p, false, &w, 1, NULL, 0, NULL, &again));
		assert_int_equal(again.why, REPLAY_WATCHPOINT);
		assert_int_equal(again.seq, who.seq);
		ok(device_hash(x.d, w.addr, 64, &was));
		assert_true(sbt_hash_equal(now, was));
		ok(replay_goto(x.p, x.last, &again));
		ok(replay_watch(x.p, true, &w, 1, NULL, 0, NULL, &again));
		assert_int_equal(again.seq, who.seq);
	}
	ok(plan_kernel(&plan, x.r, x.first, x.last, "*", 1));
	assert_int_equal(plan.from, stop.seq);
	plan_free(&plan);
	close_run(&x);
}

/* A launch that is given a wild pointer breaks the device: it is named, what is before it can be
 * seen, and without it all is well. */
static void faults(void **arg)
{
	struct run x = open_run("vecadd");
	struct replay_breakpoint bp = {.id = 1, .kind = SBT_LAUNCH};
	const uint64_t wild = UINT64_C(0xdead00000000);
	struct replay_stop stop;
	char name[40];
	uint64_t seq;

	ok(replay_run(x.p, false, &bp, 1, NULL, &stop));
	seq = stop.seq;
	snprintf(name, sizeof name, "#%d ", (int)seq);
	ok(device_set_arg(x.d, seq, 0, &wild, sizeof wild));
	ok(replay_goto(x.p, 0, &stop));
	for (unsigned way = 0; way < 3; way++) {
		struct err *e = way == 0   ? replay_step(x.p, UINT64_MAX, &stop)
				: way == 1 ? replay_goto(x.p, x.last, &stop)
					   : replay_until(x.p, x.last, &stop);

		assert_non_null(e);
		if (e->code != ERR_INFERIOR || strncmp(e->what, name, strlen(name)) ||
			!strstr(e->what, "<<<") || strstr(e->what, "kernel "))
			fail_msg("%s", e->what);
		err_free(e);
		assert_int_equal(replay_seq(x.p), seq - 1);
		mem_hash(&x);
		assert_int_equal(device_seq(x.d), seq - 1);
	}
	ok(device_forget(x.d));
	ok(replay_goto(x.p, x.last, &stop));
	assert_verified(&x);
	close_run(&x);
}

#define ALLOCS 64

/* What a plan calls exact is what the whole replay gives. Counts the allocations that are. */
static unsigned assert_exact(const struct run *x, const struct plan *p)
{
	struct sbt_hash whole[ALLOCS] = {0}, part;
	struct replay_stop stop;
	struct state_alloc a;
	unsigned n = 0;

	ok(replay_goto(x->p, p->to, &stop));
	for (unsigned i = 0; i < ALLOCS && state_alloc(replay_state(x->p), i, &a); i++)
		ok(device_hash(x->d, a.addr, a.size, &whole[i]));
	ok(device_skip(x->d, p->skip, (uint32_t)p->nskip, p->recorded_inputs));
	ok(replay_goto(x->p, 0, &stop));
	ok(replay_goto(x->p, p->to, &stop));
	for (unsigned i = 0; i < ALLOCS && state_alloc(replay_state(x->p), i, &a); i++) {
		if (!plan_exact(p, a.addr, a.size))
			continue;
		n++;
		ok(device_hash(x->d, a.addr, a.size, &part));
		if (!sbt_hash_equal(part, whole[i]))
			fail_msg("0x%llx is not the same in the part up to #%d",
				(unsigned long long)a.addr, (int)p->to);
	}
	ok(device_skip(x->d, NULL, 0, false));
	ok(replay_goto(x->p, 0, &stop));
	return n;
}

static void partial(void **arg)
{
	struct run x = open_run("pipeline");
	unsigned exact = 0, left_out = 0, streams = 0;
	struct plan p;

	for (uint64_t at = x.first; at <= x.last; at += 5) {
		ok(plan_range(&p, x.r, x.first, x.last, at, at));
		left_out += p.nskip != 0;
		exact += assert_exact(&x, &p);
		plan_free(&p);
	}
	for (uint32_t stream = 0; stream < 128; stream++) {
		struct err *e = plan_stream(&p, x.r, x.first, x.last, &stream, 1, stream % 2);

		if (e && e->code != ERR_NOT_FOUND && e->code != ERR_INCOMPLETE)
			fail_msg("%s", e->what);
		err_free(e);
		if (e)
			continue;
		streams++;
		left_out += p.nskip != 0;
		exact += assert_exact(&x, &p);
		plan_free(&p);
	}
	if (!streams || !left_out || exact < 10)
		fail_msg("%u streams, %u plans that leave something out, %u allocations", streams,
			left_out, exact);
	close_run(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verified_vecadd),
		cmocka_unit_test(verified_matmul),
		cmocka_unit_test(verified_pipeline),
		cmocka_unit_test(verified_reduce),
		cmocka_unit_test(verified_transformer),
		cmocka_unit_test(verified_reuse),
		cmocka_unit_test(walk_vecadd),
		cmocka_unit_test(walk_matmul),
		cmocka_unit_test(walk_reduce),
		cmocka_unit_test(walk_pipeline),
		cmocka_unit_test(walk_transformer),
		cmocka_unit_test(walk_graphs),
		cmocka_unit_test(walk_all_kinds),
		cmocka_unit_test(walk_reuse),
		cmocka_unit_test(reuse_reuses),
		cmocka_unit_test(long_kernels_leave_checkpoints),
		cmocka_unit_test(changed),
		cmocka_unit_test(changed_late),
		cmocka_unit_test(watched),
		cmocka_unit_test(faults),
		cmocka_unit_test(partial),
	};
	const char *build = getenv("TSDB_BUILD");

	snprintf(recorded_in, sizeof recorded_in, "%s", build ? build : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
