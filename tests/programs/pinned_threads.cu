// SPDX-License-Identifier: Apache-2.0
//
// Four threads that allocate pinned memory, copy through it, launch, and free it again: each one's free comes while the others' launches are being recorded.
// Every page of a buffer changes before the launch that reads it, so the recorder has much to compare.
#include "gpu.h"
#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define WORDS (1 << 18) // 1 MiB

static int rounds = 60;

__global__ void sum(const int *in, int n, int *out)
{
	for (int i = threadIdx.x; i < n; i += 256 * 32)
		atomicAdd(out, in[i]);
}

static void round_of(int i, int me, cudaStream_t s, int *d, int *out)
{
	int *h;
	CHECK(cudaHostAlloc(&h, WORDS * sizeof(int), i & 1 ? cudaHostAllocMapped : cudaHostAllocDefault));
	for (int k = 0; k < WORDS; k += 512)
		h[k] = i + me + k;
	CHECK(cudaMemcpyAsync(d, h, WORDS * sizeof(int), cudaMemcpyHostToDevice, s));
	sum<<<1, 32, 0, s>>>(d, WORDS, out);
	sum<<<1, 32, 0, s>>>(h, WORDS, out);
	CHECK(cudaMemcpyAsync(h, d, WORDS * sizeof(int), cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaFreeHost(h));
}

static void *work(void *arg)
{
	const int me = (int)(long)arg;
	int *d, *out = counter_new();
	cudaStream_t s;
	CHECK(cudaMalloc(&d, WORDS * sizeof(int)));
	CHECK(cudaDeviceSynchronize()); // the stream below does not wait for the default one, which zeroes out
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int i = 0; i < rounds; i++)
		round_of(i, me, s, d, out);
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFree(d));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(cudaDeviceSynchronize());
	printf("fine\n");
	return 0;
}
