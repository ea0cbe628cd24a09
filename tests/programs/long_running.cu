/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches for some seconds, or until there is a file called "end" in its folder: long_running SECONDS [ANY WORD]. Says so at the start, when the first
 * launch is done.
 */
#include "gpu.h"
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	time_t end = time(NULL) + (time_t)seconds;
	int *n = counter_new(), launches = 0;

	while (!launches || (time(NULL) < end && access("end", F_OK) != 0)) {
		count<<<1, 1>>>(n, 1);
		CHECK(cudaDeviceSynchronize());
		if (!launches++) {
			printf("long_running: running\n");
			fflush(stdout);
		}
		usleep(500);
	}
	printf("long_running: %s\n", counter_value(n) == launches ? "ok" : "WRONG");
	return 0;
}
