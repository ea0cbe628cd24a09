/* SPDX-License-Identifier: Apache-2.0
 *
 * What code is, by its first bytes.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "gpucode/code-kind.h"

#define KIND(text) code_kind_of(text, sizeof(text) - 1)

static void kinds(void **state)
{
	Elf64_Ehdr h = {.e_ident = ELFMAG, .e_machine = EM_CUDA};

	assert_int_equal(code_kind_of(&h, sizeof h), CODE_CUBIN);
	h.e_machine = EM_AMDGPU;
	assert_int_equal(code_kind_of(&h, sizeof h), CODE_AMD_OBJECT);
	assert_int_equal(code_kind_of(&h, 20), CODE_AMD_OBJECT);
	assert_int_equal(code_kind_of(&h, 19), CODE_CUBIN);
	assert_int_equal(KIND("\x50\xed\x55\xba\1\0"), CODE_FATBIN);
	assert_int_equal(KIND("\x03\x02\x23\x07\0\0"), CODE_SPIRV);
	assert_int_equal(KIND("\x07\x23\x02\x03\0\0"), CODE_SPIRV);
	assert_int_equal(KIND("\n\t// made by nvcc\n.version 9.0"), CODE_PTX);
	assert_int_equal(KIND(".v\0\1"), CODE_PTX);
	assert_int_equal(KIND(".version\1"), CODE_UNKNOWN);
	assert_int_equal(
		KIND("\177EL"), CODE_PTX); /* no control character: text as far as it goes */
	assert_int_equal(KIND("\0.version"), CODE_UNKNOWN);
	assert_int_equal(KIND(""), CODE_UNKNOWN);
}

/* A trace says only whether code is PTX: it is believed, and bytes decide about the rest. */
static void said(void **state)
{
	assert_int_equal(code_kind_said(true, "\177ELF", 4), CODE_PTX);
	assert_int_equal(code_kind_said(false, "\177ELF", 4), CODE_CUBIN);
	assert_int_equal(code_kind_said(false, ".version 9.0", 12), CODE_UNKNOWN);
	assert_int_equal(code_kind_said(false, "\x50\xed\x55\xba", 4), CODE_FATBIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
