/* SPDX-License-Identifier: Apache-2.0
 *
 * Each class of instructions with values worked out by hand from the ISA document's words ("AMD
 * Instinct MI200 Instruction Set Architecture", chapter 12) and IEEE 754: shifts by 32 and more,
 * carries, NaN, denormals, ties, ends of the types.
 */
#include "amd-test.h"

/* Scalar: sources in s[8:9] and s[10:11], SCC (mask) before; result in s[20:21], SCC after.
 * Vector: sources in v[4:5], v[6:7], v[8:9], VCC (mask) and v[12:13] (old) before; the result in
 * v[12:13], VCC after. */
struct test_case {
	bool scalar;
	uint32_t word[2];
	const char *text;
	uint64_t source[3];
	uint64_t old, mask, want, want_mask;
};

static const struct test_case scalar[] = {
	{true, {0x80140a08, 0x00000000}, "s_add_u32 s20, s8, s10", {0xffffffff, 0x1}, .mask = 0,
		.want = 0x0, .want_mask = 1},
	{true, {0x80140a08, 0x00000000}, "s_add_u32 s20, s8, s10", {0x7fffffff, 0x1}, .mask = 1,
		.want = 0x80000000, .want_mask = 0},
	{true, {0x80940a08, 0x00000000}, "s_sub_u32 s20, s8, s10", {0x0, 0x1}, .mask = 0,
		.want = 0xffffffff, .want_mask = 1},
	{true, {0x81140a08, 0x00000000}, "s_add_i32 s20, s8, s10", {0x7fffffff, 0x1}, .mask = 0,
		.want = 0x80000000, .want_mask = 1},
	{true, {0x81140a08, 0x00000000}, "s_add_i32 s20, s8, s10", {0xffffffff, 0x1}, .mask = 1,
		.want = 0x0, .want_mask = 0},
	{true, {0x81940a08, 0x00000000}, "s_sub_i32 s20, s8, s10", {0x80000000, 0x1}, .mask = 0,
		.want = 0x7fffffff, .want_mask = 1},
	{true, {0x82140a08, 0x00000000}, "s_addc_u32 s20, s8, s10", {0xffffffff, 0x0}, .mask = 1,
		.want = 0x0, .want_mask = 1},
	{true, {0x82940a08, 0x00000000}, "s_subb_u32 s20, s8, s10", {0x0, 0xffffffff}, .mask = 1,
		.want = 0x0, .want_mask = 1},
	{true, {0x82940a08, 0x00000000}, "s_subb_u32 s20, s8, s10", {0x5, 0x4}, .mask = 1,
		.want = 0x0, .want_mask = 0},
	{true, {0x83140a08, 0x00000000}, "s_min_i32 s20, s8, s10", {0xffffffff, 0x1}, .mask = 0,
		.want = 0xffffffff, .want_mask = 1},
	{true, {0x84940a08, 0x00000000}, "s_max_u32 s20, s8, s10", {0xffffffff, 0x1}, .mask = 0,
		.want = 0xffffffff, .want_mask = 1},
	{true, {0x8e140a08, 0x00000000}, "s_lshl_b32 s20, s8, s10", {0x1, 0x21}, .mask = 0,
		.want = 0x2, .want_mask = 1},
	{true, {0x8f940a08, 0x00000000}, "s_lshr_b64 s[20:21], s[8:9], s10",
		{0x8000000000000000, 0x3f}, .mask = 0, .want = 0x1, .want_mask = 1},
	{true, {0x90140a08, 0x00000000}, "s_ashr_i32 s20, s8, s10", {0x80000000, 0x1f}, .mask = 0,
		.want = 0xffffffff, .want_mask = 1},
	{true, {0x90940a08, 0x00000000}, "s_ashr_i64 s[20:21], s[8:9], s10",
		{0x8000000000000000, 0x40}, .mask = 0, .want = 0x8000000000000000, .want_mask = 1},
	{true, {0x91140a08, 0x00000000}, "s_bfm_b32 s20, s8, s10", {0x4, 0x8}, .mask = 0,
		.want = 0xf00, .want_mask = 0},
	{true, {0x92940a08, 0x00000000}, "s_bfe_u32 s20, s8, s10", {0xabcd1234, 0x80008}, .mask = 0,
		.want = 0x12, .want_mask = 1},
	{true, {0x93140a08, 0x00000000}, "s_bfe_i32 s20, s8, s10", {0xf000, 0x4000c}, .mask = 0,
		.want = 0xffffffff, .want_mask = 1},
	{true, {0x92940a08, 0x00000000}, "s_bfe_u32 s20, s8, s10", {0xffffffff, 0x4}, .mask = 1,
		.want = 0x0, .want_mask = 0},
	{true, {0x94140a08, 0x00000000}, "s_bfe_i64 s[20:21], s[8:9], s10",
		{0x8000000000000000, 0x4003c}, .mask = 0, .want = 0xfffffffffffffff8,
		.want_mask = 1},
	{true, {0x92140a08, 0x00000000}, "s_mul_i32 s20, s8, s10", {0xffffffff, 0xffffffff},
		.mask = 0, .want = 0x1, .want_mask = 0},
	{true, {0x96140a08, 0x00000000}, "s_mul_hi_u32 s20, s8, s10", {0xffffffff, 0xffffffff},
		.mask = 0, .want = 0xfffffffe, .want_mask = 0},
	{true, {0x96940a08, 0x00000000}, "s_mul_hi_i32 s20, s8, s10", {0xffffffff, 0xffffffff},
		.mask = 0, .want = 0x0, .want_mask = 0},
	{true, {0x95140a08, 0x00000000}, "s_absdiff_i32 s20, s8, s10", {0x80000000, 0x7fffffff},
		.mask = 0, .want = 0xffffffff, .want_mask = 1},
	{true, {0x97940a08, 0x00000000}, "s_lshl2_add_u32 s20, s8, s10", {0x40000000, 0x1},
		.mask = 0, .want = 0x1, .want_mask = 1},
	{true, {0x99940a08, 0x00000000}, "s_pack_lh_b32_b16 s20, s8, s10", {0x11112222, 0x33334444},
		.mask = 0, .want = 0x33332222, .want_mask = 0},
	{true, {0x89940a08, 0x00000000}, "s_andn2_b64 s[20:21], s[8:9], s[10:11]",
		{0xff00ff00ff00ff00, 0xff00ff00ff00ff00}, .mask = 1, .want = 0x0, .want_mask = 0},
	{true, {0x85140a08, 0x00000000}, "s_cselect_b32 s20, s8, s10", {0x1, 0x2}, .mask = 1,
		.want = 0x1, .want_mask = 1},
	{true, {0x85940a08, 0x00000000}, "s_cselect_b64 s[20:21], s[8:9], s[10:11]",
		{0x1, 0x200000000}, .mask = 0, .want = 0x200000000, .want_mask = 0},
	{true, {0xbe940408, 0x00000000}, "s_not_b32 s20, s8", {0xffffffff, 0x0}, .mask = 1,
		.want = 0x0, .want_mask = 0},
	{true, {0xbe940808, 0x00000000}, "s_brev_b32 s20, s8", {0x1, 0x0}, .mask = 0,
		.want = 0x80000000, .want_mask = 0},
	{true, {0xbe940d08, 0x00000000}, "s_bcnt1_i32_b64 s20, s[8:9]", {0xffffffffffffffff, 0x0},
		.mask = 0, .want = 0x40, .want_mask = 1},
	{true, {0xbe941008, 0x00000000}, "s_ff1_i32_b32 s20, s8", {0x0, 0x0}, .mask = 0,
		.want = 0xffffffff, .want_mask = 0},
	{true, {0xbe941108, 0x00000000}, "s_ff1_i32_b64 s20, s[8:9]", {0x10000000000, 0x0},
		.mask = 0, .want = 0x28, .want_mask = 0},
	{true, {0xbe940e08, 0x00000000}, "s_ff0_i32_b32 s20, s8", {0xffff, 0x0}, .mask = 0,
		.want = 0x10, .want_mask = 0},
	{true, {0xbe941208, 0x00000000}, "s_flbit_i32_b32 s20, s8", {0x1, 0x0}, .mask = 0,
		.want = 0x1f, .want_mask = 0},
	{true, {0xbe941408, 0x00000000}, "s_flbit_i32 s20, s8", {0xffff0000, 0x0}, .mask = 0,
		.want = 0x10, .want_mask = 0},
	{true, {0xbe941408, 0x00000000}, "s_flbit_i32 s20, s8", {0xffffffff, 0x0}, .mask = 0,
		.want = 0xffffffff, .want_mask = 0},
	{true, {0xbe941508, 0x00000000}, "s_flbit_i32_i64 s20, s[8:9]", {0x1, 0x0}, .mask = 0,
		.want = 0x3f, .want_mask = 0},
	{true, {0xbe941608, 0x00000000}, "s_sext_i32_i8 s20, s8", {0x80, 0x0}, .mask = 0,
		.want = 0xffffff80, .want_mask = 0},
	{true, {0xbe943008, 0x00000000}, "s_abs_i32 s20, s8", {0x80000000, 0x0}, .mask = 0,
		.want = 0x80000000, .want_mask = 1},
	{true, {0xbe940708, 0x00000000}, "s_wqm_b64 s[20:21], s[8:9]", {0x8000000000000010, 0x0},
		.mask = 0, .want = 0xf0000000000000f0, .want_mask = 1},
	{true, {0xbe942908, 0x00000000}, "s_quadmask_b64 s[20:21], s[8:9]",
		{0x8000000000000010, 0x0}, .mask = 0, .want = 0x8002, .want_mask = 1},
	{true, {0xbe943708, 0x00000000}, "s_bitreplicate_b64_b32 s[20:21], s8", {0x80000001, 0x0},
		.mask = 0, .want = 0xc000000000000003, .want_mask = 0},
	{true, {0xbf040a08, 0x00000000}, "s_cmp_lt_i32 s8, s10", {0xffffffff, 0x0}, .mask = 0,
		.want = 0x0, .want_mask = 1},
	{true, {0xbf0a0a08, 0x00000000}, "s_cmp_lt_u32 s8, s10", {0xffffffff, 0x0}, .mask = 1,
		.want = 0x0, .want_mask = 0},
	{true, {0xbf120a08, 0x00000000}, "s_cmp_eq_u64 s[8:9], s[10:11]", {0x100000000, 0x0},
		.mask = 1, .want = 0x0, .want_mask = 0},
	{true, {0xbf0d0a08, 0x00000000}, "s_bitcmp1_b32 s8, s10", {0x2, 0x21}, .mask = 0,
		.want = 0x0, .want_mask = 1},
	{true, {0xbf0e0a08, 0x00000000}, "s_bitcmp0_b64 s[8:9], s10", {0x100000000, 0x20},
		.mask = 1, .want = 0x0, .want_mask = 0},
	{true, {0xbe9401c1, 0x00000000}, "s_mov_b64 s[20:21], -1", {0x0, 0x0}, .mask = 0,
		.want = 0xffffffffffffffff, .want_mask = 0},
	{true, {0xbe9401f2, 0x00000000}, "s_mov_b64 s[20:21], 1.0", {0x0, 0x0}, .mask = 0,
		.want = 0x3ff0000000000000, .want_mask = 0},
	{true, {0xbe9400f8, 0x00000000}, "s_mov_b32 s20, 0.15915494", {0x0, 0x0}, .mask = 0,
		.want = 0x3e22f983, .want_mask = 0},
	{true, {0xb0148000, 0x00000000}, "s_movk_i32 s20, 0x8000", {0x0, 0x0}, .mask = 0,
		.want = 0xffff8000, .want_mask = 0},
};

static const struct test_case integers[] = {
	{false, {0x68180d04, 0x00000000}, "v_add_u32_e32 v12, v4, v6", {0xffffffff, 0x2, 0x0},
		.want = 0x1},
	{false, {0xd134800c, 0x00020d04}, "v_add_u32_e64 v12, v4, v6 clamp", {0xffffffff, 0x2, 0x0},
		.want = 0xffffffff},
	{false, {0xd135800c, 0x00020d04}, "v_sub_u32_e64 v12, v4, v6 clamp", {0x1, 0x2, 0x0},
		.want = 0x0},
	{false, {0x6c180d04, 0x00000000}, "v_subrev_u32_e32 v12, v4, v6", {0x1, 0x3, 0x0},
		.want = 0x2},
	{false, {0xd29c800c, 0x00020d04}, "v_add_i32 v12, v4, v6 clamp", {0x7fffffff, 0x1, 0x0},
		.want = 0x7fffffff},
	{false, {0xd29d800c, 0x00020d04}, "v_sub_i32 v12, v4, v6 clamp", {0x80000000, 0x1, 0x0},
		.want = 0x80000000},
	{false, {0xd285000c, 0x00020d04}, "v_mul_lo_u32 v12, v4, v6", {0x10001, 0x10001, 0x0},
		.want = 0x20001},
	{false, {0xd286000c, 0x00020d04}, "v_mul_hi_u32 v12, v4, v6", {0xffffffff, 0xffffffff, 0x0},
		.want = 0xfffffffe},
	{false, {0xd287000c, 0x00020d04}, "v_mul_hi_i32 v12, v4, v6", {0x80000000, 0x80000000, 0x0},
		.want = 0x40000000},
	{false, {0x0c180d04, 0x00000000}, "v_mul_i32_i24_e32 v12, v4, v6",
		{0xff800000, 0xaaffffff, 0x0}, .want = 0x800000},
	{false, {0x10180d04, 0x00000000}, "v_mul_u32_u24_e32 v12, v4, v6",
		{0xff000002, 0x800000, 0x0}, .want = 0x1000000},
	{false, {0x12180d04, 0x00000000}, "v_mul_hi_u32_u24_e32 v12, v4, v6",
		{0xffffff, 0xffffff, 0x0}, .want = 0xffff},
	{false, {0xd1c3000c, 0x04220d04}, "v_mad_u32_u24 v12, v4, v6, v8", {0x3, 0x4, 0x5},
		.want = 0x11},
	{false, {0x24180d04, 0x00000000}, "v_lshlrev_b32_e32 v12, v4, v6", {0x21, 0x1, 0x0},
		.want = 0x2},
	{false, {0x20180d04, 0x00000000}, "v_lshrrev_b32_e32 v12, v4, v6", {0x20, 0x80000000, 0x0},
		.want = 0x80000000},
	{false, {0x22180d04, 0x00000000}, "v_ashrrev_i32_e32 v12, v4, v6", {0x1f, 0x80000000, 0x0},
		.want = 0xffffffff},
	{false, {0xd28f000c, 0x00020d04}, "v_lshlrev_b64 v[12:13], v4, v[6:7]", {0x3f, 0x3, 0x0},
		.want = 0x8000000000000000},
	{false, {0xd290000c, 0x00020d04}, "v_lshrrev_b64 v[12:13], v4, v[6:7]", {0x40, 0x3, 0x0},
		.want = 0x3},
	{false, {0xd291000c, 0x00020d04}, "v_ashrrev_i64 v[12:13], v4, v[6:7]",
		{0x1, 0x8000000000000000, 0x0}, .want = 0xc000000000000000},
	{false, {0x54180d04, 0x00000000}, "v_lshlrev_b16_e32 v12, v4, v6", {0x11, 0xffff8001, 0x0},
		.want = 0x2},
	{false, {0xd1c8000c, 0x04220d04}, "v_bfe_u32 v12, v4, v6, v8", {0x12345678, 0x8, 0x8},
		.want = 0x56},
	{false, {0xd1c9000c, 0x04220d04}, "v_bfe_i32 v12, v4, v6, v8", {0x8000, 0xc, 0x4},
		.want = 0xfffffff8},
	{false, {0xd1c8000c, 0x04220d04}, "v_bfe_u32 v12, v4, v6, v8", {0xffffffff, 0x28, 0x20},
		.want = 0x0},
	{false, {0xd1ca000c, 0x04220d04}, "v_bfi_b32 v12, v4, v6, v8",
		{0xffff0000, 0x12345678, 0x9abcdef0}, .want = 0x1234def0},
	{false, {0xd1ce000c, 0x04220d04}, "v_alignbit_b32 v12, v4, v6, v8", {0x1, 0x80000000, 0x1f},
		.want = 0x3},
	{false, {0xd1cf000c, 0x04220d04}, "v_alignbyte_b32 v12, v4, v6, v8",
		{0x11223344, 0x55667788, 0x1}, .want = 0x44556677},
	{false, {0xd1ed000c, 0x04220d04}, "v_perm_b32 v12, v4, v6, v8",
		{0x77665544, 0x33221100, 0xc0d0700}, .want = 0xff7700},
	{false, {0xd1ed000c, 0x04220d04}, "v_perm_b32 v12, v4, v6, v8",
		{0x80000000, 0x8000, 0x80a0b04}, .want = 0xff00ff00},
	{false, {0xd1d1000c, 0x04220d04}, "v_min3_i32 v12, v4, v6, v8", {0x5, 0xffffffff, 0x7},
		.want = 0xffffffff},
	{false, {0xd1d8000c, 0x04220d04}, "v_med3_u32 v12, v4, v6, v8", {0x5, 0xffffffff, 0x7},
		.want = 0x7},
	{false, {0x7e185b04, 0x00000000}, "v_ffbh_u32_e32 v12, v4", {0x0, 0x0, 0x0},
		.want = 0xffffffff},
	{false, {0x7e185f04, 0x00000000}, "v_ffbh_i32_e32 v12, v4", {0xff000000, 0x0, 0x0},
		.want = 0x8},
	{false, {0x7e185d04, 0x00000000}, "v_ffbl_b32_e32 v12, v4", {0x80000000, 0x0, 0x0},
		.want = 0x1f},
	{false, {0xd28b000c, 0x00020d04}, "v_bcnt_u32_b32 v12, v4, v6", {0xff, 0x5, 0x0},
		.want = 0xd},
	{false, {0x7e185904, 0x00000000}, "v_bfrev_b32_e32 v12, v4", {0x2, 0x0, 0x0},
		.want = 0x40000000},
	{false, {0xd1d9000c, 0x04220d04}, "v_sad_u8 v12, v4, v6, v8", {0x1020304, 0x4030201, 0xa},
		.want = 0x12},
	{false, {0xd1cd000c, 0x04220d04}, "v_lerp_u8 v12, v4, v6, v8",
		{0x1020304, 0x2020202, 0x1010101}, .want = 0x2020303},
	{false, {0xd1e86a0c, 0x04220d04}, "v_mad_u64_u32 v[12:13], vcc, v4, v6, v[8:9]",
		{0xffffffff, 0xffffffff, 0x1ffffffff}, .want = 0x0, .want_mask = ALL},
	{false, {0x32180d04, 0x00000000}, "v_add_co_u32_e32 v12, vcc, v4, v6",
		{0xffffffff, 0x1, 0x0}, .want = 0x0, .want_mask = ALL},
	{false, {0x38180d04, 0x00000000}, "v_addc_co_u32_e32 v12, vcc, v4, v6, vcc",
		{0xffffffff, 0x0, 0x0}, .mask = ALL, .want = 0x0, .want_mask = ALL},
	{false, {0x3a180d04, 0x00000000}, "v_subb_co_u32_e32 v12, vcc, v4, v6, vcc",
		{0x1, 0x0, 0x0}, .mask = ALL, .want = 0x0},
	{false, {0x34180d04, 0x00000000}, "v_sub_co_u32_e32 v12, vcc, v4, v6", {0x0, 0x1, 0x0},
		.want = 0xffffffff, .want_mask = ALL},
	{false, {0x00180d04, 0x00000000}, "v_cndmask_b32_e32 v12, v4, v6, vcc", {0x1, 0x2, 0x0},
		.mask = ALL, .want = 0x2, .want_mask = ALL},
	{false, {0xd100000c, 0x21aa0d04}, "v_cndmask_b32_e64 v12, -v4, v6, vcc",
		{0x3f800000, 0x2, 0x0}, .want = 0xbf800000},
	{false, {0x4c180d04, 0x00000000}, "v_add_u16_e32 v12, v4, v6", {0xffff, 0x2, 0x0},
		.old = 0xffffffff, .want = 0x1},
	{false, {0xd204000c, 0x04220d04}, "v_mad_u16 v12, v4, v6, v8", {0x100, 0x100, 0x3},
		.old = 0xabcdffff, .want = 0xabcd0003},
	{false, {0xd205480c, 0x04220d04}, "v_mad_i16 v12, v4, v6, v8 op_sel:[1,0,0,1]",
		{0x20000, 0x3, 0x1}, .old = 0xabcdffff, .want = 0x7ffff},
	{false, {0xd1f3000c, 0x04220d04}, "v_xad_u32 v12, v4, v6, v8", {0x5, 0x3, 0xa},
		.want = 0x10},
	{false, {0xd1ff000c, 0x04220d04}, "v_add3_u32 v12, v4, v6, v8", {0x1, 0x2, 0x3},
		.want = 0x6},
	{false, {0xd200000c, 0x04220d04}, "v_lshl_or_b32 v12, v4, v6, v8", {0x1, 0x24, 0x1},
		.want = 0x11},
	{false, {0xd28d000c, 0x00020d04}, "v_mbcnt_hi_u32_b32 v12, v4, v6", {0x0, 0x7, 0x0},
		.want = 0x7},
};

static const struct test_case compares[] = {
	{false, {0x7d820d04, 0x00000000}, "v_cmp_lt_i32_e32 vcc, v4, v6", {0xffffffff, 0x0, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7d920d04, 0x00000000}, "v_cmp_lt_u32_e32 vcc, v4, v6", {0xffffffff, 0x0, 0x0},
		.mask = 0x5555, .want = 0x0},
	{false, {0x7dc80d04, 0x00000000}, "v_cmp_gt_i64_e32 vcc, v[4:5], v[6:7]",
		{0x8000000000000000, 0x0, 0x0}, .mask = 0x5555, .want = 0x0},
	{false, {0x7d5a0d04, 0x00000000}, "v_cmp_ne_u16_e32 vcc, v4, v6", {0x10001, 0x20001, 0x0},
		.mask = 0x5555, .want = 0x0},
	{false, {0x7c820d04, 0x00000000}, "v_cmp_lt_f32_e32 vcc, v4, v6", {0x7fc00000, 0x0, 0x0},
		.mask = 0x5555, .want = 0x0},
	{false, {0x7c920d04, 0x00000000}, "v_cmp_nge_f32_e32 vcc, v4, v6", {0x7fc00000, 0x0, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c840d04, 0x00000000}, "v_cmp_eq_f32_e32 vcc, v4, v6", {0x80000000, 0x0, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7cd00d04, 0x00000000}, "v_cmp_u_f64_e32 vcc, v[4:5], v[6:7]",
		{0x7ff8000000000000, 0x0, 0x0}, .mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c8e0d04, 0x00000000}, "v_cmp_o_f32_e32 vcc, v4, v6", {0x0, 0x7f800001, 0x0},
		.mask = 0x5555, .want = 0x0},
	{false, {0x7c200d04, 0x00000000}, "v_cmp_class_f32_e32 vcc, v4, v6", {0x7f800001, 0x1, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c200d04, 0x00000000}, "v_cmp_class_f32_e32 vcc, v4, v6", {0xff800000, 0x4, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c200d04, 0x00000000}, "v_cmp_class_f32_e32 vcc, v4, v6",
		{0x80000001, 0x10, 0x0}, .mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c200d04, 0x00000000}, "v_cmp_class_f32_e32 vcc, v4, v6", {0x0, 0x40, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c240d04, 0x00000000}, "v_cmp_class_f64_e32 vcc, v[4:5], v6",
		{0x7ff0000000000000, 0x200, 0x0}, .mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c280d04, 0x00000000}, "v_cmp_class_f16_e32 vcc, v4, v6", {0x8000, 0x20, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
	{false, {0x7c420d04, 0x00000000}, "v_cmp_lt_f16_e32 vcc, v4, v6", {0xbc00, 0x3c00, 0x0},
		.mask = 0x5555, .want = 0x0, .want_mask = ALL},
};

static const struct test_case floats[] = {
	{false, {0x02180d04, 0x00000000}, "v_add_f32_e32 v12, v4, v6",
		{0x3f800000, 0x33800000, 0x0}, .want = 0x3f800000},
	{false, {0x02180d04, 0x00000000}, "v_add_f32_e32 v12, v4, v6",
		{0x7f800000, 0xff800000, 0x0}, .want = 0x7fc00000},
	{false, {0x02180d04, 0x00000000}, "v_add_f32_e32 v12, v4, v6", {0x1, 0x1, 0x0},
		.want = 0x2},
	{false, {0xd101020c, 0x20020d04}, "v_add_f32_e64 v12, -v4, |v6|",
		{0x3f800000, 0xbf800000, 0x0}, .want = 0x0},
	{false, {0xd101800c, 0x00020d04}, "v_add_f32_e64 v12, v4, v6 clamp",
		{0x40000000, 0x3f800000, 0x0}, .want = 0x3f800000},
	{false, {0xd101800c, 0x00020d04}, "v_add_f32_e64 v12, v4, v6 clamp",
		{0x7f800000, 0xff800000, 0x0}, .want = 0x0},
	{false, {0xd105000c, 0x10020d04}, "v_mul_f32_e64 v12, v4, v6 mul:4",
		{0x3f800000, 0x40400000, 0x0}, .want = 0x41400000},
	{false, {0xd105000c, 0x18020d04}, "v_mul_f32_e64 v12, v4, v6 div:2",
		{0x80000000, 0x40400000, 0x0}, .want = 0x0},
	{false, {0x04180cf2, 0x00000000}, "v_sub_f32_e32 v12, 1.0, v6", {0x0, 0x3f000000, 0x0},
		.want = 0x3f000000},
	{false, {0xd1cb000c, 0x04220d04}, "v_fma_f32 v12, v4, v6, v8",
		{0x3f800001, 0x3f800001, 0xbf800002}, .want = 0x28800000},
	{false, {0x76180d04, 0x00000000}, "v_fmac_f32_e32 v12, v4, v6",
		{0x40000000, 0x40400000, 0x0}, .old = 0x3f800000, .want = 0x40e00000},
	{false, {0xd1c1000c, 0x04220d04}, "v_mad_f32 v12, v4, v6, v8",
		{0x3f800001, 0x3f800001, 0xbf800002}, .want = 0x0},
	{false, {0x14180d04, 0x00000000}, "v_min_f32_e32 v12, v4, v6",
		{0x7fc00000, 0x3f800000, 0x0}, .want = 0x3f800000},
	{false, {0x14180d04, 0x00000000}, "v_min_f32_e32 v12, v4, v6",
		{0x7f800001, 0x3f800000, 0x0}, .want = 0x7fc00001},
	{false, {0x14180d04, 0x00000000}, "v_min_f32_e32 v12, v4, v6", {0x0, 0x80000000, 0x0},
		.want = 0x80000000},
	{false, {0x16180d04, 0x00000000}, "v_max_f32_e32 v12, v4, v6", {0x80000000, 0x0, 0x0},
		.want = 0x0},
	{false, {0xd1d3000c, 0x04220d04}, "v_max3_f32 v12, v4, v6, v8",
		{0x3f800000, 0x40000000, 0xc0000000}, .want = 0x40000000},
	{false, {0xd1d6000c, 0x04220d04}, "v_med3_f32 v12, v4, v6, v8",
		{0x3f800000, 0x40000000, 0xc0000000}, .want = 0x3f800000},
	{false, {0xd1d6000c, 0x04220d04}, "v_med3_f32 v12, v4, v6, v8",
		{0x3f800000, 0x7fc00000, 0x40000000}, .want = 0x3f800000},
	{false, {0x7e183d04, 0x00000000}, "v_rndne_f32_e32 v12, v4", {0x40200000, 0x0, 0x0},
		.want = 0x40000000},
	{false, {0x7e183f04, 0x00000000}, "v_floor_f32_e32 v12, v4", {0xbf000000, 0x0, 0x0},
		.want = 0xbf800000},
	{false, {0x7e183704, 0x00000000}, "v_fract_f32_e32 v12, v4", {0xb3000000, 0x0, 0x0},
		.want = 0x3f7fffff},
	{false, {0x7e186904, 0x00000000}, "v_frexp_mant_f32_e32 v12, v4", {0x41200000, 0x0, 0x0},
		.want = 0x3f200000},
	{false, {0x7e186704, 0x00000000}, "v_frexp_exp_i32_f32_e32 v12, v4", {0x41200000, 0x0, 0x0},
		.want = 0x4},
	{false, {0x7e186704, 0x00000000}, "v_frexp_exp_i32_f32_e32 v12, v4", {0x7f800000, 0x0, 0x0},
		.want = 0x0},
	{false, {0xd288000c, 0x00020d04}, "v_ldexp_f32 v12, v4, v6", {0x3f800000, 0xffffff6b, 0x0},
		.want = 0x1},
	{false, {0x7e184504, 0x00000000}, "v_rcp_f32_e32 v12, v4", {0x40000000, 0x0, 0x0},
		.want = 0x3f000000},
	{false, {0x7e184504, 0x00000000}, "v_rcp_f32_e32 v12, v4", {0x80000000, 0x0, 0x0},
		.want = 0xff800000},
	{false, {0x7e184f04, 0x00000000}, "v_sqrt_f32_e32 v12, v4", {0x40800000, 0x0, 0x0},
		.want = 0x40000000},
	{false, {0x7e184f04, 0x00000000}, "v_sqrt_f32_e32 v12, v4", {0xbf800000, 0x0, 0x0},
		.want = 0x7fc00000},
	{false, {0x7e184904, 0x00000000}, "v_rsq_f32_e32 v12, v4", {0x40800000, 0x0, 0x0},
		.want = 0x3f000000},
	{false, {0x7e184104, 0x00000000}, "v_exp_f32_e32 v12, v4", {0x40400000, 0x0, 0x0},
		.want = 0x41000000},
	{false, {0x7e184304, 0x00000000}, "v_log_f32_e32 v12, v4", {0x41000000, 0x0, 0x0},
		.want = 0x40400000},
	{false, {0x7e184304, 0x00000000}, "v_log_f32_e32 v12, v4", {0x0, 0x0, 0x0},
		.want = 0xff800000},
	{false, {0x7e185304, 0x00000000}, "v_sin_f32_e32 v12, v4", {0x3e800000, 0x0, 0x0},
		.want = 0x3f800000},
	{false, {0x7e185504, 0x00000000}, "v_cos_f32_e32 v12, v4", {0x3f000000, 0x0, 0x0},
		.want = 0xbf800000},
	{false, {0xd1de000c, 0x04220d04}, "v_div_fixup_f32 v12, v4, v6, v8",
		{0x3f800000, 0x0, 0x3f800000}, .want = 0x7f800000},
	{false, {0xd1de000c, 0x04220d04}, "v_div_fixup_f32 v12, v4, v6, v8", {0x3f800000, 0x0, 0x0},
		.want = 0xffc00000},
	{false, {0xd1de000c, 0x04220d04}, "v_div_fixup_f32 v12, v4, v6, v8",
		{0x3f800000, 0xff800000, 0x3f800000}, .want = 0x80000000},
	{false, {0xd1e06a0c, 0x041a0904}, "v_div_scale_f32 v12, vcc, v4, v4, v6",
		{0x3f800000, 0x40000000, 0x0}, .want = 0x3f800000},
	{false, {0xd1e2000c, 0x04220d04}, "v_div_fmas_f32 v12, v4, v6, v8",
		{0x3f800000, 0x3f800000, 0x0}, .want = 0x3f800000},
	{false, {0xd280000c, 0x00020d04}, "v_add_f64 v[12:13], v[4:5], v[6:7]",
		{0x3ff0000000000000, 0x3ca0000000000000, 0x0}, .want = 0x3ff0000000000000},
	{false, {0xd280000c, 0x40020d04}, "v_add_f64 v[12:13], v[4:5], -v[6:7]",
		{0x7ff0000000000000, 0x7ff0000000000000, 0x0}, .want = 0x7ff8000000000000},
	{false, {0xd1cc000c, 0x04220d04}, "v_fma_f64 v[12:13], v[4:5], v[6:7], v[8:9]",
		{0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002},
		.want = 0x3970000000000000},
	{false, {0x08180d04, 0x00000000}, "v_fmac_f64_e32 v[12:13], v[4:5], v[6:7]",
		{0x4000000000000000, 0x4008000000000000, 0x0}, .old = 0x3ff0000000000000,
		.want = 0x401c000000000000},
	{false, {0xd283000c, 0x00020d04}, "v_max_f64 v[12:13], v[4:5], v[6:7]",
		{0x7ff8000000000000, 0x8000000000000000, 0x0}, .want = 0x8000000000000000},
	{false, {0xd284000c, 0x00020d04}, "v_ldexp_f64 v[12:13], v[4:5], v6",
		{0x3ff0000000000000, 0xfffffbce, 0x0}, .want = 0x1},
	{false, {0xd281000c, 0x0001e104}, "v_mul_f64 v[12:13], v[4:5], 0.5", {0x1, 0x0, 0x0},
		.want = 0x0},
	{false, {0xd292000c, 0x00010104}, "v_trig_preop_f64 v[12:13], v[4:5], 0",
		{0x3ff0000000000000, 0x0, 0x0}, .want = 0x3fe45f306dc9c882},
};

static const struct test_case halves[] = {
	{false, {0x3e180d04, 0x00000000}, "v_add_f16_e32 v12, v4, v6", {0x3c00, 0x1000, 0x0},
		.old = 0xffffffff, .want = 0x3c00},
	{false, {0x3e180d04, 0x00000000}, "v_add_f16_e32 v12, v4, v6", {0x7bff, 0x7bff, 0x0},
		.want = 0x7c00},
	{false, {0x44180d04, 0x00000000}, "v_mul_f16_e32 v12, v4, v6", {0x1, 0x3800, 0x0},
		.want = 0x0},
	{false, {0xd206000c, 0x04220d04}, "v_fma_f16 v12, v4, v6, v8", {0x3c01, 0x3c01, 0xbc02},
		.old = 0xabcd0000, .want = 0xabcd0010},
	{false, {0xd206480c, 0x04220d04}, "v_fma_f16 v12, v4, v6, v8 op_sel:[1,0,0,1]",
		{0x40000000, 0x4200, 0x3c00}, .old = 0x1234, .want = 0x47001234},
	{false, {0x5a180d04, 0x00000000}, "v_max_f16_e32 v12, v4, v6", {0x7c01, 0x3c00, 0x0},
		.want = 0x7e01},
	{false, {0xd38f400c, 0x18020d04}, "v_pk_add_f16 v12, v4, v6", {0x3c004000, 0x3c004000, 0x0},
		.want = 0x40004400},
	{false, {0xd38f480c, 0x30020d04},
		"v_pk_add_f16 v12, v4, v6 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0]",
		{0x3c004000, 0x3c004000, 0x0}, .want = 0x42003c00},
	{false, {0xd381400c, 0x18020d04}, "v_pk_mul_lo_u16 v12, v4, v6", {0x20003, 0x80004000, 0x0},
		.want = 0xc000},
	{false, {0xd38ac00c, 0x18020d04}, "v_pk_add_u16 v12, v4, v6 clamp",
		{0xffff0001, 0x20001, 0x0}, .want = 0xffff0002},
	{false, {0xd383c00c, 0x18020d04}, "v_pk_sub_i16 v12, v4, v6 clamp",
		{0x80000000, 0x10001, 0x0}, .want = 0x8000ffff},
	{false, {0xd384400c, 0x10020c84}, "v_pk_lshlrev_b16 v12, 4, v6 op_sel_hi:[0,1]",
		{0x0, 0x10010f01, 0x0}, .want = 0x10f010},
	{false, {0xd3b0400c, 0x1c220d04}, "v_pk_fma_f32 v[12:13], v[4:5], v[6:7], v[8:9]",
		{0x400000003f800000, 0x4040000040400000, 0x3f8000003f800000},
		.want = 0x40e0000040800000},
	{false, {0xd3b1480c, 0x10020d04},
		"v_pk_mul_f32 v[12:13], v[4:5], v[6:7] op_sel:[1,0] op_sel_hi:[0,1]",
		{0x400000003f800000, 0x4040000040400000, 0x0}, .want = 0x4040000040c00000},
	/* a constant for both halves: 1 - 1 and 1 - 2 */
	{false, {0xd3b2410c, 0x2801e504},
		"v_pk_add_f32 v[12:13], v[4:5], 1.0 op_sel_hi:[1,0] neg_lo:[1,0] neg_hi:[1,0]",
		{0x400000003f800000, 0x0, 0x0}, .want = 0xbf80000000000000},
	{false, {0xd3b3480c, 0x18020d04}, "v_pk_mov_b32 v[12:13], v[4:5], v[6:7] op_sel:[1,0]",
		{0x1111111122222222, 0x3333333344444444, 0x0}, .want = 0x4444444411111111},
	{false, {0xd3a0080c, 0x0c220d04},
		"v_fma_mix_f32 v12, v4, v6, v8 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
		{0x40000000, 0x40400000, 0x3f800000}, .want = 0x40e00000},
	{false, {0xd3a2000c, 0x04220d04}, "v_fma_mixhi_f16 v12, v4, v6, v8",
		{0x40000000, 0x40400000, 0x3f800000}, .old = 0x1234, .want = 0x47001234},
	{false, {0xd3a8400c, 0x1c220d04}, "v_dot4_i32_i8 v12, v4, v6, v8",
		{0xff020304, 0x2010101, 0x64}, .want = 0x6b},
	{false, {0xd3a7c00c, 0x1c220d04}, "v_dot2_u32_u16 v12, v4, v6, v8 clamp",
		{0xffffffff, 0xffffffff, 0x5}, .want = 0xffffffff},
	{false, {0xd3ab400c, 0x1c220d04}, "v_dot8_u32_u4 v12, v4, v6, v8",
		{0x11111111, 0x22222222, 0x1}, .want = 0x11},
	{false, {0xd2a0080c, 0x40020d04}, "v_pack_b32_f16 v12, v4, -v6 op_sel:[1,0,0]",
		{0x3c000000, 0x4000, 0x0}, .want = 0xc0003c00},
};

static const struct test_case conversions[] = {
	{false, {0x7e181104, 0x00000000}, "v_cvt_i32_f32_e32 v12, v4", {0x4f000000, 0x0, 0x0},
		.want = 0x7fffffff},
	{false, {0x7e181104, 0x00000000}, "v_cvt_i32_f32_e32 v12, v4", {0xbfc00000, 0x0, 0x0},
		.want = 0xffffffff},
	{false, {0x7e181104, 0x00000000}, "v_cvt_i32_f32_e32 v12, v4", {0x7fc00000, 0x0, 0x0},
		.want = 0x0},
	{false, {0x7e180f04, 0x00000000}, "v_cvt_u32_f32_e32 v12, v4", {0xbf800000, 0x0, 0x0},
		.want = 0x0},
	{false, {0x7e180f04, 0x00000000}, "v_cvt_u32_f32_e32 v12, v4", {0x7f800000, 0x0, 0x0},
		.want = 0xffffffff},
	{false, {0x7e180b04, 0x00000000}, "v_cvt_f32_i32_e32 v12, v4", {0x1000001, 0x0, 0x0},
		.want = 0x4b800000},
	{false, {0x7e180d04, 0x00000000}, "v_cvt_f32_u32_e32 v12, v4", {0xffffffff, 0x0, 0x0},
		.want = 0x4f800000},
	{false, {0x7e181504, 0x00000000}, "v_cvt_f16_f32_e32 v12, v4", {0x477fefff, 0x0, 0x0},
		.want = 0x7bff},
	{false, {0x7e181504, 0x00000000}, "v_cvt_f16_f32_e32 v12, v4", {0x477ff000, 0x0, 0x0},
		.want = 0x7c00},
	{false, {0x7e181504, 0x00000000}, "v_cvt_f16_f32_e32 v12, v4", {0x33000000, 0x0, 0x0},
		.want = 0x0},
	{false, {0x7e181504, 0x00000000}, "v_cvt_f16_f32_e32 v12, v4", {0x33000001, 0x0, 0x0},
		.want = 0x1},
	{false, {0x7e181704, 0x00000000}, "v_cvt_f32_f16_e32 v12, v4", {0x1, 0x0, 0x0},
		.want = 0x33800000},
	{false, {0x7e182904, 0x00000000}, "v_cvt_f32_ubyte3_e32 v12, v4", {0xff000000, 0x0, 0x0},
		.want = 0x437f0000},
	{false, {0x7e181b04, 0x00000000}, "v_cvt_flr_i32_f32_e32 v12, v4", {0xbf000000, 0x0, 0x0},
		.want = 0xffffffff},
	{false, {0x7e181904, 0x00000000}, "v_cvt_rpi_i32_f32_e32 v12, v4", {0x3f000000, 0x0, 0x0},
		.want = 0x1},
	{false, {0x7e187704, 0x00000000}, "v_cvt_u16_f16_e32 v12, v4", {0x7c00, 0x0, 0x0},
		.want = 0xffff},
	{false, {0x7e181f04, 0x00000000}, "v_cvt_f32_f64_e32 v12, v[4:5]",
		{0x3690000000000000, 0x0, 0x0}, .want = 0x0},
	{false, {0x7e181f04, 0x00000000}, "v_cvt_f32_f64_e32 v12, v[4:5]",
		{0x47f0000000000000, 0x0, 0x0}, .want = 0x7f800000},
	{false, {0x7e181d04, 0x00000000}, "v_cvt_off_f32_i4_e32 v12, v4", {0x8, 0x0, 0x0},
		.want = 0xbf000000},
	{false, {0xd296000c, 0x00020d04}, "v_cvt_pkrtz_f16_f32 v12, v4, v6",
		{0x477fffff, 0xbf800000, 0x0}, .want = 0xbc007bff},
	{false, {0xd298000c, 0x00020d04}, "v_cvt_pk_i16_i32 v12, v4, v6",
		{0x10000, 0xffff0000, 0x0}, .want = 0x80007fff},
	{false, {0x7e182d04, 0x00000000}, "v_cvt_f64_u32_e32 v[12:13], v4", {0xffffffff, 0x0, 0x0},
		.want = 0x41efffffffe00000},
	{false, {0x7e180704, 0x00000000}, "v_cvt_i32_f64_e32 v12, v[4:5]",
		{0xc1e0000000200000, 0x0, 0x0}, .want = 0x80000000},
};

static const struct test_case forms[] = {
	{false, {0x68180cf9, 0x040b1504},
		"v_add_u32_sdwa v12, sext(v4), v6 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:WORD_0",
		{0xff000000, 0xabcd0005, 0x0}, .old = 0x1234, .want = 0x41234},
	{false, {0x7e1802f9, 0x00020904},
		"v_mov_b32_sdwa v12, v4 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_2",
		{0x800000, 0x0, 0x0}, .old = 0x11111111, .want = 0xffff8000},
	{false, {0x7e1802f9, 0x00050004},
		"v_mov_b32_sdwa v12, v4 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:WORD_1",
		{0x56780000, 0x0, 0x0}, .old = 0x11111111, .want = 0x78},
	{false, {0x3e180cf9, 0x15250604},
		"v_add_f16_sdwa v12, |v4|, -v6 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_1",
		{0xbc000000, 0x40000000, 0x0}, .want = 0xbc00},
	{false, {0x7e1802ff, 0x12345678}, "v_mov_b32_e32 v12, 0x12345678", {0x0, 0x0, 0x0},
		.want = 0x12345678},
	{false, {0xd280000c, 0x0001e904}, "v_add_f64 v[12:13], v[4:5], 2.0",
		{0x3ff0000000000000, 0x0, 0x0}, .want = 0x4008000000000000},
	{false, {0x7e1806ff, 0x40590000}, "v_cvt_i32_f64_e32 v12, 0x40590000", {0x0, 0x0, 0x0},
		.want = 0x64},
	{false, {0x30180d04, 0x3f800000}, "v_madak_f32 v12, v4, v6, 0x3f800000",
		{0x40000000, 0x40400000, 0x0}, .want = 0x40e00000},
	{false, {0x2e180d04, 0x40000000}, "v_madmk_f32 v12, v4, 0x40000000, v6",
		{0x40400000, 0x3f800000, 0x0}, .want = 0x40e00000},
};

static void load_sources(struct machine *m)
{
	insn(m, 0x24020086, 0x00000000, "v_lshlrev_b32_e32 v1, 6, v0");
	insn(m, 0xdc5c8000, 0x04000001, "global_load_dwordx4 v[4:7], v1, s[0:1]");
	insn(m, 0xdc548010, 0x08000001, "global_load_dwordx2 v[8:9], v1, s[0:1] offset:16");
	insn(m, 0xdc548020, 0x0c000001, "global_load_dwordx2 v[12:13], v1, s[0:1] offset:32");
	insn(m, 0xc00e0200, 0x00001000, "s_load_dwordx8 s[8:15], s[0:1], 0x1000");
	insn(m, 0xbf8c0070, 0x00000000, "s_waitcnt vmcnt(0) lgkmcnt(0)");
	insn(m, 0xbeea010c, 0x00000000, "s_mov_b64 vcc, s[12:13]");
	insn(m, 0xbf07800e, 0x00000000, "s_cmp_lg_u32 s14, 0");
}

static void store_results(struct machine *m)
{
	insn(m, 0x85168081, 0x00000000, "s_cselect_b32 s22, 1, 0");
	insn(m, 0x7e1c026a, 0x00000000, "v_mov_b32_e32 v14, vcc_lo");
	insn(m, 0x7e1e026b, 0x00000000, "v_mov_b32_e32 v15, vcc_hi");
	insn(m, 0xdc7c8020, 0x00000c01, "global_store_dwordx4 v1, v[12:15], s[0:1] offset:32");
	insn(m, 0x7e180214, 0x00000000, "v_mov_b32_e32 v12, s20");
	insn(m, 0x7e1a0215, 0x00000000, "v_mov_b32_e32 v13, s21");
	insn(m, 0x7e1c0216, 0x00000000, "v_mov_b32_e32 v14, s22");
	insn(m, 0xdc788030, 0x00000c01, "global_store_dwordx3 v1, v[12:14], s[0:1] offset:48");
	end(m);
}

static void fill_memory(struct machine *m, const struct test_case *c)
{
	uint64_t scalars[4] = {c->source[0], c->source[1], c->mask, c->scalar && c->mask};

	for (unsigned lane = 0; lane < 64; lane++) {
		memcpy(m->memory + 64 * lane, c->source, 24);
		memcpy(m->memory + 64 * lane + 32, &c->old, 8);
	}
	memcpy(m->memory + 0x1000, scalars, 32);
}

static void is(
	const struct test_case *c, unsigned lane, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s, lane %u: %s is 0x%llx, should be 0x%llx", c->text, lane, what,
			(unsigned long long)got, (unsigned long long)want);
}

static void check_lane(const struct machine *m, const struct test_case *c, unsigned lane)
{
	uint64_t vector[2], one;
	uint32_t scc;

	memcpy(vector, m->memory + 64 * lane + 32, 16);
	memcpy(&one, m->memory + 64 * lane + 48, 8);
	memcpy(&scc, m->memory + 64 * lane + 56, 4);
	if (!c->scalar) {
		is(c, lane, "the result", vector[0], c->want);
		is(c, lane, "VCC", vector[1], c->want_mask);
		return;
	}
	if (strncmp(c->text, "s_cmp", 5) != 0 && strncmp(c->text, "s_bitcmp", 8) != 0)
		is(c, lane, "the result", one, c->want);
	is(c, lane, "SCC", scc, c->want_mask);
}

static void check(const struct test_case *c, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct machine *m = machine_new(64, 0, 0);

		load_sources(m);
		insn(m, c[k].word[0], c[k].word[1], c[k].text);
		store_results(m);
		fill_memory(m, &c[k]);
		runs(m);
		check_lane(m, &c[k], 0);
		check_lane(m, &c[k], 63);
		free(m);
	}
}

static void all_scalar(void **state)
{
	(void)state;
	check(scalar, sizeof(scalar) / sizeof(scalar[0]));
}

static void all_integers(void **state)
{
	(void)state;
	check(integers, sizeof(integers) / sizeof(integers[0]));
}

static void all_compares(void **state)
{
	(void)state;
	check(compares, sizeof(compares) / sizeof(compares[0]));
}

static void all_floats(void **state)
{
	(void)state;
	check(floats, sizeof(floats) / sizeof(floats[0]));
}

static void all_halves(void **state)
{
	(void)state;
	check(halves, sizeof(halves) / sizeof(halves[0]));
}

static void all_conversions(void **state)
{
	(void)state;
	check(conversions, sizeof(conversions) / sizeof(conversions[0]));
}

static void all_forms(void **state)
{
	(void)state;
	check(forms, sizeof(forms) / sizeof(forms[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_scalar),
		cmocka_unit_test(all_integers), cmocka_unit_test(all_compares),
		cmocka_unit_test(all_floats), cmocka_unit_test(all_halves),
		cmocka_unit_test(all_conversions), cmocka_unit_test(all_forms)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
