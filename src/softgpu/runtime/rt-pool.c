/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools: handles, attributes and structures are the driver's.
 */
#include "softgpu/runtime/rt.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "pool properties");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "access");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "location");

RT_FORWARD(cudaDeviceGetDefaultMemPool, v11020, (cudaMemPool_t * memPool, int device),
	(memPool, device), cuDeviceGetDefaultMemPool(memPool, device))

RT_FORWARD(cudaDeviceGetMemPool, v11020, (cudaMemPool_t * memPool, int device), (memPool, device),
	cuDeviceGetMemPool(memPool, device))

RT_FORWARD(cudaDeviceSetMemPool, v11020, (int device, cudaMemPool_t memPool), (device, memPool),
	cuDeviceSetMemPool(device, memPool))

RT_FORWARD(cudaMemPoolCreate, v11020,
	(cudaMemPool_t * memPool, const struct cudaMemPoolProps *poolProps), (memPool, poolProps),
	cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps))

RT_FORWARD(
	cudaMemPoolDestroy, v11020, (cudaMemPool_t memPool), (memPool), cuMemPoolDestroy(memPool))

RT_FORWARD(cudaMemPoolSetAttribute, v11020,
	(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value), (memPool, attr, value),
	cuMemPoolSetAttribute(memPool, (CUmemPool_attribute)attr, value))

RT_FORWARD(cudaMemPoolGetAttribute, v11020,
	(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value), (memPool, attr, value),
	cuMemPoolGetAttribute(memPool, (CUmemPool_attribute)attr, value))

RT_FORWARD(cudaMemPoolSetAccess, v11020,
	(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count),
	(memPool, descList, count),
	cuMemPoolSetAccess(memPool, (const CUmemAccessDesc *)descList, count))

RT_FORWARD(cudaMemPoolGetAccess, v11020,
	(enum cudaMemAccessFlags * flags, cudaMemPool_t memPool, struct cudaMemLocation *location),
	(flags, memPool, location),
	cuMemPoolGetAccess((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location))

RT_FORWARD(cudaMemPoolTrimTo, v11020, (cudaMemPool_t memPool, size_t minBytesToKeep),
	(memPool, minBytesToKeep), cuMemPoolTrimTo(memPool, minBytesToKeep))

RT_FORWARD_PT(cudaMallocFromPoolAsync, v11020, ptsz, v11020,
	(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream),
	(ptr, size, memPool, stream),
	cuMemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, rt_stream(stream, def)))

RT_FORWARD(cudaMemGetDefaultMemPool, v13000,
	(cudaMemPool_t * memPool, struct cudaMemLocation *location,
		enum cudaMemAllocationType type),
	(memPool, location, type),
	cuMemGetDefaultMemPool(
		(CUmemoryPool *)memPool, (CUmemLocation *)location, (CUmemAllocationType)type))
RT_FORWARD(cudaMemGetMemPool, v13000,
	(cudaMemPool_t * memPool, struct cudaMemLocation *location,
		enum cudaMemAllocationType type),
	(memPool, location, type),
	cuMemGetMemPool(
		(CUmemoryPool *)memPool, (CUmemLocation *)location, (CUmemAllocationType)type))
RT_FORWARD(cudaMemSetMemPool, v13000,
	(struct cudaMemLocation * location, enum cudaMemAllocationType type, cudaMemPool_t memPool),
	(location, type, memPool),
	cuMemSetMemPool(
		(CUmemLocation *)location, (CUmemAllocationType)type, (CUmemoryPool)memPool))
