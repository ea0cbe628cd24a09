/* SPDX-License-Identifier: Apache-2.0
 *
 * What gfx942 has and gfx90a has not. The words are llvm-mc's; results are worked out from the
 * words of "AMD Instinct MI300 ISA" (v_lshl_add_u64, scratch addresses, scopes).
 */
#include "amd-test.h"

static struct machine *machine_942(uint32_t private_bytes)
{
	struct machine *m = machine_new(64, 0, private_bytes);

	m->d.gfx = 0x942;
	return m;
}

static uint64_t wide_at(struct machine *m, unsigned offset)
{
	uint64_t v;

	memcpy(&v, m->memory + offset, 8);
	return v;
}

static void numbers(void **state)
{
	struct machine *m = machine_942(0);

	(void)state;
	insn(m, 0x24020083, 0, "v_lshlrev_b32_e32 v1, 3, v0");
	insn(m, 0x7e047000, 0, "v_mov_b64_e32 v[2:3], s[0:1]");
	insn(m, 0x7e080285, 0, "v_mov_b32_e32 v4, 5");
	insn(m, 0x7e0a0281, 0, "v_mov_b32_e32 v5, 1");
	insn(m, 0xd2080006, 0x04090704, "v_lshl_add_u64 v[6:7], v[4:5], 3, v[2:3]");
	insn(m, 0xdc748000, 0x00000601, "global_store_dwordx2 v1, v[6:7], s[0:1]");
	insn(m, 0x7e0470f2, 0, "v_mov_b64_e32 v[2:3], 1.0");
	insn(m, 0xdc748200, 0x00000201, "global_store_dwordx2 v1, v[2:3], s[0:1] offset:512");
	insn(m, 0x7e0c02f2, 0, "v_mov_b32_e32 v6, 1.0");
	insn(m, 0x7e0e02f4, 0, "v_mov_b32_e32 v7, 2.0");
	insn(m, 0x2e0c0f06, 0x40400000, "v_fmamk_f32 v6, v6, 0x40400000, v7");
	insn(m, 0x300e0f06, 0x40400000, "v_fmaak_f32 v7, v6, v7, 0x40400000");
	insn(m, 0xdc748400, 0x00000601, "global_store_dwordx2 v1, v[6:7], s[0:1] offset:1024");
	end(m);
	runs(m);
	assert_true(wide_at(m, 8 * 9) == (0x100000005ull << 3) + (uintptr_t)m->memory);
	assert_true(wide_at(m, 512 + 8 * 9) == 0x3ff0000000000000ull);
	assert_true(wide_at(m, 1024 + 8 * 9) == 0x4150000040a00000ull); /* 1 * 3 + 2; 5 * 2 + 3 */
	free(m);
}

static void atomics_and_caches(void **state)
{
	struct machine *m = machine_942(0);

	(void)state;
	insn(m, 0x7e047000, 0, "v_mov_b64_e32 v[2:3], s[0:1]");
	insn(m, 0x7e0802f2, 0, "v_mov_b32_e32 v4, 1.0");
	insn(m, 0xdd340800, 0x00000402, "flat_atomic_add_f32 v[2:3], v4 offset:2048");
	insn(m, 0xe0a08000, 0, "buffer_wbl2 sc1");
	insn(m, 0xe0a48000, 0, "buffer_inv sc1");
	end(m);
	runs(m);
	assert_true((uint32_t)wide_at(m, 2048) == 0x42800000); /* 64 lanes */
	free(m);
}

/* The four ways to say where: both registers, one of them, none. FLAT_SCRATCH is not set up. */
static void scratch(void **state)
{
	struct machine *m = machine_942(64);

	(void)state;
	insn(m, 0x24020082, 0, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x680400ff, 0x64, "v_add_u32_e32 v2, 0x64, v0");
	insn(m, 0xdc704008, 0x007f0200, "scratch_store_dword off, v2, off offset:8");
	insn(m, 0x7e060288, 0, "v_mov_b32_e32 v3, 8");
	insn(m, 0xdc506000, 0x047f0003, "scratch_load_dword v4, v3, off");
	insn(m, 0x7e060284, 0, "v_mov_b32_e32 v3, 4");
	insn(m, 0xbe830084, 0, "s_mov_b32 s3, 4");
	insn(m, 0xdc506000, 0x05030003, "scratch_load_dword v5, v3, s3");
	insn(m, 0xbe830088, 0, "s_mov_b32 s3, 8");
	insn(m, 0xdc504000, 0x06030000, "scratch_load_dword v6, off, s3");
	insn(m, 0xdc708000, 0x00000401, "global_store_dword v1, v4, s[0:1]");
	insn(m, 0xdc708100, 0x00000501, "global_store_dword v1, v5, s[0:1] offset:256");
	insn(m, 0xdc708200, 0x00000601, "global_store_dword v1, v6, s[0:1] offset:512");
	end(m);
	runs(m);
	for (unsigned way = 0; way < 3; way++)
		assert_true((uint32_t)wide_at(m, 256 * way + 4 * 9) == 109);
	free(m);
}

static uint32_t workers_with(uint32_t w0, const char *load)
{
	struct machine *m = machine_942(0);
	uint32_t n;

	insn(m, 0x7e020280, 0, "v_mov_b32_e32 v1, 0");
	insn(m, w0, 0x01000001, load);
	end(m);
	m->d.grid[0] = 64 * 8;
	m->d.workers = 4;
	runs(m);
	n = m->report.workers;
	free(m);
	return n;
}

/* A load of the agent's or the system's scope sees how far other workgroups are. */
static void scopes(void **state)
{
	(void)state;
	assert_int_equal(workers_with(0xde508000, "global_load_dword v1, v1, s[0:1] sc1"), 1);
	assert_int_equal(workers_with(0xde518000, "global_load_dword v1, v1, s[0:1] sc0 sc1"), 1);
	assert_int_equal(workers_with(0xdc528000, "global_load_dword v1, v1, s[0:1] nt"), 4);
	assert_int_equal(workers_with(0xdc508000, "global_load_dword v1, v1, s[0:1]"), 4);
}

/* What one of them has, the other does not read. */
static void others_words(void **state)
{
	static const struct {
		uint32_t w[2];
		bool on_90a, on_942;
	} rows[] = {{{0x7e047000}, false, true}, {{0xd2080006, 0x04090704}, false, true},
		{{0x2c0c0f06}, true, false} /* v_mac_f32 */,
		{{0xd1c10006, 0x04090704}, true, false} /* v_mad_f32 */,
		{{0xd3e68008, 0x04220902}, true, false} /* v_mfma_f32_32x32x8bf16_1k */,
		{{0xd3e08008, 0x04220902}, false, true} /* v_mfma_f32_32x32x8_bf16 */,
		{{0xd3f08008, 0x04220902}, false, false} /* of 8 bit floats */};
	struct gfx_insn i;

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		assert_int_equal(gfx_decode(GFX_90A, rows[k].w, 2, &i), rows[k].on_90a);
		assert_int_equal(gfx_decode(GFX_942, rows[k].w, 2, &i), rows[k].on_942);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers),
		cmocka_unit_test(atomics_and_caches), cmocka_unit_test(scratch),
		cmocka_unit_test(scopes), cmocka_unit_test(others_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
