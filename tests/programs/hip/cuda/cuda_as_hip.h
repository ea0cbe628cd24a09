/* SPDX-License-Identifier: Apache-2.0
 *
 * Renames by which the CUDA programs of tests/programs/ptx-suite compile as HIP: hipcc includes
 * this before the program. A warp stays one of 32 lanes: the half of a wave.
 */
#ifndef CUDA_AS_HIP_H
#define CUDA_AS_HIP_H

#include <hip/hip_runtime.h>

/* --- calls --- */
#define cudaError_t hipError_t
#define cudaSuccess hipSuccess
#define cudaErrorInvalidDevice hipErrorInvalidDevice
#define cudaErrorPeerAccessAlreadyEnabled hipErrorPeerAccessAlreadyEnabled
#define cudaErrorPeerAccessNotEnabled hipErrorPeerAccessNotEnabled
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaSetDevice hipSetDevice
#define cudaDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cudaDeviceEnablePeerAccess hipDeviceEnablePeerAccess
#define cudaDeviceDisablePeerAccess hipDeviceDisablePeerAccess
#define cudaMalloc hipMalloc
#define cudaMallocManaged hipMallocManaged
#define cudaFree hipFree
#define cudaMemset hipMemset
#define cudaMemsetAsync hipMemsetAsync
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpy2D hipMemcpy2D
#define cudaMemcpy2DAsync hipMemcpy2DAsync
#define cudaFreeHost hipHostFree
#define cudaMallocAsync hipMallocAsync
#define cudaFreeAsync hipFreeAsync
#define cudaHostRegister hipHostRegister
#define cudaHostUnregister hipHostUnregister
#define cudaHostRegisterDefault hipHostRegisterDefault
#define cudaHostAlloc hipHostMalloc
#define cudaHostAllocMapped hipHostMallocMapped
#define cudaHostGetDevicePointer hipHostGetDevicePointer
#define cudaMemcpyPeer hipMemcpyPeer
#define cudaMemcpyPeerAsync hipMemcpyPeerAsync
#define cudaMemcpyToSymbol(s, ...) hipMemcpyToSymbol(HIP_SYMBOL(s), __VA_ARGS__)
#define cudaMemcpyFromSymbol(to, s, ...) hipMemcpyFromSymbol(to, HIP_SYMBOL(s), __VA_ARGS__)
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaPointerAttributes hipPointerAttribute_t
#define cudaPointerGetAttributes hipPointerGetAttributes
#define cudaStream_t hipStream_t
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamDefault hipStreamDefault
#define cudaStreamLegacy ((hipStream_t) nullptr)
#define cudaStreamCreate hipStreamCreate
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamQuery hipStreamQuery
#define cudaErrorNotReady hipErrorNotReady
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamWaitEvent hipStreamWaitEvent
#define cudaEvent_t hipEvent_t
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventCreate hipEventCreate
#define cudaEventDestroy hipEventDestroy
#define cudaEventQuery hipEventQuery
#define cudaEventSynchronize hipEventSynchronize
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventRecord hipEventRecord
#define cudaLaunchKernel hipLaunchKernel
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel

/* HIP sets no limit of a kernel's stack: the runtime finds out what is needed. */
#define cudaLimitStackSize 0
static inline hipError_t cudaDeviceSetLimit(int, size_t)
{
	return hipSuccess;
}

template <typename T> hipError_t cudaMallocHost(T **p, size_t size)
{
	return hipHostMalloc((void **)p, size, 0);
}

template <typename T> hipError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
	return hipMallocPitch((void **)p, pitch, width, height);
}

/* --- graphs --- */
#define cudaGraph_t hipGraph_t
#define cudaGraphNode_t hipGraphNode_t
#define cudaGraphExec_t hipGraphExec_t
#define cudaKernelNodeParams hipKernelNodeParams
#define cudaMemsetParams hipMemsetParams
#define cudaGraphCreate hipGraphCreate
#define cudaGraphDestroy hipGraphDestroy
#define cudaGraphClone hipGraphClone
#define cudaGraphExecDestroy hipGraphExecDestroy
#define cudaGraphAddKernelNode hipGraphAddKernelNode
#define cudaGraphAddMemsetNode hipGraphAddMemsetNode
#define cudaGraphAddMemcpyNode1D hipGraphAddMemcpyNode1D
#define cudaGraphAddChildGraphNode hipGraphAddChildGraphNode
#define cudaGraphAddEmptyNode hipGraphAddEmptyNode
#define cudaGraphAddDependencies hipGraphAddDependencies
#define cudaGraphGetNodes hipGraphGetNodes
#define cudaGraphLaunch hipGraphLaunch
#define cudaGraphKernelNodeSetParams hipGraphKernelNodeSetParams
#define cudaGraphExecKernelNodeSetParams hipGraphExecKernelNodeSetParams
#define cudaGraphExecMemsetNodeSetParams hipGraphExecMemsetNodeSetParams
#define cudaGraphExecMemcpyNodeSetParams1D hipGraphExecMemcpyNodeSetParams1D
#define cudaGraphExecChildGraphNodeSetParams hipGraphExecChildGraphNodeSetParams
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define cudaStreamCaptureModeRelaxed hipStreamCaptureModeRelaxed

/* CUDA 12's form, without a place for messages. */
static inline hipError_t cudaGraphInstantiate(
	hipGraphExec_t *exec, hipGraph_t graph, unsigned long long)
{
	return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}

/* --- a warp of 32 lanes --- */
#define FULL_WARP 0xffffffffu
/* HIP has functions of these names from 6.1 on, of a wave's 64 lanes; its own headers use them. */
#if HIP_VERSION_MAJOR >= 6
#include <hip/hip_cooperative_groups.h>
#endif
#define __shfl_sync cuda_shfl_sync
#define __shfl_xor_sync cuda_shfl_xor_sync
#define __shfl_up_sync cuda_shfl_up_sync
#define __shfl_down_sync cuda_shfl_down_sync
#define __ballot_sync cuda_ballot_sync
#define __activemask cuda_activemask
#define __any_sync cuda_any_sync
#define __all_sync cuda_all_sync
#define __match_any_sync cuda_match_any_sync
#define __syncwarp cuda_syncwarp
#undef warpSize
#define warpSize 32

static inline __device__ unsigned first_of_warp()
{
	return __lane_id() & 32;
}

template <typename T> __device__ T __shfl_sync(unsigned, T v, int lane, int width = 32)
{
	return __shfl(v, lane, width);
}

template <typename T> __device__ T __shfl_xor_sync(unsigned, T v, int mask, int width = 32)
{
	return __shfl_xor(v, mask, width);
}

template <typename T> __device__ T __shfl_up_sync(unsigned, T v, unsigned by, int width = 32)
{
	return __shfl_up(v, by, width);
}

template <typename T> __device__ T __shfl_down_sync(unsigned, T v, unsigned by, int width = 32)
{
	return __shfl_down(v, by, width);
}

static inline __device__ unsigned __ballot_sync(unsigned mask, int p)
{
	return (unsigned)(__ballot(p) >> first_of_warp()) & mask;
}

static inline __device__ unsigned __activemask()
{
	return __ballot_sync(FULL_WARP, 1);
}

static inline __device__ int __any_sync(unsigned mask, int p)
{
	return __ballot_sync(mask, p) != 0;
}

static inline __device__ int __all_sync(unsigned mask, int p)
{
	return __ballot_sync(mask, !p) == 0;
}

/* Lanes of the mask with the same value. */
template <typename T> __device__ unsigned __match_any_sync(unsigned mask, T v)
{
	unsigned same = 0;

	for (int lane = 0; lane < 32; lane++)
		if (mask >> lane & 1 && __shfl(v, lane, 32) == v)
			same |= 1u << lane;
	return same;
}

static inline __device__ void __syncwarp(unsigned = FULL_WARP)
{
	__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
	__builtin_amdgcn_wave_barrier();
}

#endif
