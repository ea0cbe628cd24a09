/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints, for many wrong calls of the CUDA runtime, what they return and what cudaGetLastError says next. softgpu-errors.expected is what an
 * NVIDIA H200 answered (driver 580.159, CUDA 13.0); the software GPU has to print the same. Lines that the compute capability
 * decides are not in it.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void set(int *p, int v)
{
	*p = v;
}

__global__ void __launch_bounds__(64) bounded(int *p)
{
	p[threadIdx.x] = 1;
}

__global__ void traps(void)
{
	__trap();
}

__device__ int variable[4];
static void nothing(void)
{
}

static void show(const char *what, cudaError_t err)
{
	cudaError_t last = cudaGetLastError();

	printf("%-60s %3d %3d\n", what, (int)err, (int)last);
	fflush(stdout);
}

#define SHOW(call) show(#call, call)
#define LAUNCH(...)                                                                                \
	do {                                                                                       \
		__VA_ARGS__;                                                                       \
		cudaError_t peek_ = cudaPeekAtLastError();                                         \
		show(#__VA_ARGS__, peek_);                                                         \
	} while (0)

static int *p;
static char host[4096];

static void launches(void)
{
	int v = 1;
	void *args[] = {&p, &v};
	cudaLaunchConfig_t c = {};
	const void *f = (const void *)set;

	cudaMalloc(&p, 4096);
	LAUNCH(set<<<1, 1>>>(p, 1));
	LAUNCH(set<<<1, 2048>>>(p, 1));
	LAUNCH(set<<<1, 0>>>(p, 1));
	LAUNCH(set<<<0, 1>>>(p, 1));
	LAUNCH(set<<<dim3(1, 70000), 1>>>(p, 1));
	LAUNCH(set<<<dim3(1, 1, 70000), 1>>>(p, 1));
	LAUNCH(set<<<1, dim3(1, 1, 65)>>>(p, 1));
	LAUNCH(set<<<1, dim3(1, 1025)>>>(p, 1));
	LAUNCH(set<<<1, 1, 1 << 20>>>(p, 1));
	LAUNCH(set<<<1, 1, 50000>>>(p, 1));
	LAUNCH(bounded<<<1, 65>>>(p));
	SHOW(cudaLaunchKernel(f, dim3(1), dim3(2048), args, 0, 0));
	SHOW(cudaLaunchKernel(f, dim3(0), dim3(1), args, 0, 0));
	SHOW(cudaLaunchKernel(f, dim3(1), dim3(1), args, 50000, 0));
	SHOW(cudaLaunchKernel((const void *)nothing, dim3(1), dim3(1), args, 0, 0));
	SHOW(cudaLaunchKernel(nullptr, dim3(1), dim3(1), args, 0, 0));
	SHOW(cudaLaunchCooperativeKernel(f, dim3(1), dim3(2048), args, 0, 0));
	SHOW(cudaLaunchCooperativeKernel(f, dim3(10000000), dim3(1), args, 0, 0));
	c.gridDim = c.blockDim = dim3(1);
	SHOW(cudaLaunchKernelExC(&c, f, args));
	c.blockDim = dim3(2048);
	SHOW(cudaLaunchKernelExC(&c, f, args));
	c.blockDim = dim3(1);
	SHOW(cudaLaunchKernelExC(&c, (const void *)nothing, args));
}

static void functions(void)
{
	cudaFuncAttributes a;
	cudaFunction_t fn;
	int n, s;
	const void *f = (const void *)set, *no = (const void *)nothing;
	const char *name;
	cudaGraph_t g;
	cudaGraphNode_t node;
	cudaKernelNodeParams kp = {};
	size_t off, size;

	SHOW(cudaFuncGetAttributes(&a, f));
	SHOW(cudaFuncGetAttributes(&a, no));
	SHOW(cudaFuncGetAttributes(&a, nullptr));
	SHOW(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
	SHOW(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
	SHOW(cudaFuncSetAttribute(f, (cudaFuncAttribute)77, 1));
	SHOW(cudaFuncSetAttribute(no, cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
	SHOW(cudaFuncSetCacheConfig(no, cudaFuncCachePreferL1));
	SHOW(cudaFuncGetName(&name, no));
	SHOW(cudaFuncGetParamInfo(f, 0, &off, &size));
	SHOW(cudaFuncGetParamInfo(f, 2, &off, &size));
	SHOW(cudaGetFuncBySymbol(&fn, no));
	SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 0, 0));
	SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 2048, 0));
	SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, no, 32, 0));
	SHOW(cudaOccupancyMaxPotentialBlockSize(&s, &n, no));
	cudaGraphCreate(&g, 0);
	kp.func = (void *)no;
	kp.gridDim = kp.blockDim = dim3(1);
	SHOW(cudaGraphAddKernelNode(&node, g, nullptr, 0, &kp));
	SHOW(cudaGraphAddKernelNode(&node, g, nullptr, 0, nullptr));
}

static void memory(void)
{
	void *q = (void *)1;
	size_t pitch = 0;
	cudaPointerAttributes pa;
	cudaPitchedPtr pp;
	cudaMemcpy3DParms c3 = {};

	SHOW(cudaMalloc(&q, 0));
	printf("%d\n", q == nullptr);
	SHOW(cudaMalloc(nullptr, 4));
	SHOW(cudaMalloc(&q, (size_t)1 << 60));
	SHOW(cudaFree(nullptr));
	SHOW(cudaFree((void *)16));
	SHOW(cudaFree(host));
	SHOW(cudaMalloc(&q, 64));
	SHOW(cudaFree((char *)q + 4));
	SHOW(cudaFree(q));
	SHOW(cudaFree(q));
	SHOW(cudaMallocHost(&q, 0));
	SHOW(cudaFreeHost(nullptr));
	SHOW(cudaFreeHost(host));
	SHOW(cudaHostAlloc(&q, 64, 0x100));
	SHOW(cudaMallocManaged(&q, 0));
	SHOW(cudaMallocManaged(&q, 64, 9));
	SHOW(cudaMallocPitch(&q, &pitch, 0, 0));
	SHOW(cudaMallocPitch(&q, &pitch, 10, 10));
	SHOW(cudaMalloc3D(&pp, make_cudaExtent(10, 10, 10)));
	SHOW(cudaHostRegister(host, 0, 0));
	SHOW(cudaHostRegister(nullptr, 10, 0));
	SHOW(cudaHostUnregister(host));
	SHOW(cudaHostGetDevicePointer(&q, host, 0));
	SHOW(cudaMemcpy(p, host, 64, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy(p, nullptr, 64, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy(nullptr, host, 0, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy(p, host, 64, (cudaMemcpyKind)7));
	SHOW(cudaMemcpy(host, p, 64, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy(host, host + 64, 64, cudaMemcpyDeviceToDevice));
	SHOW(cudaMemcpy(host, host + 64, 64, cudaMemcpyDefault));
	SHOW(cudaMemcpyAsync(p, host, 64, (cudaMemcpyKind)7, 0));
	SHOW(cudaMemcpy2D(p, 4, host, 16, 8, 2, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy2D(p, 16, host, 4, 8, 2, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy2D(p, 16, host, 16, 0, 2, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpy3D(&c3));
	SHOW(cudaMemcpy3D(nullptr));
	SHOW(cudaMemset(nullptr, 0, 4));
	SHOW(cudaMemset(nullptr, 0, 0));
	SHOW(cudaMemset(host, 0, 4));
	SHOW(cudaMemset2D(p, 4, 0, 8, 2));
	SHOW(cudaMemcpyToSymbol(variable, host, 20));
	SHOW(cudaMemcpyToSymbol(variable, host, 4, 16));
	SHOW(cudaMemcpyToSymbol(variable, host, 4, 0, cudaMemcpyDeviceToHost));
	SHOW(cudaMemcpyToSymbol((const void *)host, host, 4));
	SHOW(cudaGetSymbolSize(&pitch, (const void *)host));
	SHOW(cudaGetSymbolAddress(&q, (const void *)nullptr));
	SHOW(cudaPointerGetAttributes(&pa, nullptr));
	printf("%d %d\n", (int)pa.type, pa.device);
	SHOW(cudaPointerGetAttributes(&pa, host));
	printf("%d %d\n", (int)pa.type, pa.device);
	SHOW(cudaPointerGetAttributes(nullptr, host));
	SHOW(cudaMemGetInfo(nullptr, &pitch));
	SHOW(cudaMemPrefetchAsync(p, 64, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, 0));
	SHOW(cudaFreeAsync(nullptr, 0));
	SHOW(cudaFreeAsync((void *)16, 0));
	SHOW(cudaMallocAsync(&q, 0, 0));
}

static void streams(void)
{
	cudaStream_t s = nullptr;
	cudaEvent_t e, f, plain;
	float ms;
	int n;

	cudaEventCreate(&e);
	cudaEventCreate(&f);
	cudaEventCreateWithFlags(&plain, cudaEventDisableTiming);
	SHOW(cudaStreamCreate(nullptr));
	SHOW(cudaStreamCreateWithFlags(&s, 77));
	SHOW(cudaStreamCreateWithPriority(&s, 0, 1000));
	SHOW(cudaStreamDestroy(nullptr));
	SHOW(cudaStreamDestroy(cudaStreamLegacy));
	SHOW(cudaStreamQuery(0));
	SHOW(cudaStreamGetFlags(0, nullptr));
	SHOW(cudaStreamGetPriority(0, nullptr));
	SHOW(cudaStreamWaitEvent(0, nullptr, 0));
	SHOW(cudaStreamWaitEvent(0, e, 99));
	SHOW(cudaStreamAddCallback(0, nullptr, nullptr, 0));
	SHOW(cudaEventCreateWithFlags(&f, 0x100));
	SHOW(cudaEventRecord(nullptr, 0));
	SHOW(cudaEventQuery(nullptr));
	SHOW(cudaEventQuery(e));
	SHOW(cudaEventSynchronize(e));
	SHOW(cudaEventSynchronize(nullptr));
	SHOW(cudaEventDestroy(nullptr));
	SHOW(cudaEventElapsedTime(&ms, e, f));
	SHOW(cudaEventRecord(e, 0));
	SHOW(cudaEventRecord(plain, 0));
	SHOW(cudaEventElapsedTime(&ms, e, plain));
	SHOW(cudaEventElapsedTime(nullptr, e, e));
	SHOW(cudaDeviceGetStreamPriorityRange(nullptr, &n));
	SHOW(cudaStreamEndCapture(0, nullptr));
	SHOW(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
}

static void capture(void)
{
	cudaStream_t s;
	cudaGraph_t g;
	int *q;

	cudaStreamCreate(&s);
	SHOW(cudaStreamEndCapture(s, &g));
	SHOW(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SHOW(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SHOW(cudaMalloc(&q, 4));
	SHOW(cudaStreamSynchronize(s));
	SHOW(cudaStreamEndCapture(s, &g));
	SHOW(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	SHOW(cudaMalloc(&q, 4));
	SHOW(cudaMemsetAsync(q, 0, 4, s));
	SHOW(cudaStreamQuery(s));
	SHOW(cudaStreamEndCapture(s, &g));
	SHOW(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	SHOW(cudaMemset(q, 0, 4));
	SHOW(cudaStreamEndCapture(s, &g));
}

static void devices(void)
{
	int n;
	cudaDeviceProp prop;
	size_t size;
	char bus[4];
	void *fn;
	cudaDriverEntryPointQueryResult found;

	SHOW(cudaGetDeviceCount(nullptr));
	SHOW(cudaSetDevice(-1));
	SHOW(cudaSetDevice(99));
	SHOW(cudaGetDevice(nullptr));
	SHOW(cudaGetDeviceProperties(&prop, 99));
	SHOW(cudaDeviceGetAttribute(&n, (cudaDeviceAttr)9999, 0));
	SHOW(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 99));
	SHOW(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
	SHOW(cudaDeviceGetLimit(&size, (cudaLimit)99));
	SHOW(cudaDeviceSetLimit((cudaLimit)99, 1));
	SHOW(cudaDeviceSetCacheConfig((cudaFuncCache)9));
	SHOW(cudaSetDeviceFlags(0x8000));
	SHOW(cudaDeviceGetPCIBusId(bus, 0, 0));
	SHOW(cudaDeviceGetByPCIBusId(&n, "9999:ff:1f.0"));
	SHOW(cudaDeviceCanAccessPeer(&n, 0, 99));
	SHOW(cudaDeviceEnablePeerAccess(0, 0));
	SHOW(cudaDriverGetVersion(nullptr));
	SHOW(cudaRuntimeGetVersion(nullptr));
	SHOW(cudaGetDriverEntryPointByVersion("cuNone", &fn, 12000, cudaEnableDefault, &found));
	SHOW(cudaGetDriverEntryPointByVersion("cuNone", &fn, 12000, cudaEnableDefault, nullptr));
}

static void after_fault(void)
{
	SHOW(cudaDeviceSynchronize());
	SHOW(cudaDeviceSynchronize());
	SHOW(cudaGetLastError());
	SHOW(cudaPeekAtLastError());
	SHOW(cudaStreamSynchronize(0));
	SHOW(cudaMalloc(&p, 4));
	SHOW(cudaFree(p));
	SHOW(cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost));
	LAUNCH(set<<<1, 1>>>(p, 1));
	SHOW(cudaGetDeviceCount((int *)host));
	SHOW(cudaGetDevice((int *)host));
	SHOW(cudaSetDevice(0));
	SHOW(cudaStreamQuery(0));
	SHOW(cudaEventCreate((cudaEvent_t *)host));
	SHOW(cudaFree(nullptr));
	SHOW(cudaDeviceReset());
	SHOW(cudaMalloc(&p, 4));
	SHOW(cudaDeviceSynchronize());
}

static void faults(void)
{
	LAUNCH(set<<<1, 1>>>((int *)((char *)p + ((intptr_t)1 << 40)), 1));
	after_fault();
}

static void trapped(void)
{
	LAUNCH(traps<<<1, 1>>>());
	after_fault();
}

static void misaligned(void)
{
	LAUNCH(set<<<1, 1>>>((int *)((char *)p + 1), 1));
	SHOW(cudaDeviceSynchronize());
	SHOW(cudaGetLastError());
}

int main(void)
{
	void (*const parts[])(void) = {
		launches, functions, memory, streams, capture, devices, faults, trapped, misaligned};

	for (auto part : parts) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			alarm(30);
			cudaMalloc(&p, 4096);
			part();
			fflush(stdout);
			_exit(0);
		}
		int status;
		waitpid(pid, &status, 0);
		printf("-- %d\n", status);
	}
	return 0;
}
