/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels' code does, of AMD's machine code (test-order-ptx.c has PTX). Words are llvm-mc's;
 * which instructions see what others write while a kernel runs is said by LLVM's "User Guide for
 * AMDGPU Backend", Memory Model gfx90a.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpucode/amd-object.h"
#include "gpucode/code-traits.h"

#define MACH_90A 0x3f
#define MACH_1030 0x36

struct code {
	uint32_t word[8];
	unsigned n;
};
static const struct code ends = {{0xbf810000}, 1};

/* A code object with the kernels "k" and "kk" and the function "f", each with its words and an
 * s_endpgm behind. */
static size_t make(unsigned char *to, const struct code *k, const struct code *kk,
	const struct code *f, unsigned mach)
{
	static const char names[] = "\0k\0kk\0f";
	enum { TEXT = 1, SYMBOLS, NAMES, SECTIONS };
	const struct code *all[] = {k, kk, f};
	const uint32_t name[] = {1, 3, 6};
	Elf64_Sym y[4] = {{0}};
	Elf64_Shdr s[SECTIONS] = {[TEXT] = {.sh_type = SHT_PROGBITS, .sh_addr = 0x1000},
		[SYMBOLS] = {.sh_type = SHT_SYMTAB, .sh_link = NAMES, .sh_size = sizeof(y)},
		[NAMES] = {.sh_type = SHT_STRTAB, .sh_size = sizeof(names)}};
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_machine = EM_AMDGPU,
		.e_flags = 0x500 | mach,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS};
	size_t n = sizeof(e);

	s[TEXT].sh_offset = n;
	for (unsigned i = 0; i < 3; i++) {
		const size_t size = 4 * (size_t)all[i]->n + 4;

		y[i + 1] = (Elf64_Sym){.st_name = name[i],
			.st_info = STT_FUNC,
			.st_shndx = TEXT,
			.st_value = 0x1000 + (n - s[TEXT].sh_offset),
			.st_size = size};
		memcpy(to + n, all[i]->word, size - 4);
		memcpy(to + n + size - 4, ends.word, 4);
		n += size;
	}
	s[TEXT].sh_size = n - s[TEXT].sh_offset;
	s[SYMBOLS].sh_offset = n;
	memcpy(to + n, y, sizeof(y));
	n += sizeof(y);
	s[NAMES].sh_offset = n;
	memcpy(to + n, names, sizeof(names));
	n += sizeof(names);
	e.e_shoff = n;
	memcpy(to + n, s, sizeof(s));
	memcpy(to, &e, sizeof(e));
	return n + sizeof(s);
}

static struct code_traits ask(const struct code *k, const struct code *kk, const struct code *f)
{
	unsigned char object[2048];

	return code_traits_of(object, make(object, k, kk, f, MACH_90A), CODE_AMD_OBJECT, "k");
}

static const struct code glc_load = {{0xdc518000, 0x017f0002}, 2};
static const struct code plain_load = {{0xdc508000, 0x017f0002}, 2};
static const struct code call = {{0xbe9e1e04}, 1};

static void test_which_instructions_poll(void **unused)
{
	static const struct {
		const char *text;
		struct code code;
		bool polls;
	} rows[] = {{"global_load_dword v1, v[2:3], off glc", {{0xdc518000, 0x017f0002}, 2}, true},
		{"flat_load_dword v1, v[2:3] glc", {{0xdc510000, 0x01000002}, 2}, true},
		{"flat_load_dwordx2 v[4:5], v[2:3] glc", {{0xdc550000, 0x04000002}, 2}, true},
		{"global_atomic_add v1, v[2:3], v4, off glc", {{0xdd098000, 0x017f0402}, 2}, true},
		{"flat_atomic_cmpswap v1, v[2:3], v[4:5] glc", {{0xdd050000, 0x01000402}, 2}, true},
		{"buffer_load_dword v1, off, s[0:3], 0 glc", {{0xe0504000, 0x80000100}, 2}, true},
		{"s_load_dword s1, s[2:3], 0x0 glc", {{0xc0030041, 0}, 2}, true},
		/* not the last instruction, and one before it */
		{"v_mov_b32_e32 v0, 0x12345678; flat_load_dword v1, v[2:3] glc; v_add_u32_e32",
			{{0x7e0002ff, 0x12345678, 0xdc510000, 0x01000002, 0x68000081}, 5}, true},
		{"global_load_dword v1, v[2:3], off", {{0xdc508000, 0x017f0002}, 2}, false},
		/* nontemporal */
		{"global_load_dword v1, v[2:3], off glc slc", {{0xdc538000, 0x017f0002}, 2}, false},
		/* gives nothing back */
		{"global_atomic_add v[2:3], v4, off", {{0xdd088000, 0x007f0402}, 2}, false},
		{"global_store_dword v[2:3], v1, off glc", {{0xdc718000, 0x007f0102}, 2}, false},
		{"buffer_load_dword v1, off, s[0:3], 0", {{0xe0500000, 0x80000100}, 2}, false},
		{"s_load_dword s1, s[2:3], 0x0", {{0xc0020041, 0}, 2}, false},
		/* the workgroup's own, the lane's own */
		{"ds_read_b32 v1, v2", {{0xd86c0000, 0x01000002}, 2}, false},
		{"ds_add_rtn_u32 v1, v2, v3", {{0xd8400000, 0x01000302}, 2}, false},
		{"scratch_load_dword v1, off, s0 glc", {{0xdc514000, 0x01000000}, 2}, false},
		/* a constant that looks like one */
		{"v_mov_b32_e32 v0, 0xdc518000", {{0x7e0002ff, 0xdc518000}, 2}, false},
		{"s_memtime s[2:3]", {{0xc0900080, 0}, 2}, false}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct code_traits t = ask(&rows[i].code, &ends, &ends);

		if (!t.there || t.polls != rows[i].polls)
			fail_msg("%s", rows[i].text);
		/* Another kernel's instructions do not count, a called function's do. */
		assert_false(ask(&ends, &rows[i].code, &rows[i].code).polls);
		assert_int_equal(ask(&call, &ends, &rows[i].code).polls, rows[i].polls);
	}
}

static void test_clocks(void **unused)
{
	const struct code time = {{0xc0900080, 0}, 2}, real = {{0xc0940080, 0}, 2};

	(void)unused;
	assert_string_equal(ask(&time, &ends, &ends).clock, "s_memtime");
	assert_string_equal(ask(&real, &ends, &ends).clock, "s_memrealtime");
	assert_null(ask(&plain_load, &time, &ends).clock);
	assert_null(ask(&call, &ends, &time).clock);
}

static void test_other_code_says_nothing(void **unused)
{
	unsigned char object[2048];
	size_t n = make(object, &glc_load, &ends, &ends, MACH_90A);

	(void)unused;
	assert_true(code_traits_of(object, n, CODE_AMD_OBJECT, "k").polls);
	assert_false(code_traits_of(object, n, CODE_AMD_OBJECT, "none").there);
	assert_false(code_traits_of(object, n, CODE_AMD_OBJECT, "kkk").there);
	assert_false(code_traits_of(object, n, CODE_CUBIN, "k").there);
	assert_false(code_traits_of(object, n, CODE_PTX, "k").there);
	assert_false(code_traits_of("", 0, CODE_PTX, "k").there);
	/* Other words mean other things there. */
	n = make(object, &glc_load, &ends, &ends, MACH_1030);
	assert_false(code_traits_of(object, n, CODE_AMD_OBJECT, "k").there);
	assert_int_equal(amd_object_gfx(object, n), 0);
}

/* The copy ends where the object does, so that a sanitizer sees a read behind it. */
static void test_damaged_objects_are_taken(void **unused)
{
	unsigned char object[2048];
	const size_t n = make(object, &call, &glc_load, &plain_load, MACH_90A);

	(void)unused;
	for (size_t i = 0; i < n; i++)
		for (unsigned v = 0; v < 256; v += 15) {
			unsigned char *copy = malloc(n);

			memcpy(copy, object, n);
			copy[i] = (unsigned char)v;
			(void)code_traits_of(copy, n, CODE_AMD_OBJECT, "k");
			(void)code_traits_of(copy, i, CODE_AMD_OBJECT, "k");
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_which_instructions_poll),
		cmocka_unit_test(test_clocks), cmocka_unit_test(test_other_code_says_nothing),
		cmocka_unit_test(test_damaged_objects_are_taken)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
