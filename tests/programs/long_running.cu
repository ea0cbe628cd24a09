/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches for some seconds: long_running SECONDS [ANY WORD]. Says so at the start.
 */
#include "gpu.h"
#include <time.h>

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	time_t end = time(NULL) + (time_t)seconds;
	int *n = counter_new(), launches = 0;

	printf("long_running: running\n");
	fflush(stdout);
	while (time(NULL) < end) {
		count<<<1, 1>>>(n, 1);
		launches++;
		CHECK(cudaDeviceSynchronize());
		usleep(500);
	}
	printf("long_running: %s\n", counter_value(n) == launches ? "ok" : "WRONG");
	return 0;
}
