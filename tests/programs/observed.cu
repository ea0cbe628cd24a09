/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches for some seconds, after it has said so, a kernel that it launched before: observed SECONDS. By cudaLaunchKernel, which is told the
 * host function.
 */
#include "gpu.h"
#include <time.h>

static void once(int *n)
{
	int by = 1;
	void *args[] = {&n, &by};

	CHECK(cudaLaunchKernel((const void *)count, dim3(1), dim3(32), args, 0, 0));
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	int *n = counter_new();

	once(n);
	CHECK(cudaDeviceSynchronize());
	printf("observed: running\n");
	fflush(stdout);
	while (time(NULL) < end) {
		once(n);
		CHECK(cudaDeviceSynchronize());
		usleep(1000);
	}
	printf("observed: ok\n");
	return 0;
}
