/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of the context: kernels that take 32 MiB from the device's own heap, which has 8 unless
 * the program says otherwise; one that prints; and a limit that is set between launches.
 */
#include "gpu.h"

#define PIECE (1 << 20)

__global__ void take(int *out, int **kept)
{
	int *p = (int *)malloc(PIECE);

	kept[threadIdx.x] = p;
	out[threadIdx.x] = p ? (int)threadIdx.x + 100 : -1;
	if (p)
		p[PIECE / 4 - 1] = out[threadIdx.x];
}

__global__ void give(int *out, int **kept)
{
	if (kept[threadIdx.x])
		out[32 + threadIdx.x] = kept[threadIdx.x][PIECE / 4 - 1] + 1;
	free(kept[threadIdx.x]);
	kept[threadIdx.x] = NULL;
}

__global__ void speak(int *out)
{
	printf("lane %d has %d\n", (int)threadIdx.x, out[32 + threadIdx.x]);
	out[64 + threadIdx.x] = out[32 + threadIdx.x] + 1;
}

int main(void)
{
	int *out, **kept, host[96];

	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
	CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 << 20));
	CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
	CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
	CHECK(cudaMalloc(&out, sizeof host));
	CHECK(cudaMalloc(&kept, 32 * sizeof *kept));
	CHECK(cudaMemset(out, 0, sizeof host));
	take<<<1, 32>>>(out, kept);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
	give<<<1, 32>>>(out, kept);
	speak<<<1, 32>>>(out);
	CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
	/* a driver does not take it now; a replay must not mind */
	printf("limits: %d %d %d\n", host[31], host[63], host[95]);
	return cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20) == cudaSuccess;
}
