/* SPDX-License-Identifier: Apache-2.0
 *
 * Built with --default-stream per-thread: stream 0 is each thread's own, so a thread whose stream is held up holds up no other. Speaks TAP. Also: a
 * variable and a kernel with the names that another translation unit may have for its own.
 */
#include <atomic>
#include <cstdio>
#include <thread>

#include <cuda_runtime.h>
#include <unistd.h>

static __device__ int file_static = 21;
static int n, failed;

__global__ void add_to(int *p, int v)
{
	*p += v + file_static;
}

static void check(bool ok, const char *what)
{
	printf("%s %d - %s\n", ok ? "ok" : "not ok", ++n, what);
	failed += !ok;
}

static std::atomic<bool> gate;

static void CUDART_CB wait_gate(void *)
{
	while (!gate)
		usleep(200);
}

int main()
{
	int *p, *q, v = -1, w = -1;
	bool passed_by = false;
	cudaStream_t blocking;

	cudaFuncAttributes attributes;
	check(cudaFuncGetAttributes(&attributes, add_to) == 0, "load the kernel before a stream is held up");
	setvbuf(stdout, nullptr, _IOLBF, 0);
	check(cudaMalloc(&p, 4) == 0 && cudaMalloc(&q, 4) == 0, "allocate");
	check(cudaMemset(p, 0, 4) == 0 && cudaMemset(q, 0, 4) == 0, "fill");
	check(cudaLaunchHostFunc(0, wait_gate, nullptr) == 0, "hold up this thread's stream");
	add_to<<<1, 1>>>(p, 1);
	check(cudaStreamQuery(0) == cudaErrorNotReady, "it is held up");
	cudaGetLastError();
	std::thread([&] {
		add_to<<<1, 1>>>(q, 2);
		passed_by = cudaStreamSynchronize(0) == 0 && cudaMemcpy(&w, q, 4, cudaMemcpyDeviceToHost) == 0;
	}).join();
	check(passed_by && w == 23, "another thread's stream goes on");
	check(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady, "cudaStreamPerThread is stream 0");
	cudaGetLastError();
	check(cudaStreamCreate(&blocking) == 0, "create a stream");
	add_to<<<1, 1, 0, blocking>>>(q, 5);
	check(cudaStreamSynchronize(blocking) == 0, "a per-thread stream does not hold up a created one");
	gate = true;
	check(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost) == 0 && v == 22, "a copy waits for its own stream");
	check(cudaMemcpy(&v, q, 4, cudaMemcpyDeviceToHost) == 0 && v == 49, "the created stream ran once");
	check(cudaGetLastError() == cudaSuccess, "no error is left");
	printf("1..%d\n", n);
	return failed != 0;
}
