/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks that add their numbers up as NCCL's do: a kernel of each tells the other, through memory that both have open, that its numbers are there, and
 * waits for the other's. Meanwhile a second thread asks how far things are and makes calls that only give out handles, as NCCL's and PyTorch's do. The parent is rank 0, the same
 * program, started again before CUDA is, rank 1. collective [ROUNDS]
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "gpu.h"

#define N 64

/* What a rank shows the other: its numbers, and the rounds for which the other one's were there and had been read. */
struct window {
	int number[N], there, read;
};

__global__ void fill(struct window *mine, int rank, int round)
{
	mine->number[threadIdx.x] = 1000 * rank + 10 * round + threadIdx.x;
}

static __device__ void meet(volatile int *his, volatile int *mine, int round)
{
	__syncthreads();
	if (!threadIdx.x) {
		__threadfence_system();
		*his = round;
		while (*mine < round)
			__nanosleep(1000);
		__threadfence_system();
	}
	__syncthreads();
}

__global__ void ncclDevKernel_AllReduce_Sum(struct window *mine, struct window *his, int *sums, int round)
{
	meet(&his->there, &mine->there, round);
	sums[threadIdx.x] += mine->number[threadIdx.x] + ((volatile int *)his->number)[threadIdx.x];
	meet(&his->read, &mine->read, round);
}

static void must(ssize_t got, ssize_t want, const char *what)
{
	if (got != want) {
		fprintf(stderr, "collective: cannot %s\n", what);
		exit(1);
	}
}

static volatile int over;

/* The driver may refuse the first. */
static void *ask(void *event)
{
	CUresult (*get)(CUipcEventHandle *, CUevent) = (CUresult (*)(CUipcEventHandle *, CUevent))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuIpcGetEventHandle");
	CUipcEventHandle h;

	while (!over) {
		(void)get(&h, (CUevent)event);
		(void)cudaEventQuery((cudaEvent_t)event);
		(void)cudaStreamQuery(cudaStreamPerThread);
		usleep(300);
	}
	return NULL;
}

/* Handles go through the pipes; a byte at the end, so that nobody's memory goes away too early. */
static int rank_of_two(int rank, int rounds, int in, int out)
{
	struct window *mine, *his;
	cudaIpcMemHandle_t h;
	cudaEvent_t event;
	pthread_t thread;
	int *sums, got[N];
	char x = 0;

	CHECK(cudaMalloc(&mine, sizeof(*mine)));
	CHECK(cudaMalloc(&sums, N * sizeof(int)));
	CHECK(cudaMemset(mine, 0, sizeof(*mine)));
	CHECK(cudaMemset(sums, 0, N * sizeof(int)));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&h, mine));
	must(write(out, &h, sizeof(h)), sizeof(h), "send the handle");
	must(read(in, &h, sizeof(h)), sizeof(h), "read the handle");
	CHECK(cudaIpcOpenMemHandle((void **)&his, h, cudaIpcMemLazyEnablePeerAccess));
	if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess)) {
		(void)cudaGetLastError();
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	}
	CHECK(cudaEventRecord(event));
	pthread_create(&thread, NULL, ask, event);
	for (int round = 1; round <= rounds; round++) {
		fill<<<1, N>>>(mine, rank, round);
		ncclDevKernel_AllReduce_Sum<<<1, N>>>(mine, his, sums, round);
	}
	CHECK(cudaMemcpy(got, sums, sizeof(got), cudaMemcpyDeviceToHost));
	over = 1;
	pthread_join(thread, NULL);
	must(write(out, &x, 1), 1, "say that it is over");
	must(read(in, &x, 1), 1, "hear that it is over");
	CHECK(cudaIpcCloseMemHandle(his));
	for (int i = 0; i < N; i++) {
		const int want = rounds * (1000 + 2 * i) + 10 * rounds * (rounds + 1);

		if (got[i] != want) {
			printf("collective: rank %d, number %d is %d, not %d\n", rank, i, got[i], want);
			return 1;
		}
	}
	printf("collective: rank %d ok\n", rank);
	return 0;
}

int main(int argc, char **argv)
{
	int down[2], up[2], status = 1;
	pid_t pid;

	if (argc > 3)
		return rank_of_two(1, atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
	if (pipe(down) || pipe(up))
		return 1;
	pid = fork();
	if (!pid) {
		char in[16], out[16];

		snprintf(in, sizeof(in), "%d", down[0]);
		snprintf(out, sizeof(out), "%d", up[1]);
		execl("/proc/self/exe", argv[0], argc > 1 ? argv[1] : "3", in, out, NULL);
		_exit(127);
	}
	close(up[1]);
	const int failed = rank_of_two(0, argc > 1 ? atoi(argv[1]) : 3, up[0], down[1]);

	waitpid(pid, &status, 0);
	return failed || status;
}
