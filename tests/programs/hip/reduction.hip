// SPDX-License-Identifier: Apache-2.0
//
// A sum by a tree in LDS with barriers, and one more by an atomic.
#include "hip_check.h"

__global__ void sum(unsigned *total, const unsigned *v, int n)
{
	__shared__ unsigned part[256];
	int i = blockIdx.x * 256 + threadIdx.x;

	part[threadIdx.x] = i < n ? v[i] : 0;
	__syncthreads();
	for (int k = 128; k; k /= 2) {
		if (threadIdx.x < k)
			part[threadIdx.x] += part[threadIdx.x + k];
		__syncthreads();
	}
	if (!threadIdx.x)
		atomicAdd(total, part[0]);
}

int main()
{
	enum { N = 100000 };
	static unsigned v[N];
	unsigned *dv, *dt, total = 0, want = 0;

	for (int i = 0; i < N; i++)
		want += v[i] = i * 2654435761u;
	HIP(hipMalloc(&dv, sizeof(v)));
	HIP(hipMalloc(&dt, sizeof(total)));
	HIP(hipMemcpy(dv, v, sizeof(v), hipMemcpyHostToDevice));
	HIP(hipMemcpy(dt, &total, sizeof(total), hipMemcpyHostToDevice));
	sum<<<(N + 255) / 256, 256>>>(dt, dv, N);
	HIP(hipGetLastError());
	HIP(hipMemcpy(&total, dt, sizeof(total), hipMemcpyDeviceToHost));
	SAME(total == want, "the sum");
	printf("the sum is %u\n", total);
}
