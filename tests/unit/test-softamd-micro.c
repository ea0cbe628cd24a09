/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope of dispatches: steps, breakpoints, watched bytes, the way back, calls, faults.
 */
#include "amd-elf.h"
#include "amd-test.h"

#include <pthread.h>
#include <stdio.h>

#include "softamd/micro/amd-micro.h"

/* Two workgroups of two waves. Each work-item writes its number to LDS (line 11), all wait (12), a
 * function at line 20 is called (13). */
static void body(struct machine *m)
{
	insn(m, 0x24020082, 0, "v_lshlrev_b32_e32 v1, 2, v0");	 /* 0x1000, line 10 */
	insn(m, 0xd81a0000, 0x00000001, "ds_write_b32 v1, v0");	 /* 0x1004, line 11 */
	insn(m, 0xbf8cc07f, 0, "s_waitcnt lgkmcnt(0)");		 /* 0x100c */
	insn(m, 0xbf8a0000, 0, "s_barrier");			 /* 0x1010, line 12 */
	insn(m, 0xbe881c00, 0, "s_getpc_b64 s[8:9]");		 /* 0x1014, line 13 */
	insn(m, 0x80089408, 0, "s_add_u32 s8, s8, 20");		 /* 0x1018 */
	insn(m, 0x82098009, 0, "s_addc_u32 s9, s9, 0");		 /* 0x101c */
	insn(m, 0xbe9e1e08, 0, "s_swappc_b64 s[30:31], s[8:9]"); /* 0x1020 */
	insn(m, 0x7e0e0214, 0, "v_mov_b32_e32 v7, s20");	 /* 0x1024, line 14 */
	end(m);							 /* 0x1028 */
	insn(m, 0xbe940087, 0, "s_mov_b32 s20, 7");		 /* 0x102c, line 20, in f */
	insn(m, 0xbe801d1e, 0, "s_setpc_b64 s[30:31]");		 /* 0x1030 */
}

static const struct elf_row rows[] = {{0, 10}, {4, 1}, {12, 1}, {4, 1}, {16, 1}, {8, 6}};

struct demo {
	struct machine *m;
	struct soft_session *s;
	struct soft_stop stop;
	struct amd_dispatch d;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct demo *t = arg;
	struct amd_fault f = {0};

	amd_micro_ended(t->s, amd_run(&t->d, &f) ? NULL : &f);
	return NULL;
}

static void begin(struct demo *t, uint64_t first, const struct soft_turn *turns, unsigned n)
{
	const struct elf_bytes lines = line_table(rows, 6, 8), e = code_object(0x2c, &lines);
	const struct soft_start start = {.kernel = "k",
		.grid = {2, 1, 1},
		.block = {128, 1, 1},
		.first_block = first,
		.turns = turns,
		.nturns = n};

	t->s = amd_micro_new(&start);
	assert_non_null(t->s);
	t->d = t->m->d;
	amd_micro_begin(t->s, &t->d, amd_image_new(e.b, e.n), (uintptr_t)t->m->code + 256 - 0x1000);
	assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
	assert_true(micro_begun(t->s, 10000, &t->stop));
	assert_int_equal(t->stop.why, SOFT_WHY_BEGIN);
}

static void setup_of(struct demo *t, void (*code)(struct machine *))
{
	t->m = machine_new(128, 1024, 16);
	t->m->d.grid[0] = 256;
	descriptor(t->m, 48, 31 | 4 << 6 | 0xf0 << 12 | 5 << 21); /* 48 scalar registers */
	code(t->m);
	begin(t, 0, NULL, 0);
}

static void setup(struct demo *t)
{
	setup_of(t, body);
}

static void leave(struct demo *t)
{
	micro_abort(t->s);
	pthread_join(t->thread, NULL);
	amd_micro_free(t->s);
}

static void done(struct demo *t)
{
	leave(t);
	free(t->m);
}

static void go(struct demo *t, enum soft_how how, uint64_t n)
{
	const struct soft_go g = {.how = how, .n = n};
	const char *why = micro_go(t->s, &g, &t->stop);

	if (why)
		fail_msg("%s", why);
}

static void is_at(const struct demo *t, uint32_t warp, uint32_t line)
{
	assert_int_equal(t->stop.warp, warp);
	assert_int_equal(t->stop.line, line);
}

static const char *set_point(
	struct demo *t, enum soft_point_kind kind, unsigned line, const char *condition)
{
	struct soft_point p = {.id = 3, .kind = kind, .line = line, .file = "k.hip"};

	strcpy(p.condition, condition);
	return micro_points(t->s, &p, 1);
}

struct got {
	uint8_t bytes[1 << 20];
	size_t n;
};
static struct got got;

static void add(void *arg, const void *p, size_t n)
{
	(void)arg;
	assert_true(got.n + n <= sizeof(got.bytes));
	memcpy(got.bytes + got.n, p, n);
	got.n += n;
}

static const char *ask(struct demo *t, struct soft_ask q, const char *text)
{
	strcpy(q.text, text);
	got.n = 0;
	return amd_micro_ask(t->s, &q, add, NULL);
}

static struct soft_value value(struct demo *t, const char *text)
{
	const char *why = ask(t, (struct soft_ask){.what = SOFT_ASK_VALUE}, text);
	struct soft_value v;

	if (why)
		fail_msg("%s: %s", text, why);
	assert_int_equal(got.n, sizeof(v));
	memcpy(&v, got.bytes, sizeof(v));
	return v;
}

static uint32_t lds(struct demo *t, uint64_t addr)
{
	uint32_t v;

	assert_null(ask(t,
		(struct soft_ask){
			.what = SOFT_ASK_MEMORY, .space = SOFT_SHARED, .addr = addr, .size = 4},
		""));
	memcpy(&v, got.bytes, 4);
	return v;
}

static const char *put(struct demo *t, unsigned space, uint64_t addr, uint32_t lane, uint32_t v)
{
	struct soft_put p = {.space = space, .addr = addr, .lane = lane, .size = sizeof(v)};

	memcpy(p.bytes, &v, sizeof(v));
	return amd_micro_put(t->s, &p);
}

static uint32_t own(struct demo *t, unsigned space, uint64_t addr, uint32_t lane)
{
	uint32_t v;

	assert_null(ask(t,
		(struct soft_ask){.what = SOFT_ASK_MEMORY,
			.space = space,
			.addr = addr,
			.size = 4,
			.lane = lane + 1},
		""));
	memcpy(&v, got.bytes, 4);
	return v;
}

static void eight_bytes_of_arguments(struct machine *m)
{
	descriptor(m, 8, 8);
	body(m);
}

/* The descriptor claims more than there is memory. */
static void too_many_arguments(struct machine *m)
{
	descriptor(m, 8, 0x7fffffff);
	body(m);
}

/* What is set in memory of a workgroup, of a work-item, and in the arguments; the other lanes and
 * the bytes beside keep theirs, and the code goes on with it. */
static void memory_that_is_set(void **state)
{
	struct demo t;
	uint32_t before;

	(void)state;
	setup_of(&t, eight_bytes_of_arguments);
	assert_null(put(&t, SOFT_SHARED, 4 * 100, 0, 77));
	assert_int_equal(lds(&t, 4 * 100), 77);
	assert_int_equal(lds(&t, 4 * 99), 0);
	assert_int_equal(lds(&t, 4 * 101), 0);
	assert_null(put(&t, SOFT_SHARED, 4 * 200, 63, 5));
	assert_null(put(&t, SOFT_SHARED, 1020, 0, 9));
	assert_non_null(put(&t, SOFT_SHARED, 1021, 0, 1)); /* of 1024 bytes */
	assert_non_null(put(&t, SOFT_SHARED, UINT64_MAX - 1, 0, 1));
	before = own(&t, SOFT_LOCAL, 6, 12);
	assert_null(put(&t, SOFT_LOCAL, 6, 11, 0x12345678)); /* across two words */
	assert_int_equal(own(&t, SOFT_LOCAL, 6, 11), 0x12345678);
	assert_int_equal(own(&t, SOFT_LOCAL, 6, 12), before);
	assert_null(put(&t, SOFT_LOCAL, 12, 63, 1));
	assert_non_null(put(&t, SOFT_LOCAL, 13, 63, 1)); /* of 16 bytes */
	assert_non_null(put(&t, SOFT_LOCAL, UINT64_MAX, 0, 1));
	assert_non_null(put(&t, SOFT_LOCAL, 0, 64, 1)); /* no lane */
	assert_null(put(&t, SOFT_PARAM, 4, 0, 0xabcdef01));
	assert_int_equal(own(&t, SOFT_PARAM, 4, 0), 0xabcdef01);
	assert_non_null(put(&t, SOFT_PARAM, 8, 0, 1)); /* of 8 bytes */
	assert_non_null(put(&t, SOFT_GLOBAL, 0, 0, 1));
	go(&t, SOFT_STEP, 4);
	assert_int_equal(lds(&t, 4 * 100), 100); /* the work-item has written its own */
	assert_int_equal(lds(&t, 4 * 200), 5);
	go(&t, SOFT_FINISH, 0);
	assert_string_equal(put(&t, SOFT_SHARED, 0, 0, 1), "the launch has ended");
	done(&t);
}

static void arguments_that_are_not_there(void **state)
{
	struct demo t;

	(void)state;
	setup_of(&t, too_many_arguments);
	assert_null(put(&t, SOFT_PARAM, sizeof(t.m->memory) - 4, 0, 1));
	assert_non_null(put(&t, SOFT_PARAM, sizeof(t.m->memory) - 3, 0, 1));
	assert_non_null(put(&t, SOFT_PARAM, 0x7ffffff0, 0, 1));
	done(&t);
}

static void steps(void **state)
{
	struct demo t;

	(void)state;
	setup(&t);
	is_at(&t, 0, 0x1000);
	assert_int_equal(t.stop.width, 64);
	assert_int_equal(t.stop.unit, SOFT_CODE);
	assert_int_equal(t.stop.start, 0x1000);
	assert_string_equal(t.stop.text, "v_lshlrev_b32_e32 v1, 2, v0");
	assert_string_equal(t.stop.file, "src/k.hip");
	assert_int_equal(t.stop.source_line, 10);
	assert_true(t.stop.active == ALL && t.stop.live == ALL);
	go(&t, SOFT_STEP, 1);
	is_at(&t, 0, 0x1004);
	assert_int_equal(value(&t, "%v1").value[63], 252);
	assert_int_equal(lds(&t, 20), 0);
	go(&t, SOFT_STEP, 1);
	is_at(&t, 0, 0x100c);
	assert_int_equal(lds(&t, 20), 5);
	assert_int_equal(lds(&t, 4 * 64), 0); /* the other wave has not begun */
	go(&t, SOFT_STEP, 2);		      /* to behind the barrier: wave 1 comes to it, too */
	is_at(&t, 0, 0x1014);
	assert_int_equal(t.stop.step, 4);
	assert_int_equal(t.stop.total, 8);
	assert_int_equal(lds(&t, 4 * 64), 64);
	assert_non_null(ask(&t,
		(struct soft_ask){
			.what = SOFT_ASK_MEMORY, .space = SOFT_SHARED, .addr = 1022, .size = 4},
		""));
	go(&t, SOFT_FINISH, 0);
	assert_int_equal(t.stop.state, SOFT_ENDED);
	assert_int_equal(t.stop.why, SOFT_WHY_END);
	assert_int_equal(t.stop.total, 4 * 12);
	assert_non_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_REGISTERS}, ""));
	done(&t);
}

static void calls(void **state)
{
	struct soft_frame f[2];
	struct demo t;

	(void)state;
	setup(&t);
	go(&t, SOFT_STEP, 7);
	is_at(&t, 0, 0x1020);
	go(&t, SOFT_STEP, 1);
	is_at(&t, 0, 0x102c);
	assert_int_equal(t.stop.depth, 1);
	assert_string_equal(t.stop.function, "f");
	assert_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_FRAMES}, ""));
	assert_int_equal(got.n, sizeof(f));
	memcpy(f, got.bytes, sizeof(f));
	assert_int_equal(f[0].source_line, 20);
	assert_string_equal(f[1].function, "k");
	assert_int_equal(f[1].line, 0x1020);
	assert_int_equal(f[1].source_line, 13);
	go(&t, SOFT_STEP, 2);
	is_at(&t, 0, 0x1024);
	assert_int_equal(t.stop.depth, 0);
	done(&t);
	setup(&t);
	go(&t, SOFT_STEP, 7);
	go(&t, SOFT_NEXT, 1); /* the call is one instruction */
	is_at(&t, 0, 0x1024);
	assert_int_equal(value(&t, "%s20").value[0], 7);
	done(&t);
}

static void lines(void **state)
{
	struct demo t;

	(void)state;
	setup(&t);
	go(&t, SOFT_LINE, 1);
	is_at(&t, 0, 0x1004);
	go(&t, SOFT_LINE, 2);
	is_at(&t, 0, 0x1014);
	go(&t, SOFT_LINE, 1); /* the function's line is passed over */
	is_at(&t, 0, 0x1024);
	assert_int_equal(t.stop.source_line, 14);
	go(&t, SOFT_LINE, 1);
	assert_int_equal(t.stop.why, SOFT_WHY_WARP_ENDED);
	is_at(&t, 1, 0x1014);
	done(&t);
}

static void breakpoints(void **state)
{
	struct demo t;

	(void)state;
	setup(&t);
	assert_null(set_point(&t, SOFT_AT_OFFSET, 1 + 0xc, "%v0 == 101 && %v1 == 404"));
	go(&t, SOFT_RUN, 0);
	assert_int_equal(t.stop.why, SOFT_WHY_POINT);
	assert_int_equal(t.stop.id, 3);
	is_at(&t, 1, 0x100c);
	assert_true(t.stop.hit == 1ull << 37 && t.stop.lane == 37);
	assert_int_equal(t.stop.thread[0], 101);
	go(&t, SOFT_RUN, 0);
	assert_int_equal(t.stop.block[0], 1);
	go(&t, SOFT_RUN, 0);
	assert_int_equal(t.stop.state, SOFT_ENDED);
	done(&t);
	setup(&t);
	assert_null(set_point(&t, SOFT_AT_SOURCE, 15, "threadIdx.x == 64 && blockIdx.x == 1"));
	go(&t, SOFT_RUN, 0);
	is_at(&t, 1, 0x102c); /* the next line that there is: 20 */
	assert_int_equal(t.stop.block[0], 1);
	assert_null(set_point(&t, SOFT_AT_LINE, 0x1021, "")); /* the next instruction */
	go(&t, SOFT_RUN, 0);
	is_at(&t, 1, 0x1024);
	assert_non_null(set_point(&t, SOFT_AT_LINE, 0x1024, "%v300 == 1"));
	assert_non_null(set_point(&t, SOFT_AT_LINE, 0x1024, "%s102 == 1"));
	assert_null(set_point(&t, SOFT_AT_LINE, 0x9000, ""));
	done(&t);
}

static void watched(void **state)
{
	struct soft_point p = {
		.id = 4, .kind = SOFT_WATCH, .space = SOFT_SHARED, .addr = 4 * 70, .size = 4};
	struct demo t;

	(void)state;
	setup(&t);
	assert_null(micro_points(t.s, &p, 1));
	for (uint32_t group = 0; group < 2; group++) {
		uint32_t after;

		go(&t, SOFT_RUN, 0);
		assert_int_equal(t.stop.why, SOFT_WHY_WATCH);
		assert_int_equal(t.stop.change.block[0], group);
		assert_int_equal(t.stop.change.thread[0], 70);
		assert_int_equal(t.stop.change.line, 0x1004);
		assert_int_equal(t.stop.change.source_line, 11);
		assert_string_equal(t.stop.change.text, "ds_write_b32 v1, v0");
		memcpy(&after, t.stop.change.after, 4);
		assert_int_equal(after, 70);
		assert_int_equal(t.stop.lane, 6);
	}
	go(&t, SOFT_RUN, 0);
	assert_int_equal(t.stop.state, SOFT_ENDED);
	done(&t);
	p.addr = 0; /* 0 is written over 0: no change, and yet a touch */
	for (unsigned touches = 0; touches < 2; touches++) {
		p.kind = touches ? SOFT_WATCH_TOUCH : SOFT_WATCH;
		setup(&t);
		assert_null(micro_points(t.s, &p, 1));
		go(&t, SOFT_RUN, 0);
		assert_int_equal(t.stop.state, touches ? SOFT_STOPPED : SOFT_ENDED);
		done(&t);
	}
}

/* A wave that was stepped before its turn goes first again when the launch is repeated. */
static void turns(void **state)
{
	const uint32_t block[3] = {0, 0, 0}, item[3] = {64, 0, 0};
	struct soft_turn kept[4];
	uint64_t first, total;
	struct demo t;
	unsigned n;

	(void)state;
	setup(&t);
	assert_null(micro_focus(t.s, block, item, &first, &t.stop));
	assert_true(first == UINT64_MAX);
	is_at(&t, 1, 0x1000);
	go(&t, SOFT_STEP, 2);
	is_at(&t, 1, 0x100c);
	assert_int_equal(lds(&t, 4 * 64), 64);
	assert_int_equal(lds(&t, 4), 0);
	total = t.stop.total;
	n = 0;
	memcpy(kept, micro_turns(t.s, &n), sizeof(*kept));
	assert_int_equal(n, 1);
	leave(&t);
	begin(&t, 0, kept, n);
	go(&t, SOFT_TO, total);
	is_at(&t, 1, 0x100c);
	assert_int_equal(lds(&t, 4), 0);
	done(&t);
}

static void the_chosen_workgroup_begins(void **state)
{
	const uint32_t block[3] = {1, 0, 0}, item[3] = {3, 0, 0};
	struct soft_block blocks;
	uint64_t first;
	struct demo t;

	(void)state;
	setup(&t);
	assert_null(micro_focus(t.s, block, item, &first, &t.stop));
	assert_int_equal(first, 1);
	leave(&t);
	begin(&t, first, NULL, 0);
	assert_int_equal(t.stop.block[0], 1);
	go(&t, SOFT_FINISH, 0);
	assert_int_equal(t.stop.total, 4 * 12);
	assert_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_BLOCKS}, ""));
	assert_int_equal(got.n, sizeof(blocks)); /* the other one ran, too */
	memcpy(&blocks, got.bytes, sizeof(blocks));
	assert_int_equal(blocks.state, SOFT_BLOCK_ENDED);
	assert_int_equal(blocks.count, 2);
	done(&t);
}

static void values(void **state)
{
	struct demo t;
	struct soft_value v;

	(void)state;
	setup(&t);
	go(&t, SOFT_STEP, 1);
	v = value(&t, "%exec");
	assert_true(v.value[9] == ALL && v.lanes == ALL && v.bytes == 8);
	assert_int_equal(value(&t, "%tid.x + 1000 * %laneid").value[5], 5005);
	assert_int_equal(value(&t, "blockDim.x * gridDim.x").value[0], 256);
	v = value(&t, "%s0_1"); /* the arguments' address */
	assert_true(v.value[0] == (uintptr_t)t.m->memory && v.bytes == 8);
	is_at(&t, 0, 0x1004);
	*(uint32_t *)t.m->memory = 0x40490fdb;
	v = value(&t, "f32[%s0_1]");
	assert_true(v.type == SOFT_FLOAT && v.value[1] == 0x40490fdb);
	assert_true(value(&t, "u32[8]").lanes == 0); /* no memory */
	v = value(&t, "%v0_1");			     /* low register first */
	assert_true(v.value[3] == (3 | 12ull << 32));
	assert_non_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_VALUE}, "%v128"));
	assert_non_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_VALUE}, "%v1_3"));
	assert_non_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_VALUE}, "%r1"));
	assert_non_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_VALUE}, "nothing"));
	assert_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_REGISTERS}, "%v?"));
	assert_int_equal(got.n, 10 * sizeof(v));
	done(&t);
}

/* An address that is no memory, in one lane. */
static void wild(struct machine *m)
{
	insn(m, 0x24020090, 0, "v_lshlrev_b32_e32 v1, 16, v0");
	insn(m, 0xdc708000, 0x00000001, "global_store_dword v1, v0, s[0:1]");
	end(m);
}

static void faults_stop_before(void **state)
{
	struct demo t;

	(void)state;
	setup_of(&t, wild);
	go(&t, SOFT_RUN, 0);
	assert_int_equal(t.stop.state, SOFT_FAULTED);
	is_at(&t, 0, 0x1004);
	assert_int_equal(t.stop.lane, 1);
	assert_int_equal(t.stop.step, 1);
	assert_non_null(strstr(t.stop.sentence, "write of 4 bytes at 0x"));
	assert_int_equal(value(&t, "%v1").value[1], 0x10000);
	go(&t, SOFT_FINISH, 0);
	assert_int_equal(t.stop.state, SOFT_ENDED);
	assert_int_equal(t.stop.why, SOFT_WHY_FAULT);
	done(&t);
	setup_of(&t, wild); /* left in the middle of it */
	go(&t, SOFT_RUN, 0);
	done(&t);
}

static void lanes(void **state)
{
	struct soft_lane l[64];
	struct demo t;

	(void)state;
	setup(&t);
	t.m->d.workgroup[0] = 100;
	leave(&t);
	t.m->d.grid[0] = 200;
	{
		const struct soft_start start = {
			.kernel = "k", .grid = {2, 1, 1}, .block = {100, 1, 1}};

		t.s = amd_micro_new(&start);
		t.d = t.m->d;
		amd_micro_begin(t.s, &t.d, NULL, 0);
		assert_int_equal(pthread_create(&t.thread, NULL, run, &t), 0);
		assert_true(micro_begun(t.s, 10000, &t.stop));
	}
	is_at(&t, 0, 0x1000); /* without a code object: as if it began there */
	assert_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_LANES}, ""));
	assert_int_equal(got.n, sizeof(l));
	go(&t, SOFT_STEP, 100); /* the wave ends, the next one has 36 lanes */
	is_at(&t, 1, 0x1014);
	assert_true(t.stop.live == (1ull << 36) - 1 && t.stop.active == t.stop.live);
	assert_null(ask(&t, (struct soft_ask){.what = SOFT_ASK_LANES}, ""));
	memcpy(l, got.bytes, sizeof(l));
	assert_int_equal(l[35].state, SOFT_LANE_ACTIVE);
	assert_int_equal(l[35].thread[0], 99);
	assert_int_equal(l[36].state, SOFT_LANE_NONE);
	done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(steps),
		cmocka_unit_test(memory_that_is_set),
		cmocka_unit_test(arguments_that_are_not_there), cmocka_unit_test(calls),
		cmocka_unit_test(lines), cmocka_unit_test(breakpoints), cmocka_unit_test(watched),
		cmocka_unit_test(turns), cmocka_unit_test(the_chosen_workgroup_begins),
		cmocka_unit_test(values), cmocka_unit_test(faults_stop_before),
		cmocka_unit_test(lanes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
