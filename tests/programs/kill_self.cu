/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills itself with SIGKILL after some launches: nothing of ours runs after that.
 */
#include "gpu.h"
#include <signal.h>

int main(void)
{
	int *n = counter_new();

	for (int i = 0; i < 20; i++)
		count<<<1, 32>>>(n, 1);
	printf("kill_self: %d\n", counter_value(n));
	fflush(stdout);
	kill(getpid(), SIGKILL);
	return 0;
}
