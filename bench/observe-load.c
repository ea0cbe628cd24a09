/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls entry points that do nothing, to see what a probe on them costs: observe-load LIBRARY
 * CALLS. As a shared object (-DSTUB) it is that library; bench-observe.py gives it the driver's
 * name, since tsdb looks for that.
 */
#ifdef STUB
/* Most functions begin with a push, which the kernel does itself; any other first instruction is
 * executed out of line, step by step. */
#define ENTRY(name, body)                                                                          \
	__attribute__((visibility("default"), naked)) int name(                                    \
		void *a, unsigned long b, unsigned long c);                                        \
	int name(void *a, unsigned long b, unsigned long c)                                        \
	{                                                                                          \
		__asm__ volatile(body);                                                            \
	}
ENTRY(cuLaunchKernel, "push %rbp; mov %rsp, %rbp; xor %eax, %eax; pop %rbp; ret")
ENTRY(cuLaunchCooperativeKernel,
	"mov %rdi, %rax; push %rbp; mov %rsp, %rbp; xor %eax, %eax; pop %rbp; ret")
ENTRY(cuLaunchKernelEx, "push %rbp; mov %rsp, %rbp; xor %eax, %eax; pop %rbp; ret")
ENTRY(cuMemAlloc_v2, "push %rbp; mov %rsp, %rbp; movq $4096, (%rdi); xor %eax, %eax; pop %rbp; ret")
ENTRY(cuStreamSynchronize, "push %rbp; mov %rsp, %rbp; xor %eax, %eax; pop %rbp; ret")
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int entry(void *a, unsigned long b, unsigned long c);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double per_call(entry *fn, void *arg, int n)
{
	double begin = now();

	for (int i = 0; i < n; i++)
		fn(arg, 8, 0);
	return (now() - begin) / n;
}

/* The same from under `depth` frames more. */
__attribute__((noinline)) static double below(int depth, entry *fn, void *arg, int n)
{
	double ns = depth ? below(depth - 1, fn, arg, n) : per_call(fn, arg, n);

	__asm__ volatile("");
	return ns;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *label, *name;
		int depth;
	} rows[] = {{"launch, 4 frames", "cuLaunchKernel", 0},
		{"launch, 32 frames", "cuLaunchKernel", 28},
		{"launch, no push at its entry", "cuLaunchCooperativeKernel", 0},
		{"launch by config", "cuLaunchKernelEx", 0},
		{"allocation (and its return)", "cuMemAlloc_v2", 0},
		{"wait (both ends)", "cuStreamSynchronize", 0}};
	void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	static unsigned long place[64];
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!lib || n <= 0)
		return 1;
	usleep(1500000); /* until the probes are placed */
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		entry *fn = (entry *)(unsigned long)dlsym(lib, rows[i].name);

		below(rows[i].depth, fn, place, n / 10 + 1);
		printf("%s\t%.1f\n", rows[i].label, below(rows[i].depth, fn, place, n));
		usleep(100000); /* the ring is emptied meanwhile */
	}
	return 0;
}
#endif
