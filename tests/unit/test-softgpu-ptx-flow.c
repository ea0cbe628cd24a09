/* SPDX-License-Identifier: Apache-2.0
 *
 * What is more than one instruction: divergence, barriers, calls, warps talking, atomics of many
 * blocks, printf, faults, and texts that are wrong. Runs on four workers; what must not depend on
 * their number is compared with the result of one after the other.
 */
#include "ptx-test.h"

#include <pthread.h>
#include <unistd.h>

/* A kernel k(out) with a body that finds its thread index in %r0 and the address of its own 32-bit
 * slot in %d1. */
#define KERNEL(extra, body)                                                                                      \
	PTX_HEAD extra                                                                                           \
		".visible .entry k(.param .u64 out) {\n"                                                         \
		".reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<8>;\n"     \
		"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r30, %ctaid.x; mov.u32 %r29, %ntid.x;\n" \
		"mad.lo.u32 %r31, %r30, %r29, %r0; mul.wide.u32 %d1, %r31, 4; add.u64 %d1, %d0, %d1;\n" body     \
		"\n}\n"

/* --- divergence --- */
static void nested_if(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; mov.u32 %r2, 100;\n"
			"@%p0 bra EVEN;\n"
			"  setp.lt.u32 %p1, %r0, 8; @%p1 bra SMALL; add.u32 %r2, %r2, 1; bra JOIN1;\n"
			"SMALL: add.u32 %r2, %r2, 2;\n"
			"JOIN1: add.u32 %r2, %r2, 1000; bra END;\n"
			"EVEN: setp.gt.u32 %p1, %r0, 20; @%p1 add.u32 %r2, %r2, 30; add.u32 %r2, %r2, 2000;\n"
			"END: add.u32 %r2, %r2, 5; activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r2, %r3, 10000, %r2;\n"
			"st.global.u32 [%d1], %r2; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++) {
		unsigned want =
			100 + (t % 2 ? (t < 8 ? 2 : 1) + 1000 : (t > 20 ? 30 : 0) + 2000) + 5;
		assert_int_equal(o[t], want + 320000); /* all 32 are together again */
	}
}

static void loops_of_each_lane(void **state)
{
	/* for (i = 0; i <= tid; i++) for (j = 0; j < i % 3; j++) { if (j == 1) continue; s += i *
	 * 10 + j; } */
	uint32_t *o = run_text(
		KERNEL("",
			"mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
			"OUTER: setp.gt.u32 %p0, %r1, %r0; @%p0 bra DONE; rem.u32 %r3, %r1, 3; mov.u32 %r4, 0;\n"
			"INNER: setp.ge.u32 %p1, %r4, %r3; @%p1 bra NEXT; setp.eq.u32 %p2, %r4, 1; @%p2 bra SKIP;\n"
			"  mad.lo.u32 %r5, %r1, 10, %r4; add.u32 %r2, %r2, %r5;\n"
			"SKIP: add.u32 %r4, %r4, 1; bra INNER;\n"
			"NEXT: add.u32 %r1, %r1, 1; bra OUTER;\n"
			"DONE: activemask.b32 %r6; setp.eq.u32 %p3, %r6, -1; @!%p3 mov.u32 %r2, 0; st.global.u32 [%d1], %r2; ret;"),
		1, 64, 256);

	for (unsigned t = 0; t < 64; t++) {
		unsigned s = 0;
		for (unsigned i = 0; i <= t; i++)
			for (unsigned j = 0; j < i % 3; j++)
				s += j == 1 ? 0 : i * 10 + j;
		assert_int_equal(o[t], s);
	}
}

static void early_exit(void **state)
{
	/* lanes that left do not hold up the barrier of the others */
	uint32_t *o = run_text(
		KERNEL("",
			".shared .b32 s[64]; setp.ge.u32 %p0, %r0, 50; @%p0 bra OUT; mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 4, %r2;\n"
			"st.shared.u32 [%r2], %r0; bar.sync 0; mov.u32 %r4, s; sub.u32 %r3, 49, %r0; mad.lo.u32 %r4, %r3, 4, %r4;\n"
			"ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5;\n"
			"OUT: ret;"),
		1, 64, 256);

	for (unsigned t = 0; t < 64; t++)
		assert_int_equal(o[t], t < 50 ? 49 - t : 0);
}

static void indexed_branch(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"ts: .branchtargets A, B, C; and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 3; mov.u32 %r2, 9; @%p0 bra END;\n"
			"brx.idx %r1, ts;\n"
			"A: mov.u32 %r2, 5; bra END; B: mov.u32 %r2, 6; bra END; C: mov.u32 %r2, 7;\n"
			"END: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r2, %r3, 100, %r2; st.global.u32 [%d1], %r2; ret;"),
		1, 32, 128);
	static const unsigned want[] = {5, 6, 7, 9};

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], 3200 + want[t % 4]);
}

static void scopes_and_labels(void **state)
{
	/* the same names in two scopes, as inlined assembly has them */
	uint32_t *o = run_text(
		KERNEL("",
			"mov.u32 %r1, 0;\n"
			"{ .reg .pred p; setp.gt.u32 p, %r0, 3; @p bra DONE; add.u32 %r1, %r1, 1; DONE: }\n"
			"{ .reg .pred p; setp.gt.u32 p, %r0, 7; @p bra DONE; add.u32 %r1, %r1, 10; DONE: }\n"
			"st.global.u32 [%d1], %r1; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], (t > 3 ? 0 : 1) + (t > 7 ? 0 : 10));
}

/* Random programs: nested ifs, loops with break and continue, early returns; written as PTX and
 * followed thread by thread in C. */
struct node {
	enum { MUL, IF, LOOP, BREAK, CONTINUE, LEAVE } kind;
	unsigned k; /* MUL: the constant; IF, BREAK, CONTINUE, LEAVE: the bit of x that decides;
		       LOOP: its number */
	struct node *body[2], *next;
};
static struct node nodes[4096];
static unsigned nnodes, seed, nloops;

static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static struct node *make_list(unsigned depth, bool in_loop)
{
	struct node *first = NULL, **at = &first;

	for (unsigned n = 1 + rnd(4); n && nnodes < 300; n--) {
		struct node *d = &nodes[nnodes++];
		unsigned what = rnd(10);
		memset(d, 0, sizeof(*d));
		d->kind = what < 4 || !depth ? MUL
			  : what < 6	     ? IF
			  : what < 8	     ? LOOP
			  : in_loop	     ? (what == 8 ? BREAK : CONTINUE)
					     : LEAVE;
		d->k = d->kind == MUL	 ? rnd(1000) * 2 + 1
		       : d->kind == LOOP ? nloops++
					 : rnd(d->kind == LEAVE ? 2 : 12);
		if (d->kind == IF) {
			d->body[0] = make_list(depth - 1, in_loop);
			d->body[1] = rnd(2) ? make_list(depth - 1, in_loop) : NULL;
		} else if (d->kind == LOOP) {
			d->body[0] = make_list(depth - 1, true);
		}
		*at = d;
		at = &d->next;
	}
	return first;
}

#define OUT(...) (at += (size_t)snprintf(text + at, size - at, __VA_ARGS__))
static unsigned nlabels;
static size_t write_list(
	const struct node *d, char *text, size_t size, size_t at, unsigned top, unsigned end)
{
	for (; d; d = d->next) {
		unsigned a = nlabels++, b = nlabels++;
		if (d->kind != MUL && d->kind != LOOP)
			OUT("bfe.u32 %%r3, %%r2, %u, 1; setp.ne.u32 %%p0, %%r3, 0;\n", d->k);
		switch (d->kind) {
		case MUL:
			OUT("mad.lo.u32 %%r2, %%r2, %u, %%r0;\n", d->k);
			break;
		case IF:
			OUT("@!%%p0 bra L%u;\n", a);
			at = write_list(d->body[0], text, size, at, top, end);
			OUT("bra L%u; L%u:\n", b, a);
			at = write_list(d->body[1], text, size, at, top, end);
			OUT("L%u:\n", b);
			break;
		case LOOP: /* at most 3 turns */
			OUT("and.b32 %%n%u, %%r2, 3;\nL%u: setp.eq.u32 %%p0, %%n%u, 0; @%%p0 bra L%u; sub.u32 %%n%u, %%n%u, 1;\n",
				d->k, a, d->k, b, d->k, d->k);
			at = write_list(d->body[0], text, size, at, a, b);
			OUT("bra L%u; L%u:\n", a, b);
			break;
		case BREAK:
			OUT("@%%p0 bra L%u;\n", end);
			break;
		case CONTINUE:
			OUT("@%%p0 bra L%u;\n", top);
			break;
		case LEAVE:
			OUT("@%%p0 bra OUT;\n");
		}
	}
	return at;
}

/* 0: goes on; else the BREAK, CONTINUE or LEAVE under way. */
static unsigned follow(const struct node *d, uint32_t tid, uint32_t *x)
{
	for (; d; d = d->next) {
		bool bit = *x >> (d->k & 31) & 1;
		unsigned how = 0;
		if (d->kind == MUL)
			*x = *x * d->k + tid;
		else if (d->kind == IF)
			how = follow(d->body[!bit], tid, x);
		else if (d->kind == LOOP)
			for (unsigned n = *x & 3; n && how != BREAK && how != LEAVE; n--)
				how = follow(d->body[0], tid, x);
		else if (bit)
			return d->kind;
		if (how == LEAVE || (how && d->kind == IF))
			return how;
	}
	return 0;
}

static void random_programs(void **state)
{
	static char text[1 << 18];
	static uint32_t want[64];

	const char *rounds =
		getenv("PTX_TEST_ROUNDS"); /* where each program takes long: compiled ones */

	for (unsigned round = 0; round < (rounds ? (unsigned)atoi(rounds) : 150); round++) {
		struct node *list;
		size_t size = sizeof(text), at = 0;
		uint32_t *o;
		seed = round * 7919;
		nnodes = nlabels = nloops = 0;
		list = make_list(5, false);
		OUT("%s",
			KERNEL("", ".reg .b32 %n<400>; mad.lo.u32 %r2, %r0, 0x9e3779b1, 12345;\n"));
		at = (size_t)(strrchr(text, '}') - text);
		at = write_list(list, text, size, at, 0, 0);
		OUT("OUT: activemask.b32 %%r4; st.global.u32 [%%d1], %%r2; ret; }\n");
		assert_true(at < size);
		o = run_text(text, 1, 64, 256);
		for (unsigned t = 0; t < 64; t++) {
			want[t] = t * 0x9e3779b1u + 12345;
			follow(list, t, &want[t]);
			if (o[t] != want[t])
				fail_msg("program %u, thread %u: %#x, not %#x", round, t, o[t],
					want[t]);
		}
	}
}

static void lists_of_callees(void **state)
{
	/* .calltargets says what a call through a register may reach: t % 3 chooses among three */
	uint32_t *o = run_text(
		KERNEL(".func (.param .b32 r) f0(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r0, [a]; add.u32 %r0, %r0, 100; st.param.b32 [r], %r0; ret; }\n"
		       ".func (.param .b32 r) f1(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r0, [a]; mul.lo.u32 %r0, %r0, 7; st.param.b32 [r], %r0; ret; }\n"
		       ".func (.param .b32 r) f2(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r0, [a]; sub.u32 %r0, 1000, %r0; st.param.b32 [r], %r0; ret; }\n"
		       ".global .align 8 .u64 table[3] = {f0, f1, f2};\n",
			".param .b32 a; .param .b32 r; rem.u32 %r1, %r0, 3; mul.wide.u32 %d2, %r1, 8; mov.u64 %d3, table; add.u64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3];\n"
			"targets: .calltargets f0, f1, f2; st.param.b32 [a], %r0; call (r), %d4, (a), targets; ld.param.b32 %r2, [r]; st.global.u32 [%d1], %r2; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], t % 3 == 0 ? t + 100 : t % 3 == 1 ? 7 * t : 1000 - t);
}

static void other_names(void **state)
{
	struct ptx_module *m;
	char log[128];
	uint32_t *o = run_text(
		KERNEL(".func (.param .b32 r) other(.param .b32 a);\n.func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r0, [a]; add.u32 %r0, %r0, 100; st.param.b32 [r], %r0; ret; }\n"
		       ".alias other, f;\n",
			".param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), other, (a); ld.param.b32 %r2, [r]; mov.u64 %d4, other; st.param.b32 [a], %r2;\n"
			"targets: .calltargets f, other; call (r), %d4, (a), targets; ld.param.b32 %r2, [r]; st.global.u32 [%d1], %r2; ret;"),
		1, 4, 16);
	static const char wrong[] = PTX_HEAD
		".func (.param .b64 r) g(.param .b32 a);\n.func (.param .b32 r) f(.param .b32 a) { ret; }\n.alias g, f;\n";

	for (unsigned t = 0; t < 4; t++)
		assert_int_equal(o[t], t + 200);
	m = ptx_load(wrong, strlen(wrong), log, sizeof(log));
	assert_null(m);
	assert_non_null(strstr(log, "g has other parameters than f"));
}

static void memory_from_the_stack(void **state)
{
	/* f takes 4 * (n + 1) bytes, fills them with n, n - 1, ..., calls itself for n - 1, and
	 * adds up what is still there; what the kernel has taken is not touched; what was given
	 * back is given out again */
	uint32_t *o = run_text(
		KERNEL(".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>; .param .b32 a; .param .b32 b;\n"
		       "ld.param.u32 %r0, [n]; setp.eq.u32 %p0, %r0, 0; mov.u32 %r4, 0; @%p0 bra END; add.u32 %r1, %r0, 1; mul.wide.u32 %d0, %r1, 4; alloca.u64 %d1, %d0, 16;\n"
		       "mov.u32 %r2, %r0; mov.u64 %d2, %d1; FILL: st.local.u32 [%d2], %r2; add.u64 %d2, %d2, 4; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra FILL;\n"
		       "sub.u32 %r3, %r0, 1; st.param.b32 [a], %r3; call (b), f, (a); ld.param.b32 %r4, [b]; mov.u64 %d2, %d1; mov.u32 %r2, %r0;\n"
		       "SUM: ld.local.u32 %r5, [%d2]; add.u32 %r4, %r4, %r5; add.u64 %d2, %d2, 4; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra SUM;\n"
		       "END: st.param.b32 [r], %r4; ret; }\n",
			".param .b32 a; .param .b32 b; stacksave.u64 %d5; add.u32 %r7, %r0, 1; mul.wide.u32 %d2, %r7, 4; alloca.u64 %d3, %d2; st.local.u32 [%d3], %r0; and.b32 %r1, %r0, 7;\n"
			"st.param.b32 [a], %r1; call (b), f, (a); ld.param.b32 %r2, [b]; ld.local.u32 %r3, [%d3]; mad.lo.u32 %r2, %r3, 1000, %r2;\n"
			"stackrestore.u64 %d5; alloca.u64 %d6, 8; setp.ne.u64 %p0, %d6, %d3; @%p0 mov.u32 %r2, 9; st.global.u32 [%d1], %r2; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++) {
		unsigned n = t & 7, sum = 0;
		for (unsigned k = 1; k <= n; k++)
			sum += k * (k + 1) / 2;
		assert_int_equal(o[t], 1000 * t + sum);
	}
}

static void banks_of_constants(void **state)
{
	uint32_t *o = run_text(
		KERNEL(".const[3] .align 4 .u32 c[2] = {11, 22};\n",
			"mov.u64 %d2, c; ld.const[3].u32 %r1, [c+4]; ld.const.u32 %r2, [%d2]; mad.lo.u32 %r1, %r1, 100, %r2; st.global.u32 [%d1], %r1; ret;"),
		1, 1, 4);

	assert_int_equal(o[0], 2211);
}

/* --- barriers --- */
static void reverse_through_shared(void **state)
{
	uint32_t *o = run_text(
		KERNEL(".extern .shared .align 4 .b8 unused[];",
			".shared .b32 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %r0, 4, %r2; mad.lo.u32 %r4, %r30, 1000, %r0;\n"
			"st.shared.u32 [%r3], %r4; barrier.sync 0; sub.u32 %r5, 255, %r0; mad.lo.u32 %r3, %r5, 4, %r2;\n"
			"ld.shared.u32 %r6, [%r3]; st.global.u32 [%d1], %r6; ret;"),
		20, 256, 20 * 256 * 4);

	for (unsigned b = 0; b < 20; b++)
		for (unsigned t = 0; t < 256; t++)
			assert_int_equal(o[b * 256 + t], b * 1000 + 255 - t);
}

static void barrier_on_both_sides(void **state)
{
	/* one half of each warp waits in the then-part, the other in the else-part */
	uint32_t *o = run_text(
		KERNEL("",
			".shared .b32 s[64]; mov.u32 %r2, s; mad.lo.u32 %r3, %r0, 4, %r2; and.b32 %r4, %r0, 16; setp.eq.u32 %p0, %r4, 0;\n"
			"xor.b32 %r5, %r0, 16; mad.lo.u32 %r6, %r5, 4, %r2; @%p0 bra LOW;\n"
			"  st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r7, [%r6]; bra END;\n"
			"LOW: add.u32 %r8, %r0, 100; st.shared.u32 [%r3], %r8; bar.sync 0; ld.shared.u32 %r7, [%r6];\n"
			"END: st.global.u32 [%d1], %r7; ret;"),
		1, 64, 256);

	for (unsigned t = 0; t < 64; t++)
		assert_int_equal(o[t], t & 16 ? (t ^ 16) + 100 : t ^ 16);
}

static void reductions(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"setp.lt.u32 %p0, %r0, 40; setp.lt.u32 %p3, %r0, 400; bar.red.popc.u32 %r1, 0, %p0; bar.red.and.pred %p1, 0, %p0;\n"
			"bar.red.or.pred %p2, 0, %p0; bar.red.and.pred %p4, 1, 96, !%p3;\n"
			"@%p1 add.u32 %r1, %r1, 1000; @%p2 add.u32 %r1, %r1, 2000; @%p4 add.u32 %r1, %r1, 4000; st.global.u32 [%d1], %r1; ret;"),
		1, 96, 96 * 4);

	for (unsigned t = 0; t < 96; t++)
		assert_int_equal(o[t], 2040);
}

static void producer_and_consumer(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			".shared .b32 s[32]; mov.u32 %r2, s; and.b32 %r3, %r0, 31; mad.lo.u32 %r4, %r3, 4, %r2; setp.lt.u32 %p0, %r0, 32;\n"
			"@%p0 bra CONSUME; add.u32 %r5, %r0, 7; st.shared.u32 [%r4], %r5; bar.arrive 1, 64; ret;\n"
			"CONSUME: bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5; ret;"),
		1, 64, 256);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], t + 32 + 7);
}

static void warps_that_spin(void **state)
{
	/* warp 0 waits for warp 1 without a barrier */
	uint32_t *o = run_text(
		KERNEL("",
			".shared .b32 flag; setp.ge.u32 %p0, %r0, 32; @%p0 bra SET;\n"
			"WAIT: ld.volatile.shared.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT; st.global.u32 [%d1], %r1; ret;\n"
			"SET: st.volatile.shared.u32 [flag], 42; ret;"),
		1, 64, 256);

	assert_int_equal(o[0], 42);
}

static void blocks_that_wait(void **state)
{
	struct ptx_module *m = load(KERNEL("",
		"setp.ne.u32 %p0, %r30, 0; @%p0 bra SET;\n"
		"WAIT: ld.acquire.gpu.global.u32 %r1, [%d0+1024]; setp.lt.u32 %p1, %r1, 3; @%p1 bra WAIT; st.global.u32 [%d1], %r1; ret;\n"
		"SET: red.release.gpu.global.add.u32 [%d0+1024], 1; ret;"));
	void *o = device(2048);
	struct ptx_launch l = {.fn = ptx_kernel(m, 0),
		.grid = {4, 1, 1},
		.block = {1, 1, 1},
		.params = &o,
		.cooperative = true};
	struct ptx_fault f;

	assert_int_equal(ptx_run(&l, &f), PTX_OK);
	assert_int_equal(*(uint32_t *)o, 3);
	ptx_free(m);
}

/* --- warps --- */
static void shuffles(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"mul.lo.u32 %r1, %r0, 3; shfl.sync.down.b32 %r2|%p0, %r1, 4, 31, -1; @!%p0 add.u32 %r2, %r2, 1000;\n"
			"shfl.sync.up.b32 %r3, %r1, 1, 0, -1; shfl.sync.bfly.b32 %r4, %r1, 7, 31, -1; shfl.sync.idx.b32 %r5, %r1, 2, 0x181f, -1;\n"
			"st.global.u32 [%d1], %r2; st.global.u32 [%d1+128], %r3; st.global.u32 [%d1+256], %r4; st.global.u32 [%d1+384], %r5; ret;"),
		1, 32, 512);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(o[t], t + 4 < 32 ? (t + 4) * 3 : t * 3 + 1000);
		assert_int_equal(o[32 + t], (t ? t - 1 : 0) * 3);
		assert_int_equal(o[64 + t], (t ^ 7) * 3);
		assert_int_equal(o[96 + t], ((t & ~7u) | 2) * 3); /* groups of 8 */
	}
}

static void warp_barrier_on_both_sides(void **state)
{
	/* the upper half may read only after the lower half has written, which runs second */
	uint32_t *o = run_text(
		KERNEL("",
			".shared .b32 s[32]; mov.u32 %r2, s; xor.b32 %r3, %r0, 16; setp.ge.u32 %p0, %r0, 16; @%p0 bra HIGH;\n"
			"add.u32 %r5, %r0, 50; mad.lo.u32 %r4, %r0, 4, %r2; st.shared.u32 [%r4], %r5; bar.warp.sync -1; bra END;\n"
			"HIGH: bar.warp.sync -1; mad.lo.u32 %r4, %r3, 4, %r2; ld.shared.u32 %r5, [%r4];\n"
			"END: st.global.u32 [%d1], %r5; ret;"),
		1, 32, 128);
	uint32_t *q = run_text(
		KERNEL("",
			".shared .b32 s[32]; mov.u32 %r2, s; xor.b32 %r3, %r0, 16; setp.lt.u32 %p0, %r0, 16; @%p0 bra HIGH;\n"
			"add.u32 %r5, %r0, 50; mad.lo.u32 %r4, %r0, 4, %r2; st.shared.u32 [%r4], %r5; bar.warp.sync -1; bra END;\n"
			"HIGH: bar.warp.sync -1; mad.lo.u32 %r4, %r3, 4, %r2; ld.shared.u32 %r5, [%r4];\n"
			"END: st.global.u32 [%d1], %r5; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(o[t], t % 16 + 50);
		assert_int_equal(q[t], t % 16 + 66);
	}
}

static void votes(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"setp.lt.u32 %p0, %r0, 5; vote.sync.ballot.b32 %r1, %p0, -1; vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, %p0, -1;\n"
			"vote.sync.uni.pred %p3, %p0, -1; vote.sync.all.pred %p4, !%p2, -1; selp.u32 %r2, 1, 0, %p1; @%p2 add.u32 %r2, %r2, 2;\n"
			"@%p3 add.u32 %r2, %r2, 4; @%p4 add.u32 %r2, %r2, 8; and.b32 %r3, %r0, 3; match.any.sync.b32 %r4, %r3, -1;\n"
			"match.all.sync.b32 %r5|%p5, %r3, -1; @%p5 add.u32 %r2, %r2, 16; redux.sync.add.u32 %r6, %r0, -1;\n"
			"redux.sync.max.s32 %r7, %r0, -1; add.u32 %r6, %r6, %r7;\n"
			"st.global.u32 [%d1], %r1; st.global.u32 [%d1+128], %r2; st.global.u32 [%d1+256], %r4; st.global.u32 [%d1+384], %r6; ret;"),
		1, 32, 512);

	for (unsigned t = 0; t < 32; t++) {
		assert_int_equal(o[t], 0x1f);
		assert_int_equal(o[32 + t], 1 + 8);
		assert_int_equal(o[64 + t], 0x11111111u << t % 4);
		assert_int_equal(o[96 + t], 496 + 31);
	}
}

static void special_registers(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mad.lo.u32 %r1, %r2, 100, %r1; mov.u32 %r3, %lanemask_lt;\n"
			"mov.u32 %r4, %lanemask_ge; add.u32 %r5, %r3, %r4; mov.u64 %d2, %clock64; add.u32 %r6, %r6, 1; mov.u64 %d3, %clock64;\n"
			"setp.gt.u64 %p0, %d3, %d2; @%p0 add.u32 %r1, %r1, 10000; setp.eq.u32 %p1, %r5, -1; @%p1 add.u32 %r1, %r1, 20000;\n"
			"mov.u32 %r7, %nctaid.x; mov.u32 %r8, WARP_SZ; mad.lo.u32 %r1, %r7, 100000, %r1; mad.lo.u32 %r1, %r8, 1000000, %r1;\n"
			"st.global.u32 [%d1], %r1; ret;"),
		2, 40, 80 * 4);

	for (unsigned t = 0; t < 80; t++)
		assert_int_equal(o[t], t % 40 / 32 * 100 + t % 40 % 32 + 30000 + 200000 + 32000000);
}

/* --- calls --- */
static const char FIB[] =
	".func (.param .b32 res) fib(.param .b32 n) {\n"
	".reg .b32 %r<8>; .reg .pred %p; ld.param.b32 %r0, [n]; setp.gt.s32 %p, %r0, 1; @%p bra MORE; st.param.b32 [res], %r0; ret;\n"
	"MORE: sub.s32 %r1, %r0, 1;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), fib, (a); ld.param.b32 %r2, [b]; }\n"
	"sub.s32 %r1, %r0, 2;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
	"add.s32 %r2, %r2, %r3; st.param.b32 [res], %r2; ret; }\n";

static void recursion(void **state)
{
	char text[4096];
	uint32_t *o;
	static const unsigned fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};

	snprintf(text, sizeof(text), "%s%s%s", PTX_HEAD, FIB,
		strstr(KERNEL("",
			       "rem.u32 %r1, %r0, 10; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), fib, (a);\n"
			       "ld.param.b32 %r2, [b]; } st.global.u32 [%d1], %r2; ret;"),
			".visible"));
	o = run_text(text, 1, 32, 128);
	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], fib[t % 10]);
}

static void indirect_calls(void **state)
{
	/* a table of functions in memory; each lane calls its own */
	uint32_t *o = run_text(
		KERNEL(".func (.param .b32 r) inc(.param .b32 x) { .reg .b32 %r<2>; ld.param.b32 %r0, [x]; add.u32 %r0, %r0, 1; st.param.b32 [r], %r0; ret; }\n"
		       ".func (.param .b32 r) dbl(.param .b32 x) { .reg .b32 %r<2>; ld.param.b32 %r0, [x]; add.u32 %r0, %r0, %r0; st.param.b32 [r], %r0; ret; }\n"
		       ".global .align 8 .u64 table[2] = {inc, dbl};\n",
			"proto: .callprototype (.param .b32 _) _ (.param .b32 _); and.b32 %r1, %r0, 1; mul.wide.u32 %d2, %r1, 8; mov.u64 %d3, table;\n"
			"add.u64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3]; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;\n"
			"call (b), %d4, (a), proto; ld.param.b32 %r2, [b]; } activemask.b32 %r3; popc.b32 %r3, %r3;\n"
			"mad.lo.u32 %r2, %r3, 1000, %r2; st.global.u32 [%d1], %r2; ret;"),
		1, 32, 128);

	for (unsigned t = 0; t < 32; t++)
		assert_int_equal(o[t], 32000 + (t % 2 ? 2 * t : t + 1));
}

/* --- memory shared by blocks --- */
static void atomics_of_many_blocks(void **state)
{
	uint32_t *o = run_text(
		KERNEL("",
			"red.global.add.u32 [%d0], 1; atom.global.max.u32 %r1, [%d0+4], %r31; red.global.or.b32 [%d0+8], %r0;\n"
			"cvt.u64.u32 %d2, %r31; red.global.add.u64 [%d0+16], %d2; atom.global.min.s32 %r1, [%d0+12], -5; ret;"),
		100, 64, 64);

	assert_int_equal(o[0], 6400);
	assert_int_equal(o[1], 6399);
	assert_int_equal(o[2], 63);
	assert_int_equal((int32_t)o[3], -5);
	assert_int_equal(*(uint64_t *)&o[4], 6399ull * 6400 / 2);
}

static void order_is_that_of_blocks(void **state)
{
	/* tickets, and a sum of floats whose bits depend on the order */
	uint32_t *o = run_text(
		KERNEL("",
			"setp.ne.u32 %p0, %r0, 0; @%p0 ret; atom.global.add.u32 %r1, [%d0+8192], 1; mul.wide.u32 %d2, %r30, 4; add.u64 %d2, %d0, %d2;\n"
			"st.global.u32 [%d2], %r1; add.u32 %r2, %r30, 1; cvt.rn.f32.u32 %f0, %r2; rcp.rn.f32 %f0, %f0;\n"
			"red.global.add.f32 [%d0+8196], %f0; atom.global.exch.b32 %r3, [%d0+8200], %r30;\n"
			"atom.global.cas.b32 %r4, [%d0+8204], 0, %r2; atom.global.inc.u32 %r5, [%d0+8208], 9; ret;"),
		1000, 64, 8300);
	float sum = 0;

	for (unsigned b = 0; b < 1000; b++) {
		assert_int_equal(o[b], b);
		sum += 1.0f / (float)(b + 1);
	}
	assert_memory_equal(&o[2049], &sum, 4);
	assert_int_equal(o[2050], 999);
	assert_int_equal(o[2051], 1);
	assert_int_equal(o[2052], 0); /* 1000 increments modulo 10 */
}

static void variables(void **state)
{
	uint32_t *o = run_text(
		KERNEL(".global .align 4 .u32 a[2][2] = {{1, 2}, {3}};\n.const .align 8 .b8 text[6] = {72, 101, 108, 108, 111, 0};\n"
		       ".global .f32 x = 0f40400000;\n.global .f64 y = -2.5;\n.global .align 8 .u64 where = generic(a)+8;\n.global .s16 neg = -3;\n",
			"mov.u64 %d2, a; ld.global.u32 %r1, [a+4]; ld.const.u8 %r2, [text+1]; ld.global.u32 %r3, [x]; ld.global.u32 %r4, [y+4];\n"
			"ld.global.u64 %d3, [where]; ld.u32 %r5, [%d3]; ld.global.s16 %r6, [neg]; ld.global.u32 %r7, [a+12];\n"
			"st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%d0+16], {%r5, %r6}; st.global.u32 [%d0+24], %r7; ret;"),
		1, 1, 64);

	assert_int_equal(o[0], 2);
	assert_int_equal(o[1], 'e');
	assert_int_equal(o[2], 0x40400000);
	assert_int_equal(o[3], 0xc0040000);
	assert_int_equal(o[4], 3);
	assert_int_equal((int32_t)o[5], -3);
	assert_int_equal(o[6], 0);
}

static void dynamic_shared(void **state)
{
	struct ptx_module *m = load(KERNEL(".extern .shared .align 16 .b8 dyn[];",
		".shared .b32 s[3]; st.shared.u32 [s+8], 7; mov.u32 %r1, dyn; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;\n"
		"bar.sync 0; xor.b32 %r3, %r0, 33; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %r4, [%r2]; mov.u32 %r5, %dynamic_smem_size;\n"
		"mad.lo.u32 %r4, %r5, 1000, %r4; st.global.u32 [%d1], %r4; ret;"));
	void *o = device(256);
	struct ptx_launch l = {.fn = ptx_kernel(m, 0),
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.dynamic_shared = 256,
		.params = &o};
	struct ptx_fault f;

	assert_int_equal(ptx_run(&l, &f), PTX_OK);
	for (unsigned t = 0; t < 64; t++)
		assert_int_equal(((uint32_t *)o)[t], 256000 + (t ^ 33));
	l.dynamic_shared = 252; /* one thread too many now */
	assert_int_equal(ptx_run(&l, &f), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(f.thread[0], 63);
	ptx_free(m);
}

/* --- printf --- */
static void printing(void **state)
{
	static const char text[] = PTX_HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		".global .align 1 .b8 fmt[] = \"b%d %5.2f|%-4s|%lld %c %x %%\";\n.global .align 1 .b8 abc[4] = {97, 98, 99, 0};\n"
		".visible .entry k(.param .u64 o) { .reg .b64 %d<8>; .reg .b32 %r<8>; .local .align 8 .b8 args[48];\n"
		"mov.u32 %r0, %ctaid.x; st.local.u32 [args], %r0; st.local.f64 [args+8], 0d4004000000000000;\n"
		"mov.u64 %d0, abc; st.local.u64 [args+16], %d0; st.local.u64 [args+24], -5; st.local.u32 [args+32], 122;\n"
		"st.local.u32 [args+36], 255; cvta.local.u64 %d1, args; cvta.global.u64 %d2, fmt;\n"
		"{ .param .b64 p; .param .b64 q; .param .b32 v; st.param.b64 [p], %d2; st.param.b64 [q], %d1;\n"
		"call.uni (v), vprintf, (p, q); ld.param.b32 %r1, [v]; } ret; }\n";
	struct ptx_module *m = load(text);
	FILE *old = stdout;
	char *got = NULL, want[1024] = "";
	size_t n = 0, at = 0;
	struct ptx_fault f;
	void *o = NULL;
	enum ptx_fault_code code;

	stdout = open_memstream(&got, &n);
	code = launch_of(m, "k", 20, 1, &o, &f);
	fclose(stdout);
	stdout = old;
	assert_int_equal(code, PTX_OK);
	for (unsigned b = 0; b < 20; b++)
		at += (size_t)snprintf(
			want + at, sizeof(want) - at, "b%u  2.50|abc |-5 z ff %%", b);
	assert_string_equal(got, want);
	free(got);
	ptx_free(m);
}

/* --- faults --- */
struct fault_case {
	const char *body;
	enum ptx_fault_code code;
	unsigned thread;
	const char *says; /* a part of the text */
};

static void faults(void **state)
{
	static const struct fault_case cases[] = {
		{"setp.lt.u32 %p0, %r0, 33; @%p0 ret; st.global.u32 [%d1+4096], %r0; ret;",
			PTX_ILLEGAL_ADDRESS, 33, "st.global.u32 to 0x"},
		{"ld.global.u32 %r1, [%d1+4096]; st.global.u32 [%d1], %r1; ret;",
			PTX_ILLEGAL_ADDRESS, 0, "ld.global.u32 from 0x"},
		{"mov.u64 %d2, 0; ld.u32 %r1, [%d2]; ret;", PTX_ILLEGAL_ADDRESS, 0,
			"from 0, 4 bytes"},
		{"ld.global.u32 %r1, [%d1+2]; ret;", PTX_MISALIGNED_ADDRESS, 0,
			"misaligned address"},
		{"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1]; ret;", PTX_MISALIGNED_ADDRESS, 1,
			"16 bytes"},
		{".shared .b32 s[4]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1; st.shared.u32 [%r1], 0; ret;",
			PTX_ILLEGAL_ADDRESS, 32, "0x80, 4 bytes"},
		{".local .b32 l[4]; mov.u32 %r1, 400; st.local.u32 [%r1], 0; ret;",
			PTX_ILLEGAL_ADDRESS, 0, "st.local.u32"},
		{"setp.eq.u32 %p0, %r0, 34; @%p0 trap; ret;", PTX_TRAP, 34, "trap"},
		{"setp.lt.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 0; A: bar.sync 1; ret;",
			PTX_TIMEOUT, 0, "deadlock"},
		{"setp.eq.u32 %p0, %r0, 3;\n@%p0 tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [x, {%r0}]; ret;",
			PTX_ILLEGAL_INSTRUCTION, 3, "line 9: tex.1d.v4.f32.s32: "},
		{"add.s32.foo %r1, %r0, 1; ret;", PTX_ILLEGAL_INSTRUCTION, 0,
			"add.s32.foo: a modifier that is not implemented"},
		{"add.sat.u32 %r1, %r0, 1; ret;", PTX_ILLEGAL_INSTRUCTION, 0,
			"add.sat.u32: this form is not implemented"},
		{"setp.lt.u32 %p0, %r0, 16; @%p0 bra A; ret; A: shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xff; ret;",
			PTX_ILLEGAL_INSTRUCTION, 8, "member mask"},
		{"mov.u32 %r1, %pm0; ret;", PTX_ILLEGAL_INSTRUCTION, 0, "special register"},
		{"bar.sync 16; ret;", PTX_ILLEGAL_INSTRUCTION, 0, "barrier above 15"},
	};
	struct ptx_fault f;

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		char text[4096];
		void *o = device(4096);
		struct ptx_module *m;
		snprintf(text, sizeof(text), "%s", KERNEL("", "@"));
		*strrchr(text, '@') = 0;
		snprintf(
			text + strlen(text), sizeof(text) - strlen(text), "%s\n}\n", cases[k].body);
		m = load(text);
		if (launch_of(m, "k", 1, 64, &o, &f) != cases[k].code)
			fail_msg("%s: code %d, %s", cases[k].body, f.code, f.text);
		assert_string_equal(f.kernel, "k");
		if (f.thread[0] != cases[k].thread || !strstr(f.text, cases[k].says))
			fail_msg("%s: %s", cases[k].body, f.text);
		assert_true(f.line >= 8);
		ptx_free(m);
	}
}

static void constants_are_read_only(void **state)
{
	struct ptx_module *m = load(KERNEL("", "st.global.u32 [%d1], 1; ret;"));
	const struct mem_range *r = mem_alloc(MEM_DEVICE, 256, 256, 0);
	void *o = (void *)(uintptr_t)r->start;
	struct ptx_fault f;

	assert_int_equal(launch_of(m, "k", 1, 32, &o, &f), PTX_OK);
	mem_set_flags(r, 0, true);
	*(uint32_t *)o = 77;
	assert_int_equal(launch_of(m, "k", 1, 32, &o, &f), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(launch_of(m, "k", 1, 5, &o, &f), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(*(uint32_t *)o, 77);
	ptx_free(m);
	m = load(KERNEL("", "red.global.add.u32 [%d1], 1; ret;"));
	assert_int_equal(launch_of(m, "k", 1, 32, &o, &f), PTX_ILLEGAL_ADDRESS);
	ptx_free(m);
}

static void fault_text(void **state)
{
	struct ptx_module *m =
		load(KERNEL("", "add.u64 %d1, %d1, 4096;\nst.global.f32 [%d1], %f0; ret;"));
	void *o = device(1024);
	struct ptx_fault f;
	char want[256];

	assert_int_equal(launch_of(m, "k", 3, 32, &o, &f), PTX_ILLEGAL_ADDRESS);
	snprintf(want, sizeof(want),
		"tsdb softgpu: illegal address: kernel k, block (0,0,0), thread (0,0,0), PTX line 9: st.global.f32 to %#llx, 4 bytes; "
		"the nearest allocation is %#llx+1024",
		(unsigned long long)(uintptr_t)o + 4096, (unsigned long long)(uintptr_t)o);
	assert_string_equal(f.text, want);
	assert_int_equal(f.addr, (uintptr_t)o + 4096);
	assert_int_equal(f.size, 4);
	ptx_free(m);
}

static void lowest_block_is_named(void **state)
{
	struct ptx_module *m = load(KERNEL("", "setp.lt.u32 %p0, %r30, 37; @%p0 ret; trap;"));
	struct ptx_fault f;
	void *o = NULL;

	for (unsigned k = 0; k < 20; k++) {
		assert_int_equal(launch_of(m, "k", 200, 64, &o, &f), PTX_TRAP);
		assert_int_equal(f.block[0], 37);
	}
	ptx_free(m);
}

static void stack_overflow(void **state)
{
	struct ptx_module *m =
		load(KERNEL(".func down() { .local .b8 room[100]; call.uni down; ret; }",
			"call.uni down; ret;"));
	struct ptx_fault f;
	void *o = NULL;

	assert_int_equal(launch_of(m, "k", 1, 32, &o, &f), PTX_STACK_OVERFLOW);
	ptx_free(m);
}

static void *cancel_soon(void *arg)
{
	usleep(20000);
	*(volatile bool *)arg = true;
	return NULL;
}

static void cancelling(void **state)
{
	struct ptx_module *m = load(KERNEL("", "LOOP: bra LOOP;"));
	volatile bool cancel = false;
	void *o = NULL;
	struct ptx_launch l = {.fn = ptx_kernel(m, 0),
		.grid = {8, 1, 1},
		.block = {64, 1, 1},
		.cancel = &cancel,
		.params = &o};
	struct ptx_fault f;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, cancel_soon, (void *)&cancel), 0);
	assert_int_equal(ptx_run(&l, &f), PTX_CANCELLED);
	pthread_join(t, NULL);
	ptx_free(m);
}

static void limited_slices(void **state)
{
	struct ptx_module *m = load(KERNEL("", "LOOP: bar.sync 0; bra LOOP;"));
	void *o = NULL;
	struct ptx_launch l = {.fn = ptx_kernel(m, 0),
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.max_slices = 5,
		.params = &o};
	struct ptx_fault f;

	assert_int_equal(ptx_run(&l, &f), PTX_TIMEOUT);
	l.cooperative = true;
	l.grid[0] = 3;
	assert_int_equal(ptx_run(&l, &f), PTX_TIMEOUT);
	ptx_free(m);
}

/* --- texts that are wrong --- */
static void bad_texts(void **state)
{
	static const struct {
		const char *text, *log;
	} cases[] = {
		{"", "line 1: no .version and .target"},
		{PTX_HEAD ".entry k() { add.s32 %r1, %r1, 1; }", "line 4: '%r1' is not declared"},
		{PTX_HEAD ".entry k() {\n bra NOWHERE;\n}",
			"line 5: label 'NOWHERE' does not exist"},
		{PTX_HEAD ".entry k() { .reg .b32 %r<2>; .reg .b32 %r<3>; }",
			"line 4: '%r' is declared twice"},
		{PTX_HEAD ".entry k() { ret", "line 4: ';' should end ret"},
		{PTX_HEAD ".entry k() {", "line 4: the text ends inside function k"},
		{PTX_HEAD ".entry k() { call.uni nobody; }",
			"line 4: function 'nobody' is not declared"},
		{PTX_HEAD ".entry k() { .reg .b32 %r<4>; add.u32 %r4, %r0, 1; }",
			"line 4: '%r4' is not declared"},
		{PTX_HEAD ".address_size 32\n", "line 4: only 64-bit addresses are implemented"},
		{PTX_HEAD ".global .b32 x[99999999999];",
			"line 4: an array this large is not possible"},
		{PTX_HEAD ".global .b32 x[1] = {1, 2};",
			"line 4: more initial values than elements"},
		{PTX_HEAD "/* no end", "line 4: not a PTX token: ''"},
		{PTX_HEAD ".entry k() { @%p0 ret; }", "line 4: '%p0' is not a predicate"},
	};
	char log[256];

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct ptx_module *m =
			ptx_load(cases[k].text, strlen(cases[k].text), log, sizeof(log));
		if (m)
			fail_msg("taken: %s", cases[k].text);
		assert_string_equal(log, cases[k].log);
	}
}

static void every_cut_of_a_text(void **state)
{
	static const char text[] = KERNEL(
		".global .align 4 .u32 a[2] = {1, 2};\n.func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r<2>; ld.param.b32 %r0, [x]; st.param.b32 [r], %r0; ret; }\n",
		"{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), f, (p); ld.param.b32 %r1, [q]; }\n"
		"setp.lt.u32 %p0|%p1, %r0, 5; @!%p0 bra L; st.global.v2.u32 [%d1+-8], {%r0, 7}; L: mov.b64 {_, %r2}, %d0; ret;");
	char log[64];

	for (size_t n = 0; n <= sizeof(text) - 1; n++)
		ptx_free(ptx_load(text, n, log, n % 64));
	struct ptx_module *m = ptx_load(text, sizeof(text), log, sizeof(log));
	assert_non_null(m);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_if),
		cmocka_unit_test(loops_of_each_lane),
		cmocka_unit_test(early_exit),
		cmocka_unit_test(indexed_branch),
		cmocka_unit_test(lists_of_callees),
		cmocka_unit_test(other_names),
		cmocka_unit_test(memory_from_the_stack),
		cmocka_unit_test(banks_of_constants),
		cmocka_unit_test(scopes_and_labels),
		cmocka_unit_test(random_programs),
		cmocka_unit_test(reverse_through_shared),
		cmocka_unit_test(barrier_on_both_sides),
		cmocka_unit_test(reductions),
		cmocka_unit_test(producer_and_consumer),
		cmocka_unit_test(warps_that_spin),
		cmocka_unit_test(blocks_that_wait),
		cmocka_unit_test(shuffles),
		cmocka_unit_test(warp_barrier_on_both_sides),
		cmocka_unit_test(votes),
		cmocka_unit_test(special_registers),
		cmocka_unit_test(recursion),
		cmocka_unit_test(indirect_calls),
		cmocka_unit_test(atomics_of_many_blocks),
		cmocka_unit_test(order_is_that_of_blocks),
		cmocka_unit_test(variables),
		cmocka_unit_test(dynamic_shared),
		cmocka_unit_test(printing),
		cmocka_unit_test(faults),
		cmocka_unit_test(constants_are_read_only),
		cmocka_unit_test(fault_text),
		cmocka_unit_test(lowest_block_is_named),
		cmocka_unit_test(stack_overflow),
		cmocka_unit_test(cancelling),
		cmocka_unit_test(limited_slices),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(every_cut_of_a_text),
	};

	setenv("TSDB_SOFT_WORKERS", "4", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
