/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the driver with one argument that is wrong and all others right, each with the error
 * that "CUDA Driver API" names for it; and the same call with that argument at its limit, which
 * succeeds.
 */
#include "softgpu-test.h"

#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .global .align 4 .b8 v[20];\n"
			  ".visible .entry k(.param .u32 n, .param .u64 p) { ret; }\n"
			  ".visible .entry none() { ret; }\n";

#define BAD(call) IS(call, INVALID_VALUE)

static CUmodule module;
static CUfunction function, none;
static CUlibrary library;
static CUkernel kernel;
static CUdeviceptr memory; /* 4096 bytes */

static int start(void **state)
{
	softgpu_start(state);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&function, module, "k"));
	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "k"));
	OK(cuMemAlloc(&memory, 4096));
	return 0;
}

static int stop(void **state)
{
	OK(cuMemFree(memory));
	OK(cuLibraryUnload(library));
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

static void test_contexts(void **state)
{
	unsigned flags, version;
	int active;
	size_t size;
	CUcontext c;
	CUdevice d;
	CUfunc_cache cache;
	unsigned long long id;

	BAD(cuCtxCreate(NULL, NULL, 0, 0));
	BAD(cuCtxCreate(&c, NULL, 1u << 31, 0));
	IS(cuCtxCreate(&c, NULL, 0, 99), INVALID_DEVICE);
	IS(cuCtxCreate(&c, NULL, 0, -1), INVALID_DEVICE);
	BAD(cuDevicePrimaryCtxRetain(NULL, 0));
	IS(cuDevicePrimaryCtxRetain(&c, 99), INVALID_DEVICE);
	BAD(cuDevicePrimaryCtxSetFlags(0, 1u << 31));
	IS(cuDevicePrimaryCtxSetFlags(99, 0), INVALID_DEVICE);
	BAD(cuDevicePrimaryCtxGetState(0, NULL, &active));
	BAD(cuDevicePrimaryCtxGetState(0, &flags, NULL));
	IS(cuDevicePrimaryCtxGetState(99, &flags, &active), INVALID_DEVICE);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	BAD(cuCtxGetCurrent(NULL));
	BAD(cuCtxGetDevice(NULL));
	BAD(cuCtxGetFlags(NULL));
	BAD(cuCtxSetFlags(1u << 31));
	BAD(cuCtxGetId(primary, NULL));
	BAD(cuCtxGetApiVersion(primary, NULL));
	BAD(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
	OK(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
	BAD(cuCtxGetCacheConfig(NULL));
	BAD(cuCtxSetCacheConfig((CUfunc_cache)4));
	OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_EQUAL));
	OK(cuCtxGetCacheConfig(&cache));
	assert_int_equal(cache, CU_FUNC_CACHE_PREFER_EQUAL);
	OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE));
	BAD(cuCtxGetSharedMemConfig(NULL));
	BAD(cuCtxSetSharedMemConfig((CUsharedconfig)3));
	OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	BAD(cuCtxAttach(NULL, 0));
	BAD(cuCtxAttach(&c, 1));
	BAD(cuCtxEnablePeerAccess(primary, 1));
	IS(cuCtxEnablePeerAccess(primary, 0), INVALID_CONTEXT);
	OK(cuCtxGetApiVersion(primary, &version));
	OK(cuCtxGetId(primary, &id));
	OK(cuCtxGetDevice(&d));
	assert_int_equal(d, 0);
}

static void test_devices(void **state)
{
	char text[64];
	int v;
	CUuuid uuid;
	CUdevprop prop;
	CUdevice d;
	size_t n;

	BAD(cuDeviceGet(NULL, 0));
	IS(cuDeviceGet(&d, 99), INVALID_DEVICE);
	IS(cuDeviceGet(&d, -1), INVALID_DEVICE);
	BAD(cuDeviceGetCount(NULL));
	BAD(cuDeviceGetName(NULL, 10, 0));
	BAD(cuDeviceGetName(text, 0, 0));
	IS(cuDeviceGetName(text, 10, 99), INVALID_DEVICE);
	OK(cuDeviceGetName(text, 1, 0));
	assert_string_equal(text, "");
	BAD(cuDeviceGetUuid(NULL, 0));
	IS(cuDeviceGetUuid(&uuid, 99), INVALID_DEVICE);
	BAD(cuDeviceTotalMem(NULL, 0));
	IS(cuDeviceTotalMem(&n, 99), INVALID_DEVICE);
	BAD(cuDeviceComputeCapability(NULL, &v, 0));
	BAD(cuDeviceComputeCapability(&v, NULL, 0));
	IS(cuDeviceComputeCapability(&v, &v, 99), INVALID_DEVICE);
	BAD(cuDeviceGetPCIBusId(NULL, 64, 0));
	BAD(cuDeviceGetPCIBusId(text, 12, 0));
	OK(cuDeviceGetPCIBusId(text, 13, 0));
	IS(cuDeviceGetPCIBusId(text, 64, 99), INVALID_DEVICE);
	OK(cuDeviceGetByPCIBusId(&d, text));
	assert_int_equal(d, 0);
	BAD(cuDeviceGetByPCIBusId(NULL, text));
	BAD(cuDeviceGetByPCIBusId(&d, NULL));
	BAD(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	BAD(cuDeviceGetAttribute(&v, (CUdevice_attribute)0, 0));
	BAD(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX, 0));
	OK(cuDeviceGetAttribute(&v, (CUdevice_attribute)1, 0));
	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX - 1, 0));
	IS(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), INVALID_DEVICE);
	BAD(cuDeviceGetProperties(NULL, 0));
	IS(cuDeviceGetProperties(&prop, 99), INVALID_DEVICE);
	BAD(cuDeviceCanAccessPeer(NULL, 0, 0));
	IS(cuDeviceCanAccessPeer(&v, 99, 0), INVALID_DEVICE);
	IS(cuDeviceCanAccessPeer(&v, 0, 99), INVALID_DEVICE);
	BAD(cuDeviceGetP2PAttribute(NULL, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 0));
	BAD(cuDriverGetVersion(NULL));
}

static void test_entry_points(void **state)
{
	CUdriverProcAddressQueryResult found;
	const cuuint64_t both =
		CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	void *f;

	BAD(cuGetProcAddress(NULL, &f, 12000, 0, &found));
	BAD(cuGetProcAddress("cuInit", NULL, 12000, 0, &found));
	BAD(cuGetProcAddress("cuInit", &f, 12000, both, &found));
	BAD(cuGetProcAddress("cuInit", &f, 12000, 4, &found));
	OK(cuGetProcAddress("cuInit", &f, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found));
	OK(cuGetProcAddress("cuNothing", &f, 12000, 0, &found));
	assert_null(f);
	assert_int_equal(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	IS(cuGetProcAddress("cuNothing", &f, 12000, 0, NULL), NOT_FOUND);
	OK(cuGetProcAddress("cuMemAlloc", &f, 2000, 0, &found));
	assert_int_equal(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

static void test_events(void **state)
{
	CUevent e;
	CUstream s;
	float ms;

	OK(cuStreamCreate(&s, 0));
	BAD(cuEventCreate(NULL, 0));
	BAD(cuEventCreate(&e, 8));
	BAD(cuEventCreate(&e, CU_EVENT_INTERPROCESS));
	OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(cuEventDestroy(e));
	OK(cuEventCreate(&e, 0));
	BAD(cuEventRecordWithFlags(e, s, 2));
	OK(cuEventRecordWithFlags(e, s, 0));
	BAD(cuEventElapsedTime(NULL, e, e));
	OK(cuEventSynchronize(e));
	OK(cuEventElapsedTime(&ms, e, e));
	BAD(cuStreamWaitEvent(s, e, 2));
	OK(cuStreamWaitEvent(s, e, 0));
	IS(cuEventRecord(NULL, s), INVALID_HANDLE);
	IS(cuStreamWaitEvent(s, NULL, 0), INVALID_HANDLE);
	IS(cuEventDestroy(NULL), INVALID_HANDLE);
	OK(cuEventDestroy(e));
	IS(cuEventQuery(e), INVALID_HANDLE);
	OK(cuStreamDestroy(s));
}

static void test_functions(void **state)
{
	size_t offset, size;
	CUfunctionLoadingState loading;
	const char *name;
	int v, w;
	CUmodule m;

	BAD(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	BAD(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
	OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
	assert_int_equal(v, 0);
	BAD(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2));
	BAD(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
	OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function));
	assert_int_equal(v, 100);
	OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1));
	BAD(cuFuncSetCacheConfig(function, (CUfunc_cache)4));
	OK(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_EQUAL));
	BAD(cuFuncSetSharedMemConfig(function, (CUsharedconfig)3));
	BAD(cuFuncGetModule(NULL, function));
	OK(cuFuncGetModule(&m, function));
	assert_ptr_equal(m, module);
	BAD(cuFuncGetName(NULL, function));
	OK(cuFuncGetName(&name, function));
	assert_string_equal(name, "k");
	BAD(cuFuncGetParamInfo(function, 0, NULL, &size));
	BAD(cuFuncGetParamInfo(function, 2, &offset, &size));
	OK(cuFuncGetParamInfo(function, 1, &offset, &size));
	assert_int_equal(offset * 10 + size, 88);
	OK(cuFuncGetParamInfo(function, 0, &offset, NULL));
	BAD(cuFuncIsLoaded(NULL, function));
	OK(cuFuncIsLoaded(&loading, function));
	BAD(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 32, 0));
	BAD(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, function, 0, 0));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, function, 1, 0));
	BAD(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&v, function, 32, 0, 2));
	BAD(cuOccupancyMaxPotentialBlockSize(NULL, &w, function, NULL, 0, 0));
	BAD(cuOccupancyMaxPotentialBlockSize(&v, NULL, function, NULL, 0, 0));
	BAD(cuOccupancyMaxPotentialBlockSize(&v, &w, function, NULL, 0, -1));
	OK(cuOccupancyMaxPotentialBlockSize(&v, &w, function, NULL, 0, 64));
	assert_int_equal(w, 64);
	BAD(cuOccupancyMaxPotentialBlockSizeWithFlags(&v, &w, function, NULL, 0, 0, 2));
	BAD(cuOccupancyAvailableDynamicSMemPerBlock(NULL, function, 1, 32));
	BAD(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 0, 32));
	BAD(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 1, 0));
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 1, 32));
}

static void test_launches(void **state)
{
	unsigned n = 0;
	CUdeviceptr p = 0;
	void *args[] = {&n, &p};
	char buffer[16] = {0};
	size_t size = sizeof buffer;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
		CU_LAUNCH_PARAM_END};
	CUlaunchConfig config = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0};

	for (unsigned k = 0; k < 6; k++) {
		unsigned d[6] = {1, 1, 1, 1, 1, 1};
		static const unsigned most[] = {0x7fffffff, 65535, 65535, 1024, 1024, 64};

		d[k] = 0;
		BAD(cuLaunchKernel(
			function, d[0], d[1], d[2], d[3], d[4], d[5], 0, NULL, args, NULL));
		d[k] = most[k] + 1;
		BAD(cuLaunchKernel(
			function, d[0], d[1], d[2], d[3], d[4], d[5], 0, NULL, args, NULL));
		d[k] = most[k];
		if (k)
			OK(cuLaunchKernel(
				none, d[0], d[1], d[2], d[3], d[4], d[5], 0, NULL, NULL, NULL));
	}
	BAD(cuLaunchKernel(function, 1, 1, 1, 513, 2, 1, 0, NULL, args, NULL));
	OK(cuLaunchKernel(function, 1, 1, 1, 512, 2, 1, 0, NULL, args, NULL));
	BAD(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, args, NULL));
	BAD(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	BAD(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, extra));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	BAD(cuLaunchKernelEx(NULL, function, args, NULL));
	config.numAttrs = 1;
	BAD(cuLaunchKernelEx(&config, function, args, NULL));
	config.attrs = &attribute;
	OK(cuLaunchKernelEx(&config, function, args, NULL));
	BAD(cuLaunchHostFunc(NULL, NULL, NULL));
	BAD(cuStreamAddCallback(NULL, NULL, NULL, 0));
	OK(cuCtxSynchronize());
}

static void test_libraries(void **state)
{
	CUdeviceptr p;
	CUlibrary l;
	CUkernel k, ks[2];
	CUfunction f;
	CUmodule m;
	const char *name;
	size_t bytes, offset;
	unsigned n;
	int v;

	BAD(cuLibraryLoadData(NULL, ptx, NULL, NULL, 0, NULL, NULL, 0));
	BAD(cuLibraryLoadData(&l, NULL, NULL, NULL, 0, NULL, NULL, 0));
	BAD(cuLibraryLoadData(&l, ptx, NULL, NULL, 1, NULL, NULL, 0));
	BAD(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 1));
	BAD(cuLibraryLoadFromFile(NULL, "x", NULL, NULL, 0, NULL, NULL, 0));
	BAD(cuLibraryLoadFromFile(&l, NULL, NULL, NULL, 0, NULL, NULL, 0));
	BAD(cuLibraryGetKernel(NULL, library, "k"));
	BAD(cuLibraryGetKernel(&k, library, NULL));
	IS(cuLibraryGetKernel(&k, library, "kk"), NOT_FOUND);
	IS(cuLibraryGetKernel(&k, library, ""), NOT_FOUND);
	BAD(cuLibraryGetKernelCount(NULL, library));
	OK(cuLibraryGetKernelCount(&n, library));
	assert_int_equal(n, 2);
	BAD(cuLibraryEnumerateKernels(NULL, 2, library));
	BAD(cuLibraryEnumerateKernels(ks, 0, library));
	ks[1] = (CUkernel)&n;
	OK(cuLibraryEnumerateKernels(ks, 1, library));
	assert_ptr_equal(ks[1], &n);
	BAD(cuLibraryGetModule(NULL, library));
	OK(cuLibraryGetModule(&m, library));
	BAD(cuLibraryGetGlobal(&p, &bytes, library, NULL));
	BAD(cuLibraryGetGlobal(NULL, NULL, library, "v"));
	OK(cuLibraryGetGlobal(&p, NULL, library, "v"));
	OK(cuLibraryGetGlobal(NULL, &bytes, library, "v"));
	assert_int_equal(bytes, 20);
	BAD(cuKernelGetFunction(NULL, kernel));
	OK(cuKernelGetFunction(&f, kernel));
	BAD(cuKernelGetLibrary(NULL, kernel));
	OK(cuKernelGetLibrary(&l, kernel));
	assert_ptr_equal(l, library);
	BAD(cuKernelGetName(NULL, kernel));
	OK(cuKernelGetName(&name, kernel));
	assert_string_equal(name, "k");
	BAD(cuKernelGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
	IS(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 99), INVALID_DEVICE);
	BAD(cuKernelSetCacheConfig(kernel, (CUfunc_cache)4, 0));
	BAD(cuKernelGetParamInfo(kernel, 0, NULL, &bytes));
	BAD(cuKernelGetParamInfo(kernel, 2, &offset, &bytes));
	OK(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
	assert_int_equal(offset * 10 + bytes, 88);
}

static void test_memory(void **state)
{
	static char host[8192] __attribute__((aligned(4096)));
	CUpointer_attribute two[2] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	CUdeviceptr p;
	size_t pitch;
	unsigned flags, type, ordinal, one = 1;
	void *h, *data[2] = {&type, &ordinal};

	BAD(cuMemAlloc(NULL, 4));
	BAD(cuMemAlloc(&p, 0));
	BAD(cuMemAllocPitch(NULL, &pitch, 4, 4, 4));
	BAD(cuMemAllocPitch(&p, NULL, 4, 4, 4));
	BAD(cuMemAllocPitch(&p, &pitch, 0, 4, 4));
	BAD(cuMemAllocPitch(&p, &pitch, 4, 0, 4));
	BAD(cuMemAllocPitch(&p, &pitch, 4, 4, 2));
	BAD(cuMemAllocPitch(&p, &pitch, 4, 4, 32));
	for (unsigned e = 4; e <= 16; e *= 2) {
		OK(cuMemAllocPitch(&p, &pitch, 4, 4, e));
		BAD(cuMemFree(p + 4));
		OK(cuMemFree(p));
		BAD(cuMemFree(p));
	}
	BAD(cuMemHostAlloc(NULL, 4, 0));
	BAD(cuMemHostAlloc(&h, 4, 8));
	OK(cuMemHostAlloc(&h, 4, 7));
	BAD(cuMemHostGetDevicePointer(NULL, h, 0));
	BAD(cuMemHostGetDevicePointer(&p, h, 1));
	BAD(cuMemHostGetDevicePointer(&p, host, 0));
	OK(cuMemHostGetDevicePointer(&p, h, 0));
	assert_int_equal(p, (CUdeviceptr)h);
	BAD(cuMemHostGetFlags(NULL, h));
	BAD(cuMemHostGetFlags(&flags, host));
	BAD(cuMemHostGetFlags(&flags, (void *)memory));
	OK(cuMemHostGetFlags(&flags, h));
	BAD(cuMemFree((CUdeviceptr)h));
	BAD(cuMemFreeHost((char *)h + 1));
	BAD(cuMemFreeHost((void *)memory));
	BAD(cuMemFreeHost(host));
	OK(cuMemFreeHost(h));
	BAD(cuMemHostRegister(NULL, 4096, 0));
	BAD(cuMemHostRegister(host, 0, 0));
	BAD(cuMemHostRegister(host, 4096, 16));
	OK(cuMemHostRegister(host, 4096, 0));
	BAD(cuMemHostUnregister(NULL));
	IS(cuMemHostUnregister(host + 1), HOST_MEMORY_NOT_REGISTERED);
	IS(cuMemHostUnregister(host + 4096), HOST_MEMORY_NOT_REGISTERED);
	IS(cuMemHostUnregister((void *)memory), HOST_MEMORY_NOT_REGISTERED);
	OK(cuMemHostUnregister(host));
	BAD(cuMemAllocManaged(NULL, 4, CU_MEM_ATTACH_GLOBAL));
	BAD(cuMemAllocManaged(&p, 4, 0));
	BAD(cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST));
	OK(cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_HOST));
	OK(cuMemFree(p));
	BAD(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
	BAD(cuPointerGetAttributes(0, two, data, memory));
	BAD(cuPointerGetAttributes(2, NULL, data, memory));
	BAD(cuPointerGetAttributes(2, two, NULL, memory));
	type = ordinal = 77;
	OK(cuPointerGetAttributes(2, two, data, memory));
	assert_int_equal(type * 10 + ordinal, CU_MEMORYTYPE_DEVICE * 10);
	two[1] = (CUpointer_attribute)0;
	BAD(cuPointerGetAttributes(2, two, data, memory));
	data[1] = NULL;
	two[1] = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
	BAD(cuPointerGetAttributes(2, two, data, memory));
	BAD(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
	BAD(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
	BAD(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)host));
	OK(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
	type = 0;
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
	assert_int_equal(type, 1);
	one = 0;
	OK(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
	assert_int_equal(type, 0);
}

static void test_managed(void **state)
{
	CUmem_range_attribute what[1] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	size_t sizes[1] = {4};
	int v[4];
	void *data[1] = {v};
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	BAD(cuMemAdvise(p, 4096, (CUmem_advise)0, here));
	BAD(cuMemAdvise(p, 4096, (CUmem_advise)7, here));
	BAD(cuMemAdvise(p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	BAD(cuMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_UNSET_ACCESSED_BY, here));
	BAD(cuMemPrefetchAsync(p, 4096, here, 1, NULL));
	BAD(cuMemPrefetchAsync(p, 0, here, 0, NULL));
	OK(cuMemPrefetchAsync(p, 4096, here, 0, NULL));
	BAD(cuMemRangeGetAttribute(NULL, 4, what[0], p, 4096));
	BAD(cuMemRangeGetAttribute(v, 0, what[0], p, 4096));
	BAD(cuMemRangeGetAttribute(v, 8, what[0], p, 4096));
	BAD(cuMemRangeGetAttribute(v, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
	OK(cuMemRangeGetAttribute(v, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
	OK(cuMemRangeGetAttribute(v, 4, what[0], p, 4096));
	BAD(cuMemRangeGetAttributes(NULL, sizes, what, 1, p, 4096));
	BAD(cuMemRangeGetAttributes(data, NULL, what, 1, p, 4096));
	BAD(cuMemRangeGetAttributes(data, sizes, NULL, 1, p, 4096));
	BAD(cuMemRangeGetAttributes(data, sizes, what, 0, p, 4096));
	OK(cuMemRangeGetAttributes(data, sizes, what, 1, p, 4096));
	OK(cuMemFree(p));
}

/* Copies and fills to the last byte, and a byte further. */
static void test_ends(void **state)
{
	static char host[8192];
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = memory,
		.dstPitch = 64,
		.WidthInBytes = 64,
		.Height = 64};

	OK(cuMemcpyHtoD(memory + 96, host, 4000));
	BAD(cuMemcpyHtoD(memory + 97, host, 4000));
	OK(cuMemcpyDtoH(host, memory + 96, 4000));
	BAD(cuMemcpyDtoH(host, memory + 97, 4000));
	OK(cuMemsetD8(memory + 96, 1, 4000));
	BAD(cuMemsetD8(memory + 97, 1, 4000));
	OK(cuMemsetD32(memory + 4, 1, 1023));
	BAD(cuMemsetD32(memory + 4, 1, 1024));
	BAD(cuMemsetD32(memory + 2, 1, 4));
	BAD(cuMemsetD16(memory + 1, 1, 4));
	OK(cuMemsetD16(memory + 2, 1, 4));
	OK(cuMemsetD2D32(memory, 64, 1, 16, 64));
	BAD(cuMemsetD2D32(memory, 64, 1, 17, 64));
	BAD(cuMemsetD2D32(memory, 66, 1, 4, 2));
	BAD(cuMemsetD2D32(memory, 64, 1, 16, 65));
	OK(cuMemsetD2D32(memory, 0, 1, 16, 1));
	OK(cuMemcpy2D(&c));
	c.Height = 65;
	BAD(cuMemcpy2D(&c));
	c.Height = 64;
	c.dstXInBytes = 1;
	BAD(cuMemcpy2D(&c)); /* wider than the pitch */
	c.WidthInBytes = 63;
	OK(cuMemcpy2D(&c));
	c.dstY = 1;
	BAD(cuMemcpy2D(&c));
	c.Height = 63;
	OK(cuMemcpy2D(&c));
	c.dstDevice = 0;
	BAD(cuMemcpy2D(&c));
	BAD(cuMemcpy2D(NULL));
	BAD(cuMemcpy3D(NULL));
	BAD(cuMemcpy3DPeer(NULL));
}

static void test_arrays(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 6, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUDA_ARRAY3D_DESCRIPTOR got;
	CUDA_ARRAY_DESCRIPTOR flat;
	CUDA_ARRAY_MEMORY_REQUIREMENTS need;
	CUarray a;

	BAD(cuArray3DCreate(NULL, &d));
	BAD(cuArray3DCreate(&a, NULL));
	BAD(cuArrayCreate(&a, NULL));
	for (unsigned n = 0; n <= 5; n++) {
		d.NumChannels = n;
		if (n == 1 || n == 2 || n == 4) {
			OK(cuArray3DCreate(&a, &d));
			BAD(cuArray3DGetDescriptor(NULL, a));
			BAD(cuArrayGetDescriptor(NULL, a));
			OK(cuArray3DGetDescriptor(&got, a));
			assert_memory_equal(&got, &d, sizeof d);
			OK(cuArrayGetDescriptor(&flat, a));
			assert_int_equal(flat.Width * 10 + flat.NumChannels, 60 + n);
			BAD(cuArrayGetMemoryRequirements(NULL, a, 0));
			IS(cuArrayGetMemoryRequirements(&need, a, 99), INVALID_DEVICE);
			OK(cuArrayDestroy(a));
			IS(cuArrayDestroy(a), INVALID_HANDLE);
		} else {
			BAD(cuArray3DCreate(&a, &d));
		}
	}
	d.NumChannels = 1;
	d.Width = 0;
	BAD(cuArray3DCreate(&a, &d));
	d.Width = 6;
	d.Depth = 2; /* three dimensions need a height */
	BAD(cuArray3DCreate(&a, &d));
	d.Flags = CUDA_ARRAY3D_LAYERED; /* layers do not */
	OK(cuArray3DCreate(&a, &d));
	OK(cuArrayDestroy(a));
	d.Flags = CUDA_ARRAY3D_CUBEMAP;
	d.Height = 6;
	d.Depth = 6;
	OK(cuArray3DCreate(&a, &d));
	OK(cuArrayDestroy(a));
	d.Depth = 12;
	BAD(cuArray3DCreate(&a, &d));
	d.Flags |= CUDA_ARRAY3D_LAYERED;
	OK(cuArray3DCreate(&a, &d));
	OK(cuArrayDestroy(a));
	d.Depth = 13;
	BAD(cuArray3DCreate(&a, &d));
	d.Depth = 12;
	d.Height = 5;
	BAD(cuArray3DCreate(&a, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_entry_points),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_managed),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_arrays),
	};

	return cmocka_run_group_tests_name("softgpu-one-wrong", tests, start, stop);
}
