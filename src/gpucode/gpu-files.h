/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that GPUs' vendors gave to libraries and to variables of the environment, by what they are.
 * Other rooms ask by these words, so that a vendor's name is written here alone.
 */
#ifndef GPUCODE_GPU_FILES_H
#define GPUCODE_GPU_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum gpu_library {
	GPU_DRIVER = 1,	     /* CUDA's: what programs call */
	GPU_DRIVER_PART = 2, /* what a driver is made of besides */
	GPU_RUNTIME = 4,     /* CUDA's */
	GPU_HIP = 8,	     /* AMD's runtime, which is the driver's interface, too */
	GPU_CALLBACKS = 16,  /* gives the agent its calls */
};

/* Whether the file's name, without folders, is of a library of one of these. */
static inline bool gpu_library_is(const char *file, unsigned any_of)
{
	static const struct {
		const char *begins;
		enum gpu_library is;
	} names[] = {
		{"libcuda.so", GPU_DRIVER},
		{"libcuda-", GPU_DRIVER_PART},
		{"libhsa-runtime64.so", GPU_DRIVER_PART},
		{"libcudart.so", GPU_RUNTIME},
		{"libamdhip64.so", GPU_HIP},
		{"libcupti", GPU_CALLBACKS},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].is & any_of &&
			!strncmp(file, names[i].begins, strlen(names[i].begins)))
			return true;
	return false;
}

/* Whether a symbol's name, with or without a version behind @, is a function of CUDA's runtime that
 * every program with kernels has one of. */
static inline bool gpu_runtime_function(const char *symbol)
{
	static const char *const names[] = {
		"__cudaRegisterFatBinary", "cudaMalloc", "cudaGetDeviceCount", "cudaLaunchKernel"};
	const size_t n = strcspn(symbol, "@");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && !memcmp(symbol, names[i], n))
			return true;
	return false;
}

/* The software GPUs' libraries, in the folder where tsdb's own are. */
#define GPU_SOFT_LIBRARY "softgpu/libcuda.so.1"
#define GPU_SOFT_LIBRARY_SANITISED "softgpu/sanitised/libcuda.so.1"
#define GPU_SOFT_AMD_LIBRARY "softamd/libhsakmt.so.1"

/* Variables that drivers read. */
#define GPU_ENV_ANY "CUDA_*"			   /* all that the vendor names so */
#define GPU_ENV_DEVICES "CUDA_VISIBLE_DEVICES"	   /* which devices a program sees */
#define GPU_ENV_LOADS "CUDA_INJECTION64_PATH"	   /* a library that the driver loads */
#define GPU_ENV_LOADS_32 "CUDA_INJECTION32_PATH"   /* into programs of 32 bits */
#define GPU_ENV_MARKS_LOAD "NVTX_INJECTION64_PATH" /* a library that takes marks */
#define GPU_ENV_HSA_LOADS "HSA_TOOLS_LIB"	   /* libraries that AMD's runtime loads */
#define GPU_ENV_CACHE_PATH "CUDA_CACHE_PATH"	   /* where compiled code is kept */
#define GPU_ENV_CACHE_OFF "CUDA_CACHE_DISABLE"	   /* 1: nowhere */
#define GPU_ENV_CORE_ASKED                                                                         \
	"CUDA_ENABLE_USER_TRIGGERED_COREDUMP"  /* 1: a write to its pipe makes one */
#define GPU_ENV_CORE_PIPE "CUDA_COREDUMP_PIPE" /* that pipe */
#define GPU_ENV_CORE_FILE "CUDA_COREDUMP_FILE" /* where a core dump goes */

#endif
