/* SPDX-License-Identifier: Apache-2.0
 *
 * What cuda-gdb prints of a process that it attached to. The texts are cuda-gdb 13.0's, of an H200
 * with driver 580.159.04, but for the loops that say otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/why/debugger.h"

static const char one_kernel[] =
	"  Kernel Parent Dev Grid Status                             SMs Mask GridDim BlockDim Invocation  \n"
	"*      0      -   0    1 Active 0x0010000000000000000000000000000000 (1,1,1) (32,1,1) wait_flag() \n";
static const char two_kernels[] =
	"  Kernel Parent Dev Grid Status                             SMs Mask GridDim BlockDim Invocation   \n"
	"       1      -   0    3 Active 0x0040000000000000000000000000000000 (1,1,1)  (1,1,1) all_reduce() \n"
	"*      0      -   0    1 Active 0x0010000000000000000000000000000000 (1,1,1)  (1,1,1) all_reduce() \n";
static const char with_arguments[] =
	"  Kernel Parent Dev Grid Status                             SMs Mask GridDim BlockDim Invocation                     \n"
	"*      0      -   0    1 Active 0x0010000000000000000000000000000000 (1,1,1) (32,1,1) wait_flag(flag=0x7fd133e00000) \n";
static const char threads[] =
	"   BlockIdx ThreadIdx To BlockIdx  ThreadIdx Count                 PC                                                             Filename  Line \n"
	"Kernel 0\n"
	"*   (0,0,0)   (0,0,0)     (0,0,0)    (0,0,0)     1 0x00007ff9377a1540                /tmp/tmp.KaBibZevFa/tests/programs/hangs/stuck_gpu.cu    31 \n"
	"    (0,0,0)   (1,0,0)     (0,0,0)   (31,0,0)    31 0x00007ff9377a1560                /tmp/tmp.KaBibZevFa/tests/programs/hangs/stuck_gpu.cu    34 \n"
	"    (0,0,0)  (32,0,0)     (0,0,0) (1023,0,0)   992 0x00007ff9377a1580                /tmp/tmp.KaBibZevFa/tests/programs/hangs/stuck_gpu.cu    35 \n"
	"    (1,0,0)   (0,0,0)     (1,0,0)    (0,0,0)     1 0x00007ff9377a1540                /tmp/tmp.KaBibZevFa/tests/programs/hangs/stuck_gpu.cu    31 \n"
	"    (1,0,0)   (1,0,0)     (1,0,0)   (31,0,0)    31 0x00007ff9377a1560                /tmp/tmp.KaBibZevFa/tests/programs/hangs/stuck_gpu.cu    34 \n";
static const char loop[] =
	"   0x7fd4db7a0060 <_Z9wait_flagPVi+96>:\tNANOSLEEP 0x3e8\n"
	"=> 0x7fd4db7a0070 <_Z9wait_flagPVi+112>:\tLDG.E.STRONG.SYS R0,desc[UR4][R2.64]\n"
	"   0x7fd4db7a0080 <_Z9wait_flagPVi+128>:\tISETP.NE.AND P0,PT,R0,RZ,PT\n"
	"   0x7fd4db7a0090 <_Z9wait_flagPVi+144>:\t@!P0 BRA 0x7fd4db7a0060\n"
	"   0x7fd4db7a00a0 <_Z9wait_flagPVi+160>:\tEXIT\n"
	"   0x7fd4db7a00b0 <_Z9wait_flagPVi+176>:\tBRA 0x7fd4db7a00b0\n";
static const char registers[] = "R1             0xfffdc0            16776640\n"
				"R2             0xd3e00000          3554672640\n"
				"R3             0x7fd4              32724\n";

static void kernels_by_their_rows(void **state)
{
	struct debugger_seen s;

	(void)state;
	debugger_read_kernels(one_kernel, &s);
	assert_int_equal(s.nkernels, 1);
	assert_string_equal(s.kernel[0].name, "wait_flag");
	assert_memory_equal(s.kernel[0].grid, ((uint32_t[]){1, 1, 1}), sizeof s.kernel[0].grid);
	assert_memory_equal(s.kernel[0].block, ((uint32_t[]){32, 1, 1}), sizeof s.kernel[0].block);
	assert_int_equal(s.kernel[0].id, 1);
	debugger_read_kernels(two_kernels, &s);
	assert_int_equal(s.nkernels, 2);
	assert_int_equal(s.kernel[0].number, 1);
	assert_int_equal(s.kernel[0].id, 3);
	assert_int_equal(s.kernel[1].number, 0);
	debugger_read_kernels(with_arguments, &s);
	assert_string_equal(s.kernel[0].name, "wait_flag");
	debugger_read_kernels("No CUDA kernels.\n", &s);
	assert_int_equal(s.nkernels, 0);
}

static void names_with_parentheses(void **state)
{
	struct debugger_seen s;

	(void)state;
	debugger_read_kernels("  2 - 1 77 Active 0x01 (4,1,1) (64,2,1) "
			      "void at::run<int (*)(float), 4>(int, Op)(n=3, op=...) \n",
		&s);
	assert_int_equal(s.nkernels, 1);
	assert_string_equal(s.kernel[0].name, "void at::run<int (*)(float), 4>(int, Op)");
	assert_int_equal(s.kernel[0].device, 1);
}

static void more_kernels_than_fit(void **state)
{
	char text[(DEBUGGER_KERNELS + 2) * 64] = "";
	struct debugger_seen s;

	(void)state;
	for (unsigned i = 0; i <= DEBUGGER_KERNELS; i++)
		snprintf(text + strlen(text), 64, "%u - 0 %u Active 0x1 (1,1,1) (1,1,1) k() \n", i,
			i);
	debugger_read_kernels(text, &s);
	assert_int_equal(s.nkernels, DEBUGGER_KERNELS);
	assert_true(s.more);
}

static void places_by_their_lines(void **state)
{
	struct debugger_kernel k = {0};

	(void)state;
	debugger_read_threads(threads, &k);
	assert_int_equal(k.nplaces, 3);
	assert_string_equal(k.place[0].file, "stuck_gpu.cu");
	assert_int_equal(k.place[0].line, 31);
	assert_int_equal(k.place[0].lanes, 2);
	assert_int_equal(k.place[0].pc, 0x7ff9377a1540);
	assert_int_equal(k.place[1].line, 34);
	assert_int_equal(k.place[1].lanes, 62);
	assert_int_equal(k.place[1].thread[0], 1);
	assert_int_equal(k.place[2].lanes, 992);
	assert_int_equal(k.lanes, 2 + 62 + 992);
	assert_int_equal(k.blocks, 2);
}

/* Other blocks give another hash; the same blocks with lanes in other rows give the same. */
static void blocks_are_told_apart(void **state)
{
	static const char a[] = "(5,0,0) (0,0,0) (5,0,0) (31,0,0) 32 0x10 /a.cu 1\n";
	static const char cut[] = "(5,0,0) (0,0,0) (5,0,0) (3,0,0) 4 0x10 /a.cu 1\n"
				  "(5,0,0) (4,0,0) (5,0,0) (31,0,0) 28 0x20 /a.cu 2\n";
	static const char other[] = "(6,0,0) (0,0,0) (6,0,0) (31,0,0) 32 0x10 /a.cu 1\n";
	struct debugger_kernel k = {0}, l = {0}, m = {0};

	(void)state;
	debugger_read_threads(a, &k);
	debugger_read_threads(cut, &l);
	debugger_read_threads(other, &m);
	assert_true(k.which == l.which);
	assert_false(k.which == m.which);
}

static void places_without_lines(void **state)
{
	struct debugger_kernel k = {0};

	(void)state;
	debugger_read_threads("(0,0,0) (0,0,0) (0,0,0) (31,0,0) 32 0x00007f10 \n"
			      "(0,0,0) (32,0,0) (0,0,0) (63,0,0) 32 0x00007f20 n/a 0 \n",
		&k);
	assert_int_equal(k.nplaces, 2);
	assert_string_equal(k.place[0].file, "");
	assert_int_equal(k.place[1].pc, 0x7f20);
}

static void the_load_of_a_loop(void **state)
{
	struct debugger_load l[4];

	(void)state;
	for (uint64_t pc = 0x7fd4db7a0060; pc <= 0x7fd4db7a0090; pc += 16) {
		assert_int_equal(debugger_read_loop(loop, pc, l, 4), 1);
		assert_int_equal(l[0].reg, 2);
		assert_int_equal(l[0].offset, 0);
		assert_int_equal(l[0].bytes, 4);
	}
	assert_int_equal(debugger_read_loop(loop, 0x7fd4db7a00a0, l, 4), 0); /* behind it */
	assert_int_equal(debugger_read_loop(loop, 0x7fd4db7a00b0, l, 4), 0); /* the end's padding */
	assert_int_equal(debugger_read_loop(loop, 0x10, l, 4), 0);
	assert_int_equal(debugger_read_loop(loop, 0x7fd4db7a0070, l, 0), 0);
}

/* An instruction between the load and the branch, and how many loads are taken then. */
static unsigned loads_beside(const char *insn, struct debugger_load *ret)
{
	char text[512];

	snprintf(text, sizeof(text),
		"   0x7f00 <f+0>:\tLDG.E.64.STRONG.GPU R8,desc[UR4][R12.64+0x10]\n"
		"   0x7f10 <f+16>:\t%s\n"
		"   0x7f20 <f+32>:\t@P1 BRA 0x7f00\n",
		insn);
	return debugger_read_loop(text, 0x7f10, ret, 4);
}

/* The register holds the address only if the loop does not change it. */
static void an_address_that_changes(void **state)
{
	struct debugger_load l[4];

	(void)state;
	assert_int_equal(loads_beside("NOP", l), 1);
	assert_int_equal(l[0].reg, 12);
	assert_int_equal(l[0].offset, 16);
	assert_int_equal(l[0].bytes, 8);
	assert_int_equal(loads_beside("IADD3 R12,P0,R12,0x4,RZ", l), 0);
	assert_int_equal(loads_beside("IADD3 R13,R12,0x4,RZ", l), 0);
	assert_int_equal(loads_beside("LDG.E.64 R12,desc[UR4][R2.64]", l), 1);
	assert_int_equal(l[0].reg, 2); /* that one's own address does not change */
	assert_int_equal(loads_beside("IMAD.WIDE R11,R0,0x4,R2", l), 0);
	assert_int_equal(loads_beside("LOP3.LUT P0,R12,R1,R2,RZ,0xc0,!PT", l), 0);
	assert_int_equal(loads_beside("CALL.REL.NOINC 0x8000", l), 0);
	assert_int_equal(loads_beside("STG.E desc[UR4][R12.64],R3", l), 1);
	assert_int_equal(loads_beside("IADD3 R11,R12,0x4,RZ", l), 1);
	assert_int_equal(loads_beside("UIADD3 UR12,UR12,0x1,URZ", l), 1);
}

static void addresses_that_are_not_read(void **state)
{
	static const char *const loads[] = {"LDG R0,[R2]", "LDG.E R0,desc[UR4][R2.64+UR6]",
		"LDS R0,[R2]", "LDG.E R0,[UR4]", "LDG.E R0,[RZ.64]"};
	struct debugger_load l[4];

	(void)state;
	for (unsigned i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			"   0x7f00 <f+0>:\t%s\n   0x7f10 <f+16>:\tBRA 0x7f00\n", loads[i]);
		assert_int_equal(debugger_read_loop(text, 0x7f00, l, 4), 0);
	}
}

static void the_smallest_loop(void **state)
{
	static const char text[] = "   0x7f00 <f+0>:\tLDG.E R0,desc[UR4][R2.64]\n"
				   "   0x7f10 <f+16>:\tLDG.E.U8 R1,desc[UR4][R4.64+-0x8]\n"
				   "   0x7f20 <f+32>:\t@P0 BRA 0x7f10\n"
				   "   0x7f30 <f+48>:\tBRA P1,0x7f00\n";
	struct debugger_load l[4];

	(void)state;
	assert_int_equal(debugger_read_loop(text, 0x7f10, l, 4), 1);
	assert_int_equal(l[0].reg, 4);
	assert_int_equal(l[0].offset, -8);
	assert_int_equal(l[0].bytes, 1);
	assert_int_equal(debugger_read_loop(text, 0x7f30, l, 4), 2);
}

static void registers_and_values(void **state)
{
	uint32_t r;
	uint64_t v;

	(void)state;
	assert_true(debugger_read_register(registers, 2, &r));
	assert_int_equal(r, 0xd3e00000);
	assert_true(debugger_read_register(registers, 3, &r));
	assert_int_equal(r, 0x7fd4);
	assert_false(debugger_read_register(registers, 4, &r));
	assert_false(debugger_read_register("Invalid register `R4'\n", 4, &r));
	assert_true(debugger_read_value("$1 = 0x7fd4d3e00000\n", &v));
	assert_int_equal(v, 0x7fd4d3e00000);
	assert_false(
		debugger_read_value("Error: read_global_memory(): failed to read 8 bytes\n", &v));
	assert_false(debugger_read_value("$1 = {x = 3}\n", &v));
}

/* Any text does: cut, with bytes changed. */
static void text_that_is_damaged(void **state)
{
	static const char *const texts[] = {
		one_kernel, two_kernels, with_arguments, threads, loop, registers};

	(void)state;
	srand(7);
	for (unsigned n = 0; n < 20000; n++) {
		char *text = strdup(texts[n % 6]);
		struct debugger_kernel k = {0};
		struct debugger_load l[2];
		struct debugger_seen s;
		uint32_t r;
		uint64_t v;

		text[(size_t)rand() % (strlen(text) + 1)] = 0;
		for (unsigned i = 0; i < 4 && *text; i++)
			text[(size_t)rand() % strlen(text)] = (char)(1 + rand() % 255);
		debugger_read_kernels(text, &s);
		debugger_read_threads(text, &k);
		assert_true(debugger_read_loop(text, 0x7fd4db7a0070, l, 2) <= 2);
		(void)debugger_read_register(text, 2, &r);
		(void)debugger_read_value(text, &v);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_by_their_rows),
		cmocka_unit_test(names_with_parentheses),
		cmocka_unit_test(more_kernels_than_fit),
		cmocka_unit_test(places_by_their_lines),
		cmocka_unit_test(blocks_are_told_apart),
		cmocka_unit_test(places_without_lines),
		cmocka_unit_test(the_load_of_a_loop),
		cmocka_unit_test(an_address_that_changes),
		cmocka_unit_test(addresses_that_are_not_read),
		cmocka_unit_test(the_smallest_loop),
		cmocka_unit_test(registers_and_values),
		cmocka_unit_test(text_that_is_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
