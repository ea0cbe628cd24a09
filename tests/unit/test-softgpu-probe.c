/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes in a kernel of many warps, through the driver's table (replayer/soft-watch.h), against the
 * same counts made here by plain loops; and expressions that read what the kernel has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <cuda.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include "replayer/soft-watch.h"
#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define KERNEL "_ZN4deep4demoEPjj"

/*
 * A thread t of its block: line 11 of the source comes t % 5 + 1 times, with %r3 from 0 up; line 13
 * once, in a function; line 14 for t < 40 alone, line 15 twice in a row: one run. The number in the
 * comment is the PTX's line.
 */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".file 1 \"/src/demo/deep.cu\"\n"
	".file 2 \"/src/demo/deep.h\"\n"
	".global .align 4 .b32 word = 77;\n"
	".const .align 8 .b8 bytes[8] = {254, 255, 1, 128, 0, 0, 128, 63};\n"
	".func side(.param .b32 x) {\n" /* 8 */
	".reg .b32 %y<2>;\n"
	".loc 2 13 0\n"
	"	ld.param.b32 %y0, [x];\n" /* 11 */
	"	ret;\n"
	"}\n"
	".visible .entry " KERNEL "(.param .u64 out, .param .u32 n) {\n"
	".reg .s32 %r<10>; .reg .b64 %d<4>; .reg .u64 %u<2>; .reg .pred %p<4>; .reg .f32 %f<4>;\n"
	".reg .f64 %g<2>; .shared .align 4 .b32 tile[1024]; .local .align 4 .b32 own[2];\n"
	".loc 1 10 0\n"
	"	mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u64 %d0, [out]; mov.u64 %u0, -1;\n"
	"	rem.u32 %r2, %r0, 5; mov.u32 %r3, 0; mad.lo.s32 %r4, %r1, 64, %r0; sub.s32 %r5, %r4, 20;\n"
	"	cvt.rn.f32.s32 %f0, %r5; mul.f32 %f0, %f0, 0f3E800000; cvt.f64.f32 %g0, %f0;\n"
	"	shl.b32 %r6, %r0, 2; mov.u32 %r7, tile; add.s32 %r7, %r7, %r6; st.shared.u32 [%r7], %r4;\n"
	"	mov.u32 %r8, own; st.local.u32 [%r8], %r5; st.local.u32 [%r8+4], %r4;\n"
	"L:\n"
	".loc 1 11 0\n"
	"	add.s32 %r3, %r3, 1;\n" /* 25 */
	".loc 1 12 0\n"
	"	setp.le.s32 %p0, %r3, %r2;\n"
	"	@%p0 bra L;\n"
	"	{ .param .b32 p; st.param.b32 [p], %r0; call side, (p); }\n"
	"	setp.ge.s32 %p1, %r0, 40;\n"
	"	@%p1 bra M;\n"
	".loc 1 14 0\n"
	"	add.s32 %r3, %r3, 100;\n" /* 33 */
	"M:\n"
	".loc 1 15 0\n"
	"	add.s32 %r9, %r3, 1;\n" /* 36 */
	".loc 1 15 7\n"
	"	add.s32 %r9, %r9, 1;\n"
	"	ret;\n"
	"}\n";

static const struct soft_watch *w;
static CUcontext primary;
static CUmodule module;
static CUfunction k;
static CUdeviceptr out;

static int start(void **state)
{
	const struct soft_watch *(*table)(void);

	(void)state;
	*(void **)&table = dlsym(RTLD_DEFAULT, SOFT_WATCH_SYMBOL);
	assert_non_null(table);
	w = table();
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&k, module, KERNEL));
	OK(cuMemAlloc(&out, 4096));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	OK(cuMemFree(out));
	OK(cuModuleUnload(module));
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static void launch(unsigned blocks, unsigned threads)
{
	uint32_t n = 12345;
	void *args[] = {&out, &n};

	OK(cuLaunchKernel(k, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
}

static struct soft_probe probe(
	unsigned kind, const char *file, unsigned line, const char *expr, const char *condition)
{
	struct soft_probe p = {.id = 7, .kind = kind, .line = line};

	snprintf(p.file, sizeof p.file, "%s", file);
	snprintf(p.expr, sizeof p.expr, "%s", expr);
	snprintf(p.condition, sizeof p.condition, "%s", condition);
	return p;
}

static struct soft_probe_result results[4];

static struct soft_probe_result *result(unsigned i)
{
	assert_true(w->probe_result(i, &results[i]));
	return &results[i];
}

/* What one probe counts in a launch. */
static struct soft_probe_result *counted(unsigned kind, const char *file, unsigned line,
	const char *expr, const char *condition, unsigned blocks, unsigned threads)
{
	const struct soft_probe p = probe(kind, file, line, expr, condition);

	w->probes(&p, 1);
	launch(blocks, threads);
	assert_int_equal(result(0)->id, 7);
	return result(0);
}

static void counts_are(const struct soft_probe_result *r, uint64_t launches, uint64_t count,
	uint64_t unknown, uint64_t others, unsigned keys)
{
	assert_int_equal(r->launches, launches);
	assert_int_equal(r->count, count);
	assert_int_equal(r->unknown, unknown);
	assert_int_equal(r->others, others);
	assert_int_equal(r->nkeys, keys);
}

static void test_lines_are_counted(void **state)
{
	static const struct {
		const char *file;
		unsigned line;
	} nowhere[] = {{"deep.cu", 16}, {"deep.h", 14}, {"eep.cu", 10}, {"other.cu", 11}};
	uint64_t turns = 0;

	(void)state;
	for (unsigned t = 0; t < 70; t++)
		turns += t % 5 + 1;
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 11, "", "", 3, 70), 1, 3 * turns, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "demo/deep.cu", 10, "", "", 2, 33), 1, 66, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.h", 13, "", "", 2, 64), 1, 128, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 14, "", "", 2, 64), 1, 80, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "", 2, 64), 1, 128, 0, 0, 0);
	/* the next line that has instructions, and the kernel's own file */
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 13, "", "", 2, 64), 1, 80, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "", 15, "", "", 1, 64), 1, 64, 0, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		counts_are(
			counted(SOFT_PROBE_COUNT, nowhere[i].file, nowhere[i].line, "", "", 1, 64),
			0, 0, 0, 0, 0);
	/* conditions, of integers and of doubles; names that are not there */
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "%r0 < 10", 2, 64), 1, 20, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "%f0", 1, 64), 1, 63, 0, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "%nix", 1, 64), 1, 0, 64, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "%nix", "", 1, 64), 1, 0, 64, 0, 0);
	counts_are(
		counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "%r0 < 3 || u8[%r0 - 3] < 0", 1, 64),
		1, 3, 61, 0, 0);
	counts_are(counted(SOFT_PROBE_COUNT, "deep.cu", 15, "", "0", 1, 64), 0, 0, 0, 0, 0);
	/* of no number: 0 / 0 of lane 20 */
	counts_are(counted(SOFT_PROBE_HIST, "deep.cu", 15, "%f0 / %f0", "", 1, 64), 1, 63, 1, 0, 0);
}

/* Of the header's words: 0: below 0; 1: 0; k: from 2^(k-2) to below 2^(k-1). Of doubles all that
 * is below 1 but not below 0 counts as 0. */
static unsigned bucket(double v)
{
	unsigned b = 2;

	if (v < 0)
		return 0;
	if (v < 1)
		return 1;
	while (b < 65 && v >= ldexp(1, (int)b - 1))
		b++;
	return b;
}

static void buckets_are(
	const char *expr, unsigned blocks, unsigned threads, double (*of)(unsigned b, unsigned t))
{
	const struct soft_probe_result *r =
		counted(SOFT_PROBE_HIST, "deep.cu", 15, expr, "", blocks, threads);
	uint64_t want[SOFT_PROBE_BUCKETS] = {0};

	for (unsigned b = 0; b < blocks; b++)
		for (unsigned t = 0; t < threads; t++)
			want[bucket(of(b, t))]++;
	assert_int_equal(r->count, blocks * threads);
	for (unsigned i = 0; i < SOFT_PROBE_BUCKETS; i++)
		if (r->bucket[i] != want[i])
			fail_msg("%s: bucket %u has %llu, not %llu", expr, i,
				(unsigned long long)r->bucket[i], (unsigned long long)want[i]);
}

static double minus_20(unsigned b, unsigned t)
{
	return (double)(b * 64 + t) - 20;
}

static double quarters(unsigned b, unsigned t)
{
	return minus_20(b, t) / 4;
}

static double power(unsigned b, unsigned t)
{
	return t < 63 ? (double)(1ull << t) : -1;
}

static double power_less_one(unsigned b, unsigned t)
{
	return (double)((1ull << t) - 1 - ((1ull << t) - 1) % 2048) +
	       (t < 53 ? (double)(((1ull << t) - 1) % 2048) : 0);
}

static double huge(unsigned b, unsigned t)
{
	return minus_20(b, t) * 1e18;
}

static void test_histograms(void **state)
{
	(void)state;
	buckets_are("%r5", 4, 64, minus_20);
	buckets_are("%f0", 4, 64, quarters);
	buckets_are("%g0", 4, 64, quarters);
	buckets_are("1 << %r0", 1, 64, power);
	buckets_are("(1 << %r0) - 1", 1, 63, power_less_one);
	buckets_are("%r5 * 1e18", 1, 64, huge);
}

static void key_is(const struct soft_probe_result *r, uint64_t bits, uint64_t count)
{
	for (unsigned i = 0; i < r->nkeys; i++)
		if (r->key[i].bits == bits) {
			assert_int_equal(r->key[i].count, count);
			return;
		}
	fail_msg("no key %#llx", (unsigned long long)bits);
}

static void test_keys(void **state)
{
	const struct soft_probe_result *r;
	uint64_t sum = 0, bits;

	(void)state;
	r = counted(SOFT_PROBE_BY, "deep.cu", 15, "%r2 - 2", "", 1, 64);
	counts_are(r, 1, 64, 0, 0, 5);
	assert_int_equal(r->is_float, 0);
	for (unsigned i = 0; i < 5; i++)
		key_is(r, (uint64_t)i - 2, i < 4 ? 13 : 12);
	launch(1, 5); /* one more of each */
	counts_are(result(0), 2, 69, 0, 0, 5);
	key_is(&results[0], 2, 13);
	r = counted(SOFT_PROBE_BY, "deep.cu", 15, "%r2 * 0.5", "", 1, 5);
	counts_are(r, 1, 5, 0, 0, 5);
	assert_int_equal(r->is_float, 1);
	for (unsigned i = 0; i < 5; i++) {
		const double d = i * 0.5;

		memcpy(&bits, &d, 8);
		key_is(r, bits, 1);
	}
	/* more than there is room for: of the first launch as of a later one */
	r = counted(SOFT_PROBE_BY, "deep.cu", 15, "%r4", "", 16, 64);
	counts_are(r, 1, 1024, 0, 0, 1024);
	r = counted(SOFT_PROBE_BY, "deep.cu", 15, "%r4", "", 20, 64);
	counts_are(r, 1, 1280, 0, 256, 1024);
	for (unsigned i = 0; i < r->nkeys; i++)
		sum += r->key[i].count;
	assert_int_equal(sum, 1024);
	r = counted(SOFT_PROBE_BY, "deep.cu", 15, "%r0 / 2", "", 16, 64);
	counts_are(r, 1, 1024, 0, 0, 32);
	key_is(r, 31, 32);
	counted(SOFT_PROBE_BY, "deep.cu", 15, "%r4 * 3", "%r4 >= 64", 17, 64);
	counts_are(&results[0], 1, 1024, 0, 0, 1024);
	launch(2, 64); /* block 1 again: no new one */
	counts_are(result(0), 2, 1088, 0, 0, 1024);
	key_is(&results[0], 64 * 3, 2);
	key_is(&results[0], 128 * 3, 1);
	launch(18, 64);
	counts_are(result(0), 3, 2176, 0, 64, 1024);
}

/* Several probes of one line and of others, of one launch. */
static void test_several(void **state)
{
	struct soft_probe p[4] = {probe(SOFT_PROBE_COUNT, "deep.cu", 11, "", "%r3 == 0"),
		probe(SOFT_PROBE_HIST, "deep.cu", 11, "%r3", ""),
		probe(SOFT_PROBE_BY, "deep.cu", 15, "%r0 & 1", ""),
		probe(SOFT_PROBE_COUNT, "deep.cu", 11, "%nix", "")};
	static struct soft_probe_result none;
	uint64_t turns = 0;

	(void)state;
	for (unsigned t = 0; t < 1000; t++)
		turns += t % 5 + 1;
	for (unsigned i = 0; i < 4; i++)
		p[i].id = 10 + i;
	w->probes(p, 4);
	launch(10, 1000); /* 320 warps */
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(result(i)->id, 10 + i);
	counts_are(&results[0], 1, 10000, 0, 0, 0);
	counts_are(&results[1], 1, 10 * turns, 0, 0, 0);
	assert_int_equal(results[1].bucket[1], 10000);
	assert_int_equal(results[1].bucket[2], 8000);
	assert_int_equal(results[1].bucket[3], 10000); /* 2 and 3 */
	assert_int_equal(results[1].bucket[4], 2000);
	counts_are(&results[2], 1, 10000, 0, 0, 2);
	key_is(&results[2], 0, 5000);
	counts_are(&results[3], 1, 0, 10 * turns, 0, 0);
	assert_false(w->probe_result(4, &none));
	assert_int_equal(none.count, 0);
	w->probes(p + 1, 2);
	counts_are(result(0), 0, 0, 0, 0, 0); /* forgotten */
	assert_int_equal(results[0].id, 11);
	assert_false(w->probe_result(2, &none));
	launch(1, 5);
	counts_are(result(0), 1, 15, 0, 0, 0);
	counts_are(result(1), 1, 5, 0, 0, 2);
	w->probes(NULL, 0);
	assert_false(w->probe_result(0, &none));
	launch(1, 5);
	assert_false(w->probe_result(0, &none));
}

/* A pattern is for the mangled name and for the function's own. */
static void test_which_kernels(void **state)
{
	static const struct {
		const char *pattern;
		bool is;
	} rows[] = {{"", true}, {"demo", true}, {"d*o", true}, {"deep", false}, {KERNEL, true},
		{"*demoEPjj", true}, {"demoE", false}, {"demo?", false}, {"_Z*", true},
		{"emo", false}, {"side", false}};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct soft_probe p = probe(SOFT_PROBE_COUNT, "deep.cu", 15, "", "");

		snprintf(p.kernel, sizeof p.kernel, "%s", rows[i].pattern);
		w->probes(&p, 1);
		launch(1, 64);
		if (result(0)->count != (rows[i].is ? 64 : 0))
			fail_msg("pattern \"%s\"", rows[i].pattern);
	}
}

/* Rows have other words at each place: by the text's hash and the PTX's line. */
static void test_rows(void **state)
{
	struct soft_probe p = probe(SOFT_PROBE_BY, "deep.cu", 15, "5", "");

	(void)state;
	p.nrows = 3;
	p.row[0] = (struct soft_probe_row){.text = 1, .line = 36, .expr = "%r0"};
	p.row[1] = (struct soft_probe_row){
		.text = soft_probe_hash(ptx, sizeof ptx), .line = 35, .expr = "%r0"};
	p.row[2] = (struct soft_probe_row){.text = soft_probe_hash(ptx, sizeof ptx),
		.line = 36,
		.expr = "%r0 % 2",
		.condition = "%r0 < 11"};
	w->probes(&p, 1);
	launch(1, 64);
	counts_are(result(0), 1, 11, 0, 0, 2);
	key_is(&results[0], 0, 6);
	key_is(&results[0], 1, 5);
	p.nrows = 2; /* no row is for the place */
	w->probes(&p, 1);
	launch(1, 64);
	counts_are(result(0), 1, 0, 64, 0, 0);
}

/* What each expression is in lane 30 of block 1, whose %r4 is 94. */
static void test_expressions_of_a_kernel(void **state)
{
	static const struct {
		const char *text;
		bool is_float;
		double want;
	} rows[] = {
		{"%r4", false, 94},
		{"threadIdx.x + 100 * blockIdx.x", false, 130},
		{"threadIdx.y + threadIdx.z + blockIdx.y + blockIdx.z", false, 0},
		{"blockDim.x", false, 64},
		{"blockDim.y * 10 + blockDim.z", false, 11},
		{"gridDim.x", false, 2},
		{"gridDim.y * 10 + gridDim.z", false, 11},
		{"lane", false, 30},
		{"%laneid + %ntid.x", false, 94},
		{"%p1 * 2 + %p0", false, 0},
		{"%f0", true, 18.5},
		{"%g0", true, 18.5},
		{"s32(%f0)", false, 18},
		{"f32(7)", true, 7},
		{"f64(1) / 3", true, 1.0 / 3},
		{"f32(0.1)", true, 0.1f},
		{"u8(-1)", false, 255},
		{"s8(200)", false, -56},
		{"u16(-2)", false, 65534},
		{"s16(40000)", false, -25536},
		{"u32(-1)", false, 4294967295.0},
		{"s32(4294967295)", false, -1},
		{"u64(-1)", false, -1},
		{"s64( 5 )", false, 5},
		{"u32[&word]", false, 77},
		{"u16[&word + 1]", false, 0},
		{"s8[&bytes]", false, -2},
		{"u8[&bytes + 1]", false, 255},
		{"u16[&bytes]", false, 65534},
		{"s16[&bytes + 2]", false, -32767},
		{"f32[&bytes + 4]", true, 1},
		{"u32[&tile + 4 * 29]", false, 93},
		{"u32[&tile + 4 * 31]", false, 95},
		{"u32[&tile + 4 * 1023]", false, 0},
		{"s32[&own]", false, 74},
		{"u32[&own + 4]", false, 94},
		{"tile", false, 0},
		{"u32[%d0]", false, 1000},
		{"f64[%d0 + 8]", true, 2.5},
		{"s64[%d0 + 16]", false, -3},
	};
	static const char *const bad[] = {"u32[&tile + 4 * 1023 + 1]", "u32[&tile + 4 * 1024]",
		"u8[&tile - 1]", "u32[0]", "u32[8.0]", "u8[%d0 - 1]", "u32[u32[0]]", "f32(u8[0])",
		"-u8[0]", "u8[0] + 1", "1 && u8[0]", "0 || u8[0]", "u8[0] && 0",
		"u32[&own + 8192]"};
	static const char *const wrong[] = {"u32[1", "u32(1", "u32[1)", "&nix", "&", "u32",
		"f16[0]", "threadIdx.w", "threadIdx.xy", "lanes", "threadIdx"};
	static const char *const fine[] = {"0 && u8[0]", "1 || u8[0]"};
	const struct {
		uint32_t a, pad;
		double b;
		int64_t c;
	} data = {1000, 0, 2.5, -3};

	(void)state;
	OK(cuMemcpyHtoD(out, &data, sizeof data));
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct soft_probe_result *r =
			counted(SOFT_PROBE_BY, "deep.cu", 15, rows[i].text, "%r4 == 94", 2, 64);
		double got = (double)(int64_t)r->key[0].bits;

		if (r->is_float)
			memcpy(&got, &r->key[0].bits, 8);
		if (r->count != 1 || r->is_float != rows[i].is_float || got != rows[i].want)
			fail_msg("%s is %g of %llu, float %u", rows[i].text, got,
				(unsigned long long)r->count, r->is_float);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		if (counted(SOFT_PROBE_BY, "deep.cu", 15, bad[i], "%r4 == 94", 2, 64)->unknown !=
				1 ||
			results[0].count)
			fail_msg("%s has a value", bad[i]);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (counted(SOFT_PROBE_BY, "deep.cu", 15, wrong[i], "%r4 == 94", 2, 64)->unknown !=
			128)
			fail_msg("%s was taken", wrong[i]);
	for (unsigned i = 0; i < sizeof fine / sizeof *fine; i++)
		if (counted(SOFT_PROBE_BY, "deep.cu", 15, fine[i], "%r4 == 94", 2, 64)->count != 1)
			fail_msg("%s has no value", fine[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_counted),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_which_kernels),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_expressions_of_a_kernel),
	};

	return cmocka_run_group_tests_name("softgpu-probe", tests, start, stop);
}
