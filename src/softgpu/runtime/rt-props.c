/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device is: cudaGetDeviceProperties, filled attribute by attribute from the driver, and
 * single attributes, whose numbers are the driver's ("cuda.h", CUdevice_attribute;
 * "driver_types.h", cudaDeviceAttr).
 */
#include "softgpu/runtime/rt.h"

#include <stdio.h>
#include <string.h>

struct prop {
	unsigned short offset, size; /* of the field; size 4 or 8 */
	CUdevice_attribute attribute;
};

#define P(field, attr)                                                                             \
	{                                                                                          \
		offsetof(struct cudaDeviceProp, field),                                            \
			sizeof(((struct cudaDeviceProp *)0)->field), CU_DEVICE_ATTRIBUTE_##attr    \
	}

static const struct prop props[] = {
	P(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
	P(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
	P(warpSize, WARP_SIZE),
	P(memPitch, MAX_PITCH),
	P(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	P(maxThreadsDim[0], MAX_BLOCK_DIM_X),
	P(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
	P(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
	P(maxGridSize[0], MAX_GRID_DIM_X),
	P(maxGridSize[1], MAX_GRID_DIM_Y),
	P(maxGridSize[2], MAX_GRID_DIM_Z),
	P(totalConstMem, TOTAL_CONSTANT_MEMORY),
	P(major, COMPUTE_CAPABILITY_MAJOR),
	P(minor, COMPUTE_CAPABILITY_MINOR),
	P(textureAlignment, TEXTURE_ALIGNMENT),
	P(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
	P(multiProcessorCount, MULTIPROCESSOR_COUNT),
	P(integrated, INTEGRATED),
	P(canMapHostMemory, CAN_MAP_HOST_MEMORY),
	P(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
	P(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
	P(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
	P(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
	P(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
	P(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
	P(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
	P(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
	P(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
	P(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
	P(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
	P(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
	P(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
	P(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
	P(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
	P(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
	P(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
	P(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
	P(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
	P(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
	P(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
	P(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
	P(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
	P(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
	P(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
	P(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
	P(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
	P(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
	P(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
	P(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
	P(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
	P(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
	P(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
	P(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
	P(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
	P(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
	P(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
	P(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
	P(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
	P(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
	P(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
	P(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
	P(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
	P(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
	P(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
	P(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
	P(ipcEventSupported, IPC_EVENT_SUPPORTED),
	P(surfaceAlignment, SURFACE_ALIGNMENT),
	P(concurrentKernels, CONCURRENT_KERNELS),
	P(ECCEnabled, ECC_ENABLED),
	P(pciBusID, PCI_BUS_ID),
	P(pciDeviceID, PCI_DEVICE_ID),
	P(pciDomainID, PCI_DOMAIN_ID),
	P(tccDriver, TCC_DRIVER),
	P(asyncEngineCount, ASYNC_ENGINE_COUNT),
	P(unifiedAddressing, UNIFIED_ADDRESSING),
	P(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
	P(l2CacheSize, L2_CACHE_SIZE),
	P(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
	P(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
	P(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
	P(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
	P(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
	P(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
	P(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
	P(managedMemory, MANAGED_MEMORY),
	P(isMultiGpuBoard, MULTI_GPU_BOARD),
	P(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
	P(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
	P(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
	P(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
	P(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
	P(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
	P(cooperativeLaunch, COOPERATIVE_LAUNCH),
	P(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	P(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
	P(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
	P(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
	P(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
	P(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
	P(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
	P(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
	P(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
	P(clusterLaunch, CLUSTER_LAUNCH),
	P(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
	P(deviceNumaId, NUMA_ID),
	P(hostNumaId, HOST_NUMA_ID),
};

static cudaError_t device_of(int ordinal, CUdevice *ret)
{
	RT_TRY(rt_init_driver());
	return cuDeviceGet(ret, ordinal) ? cudaErrorInvalidDevice : cudaSuccess;
}

RT_API(cudaGetDeviceProperties, v12000, (struct cudaDeviceProp * prop, int device), (prop, device))
{
	CUdevice dev;

	if (!prop)
		return cudaErrorInvalidValue;
	RT_TRY(device_of(device, &dev));
	memset(prop, 0, sizeof *prop);
	for (unsigned i = 0; i < RT_COUNT(props); i++) {
		char *field = (char *)prop + props[i].offset;
		int v = 0;

		cuDeviceGetAttribute(&v, props[i].attribute, dev); /* unknown: 0 */
		if (props[i].size == sizeof(size_t))
			*(size_t *)field = (size_t)v;
		else
			*(int *)field = v;
	}
	RT_TRY(rt_error(cuDeviceGetName(prop->name, sizeof prop->name, dev)));
	RT_TRY(rt_error(cuDeviceGetUuid((CUuuid *)&prop->uuid, dev)));
	return rt_error(cuDeviceTotalMem(&prop->totalGlobalMem, dev));
}

RT_API(cudaDeviceGetAttribute, v5000, (int *value, enum cudaDeviceAttr attr, int device),
	(value, attr, device))
{
	CUdevice dev;

	if (!value)
		return cudaErrorInvalidValue;
	RT_TRY(device_of(device, &dev));
	return rt_error(cuDeviceGetAttribute(value, (CUdevice_attribute)attr, dev));
}

/* "domain:bus:device.0", lower-case hexadecimal, cut to len bytes. */
RT_API(cudaDeviceGetPCIBusId, v4010, (char *pciBusId, int len, int device), (pciBusId, len, device))
{
	CUdevice dev;
	int domain = 0, bus = 0, slot = 0;

	if (!pciBusId || len <= 0)
		return cudaErrorInvalidValue;
	RT_TRY(device_of(device, &dev));
	cuDeviceGetAttribute(&domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, dev);
	cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, dev);
	cuDeviceGetAttribute(&slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, dev);
	snprintf(pciBusId, (size_t)len, "%04x:%02x:%02x.0", domain, bus, slot);
	return cudaSuccess;
}

/* As scanf reads it: "[domain:]bus:device.function", hexadecimal. */
RT_API(cudaDeviceGetByPCIBusId, v4010, (int *device, const char *pciBusId), (device, pciBusId))
{
	CUdevice dev;

	if (!device || !pciBusId)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	if (cuDeviceGetByPCIBusId(&dev, pciBusId))
		return cudaErrorInvalidDevice;
	*device = dev;
	return cudaSuccess;
}

RT_EXPORT struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(
	int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
