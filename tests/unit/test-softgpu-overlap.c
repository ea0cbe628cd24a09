/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch that is held while those behind it begin early (programmatic dependent launch; "CUDA C++
 * Programming Guide", Programmatic Dependent Launch and Synchronization): what each sees before and
 * behind its griddepcontrol.wait, and how often a probe at that wait counts.
 *
 * Launch number n writes n to word[0], last; early in a launch, word[0] is what it sees of others.
 */
#include "softgpu-test.h"
#include "replayer/soft-watch.h"

#include <string.h>

#define OUT(what, at) "ld.global.u32 %r2, [%d0]; st.global.u32 [%d1+" at "], %r2; /* " what " */\n"
#define BEGIN(name)                                                                                \
	".visible .entry " name "(.param .u64 word, .param .u64 seen, .param .u32 n) {\n"          \
	".reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>;\n"                                    \
	"ld.param.u64 %d0, [word]; ld.param.u64 %d1, [seen]; ld.param.u32 %r1, [n];\n"             \
	"mov.u32 %r3, %ctaid.x; mul.wide.u32 %d2, %r3, 16; add.u64 %d1, %d1, %d2;\n"
#define END "st.global.u32 [%d0], %r1; ret; }\n"
#define WAIT ".loc 1 5 0\ngriddepcontrol.wait;\n.loc 1 6 0\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"

/* waits: does not trigger. triggers: before its wait. some: block 0 alone does. never: no wait.
 * half: half of the warp waits in front of the other half. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"early.cu\"\n" BEGIN(
	"waits") OUT("early", "0") WAIT OUT("late", "4") END BEGIN("triggers") TRIGGER OUT("early",
	"0") WAIT OUT("late",
	"4") END BEGIN("some") "setp.ne.u32 %p0, %r3, 0;\n@%p0 bra N;\n" TRIGGER "N:\n" OUT("early",
	"0") WAIT OUT("late", "4") END BEGIN("never") OUT("early",
	"0") OUT("late", "4") END
	BEGIN("guarded") "setp.eq.u32 %p0, %r3, 77;\n@%p0 griddepcontrol.launch_dependents;\n" OUT(
		"early", "0") "@%p0 griddepcontrol.wait;\n" OUT("late", "4")
		END BEGIN("half") "mov.u32 %r4, %tid.x;\nsetp.lt.u32 %p0, %r4, 16;\n" OUT("early",
			"0") "@%p0 bra W;\nst.global.u32 [%d1+8], %r1;\nbra.uni E;\nW:\n" WAIT
			     "E:\n" OUT("late", "4") END;

enum kernel { WAITS, TRIGGERS, SOME, NEVER, GUARDED, HALF_WAITS, KERNELS };

static const struct soft_watch *w;
static CUmodule module;
static CUfunction kernel[KERNELS];
static CUstream s;
static CUdeviceptr word, seen;

static int start(void **state)
{
	static const char *const names[KERNELS] = {
		"waits", "triggers", "some", "never", "guarded", "half"};
	const struct soft_watch *(*table)(void);

	softgpu_start(state);
	*(void **)&table = entry(SOFT_WATCH_SYMBOL);
	w = table();
	OK(cuModuleLoadData(&module, ptx));
	for (unsigned i = 0; i < KERNELS; i++)
		OK(cuModuleGetFunction(&kernel[i], module, names[i]));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&word, 4));
	OK(cuMemAlloc(&seen, 65536));
	return 0;
}

static int stop(void **state)
{
	OK(cuMemFree(word));
	OK(cuMemFree(seen));
	OK(cuStreamDestroy(s));
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

/* One row of launches: what block b of launch n saw, early and late. */
struct one {
	enum kernel kernel;
	bool early; /* may begin before the launch in front has ended */
	unsigned blocks;
	uint32_t saw[2][2]; /* by block (0, the last): early, late */
};

static void put(const struct one *l, unsigned n)
{
	CUdeviceptr at = seen + n * 1024;
	void *args[] = {&word, &at, &(uint32_t){n + 1}};
	CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = l->early};
	CUlaunchConfig c = {.gridDimX = l->blocks,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = s,
		.attrs = &a,
		.numAttrs = 1};

	OK(cuLaunchKernelEx(&c, kernel[l->kernel], args, NULL));
}

static void row_gives(const char *name, bool held, const struct one *l, unsigned n)
{
	uint32_t got[4];

	OK(cuMemsetD32(word, 0, 1));
	OK(cuMemsetD8(seen, 0xee, 65536));
	OK(cuCtxSynchronize());
	if (held)
		w->hold();
	for (unsigned k = 0; k < n; k++)
		put(&l[k], k);
	OK(cuStreamSynchronize(s));
	for (unsigned k = 0; k < n; k++)
		for (unsigned last = 0; last < 2; last++) {
			OK(cuMemcpyDtoH(got, seen + k * 1024 + (last ? l[k].blocks - 1 : 0) * 16,
				sizeof got));
			/* a block may see what another of its own launch has written already */
			if (l[k].blocks > 1 && got[1] == k + 1)
				got[1] = l[k].saw[last][1];
			if (got[0] != l[k].saw[last][0] || got[1] != l[k].saw[last][1])
				fail_msg("%s, launch %u, block %s: %u %u, not %u %u", name, k + 1,
					last ? "last" : "0", got[0], got[1], l[k].saw[last][0],
					l[k].saw[last][1]);
		}
}
#define ROW(name, held, ...)                                                                       \
	do {                                                                                       \
		const struct one row[] = {__VA_ARGS__};                                            \
		row_gives(name, held, row, COUNT_OF(row));                                         \
	} while (0)
#define ALL(early, late)                                                                           \
	{                                                                                          \
		{early, late},                                                                     \
		{                                                                                  \
			early, late                                                                \
		}                                                                                  \
	}

static void test_what_each_sees(void **state)
{
	(void)state;
	ROW("not held", false, {WAITS, true, 1, ALL(0, 0)}, {WAITS, true, 1, ALL(1, 1)},
		{WAITS, true, 1, ALL(2, 2)});
	ROW("the held one is last to write", true, {WAITS, true, 1, ALL(0, 0)},
		{WAITS, true, 1, ALL(0, 1)});
	ROW("it may not begin early", true, {WAITS, false, 1, ALL(0, 0)},
		{WAITS, false, 1, ALL(1, 1)});
	/* the third may begin when all blocks of the second have triggered */
	ROW("a chain", true, {WAITS, false, 1, ALL(0, 0)}, {TRIGGERS, true, 2, ALL(0, 1)},
		{TRIGGERS, true, 3, ALL(0, 2)}, {WAITS, true, 1, ALL(0, 3)});
	ROW("no trigger", true, {WAITS, false, 1, ALL(0, 0)}, {WAITS, true, 1, ALL(0, 1)},
		{WAITS, true, 1, ALL(2, 2)});
	ROW("one block triggers", true, {WAITS, false, 1, ALL(0, 0)}, {SOME, true, 2, ALL(0, 1)},
		{WAITS, true, 1, ALL(2, 2)});
	ROW("the only block triggers", true, {WAITS, false, 1, ALL(0, 0)},
		{SOME, true, 1, ALL(0, 1)}, {WAITS, true, 1, ALL(0, 2)});
	/* one that ends has let others begin; the held one sees what it wrote */
	ROW("no wait", true, {WAITS, false, 1, ALL(2, 2)}, {NEVER, true, 1, ALL(0, 0)});
	/* and a wait is for the launch in front alone, not for those that it did not wait for */
	ROW("no wait, in front of another", true, {WAITS, false, 1, ALL(3, 3)},
		{NEVER, true, 1, ALL(0, 0)}, {WAITS, true, 1, ALL(2, 2)});
	ROW("instructions of no lane", true, {WAITS, false, 1, ALL(3, 3)},
		{GUARDED, true, 1, ALL(0, 0)}, {WAITS, true, 1, ALL(2, 2)});
	ROW("one that may not begin early ends the row", true, {WAITS, false, 1, ALL(0, 0)},
		{TRIGGERS, true, 1, ALL(0, 1)}, {TRIGGERS, false, 1, ALL(2, 2)},
		{TRIGGERS, true, 1, ALL(3, 3)});
	/* it holds the next launch alone */
	ROW("again", false, {WAITS, true, 1, ALL(0, 0)}, {WAITS, true, 1, ALL(1, 1)});
}

/* Lanes that do not wait do what they have to do before those that do. */
static void test_half_of_a_warp_waits(void **state)
{
	const struct one row[] = {{WAITS, false, 1, ALL(2, 2)}, {HALF_WAITS, true, 1, ALL(0, 1)}};
	uint32_t mark;

	(void)state;
	OK(cuMemsetD32(word, 0, 1));
	OK(cuMemsetD8(seen, 0, 65536));
	OK(cuCtxSynchronize());
	w->hold();
	put(&row[0], 0);
	put(&row[1], 1);
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&mark, seen + 1024 + 8, 4));
	assert_int_equal(mark, 2);
}

/* A wait that was put off, again and again, is one. */
static void test_a_probe_at_the_wait(void **state)
{
	static const struct one row[] = {{WAITS, false, 1, ALL(0, 0)}, {WAITS, true, 3, ALL(0, 1)}};
	struct soft_probe p[2] = {{.kind = SOFT_PROBE_COUNT, .line = 5, .file = "early.cu"},
		{.kind = SOFT_PROBE_COUNT, .line = 6, .file = "early.cu"}};
	struct soft_probe_result r;

	(void)state;
	w->probes(p, 2);
	row_gives("probed", true, row, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(w->probe_result(i, &r));
		assert_int_equal(r.count, 4 * 32);
		assert_int_equal(r.launches, 2);
	}
	w->probes(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_each_sees),
		cmocka_unit_test(test_half_of_a_warp_waits),
		cmocka_unit_test(test_a_probe_at_the_wait),
	};

	return cmocka_run_group_tests_name("softgpu-overlap", tests, start, stop);
}
