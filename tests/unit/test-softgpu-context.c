/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices and contexts of the software GPU: what each call answers, and to wrong arguments ("CUDA
 * Driver API", Device, Primary Context and Context Management). There are two devices.
 */
#include "softgpu-test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLAGS_KNOWN (unsigned)CU_CTX_FLAGS_MASK

static CUcontext second; /* of device 1 */

static int start(void **state)
{
	setenv("TSDB_SOFT_DEVICES", "2", 1);
	softgpu_start(state);
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(1));
	return softgpu_stop(state);
}

/* --- devices --- */

#define KIB 1024
#define A(name, value)                                                                             \
	{                                                                                          \
		CU_DEVICE_ATTRIBUTE_##name, value                                                  \
	}
/* Compute capability 7.5: "CUDA C++ Programming Guide", technical specifications. What is not there
 * is docs/softgpu.md's: one memory for host and device, no caches, 1 GHz. */
static const struct {
	CUdevice_attribute a;
	int value;
} attributes[] = {
	A(MAX_THREADS_PER_BLOCK, 1024),
	A(MAX_BLOCK_DIM_X, 1024),
	A(MAX_BLOCK_DIM_Y, 1024),
	A(MAX_BLOCK_DIM_Z, 64),
	A(MAX_GRID_DIM_X, INT32_MAX),
	A(MAX_GRID_DIM_Y, 65535),
	A(MAX_GRID_DIM_Z, 65535),
	A(MAX_SHARED_MEMORY_PER_BLOCK, 48 * KIB),
	A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 64 * KIB),
	A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 64 * KIB),
	A(TOTAL_CONSTANT_MEMORY, 64 * KIB),
	A(WARP_SIZE, 32),
	A(MAX_PITCH, INT32_MAX),
	A(MAX_REGISTERS_PER_BLOCK, 64 * KIB),
	A(MAX_REGISTERS_PER_MULTIPROCESSOR, 64 * KIB),
	A(MAX_THREADS_PER_MULTIPROCESSOR, 1024),
	A(MAX_BLOCKS_PER_MULTIPROCESSOR, 16),
	A(CLOCK_RATE, 1000000),
	A(MEMORY_CLOCK_RATE, 1000000),
	A(GLOBAL_MEMORY_BUS_WIDTH, 64),
	A(L2_CACHE_SIZE, 4 * KIB * KIB),
	A(TEXTURE_ALIGNMENT, 512),
	A(TEXTURE_PITCH_ALIGNMENT, 32),
	A(SURFACE_ALIGNMENT, 512),
	A(MAXIMUM_TEXTURE1D_WIDTH, 131072),
	A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28),
	A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_TEXTURE2D_WIDTH, 131072),
	A(MAXIMUM_TEXTURE2D_HEIGHT, 65536),
	A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072),
	A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000),
	A(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120),
	A(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768),
	A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_TEXTURE3D_WIDTH, 16384),
	A(MAXIMUM_TEXTURE3D_HEIGHT, 16384),
	A(MAXIMUM_TEXTURE3D_DEPTH, 16384),
	A(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768),
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
	A(MAXIMUM_SURFACE1D_WIDTH, 32768),
	A(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_SURFACE2D_WIDTH, 131072),
	A(MAXIMUM_SURFACE2D_HEIGHT, 65536),
	A(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768),
	A(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_SURFACE3D_WIDTH, 16384),
	A(MAXIMUM_SURFACE3D_HEIGHT, 16384),
	A(MAXIMUM_SURFACE3D_DEPTH, 16384),
	A(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768),
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
	A(ASYNC_ENGINE_COUNT, 3),
	A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
	A(MEM_SYNC_DOMAIN_COUNT, 1),
	A(HOST_NUMA_ID, -1),
	A(NUMA_ID, -1),
	A(COMPUTE_CAPABILITY_MAJOR, 7),
	A(COMPUTE_CAPABILITY_MINOR, 5),
};
#undef A

#define A(name) CU_DEVICE_ATTRIBUTE_##name
static const CUdevice_attribute has[] = {A(GPU_OVERLAP), A(CAN_MAP_HOST_MEMORY),
	A(CONCURRENT_KERNELS), A(UNIFIED_ADDRESSING), A(STREAM_PRIORITIES_SUPPORTED),
	A(GLOBAL_L1_CACHE_SUPPORTED), A(LOCAL_L1_CACHE_SUPPORTED), A(MANAGED_MEMORY),
	A(HOST_NATIVE_ATOMIC_SUPPORTED), A(CONCURRENT_MANAGED_ACCESS),
	A(COMPUTE_PREEMPTION_SUPPORTED), A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
	A(CAN_USE_STREAM_MEM_OPS_V1), A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1),
	A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1), A(CAN_USE_64_BIT_STREAM_MEM_OPS),
	A(CAN_USE_STREAM_WAIT_VALUE_NOR), A(COOPERATIVE_LAUNCH), A(HOST_REGISTER_SUPPORTED),
	A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
	A(READ_ONLY_HOST_REGISTER_SUPPORTED), A(MEMORY_POOLS_SUPPORTED)};
#undef A

static int expected(CUdevice_attribute a)
{
	for (size_t i = 0; i < COUNT_OF(attributes); i++)
		if (attributes[i].a == a)
			return attributes[i].value;
	for (size_t i = 0; i < COUNT_OF(has); i++)
		if (has[i] == a)
			return 1;
	return 0;
}

static void test_attributes(void **state)
{
	for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++)
		if (a != CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
			assert_int_equal(device_figure(a), expected(a));
	assert_true(device_figure(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= 1);
}

static void test_properties(void **state)
{
	CUdevprop p;
	int major = 0, minor = 0, n = -1;

	memset(&p, 0xff, sizeof p);
	OK(cuDeviceGetProperties(&p, 1));
	assert_int_equal(p.maxThreadsPerBlock, 1024);
	assert_int_equal(p.maxThreadsDim[0], 1024);
	assert_int_equal(p.maxThreadsDim[1], 1024);
	assert_int_equal(p.maxThreadsDim[2], 64);
	assert_int_equal(p.maxGridSize[0], INT32_MAX);
	assert_int_equal(p.maxGridSize[1], 65535);
	assert_int_equal(p.maxGridSize[2], 65535);
	assert_int_equal(p.sharedMemPerBlock, 48 * KIB);
	assert_int_equal(p.totalConstantMemory, 64 * KIB);
	assert_int_equal(p.SIMDWidth, 32);
	assert_int_equal(p.memPitch, INT32_MAX);
	assert_int_equal(p.regsPerBlock, 64 * KIB);
	assert_int_equal(p.clockRate, 1000000);
	assert_int_equal(p.textureAlign, 512);
	IS(cuDeviceGetProperties(NULL, 0), INVALID_VALUE);
	IS(cuDeviceGetProperties(&p, 2), INVALID_DEVICE);
	OK(cuDeviceComputeCapability(&major, &minor, 0));
	assert_int_equal(10 * major + minor, 75);
	IS(cuDeviceComputeCapability(NULL, &minor, 0), INVALID_VALUE);
	IS(cuDeviceComputeCapability(&major, NULL, 0), INVALID_VALUE);
	IS(cuDeviceComputeCapability(&major, &minor, 2), INVALID_DEVICE);
	OK(cuDeviceGetExecAffinitySupport(&n, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	assert_int_equal(n, 0);
	IS(cuDeviceGetExecAffinitySupport(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0), INVALID_VALUE);
	IS(cuDeviceGetExecAffinitySupport(&n, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 2), INVALID_DEVICE);
	IS(cuDeviceGetLuid((char[8]){0}, &(unsigned){0}, 0), NOT_SUPPORTED);
}

/* GPU-74736462-736f-4674-8067-707500000001, and the next number for the next device. */
static void test_uuids(void **state)
{
	static const unsigned char first[16] = {
		0x74, 0x73, 0x64, 0x62, 0x73, 0x6f, 0x46, 0x74, 0x80, 0x67, 0x70, 0x75, 0, 0, 0, 1};
	CUresult (*const v1)(CUuuid *, CUdevice) = entry("cuDeviceGetUuid");
	CUuuid u;

	OK(v1(&u, 0));
	assert_memory_equal(u.bytes, first, 16);
	OK(cuDeviceGetUuid_v2(&u, 1));
	assert_memory_equal(u.bytes, first, 15);
	assert_int_equal(u.bytes[15], 2);
	IS(v1(NULL, 0), INVALID_VALUE);
	IS(v1(&u, 2), INVALID_DEVICE);
}

static void test_peers(void **state)
{
	static const struct {
		CUdevice_P2PAttribute a;
		int value;
	} rows[] = {{CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0},
		{CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1},
		{CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 1},
		{CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 1}};
	CUdevice_P2PAttribute any = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
	int v;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		v = -1;
		OK(cuDeviceGetP2PAttribute(&v, rows[i].a, 0, 1));
		assert_int_equal(v, rows[i].value);
	}
	IS(cuDeviceGetP2PAttribute(&v, (CUdevice_P2PAttribute)99, 0, 1), INVALID_VALUE);
	IS(cuDeviceGetP2PAttribute(NULL, any, 0, 1), INVALID_VALUE);
	IS(cuDeviceGetP2PAttribute(&v, any, 1, 1), INVALID_DEVICE);
	IS(cuDeviceGetP2PAttribute(&v, any, 2, 1), INVALID_DEVICE);
	IS(cuDeviceGetP2PAttribute(&v, any, 0, 2), INVALID_DEVICE);
	IS(cuDeviceCanAccessPeer(NULL, 0, 1), INVALID_VALUE);
	IS(cuDeviceCanAccessPeer(&v, 2, 1), INVALID_DEVICE);
	IS(cuDeviceCanAccessPeer(&v, 0, 2), INVALID_DEVICE);

	IS(cuCtxDisablePeerAccess(second), PEER_ACCESS_NOT_ENABLED);
	IS(cuCtxEnablePeerAccess(second, 1), INVALID_VALUE);
	IS(cuCtxEnablePeerAccess(primary, 0), INVALID_CONTEXT);
	IS(cuCtxEnablePeerAccess((CUcontext)&v, 0), INVALID_CONTEXT);
	IS(cuCtxDisablePeerAccess((CUcontext)&v), INVALID_CONTEXT);
	OK(cuCtxEnablePeerAccess(second, 0));
	IS(cuCtxEnablePeerAccess(second, 0), PEER_ACCESS_ALREADY_ENABLED);
	OK(cuCtxDisablePeerAccess(second));
	IS(cuCtxDisablePeerAccess(second), PEER_ACCESS_NOT_ENABLED);
}

/* --- created contexts --- */

static void ends(CUcontext c)
{
	CUcontext now;

	OK(cuCtxDestroy(c));
	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, primary);
}

static void check_created(CUcontext c, unsigned flags, CUdevice dev, unsigned version)
{
	CUcontext now;
	CUdevice d = -1, of = -1;
	unsigned f = 99, v = 0;

	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, c);
	OK(cuCtxGetFlags(&f));
	assert_int_equal(f, flags);
	OK(cuCtxGetDevice(&d));
	assert_int_equal(d, dev);
	OK(cuCtxGetDevice_v2(&of, c));
	assert_int_equal(of, dev);
	OK(cuCtxGetApiVersion(c, &v));
	assert_int_equal(v, version);
	ends(c);
}

static void test_created(void **state)
{
	CUresult (*const v1)(CUcontext *, unsigned, CUdevice) = entry("cuCtxCreate");
	CUresult (*const v2)(CUcontext *, unsigned, CUdevice) = entry("cuCtxCreate_v2");
	CUresult (*const v3)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice) =
		entry("cuCtxCreate_v3");
	CUexecAffinityParam affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT};
	CUctxCreateParams params = {0};
	CUcontext c;

	OK(v1(&c, CU_CTX_SCHED_SPIN, 0));
	check_created(c, CU_CTX_SCHED_SPIN, 0, 3010);
	OK(v2(&c, 0, 1));
	check_created(c, 0, 1, 3020);
	OK(v3(&c, NULL, 0, FLAGS_KNOWN, 1));
	check_created(c, FLAGS_KNOWN, 1, 3020);
	OK(cuCtxCreate_v4(&c, &params, CU_CTX_SCHED_YIELD, 1));
	check_created(c, CU_CTX_SCHED_YIELD, 1, 3020);
	IS(v3(&c, &affinity, 1, 0, 0), UNSUPPORTED_EXEC_AFFINITY);
	params.numExecAffinityParams = 1;
	IS(cuCtxCreate_v4(&c, &params, 0, 0), UNSUPPORTED_EXEC_AFFINITY);
	params = (CUctxCreateParams){.cigParams = (CUctxCigParam *)&affinity};
	IS(cuCtxCreate_v4(&c, &params, 0, 0), UNSUPPORTED_EXEC_AFFINITY);
	IS(v1(&c, FLAGS_KNOWN + 1, 0), INVALID_VALUE);
	IS(v1(NULL, 0, 0), INVALID_VALUE);
	IS(v1(&c, 0, 2), INVALID_DEVICE);
}

/* A context on the stack may be there many times, and the stack is not without end. */
static void test_stack(void **state)
{
	CUresult (*const push1)(CUcontext) = entry("cuCtxPushCurrent");
	CUresult (*const pop1)(CUcontext *) = entry("cuCtxPopCurrent");
	CUcontext c, own;
	int n = 1; /* primary is there */

	OK(push1(second));
	OK(cuCtxPushCurrent_v2(primary));
	OK(pop1(&c));
	assert_ptr_equal(c, primary);
	OK(cuCtxGetCurrent(&c));
	assert_ptr_equal(c, second);
	OK(cuCtxPopCurrent_v2(NULL));
	OK(cuCtxGetCurrent(&c));
	assert_ptr_equal(c, primary);
	while (push1(second) == CUDA_SUCCESS)
		n++;
	assert_true(n >= 32);
	IS(push1(second), OUT_OF_MEMORY);
	IS(cuCtxCreate_v4(&own, NULL, 0, 0), OUT_OF_MEMORY);
	while (--n)
		OK(pop1(&c));
	assert_ptr_equal(c, second);
	OK(cuCtxGetCurrent(&c));
	assert_ptr_equal(c, primary);
	IS(push1((CUcontext)&c), INVALID_CONTEXT);
	IS(push1(NULL), INVALID_CONTEXT);
}

/* cuCtxSetCurrent replaces the top; NULL takes the only one away. */
static void *on_a_new_thread(void *p)
{
	CUcontext c = (CUcontext)p;
	CUdeviceptr m;

	OK(cuCtxGetCurrent(&c));
	assert_null(c);
	IS(cuCtxPopCurrent(&c), INVALID_CONTEXT);
	IS(cuMemAlloc(&m, 4), INVALID_CONTEXT);
	OK(cuCtxSetCurrent(NULL));
	IS(cuCtxPopCurrent(&c), INVALID_CONTEXT);
	OK(cuCtxSetCurrent(second));
	OK(cuCtxSetCurrent(primary));
	OK(cuCtxPopCurrent(&c));
	assert_ptr_equal(c, primary);
	IS(cuCtxPopCurrent(&c), INVALID_CONTEXT);
	OK(cuCtxPushCurrent(second));
	OK(cuCtxSetCurrent(NULL));
	OK(cuCtxGetCurrent(&c));
	assert_null(c);
	IS(cuCtxPopCurrent(&c), INVALID_CONTEXT);
	OK(cuCtxPushCurrent(primary));
	OK(cuCtxPushCurrent(second));
	OK(cuCtxSetCurrent(NULL)); /* the lower one stays */
	OK(cuCtxPopCurrent(&c));
	assert_null(c);
	OK(cuCtxPopCurrent(&c));
	assert_ptr_equal(c, primary);
	return NULL;
}

static void test_current(void **state)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, on_a_new_thread, NULL), 0);
	pthread_join(t, NULL);
	IS(cuCtxGetCurrent(NULL), INVALID_VALUE);
	IS(cuCtxSetCurrent((CUcontext)&t), INVALID_CONTEXT);
}

/* A context that another thread destroyed is still on this thread's stack. */
static void *destroy_it(void *c)
{
	OK(cuCtxDestroy((CUcontext)c));
	return NULL;
}

static void test_destroyed_elsewhere(void **state)
{
	CUcontext c, now;
	pthread_t t;
	CUdevice d;
	size_t n;

	OK(cuCtxCreate_v4(&c, NULL, 0, 0));
	assert_int_equal(pthread_create(&t, NULL, destroy_it, c), 0);
	pthread_join(t, NULL);
	IS(cuCtxGetDevice(&d), CONTEXT_IS_DESTROYED);
	IS(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE), CONTEXT_IS_DESTROYED);
	IS(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
	OK(cuCtxPopCurrent(&now));
	assert_ptr_equal(now, c);
}

/* --- the primary context --- */

static void test_primary(void **state)
{
	CUresult (*const set1)(CUdevice, unsigned) = entry("cuDevicePrimaryCtxSetFlags");
	CUresult (*const release1)(CUdevice) = entry("cuDevicePrimaryCtxRelease");
	CUresult (*const reset1)(CUdevice) = entry("cuDevicePrimaryCtxReset");
	unsigned flags = 99;
	int active = -1;
	CUcontext c;

	OK(set1(1, CU_CTX_SCHED_YIELD));
	OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	assert_int_equal(active, 1);
	OK(cuCtxPushCurrent(second));
	OK(cuCtxGetFlags(&flags)); /* of the context that there is, too */
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	OK(cuCtxPopCurrent(&c));
	OK(cuDevicePrimaryCtxRetain(&c, 1));
	assert_ptr_equal(c, second);
	OK(release1(1)); /* one of two references */
	OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
	assert_int_equal(active, 1);
	OK(reset1(1));
	OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
	assert_int_equal(active, 0);
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	IS(cuCtxPushCurrent(second), INVALID_CONTEXT);
	IS(release1(1), INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	OK(cuCtxPushCurrent(second));
	OK(cuCtxGetFlags(&flags));
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	OK(cuCtxGetApiVersion(second, &flags));
	assert_int_equal(flags, 3020);
	OK(cuCtxPopCurrent(&c));
	OK(cuDevicePrimaryCtxSetFlags_v2(1, 0));
	IS(set1(1, FLAGS_KNOWN + 1), INVALID_VALUE);
	IS(set1(2, 0), INVALID_DEVICE);
	IS(release1(2), INVALID_DEVICE);
	IS(reset1(2), INVALID_DEVICE);
	IS(cuDevicePrimaryCtxRetain(NULL, 0), INVALID_VALUE);
	IS(cuDevicePrimaryCtxRetain(&c, 2), INVALID_DEVICE);
	IS(cuDevicePrimaryCtxGetState(0, NULL, &active), INVALID_VALUE);
	IS(cuDevicePrimaryCtxGetState(0, &flags, NULL), INVALID_VALUE);
	IS(cuDevicePrimaryCtxGetState(2, &flags, &active), INVALID_DEVICE);
}

/* --- settings and questions --- */

static void test_limits(void **state)
{
	static const struct {
		CUlimit limit;
		size_t initially, set;
	} rows[] = {
		{CU_LIMIT_STACK_SIZE, 1024, 4096},
		{CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20, 8192},
		{CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20, 9 << 20},
		{CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2, 3},
		{CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048, 4096},
		{CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128, 64},
		{CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0, 12288},
	};
	CUcontext c;
	size_t n;

	OK(cuCtxCreate_v4(&c, NULL, 0, 0));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		n = 77;
		OK(cuCtxGetLimit(&n, rows[i].limit));
		assert_int_equal(n, rows[i].initially);
		OK(cuCtxSetLimit(rows[i].limit, rows[i].set));
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		OK(cuCtxGetLimit(&n, rows[i].limit));
		assert_int_equal(n, rows[i].set);
	}
	/* there are more of them than this device has; CU_LIMIT_MAX is none */
	for (int l = CU_LIMIT_PERSISTING_L2_CACHE_SIZE + 1; l < CU_LIMIT_MAX; l++) {
		IS(cuCtxGetLimit(&n, (CUlimit)l), UNSUPPORTED_LIMIT);
		IS(cuCtxSetLimit((CUlimit)l, 0), UNSUPPORTED_LIMIT);
	}
	IS(cuCtxGetLimit(&n, CU_LIMIT_MAX), INVALID_VALUE);
	IS(cuCtxSetLimit(CU_LIMIT_MAX, 0), INVALID_VALUE);
	IS(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), INVALID_VALUE);
	ends(c);
}

/* A driver takes what fits, as an H200's does (docs/gpu-results.md), and says so when asked. */
static void test_limits_that_do_not_fit(void **state)
{
	size_t eighth, bytes, n;
	CUcontext c;

	OK(cuCtxCreate_v4(&c, NULL, 0, 0));
	OK(cuDeviceTotalMem(&bytes, 0));
	eighth = bytes / 8;
	const struct {
		CUlimit limit;
		size_t asked, taken;
	} rows[] = {
		{CU_LIMIT_STACK_SIZE, (512 << 10) - 1, (512 << 10) - 1},
		{CU_LIMIT_PRINTF_FIFO_SIZE, (size_t)2 << 30, (size_t)2 << 30},
		{CU_LIMIT_PRINTF_FIFO_SIZE, ((size_t)2 << 30) + 1, (size_t)2 << 30},
		{CU_LIMIT_PRINTF_FIFO_SIZE, SIZE_MAX, (size_t)2 << 30},
		{CU_LIMIT_MALLOC_HEAP_SIZE, 0, 4 << 20},
		{CU_LIMIT_MALLOC_HEAP_SIZE, (4 << 20) - 1, 4 << 20},
		{CU_LIMIT_MALLOC_HEAP_SIZE, (4 << 20) + 1, (4 << 20) + 1},
		{CU_LIMIT_MALLOC_HEAP_SIZE, eighth, eighth},
		{CU_LIMIT_MALLOC_HEAP_SIZE, eighth + 1, eighth},
		{CU_LIMIT_MALLOC_HEAP_SIZE, SIZE_MAX, eighth},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		OK(cuCtxSetLimit(rows[i].limit, rows[i].asked));
		OK(cuCtxGetLimit(&n, rows[i].limit));
		assert_int_equal(n, rows[i].taken);
	}
	IS(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512 << 10), INVALID_VALUE);
	OK(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE));
	assert_int_equal(n, (512 << 10) - 1);
	ends(c);
}

static void test_settings(void **state)
{
	CUexecAffinityParam affinity;
	unsigned long long id;
	CUsharedconfig banks;
	CUfunc_cache cache;
	int least = 7, greatest = 7;
	unsigned u;
	CUdevice d;

	OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_EQUAL));
	OK(cuCtxGetCacheConfig(&cache));
	assert_int_equal(cache, CU_FUNC_CACHE_PREFER_EQUAL);
	OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE));
	OK(cuCtxGetCacheConfig(&cache));
	assert_int_equal(cache, CU_FUNC_CACHE_PREFER_NONE);
	IS(cuCtxSetCacheConfig((CUfunc_cache)(CU_FUNC_CACHE_PREFER_EQUAL + 1)), INVALID_VALUE);
	IS(cuCtxGetCacheConfig(NULL), INVALID_VALUE);
	/* a device whose banks have one size only: the setting is taken, and changes nothing */
	OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	OK(cuCtxGetSharedMemConfig(&banks));
	assert_int_equal(banks, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
	IS(cuCtxSetSharedMemConfig((CUsharedconfig)3), INVALID_VALUE);
	IS(cuCtxGetSharedMemConfig(NULL), INVALID_VALUE);
	OK(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
	OK(cuCtxGetFlags(&u));
	assert_int_equal(u, CU_CTX_SCHED_BLOCKING_SYNC);
	OK(cuCtxSetFlags(0));
	IS(cuCtxSetFlags(FLAGS_KNOWN + 1), INVALID_VALUE);
	IS(cuCtxGetFlags(NULL), INVALID_VALUE);
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_int_equal(least, 0);
	assert_int_equal(greatest, -5);
	OK(cuCtxGetStreamPriorityRange(NULL, NULL));
	OK(cuCtxResetPersistingL2Cache());
	IS(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT),
		UNSUPPORTED_EXEC_AFFINITY);
	IS(cuCtxGetExecAffinity(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT), INVALID_VALUE);
	IS(cuCtxGetDevice(NULL), INVALID_VALUE);
	IS(cuCtxGetDevice_v2(&d, (CUcontext)&d), INVALID_CONTEXT);
	IS(cuCtxGetId(primary, NULL), INVALID_VALUE);
	IS(cuCtxGetId((CUcontext)&d, &id), INVALID_CONTEXT);
	IS(cuCtxGetApiVersion(primary, NULL), INVALID_VALUE);
	IS(cuCtxGetApiVersion((CUcontext)&d, &u), INVALID_CONTEXT);
	OK(cuCtxGetDevice_v2(&d, NULL)); /* NULL: the current one */
	assert_int_equal(d, 0);
	OK(cuCtxSynchronize_v2(second));
	IS(cuCtxSynchronize_v2((CUcontext)&d), INVALID_CONTEXT);
}

static void until_open(void *open)
{
	while (!*(_Atomic bool *)open)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void linger(void *done)
{
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	*(_Atomic bool *)done = true;
}

/* "CUDA Runtime API", API synchronization behavior: fills and copies within the device return
 * before they are done, unless the context has CU_CTX_SYNC_MEMOPS. */
static void test_sync_memops(void **state)
{
	static _Atomic bool open, done;
	CUdeviceptr m;

	OK(cuMemAlloc(&m, 16));
	OK(cuLaunchHostFunc(NULL, until_open, (void *)&open));
	OK(cuMemsetD8(m, 1, 8));
	OK(cuMemcpyDtoD(m + 8, m, 8));
	OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	OK(cuMemsetD8Async(m, 1, 8, NULL));
	open = true;
	OK(cuLaunchHostFunc(NULL, linger, (void *)&done));
	OK(cuMemcpyDtoD(m + 8, m, 8));
	assert_true(done);
	done = false;
	OK(cuLaunchHostFunc(NULL, linger, (void *)&done));
	OK(cuMemsetD8(m, 1, 8));
	assert_true(done);
	OK(cuCtxSetFlags(0));
	OK(cuMemFree(m));
}

/* A capture forbids to wait for its context, and is invalid afterwards; for another it does not. */
static void test_synchronize_in_capture(void **state)
{
	CUstreamCaptureStatus status;
	CUgraph g = (CUgraph)&status;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuCtxSynchronize_v2(second));
	OK(cuStreamIsCapturing(s, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	IS(cuCtxSynchronize(), STREAM_CAPTURE_UNSUPPORTED);
	OK(cuStreamIsCapturing(s, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_INVALIDATED);
	assert_null(g);
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy(s));
}

static void test_attach(void **state)
{
	CUcontext c, same;
	CUdevice d;

	OK(cuCtxCreate_v4(&c, NULL, 0, 1));
	OK(cuCtxAttach(&same, 0));
	assert_ptr_equal(same, c);
	IS(cuCtxAttach(&same, 1), INVALID_VALUE);
	IS(cuCtxAttach(NULL, 0), INVALID_VALUE);
	IS(cuCtxDetach(primary), INVALID_CONTEXT); /* not the current one */
	OK(cuCtxDetach(c));
	OK(cuCtxGetDevice(&d)); /* one reference is left */
	assert_int_equal(d, 1);
	OK(cuCtxDetach(c));
	OK(cuCtxGetDevice(&d));
	assert_int_equal(d, 0);
	IS(cuCtxSetCurrent(c), INVALID_CONTEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_uuids),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_created),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_current),
		cmocka_unit_test(test_destroyed_elsewhere),
		cmocka_unit_test(test_primary),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_that_do_not_fit),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_sync_memops),
		cmocka_unit_test(test_synchronize_in_capture),
		cmocka_unit_test(test_attach),
	};

	return cmocka_run_group_tests_name("softgpu-context", tests, start, stop);
}
