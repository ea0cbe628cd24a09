/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading machine code of GFX9. Words are put together by hand from the ISA documents' fields
 * ("AMD Instinct MI200 ISA", chapter 13); the large comparison with LLVM is gfx-compare.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "gpucode/gfx-decode.h"

static void reads_as(unsigned target, uint32_t w0, uint32_t w1, unsigned size, const char *text)
{
	uint32_t w[2] = {w0, w1};
	struct gfx_insn i;
	char got[200];

	assert_true(gfx_decode(target, w, 2, &i));
	assert_int_equal(i.size, size);
	gfx_text(target, &i, got, sizeof(got));
	assert_string_equal(got, text);
}

static void unknown(unsigned target, uint32_t w0, uint32_t w1, size_t n)
{
	uint32_t w[2] = {w0, w1};
	struct gfx_insn i;

	assert_false(gfx_decode(target, w, n, &i));
}

/* One of each encoding. */
static void encodings(void **state)
{
	(void)state;
	reads_as(GFX_90A, 0x80028403, 0, 4, "s_add_u32 s2, s3, 4");	       /* SOP2 */
	reads_as(GFX_90A, 0xb0008000, 0, 4, "s_movk_i32 s0, 0x8000");	       /* SOPK */
	reads_as(GFX_90A, 0xbe80206a, 0, 4, "s_and_saveexec_b64 s[0:1], vcc"); /* SOP1 */
	reads_as(GFX_90A, 0xbf068001, 0, 4, "s_cmp_eq_u32 s1, 0");	       /* SOPC */
	reads_as(GFX_90A, 0xbf810000, 0, 4, "s_endpgm");		       /* SOPP */
	reads_as(
		GFX_90A, 0xc0060002, 0x1ffff8, 8, "s_load_dwordx2 s[0:1], s[4:5], -0x8"); /* SMEM */
	reads_as(GFX_90A, 0x020404f2, 0, 4, "v_add_f32_e32 v2, 1.0, v2");		  /* VOP2 */
	reads_as(GFX_90A, 0x7e020280, 0, 4, "v_mov_b32_e32 v1, 0");			  /* VOP1 */
	reads_as(GFX_90A, 0x7d940600, 0, 4, "v_cmp_eq_u32_e32 vcc, s0, v3");		  /* VOPC */
	reads_as(GFX_90A, 0xd1cb0001, 0x040e0501, 8, "v_fma_f32 v1, v1, v2, v3");	  /* VOP3 */
	reads_as(GFX_90A, 0xd86c0000, 0x01000002, 8, "ds_read_b32 v1, v2"); /* DS: vdst 1, addr 2 */
	reads_as(GFX_90A, 0xdc508004, 0x017f0002, 8, "global_load_dword v1, v[2:3], off offset:4");
	reads_as(GFX_90A, 0xe0501004, 0x80020102, 8,
		"buffer_load_dword v1, v2, s[8:11], 0 offen offset:4"); /* MUBUF */
}

static void literals_and_lengths(void **state)
{
	(void)state;
	reads_as(GFX_90A, 0x7e0202ff, 0x12345678, 8, "v_mov_b32_e32 v1, 0x12345678");
	unknown(GFX_90A, 0x7e0202ff, 0, 1); /* its literal is not there */
	unknown(GFX_90A, 0xd1cb0001, 0, 1);
	unknown(GFX_90A, 0, 0, 0);
}

/* What only some targets have. */
static void targets(void **state)
{
	(void)state;
	reads_as(GFX_906, 0x76020401, 0, 4, "v_fmac_f32_e32 v1, s1, v2");
	unknown(GFX_900, 0x76020401, 0, 2);
	reads_as(GFX_908, 0x08020401, 0, 4, "v_mul_legacy_f32_e32 v1, s1, v2");
	reads_as(GFX_90A, 0x08040404, 0, 4, "v_fmac_f64_e32 v[2:3], s[4:5], v[2:3]");
	unknown(GFX_90A, 0x08020504, 0, 2); /* an odd pair */
	assert_int_equal(gfx_target(0x1030), 0);
}

/* Graphics, unused bits, registers that are not there. */
static void refused(void **state)
{
	(void)state;
	unknown(GFX_90A, 0xf0000000, 0, 2);	     /* MIMG */
	unknown(GFX_90A, 0xe8000000, 0, 2);	     /* MTBUF */
	unknown(GFX_90A, 0xd86d0000, 0x01000002, 2); /* GDS */
	unknown(GFX_90A, 0xd1cb0001, 0x040e04d1, 2); /* source 209 is reserved */
	unknown(GFX_90A, 0x8082817d, 0, 2);	     /* operand 125 is reserved */
	unknown(GFX_90A, 0xd86c0000, 0x01010002, 2); /* ds_read_b32 has no data */
	unknown(GFX_90A, 0xdc5c8000, 0xfe7f0002, 2); /* four registers from v254 on */
	unknown(GFX_90A, 0xffffffff, 0xffffffff, 2);
}

/* The text never goes over its buffer. */
static void short_buffer(void **state)
{
	uint32_t w[2] = {0xd1cb0001, 0x040e0501};
	struct gfx_insn i;
	char got[9];

	(void)state;
	assert_true(gfx_decode(GFX_90A, w, 2, &i));
	memset(got, 'x', sizeof(got));
	gfx_text(GFX_90A, &i, got, 8);
	assert_string_equal(got, "v_fma_f");
	assert_int_equal(got[8], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(encodings),
		cmocka_unit_test(literals_and_lengths), cmocka_unit_test(targets),
		cmocka_unit_test(refused), cmocka_unit_test(short_buffer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
