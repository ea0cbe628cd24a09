// SPDX-License-Identifier: Apache-2.0
//
// c = a + b on a size that fills no last workgroup.
#include "hip_check.h"

__global__ void add(float *c, const float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	enum { N = 10007 };
	static float a[N], b[N], c[N];
	float *da, *db, *dc;

	for (int i = 0; i < N; i++) {
		a[i] = i * 0.5f;
		b[i] = 1.0f - i;
	}
	HIP(hipMalloc(&da, sizeof(a)));
	HIP(hipMalloc(&db, sizeof(b)));
	HIP(hipMalloc(&dc, sizeof(c)));
	HIP(hipMemcpy(da, a, sizeof(a), hipMemcpyHostToDevice));
	HIP(hipMemcpy(db, b, sizeof(b), hipMemcpyHostToDevice));
	add<<<(N + 255) / 256, 256>>>(dc, da, db, N);
	HIP(hipGetLastError());
	HIP(hipMemcpy(c, dc, sizeof(c), hipMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		SAME(c[i] == a[i] + b[i], "a sum");
	printf("sums are right\n");
}
