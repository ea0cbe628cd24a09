/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor beyond single instructions: EXEC, DPP, lanes, LDS, scratch, atomics, barriers,
 * workgroups on workers, faults and refusals.
 */
#include "amd-test.h"
#include "softamd/machine/amd-observe.h"

static struct machine *with(
	unsigned items, uint32_t lds, uint32_t private_bytes, void (*body)(struct machine *m))
{
	struct machine *m = machine_new(items, lds, private_bytes);

	body(m);
	end(m);
	return m;
}

/* --- EXEC --- */

static void no_lane_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x7e040287, 0x00000000, "v_mov_b32_e32 v2, 7");
	insn(m, 0xbe84017e, 0x00000000, "s_mov_b64 s[4:5], exec");
	insn(m, 0xbefe0180, 0x00000000, "s_mov_b64 exec, 0");
	insn(m, 0x7e040289, 0x00000000, "v_mov_b32_e32 v2, 9");
	insn(m, 0x7d940480, 0x00000000, "v_cmp_eq_u32_e32 vcc, 0, v2");
	insn(m, 0xdc708000, 0x00020201, "global_store_dword v1, v2, s[2:3]");
	insn(m, 0x7e0c0502, 0x00000000, "v_readfirstlane_b32 s6, v2");
	insn(m, 0xbf880001, 0x00000000, "s_cbranch_execz 1");
	insn(m, 0xbf920002, 0x00000000, "s_trap 2");
	insn(m, 0xbefe0104, 0x00000000, "s_mov_b64 exec, s[4:5]");
	insn(m, 0xdc708000, 0x00000201, "global_store_dword v1, v2, s[0:1]");
	insn(m, 0x7e04026a, 0x00000000, "v_mov_b32_e32 v2, vcc_lo");
	insn(m, 0xdc708100, 0x00000201, "global_store_dword v1, v2, s[0:1] offset:256");
	insn(m, 0x7e040206, 0x00000000, "v_mov_b32_e32 v2, s6");
	insn(m, 0xdc708200, 0x00000201, "global_store_dword v1, v2, s[0:1] offset:512");
}

/* Nothing is written without a lane: not the register, not memory (s[2:3] is 0); VCC gets no bit.
 */
static void without_lanes(void **state)
{
	struct machine *m = with(64, 0, 0, no_lane_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 0), 7);
	assert_int_equal(*at(m, 256), 0);
	assert_int_equal(*at(m, 512), 7); /* v_readfirstlane: lane 0 */
	free(m);
}

static void some_lanes_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x7e040281, 0x00000000, "v_mov_b32_e32 v2, 1");
	insn(m, 0x7d98008a, 0x00000000, "v_cmp_gt_u32_e32 vcc, 10, v0");
	insn(m, 0xbe84206a, 0x00000000, "s_and_saveexec_b64 s[4:5], vcc");
	insn(m, 0x7e040282, 0x00000000, "v_mov_b32_e32 v2, 2");
	insn(m, 0x87fe047e, 0x00000000, "s_or_b64 exec, exec, s[4:5]");
	insn(m, 0xdc708000, 0x00000201, "global_store_dword v1, v2, s[0:1]");
}

static void some_lanes(void **state)
{
	struct machine *m = with(40, 0, 0, some_lanes_body);

	(void)state;
	*at(m, 160) = 99;
	runs(m);
	assert_int_equal(*at(m, 0), 2);
	assert_int_equal(*at(m, 36), 2);
	assert_int_equal(*at(m, 40), 1);
	assert_int_equal(*at(m, 156), 1);
	assert_int_equal(*at(m, 160), 99); /* work-item 40 is not there */
	free(m);
}

/* --- DPP: v2 is 100 + lane, the result begins as 7 --- */

static uint32_t after_dpp(uint32_t w0, uint32_t w1, const char *text, unsigned lane)
{
	struct machine *m = machine_new(64, 0, 0);
	uint32_t r;

	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x680400ff, 0x00000064, "v_add_u32_e32 v2, 0x64, v0");
	insn(m, 0x7e060287, 0x00000000, "v_mov_b32_e32 v3, 7");
	insn(m, w0, w1, text);
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
	end(m);
	runs(m);
	r = *at(m, 4 * lane);
	free(m);
	return r;
}

static void dpp(void **state)
{
	(void)state;
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff001b02,
			"v_mov_b32_dpp v3, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", 4),
		107);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff001b02,
			"v_mov_b32_dpp v3, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", 7),
		104);
	/* outside the row: not written, or 0 with bound_ctrl */
	assert_int_equal(after_dpp(0x7e0602fa, 0xff010102,
				 "v_mov_b32_dpp v3, v2 row_shl:1 row_mask:0xf bank_mask:0xf", 14),
		115);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff010102,
				 "v_mov_b32_dpp v3, v2 row_shl:1 row_mask:0xf bank_mask:0xf", 15),
		7);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff091102,
			"v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
			17),
		116);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff091102,
			"v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
			16),
		0);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff012102,
				 "v_mov_b32_dpp v3, v2 row_ror:1 row_mask:0xf bank_mask:0xf", 16),
		131);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff012102,
				 "v_mov_b32_dpp v3, v2 row_ror:1 row_mask:0xf bank_mask:0xf", 17),
		116);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff013802,
				 "v_mov_b32_dpp v3, v2 wave_shr:1 row_mask:0xf bank_mask:0xf", 0),
		7);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff013802,
				 "v_mov_b32_dpp v3, v2 wave_shr:1 row_mask:0xf bank_mask:0xf", 16),
		115);
	assert_int_equal(after_dpp(0x7e0602fa, 0xff014002,
				 "v_mov_b32_dpp v3, v2 row_mirror row_mask:0xf bank_mask:0xf", 16),
		131);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff014102,
			"v_mov_b32_dpp v3, v2 row_half_mirror row_mask:0xf bank_mask:0xf", 0),
		107);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xff014102,
			"v_mov_b32_dpp v3, v2 row_half_mirror row_mask:0xf bank_mask:0xf", 8),
		115);
	assert_int_equal(after_dpp(0x7e0602fa, 0xaf014202,
				 "v_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa bank_mask:0xf", 5),
		7);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xaf014202,
			"v_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa bank_mask:0xf", 20),
		115);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xaf014202,
			"v_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa bank_mask:0xf", 40),
		7);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xaf014202,
			"v_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa bank_mask:0xf", 50),
		147);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xcf014302,
			"v_mov_b32_dpp v3, v2 row_bcast:31 row_mask:0xc bank_mask:0xf", 31),
		7);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xcf014302,
			"v_mov_b32_dpp v3, v2 row_bcast:31 row_mask:0xc bank_mask:0xf", 32),
		131);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xcf014302,
			"v_mov_b32_dpp v3, v2 row_bcast:31 row_mask:0xc bank_mask:0xf", 63),
		131);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xf500e402,
			"v_mov_b32_dpp v3, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x5", 0),
		100);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xf500e402,
			"v_mov_b32_dpp v3, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x5", 4),
		7);
	assert_int_equal(
		after_dpp(0x7e0602fa, 0xf500e402,
			"v_mov_b32_dpp v3, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x5", 8),
		108);
}

static void dpp_off_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x680400ff, 0x00000064, "v_add_u32_e32 v2, 0x64, v0");
	insn(m, 0x7e060287, 0x00000000, "v_mov_b32_e32 v3, 7");
	insn(m, 0xbefe0182, 0x00000000, "s_mov_b64 exec, 2");
	insn(m, 0x7e0602fa, 0xff011102,
		"v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf");
	insn(m, 0xbefe01c1, 0x00000000, "s_mov_b64 exec, -1");
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
}

/* A source lane that is off counts as missing. */
static void dpp_from_a_lane_that_is_off(void **state)
{
	struct machine *m = with(64, 0, 0, dpp_off_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 4), 7);
	free(m);
}

/* --- lanes --- */

static void lanes_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xd2890004, 0x00017f01, "v_readlane_b32 s4, v1, 63");
	insn(m, 0xd28a0003, 0x00010a04, "v_writelane_b32 v3, s4, 5");
	insn(m, 0xd28c0004, 0x000100c1, "v_mbcnt_lo_u32_b32 v4, -1, 0");
	insn(m, 0xd28d0004, 0x000208c1, "v_mbcnt_hi_u32_b32 v4, -1, v4");
	insn(m, 0x2a0a0284, 0x00000000, "v_xor_b32_e32 v5, 4, v1");
	insn(m, 0xd87e0000, 0x06000005, "ds_bpermute_b32 v6, v5, v0");
	insn(m, 0xd87c0004, 0x07000005, "ds_permute_b32 v7, v5, v0 offset:4");
	insn(m, 0xd87a401f, 0x08000000, "ds_swizzle_b32 v8, v0 offset:swizzle(SWAP,16)");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
	insn(m, 0xdc708100, 0x00000401, "global_store_dword v1, v4, s[0:1] offset:256");
	insn(m, 0xdc708200, 0x00000601, "global_store_dword v1, v6, s[0:1] offset:512");
	insn(m, 0xdc708300, 0x00000701, "global_store_dword v1, v7, s[0:1] offset:768");
	insn(m, 0xdc708400, 0x00000801, "global_store_dword v1, v8, s[0:1] offset:1024");
}

static void lanes(void **state)
{
	struct machine *m = with(64, 0, 0, lanes_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 4 * 5), 252);
	assert_int_equal(*at(m, 4 * 6), 0);
	assert_int_equal(*at(m, 256 + 4 * 63), 63);
	assert_int_equal(*at(m, 512 + 4 * 8), 9); /* takes from lane 8 ^ 1 */
	assert_int_equal(*at(m, 768 + 4 * 8), 6); /* lane 6 gives to lane (6 ^ 1) + 1 */
	assert_int_equal(*at(m, 1024 + 4 * 33), 49);
	free(m);
}

static void indexed_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x7e08028e, 0x00000000, "v_mov_b32_e32 v4, 14");
	insn(m, 0x7e0a028f, 0x00000000, "v_mov_b32_e32 v5, 15");
	insn(m, 0x7e0c0290, 0x00000000, "v_mov_b32_e32 v6, 16");
	insn(m, 0xbe840082, 0x00000000, "s_mov_b32 s4, 2");
	insn(m, 0xbf110104, 0x00000000, "s_set_gpr_idx_on s4, gpr_idx(SRC0)");
	insn(m, 0x7e040304, 0x00000000, "v_mov_b32_e32 v2, v4");
	insn(m, 0xbe803281, 0x00000000, "s_set_gpr_idx_idx 1");
	insn(m, 0x7e060304, 0x00000000, "v_mov_b32_e32 v3, v4");
	insn(m, 0xbf9d0008, 0x00000000, "s_set_gpr_idx_mode gpr_idx(DST)");
	insn(m, 0x7e0e02a1, 0x00000000, "v_mov_b32_e32 v7, 33");
	insn(m, 0xbf9c0000, 0x00000000, "s_set_gpr_idx_off");
	insn(m, 0x7e120304, 0x00000000, "v_mov_b32_e32 v9, v4");
	insn(m, 0xdc748000, 0x00000201, "global_store_dwordx2 v1, v[2:3], s[0:1]");
	insn(m, 0xdc748400, 0x00000801, "global_store_dwordx2 v1, v[8:9], s[0:1] offset:1024");
}

/* s_set_gpr_idx: v4 + 2, v4 + 1, then v7 + 1 as the result. */
static void registers_by_index(void **state)
{
	struct machine *m = with(1, 0, 0, indexed_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 0), 16);
	assert_int_equal(*at(m, 4), 15);
	assert_int_equal(*at(m, 1024), 33);
	assert_int_equal(*at(m, 1028), 14);
	free(m);
}

static void index_too_far_body(struct machine *m)
{
	insn(m, 0xb00400ff, 0x00000000, "s_movk_i32 s4, 0xff");
	insn(m, 0xbf110104, 0x00000000, "s_set_gpr_idx_on s4, gpr_idx(SRC0)");
	insn(m, 0x7e040304, 0x00000000, "v_mov_b32_e32 v2, v4");
}

static void an_index_beyond_the_registers(void **state)
{
	struct machine *m = with(1, 0, 0, index_too_far_body);

	(void)state;
	faults(m, AMD_FAULT_REFUSED, "leaves the vector registers");
	free(m);
}

/* --- LDS --- */

static void lds_body(struct machine *m)
{
	insn(m, 0x24020083, 0x00000000, "v_lshlrev_b32_e32 v1, 3, v0");
	insn(m, 0x7e040300, 0x00000000, "v_mov_b32_e32 v2, v0");
	insn(m, 0x7e060285, 0x00000000, "v_mov_b32_e32 v3, 5");
	insn(m, 0xd89a0000, 0x00000201, "ds_write_b64 v1, v[2:3]");
	insn(m, 0x7e120280, 0x00000000, "v_mov_b32_e32 v9, 0");
	insn(m, 0xd8000200, 0x00000209, "ds_add_u32 v9, v2 offset:512");
	insn(m, 0xd8400204, 0x04000309, "ds_add_rtn_u32 v4, v9, v3 offset:516");
	insn(m, 0xd8500208, 0x05000209, "ds_max_rtn_u32 v5, v9, v2 offset:520");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0xd86e8180, 0x06000009, "ds_read2_b32 v[6:7], v9 offset0:128 offset1:129");
	insn(m, 0xd8740000, 0x08000001, "ds_read_u8 v8, v1");
	insn(m, 0xd860020c, 0x0a020309, "ds_cmpst_rtn_b32 v10, v9, v3, v2 offset:524");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xdc708000, 0x00000401, "global_store_dword v1, v4, s[0:1]");
	insn(m, 0xdc708100, 0x00000601, "global_store_dword v1, v6, s[0:1] offset:256");
	insn(m, 0xdc708200, 0x00000701, "global_store_dword v1, v7, s[0:1] offset:512");
	insn(m, 0xdc708300, 0x00000801, "global_store_dword v1, v8, s[0:1] offset:768");
	insn(m, 0xdc708400, 0x00000a01, "global_store_dword v1, v10, s[0:1] offset:1024");
}

static void lds(void **state)
{
	struct machine *m = with(64, 1024, 0, lds_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 4 * 3), 15); /* in the order of lanes */
	assert_int_equal(*at(m, 256), 63 * 64 / 2);
	assert_int_equal(*at(m, 512), 5 * 64);
	assert_int_equal(*at(m, 768 + 4 * 9), 9);
	assert_int_equal(*at(m, 1024 + 4 * 9), 0); /* it was 0, not 5: nothing was stored */
	free(m);
}

static void lds_end_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xd81a0004, 0x00000001, "ds_write_b32 v1, v0 offset:4");
}

static void lds_beyond_its_end(void **state)
{
	struct machine *m = with(64, 256, 0, lds_end_body);

	(void)state;
	faults(m, AMD_FAULT_BOUNDS, "LDS offset 0x100");
	assert_int_equal(m->fault.lane, 63);
	free(m);
}

static void lds_below_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x7e0602c8, 0x00000000, "v_mov_b32_e32 v3, -8");
	insn(m, 0xd81a0000, 0x00000001, "ds_write_b32 v1, v0");
	insn(m, 0xd86c000c, 0x04000003, "ds_read_b32 v4, v3 offset:12");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0xdc708000, 0x00000401, "global_store_dword v1, v4, s[0:1]");
}

/* The address is negative, the sum with the offset is 4. */
static void lds_by_a_negative_address(void **state)
{
	struct machine *m = with(64, 256, 0, lds_below_body);

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 0), 1);
	free(m);
}

/* --- memory --- */

static void wild_body(struct machine *m)
{
	insn(m, 0x2402008b, 0x00000000, "v_lshlrev_b32_e32 v1, 11, v0");
	insn(m, 0xdc708000, 0x00000001, "global_store_dword v1, v0, s[0:1]");
}

static void wild_store(void **state)
{
	struct machine *m = with(64, 0, 0, wild_body);

	(void)state;
	faults(m, AMD_FAULT_MEMORY, "write of 4 bytes");
	assert_int_equal(m->fault.lane, 32); /* 32 * 2048 is the memory's end */
	assert_int_equal(m->fault.address, (uintptr_t)m->memory + MEMORY_BYTES);
	assert_true(m->fault.write);
	assert_int_equal(m->fault.pc, (uintptr_t)m->code + 256 + 4);
	free(m);
}

static void code_store_body(struct machine *m)
{
	insn(m, 0xbe821c00, 0x00000000, "s_getpc_b64 s[2:3]");
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0xdc708000, 0x00020001, "global_store_dword v1, v0, s[2:3]");
}

static void memory_that_is_only_read(void **state)
{
	struct machine *m = with(64, 0, 0, code_store_body);

	(void)state;
	faults(m, AMD_FAULT_MEMORY, "write");
	free(m);
}

static void atomics_body(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0x7e040283, 0x00000000, "v_mov_b32_e32 v2, 3");
	insn(m, 0xdd098000, 0x03000201, "global_atomic_add v3, v1, v2, s[0:1] glc");
	insn(m, 0xdd2d8004, 0x04000201, "global_atomic_inc v4, v1, v2, s[0:1] offset:4 glc");
	insn(m, 0x7e0c02f2, 0x00000000, "v_mov_b32_e32 v6, 1.0");
	insn(m, 0xdd358008, 0x07000601, "global_atomic_add_f32 v7, v1, v6, s[0:1] offset:8 glc");
	insn(m, 0x7e100300, 0x00000000, "v_mov_b32_e32 v8, v0");
	insn(m, 0x7e120280, 0x00000000, "v_mov_b32_e32 v9, 0");
	insn(m, 0xdd05800c, 0x0a000801,
		"global_atomic_cmpswap v10, v1, v[8:9], s[0:1] offset:12 glc");
	insn(m, 0x7e160281, 0x00000000, "v_mov_b32_e32 v11, 1");
	insn(m, 0xdd9c8010, 0x00000801, "global_atomic_umax_x2 v1, v[8:9], s[0:1] offset:16");
	insn(m, 0xbf8c0f70, 0x00000000, "s_waitcnt vmcnt(0)");
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xdc708100, 0x00000301, "global_store_dword v1, v3, s[0:1] offset:256");
	insn(m, 0xdc708200, 0x00000401, "global_store_dword v1, v4, s[0:1] offset:512");
	insn(m, 0xdc708300, 0x00000701, "global_store_dword v1, v7, s[0:1] offset:768");
	insn(m, 0xdc708400, 0x00000a01, "global_store_dword v1, v10, s[0:1] offset:1024");
}

static void atomics(void **state)
{
	struct machine *m = with(64, 0, 0, atomics_body);
	uint64_t max;

	(void)state;
	runs(m);
	assert_int_equal(*at(m, 0), 192);
	assert_int_equal(*at(m, 4), 0); /* 0 1 2 3 and again */
	assert_int_equal(*at(m, 8), 0x42800000);
	memcpy(&max, m->memory + 16, 8);
	assert_int_equal(max, 63);
	assert_int_equal(*at(m, 256 + 4 * 10), 30);
	assert_int_equal(*at(m, 512 + 4 * 5), 1);
	assert_int_equal(*at(m, 768 + 4 * 2), 0x40000000);
	assert_int_equal(*at(m, 1024 + 4), 0); /* lane 0 stored 0 over 0, lane 1 then 1 */
	assert_int_equal(*at(m, 1024 + 8), 1);
	free(m);
}

static void unaligned_body(struct machine *m)
{
	insn(m, 0x7e020282, 0x00000000, "v_mov_b32_e32 v1, 2");
	insn(m, 0xdd088000, 0x00000001, "global_atomic_add v1, v0, s[0:1]");
}

static void unaligned_atomic(void **state)
{
	struct machine *m = with(64, 0, 0, unaligned_body);

	(void)state;
	faults(m, AMD_FAULT_ALIGNMENT, "global_atomic_add");
	free(m);
}

/* --- scratch: each lane's own, through a flat address, an offset, and the buffer --- */

static void scratch_body(struct machine *m)
{
	insn(m, 0xbee60106, 0x00000000, "s_mov_b64 flat_scratch, s[6:7]");
	insn(m, 0x7e020290, 0x00000000, "v_mov_b32_e32 v1, 16");
	insn(m, 0x7e0402ed, 0x00000000, "v_mov_b32_e32 v2, src_private_base");
	insn(m, 0x7e060302, 0x00000000, "v_mov_b32_e32 v3, v2");
	insn(m, 0x7e040301, 0x00000000, "v_mov_b32_e32 v2, v1");
	insn(m, 0xdc700000, 0x00000002, "flat_store_dword v[2:3], v0");
	insn(m, 0x680800ff, 0x00000064, "v_add_u32_e32 v4, 0x64, v0");
	insn(m, 0xdc704004, 0x007f0401, "scratch_store_dword v1, v4, off offset:4");
	insn(m, 0xbf8c0070, 0x00000000, "s_waitcnt vmcnt(0) lgkmcnt(0)");
	insn(m, 0xdc544000, 0x067f0001, "scratch_load_dwordx2 v[6:7], v1, off");
	insn(m, 0xb0090400, 0x00000000, "s_movk_i32 s9, 0x400");
	insn(m, 0xe0500000, 0x09000800, "buffer_load_dword v8, off, s[0:3], s9");
	insn(m, 0xe0401004, 0x80000901, "buffer_load_ubyte v9, v1, s[0:3], 0 offen offset:4");
	insn(m, 0xe0681009, 0x80000401, "buffer_store_short v4, v1, s[0:3], 0 offen offset:9");
	insn(m, 0xdc480009, 0x0a000002, "flat_load_ushort v10, v[2:3] offset:9");
	insn(m, 0xbf8c0070, 0x00000000, "s_waitcnt vmcnt(0) lgkmcnt(0)");
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xdc708000, 0x00040601, "global_store_dword v1, v6, s[4:5]");
	insn(m, 0xdc708100, 0x00040701, "global_store_dword v1, v7, s[4:5] offset:256");
	insn(m, 0xdc708200, 0x00040801, "global_store_dword v1, v8, s[4:5] offset:512");
	insn(m, 0xdc708300, 0x00040901, "global_store_dword v1, v9, s[4:5] offset:768");
	insn(m, 0xdc708400, 0x00040a01, "global_store_dword v1, v10, s[4:5] offset:1024");
}

static void scratch(void **state)
{
	struct machine *m = with(64, 0, 64, scratch_body);

	(void)state;
	descriptor(m, 52, 8 << 1);     /* eight scalars: */
	descriptor(m, 56, 1 | 8 | 32); /* scratch's buffer, the arguments, FLAT_SCRATCH */
	runs(m);
	assert_int_equal(*at(m, 4 * 9), 9);
	assert_int_equal(*at(m, 256 + 4 * 9), 109);
	assert_int_equal(*at(m, 512 + 4 * 9), 9); /* 0x400 is 16 for each of 64 lanes */
	assert_int_equal(*at(m, 768 + 4 * 9), 109);
	assert_int_equal(*at(m, 1024 + 4 * 9), 109); /* across no word's end: 9 bytes on */
	free(m);
}

static void scratch_end_body(struct machine *m)
{
	insn(m, 0xbee60102, 0x00000000, "s_mov_b64 flat_scratch, s[2:3]");
	insn(m, 0x7e0202c0, 0x00000000, "v_mov_b32_e32 v1, 64");
	insn(m, 0xdc704000, 0x007f0001, "scratch_store_dword v1, v0, off");
}

static void scratch_beyond_its_end(void **state)
{
	struct machine *m = with(64, 0, 64, scratch_end_body);

	(void)state;
	descriptor(m, 52, 4 << 1);
	descriptor(m, 56, 8 | 32);
	faults(m, AMD_FAULT_BOUNDS, "private offset 0x40");
	free(m);
}

/* Odd lanes have an address beyond LDS. */
static void lds_beyond_body(struct machine *m)
{
	insn(m, 0x240c0082, 0x00000000, "v_lshlrev_b32_e32 v6, 2, v0");
	insn(m, 0xd81a0000, 0x00000006, "ds_write_b32 v6, v0");
	insn(m, 0x26020081, 0x00000000, "v_and_b32_e32 v1, 1, v0");
	insn(m, 0x24020294, 0x00000000, "v_lshlrev_b32_e32 v1, 20, v1");
	insn(m, 0xd2000001, 0x04050500, "v_lshl_or_b32 v1, v0, 2, v1");
	insn(m, 0x7e040289, 0x00000000, "v_mov_b32_e32 v2, 9");
	insn(m, 0x7e060289, 0x00000000, "v_mov_b32_e32 v3, 9");
	insn(m, 0x7e080289, 0x00000000, "v_mov_b32_e32 v4, 9");
}

static void lds_reads(struct machine *m)
{
	insn(m, 0xd86e0400, 0x02000001, "ds_read2_b32 v[2:3], v1 offset1:4");
	insn(m, 0xd86c0008, 0x04000001, "ds_read_b32 v4, v1 offset:8");
}

static void lds_masked_body(struct machine *m)
{
	lds_beyond_body(m);
	insn(m, 0xbefe00ff, 0x55555555, "s_mov_b32 exec_lo, 0x55555555");
	insn(m, 0xbeff00ff, 0x55555555, "s_mov_b32 exec_hi, 0x55555555");
	lds_reads(m);
	insn(m, 0xbefe01c1, 0x00000000, "s_mov_b64 exec, -1");
	insn(m, 0xdc708000, 0x00000206, "global_store_dword v6, v2, s[0:1]");
	insn(m, 0xdc708100, 0x00000306, "global_store_dword v6, v3, s[0:1] offset:256");
	insn(m, 0xdc708200, 0x00000406, "global_store_dword v6, v4, s[0:1] offset:512");
}

static void lds_unmasked_body(struct machine *m)
{
	lds_beyond_body(m);
	lds_reads(m);
}

/* Lanes that EXEC leaves out may have any address, and keep their registers. */
static void lds_of_some_lanes(void **state)
{
	struct machine *m = with(64, 288, 0, lds_masked_body);

	(void)state;
	runs(m);
	for (unsigned l = 0; l < 64; l++) {
		const uint32_t four = l + 4 < 64 ? l + 4 : 0, two = l + 2 < 64 ? l + 2 : 0;

		assert_int_equal(*at(m, 4 * l), l % 2 ? 9 : l);
		assert_int_equal(*at(m, 256 + 4 * l), l % 2 ? 9 : four);
		assert_int_equal(*at(m, 512 + 4 * l), l % 2 ? 9 : two);
	}
	free(m);
	m = with(64, 288, 0, lds_unmasked_body);
	faults(m, AMD_FAULT_BOUNDS, "read of 4 bytes at LDS offset 0x100004");
	assert_int_equal(m->fault.lane, 1);
	free(m);
}

/* --- waves and workgroups --- */

static void barrier_body(struct machine *m)
{
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xd81a0000, 0x00000001, "ds_write_b32 v1, v0");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0xbf8a0000, 0x00000000, "s_barrier");
	insn(m, 0x2a0402ff, 0x000003fc, "v_xor_b32_e32 v2, 0x3fc, v1");
	insn(m, 0xd86c0000, 0x03000002, "ds_read_b32 v3, v2");
	insn(m, 0xbf8cc07f, 0x00000000, "s_waitcnt lgkmcnt(0)");
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
}

/* Four waves: each reads what another has written. */
static void barrier(void **state)
{
	struct machine *m = with(256, 1024, 0, barrier_body);

	(void)state;
	runs(m);
	for (unsigned k = 0; k < 256; k++)
		assert_int_equal(*at(m, 4 * k), k ^ 255);
	free(m);
}

static void groups_body(struct machine *m)
{
	insn(m, 0x8e038802, 0x00000000, "s_lshl_b32 s3, s2, 8");
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x68020203, 0x00000000, "v_add_u32_e32 v1, s3, v1");
	insn(m, 0x68040002, 0x00000000, "v_add_u32_e32 v2, s2, v0");
	insn(m, 0x7e060d02, 0x00000000, "v_cvt_f32_u32_e32 v3, v2");
	insn(m, 0x7e064503, 0x00000000, "v_rcp_f32_e32 v3, v3");
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
}

/* The same bits on any number of workers; the last workgroup is smaller; v_rcp is named. */
static void workers(void **state)
{
	uint8_t first[16384];

	(void)state;
	for (uint32_t n = 1; n <= 5; n++) {
		struct machine *m = with(64, 0, 0, groups_body);

		descriptor(m, 52, 2 << 1 | 1 << 7);
		m->d.grid[0] = 64 * 40 + 1;
		m->d.workers = n;
		runs(m);
		assert_int_equal(m->report.workers, n);
		assert_int_equal(m->report.approximate, 1u << AMD_APPROX_RCP);
		assert_int_equal(m->report.instructions, 8 * 41);
		assert_false(m->report.in_order);
		assert_int_equal(*at(m, 256 * 40 + 4), 0);
		if (n == 1)
			memcpy(first, m->memory, sizeof(first));
		assert_memory_equal(first, m->memory, sizeof(first));
		free(m);
	}
	assert_string_equal(amd_approximate_name(AMD_APPROX_RCP), "v_rcp");
}

static void ordered_body(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0x7e040c02, 0x00000000, "v_cvt_f32_u32_e32 v2, s2");
	insn(m, 0xdd348000, 0x00000201, "global_atomic_add_f32 v1, v2, s[0:1]");
}

/* A sum of floats depends on its order: one worker. */
static void atomics_in_order(void **state)
{
	struct machine *m = with(64, 0, 0, ordered_body);

	(void)state;
	descriptor(m, 52, 2 << 1 | 1 << 7);
	m->d.grid[0] = 64 * 8;
	m->d.workers = 4;
	runs(m);
	assert_true(m->report.in_order);
	assert_int_equal(m->report.workers, 1);
	assert_int_equal(*at(m, 0), 0x44e00000); /* 64 * 28 */
	free(m);
}

static void strong_load(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0xdc518000, 0x01000001, "global_load_dword v1, v1, s[0:1] glc");
}

static void other_load(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0xdc538000, 0x01000001, "global_load_dword v1, v1, s[0:1] glc slc");
}

/* A load that may see how far another workgroup is: one worker. A nontemporal one is none. */
static void strong_loads_in_order(void **state)
{
	(void)state;
	for (unsigned strong = 0; strong < 2; strong++) {
		struct machine *m = with(64, 0, 0, strong ? strong_load : other_load);

		m->d.grid[0] = 64 * 8;
		m->d.workers = 4;
		runs(m);
		assert_int_equal(m->report.workers, strong ? 1 : 4);
		free(m);
	}
}

static void last_body(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0x7e040c02, 0x00000000, "v_cvt_f32_u32_e32 v2, s2");
	insn(m, 0xdc708000, 0x00000201, "global_store_dword v1, v2, s[0:1]");
}

static uint32_t in_order(void (*body)(struct machine *m), uint32_t groups, uint64_t order)
{
	struct machine *m = with(64, 0, 0, body);
	uint32_t v;

	descriptor(m, 52, 2 << 1 | 1 << 7);
	m->d.grid[0] = 64 * groups;
	m->d.workers = 1;
	m->d.order = order;
	runs(m);
	v = *at(m, 0);
	free(m);
	return v;
}

/* Each workgroup runs once in each order; who comes last depends on it, and only on it. */
static void other_orders(void **state)
{
	const uint32_t of[] = {0, 0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000,
		0x40c00000, 0x40e00000}; /* as floats */
	uint32_t last[24], seen = 0;

	(void)state;
	assert_int_equal(in_order(last_body, 8, 0), of[7]);
	assert_int_equal(in_order(last_body, 8, 1), of[1]); /* 0, 7, 6 ... */
	for (uint64_t order = 0; order < 24; order++) {
		assert_int_equal(in_order(ordered_body, 8, order), 0x44e00000); /* 64 * 28 */
		assert_int_equal(in_order(ordered_body, 6, order), 0x44700000); /* 64 * 15 */
		assert_int_equal(in_order(ordered_body, 2, order), 0x42800000);
		last[order] = in_order(last_body, 8, order);
		assert_int_equal(in_order(last_body, 8, order), last[order]);
		for (unsigned i = 0; i < 8; i++)
			seen |= last[order] == of[i] ? 1u << i : 0;
	}
	assert_int_equal(seen, 0xff);
}

static void waiting_body(struct machine *m)
{
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0xbf068002, 0x00000000, "s_cmp_eq_u32 s2, 0");
	insn(m, 0xbf840009, 0x00000000, "s_cbranch_scc0 9");
	insn(m, 0xdc518000, 0x02000001, "global_load_dword v2, v1, s[0:1] glc");
	insn(m, 0xbf8c0f70, 0x00000000, "s_waitcnt vmcnt(0)");
	insn(m, 0x7e060502, 0x00000000, "v_readfirstlane_b32 s3, v2");
	insn(m, 0xbf068003, 0x00000000, "s_cmp_eq_u32 s3, 0");
	insn(m, 0xbf85fffa, 0x00000000, "s_cbranch_scc1 65530");
	insn(m, 0xbf810000, 0x00000000, "s_endpgm");
	insn(m, 0xbf800000, 0x00000000, "s_nop 0");
	insn(m, 0xbf800000, 0x00000000, "s_nop 0");
	insn(m, 0x7e040281, 0x00000000, "v_mov_b32_e32 v2, 1");
	insn(m, 0xdd018000, 0x03000201, "global_atomic_swap v3, v1, v2, s[0:1] glc");
}

/* Workgroup 0 waits for what workgroup 1 will do. */
static void a_workgroup_that_waits_for_a_later_one(void **state)
{
	struct machine *m = with(64, 0, 0, waiting_body);

	(void)state;
	descriptor(m, 52, 2 << 1 | 1 << 7);
	m->d.grid[0] = 128;
	m->d.steps_max = 100000000;
	runs(m);
	assert_int_equal(*at(m, 0), 1);
	free(m);
}

static void endless_body(struct machine *m)
{
	insn(m, 0xbf82ffff, 0x00000000, "s_branch 65535");
}

/* Workgroup 0 counts down from 0x20000, all others are there at once: a wild store. */
static void late_fault_body(struct machine *m)
{
	insn(m, 0xbf078002, 0x00000000, "s_cmp_lg_u32 s2, 0");
	insn(m, 0xbf850005, 0x00000000, "s_cbranch_scc1 5");
	insn(m, 0xbe8400ff, 0x00020000, "s_mov_b32 s4, 0x20000");
	insn(m, 0x80848104, 0x00000000, "s_sub_u32 s4, s4, 1");
	insn(m, 0xbf078004, 0x00000000, "s_cmp_lg_u32 s4, 0");
	insn(m, 0xbf85fffd, 0x00000000, "s_cbranch_scc1 65533");
	insn(m, 0x7e020280, 0x00000000, "v_mov_b32_e32 v1, 0");
	insn(m, 0xdc708000, 0x00060001, "global_store_dword v1, v0, s[6:7]");
}

/* Whichever worker is quicker, the same fault is reported. */
static void the_first_workgroups_fault(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 4; n++) {
		struct machine *m = with(64, 0, 0, late_fault_body);

		descriptor(m, 52, 2 << 1 | 1 << 7);
		m->d.grid[0] = 64 * 8;
		m->d.workers = n;
		faults(m, AMD_FAULT_MEMORY, "write of 4 bytes at 0x0");
		assert_int_equal(m->fault.workgroup[0], 0);
		free(m);
	}
}

static void time_and_cancel(void **state)
{
	struct machine *m = with(64, 0, 0, endless_body);
	bool cancel = true;

	(void)state;
	faults(m, AMD_FAULT_TIMEOUT, "instructions");
	m->d.steps_max = 0;
	m->d.cancel = &cancel;
	faults(m, AMD_FAULT_CANCELLED, "cancelled");
	free(m);
}

/* --- observers --- */

struct seen {
	unsigned steps, reads[3], writes[3], atomics[3], arrivals, departures, begun, ended;
	uint64_t last; /* address of the last access */
};

static bool see_step(void *arg, const struct amd_wave *w, uint64_t pc)
{
	struct seen *s = arg;

	(void)pc;
	s->steps++;
	assert_int_equal(amd_wave_exec(w), ALL);
	return true;
}

static void see_access(void *arg, const struct amd_access *a)
{
	struct seen *s = arg;
	unsigned *n = a->kind == AMD_READ    ? s->reads
		      : a->kind == AMD_WRITE ? s->writes
					     : s->atomics;

	n[a->space]++;
	s->last = a->address;
}

static void see_barrier(void *arg, const struct amd_wave *w, bool leaves)
{
	struct seen *s = arg;

	(void)w;
	s->arrivals += !leaves;
	s->departures += leaves;
}

static void see_group(void *arg, struct amd_group *g, const uint32_t id[3], bool ended)
{
	struct seen *s = arg;

	(void)g, (void)id;
	s->begun += !ended;
	s->ended += ended;
}

static void observers(void **state)
{
	struct machine *m = with(256, 1024, 0, barrier_body);
	struct seen s = {0};
	struct amd_observer o = {&s, see_step, see_access, see_barrier, see_group, NULL, NULL};

	(void)state;
	m->d.observer = &o;
	m->d.workers = 4;
	runs(m);
	assert_int_equal(m->report.workers, 1);
	assert_int_equal(s.steps, 9 * 4);
	assert_int_equal(s.writes[AMD_LDS], 256);
	assert_int_equal(s.reads[AMD_LDS], 256);
	assert_int_equal(s.writes[AMD_MEMORY], 256);
	assert_int_equal(s.last, (uintptr_t)m->memory + 4 * 255);
	assert_int_equal(s.arrivals, 4);
	assert_int_equal(s.departures, 4);
	assert_int_equal(s.begun, 1);
	assert_int_equal(s.ended, 1);
	free(m);
	m = with(64, 0, 0, unaligned_body);
	m->code[256] = 0x80; /* v_mov_b32 v1, 0: aligned */
	m->d.observer = &o;
	runs(m);
	assert_int_equal(s.atomics[AMD_MEMORY], 64);
	free(m);
}

/* Work-items in three dimensions: packed into v0 on gfx90a, three registers before. */
static void items_body(struct machine *m)
{
	insn(m, 0x7e0a0300, 0x00000000, "v_mov_b32_e32 v5, v0");
}

static void work_items(void **state)
{
	struct machine *m = with(24, 0, 0, items_body);

	(void)state;
	m->n--;
	insn(m, 0xd28c0004, 0x000100c1, "v_mbcnt_lo_u32_b32 v4, -1, 0");
	insn(m, 0x24080882, 0x00000000, "v_lshlrev_b32_e32 v4, 2, v4");
	insn(m, 0xdc708000, 0x00000504, "global_store_dword v4, v5, s[0:1]");
	end(m);
	memcpy(m->d.grid, (uint32_t[]){4, 3, 2}, 12);
	memcpy(m->d.workgroup, (uint16_t[]){4, 3, 2}, 6);
	runs(m);
	assert_int_equal(*at(m, 4 * 23), 3 | 2 << 10 | 1 << 20);
	m->d.gfx = 0x908;
	runs(m);
	assert_int_equal(*at(m, 4 * 23), 3);
	free(m);
}

/* --- refusals --- */

static void refused(uint32_t w0, uint32_t w1, enum amd_fault_kind kind, const char *part)
{
	struct machine *m = machine_new(64, 0, 0);

	word(m, w0);
	word(m, w1);
	end(m);
	faults(m, kind, part);
	free(m);
}

static void refusals(void **state)
{
	(void)state;
	refused(0xd3ef8000, 0x04020500, AMD_FAULT_REFUSED,
		"v_mfma_f64_4x4x4f64"); /* v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1] */
	refused(0xd3c28100, 0x04020300, AMD_FAULT_REFUSED,
		"cbsz"); /* v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3] cbsz:1 */
	refused(0xf0000000, 0, AMD_FAULT_REFUSED, "word 0xf0000000"); /* graphics */
	refused(0xbf920002, 0xbf800000, AMD_FAULT_TRAP, "s_trap 2");  /* s_trap 2 */
	refused(0xbf900001, 0xbf800000, AMD_FAULT_REFUSED,
		"s_sendmsg"); /* s_sendmsg sendmsg(MSG_INTERRUPT) */
	refused(0xb884f804, 0xbf800000, AMD_FAULT_REFUSED,
		"HW_REG_HW_ID"); /* s_getreg_b32 s4, hwreg(HW_REG_HW_ID) */
	refused(0xb904f803, 0xbf800000, AMD_FAULT_REFUSED,
		"HW_REG_TRAPSTS"); /* s_setreg_b32 hwreg(HW_REG_TRAPSTS), s4 */
	refused(0x8684ff04, 0xffffff00, AMD_FAULT_REFUSED,
		"64 bits"); /* s_and_b64 s[4:5], s[4:5], 0xffffff00 */
	refused(0xd38f4000, 0x1801e501, AMD_FAULT_REFUSED,
		"constant"); /* v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,1] */
	refused(0xd3b2400c, 0x1801e504, AMD_FAULT_REFUSED,
		"high half of a constant"); /* v_pk_add_f32 v[12:13], v[4:5], 1.0 */
	refused(0xe0000000, 0x80010000, AMD_FAULT_REFUSED,
		"buffer_load_format_x"); /* buffer_load_format_x v0, off, s[4:7], 0 */
	refused(0xbe801d04, 0xbf800000, AMD_FAULT_FETCH, "left the code"); /* s_setpc_b64 s[4:5] */
}

static void bad_descriptors(void **state)
{
	struct machine *m = with(64, 0, 0, endless_body);

	(void)state;
	m->d.gfx = 0x1030;
	faults(m, AMD_FAULT_REFUSED, "gfx1030");
	m->d.gfx = 0x90a;
	descriptor(m, 56, 8 | 1 << 10);
	faults(m, AMD_FAULT_REFUSED, "waves of 32");
	descriptor(m, 56, 8);
	descriptor(m, 0, 65537);
	faults(m, AMD_FAULT_DISPATCH, "LDS");
	descriptor(m, 0, 0);
	m->d.workgroup[0] = 1025;
	faults(m, AMD_FAULT_DISPATCH, "1025 work-items");
	m->d.kernel_object = 64;
	faults(m, AMD_FAULT_DISPATCH, "descriptor");
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(without_lanes),
		cmocka_unit_test(some_lanes), cmocka_unit_test(dpp),
		cmocka_unit_test(dpp_from_a_lane_that_is_off), cmocka_unit_test(lanes),
		cmocka_unit_test(registers_by_index),
		cmocka_unit_test(an_index_beyond_the_registers), cmocka_unit_test(lds),
		cmocka_unit_test(lds_beyond_its_end), cmocka_unit_test(lds_by_a_negative_address),
		cmocka_unit_test(wild_store), cmocka_unit_test(memory_that_is_only_read),
		cmocka_unit_test(atomics), cmocka_unit_test(unaligned_atomic),
		cmocka_unit_test(scratch), cmocka_unit_test(scratch_beyond_its_end),
		cmocka_unit_test(lds_of_some_lanes), cmocka_unit_test(barrier),
		cmocka_unit_test(workers), cmocka_unit_test(atomics_in_order),
		cmocka_unit_test(strong_loads_in_order), cmocka_unit_test(other_orders),
		cmocka_unit_test(a_workgroup_that_waits_for_a_later_one),
		cmocka_unit_test(time_and_cancel), cmocka_unit_test(the_first_workgroups_fault),
		cmocka_unit_test(observers), cmocka_unit_test(work_items),
		cmocka_unit_test(refusals), cmocka_unit_test(bad_descriptors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
