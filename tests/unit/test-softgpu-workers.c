/* SPDX-License-Identifier: Apache-2.0
 *
 * The same kernels on one to four workers, each number in a process of its own: memory, what is
 * printed and which fault is told come out alike, byte for byte.
 */
#include "ptx-test.h"

#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define BLOCKS 150
#define THREADS 96
#define WORDS (BLOCKS * THREADS)

#define KERNEL(body)                                                                                 \
	PTX_HEAD                                                                                     \
	".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n"                    \
	".global .align 1 .b8 text[] = \"block %u;\";\n"                                             \
	".visible .entry k(.param .u64 p) {\n"                                                       \
	".reg .b32 %r<12>; .reg .b64 %d<9>; .reg .f32 %f<4>; .reg .pred %p<4>;\n"                    \
	".shared .align 8 .b8 s[512]; .local .align 8 .b8 l[8];\n"                                   \
	"ld.param.u64 %d1, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n" \
	"mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d1, %d2;\n"          \
	"add.u64 %d2, %d2, 256; mul.lo.u32 %r4, %r0, 4;\n" body "\nret; }"

static const char *const kernels[] = {
	/* what an atomic gives back depends on the order of blocks */
	KERNEL("atom.global.add.u32 %r5, [%d1], 1; st.global.u32 [%d2], %r5;"),
	KERNEL("atom.global.exch.b32 %r5, [%d1], %r3; st.global.u32 [%d2], %r5;"),
	/* sums of floating-point numbers, too */
	KERNEL("cvt.rn.f32.u32 %f1, %r3; rcp.rn.f32 %f1, %f1; setp.eq.u32 %p1, %r3, 0; @%p1 mov.f32 %f1, 0f00000000; atom.global.add.f32 %f2, [%d1], %f1; st.global.f32 [%d2], %f2;"),
	/* barriers and shared memory, with turns of a loop that depend on the block */
	KERNEL("mov.u32 %r6, s; add.u32 %r6, %r6, %r4; st.shared.u32 [%r6], %r3; and.b32 %r7, %r1, 7;\n"
	       "L: bar.sync 0; ld.shared.u32 %r8, [%r6]; sub.u32 %r9, 380, %r4; mov.u32 %r10, s; add.u32 %r9, %r9, %r10; ld.shared.u32 %r10, [%r9]; bar.sync 0;\n"
	       "add.u32 %r8, %r8, %r10; st.shared.u32 [%r6], %r8; sub.s32 %r7, %r7, 1; setp.gt.s32 %p1, %r7, 0; @%p1 bra L; st.global.u32 [%d2], %r8;"),
	/* local memory is fresh, and the clock of a warp its own */
	KERNEL("ld.local.u32 %r5, [l]; st.local.u32 [l], %r3; mov.u32 %r6, %clock; add.u32 %r5, %r5, %r6; st.global.u32 [%d2], %r5;"),
	/* every tenth block prints */
	KERNEL("setp.ne.u32 %p1, %r0, 5; @%p1 ret; rem.u32 %r5, %r1, 10; setp.ne.u32 %p1, %r5, 0; @%p1 ret;\n"
	       "st.local.u32 [l], %r1; mov.u64 %d3, l; cvta.local.u64 %d3, %d3; mov.u64 %d4, text; cvta.global.u64 %d4, %d4;\n"
	       "{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %d4; st.param.b64 [v], %d3; call.uni (r), vprintf, (f, v); }"),
	/* several blocks fault: one is told */
	KERNEL("rem.u32 %r5, %r1, 40; setp.eq.u32 %p1, %r5, 37; setp.eq.and.u32 %p1, %r0, 70, %p1; @%p1 trap; st.global.u32 [%d2], %r3;"),
	KERNEL("setp.gt.u32 %p1, %r1, 20; @%p1 mov.u64 %d2, 64; st.global.u32 [%d2], %r3;"),
};

/* In a process of its own: everything that can be seen goes to standard output. */
static void run_all(const char *workers)
{
	setenv("TSDB_SOFT_WORKERS", workers, 1);
	for (size_t k = 0; k < COUNT_OF(kernels); k++) {
		struct ptx_module *m = load(kernels[k]);
		uint32_t *mem = device(256 + WORDS * 4);
		struct ptx_fault f = {0};
		enum ptx_fault_code code = launch_of(m, "k", BLOCKS, THREADS, &mem, &f);

		fflush(stdout);
		printf("kernel %zu: %d %s\n", k, code, f.text);
		if (!code)
			fwrite(mem, 1, 256 + WORDS * 4, stdout);
		ptx_free(m);
	}
	fflush(stdout);
}

static char *output_of(const char *workers, size_t *n)
{
	int out[2];
	size_t cap = 1 << 20;
	char *all = malloc(cap);
	ssize_t got;
	int status;
	pid_t child;

	assert_int_equal(pipe(out), 0);
	child = fork();
	if (!child) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		run_all(workers);
		_exit(0);
	}
	close(out[1]);
	for (*n = 0; (got = read(out[0], all + *n, cap - *n)) > 0; *n += (size_t)got)
		;
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return all;
}

static void test_workers(void **state)
{
	size_t want_n, n;
	char *want = output_of("1", &want_n);

	assert_true(want_n > 6 * WORDS * 4);
	for (unsigned w = 2; w <= 4; w++) {
		char text[4];
		char *got;

		snprintf(text, sizeof text, "%u", w);
		got = output_of(text, &n);
		assert_int_equal(n, want_n);
		assert_memory_equal(got, want, n);
		free(got);
	}
	free(want);
}

/* With one worker blocks come in their order, and the first fault is the one that is told. */
static void test_order(void **state)
{
	size_t n, at = 0;
	char *all = output_of("3", &n), *s = all;
	unsigned faults = 0;

	for (unsigned t = 0; t < WORDS; t++) { /* the first kernel: tickets in order */
		uint32_t ticket;

		at = (size_t)(strchr(all, '\n') + 1 - all);
		memcpy(&ticket, all + at + 256 + t * 4, 4);
		assert_int_equal(ticket, t);
	}
	for (; (s = memmem(s, n - (size_t)(s - all), "block (", 7)); s++)
		faults += !strncmp(s, "block (37,0,0), thread (70,0,0)", 31) ||
			  !strncmp(s, "block (21,0,0), thread (0,0,0)", 30);
	assert_int_equal(faults, 2);
	s = memmem(all, n, "block 0;block 10;block 20;", 26);
	assert_non_null(s);
	assert_non_null(memmem(s, n - (size_t)(s - all), "block 130;block 140;kernel 5: 0 \n", 33));
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
