/* SPDX-License-Identifier: Apache-2.0
 *
 * Becomes itself again by exec after some launches, and launches again.
 */
#include "gpu.h"

int main(int argc, char **argv)
{
	int *n = counter_new();

	for (int i = 0; i < 10; i++)
		count<<<1, 32>>>(n, 1);
	printf("execs: %s counted %d\n", argc > 1 ? argv[1] : "first", counter_value(n));
	fflush(stdout);
	if (argc == 1) {
		execl("/proc/self/exe", argv[0], "second", NULL);
		perror("execs: exec");
	}
	return 5;
}
