/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about kernels: attributes, parameters, occupancy; libraries that the program loads
 * itself; driver entry points.
 */
#include "softgpu/runtime/rt.h"

#include <string.h>

static int attribute(CUkernel k, CUfunction_attribute a)
{
	CUdevice dev;
	int v = 0;

	if (cuDeviceGet(&dev, rt_device()) || cuKernelGetAttribute(&v, a, k, dev))
		return 0;
	return v;
}

RT_API(cudaFuncGetAttributes, v3020, (struct cudaFuncAttributes * attr, const void *func),
	(attr, func))
{
	CUkernel k;

	if (!attr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &k));
	*attr = (struct cudaFuncAttributes){
		.sharedSizeBytes = (size_t)attribute(k, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.constSizeBytes = (size_t)attribute(k, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
		.localSizeBytes = (size_t)attribute(k, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
		.maxThreadsPerBlock = attribute(k, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		.numRegs = attribute(k, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.ptxVersion = attribute(k, CU_FUNC_ATTRIBUTE_PTX_VERSION),
		.binaryVersion = attribute(k, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
		.maxDynamicSharedSizeBytes =
			attribute(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
		.preferredShmemCarveout =
			attribute(k, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
	};
	return cudaSuccess;
}

/* cudaFuncAttribute and CUfunction_attribute share their numbers from 8 on. */
static cudaError_t set_attribute(CUkernel k, enum cudaFuncAttribute attr, int value, int device)
{
	CUdevice dev;

	if ((unsigned)attr < cudaFuncAttributeMaxDynamicSharedMemorySize ||
		(unsigned)attr >= cudaFuncAttributeMax)
		return cudaErrorInvalidValue;
	RT_TRY(rt_error(cuDeviceGet(&dev, device)));
	return rt_error(cuKernelSetAttribute((CUfunction_attribute)attr, value, k, dev));
}

RT_API(cudaFuncSetAttribute, v9000, (const void *func, enum cudaFuncAttribute attr, int value),
	(func, attr, value))
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return set_attribute(k, attr, value, rt_device());
}

RT_API(cudaKernelSetAttributeForDevice, v12060,
	(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value, int device),
	(kernel, attr, value, device))
{
	RT_TRY(rt_init());
	return kernel ? set_attribute(kernel, attr, value, device) : cudaErrorInvalidResourceHandle;
}

RT_API(cudaFuncSetCacheConfig, v3020, (const void *func, enum cudaFuncCache cacheConfig),
	(func, cacheConfig))
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k)); /* a preference; the software GPU has no cache to divide */
	return (unsigned)cacheConfig > cudaFuncCachePreferEqual ? cudaErrorInvalidValue
								: cudaSuccess;
}

RT_API(cudaFuncSetSharedMemConfig, v4020, (const void *func, enum cudaSharedMemConfig config),
	(func, config))
{
	CUkernel k;

	return rt_kernel(func, &k);
}

RT_API(cudaFuncGetName, v12030, (const char **name, const void *func), (name, func))
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return rt_error(cuKernelGetName(name, k));
}

RT_API(cudaFuncGetParamInfo, v12040,
	(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize),
	(func, paramIndex, paramOffset, paramSize))
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return rt_error(cuKernelGetParamInfo(k, paramIndex, paramOffset, paramSize));
}

/* --- occupancy --- */

static cudaError_t occupancy(int *blocks, const void *func, int size, size_t shared, unsigned flags)
{
	CUfunction f;

	if (!blocks)
		return cudaErrorInvalidValue;
	RT_TRY(rt_function(func, &f));
	return rt_error(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		blocks, f, size, shared, flags));
}

RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, v6050,
	(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize),
	(numBlocks, func, blockSize, dynamicSMemSize))
{
	return occupancy(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, v7000,
	(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize,
		unsigned int flags),
	(numBlocks, func, blockSize, dynamicSMemSize, flags))
{
	return occupancy(numBlocks, func, blockSize, dynamicSMemSize, flags);
}

RT_API(cudaOccupancyAvailableDynamicSMemPerBlock, v10200,
	(size_t * dynamicSmemSize, const void *func, int numBlocks, int blockSize),
	(dynamicSmemSize, func, numBlocks, blockSize))
{
	CUfunction f;

	RT_TRY(rt_function(func, &f));
	return rt_error(
		cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, f, numBlocks, blockSize));
}

RT_API(cudaOccupancyMaxActiveClusters, v11070,
	(int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig),
	(numClusters, func, launchConfig))
{
	CUlaunchConfig c;
	CUfunction f;

	if (!numClusters || !launchConfig || launchConfig->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_function(func, &f));
	c = rt_launch_config(launchConfig);
	return rt_error(cuOccupancyMaxActiveClusters(numClusters, f, &c));
}

RT_API(cudaOccupancyMaxPotentialClusterSize, v11070,
	(int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig),
	(clusterSize, func, launchConfig))
{
	CUlaunchConfig c;
	CUfunction f;

	if (!clusterSize || !launchConfig || launchConfig->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_function(func, &f));
	c = rt_launch_config(launchConfig);
	return rt_error(cuOccupancyMaxPotentialClusterSize(clusterSize, f, &c));
}

/* --- libraries --- */

/* cudaJitOption and cudaLibraryOption have the driver's numbers. */
RT_API(cudaLibraryLoadData, v12060,
	(cudaLibrary_t * library, const void *code, enum cudaJitOption *jitOptions,
		void **jitOptionsValues, unsigned int numJitOptions,
		enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
		unsigned int numLibraryOptions),
	(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
		libraryOptionValues, numLibraryOptions))
{
	return RT_DRIVER(cuLibraryLoadData(library, code, (CUjit_option *)jitOptions,
		jitOptionsValues, numJitOptions, (CUlibraryOption *)libraryOptions,
		libraryOptionValues, numLibraryOptions));
}

RT_API(cudaLibraryUnload, v12060, (cudaLibrary_t library), (library))
{
	return RT_DRIVER(cuLibraryUnload(library));
}

RT_API(cudaLibraryGetKernel, v12060,
	(cudaKernel_t * pKernel, cudaLibrary_t library, const char *name), (pKernel, library, name))
{
	RT_TRY(RT_DRIVER(cuLibraryGetKernel(pKernel, library, name)));
	return rt_kernel_add(*pKernel) ? cudaSuccess : cudaErrorMemoryAllocation;
}

RT_API(cudaLibraryGetGlobal, v12060,
	(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name),
	(dptr, bytes, library, name))
{
	return RT_DRIVER(cuLibraryGetGlobal((CUdeviceptr *)dptr, bytes, library, name));
}

RT_FORWARD(cudaLibraryLoadFromFile, v12060,
	(cudaLibrary_t * library, const char *fileName, enum cudaJitOption *jitOptions,
		void **jitOptionsValues, unsigned int numJitOptions,
		enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
		unsigned int numLibraryOptions),
	(library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
		libraryOptionValues, numLibraryOptions),
	cuLibraryLoadFromFile(library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
		numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
		numLibraryOptions))

RT_FORWARD(cudaLibraryGetManaged, v12060,
	(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name),
	(dptr, bytes, library, name),
	cuLibraryGetManaged((CUdeviceptr *)dptr, bytes, library, name))

RT_FORWARD(cudaLibraryGetKernelCount, v12060, (unsigned int *count, cudaLibrary_t lib),
	(count, lib), cuLibraryGetKernelCount(count, lib))

RT_API(cudaLibraryEnumerateKernels, v12060,
	(cudaKernel_t * kernels, unsigned int numKernels, cudaLibrary_t lib),
	(kernels, numKernels, lib))
{
	unsigned have;

	if (!kernels)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuLibraryGetKernelCount(&have, lib)));
	RT_TRY(rt_error(cuLibraryEnumerateKernels(kernels, numKernels, lib)));
	for (unsigned i = 0; i < numKernels && i < have; i++) {
		if (!rt_kernel_add(kernels[i]))
			return cudaErrorMemoryAllocation;
	}
	return cudaSuccess;
}

/* --- driver entry points --- */

static cudaError_t entry_point(const char *symbol, void **ret, int version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *status, bool per_thread)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	CUresult r;

	RT_TRY(rt_init_driver());
	if (per_thread && flags == cudaEnableDefault)
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	r = cuGetProcAddress(symbol, ret, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	if (r == CUDA_ERROR_NOT_FOUND) /* no error, whether or not the caller looks at *status
					  (measured) */
		r = CUDA_SUCCESS;
	return rt_error(r);
}

RT_API_PT(cudaGetDriverEntryPoint, v11030, ptsz, v11030,
	(const char *symbol, void **funcPtr, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *driverStatus),
	(symbol, funcPtr, flags, driverStatus))
{
	return entry_point(symbol, funcPtr, CUDART_VERSION, flags, driverStatus, def);
}

RT_API_PT(cudaGetDriverEntryPointByVersion, v12050, ptsz, v12050,
	(const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *driverStatus),
	(symbol, funcPtr, cudaVersion, flags, driverStatus))
{
	return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus, def);
}
