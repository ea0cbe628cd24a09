// SPDX-License-Identifier: Apache-2.0
//
// A deadlock of two streams: one waits for an event of the other, on which a kernel spins until a flag is set; the
// kernel that sets the flag is behind the wait.
#include "gpu.h"

__global__ void wait_flag(volatile int *flag)
{
	while (!*flag)
		;
}

__global__ void set_flag(int *flag)
{
	*flag = 1;
}

__global__ void scale(float *x)
{
	x[threadIdx.x] *= 2;
}

int main(void)
{
	cudaStream_t s, t;
	cudaEvent_t event;
	int *flag;
	float *x;

	alarm(120);
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaMalloc(&flag, sizeof(*flag)));
	CHECK(cudaMalloc(&x, 32 * sizeof(*x)));
	CHECK(cudaMemset(flag, 0, sizeof(*flag)));
	CHECK(cudaMemset(x, 0, 32 * sizeof(*x)));
	CHECK(cudaDeviceSynchronize());
	scale<<<1, 32, 0, t>>>(x);
	wait_flag<<<1, 32, 0, t>>>(flag);
	CHECK(cudaEventRecord(event, t));
	CHECK(cudaStreamWaitEvent(s, event, 0));
	scale<<<1, 32, 0, s>>>(x);
	set_flag<<<1, 1, 0, s>>>(flag);
	printf("ready\n");
	fflush(stdout);
	CHECK(cudaStreamSynchronize(s));
	return 0;
}
