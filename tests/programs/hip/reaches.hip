// SPDX-License-Identifier: Apache-2.0
//
// A kernel that reaches memory in every way: by pointers in a structure, by pointers in memory, pinned memory, a variable.
#include "hip_check.h"

enum { N = 256 };
struct pair {
	int *to;
	const int *from;
};
__device__ int turns;

__global__ void reach(struct pair p, int **table, int *pinned)
{
	const int i = threadIdx.x;

	p.to[i] = p.from[i] + table[0][i];
	table[1][i] += i;
	pinned[i] = p.to[i] + table[1][i];
	if (!i)
		turns++;
}

int main()
{
	int *d[4], *table[2], **dt, *pinned, v[N];

	for (int k = 0; k < 4; k++) {
		HIP(hipMalloc(&d[k], sizeof(v)));
		for (int i = 0; i < N; i++)
			v[i] = k * 1000 + i;
		HIP(hipMemcpy(d[k], v, sizeof(v), hipMemcpyHostToDevice));
	}
	HIP(hipMalloc(&dt, sizeof(table)));
	HIP(hipHostMalloc(&pinned, sizeof(v), hipHostMallocMapped));
	memset(pinned, 0, sizeof(v));
	table[0] = d[2];
	table[1] = d[3];
	HIP(hipMemcpy(dt, table, sizeof(table), hipMemcpyHostToDevice));
	for (int k = 0; k < 2; k++) {
		reach<<<1, N>>>((struct pair){d[0], d[1]}, dt, pinned);
		HIP(hipGetLastError());
	}
	HIP(hipDeviceSynchronize());
	for (int i = 0; i < N; i++)
		SAME(pinned[i] == 1000 + i + 2000 + i + 3000 + 3 * i, "a sum");
	printf("all is reached\n");
}
