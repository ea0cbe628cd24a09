/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are a GPU's libraries, and which of them: names that begin alike are not one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "gpucode/gpu-files.h"

static void libraries(void **state)
{
	static const struct {
		const char *file;
		unsigned is;
	} rows[] = {
		{"libcuda.so", GPU_DRIVER},
		{"libcuda.so.1", GPU_DRIVER},
		{"libcuda.so.580.159.04", GPU_DRIVER},
		{"libcuda-loader.so", GPU_DRIVER_PART},
		{"libhsa-runtime64.so.1", GPU_DRIVER_PART},
		{"libcudart.so.13", GPU_RUNTIME},
		{"libamdhip64.so.7", GPU_HIP},
		{"libcupti.so.12", GPU_CALLBACKS},
		{"libcudadebugger.so.1", 0},
		{"libcudart_static.a", 0},
		{"libcudnn.so.9", 0},
		{"mylibcuda.so.1", 0},
		{"libcud", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (unsigned of = 1; of <= GPU_CALLBACKS; of *= 2)
			if (gpu_library_is(rows[i].file, of) != (rows[i].is == of))
				fail_msg("%s, %u", rows[i].file, of);
	assert_true(gpu_library_is("libcuda.so.1", GPU_HIP | GPU_DRIVER));
	assert_false(gpu_library_is("libcuda.so.1", GPU_HIP | GPU_RUNTIME));
}

static void functions(void **state)
{
	(void)state;
	assert_true(gpu_runtime_function("cudaMalloc"));
	assert_true(gpu_runtime_function("cudaMalloc@libcudart.so.12"));
	assert_true(gpu_runtime_function("__cudaRegisterFatBinary@@libcudart.so.12"));
	assert_false(gpu_runtime_function("cudaMallocHost"));
	assert_false(gpu_runtime_function("cudaMallo"));
	assert_false(gpu_runtime_function("_cudaMalloc"));
	assert_false(gpu_runtime_function(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries),
		cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
