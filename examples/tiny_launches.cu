/* SPDX-License-Identifier: Apache-2.0
 *
 * N launches of a kernel that does next to nothing, to see what a launch costs.
 *   tiny_launches [N]     default 1000
 */
#include "check.h"
#include <time.h>

__global__ void tiny(int *count, int by)
{
	if (threadIdx.x == 0)
		*count += by;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1000;
	int *count, got = 0;

	CHECK(cudaMalloc(&count, sizeof(int)));
	CHECK(cudaMemset(count, 0, sizeof(int)));
	CHECK(cudaDeviceSynchronize());
	double begin = seconds();
	for (int i = 0; i < n; i++)
		tiny<<<1, 1>>>(count, 1);
	double end = seconds();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&got, count, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(count));
	if (got != n) {
		printf("tiny_launches: WRONG: %d, not %d\n", got, n);
		return 1;
	}
	printf("tiny_launches: %d ok\n%.3f us per launch\n", n, (end - begin) * 1e6 / (n ? n : 1));
	return 0;
}
