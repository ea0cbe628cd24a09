/* SPDX-License-Identifier: Apache-2.0
 *
 * Which results are faults, by the names and the descriptions of cuda.h. Newer names are numbers.
 */
#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "gpucode/cuda-faults.h"

#define CONTAINED 226	       /* CUDA 12.8 */
#define TENSOR_MEMORY_LEAK 721 /* CUDA 13.0 */

static void faults(void **state)
{
	static const uint32_t codes[] = {CUDA_ERROR_ECC_UNCORRECTABLE,
		CUDA_ERROR_NVLINK_UNCORRECTABLE, CONTAINED, CUDA_ERROR_ILLEGAL_ADDRESS,
		CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR,
		CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
		CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
		TENSOR_MEMORY_LEAK, CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_EXTERNAL_DEVICE};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
		assert_true(cuda_code_is_fault(codes[i]));
	for (uint32_t code = 0; code < 2000; code++)
		n += cuda_code_is_fault(code);
	assert_int_equal(n, sizeof codes / sizeof *codes);
}

/* The context, or another one, goes on. */
static void others(void **state)
{
	assert_false(cuda_code_is_fault(CUDA_SUCCESS));
	assert_false(cuda_code_is_fault(CUDA_ERROR_INVALID_CONTEXT));
	assert_false(cuda_code_is_fault(CUDA_ERROR_CONTEXT_IS_DESTROYED));
	assert_false(cuda_code_is_fault(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
	assert_false(cuda_code_is_fault(CUDA_ERROR_NOT_READY));
	assert_false(cuda_code_is_fault(CUDA_ERROR_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
