/* SPDX-License-Identifier: Apache-2.0
 *
 * The wait-for graph: what is stuck, and what must not be called so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "engine/why.h"
#include "engine/why/why-device.h"
#include "engine/why/why-graphs.h"
#include "sbt/cmd-pack.h"

#define PID 100

static uint32_t node(struct why *w, enum why_kind kind, uint64_t id)
{
	return why_node(w, kind, PID, id, why_kind_name(kind));
}

static void waits(struct why *w, uint32_t a, uint32_t b)
{
	why_edge(w, a, b, WHY_KNOWN_RECORDED, "waits for");
}

static uint32_t root(struct why *w, uint64_t tid)
{
	const uint32_t n = node(w, WHY_THREAD, tid);

	why_at(w, n)->root = true;
	return n;
}

/* A stream that nobody waits for in a call: what it waits for is the leaf, and it is not called
 * stuck, not even where nothing would let it go on. */
static void a_polled_stream(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	const uint32_t t = node(w, WHY_THREAD, 1), s = node(w, WHY_STREAM, 2),
		       v = node(w, WHY_VALUE, 0x7f00);

	why_at(w, s)->root = true;
	why_at(w, v)->any = true;
	waits(w, s, v);
	why_edge(w, v, s, WHY_KNOWN_POSSIBLE, "might be written from");
	why_judge(w, &a);
	assert_true(why_at(w, s)->stuck);
	assert_int_equal(a.verdict, WHY_OPEN);
	assert_int_equal(a.leaf, v);
	assert_int_equal(a.ncycle, 0);
	why_edge(w, v, t, WHY_KNOWN_POSSIBLE, "might be written by");
	why_judge(w, &a);
	assert_false(why_at(w, s)->stuck);
	assert_int_equal(a.verdict, WHY_OPEN);
	assert_int_equal(a.leaf, v);
	why_free(w);
	(void)state;
}

/* The two-stream deadlock: thread -> stream 1 -> event -> kernel -> value -> setter -> stream 1. */
static void a_cycle(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	const uint32_t t = root(w, 1), s1 = node(w, WHY_STREAM, 1), e = node(w, WHY_EVENT, 0),
		       k = node(w, WHY_COMMAND, 19), v = node(w, WHY_VALUE, 0x7f00),
		       set = node(w, WHY_COMMAND, 23);

	waits(w, t, s1);
	waits(w, s1, e);
	waits(w, e, k);
	waits(w, k, v);
	waits(w, v, set);
	waits(w, set, s1);
	why_at(w, v)->any = true;
	why_set_cure(w, "launch it before the wait");
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_STUCK);
	assert_int_equal(a.ncycle, 5);
	assert_int_equal(a.cycle[0], s1);
	assert_int_equal(a.cycle[4], set);
	assert_int_equal(a.leaf, WHY_NONE);
	assert_string_equal(a.cure, "launch it before the wait");
	assert_true(why_at(w, t)->stuck);

	/* A second command that would write, and can run, ends it. */
	waits(w, v, node(w, WHY_COMMAND, 24));
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_OPEN);
	assert_int_equal(a.ncycle, 0);
	assert_null(a.cure);
	assert_false(why_at(w, t)->stuck);
	why_free(w);
	(void)state;
}

static void a_kernel_that_moves(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	const uint32_t t = root(w, 1), k = node(w, WHY_COMMAND, 19), v = node(w, WHY_VALUE, 8);

	waits(w, t, k);
	waits(w, k, v);
	why_at(w, v)->end = WHY_END_NEVER;
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_STUCK);
	assert_int_equal(a.leaf, v);
	why_at(w, k)->moved = WHY_MOVED;
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_SLOW);
	why_free(w);
	(void)state;
}

/* What is not known is no accusation, and neither is a command that finished between the looks. */
static void what_is_not_known(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	uint32_t t, k;

	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_IDLE);
	t = root(w, 1);
	k = node(w, WHY_COMMAND, 19);
	waits(w, t, k);
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_OPEN);
	assert_int_equal(a.leaf, k);
	why_set_progress(w, &(struct why_progress){.looked = true, .moved = true});
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_SLOW);
	why_free(w);
	(void)state;
}

/* Two threads: one is stuck, if the other one cannot write what it waits for. */
static void another_thread_may_act(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	const uint32_t t1 = root(w, 1), v = node(w, WHY_VALUE, 8), t2 = node(w, WHY_THREAD, 2),
		       lock = node(w, WHY_LOCK, 64);

	waits(w, t1, v);
	waits(w, v, t2);
	why_at(w, v)->any = true;
	why_at(w, t2)->end = WHY_END_COMES;
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_OPEN);
	/* it waits for the first one's lock */
	why_at(w, t2)->end = WHY_END_UNKNOWN;
	waits(w, t2, lock);
	waits(w, lock, t1);
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_STUCK);
	assert_int_equal(a.ncycle, 4);
	/* or for a time at most */
	why_at(w, t2)->end = WHY_END_COMES;
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_OPEN);
	why_free(w);
	(void)state;
}

/* The root that is stuck is told, whichever came first. */
static void the_stuck_root(void **state)
{
	struct why *w = why_new();
	struct why_answer a;
	const uint32_t free_one = root(w, 1), other = root(w, 2), e = node(w, WHY_EVENT, 3);

	why_at(w, free_one)->end = WHY_END_OUTSIDE;
	waits(w, other, e);
	why_at(w, e)->end = WHY_END_NEVER;
	why_judge(w, &a);
	assert_int_equal(a.verdict, WHY_STUCK);
	assert_int_equal(a.leaf, e);
	assert_false(why_at(w, free_one)->stuck);
	why_free(w);
	(void)state;
}

static void edges_and_names(void **state)
{
	struct why *w = why_new();
	const uint32_t a = node(w, WHY_THREAD, 1), b = node(w, WHY_LOCK, 2);
	uint32_t e;

	why_edge(w, a, b, WHY_KNOWN_POSSIBLE, "may wait for");
	why_edge(w, a, b, WHY_KNOWN_SYSTEM, "waits for");
	why_edge(w, a, b, WHY_KNOWN_CODE, "worse");
	e = why_next(w, a, WHY_NONE);
	assert_int_not_equal(e, WHY_NONE);
	assert_int_equal(why_next(w, a, e), WHY_NONE);
	assert_int_equal(why_edge_at(w, e)->known, WHY_KNOWN_SYSTEM);
	assert_string_equal(why_edge_at(w, e)->what, "waits for");
	assert_int_equal(why_find(w, WHY_LOCK, PID, 2), b);
	assert_int_equal(why_find(w, WHY_LOCK, PID + 1, 2), WHY_NONE);
	assert_int_equal(why_node(w, WHY_LOCK, PID, 2, "again"), b);
	assert_string_equal(why_kind_name(WHY_GIL), "gil");
	assert_string_equal(why_known_name(WHY_KNOWN_POSSIBLE), "possible");
	assert_null(why_at(w, 2));
	why_note(w, "%d processes were not looked at", 3);
	assert_string_equal(why_note_at(w, 0), "3 processes were not looked at");
	assert_null(why_note_at(w, 1));
	why_free(w);
	why_free(NULL);
	(void)state;
}

/* --- threads that never act for the program --- */

static bool helps(const char *const *modules, unsigned n)
{
	struct backtrace_frame frames[8] = {0};

	for (unsigned i = 0; i < n; i++)
		frames[i].sym.module = modules[i];
	return why_helper_stack(&(struct stack){.frames = frames, .n = n});
}

static void helpers_by_their_stacks(void **state)
{
	static const char *const cupti[] = {"/usr/lib/libc.so.6", "/opt/cuda/libcupti.so.13",
		"/opt/cuda/libcupti.so.13", "/usr/lib/libc.so.6"};
	static const char *const driver[] = {
		"/usr/lib/libc.so.6", "/usr/lib/libcuda.so.580.159.04", "/usr/lib/libc-2.31.so"};
	/* a host function, which the driver's thread calls; a thread that waits in the driver */
	static const char *const callback[] = {
		"/usr/lib/libc.so.6", "/home/app", "/usr/lib/libcuda.so.1", "/usr/lib/libc.so.6"};
	static const char *const waits_in[] = {
		"/usr/lib/libcuda.so.1", "/usr/lib/libcudart.so.13", "/home/app"};
	static const char *const by_runtime[] = {
		"/usr/lib/libcuda.so.1", "/usr/lib/libcudart.so.13", "/usr/lib/libc.so.6"};
	static const char *const of_the_program[] = {"/usr/lib/libc.so.6", "/usr/lib/libc.so.6"};
	static const char *const not_known[] = {"/usr/lib/libcupti.so.13", NULL};
	static const char *const alike[] = {"/home/libcupti.sock", "/usr/lib/libc.so.6"};

	(void)state;
	assert_true(helps(cupti, 4));
	assert_true(helps(driver, 3));
	assert_false(helps(callback, 4));
	assert_false(helps(waits_in, 3));
	assert_false(helps(by_runtime, 3));
	assert_false(helps(of_the_program, 2));
	assert_false(helps(not_known, 2));
	assert_false(helps(alike, 2));
	assert_false(helps(cupti, 3)); /* not unwound to where threads begin */
	assert_false(helps(NULL, 0));
}

/* ---- what a graph launch consists of */

static void apply(struct state *s, struct sbt_cmd *c, uint64_t seq)
{
	struct err *e;

	c->seq = seq;
	e = state_apply(s, c);
	assert_null(e);
}

/* A graph of a launch and a host function behind it, launched as #10. */
static struct sbt_cmd launched_graph(struct state *s)
{
	static _Alignas(8) uint8_t kernel[512], host[256];
	static const uint32_t first = 0;
	struct sbt_cmd c, h = {.kind = SBT_HOST_FUNC}, k = {.kind = SBT_LAUNCH};

	assert_true(sbt_pack_size(&k) <= sizeof(kernel) && sbt_pack_size(&h) <= sizeof(host));
	sbt_pack(kernel, &k);
	h.u.host_func.fn = 0x1234;
	sbt_pack(host, &h);
	c = (struct sbt_cmd){.kind = SBT_CTX_CREATE};
	apply(s, &c, 1);
	c = (struct sbt_cmd){.kind = SBT_GRAPH_CREATE};
	c.u.graph_create.clone_of = SBT_NO_ID;
	apply(s, &c, 2);
	for (unsigned i = 0; i < 2; i++) {
		c = (struct sbt_cmd){.kind = SBT_GRAPH_NODE};
		c.u.graph_node.node = i;
		c.u.graph_node.type = i ? SBT_NODE_HOST : SBT_NODE_KERNEL;
		c.u.graph_node.kernel = i ? SBT_NO_ID : 0;
		c.u.graph_node.payload =
			(struct sbt_blob){i ? host : kernel, sbt_pack_size(i ? &h : &k)};
		if (i)
			c.u.graph_node.deps = (struct sbt_blob){&first, sizeof(first)};
		apply(s, &c, 3 + i);
	}
	c = (struct sbt_cmd){.kind = SBT_GRAPH_INSTANTIATE};
	c.u.graph_instantiate.new_exec = 1;
	c.u.graph_instantiate.nodes = 2;
	apply(s, &c, 6);
	c = (struct sbt_cmd){.kind = SBT_GRAPH_LAUNCH};
	c.u.graph_launch.exec = 1;
	apply(s, &c, 10);
	return c;
}

static void steps_of_a_graph_launch(void **state)
{
	struct state *s = state_new();
	const struct sbt_cmd launch = launched_graph(s);
	struct state_steps steps;
	struct sbt_cmd c;
	uint64_t fn = 0;

	assert_null(why_graph_steps(s, &launch, &steps));
	assert_int_equal(steps.n, 2);
	assert_int_equal(why_step_of(&steps.step[0], &launch, &c), WHY_STEP_COMMAND);
	assert_int_equal(c.kind, SBT_LAUNCH);
	assert_int_equal(c.seq, 10);
	assert_int_equal(why_step_of(&steps.step[1], &launch, &c), WHY_STEP_COMMAND);
	assert_int_equal(c.kind, SBT_HOST_FUNC);
	steps.step[1].node.disabled = true;
	assert_int_equal(why_step_of(&steps.step[1], &launch, &c), WHY_STEP_NOTHING);
	steps.step[0].node.payload.len = 0;
	assert_int_equal(why_step_of(&steps.step[0], &launch, &c), WHY_STEP_UNKNOWN);
	state_steps_free(&steps);
	assert_true(why_graph_host(s, &launch, 0, &fn));
	assert_int_equal(fn, 0x1234);
	assert_false(why_graph_host(s, &launch, 1, &fn));
	state_free(s);
}

/* What is on the device was launched before: CUDA lets a program change a graph that runs. */
static void a_graph_that_was_changed_says_nothing(void **state)
{
	struct state *s = state_new();
	const struct sbt_cmd launch = launched_graph(s);
	struct sbt_cmd c = {.kind = SBT_GRAPH_UPDATE};
	struct state_steps steps;
	uint64_t fn;

	c.u.graph_update.exec = 1;
	c.u.graph_update.graph = SBT_NO_ID;
	apply(s, &c, 11);
	assert_non_null(why_graph_steps(s, &launch, &steps));
	assert_int_equal(steps.n, 0);
	assert_false(why_graph_host(s, &launch, 0, &fn));
	state_steps_free(&steps);
	c = (struct sbt_cmd){.kind = SBT_GRAPH_DESTROY};
	c.u.graph_destroy.dead_graph = 1;
	apply(s, &c, 12);
	assert_non_null(why_graph_steps(s, &launch, &steps));
	c = launch;
	c.u.graph_launch.exec = 7; /* there is none */
	assert_non_null(why_graph_steps(s, &c, &steps));
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cycle),
		cmocka_unit_test(a_polled_stream),
		cmocka_unit_test(helpers_by_their_stacks),
		cmocka_unit_test(a_kernel_that_moves),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(another_thread_may_act),
		cmocka_unit_test(the_stuck_root),
		cmocka_unit_test(edges_and_names),
		cmocka_unit_test(steps_of_a_graph_launch),
		cmocka_unit_test(a_graph_that_was_changed_says_nothing),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
