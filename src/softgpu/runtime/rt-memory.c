/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation, pinned and managed memory, and questions about pointers.
 */
#include "softgpu/runtime/rt.h"

#include <limits.h>
#include <string.h>

#define ROW_ALIGN 512u /* of cudaMallocPitch and cudaMalloc3D */

/* cudaMalloc of 0 bytes succeeds with a null pointer, unlike cuMemAlloc. */
static cudaError_t device_alloc(void **ret, size_t size)
{
	if (!ret)
		return cudaErrorInvalidValue;
	if (!size) {
		*ret = NULL;
		return rt_check();
	}
	return RT_DRIVER(cuMemAlloc((CUdeviceptr *)ret, size));
}

RT_API(cudaMalloc, v3020, (void **devPtr, size_t size), (devPtr, size))
{
	return device_alloc(devPtr, size);
}

RT_API(cudaIpcGetMemHandle, v4010, (cudaIpcMemHandle_t * handle, void *devPtr), (handle, devPtr))
{
	return RT_DRIVER(cuIpcGetMemHandle((CUipcMemHandle *)handle, (CUdeviceptr)devPtr));
}

RT_API(cudaIpcOpenMemHandle, v4010, (void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags),
	(devPtr, handle, flags))
{
	CUipcMemHandle h;

	memcpy(&h, &handle, sizeof(h));
	return RT_DRIVER(cuIpcOpenMemHandle((CUdeviceptr *)devPtr, h, flags));
}

RT_API(cudaIpcCloseMemHandle, v4010, (void *devPtr), (devPtr))
{
	return RT_DRIVER(cuIpcCloseMemHandle((CUdeviceptr)devPtr));
}

RT_API(cudaFree, v3020, (void *devPtr), (devPtr))
{
	/* cudaFree(0) is the customary way to create the context. */
	return devPtr ? RT_DRIVER(cuMemFree((CUdeviceptr)devPtr)) : rt_check();
}

static bool pitch_of(size_t width, size_t *ret)
{
	*ret = (width + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
	return *ret >= width;
}

RT_API(cudaMallocPitch, v3020, (void **devPtr, size_t *pitch, size_t width, size_t height),
	(devPtr, pitch, width, height))
{
	size_t size;

	if (!devPtr || !pitch || !pitch_of(width, pitch) ||
		__builtin_mul_overflow(*pitch, height, &size))
		return cudaErrorInvalidValue;
	return device_alloc(devPtr, size);
}

RT_API(cudaMalloc3D, v3020, (struct cudaPitchedPtr * pitchedDevPtr, struct cudaExtent extent),
	(pitchedDevPtr, extent))
{
	size_t size;
	struct cudaPitchedPtr p = {.xsize = extent.width, .ysize = extent.height};

	if (!pitchedDevPtr || !pitch_of(extent.width, &p.pitch) ||
		__builtin_mul_overflow(p.pitch, extent.height, &size) ||
		__builtin_mul_overflow(size, extent.depth, &size))
		return cudaErrorInvalidValue;
	RT_TRY(device_alloc(&p.ptr, size));
	*pitchedDevPtr = p;
	return cudaSuccess;
}

RT_API(cudaMallocManaged, v6000, (void **devPtr, size_t size, unsigned int flags),
	(devPtr, size, flags))
{
	if (!devPtr)
		return cudaErrorInvalidValue;
	if (!size) {
		*devPtr = NULL;
		return rt_check();
	}
	return RT_DRIVER(cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags));
}

RT_API(cudaMallocHost, v3020, (void **ptr, size_t size), (ptr, size))
{
	if (!ptr)
		return cudaErrorInvalidValue;
	if (!size) {
		*ptr = NULL;
		return rt_check();
	}
	return RT_DRIVER(cuMemAllocHost(ptr, size));
}

/* cudaHostAlloc's flags have the driver's numbers. */
RT_API(cudaHostAlloc, v3020, (void **pHost, size_t size, unsigned int flags), (pHost, size, flags))
{
	if (!pHost)
		return cudaErrorInvalidValue;
	if (!size) {
		*pHost = NULL;
		return rt_check();
	}
	return RT_DRIVER(cuMemHostAlloc(pHost, size, flags));
}

RT_API(cudaFreeHost, v3020, (void *ptr), (ptr))
{
	return ptr ? RT_DRIVER(cuMemFreeHost(ptr)) : rt_check();
}

RT_API(cudaHostRegister, v4000, (void *ptr, size_t size, unsigned int flags), (ptr, size, flags))
{
	return RT_DRIVER(cuMemHostRegister(ptr, size, flags));
}

RT_API(cudaHostUnregister, v4000, (void *ptr), (ptr))
{
	return RT_DRIVER(cuMemHostUnregister(ptr));
}

RT_API(cudaHostGetDevicePointer, v3020, (void **pDevice, void *pHost, unsigned int flags),
	(pDevice, pHost, flags))
{
	return RT_DRIVER(cuMemHostGetDevicePointer((CUdeviceptr *)pDevice, pHost, flags));
}

RT_API(cudaHostGetFlags, v3020, (unsigned int *pFlags, void *pHost), (pFlags, pHost))
{
	return RT_DRIVER(cuMemHostGetFlags(pFlags, pHost));
}

RT_API_PT(cudaMallocAsync, v11020, ptsz, v11020, (void **devPtr, size_t size, cudaStream_t hStream),
	(devPtr, size, hStream))
{
	if (!devPtr)
		return cudaErrorInvalidValue;
	if (!size) {
		*devPtr = NULL;
		return rt_check();
	}
	return RT_DRIVER(cuMemAllocAsync((CUdeviceptr *)devPtr, size, rt_stream(hStream, def)));
}

RT_API_PT(cudaFreeAsync, v11020, ptsz, v11020, (void *devPtr, cudaStream_t hStream),
	(devPtr, hStream))
{
	return devPtr ? RT_DRIVER(cuMemFreeAsync((CUdeviceptr)devPtr, rt_stream(hStream, def)))
		      : rt_check();
}

RT_API(cudaMemGetInfo, v3020, (size_t * free, size_t *total), (free, total))
{
	size_t unwanted; /* either may be NULL (measured) */

	return RT_DRIVER(cuMemGetInfo(free ? free : &unwanted, total ? total : &unwanted));
}

/* The runtime's places have the driver's numbers. */
static CUmemLocation location_of(struct cudaMemLocation l)
{
	return (CUmemLocation){.type = (CUmemLocationType)l.type, .id = l.id};
}

RT_FORWARD(cudaMemAdvise, v12020,
	(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
		struct cudaMemLocation location),
	(devPtr, count, advice, location),
	cuMemAdvise_v2((CUdeviceptr)devPtr, count, (CUmem_advise)advice, location_of(location)))

RT_FORWARD_PT(cudaMemPrefetchAsync, v12020, ptsz, v12020,
	(const void *devPtr, size_t count, struct cudaMemLocation location, unsigned int flags,
		cudaStream_t stream),
	(devPtr, count, location, flags, stream),
	cuMemPrefetchAsync_v2(
		(CUdeviceptr)devPtr, count, location_of(location), flags, rt_stream(stream, def)))

RT_FORWARD_PT(cudaMemPrefetchBatchAsync, v13000, ptsz, v13000,
	(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
		size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
		cudaStream_t stream),
	(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream),
	cuMemPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count, (CUmemLocation *)prefetchLocs,
		prefetchLocIdxs, numPrefetchLocs, flags, rt_stream(stream, def)))

RT_FORWARD_PT(cudaMemDiscardBatchAsync, v13000, ptsz, v13000,
	(void **dptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream),
	(dptrs, sizes, count, flags, stream),
	cuMemDiscardBatchAsync((CUdeviceptr *)dptrs, sizes, count, flags, rt_stream(stream, def)))

RT_FORWARD_PT(cudaMemDiscardAndPrefetchBatchAsync, v13000, ptsz, v13000,
	(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
		size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
		cudaStream_t stream),
	(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream),
	cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count,
		(CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
		rt_stream(stream, def)))

RT_API_PT(cudaStreamAttachMemAsync, v6000, ptsz, v7000,
	(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags),
	(stream, devPtr, length, flags))
{
	return RT_DRIVER(
		cuStreamAttachMemAsync(rt_stream(stream, def), (CUdeviceptr)devPtr, length, flags));
}

RT_FORWARD(cudaMemRangeGetAttribute, v8000,
	(void *data, size_t dataSize, enum cudaMemRangeAttribute attribute, const void *devPtr,
		size_t count),
	(data, dataSize, attribute, devPtr, count),
	cuMemRangeGetAttribute(
		data, dataSize, (CUmem_range_attribute)attribute, (CUdeviceptr)devPtr, count))

RT_FORWARD(cudaMemRangeGetAttributes, v8000,
	(void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
		size_t numAttributes, const void *devPtr, size_t count),
	(data, dataSizes, attributes, numAttributes, devPtr, count),
	cuMemRangeGetAttributes(data, dataSizes, (CUmem_range_attribute *)attributes, numAttributes,
		(CUdeviceptr)devPtr, count))

static enum cudaMemoryType memory_type(CUdeviceptr p)
{
	unsigned type = 0, managed = 0;

	if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p))
		return cudaMemoryTypeUnregistered;
	if (!cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p) && managed)
		return cudaMemoryTypeManaged;
	return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

/* A pointer that CUDA does not know is no error since CUDA 11: its type is
 * cudaMemoryTypeUnregistered. */
RT_API(cudaPointerGetAttributes, v4000,
	(struct cudaPointerAttributes * attributes, const void *ptr), (attributes, ptr))
{
	CUdeviceptr p = (CUdeviceptr)ptr;
	struct cudaPointerAttributes a = {.device = rt_device()};

	if (!attributes)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	a.type = memory_type(p);
	if (a.type == cudaMemoryTypeUnregistered) {
		a.device = -2; /* cudaInvalidDeviceId */
		a.hostPointer = (void *)ptr;
	} else {
		cuPointerGetAttribute(&a.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p);
		cuPointerGetAttribute(&a.devicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
		if (a.type != cudaMemoryTypeDevice)
			cuPointerGetAttribute(&a.hostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, p);
	}
	*attributes = a;
	return cudaSuccess;
}
