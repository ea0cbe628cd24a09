/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's driver as core/driver.h asks it: code. The surprising thing: the runtime hands the driver
 * a CUkernel in the CUfunction parameter, and each of the two has its own set of questions; the
 * wrong set answers CUDA_ERROR_INVALID_HANDLE. So ask one, then the other.
 */
#include "capture/cuda/driver-cuda.h"

#include "capture/core/calls.h"
#include "capture/objects/nvinfo.h"

#define F(handle) ((CUfunction)(uintptr_t)(handle))
#define K(handle) ((CUkernel)(uintptr_t)(handle))

/* hint: CUPTI's name of the launch's kernel, for drivers before CUDA 12.3; may be NULL. */
static const char *name_of(uint64_t handle, const char *hint, bool *ret_is_kernel)
{
	const char *name = NULL;
	if (driver_good(CUDA_ASK(cuKernelGetName, &name, K(handle))) && name) {
		*ret_is_kernel = true;
		return name;
	}
	if (driver_good(CUDA_ASK(cuFuncGetName, &name, F(handle))) && name)
		return name;
	return hint ? hint : "?";
}

void cuda_kernel_facts(uint64_t handle, const char *hint, struct driver_kernel *ret)
{
	CUfunction function = NULL;
	CUmodule module = NULL;
	CUlibrary library = NULL;
	*ret = (struct driver_kernel){0};
	ret->name = name_of(handle, hint, &ret->is_kernel);
	if (ret->is_kernel) {
		/* This also makes the driver load the code, so that its hash is known from here
		 * on. */
		(void)CUDA_ASK(cuKernelGetFunction, &function, K(handle));
		ret->function = H(function);
		if (driver_good(CUDA_ASK(cuKernelGetLibrary, &library, K(handle))))
			ret->module = H(library);
	} else {
		ret->function = handle;
		if (driver_good(CUDA_ASK(cuFuncGetModule, &module, F(handle))))
			ret->module = H(module);
	}
}

static uint64_t attribute(uint64_t function, CUfunction_attribute a)
{
	int v = 0;
	if (!function || !driver_good(CUDA_ASK(cuFuncGetAttribute, &v, a, F(function))))
		return 0;
	return (uint64_t)v;
}

void cuda_kernel_numbers(const struct driver_kernel *k, struct driver_numbers *ret)
{
	ret->regs = attribute(k->function, CU_FUNC_ATTRIBUTE_NUM_REGS);
	ret->static_shared = attribute(k->function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	ret->local_mem = attribute(k->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	ret->max_threads = attribute(k->function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

static int ask_params(uint64_t handle, bool is_kernel, struct kernel_param *to, unsigned max)
{
	for (unsigned i = 0; i < max; i++) {
		size_t offset = 0, size = 0;
		const struct driver_result r =
			is_kernel ? CUDA_ASK(cuKernelGetParamInfo, K(handle), i, &offset, &size)
				  : CUDA_ASK(cuFuncGetParamInfo, F(handle), i, &offset, &size);
		if (r.status == DRIVER_NOT_VALID) /* past the last one */
			return (int)i;
		if (!driver_good(r) || offset > CALL_ARGS_MAX || size > CALL_ARGS_MAX - offset)
			return -1;
		to[i] = (struct kernel_param){(uint32_t)offset, (uint32_t)size};
	}
	return (int)max;
}

/* The parameters as the driver gives them, else as the cubin does. */
int cuda_kernel_params(
	uint64_t handle, const struct driver_kernel *k, struct kernel_param *to, unsigned max)
{
	const int n = ask_params(handle, k->is_kernel, to, max);
	return n >= 0 ? n : nvinfo_params(k->name, to, max);
}

bool cuda_global_find(
	uint64_t module, bool is_library, const char *name, uint64_t *ret_addr, uint64_t *ret_size)
{
	CUdeviceptr addr = 0;
	size_t size = 0;
	const struct driver_result r = is_library ? CUDA_ASK(cuLibraryGetGlobal, &addr, &size,
							    (CUlibrary)(uintptr_t)module, name)
						  : CUDA_ASK(cuModuleGetGlobal_v2, &addr, &size,
							    (CUmodule)(uintptr_t)module, name);
	*ret_addr = addr;
	*ret_size = size;
	return driver_good(r) && addr && size;
}
