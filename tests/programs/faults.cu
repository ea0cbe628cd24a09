/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel reads behind its allocation, and the program goes on with calls that fail, as it has not looked at the first error: with objects
 * that were never made. Arguments: by how many bytes behind the end; 64 is within the pages of the allocation; anything more: there is another
 * allocation, behind the one and a gap.
 */
#include <stdlib.h>
#include "gpu.h"

__global__ void fine(int *v)
{
	v[threadIdx.x] += 1;
}

__global__ void behind(int *v, const int *from)
{
	v[threadIdx.x] = from[threadIdx.x];
}

int main(int argc, char **argv)
{
	const size_t by = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	int *v, *w, host[64];
	cudaEvent_t event = NULL;
	cudaStream_t stream = NULL;

	CHECK(cudaMalloc(&v, 256));
	if (argc > 2)
		CHECK(cudaMalloc(&w, 1024));
	CHECK(cudaMemset(v, 0, 256));
	fine<<<1, 64>>>(v);
	CHECK(cudaDeviceSynchronize());
	fine<<<1, 64>>>(v);
	behind<<<1, 32>>>(v, v + (256 - 128 + by) / 4);
	printf("faults: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	(void)cudaEventCreate(&event);
	(void)cudaEventRecord(event, 0);
	(void)cudaEventSynchronize(event);
	(void)cudaStreamCreate(&stream);
	fine<<<1, 64, 0, stream>>>(v);
	(void)cudaMalloc(&w, 1024);
	(void)cudaMemcpy(host, v, 256, cudaMemcpyDeviceToHost);
	(void)cudaStreamSynchronize(stream);
	(void)cudaEventQuery(event);
	(void)cudaStreamWaitEvent(stream, event, 0);
	(void)cudaFree(v);
	printf("faults: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
