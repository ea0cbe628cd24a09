/* SPDX-License-Identifier: Apache-2.0
 *
 * What one launch costs the thread that makes it: BATCHES times LAUNCHES launches of a kernel that does next to nothing, on a stream of its
 * own, three host frames deep, with a wait for the stream between the batches that is not timed. So the queue never fills, and the
 * figures of single batches tell the price from what else the machine does: the first decile is what is compared.
 *   launch-price [BATCHES [LAUNCHES [CPU [FILE]]]]      default 400 500, on any processor
 * FILE: where the thread was, sampled 997 times a second: a line for each place, "samples module offset".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../examples/check.h"
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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

/* ---- sampling */

#define SAMPLES 65536
static size_t sample[SAMPLES];
static volatile int samples, sampling;

static void take(int sig, siginfo_t *info, void *context)
{
	if (sampling && samples < SAMPLES)
		sample[samples++] = (size_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

static void start_sampling(void)
{
	struct sigaction act;
	struct sigevent event;
	struct itimerspec each;
	timer_t timer;

	memset(&act, 0, sizeof(act));
	memset(&event, 0, sizeof(event));
	memset(&each, 0, sizeof(each));
	act.sa_sigaction = take;
	act.sa_flags = SA_SIGINFO | SA_RESTART;
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGPROF;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	each.it_value.tv_nsec = each.it_interval.tv_nsec = 1000000000 / 997;
	if (sigaction(SIGPROF, &act, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &each, NULL))
		perror("launch-price: no samples");
}

static int by_address(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void write_samples(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		return;
	}
	qsort(sample, samples, sizeof(*sample), by_address);
	for (int i = 0, n; i < samples; i += n) {
		Dl_info in;
		for (n = 1; i + n < samples && sample[i + n] == sample[i]; n++)
			;
		if (dladdr((void *)sample[i], &in) && in.dli_fname)
			fprintf(f, "%d %s %zx\n", n, in.dli_fname, sample[i] - (size_t)in.dli_fbase);
		else
			fprintf(f, "%d ? %zx\n", n, sample[i]);
	}
	fclose(f);
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
	if (argc > 4)
		start_sampling();
	for (int i = 0; i < batches; i++) {
		sampling = 1;
		us[i] = batch(launches, count, stream) * 1e6 / launches;
		sampling = 0;
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemcpy(&got, count, sizeof(int), cudaMemcpyDeviceToHost));
	if (got != batches * launches) {
		printf("launch-price: WRONG: %d, not %d\n", got, batches * launches);
		return 1;
	}
	if (argc > 4)
		write_samples(argv[4]);
	qsort(us, batches, sizeof(*us), by_value);
	printf("launch-price: us per launch: decile %.4f median %.4f least %.4f\n", us[batches / 10], us[batches / 2], us[0]);
	return 0;
}
