/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the software GPU: their attributes, and how many of their blocks and clusters fit.
 * The figures are worked out by hand from those of compute capability 7.5 ("CUDA C++ Programming
 * Guide", technical specifications): 1024 threads, 16 blocks and 64 KiB of shared memory on a
 * multiprocessor, shared memory in units of 256 bytes.
 */
#include "softgpu-test.h"

/* k: 100 bytes of shared and 32 of local memory; few registers. c: a cluster of 2 x 1 x 1. */
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".const .align 4 .b8 table[20];\n"
	".visible .entry k(.param .u64 p)\n{\n"
	".shared .align 4 .b8 s[100]; .local .align 8 .b8 l[32]; .reg .b32 %r; .reg .b64 %d;\n"
	"ld.param.u64 %d, [p]; ld.shared.u32 %r, [s]; st.local.u32 [l], %r;\n"
	"ld.const.u32 %r, [table]; st.global.u32 [%d], %r; ret;\n}\n"
	".visible .entry c() .explicitcluster .reqnctapercluster 2, 1, 1\n{\nret;\n}\n"
	".visible .entry some() .explicitcluster\n{\nret;\n}\n"
	".visible .entry small() .maxntid 64, 1, 1\n{\nret;\n}\n";

static CUmodule module;
static CUfunction k, c, some, small;
static int sms;

static int start(void **state)
{
	softgpu_start(state);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&k, module, "k"));
	OK(cuModuleGetFunction(&c, module, "c"));
	OK(cuModuleGetFunction(&some, module, "some"));
	OK(cuModuleGetFunction(&small, module, "small"));
	sms = device_figure(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	return 0;
}

static int stop(void **state)
{
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

static int get(CUfunction f, CUfunction_attribute a)
{
	int v = -12345;

	OK(cuFuncGetAttribute(&v, a, f));
	return v;
}

static void test_attributes(void **state)
{
	int v;

	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
	assert_int_equal(get(small, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 100);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 20);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 32);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_PTX_VERSION), 90);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 75);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA), 0);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_NUM_REGS), 1);
	/* 48 KiB are for static and dynamic shared memory together */
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 100);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
	assert_int_equal(get(some, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
	assert_int_equal(get(k, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT), 1);
	assert_int_equal(get(c, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
	IS(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX, k), INVALID_VALUE);
	IS(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, k), INVALID_VALUE);
	IS(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)module), INVALID_HANDLE);
	IS(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), INVALID_VALUE);
	IS(cuFuncSetAttribute((CUfunction)module, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1),
		INVALID_HANDLE);
}

/* What may be set, the first and the last value of it, and what each attribute is in the beginning.
 */
static const struct {
	CUfunction_attribute attribute;
	int initially, least, most;
	bool less_refused, more_refused;
} settable[] = {
	{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152 - 100, 0, 65536 - 100, true, true},
	{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1, -1, 100, true, true},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0, 0, 8, true, false},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0, 0, 7, true, false},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0, 0, 6, true, false},
	{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0, 0, 1, false, false},
	{CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0, 0, 2, false, false},
};

static void test_set_attributes(void **state)
{
	CUmodule m;
	CUfunction f;

	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "k"));
	for (size_t i = 0; i < COUNT_OF(settable); i++) {
		const CUfunction_attribute a = settable[i].attribute;

		assert_int_equal(get(f, a), settable[i].initially);
		OK(cuFuncSetAttribute(f, a, settable[i].least));
		assert_int_equal(get(f, a), settable[i].least);
		OK(cuFuncSetAttribute(f, a, settable[i].most));
		assert_int_equal(get(f, a), settable[i].most);
		if (settable[i].less_refused)
			IS(cuFuncSetAttribute(f, a, settable[i].least - 1), INVALID_VALUE);
		if (settable[i].more_refused)
			IS(cuFuncSetAttribute(f, a, settable[i].most + 1), INVALID_VALUE);
		assert_int_equal(get(f, a), settable[i].most);
	}
	for (size_t i = 0; i < COUNT_OF(settable); i++) /* none is another's */
		assert_int_equal(get(f, settable[i].attribute), settable[i].most);
	OK(cuModuleUnload(m));
}

static void test_small_calls(void **state)
{
	CUfunctionLoadingState loaded = CU_FUNCTION_LOADING_STATE_UNLOADED;
	const CUfunction none = (CUfunction)module;

	OK(cuFuncIsLoaded(&loaded, k));
	assert_int_equal(loaded, CU_FUNCTION_LOADING_STATE_LOADED);
	IS(cuFuncIsLoaded(NULL, k), INVALID_VALUE);
	IS(cuFuncIsLoaded(&loaded, none), INVALID_HANDLE);
	OK(cuFuncLoad(k));
	IS(cuFuncLoad(none), INVALID_HANDLE);
	OK(cuFuncSetCacheConfig(k, CU_FUNC_CACHE_PREFER_EQUAL));
	IS(cuFuncSetCacheConfig(k, (CUfunc_cache)(CU_FUNC_CACHE_PREFER_EQUAL + 1)), INVALID_VALUE);
	IS(cuFuncSetCacheConfig(none, CU_FUNC_CACHE_PREFER_L1), INVALID_HANDLE);
	OK(cuFuncSetSharedMemConfig(k, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	IS(cuFuncSetSharedMemConfig(k, (CUsharedconfig)3), INVALID_VALUE);
	IS(cuFuncSetSharedMemConfig(none, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE), INVALID_HANDLE);
}

/* --- blocks --- */

static const struct {
	int block;
	size_t dynamic;
	int blocks;
} fit[] = {
	{1, 0, 16},
	{32, 0, 16},
	{64, 0, 16},
	{65, 0, 10}, /* three warps */
	{96, 0, 10},
	{512, 0, 2},
	{513, 0, 1},
	{1024, 0, 1},
	{1025, 0, 0},
	{32, 16384 - 100, 4},
	{32, 16384 - 99, 3}, /* 65 units of 256 bytes */
	{32, 65536 - 100, 1},
	{32, 65536 - 99, 0},
};

static void test_active_blocks(void **state)
{
	int n;

	for (size_t i = 0; i < COUNT_OF(fit); i++) {
		n = -1;
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&n, k, fit[i].block, fit[i].dynamic));
		assert_int_equal(n, fit[i].blocks);
		n = -1;
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, k, fit[i].block,
			fit[i].dynamic, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
		assert_int_equal(n, fit[i].blocks);
	}
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, small, 64, 0));
	assert_int_equal(n, 16);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, small, 65, 0));
	assert_int_equal(n, 0);
	IS(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, k, 32, 0), INVALID_VALUE);
	IS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 0, 0), INVALID_VALUE);
	IS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, (CUfunction)module, 32, 0),
		INVALID_HANDLE);
	IS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, k, 32, 0, 2), INVALID_VALUE);
}

static size_t hundred_each(int block)
{
	return 100 * (size_t)block;
}

static void test_block_size(void **state)
{
	int grid = -1, block = -1;

	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, c, NULL, 0, 0));
	assert_int_equal(block, 1024);
	assert_int_equal(grid, sms);
	/* of 100, 96, 64 and 32 threads, 64 fill a multiprocessor: 16 blocks of them */
	OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, c, NULL, 0, 100, 0));
	assert_int_equal(block, 64);
	assert_int_equal(grid, 16 * sms);
	/* more than the function takes is as no limit */
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, small, NULL, 0, 100));
	assert_int_equal(block, 64);
	/* 640 threads with 64,000 bytes; two blocks of 320 are as many threads, but smaller */
	OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, c, hundred_each, 0, 0, 1));
	assert_int_equal(block, 640);
	assert_int_equal(grid, sms);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, c, NULL, 65537, 0));
	assert_int_equal(block, 0);
	assert_int_equal(grid, 0);
	IS(cuOccupancyMaxPotentialBlockSize(NULL, &block, c, NULL, 0, 0), INVALID_VALUE);
	IS(cuOccupancyMaxPotentialBlockSize(&grid, NULL, c, NULL, 0, 0), INVALID_VALUE);
	IS(cuOccupancyMaxPotentialBlockSize(&grid, &block, c, NULL, 0, -1), INVALID_VALUE);
	IS(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, c, NULL, 0, 0, 2),
		INVALID_VALUE);
}

static void test_available_shared_memory(void **state)
{
	size_t n = 1;

	OK(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 1, 32));
	assert_int_equal(n, 49152 - 100);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 2, 32));
	assert_int_equal(n, 32768 - 100);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 3, 32));
	assert_int_equal(n, 85 * 256 - 100);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 1000, 32));
	assert_int_equal(n, 0);
	IS(cuOccupancyAvailableDynamicSMemPerBlock(NULL, k, 1, 32), INVALID_VALUE);
	IS(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 0, 32), INVALID_VALUE);
	IS(cuOccupancyAvailableDynamicSMemPerBlock(&n, k, 1, 0), INVALID_VALUE);
	IS(cuOccupancyAvailableDynamicSMemPerBlock(&n, (CUfunction)module, 1, 32), INVALID_HANDLE);
}

/* --- clusters: 8 blocks, or 16 if the function says that it need not run elsewhere --- */

static CUlaunchConfig blocks_of(unsigned x, unsigned y, unsigned z)
{
	return (CUlaunchConfig){.gridDimX = 64,
		.gridDimY = 64,
		.gridDimZ = 64,
		.blockDimX = x,
		.blockDimY = y,
		.blockDimZ = z};
}

static void test_cluster_size(void **state)
{
	const CUlaunchConfig small_blocks = blocks_of(8, 2, 2), none = blocks_of(0, 1, 1),
			     big = blocks_of(32, 32, 1), too_big = blocks_of(32, 32, 2);
	int n = -1;

	OK(cuOccupancyMaxPotentialClusterSize(&n, k, &small_blocks));
	assert_int_equal(n, 8);
	OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	OK(cuOccupancyMaxPotentialClusterSize(&n, k, &small_blocks));
	assert_int_equal(n, 16);
	OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
	OK(cuOccupancyMaxPotentialClusterSize(&n, k, &big)); /* one block on a multiprocessor */
	assert_int_equal(n, sms >= 8 ? 8 : sms >= 4 ? 4 : sms >= 2 ? 2 : 1);
	OK(cuOccupancyMaxPotentialClusterSize(&n, k, &none));
	assert_int_equal(n, 0);
	OK(cuOccupancyMaxPotentialClusterSize(&n, k, &too_big));
	assert_int_equal(n, 0);
	IS(cuOccupancyMaxPotentialClusterSize(NULL, k, &big), INVALID_VALUE);
	IS(cuOccupancyMaxPotentialClusterSize(&n, k, NULL), INVALID_VALUE);
	IS(cuOccupancyMaxPotentialClusterSize(&n, (CUfunction)module, &big), INVALID_HANDLE);
}

/* Clusters of so many blocks of 32 threads, 16 of which are on a multiprocessor. */
static const struct {
	unsigned x, y, z;
	int each; /* 16 / blocks; 0: CUDA_ERROR_INVALID_CLUSTER_SIZE */
	bool non_portable;
} shapes[] = {{1, 1, 1, 16, false}, {4, 1, 1, 4, false}, {1, 8, 1, 2, false}, {1, 1, 2, 8, false},
	{2, 2, 2, 2, false}, {3, 3, 1, 0, false}, {16, 1, 1, 0, false}, {16, 1, 1, 1, true},
	{1, 16, 1, 1, true}, {1, 1, 16, 1, true}, {17, 1, 1, 0, true}, {1, 17, 1, 0, true},
	{1, 1, 17, 0, true}, {0, 1, 1, 0, false}, {1, 0, 1, 0, false}, {1, 1, 0, 0, false}};

static void test_active_clusters(void **state)
{
	CUlaunchAttribute attr[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY},
		{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}};
	CUlaunchConfig config = blocks_of(32, 1, 1);
	int n;

	config.attrs = attr;
	config.numAttrs = 2;
	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		CUresult r;

		attr[1].value.clusterDim.x = shapes[i].x;
		attr[1].value.clusterDim.y = shapes[i].y;
		attr[1].value.clusterDim.z = shapes[i].z;
		OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
			shapes[i].non_portable));
		r = cuOccupancyMaxActiveClusters(&n, k, &config);
		assert_int_equal(
			r, shapes[i].each ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE);
		if (shapes[i].each)
			assert_int_equal(n, shapes[i].each * sms);
	}
	OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
	config.attrs = NULL;
	IS(cuOccupancyMaxActiveClusters(&n, k, &config), INVALID_VALUE);
	config.numAttrs = 0;
	OK(cuOccupancyMaxActiveClusters(&n, k, &config)); /* none: clusters of one block */
	assert_int_equal(n, 16 * sms);
	OK(cuOccupancyMaxActiveClusters(&n, c, &config)); /* the function's own: two */
	assert_int_equal(n, 8 * sms);
	OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 4));
	OK(cuOccupancyMaxActiveClusters(&n, k, &config));
	assert_int_equal(n, 4 * sms);
	OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0));
	IS(cuOccupancyMaxActiveClusters(NULL, k, &config), INVALID_VALUE);
	IS(cuOccupancyMaxActiveClusters(&n, k, NULL), INVALID_VALUE);
	IS(cuOccupancyMaxActiveClusters(&n, (CUfunction)module, &config), INVALID_HANDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_set_attributes),
		cmocka_unit_test(test_small_calls),
		cmocka_unit_test(test_active_blocks),
		cmocka_unit_test(test_block_size),
		cmocka_unit_test(test_available_shared_memory),
		cmocka_unit_test(test_cluster_size),
		cmocka_unit_test(test_active_clusters),
	};

	return cmocka_run_group_tests_name("softgpu-func", tests, start, stop);
}
