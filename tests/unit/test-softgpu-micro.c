/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope on a kernel whose every step can be worked out by hand: 2 blocks of 2 warps; a
 * thread computes 3 * tid, puts it into shared memory, waits, adds 100 unless tid < 4, and stores
 * that.
 */
#include "ptx-test.h"
#include "softgpu/micro/micro.h"

#include <unistd.h>

/* Line 4 is the .file. */
#define TEXT                                                                                                     \
	PTX_HEAD                                                                                                 \
	".file 1 \"/src/demo/k.cu\"\n"                                                                           \
	".visible .entry k(.param .u64 out, .param .u32 n) {\n"                                                  \
	".reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>; .reg .f32 %f<4>; .shared .align 4 .b32 tile[64];\n" \
	".loc 1 10 0\n"                                                                                          \
	"	ld.param.u64 %d0, [out];\n" /* 8 */                                                              \
	"	mov.u32 %r0, %tid.x;\n"                                                                                \
	"	mul.lo.u32 %r1, %r0, 3;\n"                                                                             \
	".loc 1 11 0\n"                                                                                          \
	"	cvt.rn.f32.u32 %f1, %r1;\n" /* 12 */                                                             \
	"	shl.b32 %r2, %r0, 2;\n"                                                                                \
	"	mov.u32 %r3, tile;\n"                                                                                  \
	"	add.u32 %r3, %r3, %r2;\n"                                                                              \
	"	st.shared.u32 [%r3], %r1;\n" /* 16 */                                                            \
	"	bar.sync 0;\n"                                                                                         \
	".loc 1 12 0\n"                                                                                          \
	"	setp.lt.u32 %p1, %r0, 4;\n" /* 19 */                                                             \
	"	@%p1 bra L;\n"                                                                                         \
	"	add.u32 %r1, %r1, 100;\n" /* 21 */                                                               \
	"L:\n"                                                                                                   \
	"	mul.wide.u32 %d1, %r0, 4;\n" /* 23 */                                                            \
	"	add.u64 %d1, %d1, %d0;\n"                                                                              \
	"	st.global.u32 [%d1], %r1;\n" /* 25 */                                                            \
	"	ret;\n"                                                                                                \
	"}\n"
#define BLOCK_STEPS 32 /* of both warps of a block: 16 instructions each */

struct demo {
	struct ptx_module *m;
	uint32_t *out;
	struct soft_session *s;
	struct soft_stop stop;
	uint64_t params[2];
};

static void begin(struct demo *d, const char *text, uint64_t first_block,
	const struct soft_turn *turns, unsigned n)
{
	struct ptx_launch l = {.fn = ptx_kernel_by_name(d->m, "k"),
		.grid = {2, 1, 1},
		.block = {64, 1, 1},
		.params = d->params,
		.first_block = first_block};
	const char *why = micro_start(&l, text, strlen(text), turns, n, &d->s, &d->stop);

	assert_null(why);
}

static void setup(struct demo *d)
{
	d->m = load(TEXT);
	d->out = device(256);
	d->params[0] = (uint64_t)(uintptr_t)d->out;
	begin(d, TEXT, 0, NULL, 0);
}

static void done(struct demo *d)
{
	micro_end(d->s);
	ptx_free(d->m);
}

static void go(struct demo *d, enum soft_how how, uint64_t n)
{
	const struct soft_go g = {.how = how, .n = n};
	const char *why = micro_go(d->s, &g, &d->stop);

	if (why)
		fail_msg("%s", why);
}

static void point(struct demo *d, unsigned id, enum soft_point_kind kind, unsigned line,
	const char *file, const char *condition)
{
	struct soft_point p = {.id = id, .kind = kind, .line = line};
	const char *why;

	snprintf(p.file, sizeof(p.file), "%s", file);
	snprintf(p.condition, sizeof(p.condition), "%s", condition);
	why = micro_points(d->s, &p, 1);
	if (why)
		fail_msg("%s", why);
}

struct got {
	uint8_t bytes[1 << 20];
	size_t n;
};
static struct got got;

static void add(void *arg, const void *p, size_t n)
{
	assert_true(got.n + n <= sizeof(got.bytes));
	memcpy(got.bytes + got.n, p, n);
	got.n += n;
}

static const char *ask(struct demo *d, enum soft_question what, unsigned space, uint64_t addr,
	uint64_t size, const char *text)
{
	struct soft_ask q = {.what = what, .space = space, .addr = addr, .size = size};

	snprintf(q.text, sizeof(q.text), "%s", text);
	got.n = 0;
	return micro_ask(d->s, &q, add, NULL);
}

static struct soft_value value(struct demo *d, const char *text)
{
	struct soft_value v;
	const char *why = ask(d, SOFT_ASK_VALUE, 0, 0, 0, text);

	if (why)
		fail_msg("%s", why);
	assert_int_equal(got.n, sizeof(v));
	memcpy(&v, got.bytes, sizeof(v));
	return v;
}

static uint32_t shared_word(struct demo *d, uint64_t addr)
{
	uint32_t v;

	assert_null(ask(d, SOFT_ASK_MEMORY, SOFT_SHARED, addr, 4, ""));
	assert_int_equal(got.n, 4);
	memcpy(&v, got.bytes, 4);
	return v;
}

static void stands(const struct demo *d, unsigned block, unsigned thread, unsigned line,
	uint64_t step, uint64_t total)
{
	assert_int_equal(d->stop.state, SOFT_STOPPED);
	assert_int_equal(d->stop.block[0], block);
	assert_int_equal(d->stop.thread[0], thread);
	assert_int_equal(d->stop.line, line);
	assert_int_equal(d->stop.step, step);
	assert_int_equal(d->stop.total, total);
}

static void steps(void **state)
{
	struct demo d;

	setup(&d);
	assert_int_equal(d.stop.why, SOFT_WHY_BEGIN);
	stands(&d, 0, 0, 8, 0, 0);
	assert_int_equal(d.stop.source_line, 10);
	assert_string_equal(d.stop.file, "/src/demo/k.cu");
	assert_string_equal(d.stop.text, "ld.param.u64 %d0, [out];");
	assert_string_equal(d.stop.kernel, "k");
	go(&d, SOFT_STEP, 3);
	assert_int_equal(d.stop.why, SOFT_WHY_STEP);
	stands(&d, 0, 0, 12, 3, 3);
	assert_int_equal(d.stop.source_line, 11);
	assert_int_equal(d.stop.active, 0xffffffffu);
	assert_int_equal(value(&d, "%r1").value[5], 15);
	assert_int_equal(value(&d, "%d0").value[0], (uint64_t)(uintptr_t)d.out);
	go(&d, SOFT_STEP, 1);
	assert_int_equal(value(&d, "%f1").value[5], 0x41700000u); /* 15.0f */
	assert_int_equal(value(&d, "%f1").type, SOFT_FLOAT);
	go(&d, SOFT_STEP, 4);
	stands(&d, 0, 0, 17, 8, 8);
	/* the barrier: warp 1 runs its 9 instructions up to it, then warp 0 goes on */
	go(&d, SOFT_STEP, 1);
	stands(&d, 0, 0, 19, 9, 18);
	assert_int_equal(shared_word(&d, 5 * 4), 15);
	assert_int_equal(shared_word(&d, 40 * 4), 120);
	assert_non_null(ask(&d, SOFT_ASK_MEMORY, SOFT_SHARED, 64 * 4 - 2, 4, ""));
	go(&d, SOFT_STEP, 2);
	stands(&d, 0, 0, 21, 11, 20);
	assert_int_equal(d.stop.active, 0xfffffff0u);
	go(&d, SOFT_STEP, 1);
	stands(&d, 0, 0, 23, 12, 21);
	assert_int_equal(d.stop.active, 0xffffffffu);
	assert_int_equal(value(&d, "%r1").value[3], 9);
	assert_int_equal(value(&d, "%r1").value[4], 112);
	/* 4 more end the warp: warp 1 has yet to do what is behind the barrier */
	go(&d, SOFT_STEP, 4);
	assert_int_equal(d.stop.why, SOFT_WHY_WARP_ENDED);
	stands(&d, 0, 32, 19, 9, 25);
	assert_int_equal(d.out[31], 193);
	assert_int_equal(d.out[32], 0);
	go(&d, SOFT_FINISH, 0);
	assert_int_equal(d.stop.state, SOFT_ENDED);
	assert_int_equal(d.stop.total, 2 * BLOCK_STEPS);
	assert_int_equal(d.out[63], 289);
	done(&d);
}

static void lines(void **state)
{
	struct demo d;

	setup(&d);
	go(&d, SOFT_LINE, 1); /* source 10 -> 11 */
	stands(&d, 0, 0, 12, 3, 3);
	go(&d, SOFT_LINE, 1); /* 11 -> 12, which is behind the barrier: warp 1 comes there, too */
	stands(&d, 0, 0, 19, 9, 18);
	go(&d, SOFT_LINE, 1); /* no other line: the warp ends */
	assert_int_equal(d.stop.why, SOFT_WHY_WARP_ENDED);
	stands(&d, 0, 32, 19, 9, 25);
	done(&d);
	setup(&d);
	go(&d, SOFT_LINE, 2);
	stands(&d, 0, 0, 19, 9, 18);
	done(&d);
}

static void breakpoints(void **state)
{
	struct demo d;

	setup(&d);
	point(&d, 7, SOFT_AT_LINE, 12, "", "%tid.x == 35 && %r1 == 35 * 3");
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.why, SOFT_WHY_POINT);
	assert_int_equal(d.stop.id, 7);
	stands(&d, 0, 35, 12, 3, 12);
	go(&d, SOFT_RUN, 0);
	stands(&d, 1, 35, 12, 3, BLOCK_STEPS + 12);
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.state, SOFT_ENDED);
	done(&d);

	setup(&d);
	point(&d, 1, SOFT_AT_SOURCE, 11, "k.cu", "");
	go(&d, SOFT_RUN, 0);
	stands(&d, 0, 0, 12, 3, 3);
	go(&d, SOFT_RUN, 0);
	stands(&d, 0, 32, 12, 3, 12);
	/* a line that is no instruction: the next one; a source line that is none, too */
	point(&d, 2, SOFT_AT_LINE, 22, "", "");
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.line, 23);
	point(&d, 3, SOFT_AT_SOURCE, 2, "demo/k.cu", "");
	go(&d, SOFT_RUN, 0);
	stands(&d, 1, 0, 8, 0, BLOCK_STEPS); /* line 10 is the first that there is */
	done(&d);
}

static void watch(void **state)
{
	struct soft_point p = {
		.id = 3, .kind = SOFT_WATCH, .space = SOFT_SHARED, .addr = 20, .size = 4};
	struct demo d;

	setup(&d);
	assert_null(micro_points(d.s, &p, 1));
	for (unsigned block = 0; block < 2; block++) {
		go(&d, SOFT_RUN, 0);
		assert_int_equal(d.stop.why, SOFT_WHY_WATCH);
		stands(&d, block, 5, 17, 8, block * BLOCK_STEPS + 8);
		assert_int_equal(d.stop.change.thread[0], 5);
		assert_int_equal(d.stop.change.block[0], block);
		assert_int_equal(d.stop.change.line, 16);
		assert_int_equal(d.stop.change.source_line, 11);
		assert_string_equal(d.stop.change.text, "st.shared.u32 [%r3], %r1;");
		assert_int_equal(d.stop.change.size, 4);
		assert_int_equal(d.stop.change.before[0], 0);
		assert_int_equal(d.stop.change.after[0], 15);
		assert_int_equal(d.stop.change.lanes, 1);
	}
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.state, SOFT_ENDED);
	done(&d);
	/* global: 2 of its bytes; block 1 stores the same again */
	setup(&d);
	p = (struct soft_point){.id = 4,
		.kind = SOFT_WATCH,
		.space = SOFT_GLOBAL,
		.addr = d.params[0] + 40 * 4 + 1,
		.size = 2};
	d.out[40] = 0x0500;
	assert_null(micro_points(d.s, &p, 1));
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.why, SOFT_WHY_WATCH);
	assert_int_equal(d.stop.change.thread[0], 40);
	assert_int_equal(d.stop.change.line, 25);
	assert_int_equal(d.stop.change.addr, d.params[0] + 161);
	assert_int_equal(d.stop.change.size, 2);
	assert_int_equal(d.stop.change.before[0], 5);
	assert_int_equal(d.stop.change.after[0], 0); /* 40 * 3 + 100 = 0xdc */
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.state, SOFT_ENDED);
	done(&d);
}

static void turns(void **state)
{
	const uint32_t block[3] = {0}, thread[3] = {40, 0, 0}, other[3] = {1, 0, 0},
		       none[3] = {64, 0, 0};
	const struct soft_turn *t;
	struct soft_turn copy[4];
	uint64_t first;
	struct demo d;
	unsigned n;

	setup(&d);
	assert_null(micro_focus(d.s, block, thread, &first, &d.stop));
	assert_int_equal(first, UINT64_MAX);
	stands(&d, 0, 40, 8, 0, 0);
	go(&d, SOFT_STEP, 2);
	stands(&d, 0, 40, 10, 2, 2);
	assert_int_equal(value(&d, "%r0").value[8], 40);
	go(&d, SOFT_STEP, 7); /* over the barrier: warp 0 runs its 9, warp 1 goes first again */
	stands(&d, 0, 40, 19, 9, 18);
	t = micro_turns(d.s, &n);
	assert_int_equal(n, 1);
	memcpy(copy, t, sizeof(*t));
	assert_non_null(micro_focus(d.s, block, none, &first, &d.stop));
	assert_null(micro_focus(d.s, other, thread, &first, &d.stop));
	assert_int_equal(first, 1);
	micro_end(d.s);
	/* the same again, by the turns: warp 1 is the first to step */
	begin(&d, TEXT, 0, copy, n);
	assert_int_equal(d.stop.thread[0], 32);
	go(&d, SOFT_TO, 18);
	stands(&d, 0, 32, 19, 9, 18);
	done(&d);
	/* another block first */
	d.m = load(TEXT);
	begin(&d, TEXT, 1, NULL, 0);
	stands(&d, 1, 0, 8, 0, 0);
	go(&d, SOFT_STEP, 16);
	go(&d, SOFT_STEP, 7);
	assert_int_equal(d.stop.why, SOFT_WHY_WARP_ENDED);
	stands(&d, 0, 0, 8, 0, BLOCK_STEPS);
	done(&d);
}

static void back(void **state)
{
	const struct soft_go target = {.how = SOFT_TO_STEP, .n = 4, .block = 1, .warp = 1};
	struct demo d;

	setup(&d);
	assert_null(micro_go(d.s, &target, &d.stop));
	stands(&d, 1, 32, 13, 4, BLOCK_STEPS + 9 + 4);
	micro_end(d.s);
	begin(&d, TEXT, 0, NULL, 0);
	point(&d, 9, SOFT_AT_LINE, 16, "", "%tid.x % 32 == 2");
	go(&d, SOFT_SCAN, BLOCK_STEPS + 9); /* 7, 16 and block 1's 7 lie before */
	assert_int_equal(d.stop.found, BLOCK_STEPS + 7);
	micro_end(d.s);
	begin(&d, TEXT, 0, NULL, 0);
	point(&d, 9, SOFT_AT_LINE, 16, "", "%tid.x % 32 == 2");
	go(&d, SOFT_TO, BLOCK_STEPS + 7);
	assert_int_equal(d.stop.why, SOFT_WHY_POINT);
	stands(&d, 1, 2, 16, 7, BLOCK_STEPS + 7);
	done(&d);
}

static void fault(void **state)
{
	struct demo d;

	setup(&d);
	micro_end(d.s);
	d.params[0] = 0;
	begin(&d, TEXT, 0, NULL, 0);
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.state, SOFT_FAULTED);
	assert_int_equal(d.stop.line, 25);
	assert_int_equal(d.stop.thread[0], 0);
	assert_non_null(strstr(d.stop.sentence, "illegal address"));
	assert_int_equal(d.stop.step, 14);		  /* those before it: 16 with it and ret */
	assert_int_equal(value(&d, "%r1").value[4], 112); /* everything is still there */
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.state, SOFT_ENDED);
	assert_int_equal(d.stop.why, SOFT_WHY_FAULT);
	done(&d);
}

static void answers(void **state)
{
	const struct soft_warp *w = (const void *)got.bytes;
	const struct soft_lane *l = (const void *)got.bytes;
	const struct soft_block *b = (const void *)got.bytes;
	const struct soft_value *v = (const void *)got.bytes;
	const struct soft_line *line = (const void *)got.bytes;
	struct demo d;

	setup(&d);
	go(&d, SOFT_STEP, 11);
	assert_null(ask(&d, SOFT_ASK_WARPS, 0, 0, 0, ""));
	assert_int_equal(got.n, 2 * sizeof(*w));
	assert_int_equal(w[0].line, 21);
	assert_int_equal(w[0].active, 0xfffffff0u);
	assert_int_equal(w[1].line, 19);
	assert_int_equal(w[1].first[0], 32);
	assert_int_equal(w[1].step, 9);
	assert_null(ask(&d, SOFT_ASK_LANES, 0, 0, 0, ""));
	assert_int_equal(got.n, 32 * sizeof(*l));
	assert_int_equal(l[3].state, SOFT_LANE_DIVERGED);
	assert_int_equal(l[3].line, 23);
	assert_int_equal(l[4].state, SOFT_LANE_ACTIVE);
	assert_int_equal(l[4].line, 21);
	assert_null(ask(&d, SOFT_ASK_BLOCKS, 0, 0, 0, ""));
	assert_int_equal(got.n, 2 * sizeof(*b));
	assert_int_equal(b[0].state, SOFT_BLOCK_RUNS);
	assert_int_equal(b[1].state, SOFT_BLOCK_WAITS);
	assert_null(ask(&d, SOFT_ASK_REGISTERS, 0, 0, 0, "%p*"));
	assert_int_equal(got.n, sizeof(*v));
	assert_string_equal(v->name, "%p1");
	assert_int_equal(v->type, SOFT_BOOL);
	assert_int_equal(v->value[3], 1);
	assert_int_equal(v->value[4], 0);
	assert_null(ask(&d, SOFT_ASK_LINES, 0, 19, 21, ""));
	assert_int_equal(got.n, 3 * sizeof(*line));
	assert_string_equal(line[2].text, " add.u32 %r1, %r1, 100;");
	assert_true(line[2].here && !line[1].here);
	assert_int_equal(line[2].source_line, 12);
	assert_int_equal(value(&d, "tile + 4 * %laneid").value[7], 28);
	assert_string_equal(value(&d, "tile").declared, "shared");
	assert_int_equal(value(&d, "-(%tid.x - 2) * 3 % 5 + (1 << 4 | 1)").value[9],
		16); /* -7 * 3 = -21, % 5 = -1; 17 */
	assert_int_equal(value(&d, "%f1 / 2 >= 1.5 && !%p1").value[4], 1);
	assert_string_equal(
		ask(&d, SOFT_ASK_VALUE, 0, 0, 0, "%r77"), "there is no register %r77 here");
	assert_non_null(ask(&d, SOFT_ASK_VALUE, 0, 0, 0, "(%r1"));
	assert_non_null(ask(&d, SOFT_ASK_VALUE, 0, 0, 0, ""));
	assert_non_null(ask(&d, (enum soft_question)99, 0, 0, 0, ""));
	go(&d, SOFT_STEP, 100);
	go(&d, SOFT_FINISH, 0);
	assert_non_null(ask(&d, SOFT_ASK_WARPS, 0, 0, 0, ""));
	done(&d);
}

#define CALLS                                                                                      \
	PTX_HEAD                                                                                   \
	".func (.param .b32 r) twice(.param .b32 a) {\n" /* 4 */                                   \
	".reg .b32 %r<3>;\n"                                                                       \
	"ld.param.b32 %r1, [a];\n" /* 6 */                                                         \
	"add.u32 %r2, %r1, %r1;\n"                                                                 \
	"st.param.b32 [r], %r2;\n"                                                                 \
	"ret;\n"                                                                                   \
	"}\n"                                                                                      \
	".visible .entry k(.param .u64 out, .param .u32 n) {\n" /* 11 */                           \
	".reg .b32 %r<3>; .param .b32 a; .param .b32 r;\n"                                         \
	"mov.u32 %r1, %tid.x;\n" /* 13 */                                                          \
	"st.param.b32 [a], %r1;\n"                                                                 \
	"call (r), twice, (a);\n" /* 15 */                                                         \
	"ld.param.b32 %r2, [r];\n"                                                                 \
	"ret;\n"                                                                                   \
	"}\n"

static void calls(void **state)
{
	struct demo d = {.m = load(CALLS)};

	begin(&d, CALLS, 0, NULL, 0);
	go(&d, SOFT_NEXT, 2);
	stands(&d, 0, 0, 15, 2, 2);
	go(&d, SOFT_NEXT, 1); /* over 4 instructions of twice */
	stands(&d, 0, 0, 16, 7, 7);
	go(&d, SOFT_STEP, 1);
	assert_int_equal(value(&d, "%r2").value[9], 18);
	micro_end(d.s);
	begin(&d, CALLS, 0, NULL, 0);
	go(&d, SOFT_STEP, 5);
	stands(&d, 0, 0, 8, 5, 5);
	assert_string_equal(d.stop.function, "twice");
	assert_string_equal(d.stop.kernel, "k");
	assert_int_equal(d.stop.depth, 1);
	assert_int_equal(value(&d, "%r2").value[3], 6); /* twice's */
	go(&d, SOFT_NEXT, 2);				/* out of it */
	stands(&d, 0, 0, 16, 7, 7);
	done(&d);
}

/* A line of source in two kernels: the condition is about the registers of the one that runs. */
static void one_line_in_two_kernels(void **state)
{
	static const char text[] = PTX_HEAD
		".file 1 \"h.cuh\"\n"
		".visible .entry a() {\n.reg .b32 %r<4>;\n.loc 1 5 0\nmov.u32 %r1, %laneid;\n.loc 1 6 0\nadd.u32 %r2, %r1, 0;\nret;\n}\n"
		".visible .entry k(.param .u64 out, .param .u32 n) {\n.reg .b32 %r<9>;\n"
		"mov.u32 %r8, 99; mov.u32 %r7, 98;\n" /* other registers come first in the frame */
		".loc 1 5 0\nmov.u32 %r1, %laneid;\n.loc 1 6 0\nadd.u32 %r2, %r1, 0;\nret;\n}\n";
	struct demo d = {.m = load(text)};

	begin(&d, text, 0, NULL, 0);
	point(&d, 1, SOFT_AT_SOURCE, 6, "h.cuh", "%r1 == 7");
	go(&d, SOFT_RUN, 0);
	assert_int_equal(d.stop.why, SOFT_WHY_POINT);
	assert_int_equal(d.stop.lane, 7);
	assert_int_equal(d.stop.line, 19);
	done(&d);
}

/* ... or of the function that is called: its %r1 is laneid + 1. */
static void one_line_in_a_callee(void **state)
{
	static const char text[] = PTX_HEAD
		".file 1 \"h.cuh\"\n"
		".func f(.param .b32 a) {\n.reg .b32 %r<4>;\nld.param.b32 %r1, [a];\n.loc 1 6 0\nadd.u32 %r2, %r1, 0;\nret;\n}\n"
		".visible .entry k(.param .u64 out, .param .u32 n) {\n.reg .b32 %r<9>; .param .b32 a;\n"
		"mov.u32 %r8, 99; mov.u32 %r7, 98; mov.u32 %r1, %laneid;\n.loc 1 6 0\nadd.u32 %r2, %r1, 1;\n.loc 1 7 0\n"
		"st.param.b32 [a], %r2;\ncall f, (a);\nret;\n}\n";
	struct demo d = {.m = load(text)};

	begin(&d, text, 0, NULL, 0);
	point(&d, 1, SOFT_AT_SOURCE, 6, "h.cuh", "%r1 == 7");
	go(&d, SOFT_RUN, 0);
	assert_string_equal(d.stop.function, "k");
	assert_int_equal(d.stop.lane, 7);
	go(&d, SOFT_RUN, 0);
	assert_string_equal(d.stop.function, "f");
	assert_int_equal(d.stop.lane, 6);
	done(&d);
}

/* Blocks that are all there: another one's thread is chosen at once. */
static void blocks_together(void **state)
{
	const uint32_t block[3] = {1, 0, 0}, thread[3] = {40, 0, 0};
	const struct soft_block *b = (const void *)got.bytes;
	uint64_t first;
	struct demo d;

	for (unsigned clusters = 0; clusters < 2; clusters++) {
		setup(&d);
		micro_end(d.s);
		struct ptx_launch l = {.fn = ptx_kernel_by_name(d.m, "k"),
			.grid = {2, 1, 1},
			.block = {64, 1, 1},
			.params = d.params,
			.cooperative = !clusters};
		if (clusters)
			l.cluster[0] = 2, l.cluster[1] = l.cluster[2] = 1;
		assert_null(micro_start(&l, TEXT, strlen(TEXT), NULL, 0, &d.s, &d.stop));
		stands(&d, 0, 0, 8, 0, 0);
		assert_null(micro_focus(d.s, block, thread, &first, &d.stop));
		assert_int_equal(first, UINT64_MAX);
		go(&d, SOFT_STEP, 2);
		stands(&d, 1, 40, 10, 2, 2);
		assert_int_equal(value(&d, "%ctaid.x * 100 + %r0").value[8], 140);
		assert_null(ask(&d, SOFT_ASK_BLOCKS, 0, 0, 0, ""));
		assert_int_equal(got.n, 2 * sizeof(*b));
		assert_int_equal(b[0].state, SOFT_BLOCK_RUNS);
		assert_int_equal(b[1].state, SOFT_BLOCK_RUNS);
		point(&d, 5, SOFT_AT_LINE, 26, "", "%ctaid.x == 0 && %tid.x == 63");
		go(&d, SOFT_RUN, 0);
		assert_int_equal(d.stop.why, SOFT_WHY_POINT);
		assert_int_equal(d.stop.block[0], 0);
		assert_int_equal(d.stop.thread[0], 63);
		go(&d, SOFT_FINISH, 0);
		assert_int_equal(d.stop.state, SOFT_ENDED);
		assert_int_equal(d.stop.total, 2 * BLOCK_STEPS);
		assert_int_equal(d.out[63], 289);
		done(&d);
	}
}

/* What kernels print comes once, however often they were begun. */
static void printing(void **state)
{
	static const char text[] = PTX_HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
		".global .align 1 .b8 fmt[4] = {104, 105, 10, 0};\n"
		".visible .entry k(.param .u64 out, .param .u32 n) {\n.reg .b64 %d<4>; .param .b64 a; .param .b64 b; .param .b32 r;\n"
		"mov.u64 %d1, fmt; cvta.global.u64 %d1, %d1; st.param.b64 [a], %d1; mov.u64 %d2, 0; st.param.b64 [b], %d2;\n"
		"call (r), vprintf, (a, b);\nret;\n}\n";
	struct demo d = {.m = load(text)};
	char name[] = "/tmp/test-softgpu-micro-XXXXXX", line[16];
	int file = mkstemp(name), out = dup(1);
	FILE *f;
	unsigned n = 0;

	fflush(stdout);
	assert_true(file >= 0 && out >= 0 && dup2(file, 1) == 1);
	for (unsigned k = 0; k < 3; k++) {
		begin(&d, text, 0, NULL, 0);
		if (k == 1)
			go(&d, SOFT_STEP, 12); /* 8 instructions: the first warp has printed, and
						  the launch is given up */
		if (k == 2)
			go(&d, SOFT_FINISH, 0);
		micro_end(d.s);
	}
	fflush(stdout);
	dup2(out, 1);
	f = fopen(name, "r");
	while (fgets(line, sizeof(line), f)) {
		assert_string_equal(line, "hi\n");
		n++;
	}
	fclose(f);
	close(file);
	close(out);
	remove(name);
	assert_int_equal(n, 128);
	ptx_free(d.m);
}

/* A loop of a million rounds is not waited for. */
static void time_is_up(void **state)
{
	static const char text[] = PTX_HEAD
		".visible .entry k(.param .u64 out, .param .u32 n) {\n.reg .b32 %r<2>; .reg .pred %p<2>;\n"
		"mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 100000000;\n@%p1 bra L;\nret;\n}\n";
	struct soft_go g = {.how = SOFT_FINISH, .ms = 20};
	struct demo d = {.m = load(text)};
	uint64_t total;

	begin(&d, text, 0, NULL, 0);
	assert_null(micro_go(d.s, &g, &d.stop));
	assert_int_equal(d.stop.state, SOFT_BUSY);
	total = d.stop.total;
	g.how = SOFT_ON;
	assert_null(micro_go(d.s, &g, &d.stop));
	assert_int_equal(d.stop.state, SOFT_BUSY);
	assert_true(d.stop.total > total && total);
	done(&d);
}

/* Its lines, by number and by the function's name; where it is; what line of the source each is of.
 */
static void listing(void **state)
{
	struct soft_function f;
	struct soft_line line[32];
	struct demo d;

	setup(&d);
	assert_null(ask(&d, SOFT_ASK_FUNCTIONS, 0, 0, 0, ""));
	assert_int_equal(got.n, sizeof f);
	memcpy(&f, got.bytes, sizeof f);
	assert_string_equal(f.name, "k");
	assert_true(f.is_kernel);
	assert_int_equal(f.first_line, 8);
	assert_int_equal(f.last_line, 27); /* the brace is a return, too */
	assert_null(ask(&d, SOFT_ASK_LINES, 0, 0, 0, "k"));
	assert_int_equal(got.n, 20 * sizeof line[0]);
	memcpy(line, got.bytes, got.n);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(line[i].line, 8 + i);
		assert_int_equal(line[i].here, i == 0); /* before the first instruction */
	}
	assert_string_equal(line[8].text, " st.shared.u32 [%r3], %r1;"); /* a tab is a space */
	assert_string_equal(line[8].file, "/src/demo/k.cu");
	assert_int_equal(line[0].source_line, 10);
	assert_int_equal(line[8].source_line, 11);
	assert_int_equal(line[11].source_line, 12);
	assert_int_equal(line[10].source_line, 0); /* a .loc, no instruction */
	assert_null(ask(&d, SOFT_ASK_LINES, 0, 12, 14, ""));
	assert_int_equal(got.n, 3 * sizeof line[0]);
	memcpy(line, got.bytes, got.n);
	assert_int_equal(line[0].line, 12);
	assert_int_equal(line[2].line, 14);
	assert_null(ask(&d, SOFT_ASK_LINES, 0, 0, 2, "")); /* there is no line 0 */
	assert_int_equal(got.n, 2 * sizeof line[0]);
	assert_null(ask(&d, SOFT_ASK_LINES, 0, 26, 1000, ""));
	assert_int_equal(got.n, 3 * sizeof line[0]); /* the one behind the last newline is empty */
	assert_non_null(ask(&d, SOFT_ASK_LINES, 0, 0, 0, "nobody"));
	assert_int_equal(got.n, 0);
	done(&d);
}

/* Memory by space: as much as there is, and not a byte more. */
static void memory_has_ends(void **state)
{
	static const struct {
		unsigned space;
		uint64_t addr, size;
		bool is_there;
	} rows[] = {{SOFT_PARAM, 0, 12, true}, {SOFT_PARAM, 0, 13, false},
		{SOFT_PARAM, 12, 0, true}, {SOFT_PARAM, 13, 0, false}, {SOFT_PARAM, 8, 4, true},
		{SOFT_PARAM, 9, 4, false}, {SOFT_SHARED, 0, 256, true},
		{SOFT_SHARED, 0, 257, false}, {SOFT_SHARED, 252, 4, true},
		{SOFT_SHARED, 253, 4, false}, {SOFT_SHARED, UINT64_MAX, 4, false},
		{SOFT_GLOBAL, 0, 4, false}, {SOFT_SPACES, 0, 4, false},
		{SOFT_SHARED, 0, SOFT_MEMORY_MAX + 1, false}};
	uint64_t out;
	struct demo d;

	setup(&d);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *why =
			ask(&d, SOFT_ASK_MEMORY, rows[i].space, rows[i].addr, rows[i].size, "");

		if ((why == NULL) != rows[i].is_there)
			fail_msg("row %zu: %s", i, why ? why : "is there");
		assert_int_equal(got.n, rows[i].is_there ? rows[i].size : 0);
	}
	assert_null(ask(&d, SOFT_ASK_MEMORY, SOFT_PARAM, 0, 8, ""));
	memcpy(&out, got.bytes, 8);
	assert_true(out == d.params[0]);
	done(&d);
}

/* k calls f, which calls g, with lanes 8 to 31; g adds 1000 to f's lane + 100. */
#define DEEP                                                                                       \
	PTX_HEAD                                                                                   \
	".file 1 \"/src/demo/deep.cu\"\n"                                                          \
	".func g(.param .b32 x) {\n"                                                               \
	".reg .b32 %g<3>; .local .align 4 .b32 mine[2];\n"                                         \
	".loc 1 30 0\n"                                                                            \
	"	ld.param.b32 %g0, [x];\n" /* 8 */                                                  \
	"	st.local.u32 [mine+4], %g0;\n"                                                           \
	".loc 1 31 0\n"                                                                            \
	"	add.u32 %g1, %g0, 1000;\n" /* 11 */                                                \
	"	ret;\n"                                                                                  \
	"}\n"                                                                                      \
	".func f(.param .b32 y) {\n"                                                               \
	".reg .b32 %e<3>; .local .align 4 .b32 theirs[2];\n"                                       \
	".loc 1 20 0\n"                                                                            \
	"	ld.param.b32 %e0, [y]; add.u32 %e1, %e0, 100; st.local.u32 [theirs], %e0;\n"             \
	"	{ .param .b32 p; st.param.b32 [p], %e1; call g, (p); }\n" /* 18 */                 \
	"	{ .param .b32 p; st.param.b32 [p], %e1; call g, (p); }\n"                                \
	"	ret;\n"                                                                                  \
	"}\n"                                                                                      \
	".visible .entry k(.param .u64 out) {\n"                                                   \
	".reg .b32 %r<4>; .reg .pred %p<2>;\n"                                                     \
	"	mov.u32 %r0, %tid.x;\n" /* 24 */                                                   \
	"	setp.lt.u32 %p0, %r0, 8;\n"                                                              \
	"	@%p0 bra L;\n"                                                                           \
	".loc 1 11 0\n"                                                                            \
	"	{ .param .b32 p; st.param.b32 [p], %r0; call f, (p); }\n" /* 28 */                 \
	"	bra.uni M;\n"                                                                            \
	"L:\n"                                                                                     \
	".loc 1 12 0\n"                                                                            \
	"	mov.u32 %r1, 5;\n" /* 32 */                                                        \
	"M:\n"                                                                                     \
	".loc 1 13 0\n"                                                                            \
	"	setp.eq.u32 %p1, %r0, 5;\n" /* 35 */                                               \
	"	@%p1 ret;\n"                                                                             \
	"	bar.sync 0;\n" /* 37 */                                                            \
	"	ret;\n"                                                                                  \
	"}\n"

static const char *ask_lane(struct demo *d, enum soft_question what, unsigned space, unsigned lane,
	unsigned frame, uint64_t addr, uint64_t size, const char *text)
{
	struct soft_ask q = {.what = what,
		.space = space,
		.addr = addr,
		.size = size,
		.lane = lane + 1,
		.frame = frame};

	snprintf(q.text, sizeof(q.text), "%s", text);
	got.n = 0;
	return micro_ask(d->s, &q, add, NULL);
}

static uint64_t lane_value(struct demo *d, unsigned lane, unsigned frame, const char *text)
{
	struct soft_value v;
	const char *why = ask_lane(d, SOFT_ASK_VALUE, 0, lane, frame, 0, 0, text);

	if (why)
		fail_msg("lane %u, frame %u, %s: %s", lane, frame, text, why);
	memcpy(&v, got.bytes, sizeof(v));
	assert_string_equal(v.name, text);
	assert_true(v.lanes >> lane & 1);
	return v.value[lane];
}

static uint32_t local_word(struct demo *d, unsigned lane, uint64_t addr)
{
	uint32_t v;

	assert_null(ask_lane(d, SOFT_ASK_MEMORY, SOFT_LOCAL, lane, 0, addr, 4, ""));
	memcpy(&v, got.bytes, 4);
	return v;
}

static void frame_is(unsigned k, const char *function, unsigned line, unsigned source_line)
{
	const struct soft_frame *f = (const struct soft_frame *)got.bytes + k;

	assert_string_equal(f->function, function);
	assert_int_equal(f->line, line);
	assert_int_equal(f->source_line, source_line);
	assert_string_equal(f->file, source_line ? "/src/demo/deep.cu" : "");
}

static void frames(void **state)
{
	const struct soft_lane *l = (const void *)got.bytes;
	struct demo d = {.m = load(DEEP)};

	begin(&d, DEEP, 0, NULL, 0);
	assert_null(ask_lane(&d, SOFT_ASK_FRAMES, 0, 3, 0, 0, 0, ""));
	assert_int_equal(got.n, sizeof(struct soft_frame));
	frame_is(0, "k", 24, 0);
	point(&d, 1, SOFT_AT_LINE, 11, "", "%tid.x < 32");
	for (unsigned call = 18; call <= 19; call++) { /* g, from both places */
		go(&d, SOFT_RUN, 0);
		assert_int_equal(d.stop.line, 11);
		assert_int_equal(d.stop.depth, 2);
		for (unsigned lane = 8; lane < 32; lane += 23) {
			assert_null(ask_lane(&d, SOFT_ASK_FRAMES, 0, lane, 0, 0, 0, ""));
			assert_int_equal(got.n, 3 * sizeof(struct soft_frame));
			frame_is(0, "g", 11, 31);
			frame_is(1, "f", call, 20);
			frame_is(2, "k", 28, 11);
			assert_int_equal(lane_value(&d, lane, 0, "%g0"), lane + 100);
			assert_int_equal(lane_value(&d, lane, 1, "%e0"), lane);
			assert_int_equal(lane_value(&d, lane, 2, "%r0"), lane);
			assert_int_equal(lane_value(&d, lane, 1, "u32[&theirs]"), lane);
			assert_int_equal(lane_value(&d, lane, 0, "u32[&mine + 4]"), lane + 100);
			assert_int_equal(local_word(&d, lane, lane_value(&d, lane, 0, "mine") + 4),
				lane + 100);
			assert_int_equal(
				local_word(&d, lane, lane_value(&d, lane, 1, "&theirs")), lane);
			assert_int_not_equal(
				lane_value(&d, lane, 0, "mine"), lane_value(&d, lane, 1, "theirs"));
			assert_non_null(ask_lane(&d, SOFT_ASK_VALUE, 0, lane, 3, 0, 0, "1"));
			assert_non_null(ask_lane(&d, SOFT_ASK_VALUE, 0, lane, 1, 0, 0, "%g0"));
		}
		/* the other lanes are in k alone */
		assert_null(ask_lane(&d, SOFT_ASK_FRAMES, 0, 7, 0, 0, 0, ""));
		assert_int_equal(got.n, sizeof(struct soft_frame));
		assert_int_equal(lane_value(&d, 7, 0, "%r0"), 7);
		assert_non_null(ask_lane(&d, SOFT_ASK_VALUE, 0, 7, 1, 0, 0, "%r0"));
		assert_non_null(ask_lane(&d, SOFT_ASK_VALUE, 0, 32, 0, 0, 0, "%r0"));
		assert_non_null(ask_lane(&d, SOFT_ASK_FRAMES, 0, 32, 0, 0, 0, ""));
		assert_non_null(ask_lane(&d, SOFT_ASK_MEMORY, SOFT_LOCAL, 32, 0, 0, 4, ""));
		assert_null(ask(&d, SOFT_ASK_LANES, 0, 0, 0, ""));
		assert_int_equal(l[8].state, SOFT_LANE_ACTIVE);
		assert_int_equal(l[8].line, 11);
		assert_int_equal(l[8].source_line, 31);
		assert_int_equal(l[7].state, SOFT_LANE_DIVERGED);
		assert_int_equal(l[7].thread[0], 7);
		assert_int_equal(l[7].executing, 0);
		assert_int_equal(l[8].executing, 1);
	}
	done(&d);
}

/* Warps and lanes that wait, and one lane that has ended. */
static void waiting(void **state)
{
	const struct soft_warp *w = (const void *)got.bytes;
	const struct soft_lane *l = (const void *)got.bytes;
	const struct soft_block *b = (const void *)got.bytes;
	struct demo d = {.m = load(DEEP)};

	begin(&d, DEEP, 0, NULL, 0);
	point(&d, 1, SOFT_AT_LINE, 24, "", "%tid.x >= 32");
	go(&d, SOFT_RUN, 1); /* warp 0 waits at the barrier, warp 1 is about to begin */
	stands(&d, 0, 32, 24, 0, d.stop.total);
	assert_null(ask(&d, SOFT_ASK_WARPS, 0, 0, 0, ""));
	assert_int_equal(w[0].state, SOFT_WARP_WAITS);
	assert_int_equal(w[0].barrier, 0);
	assert_int_equal(w[0].line, 38); /* where it goes on */
	assert_int_equal(w[0].source_line, 13);
	assert_string_equal(w[0].text, "ret;");
	assert_int_equal(w[0].live, 0xffffffffu - (1u << 5));
	assert_int_equal(w[1].state, SOFT_WARP_RUNS);
	assert_int_equal(w[1].barrier, UINT32_MAX);
	assert_int_equal(w[1].line, 24);
	assert_int_equal(w[1].source_line, 0);
	assert_int_equal(w[1].live, 0xffffffffu);
	assert_null(ask(&d, SOFT_ASK_BLOCKS, 0, 0, 0, ""));
	assert_int_equal(b[0].count, 1);
	assert_int_equal(b[0].warps, 2);
	assert_int_equal(b[0].waiting, 1);
	assert_int_equal(b[0].ended, 0);
	assert_int_equal(b[1].first[0], 1);
	assert_int_equal(b[1].last[0], 1);
	assert_int_equal(b[1].count, 1);
	uint32_t block[3] = {0}, thread[3] = {0};
	uint64_t first;

	assert_null(micro_focus(d.s, block, thread, &first, &d.stop));
	assert_null(ask(&d, SOFT_ASK_LANES, 0, 0, 0, ""));
	assert_int_equal(l[5].state, SOFT_LANE_ENDED);
	assert_int_equal(l[5].line, 0);
	for (unsigned k = 0; k < 32; k += 31) {
		assert_int_equal(l[k].state, SOFT_LANE_WAITS);
		assert_int_equal(l[k].line, 38);
		assert_int_equal(l[k].source_line, 13);
	}
	assert_non_null(ask_lane(&d, SOFT_ASK_VALUE, 0, 5, 0, 0, 0, "1"));
	assert_string_equal(ask_lane(&d, SOFT_ASK_FRAMES, 0, 5, 0, 0, 0, ""), "the lane has ended");
	assert_int_equal(lane_value(&d, 4, 0, "%r1"), 5);
	done(&d);
}

/* A lone register is shown as it is declared, all else as 64 bits. */
static void types_of_values(void **state)
{
	static const struct {
		const char *text;
		unsigned type, bytes;
	} rows[] = {{"%r0", SOFT_INT, 4}, {"%d0", SOFT_INT, 8}, {"%f1", SOFT_FLOAT, 4},
		{"%p1", SOFT_BOOL, 0}, {"%tid.x", SOFT_UINT, 4}, {"%clock64", SOFT_UINT, 8},
		{"%tid.x - 100", SOFT_INT, 8}, {"-%tid.x", SOFT_INT, 8}, {"%r0 + 1", SOFT_INT, 8},
		{"%f1 + 1", SOFT_FLOAT, 8}, {"7", SOFT_INT, 8}, {"0.5", SOFT_FLOAT, 8}};
	struct demo d;

	setup(&d);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct soft_value v = value(&d, rows[i].text);

		if (v.type != rows[i].type || v.bytes != rows[i].bytes)
			fail_msg("%s: type %u, %u bytes", rows[i].text, v.type, v.bytes);
	}
	assert_int_equal((int64_t)value(&d, "%tid.x - 100").value[3], -97);
	done(&d);
}

/* A breakpoint at a line of the source says where it is: the kernel's own place goes first. */
static void places_of_source_lines(void **state)
{
	static const char text[] =
		PTX_HEAD ".file 1 \"/src/demo/two.cu\"\n"
			 ".func h() {\n.reg .b32 %h;\n"
			 ".loc 1 40 0\n"
			 "	mov.u32 %h, 1;\n" /* 8 */
			 ".loc 1 43 0\n"
			 "	mov.u32 %h, 2;\n" /* 10 */
			 "	ret;\n}\n"
			 ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<4>;\n"
			 ".loc 1 40 0\n"
			 "	mov.u32 %r0, 1;\n" /* 16 */
			 ".loc 1 41 0\n"
			 "	call h;\n" /* 18 */
			 ".loc 1 40 0\n"
			 "	mov.u32 %r0, 3;\n" /* 20 */
			 "	ret;\n}\n"
			 ".visible .entry other() {\n.reg .b32 %r<4>;\n"
			 ".loc 1 40 0\n"
			 "	mov.u32 %r0, 1;\n" /* 26 */
			 ".loc 1 45 0\n"
			 "	mov.u32 %r0, 2;\n" /* 28 */
			 "	ret;\n}\n";
	static const struct {
		const char *file;
		unsigned line, source, ptx; /* asked for; found */
	} rows[] = {{"two.cu", 40, 40, 16}, {"two.cu", 41, 41, 18}, {"two.cu", 1, 40, 16},
		{"two.cu", 42, 43, 10}, {"two.cu", 44, 45, 28}, {"two.cu", 46, 0, 0},
		{"demo/two.cu", 41, 41, 18}, {"o.cu", 41, 0, 0}, {"/two.cu", 41, 0, 0}};
	struct demo d = {.m = load(text)};

	begin(&d, text, 0, NULL, 0);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct soft_point p = {.kind = SOFT_AT_SOURCE, .line = rows[i].line};

		snprintf(p.file, sizeof p.file, "%s", rows[i].file);
		assert_null(micro_points(d.s, &p, 1));
		if (p.size != rows[i].source || p.line != rows[i].ptx)
			fail_msg("%s:%u is line %u, %u of the PTX", rows[i].file, rows[i].line,
				(unsigned)p.size, p.line);
	}
	struct soft_point odd = {.kind = 99};

	assert_non_null(micro_points(d.s, &odd, 1));
	done(&d);
}

/* The text, in pieces. */
static void text_in_pieces(void **state)
{
	const uint64_t n = strlen(TEXT);
	char whole[2 * sizeof(TEXT)];
	struct demo d;
	size_t have = 0;

	setup(&d);
	for (uint64_t at = 0; at < n; at += 100) {
		assert_null(ask(&d, SOFT_ASK_TEXT, 0, at, 100, ""));
		assert_int_equal(got.n, n - at < 100 ? n - at : 100);
		memcpy(whole + have, got.bytes, got.n);
		have += got.n;
	}
	assert_int_equal(have, n);
	assert_memory_equal(whole, TEXT, n);
	assert_null(ask(&d, SOFT_ASK_TEXT, 0, 0, UINT64_MAX, ""));
	assert_int_equal(got.n, n);
	assert_null(ask(&d, SOFT_ASK_TEXT, 0, n - 1, 10, ""));
	assert_int_equal(got.n, 1);
	assert_null(ask(&d, SOFT_ASK_TEXT, 0, n, 10, ""));
	assert_int_equal(got.n, 0);
	assert_null(ask(&d, SOFT_ASK_TEXT, 0, UINT64_MAX, 10, ""));
	assert_int_equal(got.n, 0);
	done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(lines),
		cmocka_unit_test(breakpoints),
		cmocka_unit_test(watch),
		cmocka_unit_test(turns),
		cmocka_unit_test(back),
		cmocka_unit_test(fault),
		cmocka_unit_test(answers),
		cmocka_unit_test(listing),
		cmocka_unit_test(memory_has_ends),
		cmocka_unit_test(calls),
		cmocka_unit_test(blocks_together),
		cmocka_unit_test(one_line_in_two_kernels),
		cmocka_unit_test(one_line_in_a_callee),
		cmocka_unit_test(printing),
		cmocka_unit_test(time_is_up),
		cmocka_unit_test(frames),
		cmocka_unit_test(waiting),
		cmocka_unit_test(text_in_pieces),
		cmocka_unit_test(places_of_source_lines),
		cmocka_unit_test(types_of_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
