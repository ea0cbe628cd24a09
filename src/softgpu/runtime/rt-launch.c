/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: the <<<>>> code that nvcc emits, cudaLaunchKernel and its relatives, host functions.
 *
 * What nvcc 13 emits for f<<<g, b, s, t>>>(x): __cudaPushCallConfiguration, then the stub:
 * __cudaGetKernel once, into a static variable, __cudaPopCallConfiguration, __cudaLaunchKernel. The
 * stub drops __cudaGetKernel's error, so it is kept here for the launch that follows with a null
 * handle. A grid or block of a wrong shape is "invalid argument", the driver's answer (measured
 * with the vendor's runtime 13.0; older ones said "invalid configuration").
 */
#include "softgpu/runtime/rt.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CONFIG_DEPTH 16 /* kernel launches inside the argument lists of launches */

struct config {
	dim3 grid, block;
	size_t shared;
	CUstream stream;
};

static __thread struct config configs[CONFIG_DEPTH];
static __thread unsigned depth;
static _Atomic(cudaError_t) get_kernel_error;

RT_EXPORT unsigned CUDARTAPI __cudaPushCallConfiguration(
	dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
RT_EXPORT cudaError_t CUDARTAPI __cudaPopCallConfiguration(
	dim3 *grid, dim3 *block, size_t *shared, void *stream);
RT_EXPORT cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *kernel, const void *func);
RT_EXPORT cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
	void **args, size_t sharedMem, cudaStream_t stream);
RT_EXPORT cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim,
	dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);

unsigned __cudaPushCallConfiguration(
	dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	if (depth == CONFIG_DEPTH)
		return 1; /* not 0: the stub is not called */
	configs[depth++] = (struct config){grid, block, shared, stream};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	const struct config *c;

	if (!depth)
		return cudaErrorMissingConfiguration;
	c = &configs[--depth];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*(CUstream *)stream = c->stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	cudaError_t err = rt_kernel(func, kernel);

	if (err)
		atomic_store(&get_kernel_error, err);
	return err;
}

/* NVIDIA's runtime asks for the kernel's name before each launch (seen with 13.0), from which
 * observers learn what is launched. */
static cudaError_t launch(CUkernel k, dim3 g, dim3 b, void **args, size_t shared, CUstream stream)
{
	const char *name;

	if (shared > UINT32_MAX)
		return cudaErrorInvalidValue;
	(void)cuKernelGetName(&name, k);
	return rt_error(cuLaunchKernel(
		(CUfunction)k, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args, NULL));
}

static cudaError_t launch_handle(
	CUkernel k, dim3 g, dim3 b, void **args, size_t shared, CUstream stream)
{
	cudaError_t err = rt_init();

	if (err)
		return err;
	if (!k) {
		err = atomic_load(&get_kernel_error);
		return err ? err : cudaErrorInvalidResourceHandle;
	}
	return launch(k, g, b, args, shared, stream);
}

static cudaError_t launch_func(
	const void *func, dim3 g, dim3 b, void **args, size_t shared, CUstream stream)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return launch(k, g, b, args, shared, stream);
}

RT_API_PT(cudaLaunchKernel, v7000, ptsz, v7000,
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
		cudaStream_t stream),
	(func, gridDim, blockDim, args, sharedMem, stream))
{
	return launch_func(func, gridDim, blockDim, args, sharedMem, rt_stream(stream, def));
}

/* Tools see <<<>>> as cudaLaunchKernel: CUPTI has a callback id for __cudaLaunchKernel but no
 * structure for its parameters. */
#define LAUNCH_HANDLE(entry, cb, def)                                                              \
	cudaError_t entry(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,           \
		size_t sharedMem, cudaStream_t stream)                                             \
	{                                                                                          \
		struct rt_call call = RT_CALL(cb, "cudaLaunchKernel",                              \
			(&(cb##_params){kernel, gridDim, blockDim, args, sharedMem, stream}));     \
		rt_enter(&call);                                                                   \
		return rt_leave(&call, launch_handle(kernel, gridDim, blockDim, args, sharedMem,   \
					       rt_stream(stream, def)));                           \
	}

LAUNCH_HANDLE(__cudaLaunchKernel, cudaLaunchKernel_v7000, RT_LEGACY)
LAUNCH_HANDLE(__cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz_v7000, CU_STREAM_PER_THREAD)

RT_API_PT(cudaLaunchCooperativeKernel, v9000, ptsz, v9000,
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
		cudaStream_t stream),
	(func, gridDim, blockDim, args, sharedMem, stream))
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return rt_error(cuLaunchCooperativeKernel((CUfunction)k, gridDim.x, gridDim.y, gridDim.z,
		blockDim.x, blockDim.y, blockDim.z, (unsigned)sharedMem, rt_stream(stream, def),
		args));
}

/* cudaLaunchAttribute and CUlaunchAttribute are one type since CUDA 12. */
CUlaunchConfig rt_launch_config(const cudaLaunchConfig_t *config)
{
	return (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
}

RT_API_PT(cudaLaunchKernelExC, v11060, ptsz, v11060,
	(const cudaLaunchConfig_t *config, const void *func, void **args), (config, func, args))
{
	CUkernel k;
	CUlaunchConfig c;

	if (!config || config->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &k));
	c = rt_launch_config(config);
	c.hStream = rt_stream(config->stream, def);
	return rt_error(cuLaunchKernelEx(&c, (CUfunction)k, args, NULL));
}

RT_API_PT(cudaLaunchHostFunc, v10000, ptsz, v10000,
	(cudaStream_t stream, cudaHostFn_t fn, void *userData), (stream, fn, userData))
{
	return RT_DRIVER(cuLaunchHostFunc(rt_stream(stream, def), fn, userData));
}
