/* Built with -G: variables of kernels and of the functions they call, inlined ones too. */
#include <stdio.h>
#include "gpu.h"

struct point {
	float x, y;
	int tag[3];
};

__device__ int table[4] = {10, 20, 30, 40};

__device__ __noinline__ int twice(int v, const point &p)
{
	int r = v * 2;

	r += p.tag[1];
	return r; /* twice */
}

__device__ __forceinline__ int blend(int q)
{
	int z = q + 3;

	return z * q; /* blend */
}

__global__ void work(int *out, point given, int n)
{
	__shared__ int tile[64], spare; /* nothing uses spare: it has no place */
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	point mine = given;
	int squares[4], sum = 0;

	for (int k = 0; k < 4; k++) {
		squares[k] = i * k * k;
		sum += squares[k];
	}
	mine.tag[1] = i;
	tile[threadIdx.x] = i;
	__syncthreads();
	if (i % 3 == 0 && i < n) {
		long w = twice(i, mine);

		out[i] = sum + w + blend(i) + table[i & 3] + tile[threadIdx.x ^ 1];
	}
	out[n + i] = sum; /* end */
}

namespace sim { enum class mode { plain, twice }; }

/* Goes back more often than a warp's turn is long. */
__global__ void turns(int *out, int n)
{
	sim::mode how = n & 1 ? sim::mode::plain : sim::mode::twice;

	for (int k = 0; k < n; k++)
		out[threadIdx.x] += k & 1; /* turn */
	if (how == sim::mode::plain)
		out[0]++;
	while (n) n--; /* one line */
}

int main()
{
	enum { N = 96 };
	int *d, h[2 * N], total = 0;
	point p = {1.5f, -2.25f, {7, 8, 9}};

	CHECK(cudaMalloc(&d, sizeof h));
	CHECK(cudaMemset(d, 0, sizeof h));
	work<<<2, 48>>>(d, p, N);
	turns<<<1, 40>>>(d, 50000);
	CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
	for (int v : h)
		total += v;
	printf("total %d\n", total);
	return 0;
}
