/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of what kernels load and store, by their PTX (ptx-types.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/ptx-stores.h"

#define HEAD                                                                                       \
	".version 8.0\n.target sm_75\n.address_size 64\n"                                          \
	".visible .entry k(\n .param .u64 k_param_0,\n .param .u64 k_param_1,\n .param .u32 "      \
	"k_param_2\n)\n{\n.reg .b32 %r<9>;\n"                                                      \
	"ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\n"                       \
	"ld.param.u32 %r9, [k_param_2];\ncvta.to.global.u64 %rd3, %rd1;\n"                         \
	"cvta.to.global.u64 %rd4, %rd2;\nmul.wide.s32 %rd5, %r9, 4;\n"                             \
	"add.s64 %rd6, %rd3, %rd5;\nadd.s64 %rd7, %rd4, %rd5;\n"
#define END "ret;\n}\n"

static struct ptx_types of(const char *text)
{
	struct ptx_types t = {{0}, {0}};

	/* nothing may be read behind the text */
	char *copy = malloc(strlen(text));

	assert_non_null(copy);
	memcpy(copy, text, strlen(text));
	assert_true(ptx_types_find(&t, copy, strlen(text), "k"));
	free(copy);
	return t;
}

static void typed_accesses(void **state)
{
	const struct ptx_types t =
		of(HEAD "ld.global.f32 %f1, [%rd7];\nst.global.f64 [%rd6], %fd1;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], PTX_F32);
	assert_int_equal(t.stores[0], PTX_F64);
	assert_int_equal(t.loads[0] | t.stores[1], 0);
}

/* As nvcc 13 has it: registers have no types. */
static void by_use(void **state)
{
	const struct ptx_types t = of(HEAD "ld.global.b32 %r1, [%rd7];\nmul.f32 %r2, %r1, %r1;\n"
					   "st.global.b32 [%rd6], %r2;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], PTX_F32);
	assert_int_equal(t.stores[0], PTX_F32);
}

static void halves(void **state)
{
	struct ptx_types t =
		of(HEAD "ld.global.u16 %rs1, [%rd7];\ncvt.f32.f16 %f1, %rs1;\n"
			"cvt.rn.bf16.f32 %rs2, %f1;\nst.global.u16 [%rd6], %rs2;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], PTX_F16);
	assert_int_equal(t.stores[0], PTX_BF16);
	t = of(HEAD "ld.global.b32 %r1, [%rd7];\nfma.rn.f16x2 %r2, %r1, %r1, %r1;\n"
		    "st.global.b32 [%rd6], %r2;\n" END);
	assert_int_equal(t.loads[1], PTX_F16);
	assert_int_equal(t.stores[0], PTX_F16);
}

/* bf16 without instructions for it is shifted into a float: no half of a float is loaded. */
static void shifted_is_not_known(void **state)
{
	const struct ptx_types t =
		of(HEAD "ld.global.u16 %rs1, [%rd7];\nmov.b32 %f1, {%rs9, %rs1};\n"
			"add.f32 %f2, %f1, %f1;\nst.global.f32 [%rd6], %f2;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], 0);
	assert_int_equal(t.stores[0], PTX_F32);
}

static void what_is_moved_has_none(void **state)
{
	const struct ptx_types t =
		of(HEAD "ld.global.b32 %r1, [%rd7];\nst.global.b32 [%rd6], %r1;\n" END);

	(void)state;
	assert_int_equal(t.loads[1] | t.stores[0], 0);
}

static void integers(void **state)
{
	const struct ptx_types t = of(HEAD "ld.global.u32 %r1, [%rd7];\nadd.s32 %r2, %r1, 1;\n"
					   "st.global.u32 [%rd6], %r2;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], PTX_INTEGER);
	assert_int_equal(t.stores[0], PTX_INTEGER);
}

static void vectors_and_atomics(void **state)
{
	const struct ptx_types t =
		of(HEAD "ld.global.v2.b32 {%r1, %r2}, [%rd7];\nsub.f32 %r3, %r2, %r2;\n"
			"@%p1 red.global.add.f64 [%rd6+8], %fd1;\n" END);

	(void)state;
	assert_int_equal(t.loads[1], PTX_F32);
	assert_int_equal(t.stores[0], PTX_F64);
	assert_int_equal(t.loads[0], PTX_F64);
}

static void through_shared_memory(void **state)
{
	const struct ptx_types t =
		of(HEAD "add.f32 %f1, %f2, %f2;\nst.shared.b32 [%r4], %f1;\n"
			"ld.shared.b32 %r5, [%r4];\nst.global.b32 [%rd6], %r5;\n" END);

	(void)state;
	assert_int_equal(t.stores[0], PTX_F32);
}

static void odd_texts(void **state)
{
	static const char *const texts[] = {".entry k(", ".entry k() {",
		".entry k(.param .b8 a[) { ld", HEAD "ld.global.f32", HEAD "@",
		HEAD "st.global.f32 [", HEAD "{{{;", HEAD "mov.b32 %r1, {"};
	struct ptx_types t;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *copy = malloc(strlen(texts[i]));

		assert_non_null(copy);
		memcpy(copy, texts[i], strlen(texts[i]));
		(void)ptx_types_find(&t, copy, strlen(texts[i]), "k");
		assert_false(ptx_types_find(&t, copy, strlen(texts[i]), "other"));
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_accesses),
		cmocka_unit_test(by_use),
		cmocka_unit_test(halves),
		cmocka_unit_test(shifted_is_not_known),
		cmocka_unit_test(what_is_moved_has_none),
		cmocka_unit_test(integers),
		cmocka_unit_test(vectors_and_atomics),
		cmocka_unit_test(through_shared_memory),
		cmocka_unit_test(odd_texts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
