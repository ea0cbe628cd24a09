/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects with virtual functions that live in device memory from one step to the next, a linked list of them, functions through pointers: what
 * renderers and physics codes do. Each step is the NVTX range "step N".
 */
#include <new>
#include "real.h"

struct shape {
	shape *next;
	float size;
	__device__ shape(shape *n, float s) : next(n), size(s) {}
	__device__ virtual float area() const = 0;
	__device__ virtual void grow(float by)
	{
		size += by;
	}
};

struct square : shape {
	__device__ square(shape *n, float s) : shape(n, s) {}
	__device__ float area() const override
	{
		return size * size;
	}
};

struct disc : shape {
	__device__ disc(shape *n, float s) : shape(n, s) {}
	__device__ float area() const override
	{
		return 3.25f * size * size;
	}
	__device__ void grow(float by) override
	{
		size += 2 * by;
	}
};

__device__ shape *first;
typedef float (*fold)(float, float);
__device__ float plus(float a, float b)
{
	return a + b;
}
__device__ float most(float a, float b)
{
	return a > b ? a : b;
}
__device__ fold const folds[] = {plus, most};

__global__ void build(char *room, int n)
{
	const size_t each = 64;

	first = NULL;
	for (int i = 0; i < n; i++)
		first = i % 3 ? (shape *)new (room + i * each) square(first, 1 + i % 7) : (shape *)new (room + i * each) disc(first, 1 + i % 5);
}

__global__ void grow_all(float by)
{
	for (shape *s = first; s; s = s->next)
		s->grow(by);
}

__global__ void measure(float *out)
{
	float v = 0;

	for (shape *s = first; s; s = s->next)
		v = folds[threadIdx.x](v, s->area());
	out[threadIdx.x] = v;
}

int main(int argc, char **argv)
{
	const int steps = steps_of(argc, argv);
	float *out, back[2];
	char *room;

	CHECK(cudaMalloc(&room, 64 * 100));
	CHECK(cudaMalloc(&out, sizeof back));
	build<<<1, 1>>>(room, 100);
	for (int n = 0; n < steps; n++) {
		step range(n);

		grow_all<<<1, 1>>>(0.5f);
		measure<<<1, 2>>>(out);
		CHECK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
		printf("step %d sum %.3f most %.3f\n", n, back[0], back[1]);
	}
	return 0;
}
