/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that threads take from their stacks ("PTX ISA 9.0", 9.7.15): alloca gives each thread as
 * many bytes as it asks for, at a multiple of what it asks for, that nothing else of it has;
 * stackrestore gives back what was taken since. And the upper halves of clocks that run for long.
 */
#include "ptx-test.h"

#include "softgpu/machine/ptx-run.h"

#define THREADS 40
#define PIECES 5
#define WORDS (PIECES + 2)

/* How many bytes a thread takes for a piece. */
static unsigned size_of(unsigned piece, unsigned thread)
{
	return 8 * (piece * 3 + 1) + 4 * (thread % 5);
}

/* Takes the pieces, and fills each; gives the last two back and takes the last but one again; a
 * function takes one, too. Tells the addresses. */
static void write_kernel(char *text, size_t room, unsigned bits, unsigned align)
{
	const char r = bits == 64 ? 'd' : 'r';
	char aligned[16] = "";
	size_t at;

#define OUT(...) (at += (size_t)snprintf(text + at, room - at, __VA_ARGS__))
	if (align)
		snprintf(aligned, sizeof(aligned), ", %u", align);
	at = 0;
	OUT(PTX_HEAD
		".func (.param .b%u r) inner() { .reg .b%u %%%c<9>; .local .align 4 .b32 l[3]; alloca.u%u %%%c1, 24%s; st.local.u32 [%%%c1+20], -1; st.param.b%u [r], %%%c1; ret; }\n",
		bits, bits, r, bits, r, aligned, r, bits, r);
	OUT(".visible .entry k(.param .u64 o) { .reg .b32 %%r<20>; .reg .b64 %%d<20>; .reg .b64 %%at; .reg .pred %%p<6>; .local .align 4 .b32 own[3];\n"
	    "ld.param.u64 %%at, [o]; mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d0, %%r0, %u; add.u64 %%at, %%at, %%d0; rem.u32 %%r1, %%r0, 5; shl.b32 %%r1, %%r1, 2; st.local.u32 [own+8], %%r0;\n",
		8 * WORDS);
	for (unsigned k = 0; k < PIECES + 1; k++) {
		const unsigned piece = k < PIECES ? k : PIECES - 2;

		if (k == PIECES - 2)
			OUT("stacksave.u%u %%%c19;\n", bits, r);
		if (k == PIECES)
			OUT("stackrestore.u%u %%%c19;\n", bits, r);
		OUT("add.u32 %%r2, %%r1, %u; %s alloca.u%u %%%c%u, %%%c2%s; st.local.u32 [%%%c%u], %u;\n",
			size_of(piece, 0), bits == 64 ? "cvt.u64.u32 %d2, %r2;" : "", bits, r,
			10 + k, r, aligned, r, 10 + k, 100 + k);
		OUT("%s.u64%s %%d4, %%%c%u; st.global.u64 [%%at+%u], %%d4;\n",
			bits == 64 ? "mov" : "cvt", bits == 64 ? "" : ".u32", r, 10 + k, 8 * k);
	}
	OUT("{ .param .b%u r; call (r), inner; ld.param.b%u %%%c3, [r]; }\n", bits, bits, r);
	OUT("%s st.global.u64 [%%at+%u], %%d3;\n", bits == 64 ? "" : "cvt.u64.u32 %d3, %r3;",
		8 * (PIECES + 1));
	/* the first word of each is what was written last there */
	OUT("mov.u32 %%r4, 0;\n");
	for (unsigned k = 0; k < PIECES - 2; k++)
		OUT("ld.local.u32 %%r5, [%%%c%u]; setp.ne.u32 %%p%u, %%r5, %u; @%%p%u add.u32 %%r4, %%r4, 1;\n",
			r, 10 + k, k, 100 + k, k);
	OUT("ld.local.u32 %%r5, [own+8]; sub.u32 %%r5, %%r5, %%r0; add.u32 %%r4, %%r4, %%r5; setp.eq.u32 %%p5, %%r4, 0; @!%%p5 trap; ret; }\n");
	assert_true(at < room);
#undef OUT
}

static void check_thread(const uint64_t *a, unsigned thread, unsigned align)
{
	for (unsigned k = 0; k < PIECES + 2; k++) {
		if (a[k] % (align ? align : 8) != 0)
			fail_msg("thread %u: piece %u is at %llu", thread, k,
				(unsigned long long)a[k]);
		assert_true(a[k] >= 12 && a[k] < 1 << 20); /* behind the kernel's own variable */
	}
	for (unsigned k = 0; k < PIECES; k++)
		for (unsigned j = 0; j < k; j++)
			assert_true(a[k] >= a[j] + size_of(j, thread) ||
				    a[j] >= a[k] + size_of(k, thread));
	assert_int_equal(a[PIECES], a[PIECES - 2]); /* given back, and taken again */
	for (unsigned k = 0; k < PIECES - 1; k++)   /* the function's */
		assert_true(a[PIECES + 1] >= a[k] + size_of(k, thread));
}

static void test_alloca(void **state)
{
	static const unsigned aligns[] = {0, 1, 8, 16, 128, 1024};
	static char text[16384];

	for (size_t k = 0; k < sizeof(aligns) / sizeof(aligns[0]); k++)
		for (unsigned bits = 32; bits <= 64; bits *= 2) {
			uint64_t *o;

			write_kernel(text, sizeof(text), bits, aligns[k]);
			o = run_text(text, 1, THREADS, THREADS * 8 * WORDS);
			for (unsigned t = 0; t < THREADS; t++)
				check_thread(o + t * WORDS, t, aligns[k]);
		}
}

/* What a function of the system gives back takes its own bytes alone. */
static void test_results(void **state)
{
	const uint32_t *o = run_text(PTX_HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 nothing[1] = {0};\n"
		".visible .entry k(.param .u64 o) { .reg .b64 %d<4>; .reg .b32 %r<6>; .param .b32 before; .param .b32 r; .param .b32 behind; .param .b64 f; .param .b64 a;\n"
		"ld.param.u64 %d0, [o]; mov.u32 %r0, -1; st.param.b32 [before], %r0; st.param.b32 [r], %r0; st.param.b32 [behind], %r0; mov.u64 %d1, nothing; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0; st.param.b64 [f], %d1; st.param.b64 [a], %d2;\n"
		"call (r), vprintf, (f, a); ld.param.b32 %r1, [before]; ld.param.b32 %r2, [r]; ld.param.b32 %r3, [behind]; st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r2; st.global.u32 [%d0+8], %r3; ret; }\n",
		1, 1, 16);

	assert_int_equal(o[0], UINT32_MAX);
	assert_int_equal(o[1], 0); /* no arguments were printed */
	assert_int_equal(o[2], UINT32_MAX);
}

/* Each thread's pieces of the heap are its own, from the first byte to the last, and not a byte
 * more: what is behind the last is nobody's. */
static enum ptx_fault_code heap_launch(uint64_t *out, unsigned beyond, struct ptx_fault *f)
{
	struct ptx_module *m = load(PTX_HEAD
		".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
		".visible .entry k(.param .u64 o, .param .u64 beyond) { .reg .b64 %d<9>; .reg .b32 %r<6>; .reg .b16 %h<4>; .param .b64 n; .param .b64 p;\n"
		"ld.param.u64 %d0, [o]; ld.param.u64 %d7, [beyond]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1; mul.wide.u32 %d2, %r0, 37; add.u64 %d2, %d2, 1;\n"
		"st.param.b64 [n], %d2; call (p), malloc, (n); ld.param.b64 %d3, [p]; st.global.u64 [%d0], %d3; cvt.u16.u32 %h1, %r0; add.u64 %d4, %d3, %d2; st.u8 [%d3], %h1; st.u8 [%d4+-1], %h1;\n"
		"bar.sync 0; ld.u8 %h2, [%d3]; ld.u8 %h3, [%d4+-1]; add.u16 %h2, %h2, %h3; cvt.u64.u16 %d5, %h2; st.global.u64 [%d0+512], %d5; add.u64 %d4, %d4, %d7; ld.u8 %h2, [%d4+-1]; st.param.b64 [p], %d3; bar.sync 0; call free, (p); ret; }\n");
	struct {
		void *o;
		uint64_t beyond;
	} params = {out, beyond};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.params = &params,
		.heap = ptx_heap_new(1 << 20, 3)};
	enum ptx_fault_code code = ptx_run(&l, f);

	ptx_free(m);
	ptx_heap_delete(l.heap);
	return code;
}

static void test_heap(void **state)
{
	uint64_t *out = device(1024);
	struct ptx_fault f;

	if (heap_launch(out, 0, &f))
		fail_msg("%s", f.text);
	for (unsigned t = 0; t < 64; t++) {
		assert_true(out[t] && out[t] % 16 == 0);
		assert_int_equal(out[64 + t], 2 * t);
		for (unsigned k = 0; k < t; k++)
			assert_true(out[k] + 37 * k + 1 <= out[t] || out[t] + 37 * t + 1 <= out[k]);
	}
	assert_int_equal(heap_launch(out, 1, &f), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(f.addr, out[0] + 1); /* thread 0 has one byte */
	assert_int_equal(f.size, 1);
}

/* %clock_hi and %globaltimer_hi are the upper halves of what %clock64 and %globaltimer are, and
 * those of 32 bits the lower ones; a launch's clock runs at its rate. */
static void test_clocks(void **state)
{
	static const uint64_t counts[] = {0, 1, 1ull << 29, 1ull << 30, 5ull << 31, 77ull << 33};

	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct ptx_launch l = {.clock_hz = 2000000000};
		struct ptx_worker wk = {.l = &l, .start_ns = 0x123456789abcdef0};
		struct ptx_warp w = {.wk = &wk, .count = counts[k]};
		const uint64_t cycles = ptx_clock(&w, SR_clock64),
			       ns = ptx_clock(&w, SR_globaltimer);

		assert_true(cycles >= counts[k]); /* an instruction takes one at least */
		assert_int_equal(ptx_clock(&w, SR_clock_hi), cycles >> 32);
		assert_int_equal((uint32_t)ptx_clock(&w, SR_clock), (uint32_t)cycles);
		assert_in_range(ns - wk.start_ns, cycles / 2 - 1, cycles / 2); /* it is rounded */
		assert_int_equal(ptx_clock(&w, SR_globaltimer_hi), ns >> 32);
		assert_int_equal((uint32_t)ptx_clock(&w, SR_globaltimer_lo), (uint32_t)ns);
		l.clock_hz = 0; /* 1 GHz */
		assert_in_range(ptx_clock(&w, SR_globaltimer) - wk.start_ns, cycles - 1, cycles);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloca),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
