/* SPDX-License-Identifier: Apache-2.0
 *
 * Crashes with SIGSEGV after some launches.
 */
#include "gpu.h"

__attribute__((noinline)) static void crash_here(volatile int *where)
{
	*where = 1;
}

int main(void)
{
	int *n = counter_new();

	for (int i = 0; i < 20; i++)
		count<<<1, 32>>>(n, 1);
	printf("crash_segv: %d\n", counter_value(n));
	fflush(stdout);
	crash_here(NULL);
	return 0;
}
