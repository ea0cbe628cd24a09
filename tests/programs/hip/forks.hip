// SPDX-License-Identifier: Apache-2.0
//
// A child that is forked before the device is used may use it. One that is forked after it ends as any
// other, and its parent goes on.
#include <sys/wait.h>
#include <unistd.h>

#include "hip_check.h"

static void round_trip(const char *who)
{
	int from = 42, back = 0, *d;

	HIP(hipMalloc(&d, sizeof(*d)));
	HIP(hipMemcpy(d, &from, sizeof(from), hipMemcpyHostToDevice));
	HIP(hipMemcpy(&back, d, sizeof(back), hipMemcpyDeviceToHost));
	SAME(back == 42, "what came back");
	HIP(hipFree(d));
	printf("%s: %d\n", who, back);
	fflush(stdout);
}

static int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main()
{
	pid_t early = fork(), late;

	if (!early) {
		round_trip("child before");
		return 0;
	}
	printf("child before ended with %d\n", end_of(early));
	fflush(stdout);
	round_trip("parent");
	late = fork();
	if (!late)
		exit(7); // exit handlers run, with no threads but this one
	printf("child after ended with %d\n", end_of(late));
	fflush(stdout);
	round_trip("parent again");
}
