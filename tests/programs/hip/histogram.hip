// SPDX-License-Identifier: Apache-2.0
//
// Counts bytes by atomics, in LDS and then in memory.
#include "hip_check.h"

__global__ void count(unsigned *bins, const unsigned char *v, int n)
{
	__shared__ unsigned mine[256];

	mine[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&mine[v[i]], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

int main()
{
	enum { N = 200000 };
	static unsigned char v[N];
	static unsigned want[256], bins[256];
	unsigned char *dv;
	unsigned *db;

	for (int i = 0; i < N; i++)
		want[v[i] = (unsigned char)((i * 2654435761u) >> 21)]++;
	HIP(hipMalloc(&dv, N));
	HIP(hipMalloc(&db, sizeof(bins)));
	HIP(hipMemcpy(dv, v, N, hipMemcpyHostToDevice));
	HIP(hipMemset(db, 0, sizeof(bins)));
	count<<<16, 256>>>(db, dv, N);
	HIP(hipGetLastError());
	HIP(hipMemcpy(bins, db, sizeof(bins), hipMemcpyDeviceToHost));
	SAME(!memcmp(bins, want, sizeof(bins)), "the counts");
	printf("256 counts are right\n");
}
