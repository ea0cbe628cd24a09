/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices and contexts. The runtime initialises itself lazily: the first call that needs a context
 * retains the device's primary context and makes it current on the calling thread; later calls of
 * the thread see a thread-local mark and pay nothing.
 */
#include "softgpu/runtime/rt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "gpucode/cuda-faults.h"

#define MAX_DEVICES 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUresult init_result;
static int ndevices;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[MAX_DEVICES];
/* Bumped by cudaDeviceReset: what threads remember about the current context is void. */
static atomic_uint generation = 1;

/* A device that was reset after a fault is lost to the process: every later use is refused
 * (measured). */
static atomic_bool lost;

static __thread int current;
static __thread unsigned ready; /* the generation in which this thread got its context */

static void init_once(void)
{
	init_result = cuInit(0);
	if (!init_result)
		init_result = cuDeviceGetCount(&ndevices);
	if (ndevices > MAX_DEVICES)
		ndevices = MAX_DEVICES;
	if (!init_result && !ndevices)
		init_result = CUDA_ERROR_NO_DEVICE;
}

cudaError_t rt_init_driver(void)
{
	pthread_once(&once, init_once);
	return rt_error(init_result);
}

int rt_device(void)
{
	return current;
}

static cudaError_t use_primary(int ordinal)
{
	CUdevice dev;
	CUresult r = cuDeviceGet(&dev, ordinal);
	CUcontext ctx;

	pthread_mutex_lock(&lock);
	if (!r && !primary[ordinal])
		r = cuDevicePrimaryCtxRetain(&primary[ordinal], dev);
	ctx = primary[ordinal];
	pthread_mutex_unlock(&lock);
	return rt_error(r ? r : cuCtxSetCurrent(ctx));
}

cudaError_t rt_init(void)
{
	unsigned g = atomic_load_explicit(&generation, memory_order_acquire);
	CUcontext ctx = NULL;

	if (ready == g && tsdb_soft_current())
		return cudaSuccess;
	if (lost)
		return cudaErrorDevicesUnavailable;
	RT_TRY(rt_init_driver());
	RT_TRY(rt_error(cuCtxGetCurrent(&ctx)));
	if (!ctx)
		RT_TRY(use_primary(current));
	ready = g;
	return cudaSuccess;
}

unsigned rt_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

cudaError_t rt_check(void)
{
	size_t free, total;

	return RT_DRIVER(cuMemGetInfo(&free, &total));
}

RT_API(cudaGetDeviceCount, v3020, (int *count), (count))
{
	if (!count)
		return cudaErrorInvalidValue;
	*count = 0;
	RT_TRY(rt_init_driver());
	*count = ndevices;
	return cudaSuccess;
}

static cudaError_t set_device(int device)
{
	RT_TRY(rt_init_driver());
	if (device < 0 || device >= ndevices)
		return cudaErrorInvalidDevice;
	/* since CUDA 12 this creates the primary context ("CUDA Runtime API", cudaSetDevice) */
	RT_TRY(use_primary(device));
	current = device;
	ready = atomic_load(&generation);
	return cudaSuccess;
}

RT_API(cudaSetDevice, v3020, (int device), (device))
{
	return set_device(device);
}

RT_API(cudaInitDevice, v12000, (int device, unsigned int deviceFlags, unsigned int flags),
	(device, deviceFlags, flags))
{
	return set_device(device);
}

RT_API(cudaGetDevice, v3020, (int *device), (device))
{
	CUdevice dev;

	if (!device)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	/* a context that the program made current itself decides */
	*device = cuCtxGetDevice(&dev) ? current : dev;
	return cudaSuccess;
}

RT_API(cudaSetValidDevices, v3020, (int *device_arr, int len), (device_arr, len))
{
	RT_TRY(rt_init_driver());
	for (int i = 0; i < len; i++) {
		if (!device_arr)
			return cudaErrorInvalidValue;
		if (device_arr[i] < 0 || device_arr[i] >= ndevices)
			return cudaErrorInvalidDevice;
	}
	return cudaSuccess;
}

RT_API(cudaChooseDevice, v3020, (int *device, const struct cudaDeviceProp *prop), (device, prop))
{
	if (!device || !prop)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	*device = 0; /* all software GPUs are alike */
	return cudaSuccess;
}

RT_API(cudaSetDeviceFlags, v3020, (unsigned int flags), (flags))
{
	CUdevice dev;

	if (flags & ~(unsigned)cudaDeviceMask)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	RT_TRY(rt_error(cuDeviceGet(&dev, current)));
	return rt_error(cuDevicePrimaryCtxSetFlags(dev, flags & ~(unsigned)cudaDeviceMapHost));
}

RT_API(cudaGetDeviceFlags, v7000, (unsigned int *flags), (flags))
{
	CUdevice dev;
	int active;

	if (!flags)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	RT_TRY(rt_error(cuDeviceGet(&dev, current)));
	RT_TRY(rt_error(cuDevicePrimaryCtxGetState(dev, flags, &active)));
	*flags |= cudaDeviceMapHost;
	return cudaSuccess;
}

RT_API0(cudaDeviceSynchronize, v3020)
{
	return RT_DRIVER(cuCtxSynchronize());
}

RT_API0(cudaDeviceReset, v3020)
{
	CUdevice dev;
	CUcontext held;

	RT_TRY(rt_init_driver());
	RT_TRY(rt_error(cuDeviceGet(&dev, current)));
	pthread_mutex_lock(&lock);
	held = primary[current];
	primary[current] = NULL;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&generation, 1);
	if (!held)
		return cudaSuccess;
	if (cuda_code_is_fault(cuCtxSynchronize()))
		lost = true;
	cuCtxSetCurrent(NULL);
	RT_TRY(rt_error(cuDevicePrimaryCtxReset(dev)));
	cuDevicePrimaryCtxRelease(dev); /* fails where the reset took our reference too */
	return cudaSuccess;
}

RT_API(cudaDriverGetVersion, v3020, (int *driverVersion), (driverVersion))
{
	return driverVersion ? rt_error(cuDriverGetVersion(driverVersion)) : cudaErrorInvalidValue;
}

RT_API(cudaRuntimeGetVersion, v3020, (int *runtimeVersion), (runtimeVersion))
{
	if (!runtimeVersion)
		return cudaErrorInvalidValue;
	*runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

/* cudaLimit and CUlimit share their numbers. */
RT_API(cudaDeviceSetLimit, v3020, (enum cudaLimit limit, size_t value), (limit, value))
{
	return RT_DRIVER(cuCtxSetLimit((CUlimit)limit, value));
}

RT_API(cudaDeviceGetLimit, v3020, (size_t * pValue, enum cudaLimit limit), (pValue, limit))
{
	return RT_DRIVER(cuCtxGetLimit(pValue, (CUlimit)limit));
}

RT_API(cudaDeviceSetCacheConfig, v3020, (enum cudaFuncCache cacheConfig), (cacheConfig))
{
	return RT_DRIVER(cuCtxSetCacheConfig((CUfunc_cache)cacheConfig));
}

RT_API(cudaDeviceGetCacheConfig, v3020, (enum cudaFuncCache * pCacheConfig), (pCacheConfig))
{
	return RT_DRIVER(cuCtxGetCacheConfig((CUfunc_cache *)pCacheConfig));
}

/* Banks are 4 bytes wide and cannot be changed since Volta; both calls remain for old programs. */
RT_API(cudaDeviceSetSharedMemConfig, v4020, (enum cudaSharedMemConfig config), (config))
{
	return rt_init();
}

RT_API(cudaDeviceGetSharedMemConfig, v4020, (enum cudaSharedMemConfig * pConfig), (pConfig))
{
	if (!pConfig)
		return cudaErrorInvalidValue;
	*pConfig = cudaSharedMemBankSizeFourByte;
	return rt_init();
}

RT_API(cudaDeviceGetStreamPriorityRange, v5050, (int *leastPriority, int *greatestPriority),
	(leastPriority, greatestPriority))
{
	return RT_DRIVER(cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

RT_API0(cudaCtxResetPersistingL2Cache, v11000)
{
	return rt_init();
}

RT_API(cudaDeviceCanAccessPeer, v4000, (int *canAccessPeer, int device, int peerDevice),
	(canAccessPeer, device, peerDevice))
{
	if (!canAccessPeer)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	if (device < 0 || device >= ndevices || peerDevice < 0 || peerDevice >= ndevices)
		return cudaErrorInvalidDevice;
	return rt_error(cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

/* The other device's primary context, which is created where there is none. */
cudaError_t rt_peer_context(int peer, CUcontext *ret)
{
	CUresult r = CUDA_SUCCESS;

	RT_TRY(rt_init());
	if (peer < 0 || peer >= ndevices)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&lock);
	if (!primary[peer])
		r = cuDevicePrimaryCtxRetain(&primary[peer], peer);
	*ret = primary[peer];
	pthread_mutex_unlock(&lock);
	return rt_error(r);
}

RT_API(cudaDeviceEnablePeerAccess, v4000, (int peerDevice, unsigned int flags), (peerDevice, flags))
{
	CUcontext peer;

	RT_TRY(rt_peer_context(peerDevice, &peer));
	if (flags)
		return cudaErrorInvalidValue;
	return peerDevice == current ? cudaErrorPeerAccessUnsupported
				     : rt_error(cuCtxEnablePeerAccess(peer, 0));
}

RT_API(cudaDeviceDisablePeerAccess, v4000, (int peerDevice), (peerDevice))
{
	CUcontext peer;

	RT_TRY(rt_peer_context(peerDevice, &peer));
	return rt_error(cuCtxDisablePeerAccess(peer));
}

RT_API(cudaDeviceGetP2PAttribute, v8000,
	(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice),
	(value, attr, srcDevice, dstDevice))
{
	if (!value)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init_driver());
	if (srcDevice < 0 || srcDevice >= ndevices || dstDevice < 0 || dstDevice >= ndevices ||
		srcDevice == dstDevice)
		return cudaErrorInvalidDevice;
	return rt_error(
		cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

/* These have prototypes in "cuda_profiler_api.h" only. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

RT_API0(cudaProfilerStart, v4000)
{
	return rt_init();
}

RT_API0(cudaProfilerStop, v4000)
{
	return rt_init();
}
