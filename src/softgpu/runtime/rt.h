/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's CUDA runtime (libcudart.so.13), private to src/softgpu/runtime. It is a thin
 * layer: everything happens in the driver (libcuda.so.1 beside it), through its public entry
 * points, so a tool that watches the driver sees what it would see under the vendor's runtime.
 *
 * Each entry point is written as RT_API(name, version, (parameters), (arguments)) followed by its
 * body. The macro makes the exported function: it reports entry and exit to CUPTI's runtime domain
 * (rt-trace.c) and keeps the thread's last error. version is the one in the callback id,
 * "cupti_runtime_cbid.h". RT_API_PT makes two functions: name, for which stream 0 is the legacy
 * default stream, and name_ptsz or name_ptds (nvcc --default-stream per-thread), for which it is
 * the thread's own; the body sees the parameter def, the stream that 0 means.
 */
#ifndef SOFTGPU_RT_H
#define SOFTGPU_RT_H

#include "softgpu/driver/soft.h"

#include <cuda.h>
#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_EXPORT __attribute__((visibility("default")))
#define RT_UNPAREN(...) __VA_ARGS__
#define RT_COUNT(a) (sizeof(a) / sizeof *(a))

struct rt_call {
	struct soft_call soft;
	cudaError_t result;
	bool watched; /* there was a subscriber at entry */
};

void rt_enter(struct rt_call *call);
/* Remembers a failure as the thread's last error, reports the exit, returns err. */
cudaError_t rt_leave(struct rt_call *call, cudaError_t err);
/* The report alone. */
void rt_trace_leave(struct rt_call *call, cudaError_t err);
/* rt-error.c: makes err, unless it is success, the thread's last error; returns it. */
cudaError_t rt_last_error(cudaError_t err);

/* parameters: the call's structure of generated_cuda_runtime_api_meta.h; NULL when it has none */
#define RT_CALL(cb, call_name, parameters)                                                         \
	{                                                                                          \
		.soft = {.domain = SOFT_RUNTIME,                                                   \
			.cbid = CUPTI_RUNTIME_TRACE_CBID_##cb,                                     \
			.name = call_name,                                                         \
			.params = parameters},                                                     \
	}

#define RT_ENTRY_(entry, cb, parm, params, invoke)                                                 \
	RT_EXPORT cudaError_t CUDARTAPI entry params                                               \
	{                                                                                          \
		struct rt_call call_ = RT_CALL(cb, #entry, (parm));                                \
		rt_enter(&call_);                                                                  \
		return rt_leave(&call_, invoke);                                                   \
	}

#define RT_API(name, version, params, args)                                                        \
	static cudaError_t name##_do params;                                                       \
	RT_ENTRY_(name, name##_##version, (&(name##_##version##_params){RT_UNPAREN args}), params, \
		name##_do args)                                                                    \
	static cudaError_t name##_do params

#define RT_API0(name, version)                                                                     \
	static cudaError_t name##_do(void);                                                        \
	RT_ENTRY_(name, name##_##version, NULL, (void), name##_do())                               \
	static cudaError_t name##_do(void)

/* suffix: ptsz or ptds, with the version of its own callback id. */
#define RT_API_PT(name, version, suffix, suffix_version, params, args)                             \
	static cudaError_t name##_do(CUstream def, RT_UNPAREN params);                             \
	RT_ENTRY_(name, name##_##version, (&(name##_##version##_params){RT_UNPAREN args}), params, \
		name##_do(RT_LEGACY, RT_UNPAREN args))                                             \
	cudaError_t CUDARTAPI name##_##suffix params;                                              \
	RT_ENTRY_(name##_##suffix, name##_##suffix##_##suffix_version,                             \
		(&(name##_##suffix##_##suffix_version##_params){RT_UNPAREN args}), params,         \
		name##_do(CU_STREAM_PER_THREAD, RT_UNPAREN args))                                  \
	static cudaError_t name##_do(CUstream def, RT_UNPAREN params)

/* A call that is the driver's call of another name, made in a context. */
#define RT_FORWARD(name, version, params, args, call)                                              \
	RT_API(name, version, params, args)                                                        \
	{                                                                                          \
		return RT_DRIVER(call);                                                            \
	}
#define RT_FORWARD_PT(name, version, suffix, suffix_version, params, args, call)                   \
	RT_API_PT(name, version, suffix, suffix_version, params, args)                             \
	{                                                                                          \
		return RT_DRIVER(call);                                                            \
	}

/* The driver sees stream 0 as NULL, as it does under the vendor's runtime. */
#define RT_LEGACY ((CUstream)0)

/* The driver's stream for a runtime stream. */
static inline CUstream rt_stream(cudaStream_t stream, CUstream def)
{
	return stream ? (CUstream)stream : def;
}

/* The numbers of CUresult and cudaError_t agree since CUDA 10.1 ("CUDA Runtime API", cudaError). */
static inline cudaError_t rt_error(CUresult r)
{
	return (cudaError_t)r;
}

/* The calling thread has a current context afterwards: the one that the program made current
 * through the driver API, else the primary context of its device, created by the first call that
 * needs one. Any thread. */
cudaError_t rt_init(void);
/* The same, and the context must be in order: a fault in it is returned. For calls that need not
 * ask the driver anything. */
cudaError_t rt_check(void);
/* Changes when contexts have gone: what was found in one of them has to be asked for again. */
unsigned rt_generation(void);
/* A device's primary context, created where there is none; the calling thread's does not change. */
cudaError_t rt_peer_context(int device, CUcontext *ret);
/* cuInit and nothing more. */
cudaError_t rt_init_driver(void);
/* The ordinal of the calling thread's device. */
int rt_device(void);
/* Runs a driver call in a context. */
#define RT_DRIVER(call)                                                                            \
	({                                                                                         \
		cudaError_t e_ = rt_init();                                                        \
		e_ ? e_ : rt_error(call);                                                          \
	})
#define RT_TRY(expr)                                                                               \
	do {                                                                                       \
		cudaError_t try_ = (expr);                                                         \
		if (try_)                                                                          \
			return try_;                                                               \
	} while (0)

/* rt-module.c: what nvcc's start-up code registered. */

/* The kernel for a host function (its stub's address) or a cudaKernel_t; loads its module on first
 * use. NULL is an invalid device function, any other stranger an invalid handle, as the vendor's
 * runtime has it. */
cudaError_t rt_kernel(const void *func, CUkernel *ret);
/* The same as a function of the current context, for driver calls that take no CUkernel. */
cudaError_t rt_function(const void *func, CUfunction *ret);
/* Address and size of a device variable by its host symbol; either may be NULL. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *addr, size_t *size);
/* The mangled name of func's kernel, without loading anything; NULL when func is unknown. */
const char *rt_kernel_name(const void *func);
/* Makes handle known to rt_kernel (cudaLibraryGetKernel). Returns false when memory is short. */
bool rt_kernel_add(CUkernel handle);

/* The other way: the host function of a kernel, given as a CUkernel or (k NULL) a CUfunction; k
 * itself when it has none. NULL: not a kernel of this runtime. */
const void *rt_kernel_host(CUkernel k, CUfunction f);

/* rt-array.c */

/* The driver's format of a channel description, and the other way. */
cudaError_t rt_format(
	const struct cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels);
struct cudaChannelFormatDesc rt_channels(CUarray_format format, unsigned channels);
cudaError_t rt_array(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *d);
/* Bytes of one texel. */
size_t rt_texel(const CUDA_ARRAY3D_DESCRIPTOR *d);

/* rt-copy.c */

/* The driver's form of *p. */
cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret);
/* The address of count bytes at offset of a device variable. kind must be host (the direction when
 * the other side is host memory), device to device, or default. */
cudaError_t rt_in_symbol(const void *symbol, size_t offset, size_t count, enum cudaMemcpyKind kind,
	enum cudaMemcpyKind host, CUdeviceptr *ret);

/* One line on stderr the first time that this place is reached: name does not do what. Returns
 * cudaErrorNotSupported. */
#define rt_refuse(name, what)                                                                      \
	({                                                                                         \
		static atomic_flag said_ = ATOMIC_FLAG_INIT;                                       \
		rt_refuse_once(&said_, name, what);                                                \
	})
cudaError_t rt_refuse_once(atomic_flag *said, const char *name, const char *what);

/* The driver's words for a launch, but for its stream. */
CUlaunchConfig rt_launch_config(const cudaLaunchConfig_t *config);

#endif
