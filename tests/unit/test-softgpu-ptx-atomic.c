/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics on halves, vectors and 128 bits, and the forms that only give hints. Expectations worked
 * out by hand.
 */
#include "ptx-test.h"

#define HEAD90 ".version 8.6\n.target sm_90\n.address_size 64\n"
#define KERNEL(body)                                                                                                            \
	HEAD90 ".visible .entry k(.param .u64 out) {\n"                                                                         \
	       ".reg .b16 %h<12>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<12>; .reg .b128 %q<4>;\n" \
	       "ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d4, %r0, 4; add.u64 %d1, %d0, %d4;\n" body          \
	       "\nret; }\n"

static float f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static void halves(void **state)
{
	/* 1.0 is 0x3c00 and 0x3f80; 32 lanes add 1.0: 32.0 is 0x5000 and 0x4200. A pair of 2.0 and
	 * 0.5: 64.0 is 0x5400, 16.0 is 0x4c00. */
	uint32_t *o = run_text(
		KERNEL("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x3f80; mov.b32 %r1, 0x38004000; mov.b32 %r2, 0x3f004000;\n"
		       "red.global.add.noftz.f16 [%d0], %h1; atom.global.add.noftz.bf16 %h3, [%d0+2], %h2; atom.add.noftz.f16x2 %r3, [%d0+4], %r1;\n"
		       "red.relaxed.gpu.global.add.noftz.bf16x2 [%d0+8], %r2; st.global.u16 [%d1+128], %h3; st.global.u32 [%d1+256], %r3;"),
		1, 32, 512);
	static const uint16_t bf16[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080};

	assert_int_equal(o[0], 0x42005000);
	assert_int_equal(o[1], 0x4c005400);
	assert_int_equal(o[2], 0x41804280); /* 16.0, 64.0 */
	for (unsigned t = 0; t < 5; t++)
		assert_int_equal(o[32 + t], bf16[t]);
	assert_int_equal(o[64 + 2], 0x3c004400); /* 1.0, 4.0: what two lanes had added */
}

static void rounding_of_halves(void **state)
{
	/* 2048 + 1 is a tie in f16 and stays 2048; 2050 + 1 goes to 2052. 256 + 1 in bf16: a tie,
	 * stays; 258 + 1: 260. Subnormals stay: 0x0001 + 0x0001 = 0x0002. Infinity less infinity is
	 * the canonical NaN. */
	uint32_t *o = run_text(
		KERNEL("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x3f80; mov.b32 %r1, 0x68016800; st.global.u32 [%d0], %r1;\n"
		       "red.global.add.noftz.f16 [%d0], %h1; red.global.add.noftz.f16 [%d0+2], %h1;\n"
		       "mov.b32 %r1, 0x43814380; st.global.u32 [%d0+4], %r1; red.global.add.noftz.bf16 [%d0+4], %h2; red.global.add.noftz.bf16 [%d0+6], %h2;\n"
		       "mov.b32 %r1, 0x7c000001; st.global.u32 [%d0+8], %r1; mov.b32 %r2, 0xfc000001; red.global.add.noftz.f16x2 [%d0+8], %r2;"),
		1, 1, 64);

	assert_int_equal(o[0], 0x68026800);
	assert_int_equal(o[1], 0x43824380);
	assert_int_equal(o[2], 0x7fff0002);
}

static void vectors(void **state)
{
	uint32_t *o = run_text(
		KERNEL("mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0f40400000; mov.f32 %f4, 0f40800000;\n"
		       "atom.global.add.v4.f32 {%f5, %f6, %f7, %f8}, [%d0], {%f1, %f2, %f3, %f4}; red.global.add.v2.f32 [%d0+16], {%f1, %f4};\n"
		       "st.global.f32 [%d1+128], %f8; mov.b16 %h1, 0x3c00; mov.b16 %h2, 0xc000;\n"
		       "red.global.v8.f16.min.noftz [%d0+32], {%h1, %h2, %h1, %h2, %h1, %h2, %h1, %h2};\n"
		       "mov.b32 %r1, 0x3f80c000; atom.global.v2.bf16x2.max.noftz {%r2, %r3}, [%d0+48], {%r1, %r1};"),
		1, 32, 512);

	for (unsigned k = 0; k < 4; k++)
		assert_true(f32(o[k]) == 32.0f * (float)(k + 1));
	assert_true(f32(o[4]) == 32 && f32(o[5]) == 128);
	for (unsigned t = 0; t < 32; t++)
		assert_true(f32(o[32 + t]) == 4.0f * (float)t);
	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(o[8 + k], 0xc0000000); /* 0 against 1.0 and -2.0 */
	assert_int_equal(o[12], 0x3f800000);
	assert_int_equal(o[13], 0x3f800000);
}

static void quadwords(void **state)
{
	/* each lane adds to a 128-bit number by CAS: 32 times 2^63 is 16 in the high half; then an
	 * exchange */
	uint32_t *o = run_text(
		KERNEL("ld.global.b128 %q0, [%d0];\n"
		       "AGAIN: mov.b128 {%d5, %d6}, %q0; mov.u64 %d9, 0x8000000000000000; add.cc.u64 %d7, %d5, %d9; addc.u64 %d8, %d6, 0;\n"
		       "mov.b128 %q1, {%d7, %d8}; atom.relaxed.sys.global.cas.b128 %q2, [%d0], %q0, %q1; mov.b128 {%d10, %d11}, %q2;\n"
		       "setp.ne.u64 %p0, %d10, %d5; setp.ne.u64 %p1, %d11, %d6; or.pred %p0, %p0, %p1; mov.b128 %q0, %q2; @%p0 bra AGAIN;\n"
		       "setp.ne.u32 %p2, %r0, 0; @%p2 bra END; ld.acquire.gpu.global.b128 %q3, [%d0]; st.relaxed.gpu.global.b128 [%d0+16], %q3;\n"
		       "mov.u64 %d5, 5; mov.u64 %d6, 6; mov.b128 %q1, {%d5, %d6}; atom.exch.b128 %q2, [%d0], %q1; st.b128 [%d0+32], %q2;\nEND:"),
		1, 32, 512);

	assert_int_equal(o[0], 5);
	assert_int_equal(o[2], 6);
	for (unsigned k = 4; k < 12; k++)
		assert_int_equal(o[k], k == 6 || k == 10 ? 16 : 0);
}

static void hints(void **state)
{
	uint32_t *o = run_text(
		KERNEL("createpolicy.fractional.L2::evict_last.b64 %d5, 1.0; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d6, 0.5;\n"
		       "st.global.L1::no_allocate.u32 [%d1], %r0; ld.global.L1::evict_last.L2::cache_hint.L2::128B.u32 %r1, [%d1], %d5; add.u32 %r1, %r1, 1;\n"
		       "st.global.L2::cache_hint.v2.u32 [%d0+256], {%r1, %r1}, %d5; atom.global.add.L2::cache_hint.u32 %r2, [%d0+512], 2, %d5;\n"
		       "red.global.add.L2::cache_hint.u32 [%d0+512], 1, %d5; ld.mmio.relaxed.sys.global.u32 %r3, [%d1]; st.mmio.relaxed.sys.global.u32 [%d1+640], %r3;\n"
		       "prefetch.global.L2 [%d1]; prefetch.global.L2::evict_last [%d1]; prefetchu.L1 [%d1]; applypriority.global.L2::evict_normal [%d0], 128;\n"
		       "setp.ne.u32 %p0, %r0, 0; @%p0 bra END; discard.global.L2 [%d0+1024], 128;\nEND:"),
		1, 32, 2048);

	assert_int_equal(o[64], 32); /* the highest lane's store is the last */
	assert_int_equal(o[128], 96);
	assert_int_equal(o[160 + 31], 31);
	assert_int_equal(o[255], 0);
	assert_int_equal(o[256], 0xa5a5a5a5);
	assert_int_equal(o[287], 0xa5a5a5a5);
	assert_int_equal(o[288], 0);
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *part;
	} wrong[] = {
		{KERNEL("multimem.red.relaxed.sys.global.add.f32 [%d0], %f1;"), "multimem.red"},
		{KERNEL("atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f1, %f2};"),
			"a vector on this state space"},
		{KERNEL("atom.global.v8.f32.add {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1}, [%d0], {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};"),
			"not implemented"},
		{KERNEL("red.global.v2.f16.min [%d0], {%h1, %h2};"), "a vector of this type"},
		{KERNEL("atom.local.exch.b128 %q0, [%d0], %q1;"), "not implemented"},
		{KERNEL("mov.b128 %q0, 5;"), "128"},
		{KERNEL("discard.global.L2 [%d0], 64;"), "other than 128"},
	};

	for (unsigned k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		struct ptx_module *m = load(wrong[k].text);
		void *out = device(256);
		struct ptx_fault f;
		assert_int_equal(launch_of(m, "k", 1, 1, &out, &f), PTX_ILLEGAL_INSTRUCTION);
		if (!strstr(f.text, wrong[k].part))
			fail_msg("'%s' is not in '%s'", wrong[k].part, f.text);
		ptx_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves),
		cmocka_unit_test(rounding_of_halves),
		cmocka_unit_test(vectors),
		cmocka_unit_test(quadwords),
		cmocka_unit_test(hints),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests_name("softgpu ptx atomic", tests, NULL, NULL);
}
