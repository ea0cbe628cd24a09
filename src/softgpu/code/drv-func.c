/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions: what they need, their attributes, and how many of their blocks fit. As with the
 * vendor's driver, cuFunc* take CUfunction handles only and cuKernel* take CUkernel handles only;
 * launches take both.
 */
#include "softgpu/driver/drv.h"

#include <string.h>

#define MAX_SHARED_STATIC_AND_DYNAMIC DEV_MAX_SHARED_OPTIN

void func_attrs_init(struct func_attrs *a)
{
	*a = (struct func_attrs){.max_dynamic_shared = -1, .carveout = -1};
}

CUresult func_resolve(CUfunction h, struct ctx *c, struct func **ret)
{
	struct module *m;
	struct kernel *k;

	if (obj_alive(OBJ_FUNC, h)) {
		*ret = (struct func *)h;
		return CUDA_SUCCESS;
	}
	if (!obj_alive(OBJ_KERNEL, h))
		return CUDA_ERROR_INVALID_HANDLE;
	k = (struct kernel *)h;
	TRY_CU(library_module(k->library, c, &m));
	*ret = m->funcs[k->index];
	(*ret)->attrs = k->attrs;
	return CUDA_SUCCESS;
}

const char *tsdb_soft_symbol(CUfunction h)
{
	if (obj_alive(OBJ_FUNC, h))
		return ((struct func *)h)->info.name;
	if (obj_alive(OBJ_KERNEL, h))
		return ((struct kernel *)h)->info.name;
	return NULL;
}

int func_max_dynamic_shared(const struct ptx_function_info *info, const struct func_attrs *a)
{
	if (a->max_dynamic_shared >= 0)
		return a->max_dynamic_shared;
	return info->static_shared < DEV_MAX_SHARED ? (int)(DEV_MAX_SHARED - info->static_shared)
						    : 0;
}

/* --- attributes --- */

CUresult func_attribute_get(const struct ptx_function_info *info, const struct func_attrs *a,
	CUfunction_attribute which, int *ret)
{
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret = (int)info->max_threads;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret = (int)info->static_shared;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*ret = (int)info->const_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret = (int)info->local;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret = (int)(info->regs > 255 ? 255 : info->regs);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret = (int)info->target;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret = (int)device_cc();
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		*ret = 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret = func_max_dynamic_shared(info, a);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret = a->carveout;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		*ret = info->explicit_cluster && !info->cluster[0];
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*ret = (int)info->cluster[which - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		if (!info->cluster[0])
			*ret = a->required_cluster[which -
						   CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*ret = a->non_portable_cluster;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*ret = a->cluster_policy;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult func_attribute_set(struct func_attrs *a, const struct ptx_function_info *info,
	CUfunction_attribute which, int value)
{
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		REQUIRE(value >= 0 &&
			(size_t)value + info->static_shared <= MAX_SHARED_STATIC_AND_DYNAMIC);
		a->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		REQUIRE(value >= -1 && value <= 100);
		a->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		REQUIRE(value >= 0);
		a->required_cluster[which - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		a->non_portable_cluster = value != 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		a->cluster_policy = value;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult only_func(CUfunction h, struct func **ret)
{
	if (!obj_alive(OBJ_FUNC, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct func *)h;
	return CUDA_SUCCESS;
}

/* The occupancy calls take both kinds of handle ("CUDA Driver API",
 * cuOccupancyMaxActiveBlocksPerMultiprocessor). */
static CUresult info_and_attrs(
	CUfunction h, const struct ptx_function_info **info, struct func_attrs **a)
{
	if (obj_alive(OBJ_FUNC, h)) {
		*info = &((struct func *)h)->info;
		*a = &((struct func *)h)->attrs;
		return CUDA_SUCCESS;
	}
	if (!obj_alive(OBJ_KERNEL, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*info = &((struct kernel *)h)->info;
	*a = &((struct kernel *)h)->attrs;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuFuncGetAttribute, int *, pi, CUfunction_attribute, attrib, CUfunction, hfunc)
{
	struct func *f;

	REQUIRE(pi);
	TRY_CU(only_func(hfunc, &f));
	return func_attribute_get(&f->info, &f->attrs, attrib, pi);
}

DRV_DEFINE(3, cuFuncSetAttribute, CUfunction, hfunc, CUfunction_attribute, attrib, int, value)
{
	struct func *f;

	TRY_CU(only_func(hfunc, &f));
	return func_attribute_set(&f->attrs, &f->info, attrib, value);
}

DRV_DEFINE(2, cuFuncSetCacheConfig, CUfunction, hfunc, CUfunc_cache, config)
{
	struct func *f;

	TRY_CU(only_func(hfunc, &f));
	REQUIRE(config <= CU_FUNC_CACHE_PREFER_EQUAL);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuFuncSetSharedMemConfig, CUfunction, hfunc, CUsharedconfig, config)
{
	struct func *f;

	TRY_CU(only_func(hfunc, &f));
	REQUIRE(config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuFuncGetModule, CUmodule *, hmod, CUfunction, hfunc)
{
	struct func *f;

	REQUIRE(hmod);
	TRY_CU(only_func(hfunc, &f));
	*hmod = (CUmodule)f->module;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuFuncGetName, const char **, name, CUfunction, hfunc)
{
	struct func *f;

	REQUIRE(name);
	TRY_CU(only_func(hfunc, &f));
	*name = f->info.name;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuFuncGetParamInfo, CUfunction, func, size_t, paramIndex, size_t *, paramOffset,
	size_t *, paramSize)
{
	struct func *f;

	REQUIRE(paramOffset);
	TRY_CU(only_func(func, &f));
	REQUIRE(paramIndex < f->info.nparams);
	*paramOffset = f->info.params[paramIndex].offset;
	if (paramSize)
		*paramSize = f->info.params[paramIndex].size;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuFuncIsLoaded, CUfunctionLoadingState *, state, CUfunction, function)
{
	struct func *f;

	REQUIRE(state);
	TRY_CU(only_func(function, &f));
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuFuncLoad, CUfunction, function)
{
	struct func *f;

	return only_func(function, &f);
}

/* --- occupancy --- */

#define SUB_PARTITIONS 4

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Registers go to warps in units of 256, out of the file of the warp's quarter of the
 * multiprocessor ("cuda_occupancy.h"). */
static size_t blocks_by_registers(const struct ptx_function_info *info, size_t warps)
{
	size_t each = round_up((size_t)(info->regs > 255 ? 255 : info->regs) * 32, 256);

	if (!each)
		return DEV_BLOCKS_PER_SM;
	if (each * round_up(warps, SUB_PARTITIONS) > DEV_REGS_PER_SM)
		return 0;
	return DEV_REGS_PER_SM / SUB_PARTITIONS / each * SUB_PARTITIONS / warps;
}

/* Blocks of this size that one multiprocessor holds at a time. */
static int blocks_per_sm(const struct ptx_function_info *info, int block, size_t dynamic)
{
	size_t warps = ((size_t)block + 31) / 32;
	size_t regs = blocks_by_registers(info, warps);
	size_t shared = round_up(info->static_shared + dynamic, 256);
	size_t n = DEV_BLOCKS_PER_SM;

	if ((unsigned)block > info->max_threads)
		return 0;
	if (n > DEV_THREADS_PER_SM / (warps * 32))
		n = DEV_THREADS_PER_SM / (warps * 32);
	if (n > regs)
		n = regs;
	if (shared && n > DEV_SHARED_PER_SM / shared)
		n = DEV_SHARED_PER_SM / shared;
	return (int)n;
}

int func_blocks_resident(const struct func *f, unsigned threads, size_t dynamic)
{
	return blocks_per_sm(&f->info, (int)threads, dynamic) * (int)device_sm_count();
}

static CUresult max_active(int *ret, CUfunction h, int block, size_t dynamic)
{
	const struct ptx_function_info *info;
	struct func_attrs *a;

	REQUIRE(ret && block > 0);
	TRY_CU(info_and_attrs(h, &info, &a));
	*ret = block > DEV_MAX_THREADS ? 0 : blocks_per_sm(info, block, dynamic);
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, numBlocks, CUfunction, func, int,
	blockSize, size_t, dynamicSMemSize)
{
	return max_active(numBlocks, func, blockSize, dynamicSMemSize);
}

DRV_DEFINE(5, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *, numBlocks, CUfunction,
	func, int, blockSize, size_t, dynamicSMemSize, unsigned int, flags)
{
	REQUIRE(!(flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
	return max_active(numBlocks, func, blockSize, dynamicSMemSize);
}

/* The block size with the most resident threads; among equals the largest. */
static CUresult potential(int *grid, int *block, CUfunction h, CUoccupancyB2DSize shared_of,
	size_t dynamic, int limit)
{
	const struct ptx_function_info *info;
	int best = 0, best_block = 0, best_blocks = 0, b;
	struct func_attrs *a;

	REQUIRE(grid && block && limit >= 0);
	TRY_CU(info_and_attrs(h, &info, &a));
	if (!limit || limit > (int)info->max_threads)
		limit = (int)info->max_threads;
	for (b = limit; b > 0; b = b % 32 ? b / 32 * 32 : b - 32) {
		int n = blocks_per_sm(info, b, shared_of ? shared_of(b) : dynamic);

		if (n * b > best) {
			best = n * b;
			best_block = b;
			best_blocks = n;
		}
	}
	*block = best_block;
	*grid = best_blocks * (int)device_sm_count();
	return CUDA_SUCCESS;
}

DRV_DEFINE(6, cuOccupancyMaxPotentialBlockSize, int *, minGridSize, int *, blockSize, CUfunction,
	func, CUoccupancyB2DSize, blockSizeToDynamicSMemSize, size_t, dynamicSMemSize, int,
	blockSizeLimit)
{
	return potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
		blockSizeLimit);
}

DRV_DEFINE(7, cuOccupancyMaxPotentialBlockSizeWithFlags, int *, minGridSize, int *, blockSize,
	CUfunction, func, CUoccupancyB2DSize, blockSizeToDynamicSMemSize, size_t, dynamicSMemSize,
	int, blockSizeLimit, unsigned int, flags)
{
	REQUIRE(!(flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
	return potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
		blockSizeLimit);
}

DRV_DEFINE(4, cuOccupancyAvailableDynamicSMemPerBlock, size_t *, dynamicSmemSize, CUfunction, func,
	int, numBlocks, int, blockSize)
{
	const struct ptx_function_info *info;
	struct func_attrs *a;
	size_t each;

	REQUIRE(dynamicSmemSize && numBlocks > 0 && blockSize > 0);
	TRY_CU(info_and_attrs(func, &info, &a));
	each = DEV_SHARED_PER_SM / (size_t)numBlocks & ~(size_t)255;
	if (each > DEV_MAX_SHARED)
		each = DEV_MAX_SHARED;
	*dynamicSmemSize = each > info->static_shared ? each - info->static_shared : 0;
	return CUDA_SUCCESS;
}

/* --- clusters: as on compute capability 9.0, whatever the device says it is --- */
#define PORTABLE_CLUSTER 8u
#define MAX_CLUSTER 16u

CUresult func_cluster(
	const struct func *f, const unsigned *asked, const unsigned grid[3], unsigned ret[3])
{
	unsigned own[3], size = 1, i;

	memset(ret, 0, 3 * sizeof(*ret));
	for (i = 0; i < 3; i++)
		own[i] = f->info.cluster[0] ? f->info.cluster[i]
					    : (unsigned)f->attrs.required_cluster[i];
	for (i = 0; own[0] && i < 3; i++)
		own[i] = own[i] ? own[i] : 1;
	if (!asked || !asked[0])
		asked = own;
	if (!asked[0])
		return f->info.explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
	for (i = 0; i < 3; i++) {
		if (!asked[i] || asked[i] > MAX_CLUSTER || grid[i] % asked[i] ||
			(own[0] && own[i] != asked[i]))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		size *= asked[i];
	}
	if (size > (f->attrs.non_portable_cluster ? MAX_CLUSTER : PORTABLE_CLUSTER))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	memcpy(ret, asked, 3 * sizeof(*ret));
	return CUDA_SUCCESS;
}

static int resident(const struct ptx_function_info *info, const CUlaunchConfig *c)
{
	unsigned long long threads = (unsigned long long)c->blockDimX * c->blockDimY * c->blockDimZ;

	if (!threads || threads > DEV_MAX_THREADS)
		return 0;
	return blocks_per_sm(info, (int)threads, c->sharedMemBytes) * (int)device_sm_count();
}

DRV_DEFINE(3, cuOccupancyMaxPotentialClusterSize, int *, clusterSize, CUfunction, func,
	const CUlaunchConfig *, config)
{
	const struct ptx_function_info *info;
	struct func_attrs *a;
	int n, max;

	REQUIRE(clusterSize && config);
	TRY_CU(info_and_attrs(func, &info, &a));
	n = resident(info, config);
	max = a->non_portable_cluster ? (int)MAX_CLUSTER : (int)PORTABLE_CLUSTER;
	while (max > n)
		max /= 2;
	*clusterSize = max;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuOccupancyMaxActiveClusters, int *, numClusters, CUfunction, func,
	const CUlaunchConfig *, config)
{
	const struct ptx_function_info *info;
	struct func_attrs *a;
	unsigned dim[3], i;

	REQUIRE(numClusters && config && (!config->numAttrs || config->attrs));
	TRY_CU(info_and_attrs(func, &info, &a));
	for (i = 0; i < 3; i++)
		dim[i] = info->cluster[i]	  ? info->cluster[i]
			 : a->required_cluster[i] ? (unsigned)a->required_cluster[i]
						  : 1;
	for (i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			dim[0] = config->attrs[i].value.clusterDim.x;
			dim[1] = config->attrs[i].value.clusterDim.y;
			dim[2] = config->attrs[i].value.clusterDim.z;
		}
	if (!dim[0] || !dim[1] || !dim[2] || dim[0] > MAX_CLUSTER || dim[1] > MAX_CLUSTER ||
		dim[2] > MAX_CLUSTER ||
		dim[0] * dim[1] * dim[2] >
			(a->non_portable_cluster ? MAX_CLUSTER : PORTABLE_CLUSTER))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*numClusters = resident(info, config) / (int)(dim[0] * dim[1] * dim[2]);
	return CUDA_SUCCESS;
}
