/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel can write to, from its PTX. The kernels are written by hand, so what they do is
 * known; shapes are those that compilers make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/ptx-stores.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n// a comment; with { things\n"
#define REGS ".reg .b64 %rd<20>;\n.reg .b32 %r<20>;\n.reg .pred %p<4>;\n"

/* Stores, in order, as "p0+8 sym | p1+0". */
static void expect(const char *text, const char *want)
{
	struct ptx_stores s;
	char got[512] = "";
	size_t n = 0;

	ptx_stores_find(&s, text, strlen(text), "k");
	for (size_t i = 0; i < s.nstores && !s.anywhere; i++) {
		n += (size_t)snprintf(got + n, sizeof got - n, "%s", i ? " |" : "");
		for (unsigned b = 0; b < s.nbases; b++) {
			if (!ptx_bases_has(&s.stores[i], b))
				continue;
			if (s.bases[b].symbol)
				n += (size_t)snprintf(
					got + n, sizeof got - n, " %s", s.bases[b].symbol);
			else
				n += (size_t)snprintf(got + n, sizeof got - n,
					s.bases[b].size == UINT32_MAX ? " p%u" : " p%u+%u",
					s.bases[b].param, s.bases[b].offset);
		}
	}
	if (s.anywhere ? strcmp(want, "anywhere") : strcmp(got, want))
		fail_msg("%s: \"%s\" (%s), not \"%s\"", text, got, s.anywhere ? s.anywhere : "-",
			want);
	ptx_stores_free(&s);
}

#define ENTRY(params, body)                                                                        \
	HEAD ".visible .entry k(" params ")\n.maxntid 128, 1, 1\n{\n" REGS body "ret;\n}\n"
#define TWO ".param .u64 k_param_0, .param .u64 .ptr .align 1 k_param_1"

static void through_a_parameter(void **state)
{
	(void)state;
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\ncvta.to.global.u64 %rd3, %rd2;\n"
		       "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd3, %rd4;\ncvta.to.global.u64 %rd6, %rd1;\n"
		       "ld.global.u32 %r2, [%rd6];\n@%p1 st.global.u32 [%rd5+16], %r2;\n"),
		" p1+0");
	/* two stores, two memories; an atomic is one */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\nst.global.u32 [%rd1], 1;\natom.global.add.u32 %r1, [%rd2], 1;\n"),
		" p0+0 | p1+0");
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd2, [k_param_1];\nred.global.add.f32 [%rd2], 0f3F800000;\n"),
		" p1+0");
	/* nothing is stored */
	expect(ENTRY(TWO, "ld.param.u64 %rd1, [k_param_0];\nld.global.u32 %r2, [%rd1];\n"), "");
}

static void text_may_have_debug_lines_and_scopes(void **state)
{
	(void)state;
	expect(ENTRY(TWO,
		       ".loc 1 5 3\nld.param.u64 %rd1, [k_param_0];\n.loc\t1 6 3, function_name $L__info_string0, inlined_at 1 3 2\n"
		       "// begin inline asm\n{ .reg .u64 t1;\n mov.u64 t1, %rd1;\n st.global.u32 [t1], 1; }\n// end inline asm\n"),
		" p0+0");
	expect(HEAD
		".entry kk(.param .u64 kk_param_0)\n{\nret;\n}\n.entry k(.param .u64 k_param_0)\n{\n" REGS
		"ld.param.u64 %rd1, [k_param_0];\nbra $L1;\n$L1: st.global.u32 [%rd1], 1;\nret;\n}\n",
		" p0+0");
	expect(HEAD ".entry other(.param .u64 k_param_0)\n{\nret;\n}\n", "anywhere");
	expect(ENTRY(TWO, ".strange 5;\n"), "anywhere");
}

static void around_a_loop(void **state)
{
	(void)state;
	/* %rd3 is stored through before the text defines it */
	expect(ENTRY(TWO,
		       "bra $L2;\n$L1:\nst.global.u32 [%rd3], 1;\nadd.s64 %rd3, %rd3, 4;\n@%p1 bra $L1;\nret;\n$L2:\nld.param.u64 %rd1, [k_param_0];\n"
		       "mov.u64 %rd3, %rd1;\nbra $L1;\n"),
		" p0+0");
}

static void structures(void **state)
{
	(void)state;
	expect(ENTRY(".param .align 8 .b8 k_param_0[64]",
		       "ld.param.v2.u64 {%rd1, %rd2}, [k_param_0+16];\nld.param.u32 %r1, [k_param_0+4];\n"
		       "mul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r1;\n"),
		" p0+16 p0+0");
	/* by the address of the parameter */
	expect(ENTRY(".param .align 8 .b8 k_param_0[64]",
		       "mov.b64 %rd1, k_param_0;\nadd.s64 %rd2, %rd1, %rd3;\nld.param.u64 %rd4, [%rd2+8];\nst.global.u32 [%rd4], 1;\n"),
		" p0");
	/* through a local copy */
	expect(ENTRY(".param .align 8 .b8 k_param_0[64]",
		       ".local .align 8 .b8 __local_depot0[64];\nmov.u64 %rd1, __local_depot0;\ncvta.local.u64 %rd2, %rd1;\n"
		       "ld.param.u64 %rd3, [k_param_0+24];\nst.u64 [%rd2+8], %rd3;\nld.u64 %rd5, [%rd2];\nst.global.u32 [%rd5], 1;\n"),
		"anywhere");
	expect(ENTRY(".param .align 8 .b8 k_param_0[64]",
		       ".local .align 8 .b8 __local_depot0[64];\nmov.u64 %rd1, __local_depot0;\n"
		       "ld.param.u64 %rd3, [k_param_0+24];\nst.local.u64 [%rd1+8], %rd3;\nld.local.u64 %rd5, [%rd1];\nst.global.u32 [%rd5], 1;\n"),
		" p0+24");
}

static void loaded_pointers(void **state)
{
	(void)state;
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.global.u64 %rd2, [%rd1];\nst.global.u32 [%rd2], 1;\n"),
		"anywhere");
	/* one of the two */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.global.u64 %rd2, [%rd1];\nselp.b64 %rd3, %rd1, %rd2, %p1;\nst.global.u32 [%rd3], 1;\n"),
		"anywhere");
	/* in two halves */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.global.v2.u32 {%r1, %r2}, [%rd1];\nmov.b64 %rd2, {%r1, %r2};\nst.global.u32 [%rd2], 1;\n"),
		"anywhere");
	/* by way of shared memory */
	expect(ENTRY(TWO,
		       ".shared .align 8 .b8 sh[64];\nld.param.u64 %rd1, [k_param_0];\nld.global.u64 %rd2, [%rd1];\nst.shared.u64 [sh], %rd2;\n"
		       "ld.shared.u64 %rd4, [sh];\nst.global.u32 [%rd4], 1;\n"),
		"anywhere");
	/* indices are no pointers */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\nld.global.u32 %r1, [%rd1];\nmul.wide.u32 %rd3, %r1, 4;\n"
		       "add.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], 1;\n"),
		" p1+0");
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\nld.global.u64 %rd3, [%rd1];\nshl.b64 %rd5, %rd3, 2;\n"
		       "add.s64 %rd4, %rd2, %rd5;\nst.global.u32 [%rd4], 1;\n"),
		" p1+0");
	/* but unscaled they may be */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\nld.global.u64 %rd3, [%rd1];\nadd.s64 %rd4, %rd2, %rd3;\n"
		       "st.global.u8 [%rd4], 1;\n"),
		"anywhere");
	expect(ENTRY(TWO, "st.global.u32 [%rd4], 1;\n"), "anywhere");
}

static void variables(void **state)
{
	(void)state;
	expect(HEAD
		".visible .global .align 4 .u32 counter;\n.extern .shared .align 16 .b8 sh[];\n.global .align 8 .b8 table[16] = {1, 2};\n.entry k(.param .u64 k_param_0)\n{\n" REGS
		"st.shared.u32 [sh], 1;\nmov.u64 %rd1, counter;\ncvta.global.u64 %rd2, %rd1;\natom.global.inc.u32 %r1, [%rd2], 4;\n"
		"st.global.u32 [table+8], %r1;\nret;\n}\n",
		" counter | table");
	/* on the chip, by a generic address */
	expect(ENTRY(TWO,
		       ".shared .align 8 .b8 sh[64];\nmov.u64 %rd1, sh;\ncvta.shared.u64 %rd2, %rd1;\nst.u32 [%rd2], 1;\n"),
		"");
}

static void calls_and_what_is_not_known(void **state)
{
	(void)state;
	expect(ENTRY(TWO,
		       "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\ncall.uni work, (param0);\n}\n"),
		"anywhere");
	expect(ENTRY(TWO,
		       "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\n.param .b32 retval0;\ncall.uni (retval0), vprintf, (param0, param0);\n"
		       "ld.param.b32 %r1, [retval0+0];\n}\n"),
		"");
	expect(ENTRY(TWO, "sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};\n"), "anywhere");
	expect(ENTRY(TWO,
		       "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2];\n"),
		"anywhere");
	expect(ENTRY(TWO,
		       "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd1, {%r1}], [%r2];\n"),
		"anywhere");
	/* in, by a tensor map, and what the matrix unit makes of it: registers */
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\ncp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd5, {%r2}], [%r3];\n"
		       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r4, %r5}, %rd6, %rd7, 1, 1, 1, 0, 0;\nst.global.u32 [%rd1], %r4;\n"),
		" p0+0");
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 16;\n"),
		" p0+0");
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n"),
		" p0+0");
	expect(ENTRY(TWO,
		       "ld.param.u64 %rd1, [k_param_0];\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%r1, %r2}, %r3;\n"),
		" p0+0");
}

/* Whatever the text, an answer. */
static void broken_text(void **state)
{
	static const char whole[] = ENTRY(TWO,
		"ld.param.u64 %rd1, [k_param_0];\n{ .reg .b32 x; }\nst.global.v2.u32 [%rd1+8], {%r1, %r2};\n");

	(void)state;
	for (size_t n = 0; n < sizeof whole; n++) {
		struct ptx_stores s;

		ptx_stores_find(&s, whole, n, "k");
		ptx_stores_free(&s);
	}
}

#define LOADS "ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\n"

/* A pointer that is put together of two halves from memory: by a vector, a shift, a product, by
 * insertion. An index from memory is none. */
static void through_halves(void **state)
{
	(void)state;
	expect(ENTRY(TWO, LOADS "ld.global.v2.u32 {%r1, %r2}, [%rd1];\n"
				"mov.b64 %rd3, {%r1, %r2};\nst.u32 [%rd3], %r3;\n"),
		"anywhere");
	expect(ENTRY(TWO, LOADS
		       "ld.global.u32 %r1, [%rd1];\ncvt.u64.u32 %rd3, %r1;\n"
		       "shl.b64 %rd4, %rd3, 32;\nadd.s64 %rd5, %rd4, %rd2;\nst.u32 [%rd5], %r3;\n"),
		"anywhere");
	expect(ENTRY(TWO, LOADS "ld.global.u32 %r1, [%rd1];\ncvt.u64.u32 %rd3, %r1;\n"
				"mul.lo.s64 %rd4, %rd3, 4294967296;\n"
				"add.s64 %rd5, %rd4, %rd2;\nst.u32 [%rd5], %r3;\n"),
		"anywhere");
	expect(ENTRY(TWO, LOADS "ld.global.u32 %r1, [%rd1];\ncvt.u64.u32 %rd3, %r1;\n"
				"bfi.b64 %rd4, %rd3, %rd2, 32, 32;\nst.u32 [%rd4], %r3;\n"),
		"anywhere");
	expect(ENTRY(TWO, LOADS "ld.global.u32 %r2, [%rd1];\nmul.wide.u32 %rd3, %r2, 4;\n"
				"add.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r3;\n"),
		" p1+0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(through_halves),
		cmocka_unit_test(through_a_parameter),
		cmocka_unit_test(text_may_have_debug_lines_and_scopes),
		cmocka_unit_test(around_a_loop),
		cmocka_unit_test(structures),
		cmocka_unit_test(loaded_pointers),
		cmocka_unit_test(variables),
		cmocka_unit_test(calls_and_what_is_not_known),
		cmocka_unit_test(broken_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
