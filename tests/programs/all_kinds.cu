/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kind of copy and fill, host functions, timing events, queries, the per-thread default stream.
 */
#include "gpu.h"

static int host_calls;

static void CUDART_CB on_host(void *arg)
{
	*(int *)arg += 1;
}

__global__ void fill_squares(int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = i * i;
}

int main(void)
{
	const int w = 16, h = 4;
	int *v, *pinned, *managed, plain[w * h], got[w * h];
	size_t pitch;
	cudaStream_t s;
	cudaEvent_t begin, end;
	char *rows;
	float ms = -1;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMalloc(&v, sizeof(plain)));
	CHECK(cudaMallocHost(&pinned, sizeof(plain)));
	CHECK(cudaMallocPitch(&rows, &pitch, w * sizeof(int), h));
	CHECK(cudaMallocManaged(&managed, sizeof(plain)));

	CHECK(cudaEventRecord(begin, s));
	fill_squares<<<2, 32, 0, s>>>(v, w * h);
	CHECK(cudaMemcpyAsync(pinned, v, sizeof(plain), cudaMemcpyDeviceToHost, s));
	CHECK(cudaLaunchHostFunc(s, on_host, &host_calls));
	CHECK(cudaEventRecord(end, s));
	while (cudaEventQuery(end) == cudaErrorNotReady)
		;
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	printf("squares: %d %d, host calls %d, time %s\n", pinned[3], pinned[63], host_calls, ms >= 0 ? "measured" : "WRONG");

	CHECK(cudaMemcpy2D(rows, pitch, pinned, w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
	CHECK(cudaMemset2D(rows, pitch, 0xff, 2 * sizeof(int), h));
	CHECK(cudaMemcpy2D(got, w * sizeof(int), rows, pitch, w * sizeof(int), h, cudaMemcpyDeviceToHost));
	printf("rows: %d %d %d %d\n", got[0], got[1], got[2], got[63]);

	CHECK(cudaMemset(v, 1, sizeof(plain)));
	CHECK(cudaMemcpyAsync(managed, v, sizeof(plain), cudaMemcpyDefault, cudaStreamPerThread));
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	printf("managed: %x\n", managed[5]);
	memset(plain, 0x22, sizeof(plain));
	CHECK(cudaMemcpy(v, plain, sizeof(plain), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(got, v, sizeof(plain), cudaMemcpyDeviceToHost));
	printf("plain: %x, stream %s\n", got[7], cudaStreamQuery(s) == cudaSuccess ? "idle" : "busy");

	void *async;
	CHECK(cudaMallocAsync(&async, 4096, s));
	CHECK(cudaMemsetAsync(async, 7, 4096, s));
	CHECK(cudaFreeAsync(async, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaFree(v));
	CHECK(cudaFree(rows));
	CHECK(cudaFree(managed));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	CHECK(cudaStreamDestroy(s));
	printf("all_kinds: ok\n");
	return 0;
}
