// SPDX-License-Identifier: Apache-2.0
//
// Two streams with a dependency by an event each way, and the time between two events.
#include "hip_check.h"

__global__ void times_add(unsigned *v, unsigned by, unsigned plus, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = v[i] * by + plus;
}

int main()
{
	enum { N = 4096 };
	static unsigned v[N];
	hipStream_t a, b;
	hipEvent_t first, second, start, stop;
	unsigned *d;
	float ms = -1;

	HIP(hipStreamCreate(&a));
	HIP(hipStreamCreate(&b));
	HIP(hipEventCreateWithFlags(&first, hipEventDisableTiming));
	HIP(hipEventCreateWithFlags(&second, hipEventDisableTiming));
	HIP(hipEventCreate(&start));
	HIP(hipEventCreate(&stop));
	HIP(hipMalloc(&d, sizeof(v)));
	for (unsigned i = 0; i < N; i++)
		v[i] = i;
	HIP(hipMemcpyAsync(d, v, sizeof(v), hipMemcpyHostToDevice, a));
	HIP(hipEventRecord(start, a));
	times_add<<<N / 256, 256, 0, a>>>(d, 3, 1, N);
	HIP(hipEventRecord(first, a));
	HIP(hipStreamWaitEvent(b, first, 0));
	times_add<<<N / 256, 256, 0, b>>>(d, 5, 2, N);
	HIP(hipEventRecord(second, b));
	HIP(hipStreamWaitEvent(a, second, 0));
	times_add<<<N / 256, 256, 0, a>>>(d, 7, 3, N);
	HIP(hipEventRecord(stop, a));
	HIP(hipMemcpyAsync(v, d, sizeof(v), hipMemcpyDeviceToHost, a));
	HIP(hipStreamSynchronize(a));
	HIP(hipEventElapsedTime(&ms, start, stop));
	for (unsigned i = 0; i < N; i++)
		SAME(v[i] == ((i * 3 + 1) * 5 + 2) * 7 + 3, "a word");
	SAME(ms > 0 && ms < 100000, "the time");
	printf("two streams are right\n");
}
