/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share. Each has many cases, chosen by its first argument;
 * table.py says what is wrong in each. A case prints "ready" when its end is decided: from then on
 * one that is stuck stays so, and one that is busy goes on. Whatever happens, the process is gone
 * HANG_SECONDS later (120), and a child is when its parent is.
 */
#ifndef TESTS_PROGRAMS_HANGS_H
#define TESTS_PROGRAMS_HANGS_H

#include "../gpu.h"
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct hang_case {
	const char *name;
	void (*run)(void);
};

static inline void hang_limit(void)
{
	const char *s = getenv("HANG_SECONDS");

	alarm(s ? (unsigned)atoi(s) : 120);
}

static inline void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

/* Starts this program again, with CUDA untouched, as one that ends with its parent. The child is
 * given the numbers of two descriptors, in and out. */
static inline pid_t hang_child(const char *role, int in, int out)
{
	const pid_t pid = fork();
	char a[16], b[16];

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(a, sizeof(a), "%d", in);
	snprintf(b, sizeof(b), "%d", out);
	execl("/proc/self/exe", "child", role, a, b, NULL);
	_exit(127);
}

static inline int hang_run(const struct hang_case *all, unsigned n, const char *name)
{
	hang_limit();
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(all[i].name, name)) {
			all[i].run();
			return 0;
		}
	fprintf(stderr, "no case %s\n", name);
	return 2;
}

typedef CUresult hang_value_fn(CUstream, CUdeviceptr, cuuint32_t, unsigned);

static inline hang_value_fn *hang_entry(const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *f = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
	return (hang_value_fn *)f;
}

static inline void wait_value(cudaStream_t s, volatile int *at, int value)
{
	static hang_value_fn *f;

	f = f ? f : hang_entry("cuStreamWaitValue32");
	if (f((CUstream)s, (CUdeviceptr)(uintptr_t)at, (cuuint32_t)value, CU_STREAM_WAIT_VALUE_EQ))
		exit(3);
}

static inline void write_value(cudaStream_t s, volatile int *at, int value)
{
	static hang_value_fn *f;

	f = f ? f : hang_entry("cuStreamWriteValue32");
	if (f((CUstream)s, (CUdeviceptr)(uintptr_t)at, (cuuint32_t)value, 0))
		exit(3);
}

#endif
