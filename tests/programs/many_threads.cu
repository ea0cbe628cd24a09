// SPDX-License-Identifier: Apache-2.0
//
// Threads, 300 unless said otherwise, that all use the GPU at once, each for some launches; then as many again, one after the other.
#include "gpu.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t begun;
static int *counter, launches = 100;

static void *together(void *arg)
{
	count<<<1, 1>>>(counter, 1);
	pthread_barrier_wait(&begun); // nobody has ended before everybody has begun
	for (int i = 1; i < launches; i++)
		count<<<1, 1>>>(counter, 1);
	return NULL;
}

static void *alone(void *arg)
{
	count<<<1, 1>>>(counter, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 300;
	pthread_t *t = (pthread_t *)calloc(n, sizeof(*t)), one;
	pthread_attr_t small;
	if (argc > 2)
		launches = atoi(argv[2]);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	counter = counter_new();
	pthread_barrier_init(&begun, NULL, n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &small, together, NULL))
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < n; i++) {
		pthread_create(&one, &small, alone, NULL);
		pthread_join(one, NULL);
	}
	printf("many_threads: counted %d\n", counter_value(counter));
	return 0;
}
