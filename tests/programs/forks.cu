/* SPDX-License-Identifier: Apache-2.0
 *
 * Forks before and after the first GPU call; the children do things of their own and leave in different ways.
 */
#include "gpu.h"
#include <sys/wait.h>

static int run_child(int how)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		printf("forks: child %d\n", how);
		fflush(stdout);
		if (how == 1)
			_exit(11);
		if (how == 2)
			abort();
		exit(12);
	}
	waitpid(child, &status, 0);
	return status;
}

int main(void)
{
	printf("forks: %x\n", run_child(0));
	int *n = counter_new();
	for (int i = 0; i < 10; i++)
		count<<<1, 32>>>(n, 1);
	printf("forks: %x\n", run_child(1));
	printf("forks: %x\n", run_child(2) & ~0x80); /* whether a core was dumped is the system's business */
	for (int i = 0; i < 10; i++)
		count<<<1, 32>>>(n, 1);
	printf("forks: counted %d\n", counter_value(n));
	return 0;
}
