// SPDX-License-Identifier: Apache-2.0
//
// A graph captured from a stream: copy, two kernels, copy; launched three times.
#include "hip_check.h"

__global__ void step(unsigned *v, unsigned plus, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = v[i] * 2 + plus;
}

int main()
{
	enum { N = 1024 };
	unsigned *in, *out, *d;
	hipGraphExec_t exec;
	hipGraph_t graph;
	hipStream_t s;

	HIP(hipStreamCreate(&s));
	HIP(hipHostMalloc((void **)&in, N * 4, 0));
	HIP(hipHostMalloc((void **)&out, N * 4, 0));
	HIP(hipMalloc(&d, N * 4));
	HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
	HIP(hipMemcpyAsync(d, in, N * 4, hipMemcpyHostToDevice, s));
	step<<<N / 256, 256, 0, s>>>(d, 1, N);
	step<<<N / 256, 256, 0, s>>>(d, 5, N);
	HIP(hipMemcpyAsync(out, d, N * 4, hipMemcpyDeviceToHost, s));
	HIP(hipStreamEndCapture(s, &graph));
	HIP(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < N; i++)
			in[i] = i + round;
		HIP(hipGraphLaunch(exec, s));
		HIP(hipStreamSynchronize(s));
		for (unsigned i = 0; i < N; i++)
			SAME(out[i] == ((i + round) * 2 + 1) * 2 + 5, "a word");
	}
	printf("three graph launches are right\n");
}
