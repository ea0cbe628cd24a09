/* SPDX-License-Identifier: Apache-2.0
 *
 * Two processes share device memory through a handle: the parent makes numbers, the child (the same program, started again before CUDA is) opens
 * the memory, doubles the numbers with a kernel and keeps their sum, the parent adds 1 to each and reads them back. Pipes order it.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include "gpu.h"

#define N 5000

__global__ void number(int *p)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		p[i] = i;
}

__global__ void times_add(int *p, int times, int add)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		p[i] = p[i] * times + add;
}

__global__ void sum(const int *p, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		atomicAdd(out, p[i]);
}

static void must(ssize_t got, ssize_t want, const char *what)
{
	if (got != want) {
		fprintf(stderr, "ipc: cannot %s\n", what);
		exit(1);
	}
}

static int child(int in, int out)
{
	cudaIpcMemHandle_t h;
	int *p, *n;

	must(read(in, &h, sizeof h), sizeof h, "read the handle");
	CHECK(cudaIpcOpenMemHandle((void **)&p, h, cudaIpcMemLazyEnablePeerAccess));
	n = counter_new();
	times_add<<<(N + 127) / 128, 128>>>(p, 2, 0);
	sum<<<(N + 127) / 128, 128>>>(p, n);
	CHECK(cudaDeviceSynchronize());
	must(write(out, "x", 1), 1, "answer");
	if (counter_value(n) != N * (N - 1))
		return 1;
	CHECK(cudaIpcCloseMemHandle(p));
	return 0;
}

int main(int argc, char **argv)
{
	int down[2], up[2], status, *p, *before;
	static int got[N];
	cudaIpcMemHandle_t h;
	char x;
	pid_t pid;

	if (argc > 2)
		return child(atoi(argv[1]), atoi(argv[2]));
	if (pipe(down) || pipe(up))
		return 1;
	pid = fork();
	if (!pid) {
		char in[16], out[16];

		snprintf(in, sizeof in, "%d", down[0]);
		snprintf(out, sizeof out, "%d", up[1]);
		execl("/proc/self/exe", argv[0], in, out, NULL);
		_exit(127);
	}
	CHECK(cudaMalloc(&before, 100)); /* so that the shared memory does not begin a page */
	CHECK(cudaMalloc(&p, N * sizeof(int)));
	number<<<(N + 127) / 128, 128>>>(p);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&h, p));
	must(write(down[1], &h, sizeof h), sizeof h, "send the handle");
	close(up[1]);
	must(read(up[0], &x, 1), 1, "hear of the child");
	times_add<<<(N + 127) / 128, 128>>>(p, 1, 1);
	CHECK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
	waitpid(pid, &status, 0);
	for (int i = 0; i < N; i++) {
		if (got[i] != 2 * i + 1) {
			printf("ipc: number %d is %d\n", i, got[i]);
			return 1;
		}
	}
	printf("ipc: ok\n");
	return status != 0;
}
