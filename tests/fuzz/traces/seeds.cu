/* SPDX-License-Identifier: Apache-2.0
 *
 * What the traces in tests/fuzz/corpus/traces are recorded of, besides tests/programs: a few small commands of each sort, one sort a word on the command
 * line, so that traces stay small and each change by the mutator meets something.
 */
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define OK(call)                                                                         \
	do {                                                                             \
		cudaError_t result_ = (call);                                                \
		if (result_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_));      \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

__device__ int table[16] = {1, 2, 3, 4};
__constant__ float factors[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int *pointer = &table[3];

__global__ void add(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] += (int)factors[i % 4] + *pointer;
}

/* Shared memory, a barrier, a shuffle, a vote, atomics, a loop and a switch. */
__global__ void many(int *p, int n)
{
	__shared__ int s[64];
	extern __shared__ int d[];
	int t = threadIdx.x, v = t < n ? p[t] : 0;

	s[t % 64] = v;
	d[t % 16] = v;
	__syncthreads();
	for (int k = 0; k < 4; k++)
		v += s[(t + k) % 64];
	switch (v % 5) {
	case 0: v += __shfl_xor_sync(~0u, v, 3); break;
	case 1: v += d[t % 16]; break;
	case 2: v ^= 7; break;
	default: v++;
	}
	if (__any_sync(__activemask(), v > 100))
		atomicAdd(&table[t % 16], v);
	if (t < n)
		p[t] = v;
}

__global__ void wide(int4 *p, const double2 *q, long long *r)
{
	int4 v = p[threadIdx.x];

	v.x += (int)q[threadIdx.x].x;
	p[threadIdx.x] = v;
	atomicMax(r, (long long)v.x);
}

__global__ void fetch(cudaTextureObject_t t, float *out)
{
	out[threadIdx.x] = tex2D<float>(t, threadIdx.x % 8, threadIdx.x / 8);
}

__global__ void heap(int **p)
{
	int *q = (int *)malloc(32);

	if (q)
		q[1] = threadIdx.x;
	p[threadIdx.x] = q;
	free(q);
	if (!threadIdx.x)
		printf("heap %d\n", (int)blockDim.x);
}

static int *memory(size_t n)
{
	int *p;

	OK(cudaMalloc(&p, n));
	OK(cudaMemset(p, 1, n));
	return p;
}

static void rows()
{
	static char host[16 * 96];
	char *p, *q = (char *)memory(4096);
	size_t pitch;
	cudaMemcpy3DParms m = {};

	OK(cudaMallocPitch(&p, &pitch, 64, 8));
	OK(cudaMemset2D(p, pitch, 3, 64, 8));
	OK(cudaMemcpy2D(p, pitch, host, 96, 64, 8, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2D(q, 128, p, pitch, 48, 8, cudaMemcpyDeviceToDevice));
	m.srcPtr = make_cudaPitchedPtr(q, 64, 64, 4);
	m.dstPtr = make_cudaPitchedPtr(host, 96, 96, 4);
	m.extent = make_cudaExtent(32, 4, 4);
	m.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&m));
	add<<<2, 64>>>((int *)q, 128);
	OK(cudaMemcpy2D(host, 96, q, 128, 64, 8, cudaMemcpyDeviceToHost));
}

static void textures()
{
	static float host[64];
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t o;
	cudaArray_t a;
	float *out = (float *)memory(256);

	OK(cudaMallocArray(&a, &f, 8, 8));
	OK(cudaMemcpy2DToArray(a, 0, 0, host, 32, 32, 8, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	t.readMode = cudaReadModeElementType;
	OK(cudaCreateTextureObject(&o, &r, &t, NULL));
	fetch<<<1, 64>>>(o, out);
	OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
	OK(cudaDestroyTextureObject(o));
	r = {};
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = out;
	r.res.linear.desc = f;
	r.res.linear.sizeInBytes = 256;
	OK(cudaCreateTextureObject(&o, &r, &t, NULL));
	OK(cudaFreeArray(a));
}

static void managed()
{
	int *p, *pinned;

	OK(cudaMallocManaged(&p, 4096));
	OK(cudaHostAlloc(&pinned, 4096, cudaHostAllocMapped));
	memset(p, 1, 4096);
	memset(pinned, 2, 4096);
	add<<<1, 64>>>(p, 64);
	add<<<1, 64>>>(pinned, 64);
	OK(cudaDeviceSynchronize());
	p[3] = pinned[4];
	add<<<1, 64>>>(p, 64);
	OK(cudaMemcpy(pinned, p, 4096, cudaMemcpyDefault));
	OK(cudaDeviceSynchronize());
	OK(cudaFree(p));
	OK(cudaFreeHost(pinned));
}

static void host_function(void *p)
{
	*(int *)p = 5;
}

static void streams()
{
	cudaStream_t a, b;
	cudaEvent_t e;
	int *p = memory(1024), *q = memory(1024), *pinned, *pool;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaEventCreate(&e));
	OK(cudaMallocHost(&pinned, 1024));
	memset(pinned, 0, 1024);
	OK(cudaMallocAsync(&pool, 512, a));
	OK(cudaMemsetAsync(pool, 0, 512, a));
	add<<<1, 64, 0, a>>>(p, 64);
	OK(cudaEventRecord(e, a));
	OK(cudaStreamWaitEvent(b, e, 0));
	add<<<1, 64, 0, b>>>(p, 64);
	OK(cudaMemcpyAsync(pinned, p, 1024, cudaMemcpyDeviceToHost, b));
	OK(cudaLaunchHostFunc(b, host_function, pinned));
	OK(cudaMemcpyAsync(q, pinned, 1024, cudaMemcpyHostToDevice, b));
	OK(cudaFreeAsync(pool, a));
	OK(cudaStreamSynchronize(b));
	OK(cudaStreamSynchronize(a));
	OK(cudaEventDestroy(e));
	OK(cudaStreamDestroy(a));
}

static void graph()
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;
	int *p = memory(1024), *q = memory(1024);

	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaMemsetAsync(p, 0, 1024, s));
	add<<<1, 64, 0, s>>>(p, 64);
	OK(cudaMemcpyAsync(q, p, 1024, cudaMemcpyDeviceToDevice, s));
	many<<<1, 64, 64, s>>>(q, 64);
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphLaunch(x, s));
	OK(cudaGraphLaunch(x, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaGraphExecDestroy(x));
}

static void kernels()
{
	int *p = memory(4096);
	int copy[16];

	many<<<2, 64, 64>>>(p, 64);
	wide<<<1, 16>>>((int4 *)p, (double2 *)p, (long long *)p);
	heap<<<1, 8>>>((int **)p);
	OK(cudaMemcpyToSymbol(table, p, 32));
	OK(cudaMemcpyFromSymbol(copy, table, sizeof copy));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} sorts[] = {{"rows", rows}, {"textures", textures}, {"managed", managed}, {"streams", streams}, {"graph", graph}, {"kernels", kernels}};

	for (auto &s : sorts)
		if (argc > 1 && !strcmp(argv[1], s.name)) {
			s.run();
			OK(cudaDeviceSynchronize());
			return 0;
		}
	return 2;
}
