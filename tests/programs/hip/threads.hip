// SPDX-License-Identifier: Apache-2.0
//
// Eight threads, each with its own stream and memory, side by side.
#include <pthread.h>

#include "hip_check.h"

enum { N = 1 << 16, ROUNDS = 20 };

static void *work(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;
	unsigned *from, *back, *d;
	hipStream_t s;
	hipEvent_t e;

	HIP(hipSetDevice(0));
	HIP(hipStreamCreate(&s));
	HIP(hipEventCreate(&e));
	HIP(hipHostMalloc((void **)&from, N * sizeof(*from), 0));
	HIP(hipHostMalloc((void **)&back, N * sizeof(*back), 0));
	for (unsigned r = 0; r < ROUNDS; r++) {
		HIP(hipMalloc(&d, N * sizeof(*d)));
		for (unsigned i = 0; i < N; i++)
			from[i] = i * 17 + me * 1000 + r;
		HIP(hipMemcpyAsync(d, from, N * sizeof(*d), hipMemcpyHostToDevice, s));
		HIP(hipMemcpyAsync(back, d, N * sizeof(*d), hipMemcpyDeviceToHost, s));
		HIP(hipEventRecord(e, s));
		HIP(hipEventSynchronize(e));
		SAME(!memcmp(from, back, N * sizeof(*d)), "a thread's words");
		HIP(hipFree(d));
	}
	HIP(hipStreamDestroy(s));
	HIP(hipEventDestroy(e));
	return NULL;
}

int main()
{
	pthread_t t[8];

	HIP(hipFree(NULL));
	for (size_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	printf("8 threads are right\n");
}
