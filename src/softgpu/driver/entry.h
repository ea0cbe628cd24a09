/* SPDX-License-Identifier: Apache-2.0
 *
 * How a driver entry point is defined, in the manner of the kernel's SYSCALL_DEFINE:
 *
 * 	DRV_DEFINE(2, cuMemAlloc_v2, CUdeviceptr *, dptr, size_t, bytesize)
 * 	{
 * 		... return CUDA_SUCCESS;
 * 	}
 *
 * makes the exported cuMemAlloc_v2, its row for cuGetProcAddress, and the CUPTI callbacks around
 * it: the arguments are copied into cuMemAlloc_v2_params (field order = argument order) only while
 * there is a subscriber. DRV_STREAM makes two exports, NAME and NAME_ptsz (or _ptds); its body sees
 * `bool ptds`, true in the second, where stream 0 means the thread's own default stream. DRV_EARLY
 * is for the few that work before cuInit.
 */
#ifndef SOFTGPU_ENTRY_H
#define SOFTGPU_ENTRY_H

#include "softgpu/driver/soft.h"
#include <cupti.h>

/* We define the calls that cuda.h marks as deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* cuda.h renames these to their newest version; we define the older ones too, under their own
 * names. */
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuDeviceGetUuid
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphRemoveDependencies
#undef cuGraphAddDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphNodeGetDependencies
#undef cuGraphGetEdges
#undef cuGraphAddNode
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphKernelNodeGetParams
#undef cuGraphAddKernelNode
#undef cuIpcOpenMemHandle
#undef cuLinkAddData
#undef cuLinkAddFile
#undef cuLinkCreate
#undef cuMemAdvise
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuMemHostRegister
#undef cuMemPrefetchAsync
#undef cuStreamBeginCapture
#undef cuStreamDestroy
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuThreadExchangeStreamCaptureMode

struct drv_entry {
	const char *name;
	void *fn;
	uint32_t cbid;
};

extern int drv_watch;
extern _Atomic int drv_ready;
extern _Thread_local bool drv_in_host_fn;

CUresult drv_gate_slow(void);
static inline CUresult drv_gate(void)
{
	if (__builtin_expect(drv_ready && !drv_in_host_fn, 1))
		return CUDA_SUCCESS;
	return drv_gate_slow();
}

#define DRV_MAP1(m, t, a) m(t, a)
#define DRV_MAP2(m, t, a, ...) m(t, a), DRV_MAP1(m, __VA_ARGS__)
#define DRV_MAP3(m, t, a, ...) m(t, a), DRV_MAP2(m, __VA_ARGS__)
#define DRV_MAP4(m, t, a, ...) m(t, a), DRV_MAP3(m, __VA_ARGS__)
#define DRV_MAP5(m, t, a, ...) m(t, a), DRV_MAP4(m, __VA_ARGS__)
#define DRV_MAP6(m, t, a, ...) m(t, a), DRV_MAP5(m, __VA_ARGS__)
#define DRV_MAP7(m, t, a, ...) m(t, a), DRV_MAP6(m, __VA_ARGS__)
#define DRV_MAP8(m, t, a, ...) m(t, a), DRV_MAP7(m, __VA_ARGS__)
#define DRV_MAP9(m, t, a, ...) m(t, a), DRV_MAP8(m, __VA_ARGS__)
#define DRV_MAP10(m, t, a, ...) m(t, a), DRV_MAP9(m, __VA_ARGS__)
#define DRV_MAP11(m, t, a, ...) m(t, a), DRV_MAP10(m, __VA_ARGS__)
#define DRV_DECL(t, a) t a
#define DRV_ARG(t, a) a

#define DRV_ROW(name)                                                                              \
	static const struct drv_entry drv_row_##name __attribute__((section("drv_entries"), used,  \
		aligned(8))) = {#name, (void *)name, CUPTI_DRIVER_TRACE_CBID_##name};

#define DRV_WRAP_(fname, ptype, gate, decls, args, body)                                           \
	SOFT_EXPORT CUresult CUDAAPI fname decls;                                                  \
	SOFT_EXPORT CUresult CUDAAPI fname decls                                                   \
	{                                                                                          \
		CUresult drv_r = gate;                                                             \
		if (__builtin_expect(drv_r != CUDA_SUCCESS, 0))                                    \
			return drv_r;                                                              \
		if (__builtin_expect(!drv_watch, 1))                                               \
			return body;                                                               \
		ptype drv_params = args;                                                           \
		struct soft_call drv_call = {                                                      \
			.cbid = CUPTI_DRIVER_TRACE_CBID_##fname,                                   \
			.name = #fname,                                                            \
			.params = &drv_params,                                                     \
			.result = &drv_r,                                                          \
		};                                                                                 \
		tsdb_soft_enter(&drv_call);                                                        \
		drv_r = body;                                                                      \
		tsdb_soft_exit(&drv_call);                                                         \
		return drv_r;                                                                      \
	}                                                                                          \
	DRV_ROW(fname)

#define DRV_BRACE(...)                                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define DRV_WRAP(n, name, gate, ...)                                                               \
	DRV_WRAP_(name, name##_params, gate, (DRV_MAP##n(DRV_DECL, __VA_ARGS__)),                  \
		DRV_BRACE(DRV_MAP##n(DRV_ARG, __VA_ARGS__)),                                       \
		do_##name(DRV_MAP##n(DRV_ARG, __VA_ARGS__)))

#define DRV_DEFINE(n, name, ...)                                                                   \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__));                              \
	DRV_WRAP(n, name, drv_gate(), __VA_ARGS__)                                                 \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__))

#define DRV_EARLY(n, name, ...)                                                                    \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__));                              \
	DRV_WRAP(n, name, CUDA_SUCCESS, __VA_ARGS__)                                               \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__))

#define DRV_DEFINE0(name)                                                                          \
	static CUresult do_##name(void);                                                           \
	DRV_WRAP_(name, char, drv_gate(), (void), {0}, do_##name())                                \
	static CUresult do_##name(void)

#define DRV_STREAM(n, name, suffix, ...)                                                           \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__), bool ptds);                   \
	DRV_WRAP_(name, name##_params, drv_gate(), (DRV_MAP##n(DRV_DECL, __VA_ARGS__)),            \
		DRV_BRACE(DRV_MAP##n(DRV_ARG, __VA_ARGS__)),                                       \
		do_##name(DRV_MAP##n(DRV_ARG, __VA_ARGS__), false))                                \
	DRV_WRAP_(name##suffix, name##suffix##_params, drv_gate(),                                 \
		(DRV_MAP##n(DRV_DECL, __VA_ARGS__)), DRV_BRACE(DRV_MAP##n(DRV_ARG, __VA_ARGS__)),  \
		do_##name(DRV_MAP##n(DRV_ARG, __VA_ARGS__), true))                                 \
	static CUresult do_##name(DRV_MAP##n(DRV_DECL, __VA_ARGS__), bool ptds)

#endif
