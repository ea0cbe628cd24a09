/* SPDX-License-Identifier: Apache-2.0
 *
 * Twelve threads launch at once, each into a stream of its own; some end early, the last ones are never joined.
 */
#include "gpu.h"
#include <pthread.h>

#define THREADS 12
#define LAUNCHES 300

static int *counters[THREADS];
static pthread_barrier_t begin;

static void *work(void *arg)
{
	long me = (long)arg;
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	pthread_barrier_wait(&begin);
	for (int i = 0; i < LAUNCHES + (int)me; i++)
		count<<<1, 1, 0, s>>>(counters[me], 1);
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaStreamDestroy(s));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&begin, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		counters[i] = counter_new();
	CHECK(cudaDeviceSynchronize());
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("threads: %d counted %d\n", i, counter_value(counters[i]));
	return 0;
}
