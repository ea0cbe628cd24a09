/* SPDX-License-Identifier: Apache-2.0
 *
 * What tracesmith/mark.h says: a mark before the GPU is used, three windows "step 0" to "step 2" with two launches each and a range
 * "inner" around the second, marks of a thread and of a forked child, and a trigger behind the second window. With an argument
 * it waits until a file of that name is gone, after the first mark.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <tracesmith/mark.h>
#include <unistd.h>
#include "gpu.h"

#define KERNEL(name, by)           \
	__global__ void name(int *n) \
	{                          \
		*n += by;          \
	}
KERNEL(in_window, 1)
KERNEL(in_inner, 10)
KERNEL(outside, 100)

static int taken, forked;

static void *thread(void *arg)
{
	int n = 0;

	for (int i = 0; i < 100; i++) {
		n += tracesmith_range_push("of the thread");
		n += tracesmith_mark("in the thread");
		n += tracesmith_range_pop();
	}
	*(int *)arg = n;
	return NULL;
}

static void step(int *n, int i)
{
	char name[32];

	snprintf(name, sizeof name, "step %d", i);
	taken += tracesmith_window_begin(name);
	in_window<<<1, 1>>>(n);
	taken += tracesmith_range_push("inner");
	in_inner<<<1, 1>>>(n);
	taken += tracesmith_range_pop();
	taken += tracesmith_window_end();
	outside<<<1, 1>>>(n);
}

static void child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int n = tracesmith_mark("in the child") + tracesmith_window_begin("child") + tracesmith_window_end() +
			tracesmith_trigger("child") + tracesmith_active();
		_exit(n);
	}
	waitpid(pid, &status, 0);
	forked = WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	pthread_t t;
	int *n, of_thread = 0;

	taken += tracesmith_mark("before the GPU");
	if (argc > 1 && !access(argv[1], F_OK)) {
		puts("waiting");
		fflush(stdout);
	}
	while (argc > 1 && !access(argv[1], F_OK))
		usleep(10000);
	n = counter_new();
	for (int i = 0; i < 3; i++) {
		step(n, i);
		if (i == 1)
			taken += tracesmith_trigger("the loss is \"large\"");
	}
	pthread_create(&t, NULL, thread, &of_thread);
	pthread_join(t, NULL);
	child();
	printf("marks: %d, %d taken, %d of the thread, %d of the child, active %d\n", counter_value(n), taken, of_thread, forked, tracesmith_active());
	return 0;
}
