/* SPDX-License-Identifier: Apache-2.0
 *
 * What one launch costs the thread that makes it: BATCHES times LAUNCHES launches of a kernel that does next to nothing, on a stream of its
 * own, three host frames deep, with a wait for the stream between the batches that is not timed. So the queue never fills, and the
 * figures of single batches tell the price from what else the machine does: the first decile is what is compared.
 *   launch-price [BATCHES [LAUNCHES [CPU]]]      default 400 500, on any processor
 */
#include "../examples/check.h"
#include <sched.h>
#include <time.h>

__global__ void tiny(int *count, int by)
{
	if (threadIdx.x == 0)
		*count += by;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void launch(int *count, cudaStream_t stream)
{
	tiny<<<1, 1, 0, stream>>>(count, 1);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((noinline)) void step(int *count, cudaStream_t stream)
{
	launch(count, stream);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) double batch(int launches, int *count, cudaStream_t stream)
{
	const double begin = seconds();

	for (int i = 0; i < launches; i++)
		step(count, stream);
	return seconds() - begin;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("launch-price: sched_setaffinity");
}

int main(int argc, char **argv)
{
	const int batches = argc > 1 ? atoi(argv[1]) : 400, launches = argc > 2 ? atoi(argv[2]) : 500;
	int *count, got = 0;
	cudaStream_t stream;

	if (batches < 1 || launches < 1 || batches > 1000000 || launches > 1000000 || (long)batches * launches > 2000000000)
		return 2;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	if (argc > 3) /* the driver's own threads stay free */
		stay_on(atoi(argv[3]));
	double *us = (double *)malloc(batches * sizeof(*us));
	if (!us)
		return 2;
	CHECK(cudaMalloc(&count, sizeof(int)));
	CHECK(cudaMemset(count, 0, sizeof(int)));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < batches; i++) {
		us[i] = batch(launches, count, stream) * 1e6 / launches;
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemcpy(&got, count, sizeof(int), cudaMemcpyDeviceToHost));
	if (got != batches * launches) {
		printf("launch-price: WRONG: %d, not %d\n", got, batches * launches);
		return 1;
	}
	qsort(us, batches, sizeof(*us), by_value);
	printf("launch-price: us per launch: decile %.4f median %.4f least %.4f\n", us[batches / 10], us[batches / 2], us[0]);
	return 0;
}
