/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast the software GPU is, as ratios from one run: kernels against plain C loops on as many
 * threads, two workers against one, a launch against a function call, memory per resident block.
 *   bench-softgpu [MATMUL.PTX]       default: the examples' examples/ptx/matmul.ptx
 * Best of several: the ratios are of the best times. Worker counts are read once, so the other one
 * is measured by a child.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "softgpu-loops.h"

#define RUNS 9
#define THREADS 2
#define N 512		  /* the matrices' */
#define FLOATS (16 << 20) /* 64 MiB each */
#define LAUNCHES 20000

#define FUNCTIONS(FN)                                                                              \
	FN(cuInit)                                                                                 \
	FN(cuDevicePrimaryCtxRetain)                                                               \
	FN(cuCtxSetCurrent)                                                                        \
	FN(cuCtxSynchronize)                                                                       \
	FN(cuModuleLoadData)                                                                       \
	FN(cuModuleGetFunction)                                                                    \
	FN(cuMemAlloc_v2)                                                                          \
	FN(cuMemcpyHtoD_v2)                                                                        \
	FN(cuMemcpyDtoH_v2)                                                                        \
	FN(cuLaunchKernel)

static struct {
#define FIELD(name) __typeof__(&name) name;
	FUNCTIONS(FIELD)
} cu;
static CUfunction matmul, saxpy, nothing;
static CUdeviceptr da, db, dc;
static float *a, *b, *c;
static int size;

static const char kernels[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry nothing() { ret; }\n"
	".visible .entry saxpy(.param .u64 py, .param .u64 px, .param .f32 pa, .param .u32 pn)\n{\n"
	"	.reg .pred %p<2>;\n	.reg .f32 %f<5>;\n	.reg .b32 %r<6>;\n	.reg .b64 %rd<8>;\n"
	"	ld.param.u64 %rd1, [py];\n	ld.param.u64 %rd2, [px];\n"
	"	ld.param.f32 %f1, [pa];\n	ld.param.u32 %r2, [pn];\n"
	"	mov.u32 %r3, %ctaid.x;\n	mov.u32 %r4, %ntid.x;\n	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.s32 %r1, %r3, %r4, %r5;\n	setp.ge.s32 %p1, %r1, %r2;\n	@%p1 bra DONE;\n"
	"	cvta.to.global.u64 %rd3, %rd1;\n	cvta.to.global.u64 %rd4, %rd2;\n	mul.wide.s32 %rd5, %r1, 4;\n"
	"	add.s64 %rd6, %rd4, %rd5;\n	ld.global.f32 %f2, [%rd6];\n	add.s64 %rd7, %rd3, %rd5;\n"
	"	ld.global.f32 %f3, [%rd7];\n	fma.rn.f32 %f4, %f2, %f1, %f3;\n	st.global.f32 [%rd7], %f4;\n"
	"DONE:\n	ret;\n}\n";

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "bench-softgpu: %s: error %d\n", what, (int)r);
	exit(1);
}
#define CHECK(call) check(call, #call)

static void load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "bench-softgpu: %s\n", dlerror());
		exit(77);
	}
#define LOAD(name)                                                                                 \
	cu.name = (__typeof__(cu.name))(uintptr_t)dlsym(lib, #name);                               \
	if (!cu.name)                                                                              \
		exit(1);
	FUNCTIONS(LOAD)
}

static char *slurp(const char *path)
{
	char *p = calloc(1, 1 << 20);
	FILE *f = fopen(path, "rb");

	if (!f || !p || !fread(p, 1, (1 << 20) - 1, f)) {
		fprintf(stderr, "bench-softgpu: cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	return p;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds; the best of some. The first run, which warms up and may compile, is *first. */
static double best_of(unsigned runs, void (*run)(void), double *first)
{
	double best = 1e30, t = now();

	run();
	if (first)
		*first = now() - t;
	for (unsigned k = 0; k < runs; k++) {
		t = now();
		run();
		t = now() - t;
		best = t < best ? t : best;
	}
	return best;
}

/* The same of two, by turns, so that what else the machine does falls on both. */
static void best_of_both(void (*x)(void), void (*y)(void), double best[2], double *first)
{
	best[0] = best_of(0, x, first);
	best[1] = 1e30;
	for (unsigned k = 0; k < RUNS; k++)
		for (unsigned j = 0; j < 2; j++) {
			double t = now();
			(j ? y : x)();
			t = now() - t;
			best[j] = k + j && t > best[j] ? best[j] : t;
		}
}

/* --- kernels --- */
static void run_matmul(void)
{
	void *params[] = {&dc, &da, &db, &size};
	unsigned grid = (unsigned)size / 16;

	CHECK(cu.cuLaunchKernel(matmul, grid, grid, 1, 16, 16, 1, 0, NULL, params, NULL));
	CHECK(cu.cuCtxSynchronize());
}

static void run_saxpy(void)
{
	float factor = 0.5f;
	int n = FLOATS;
	void *params[] = {&dc, &da, &factor, &n};

	CHECK(cu.cuLaunchKernel(saxpy, FLOATS / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	CHECK(cu.cuCtxSynchronize());
}

static void run_launches(void)
{
	for (unsigned k = 0; k < LAUNCHES; k++)
		CHECK(cu.cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cu.cuCtxSynchronize());
}

static void run_round_trips(void)
{
	for (unsigned k = 0; k < LAUNCHES / 10; k++) {
		CHECK(cu.cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cu.cuCtxSynchronize());
	}
}

/* --- loops --- */
struct share {
	void (*run)(int from, int to);
	int from, to;
};

static void *share_main(void *arg)
{
	const struct share *s = arg;

	s->run(s->from, s->to);
	return NULL;
}

static void on_threads(void (*run)(int from, int to), int n)
{
	struct share s[THREADS];
	pthread_t t[THREADS];

	for (int k = 0; k < THREADS; k++) {
		s[k] = (struct share){run, n / THREADS * k, n / THREADS * (k + 1)};
		if (pthread_create(&t[k], NULL, share_main, &s[k]))
			exit(1);
	}
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
}

static void dot_share(int from, int to)
{
	loop_dot(c, a, b, N, from, to);
}

static void rows_share(int from, int to)
{
	loop_rows(c, a, b, N, from, to);
}

static void saxpy_share(int from, int to)
{
	loop_saxpy(c, a, 0.5f, from, to);
}

static void run_dot(void)
{
	on_threads(dot_share, N);
}

static void run_rows(void)
{
	on_threads(rows_share, N);
}

static void run_loop_saxpy(void)
{
	on_threads(saxpy_share, FLOATS);
}

static void run_calls(void)
{
	int (*volatile call)(int) = loop_call;
	volatile int x = 0;

	for (unsigned k = 0; k < LAUNCHES; k++)
		x = call(x);
}

/* --- all of it --- */
static void open_all(const char *path)
{
	const size_t bytes = (size_t)FLOATS * sizeof(float);
	CUmodule m;
	CUcontext ctx;

	load_driver();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cu.cuCtxSetCurrent(ctx));
	CHECK(cu.cuModuleLoadData(&m, slurp(path)));
	CHECK(cu.cuModuleGetFunction(&matmul, m, "_Z6matmulPfPKfS1_i"));
	CHECK(cu.cuModuleLoadData(&m, kernels));
	CHECK(cu.cuModuleGetFunction(&saxpy, m, "saxpy"));
	CHECK(cu.cuModuleGetFunction(&nothing, m, "nothing"));
	CHECK(cu.cuMemAlloc_v2(&da, bytes));
	CHECK(cu.cuMemAlloc_v2(&db, bytes));
	CHECK(cu.cuMemAlloc_v2(&dc, bytes));
	a = malloc(bytes);
	b = malloc(bytes);
	c = calloc(FLOATS, sizeof(float));
	if (!a || !b || !c)
		exit(1);
	for (int k = 0; k < FLOATS; k++) {
		a[k] = (float)(k % 17) * 0.125f - 1;
		b[k] = (float)(k % 13) * 0.25f - 1;
	}
	CHECK(cu.cuMemcpyHtoD_v2(da, a, bytes));
	CHECK(cu.cuMemcpyHtoD_v2(db, b, bytes));
	CHECK(cu.cuMemcpyHtoD_v2(dc, c, bytes));
	size = N;
}

/* The sums are exact in any order and with or without fma: small numbers of few bits. */
static bool right(void)
{
	float *got = malloc(N * N * sizeof(*got));
	bool same;

	if (!got)
		exit(1);
	size = N;
	run_matmul();
	run_dot();
	CHECK(cu.cuMemcpyDtoH_v2(got, dc, N * N * sizeof(*got)));
	same = !memcmp(got, c, N * N * sizeof(*got));
	free(got);
	return same;
}

/* The number that a process of its own prints, with this many workers. */
static double in_child(const char *mode, const char *path, const char *workers)
{
	char line[64] = "";
	int fd[2];
	pid_t pid;

	if (pipe(fd) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		dup2(fd[1], 1);
		setenv("TSDB_SOFT_WORKERS", workers, 1);
		execl("/proc/self/exe", "bench-softgpu", mode, path, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	if (read(fd[0], line, sizeof(line) - 1) <= 0)
		exit(1);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return atof(line);
}

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		exit(1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void compare(const char *what, void (*kernel)(void), const char *loop, void (*plain)(void))
{
	double best[2], first;

	best_of_both(kernel, plain, best, &first);
	printf("%-28s %8.2f ms (first %.0f ms), %s %8.2f ms: %.2f times\n", what, best[0] * 1e3,
		first * 1e3, loop, best[1] * 1e3, best[0] / best[1]);
}

/* What the process grew by when a kernel ran, interpreted. */
static void print_memory(const char *path)
{
	long before = resident();

	size = N;
	run_matmul();
	printf("%.9f\n", (double)(resident() - before) / 1024);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 && argv[1][0] == '-' ? argv[1] : NULL;
	const char *path = argc > 1 + (mode != NULL) ? argv[1 + (mode != NULL)] : BENCH_MATMUL_PTX;
	double kernel, plain, one = 1e30, two = 1e30;

	open_all(path);
	if (mode && !strcmp(mode, "--memory")) {
		print_memory(path);
		return 0;
	}
	if (mode) {
		size = 256; /* 16 by 16 blocks */
		printf("%.9f\n", best_of(40, run_matmul, NULL));
		return 0;
	}
	setenv("TSDB_SOFT_JIT", "0", 1);
	printf("%-28s %8.0f KiB for one resident block and its worker\n", "memory, matmul",
		in_child("--memory", path, "1"));
	unsetenv("TSDB_SOFT_JIT");
	compare("matmul 512^3", run_matmul, "C by dot products", run_dot);
	compare("matmul 512^3", run_matmul, "C by rows", run_rows);
	compare("y = a x + y, 64 MiB each", run_saxpy, "C", run_loop_saxpy);
	plain = best_of(RUNS, run_calls, NULL) / LAUNCHES;
	kernel = best_of(RUNS, run_launches, NULL) / LAUNCHES;
	printf("%-28s %8.2f us over a function call\n", "empty launch, in a row",
		(kernel - plain) * 1e6);
	kernel = best_of(RUNS, run_round_trips, NULL) / (LAUNCHES / 10);
	printf("%-28s %8.2f us over a function call\n", "empty launch and wait",
		(kernel - plain) * 1e6);
	for (unsigned k = 0; k < 3; k++) {
		double t = in_child("--blocks", path, "1");
		one = t < one ? t : one;
		t = in_child("--blocks", path, "2");
		two = t < two ? t : two;
	}
	printf("%-28s one worker %.2f ms, two %.2f ms: %.2f times as fast\n",
		"matmul 256^3, 256 blocks", one * 1e3, two * 1e3, one / two);
	if (!right()) {
		printf("matmul: WRONG results\n");
		return 1;
	}
	return 0;
}
