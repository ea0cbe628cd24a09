/* SPDX-License-Identifier: Apache-2.0
 *
 * What looks at the software AMD GPU's kernels while they run: missing waits, races, schedules by
 * seed. Every finding has a twin without the mistake, which is not accused.
 */
#include "amd-test.h"
#include "softamd/watch/amd-race.h"

/* --- missing waits --- */

/* A letter for each instruction: L M: loads of v2 and v3; V, W: vmcnt(0), vmcnt(1); u, t: v2, v3
 * are used; o: v2 is written; S: v2 is stored; D: LDS to v5, d: used; Q: lgkmcnt(0), R: lgkmcnt(1);
 * K, k: loads of s4 and s5; s: s4 is used; F: a FLAT load of v8 (address v[10:11]: A), f: used. */
static void one(struct machine *m, char c)
{
	static const struct {
		char c;
		uint32_t w[2];
		const char *text;
	} table[] = {{'L', {0xdc508000, 0x02000001}, "global_load_dword v2, v1, s[0:1]"},
		{'M', {0xdc508100, 0x03000001}, "global_load_dword v3, v1, s[0:1] offset:256"},
		{'V', {0xbf8c0f70}, "s_waitcnt vmcnt(0)"},
		{'W', {0xbf8c0f71}, "s_waitcnt vmcnt(1)"},
		{'u', {0x68080502}, "v_add_u32_e32 v4, v2, v2"},
		{'t', {0x68080703}, "v_add_u32_e32 v4, v3, v3"},
		{'o', {0x7e040280}, "v_mov_b32_e32 v2, 0"},
		{'S', {0xdc708000, 0x00000201}, "global_store_dword v1, v2, s[0:1]"},
		{'D', {0xd86c0000, 0x05000001}, "ds_read_b32 v5, v1"},
		{'d', {0x680c0b05}, "v_add_u32_e32 v6, v5, v5"},
		{'Q', {0xbf8cc07f}, "s_waitcnt lgkmcnt(0)"},
		{'R', {0xbf8cc17f}, "s_waitcnt lgkmcnt(1)"},
		{'K', {0xc0020100, 0x00000000}, "s_load_dword s4, s[0:1], 0x0"},
		{'k', {0xc0020140, 0x00000004}, "s_load_dword s5, s[0:1], 0x4"},
		{'s', {0x7e0e0204}, "v_mov_b32_e32 v7, s4"},
		{'A', {0x7e140200}, "v_mov_b32_e32 v10, s0"},
		{'B', {0x7e160201}, "v_mov_b32_e32 v11, s1"},
		{'F', {0xdc500000, 0x0800000a}, "flat_load_dword v8, v[10:11]"},
		{'f', {0x68121108}, "v_add_u32_e32 v9, v8, v8"}};

	for (size_t k = 0; k < sizeof(table) / sizeof(*table); k++)
		if (table[k].c == c) {
			insn(m, table[k].w[0], table[k].w[1], table[k].text);
			return;
		}
	fail_msg("no instruction %c", c);
}

static struct machine *of_letters(const char *letters)
{
	struct machine *m = machine_new(64, 256, 0);

	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	for (; *letters; letters++)
		one(m, *letters);
	end(m);
	m->d.check_waits = true;
	return m;
}

static void waits(void **state)
{
	static const struct {
		const char *wrong, *says, *right;
	} pairs[] = {{"Lu", "v_add_u32_e32 v4, v2, v2 uses v2, which the load at", "LVu"},
		{"Lu", "no s_waitcnt vmcnt between them", "LVu"},
		{"LMWt", "uses v3", "LMWu"}, /* the newer one is still on its way */
		{"Lo", "v_mov_b32_e32 v2, 0 uses v2", "LVo"}, /* the load would come later */
		{"LS", "global_store_dword v1, v2, s[0:1] uses v2", "LVS"},
		{"LQu", "no s_waitcnt vmcnt", "LVu"}, /* the other counter */
		{"Dd", "no s_waitcnt lgkmcnt between them", "DQd"}, {"DVd", "lgkmcnt", "DLRVQd"},
		{"Ks", "uses s4", "KQs"}, {"KkRs", "uses s4", "KkQs"}, /* any order */
		{"ABFf", "uses v8", "ABFVf"}};

	(void)state;
	for (size_t k = 0; k < sizeof(pairs) / sizeof(*pairs); k++) {
		struct machine *m = of_letters(pairs[k].wrong);

		faults(m, AMD_FAULT_WAIT, pairs[k].says);
		m->d.check_waits = false; /* only who asks for it is stopped */
		runs(m);
		free(m);
		m = of_letters(pairs[k].right);
		runs(m);
		free(m);
	}
}

/* --- races --- */

static struct amd_races *check(struct machine *m)
{
	struct amd_races *c = amd_races_new(&m->d, 0);
	struct amd_observer o;

	assert_non_null(c);
	o = amd_races_observer(c);
	m->d.observer = &o;
	runs(m);
	m->d.observer = NULL;
	assert_null(amd_races_doubt(c));
	return c;
}

/* Two waves: each work-item reads what its opposite has written to LDS. */
static struct machine *opposites(bool barrier)
{
	struct machine *m = machine_new(128, 512, 0);

	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0xd81a0000, 0x00000001, "ds_write_b32 v1, v0");
	if (barrier)
		insn(m, 0xbf8a0000, 0x00000000, "s_barrier");
	insn(m, 0x6a0402ff, 0x000001fc, "v_sub_u32_e32 v2, 0x1fc, v1");
	insn(m, 0xd86c0000, 0x03000002, "ds_read_b32 v3, v2");
	insn(m, 0xdc708000, 0x00000301, "global_store_dword v1, v3, s[0:1]");
	end(m);
	return m;
}

static void races_in_lds(void **state)
{
	struct machine *m = opposites(false);
	struct amd_races *c = check(m);
	struct amd_race r;

	(void)state;
	assert_true(amd_races_get(c, 0, &r));
	assert_false(amd_races_get(c, 1, &r));
	assert_int_equal(r.tier, AMD_RACE);
	assert_true(r.lds);
	/* the first wave runs first: it reads the second one's part, then that writes it */
	assert_int_equal(r.side[0].kind, AMD_READ);
	assert_int_equal(r.side[1].kind, AMD_WRITE);
	assert_int_equal(r.side[1].item[0], 64);
	assert_int_equal(r.side[0].item[0], 63);
	assert_int_equal(r.addr, 64 * 4);
	assert_string_equal(r.side[1].insn, "ds_write_b32");
	assert_int_equal(r.side[1].pc, (uintptr_t)m->code + 256 + 4);
	assert_int_equal(r.count, 128); /* 64 words each way */
	amd_races_free(c);
	free(m);
	m = opposites(true);
	c = check(m);
	assert_false(amd_races_get(c, 0, &r));
	amd_races_free(c);
	free(m);
}

/* All lanes store to one place: their numbers, or all 7. */
static void races_of_lanes(void **state)
{
	struct amd_race r;

	(void)state;
	for (int same = 0; same < 2; same++) {
		struct machine *m = machine_new(64, 0, 0);
		struct amd_races *c;

		insn(m, 0x7e080280, 0x00000000, "v_mov_b32_e32 v4, 0");
		insn(m, 0x7e0a0287, 0x00000000, "v_mov_b32_e32 v5, 7");
		if (same)
			insn(m, 0xdc708000, 0x00000504, "global_store_dword v4, v5, s[0:1]");
		else
			insn(m, 0xdc708000, 0x00000004, "global_store_dword v4, v0, s[0:1]");
		end(m);
		c = check(m);
		assert_true(amd_races_get(c, 0, &r));
		assert_int_equal(r.tier, same ? AMD_RACE_SAME_VALUE : AMD_RACE);
		assert_int_equal(r.side[0].item[0], 0);
		assert_int_equal(r.side[1].item[0], 1);
		amd_races_free(c);
		free(m);
	}
}

/* Workgroups add to one place: by an atomic; what it gives is each work-item's own. */
static struct machine *counters(void)
{
	struct machine *m = machine_new(64, 0, 0);

	insn(m, 0x7e080280, 0x00000000, "v_mov_b32_e32 v4, 0");
	insn(m, 0x7e0a0281, 0x00000000, "v_mov_b32_e32 v5, 1");
	insn(m, 0xdd098000, 0x06000504, "global_atomic_add v6, v4, v5, s[0:1] glc");
	insn(m, 0x8e038802, 0x00000000, "s_lshl_b32 s3, s2, 8");
	insn(m, 0x24020082, 0x00000000, "v_lshlrev_b32_e32 v1, 2, v0");
	insn(m, 0x68020203, 0x00000000, "v_add_u32_e32 v1, s3, v1");
	insn(m, 0xdc708100, 0x00000601, "global_store_dword v1, v6, s[0:1] offset:256");
	end(m);
	descriptor(m, 52, 2 << 1 | 1 << 7);
	m->d.grid[0] = 64 * 20;
	return m;
}

static void atomics_are_no_races(void **state)
{
	struct machine *m = counters();
	struct amd_races *c = check(m);
	struct amd_race r;

	(void)state;
	assert_false(amd_races_get(c, 0, &r));
	assert_int_equal(*at(m, 0), 64 * 20);
	amd_races_free(c);
	free(m);
}

static void the_check_says_when_it_has_no_room(void **state)
{
	struct machine *m = counters();
	struct amd_races *c = amd_races_new(&m->d, 1000);
	struct amd_observer o = amd_races_observer(c);

	(void)state;
	m->d.observer = &o;
	runs(m);
	assert_non_null(amd_races_doubt(c));
	amd_races_free(c);
	free(m);
}

/* --- schedules --- */

/* A seed is an order: the same each time, and others are others. */
static void seeds(void **state)
{
	uint8_t first[MEMORY_BYTES];
	unsigned others = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct machine *m = counters(), *n = counters();

		m->d.random = n->d.random = true;
		m->d.seed = n->d.seed = seed;
		m->d.workers = 4;
		runs(m);
		runs(n);
		assert_int_equal(*at(m, 0), 64 * 20);
		assert_memory_equal(m->memory, n->memory, MEMORY_BYTES);
		if (seed == 1)
			memcpy(first, m->memory, MEMORY_BYTES);
		others += memcmp(first, m->memory, MEMORY_BYTES) != 0;
		free(m);
		free(n);
	}
	assert_true(others >= 3);
}

/* --- access sets --- */

/* A dispatch's arguments are as long as the descriptor says, and not longer than the memory that
 * they lie in: a descriptor that lies does not hide what a kernel reads elsewhere. */
static void size_of_arguments(void **state)
{
	struct machine *m = machine_new(64, 0, 0);

	(void)state;
	descriptor(m, 8, 24);
	assert_int_equal(amd_args_size_of(&m->d), 24);
	descriptor(m, 8, MEMORY_BYTES);
	assert_int_equal(amd_args_size_of(&m->d), MEMORY_BYTES);
	descriptor(m, 8, MEMORY_BYTES + 1);
	assert_int_equal(amd_args_size_of(&m->d), 0);
	descriptor(m, 8, UINT32_MAX);
	assert_int_equal(amd_args_size_of(&m->d), 0);
	descriptor(m, 8, 24);
	m->d.kernarg = 64; /* no memory */
	assert_int_equal(amd_args_size_of(&m->d), 0);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(waits), cmocka_unit_test(races_in_lds),
		cmocka_unit_test(races_of_lanes), cmocka_unit_test(atomics_are_no_races),
		cmocka_unit_test(the_check_says_when_it_has_no_room), cmocka_unit_test(seeds),
		cmocka_unit_test(size_of_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
