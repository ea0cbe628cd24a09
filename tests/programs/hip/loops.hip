// SPDX-License-Identifier: Apache-2.0
//
// Launches a kernel again and again, until there is a file "end": something to attach to.
#include <unistd.h>

#include "hip_check.h"

__global__ void count(unsigned *v, unsigned by)
{
	v[threadIdx.x] += by;
}

int main()
{
	unsigned *d, v[64], rounds = 0;
	hipStream_t s;

	HIP(hipStreamCreate(&s));
	HIP(hipMalloc(&d, sizeof(v)));
	HIP(hipMemset(d, 0, sizeof(v)));
	printf("ready\n");
	fflush(stdout);
	while (access("end", F_OK)) {
		count<<<1, 64, 0, s>>>(d, 3);
		HIP(hipGetLastError());
		HIP(hipStreamSynchronize(s));
		rounds++;
		usleep(10000);
	}
	HIP(hipMemcpy(v, d, sizeof(v), hipMemcpyDeviceToHost));
	SAME(v[63] == 3 * rounds, "the count");
	printf("the count is right\n");
}
