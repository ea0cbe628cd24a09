/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake driver and debugger; see capture-fake.h.
 */
#include "capture-fake.h"

#include <stdlib.h>
#include <string.h>

unsigned fake_questions, fake_syncs, fake_device_copies;
size_t fake_free_memory = (size_t)1 << 30;
bool fake_busy;

static bool is_func(CUfunction f)
{
	return f == FAKE_FUNC || f == FAKE_FUNC_2;
}

static CUresult kernel_name(const char **name, CUkernel k)
{
	fake_questions++;
	if ((CUfunction)k != FAKE_KERNEL)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = "_Z6reducePf";
	return CUDA_SUCCESS;
}

static CUresult func_name(const char **name, CUfunction f)
{
	fake_questions++;
	if (!is_func(f))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = f == FAKE_FUNC ? "_Z6matmulPfS_i" : "_Z4fillPfi";
	return CUDA_SUCCESS;
}

static CUresult param(size_t i, size_t *offset, size_t *size)
{
	static const struct {
		size_t offset, size;
	} p[] = {{0, 8}, {8, 4}, {16, 8}};
	if (i >= 3)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = p[i].offset;
	*size = p[i].size;
	return CUDA_SUCCESS;
}

static CUresult func_param(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	fake_questions++;
	return is_func(f) ? param(i, offset, size) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_param(CUkernel k, size_t i, size_t *offset, size_t *size)
{
	fake_questions++;
	return (CUfunction)k == FAKE_KERNEL ? param(i, offset, size) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult func_module(CUmodule *m, CUfunction f)
{
	*m = (CUmodule)0x3000;
	return is_func(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_library(CUlibrary *l, CUkernel k)
{
	*l = (CUlibrary)0x3100;
	return CUDA_SUCCESS;
}

static CUresult kernel_function(CUfunction *f, CUkernel k)
{
	*f = FAKE_FUNC;
	return CUDA_SUCCESS;
}

static CUresult func_attribute(int *v, CUfunction_attribute a, CUfunction f)
{
	*v = a == CU_FUNC_ATTRIBUTE_NUM_REGS		    ? 32
	     : a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
							    : 0;
	return CUDA_SUCCESS;
}

static CUresult ctx_device(CUdevice *d)
{
	*d = 0;
	return CUDA_SUCCESS;
}

static CUresult ctx_current(CUcontext *c)
{
	*c = FAKE_CTX;
	return CUDA_SUCCESS;
}

static CUresult device_count(int *n)
{
	*n = 1;
	return CUDA_SUCCESS;
}

static CUresult device_name(char *name, int n, CUdevice d)
{
	strncpy(name, "Fake GPU", (size_t)n);
	return CUDA_SUCCESS;
}

static CUresult device_attribute(int *v, CUdevice_attribute a, CUdevice d)
{
	*v = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
	return CUDA_SUCCESS;
}

static CUresult device_memory(size_t *n, CUdevice d)
{
	*n = 1u << 30;
	return CUDA_SUCCESS;
}

static CUresult driver_version(int *v)
{
	*v = 13000;
	return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *s, unsigned flags)
{
	*s = (CUstream)0x9999;
	return CUDA_SUCCESS;
}

static CUresult stream_sync(CUstream s)
{
	return CUDA_SUCCESS;
}

static CUresult stream_flags(CUstream s, unsigned *flags)
{
	*flags = CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

/* Device memory of the fake is memory. */
static CUresult copy_out(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
	memcpy(dst, (const void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

static CUresult copy_in(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
	memcpy((void *)(uintptr_t)dst, src, n);
	return CUDA_SUCCESS;
}

/* 0x7000'0000'0000 and up: device; 0x6000'... pinned; below: not known to the driver. */
static CUresult pointer_attribute(void *v, CUpointer_attribute a, CUdeviceptr p)
{
	if (p >> 44 < 6)
		return CUDA_ERROR_INVALID_VALUE;
	*(CUmemorytype *)v = p >> 44 == 7 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	return CUDA_SUCCESS;
}

static CUresult ctx_push(CUcontext c)
{
	return CUDA_SUCCESS;
}

static CUresult ctx_pop(CUcontext *c)
{
	return CUDA_SUCCESS;
}

static CUresult ctx_sync(void)
{
	fake_syncs++;
	return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream s)
{
	return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *unused, size_t *total)
{
	*unused = fake_free_memory;
	*total = (size_t)1 << 30;
	return CUDA_SUCCESS;
}

static CUresult memory_alloc(CUdeviceptr *p, size_t n)
{
	*p = (CUdeviceptr)(uintptr_t)malloc(n);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult memory_free(CUdeviceptr p)
{
	free((void *)(uintptr_t)p);
	return CUDA_SUCCESS;
}

static CUresult copy_device(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
	fake_device_copies++;
	memcpy((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *e, unsigned flags)
{
	*e = (CUevent)0x8888;
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent e, CUstream s)
{
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent e)
{
	return fake_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static void fake_driver(void)
{
	cuda.cuCtxPushCurrent_v2 = ctx_push;
	cuda.cuCtxPopCurrent_v2 = ctx_pop;
	cuda.cuCtxSynchronize = ctx_sync;
	cuda.cuStreamQuery = stream_query;
	cuda.cuMemGetInfo_v2 = memory_info;
	cuda.cuMemAlloc_v2 = memory_alloc;
	cuda.cuMemFree_v2 = memory_free;
	cuda.cuMemcpyDtoDAsync_v2 = copy_device;
	cuda.cuEventCreate = event_create;
	cuda.cuEventRecord = event_record;
	cuda.cuEventQuery = event_query;
	cuda.cuKernelGetName = kernel_name;
	cuda.cuFuncGetName = func_name;
	cuda.cuFuncGetParamInfo = func_param;
	cuda.cuKernelGetParamInfo = kernel_param;
	cuda.cuFuncGetModule = func_module;
	cuda.cuKernelGetLibrary = kernel_library;
	cuda.cuKernelGetFunction = kernel_function;
	cuda.cuFuncGetAttribute = func_attribute;
	cuda.cuCtxGetDevice = ctx_device;
	cuda.cuCtxGetCurrent = ctx_current;
	cuda.cuDeviceGetCount = device_count;
	cuda.cuDeviceGetName = device_name;
	cuda.cuDeviceGetAttribute = device_attribute;
	cuda.cuDeviceTotalMem_v2 = device_memory;
	cuda.cuDriverGetVersion = driver_version;
	cuda.cuStreamCreate = stream_create;
	cuda.cuStreamSynchronize = stream_sync;
	cuda.cuStreamGetFlags = stream_flags;
	cuda.cuMemcpyDtoHAsync_v2 = copy_out;
	cuda.cuMemcpyHtoDAsync_v2 = copy_in;
	cuda.cuPointerGetAttribute = pointer_attribute;
}

struct tsdb_control *fake_start(void)
{
	fake_driver();
	return fake_control();
}

__attribute__((noinline)) uint64_t fake_enter(CUpti_CallbackId cbid, const void *params)
{
	static uint32_t corr;
	static uint64_t links[4096];
	uint64_t *link = &links[++corr % 4096];
	tls.inside = 1;
	calls_enter(&(struct call_site){.row = &cuda_calls[cbid],
		.name = "cuSomethingNew",
		.params = params,
		.ctx = (uint64_t)(uintptr_t)FAKE_CTX,
		.frame = __builtin_frame_address(0),
		.corr = corr,
		.link = link});
	tls.inside = 0;
	return (uint64_t)(uintptr_t)link;
}

void fake_exit(uint64_t link, CUresult result)
{
	tls.inside = 1;
	calls_exit((uint64_t *)(uintptr_t)link, result, __builtin_frame_address(0));
	tls.inside = 0;
}

__attribute__((noinline)) void fake_call(CUpti_CallbackId cbid, const void *params, CUresult result)
{
	fake_exit(fake_enter(cbid, params), result);
}
