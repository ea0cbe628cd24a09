/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetches through a texture object of linear memory, and writes through a surface object of an array. Argument: texture, or surface.
 */
#include "gpu.h"

#define N 64

__global__ void fetch(cudaTextureObject_t t, int *out)
{
	out[threadIdx.x] = tex1Dfetch<int>(t, (int)threadIdx.x);
}

__global__ void store(cudaSurfaceObject_t s, int *out)
{
	surf2Dwrite((int)threadIdx.x, s, threadIdx.x * 4, 0);
	out[threadIdx.x] = (int)threadIdx.x;
}

int main(int argc, char **argv)
{
	const bool surface = argc > 1 && !strcmp(argv[1], "surface");
	cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
	cudaResourceDesc what = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t t;
	cudaSurfaceObject_t s;
	cudaArray_t array;
	int *in, *out, host[N], sum = 0;

	CHECK(cudaMalloc(&in, N * sizeof(int)));
	CHECK(cudaMalloc(&out, N * sizeof(int)));
	for (int i = 0; i < N; i++)
		host[i] = i;
	CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
	if (surface) {
		CHECK(cudaMallocArray(&array, &format, N, 1, cudaArraySurfaceLoadStore));
		what.resType = cudaResourceTypeArray;
		what.res.array.array = array;
		CHECK(cudaCreateSurfaceObject(&s, &what));
		store<<<1, N>>>(s, out);
	} else {
		what.resType = cudaResourceTypeLinear;
		what.res.linear.devPtr = in;
		what.res.linear.desc = format;
		what.res.linear.sizeInBytes = N * sizeof(int);
		CHECK(cudaCreateTextureObject(&t, &what, &how, NULL));
		fetch<<<1, N>>>(t, out);
	}
	CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		sum += host[i];
	printf("texture: %d\n", sum);
	return sum != N * (N - 1) / 2;
}
