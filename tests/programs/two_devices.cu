/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline over two devices: device 0 makes rows, a peer copy on a stream of its own takes each to device 1 after an event, device 1 adds its
 * own weights (a variable that each device has another value of) and sends the sums back, which device 0 waits for by an event of device 1's.
 * One thread per device launches at the same time; each device has a second context's worth of work on its legacy default stream. Arguments: rounds.
 */
#include <pthread.h>
#include <stdlib.h>
#include "gpu.h"

#define N 4096
__device__ int weight;

__global__ void make(int *p, int round)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	p[i] = round * 100000 + i + weight;
}

__global__ void add(const int *in, int *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += in[i] * weight;
}

static struct device {
	int *row, *sum, *back, *count;
	cudaStream_t work, copy;
	cudaEvent_t made, copied, added;
} d[2];

static void *count_alone(void *arg)
{
	int dev = (int)(size_t)arg;

	CHECK(cudaSetDevice(dev));
	for (int i = 0; i < 20; i++)
		count<<<1, 32>>>(d[dev].count, dev + 1);
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static void open_device(int dev)
{
	int w = dev + 2;

	CHECK(cudaSetDevice(dev));
	CHECK(cudaMalloc(&d[dev].row, N * sizeof(int)));
	CHECK(cudaMalloc(&d[dev].sum, N * sizeof(int)));
	CHECK(cudaMalloc(&d[dev].back, N * sizeof(int)));
	CHECK(cudaMemset(d[dev].sum, 0, N * sizeof(int)));
	d[dev].count = counter_new();
	CHECK(cudaStreamCreateWithFlags(&d[dev].work, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&d[dev].copy, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&d[dev].made, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&d[dev].copied, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&d[dev].added, cudaEventDisableTiming));
	CHECK(cudaMemcpyToSymbol(weight, &w, sizeof w));
	CHECK(cudaDeviceSynchronize());
}

static void round_trip(int round)
{
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamWaitEvent(d[0].work, d[0].copied, 0)); /* the row is free again */
	make<<<N / 128, 128, 0, d[0].work>>>(d[0].row, round);
	CHECK(cudaEventRecord(d[0].made, d[0].work));
	CHECK(cudaStreamWaitEvent(d[0].copy, d[0].made, 0));
	CHECK(cudaStreamWaitEvent(d[0].copy, d[1].added, 0)); /* of the round before */
	CHECK(cudaMemcpyPeerAsync(d[1].row, 1, d[0].row, 0, N * sizeof(int), d[0].copy));
	CHECK(cudaEventRecord(d[0].copied, d[0].copy));
	CHECK(cudaSetDevice(1));
	CHECK(cudaStreamWaitEvent(d[1].work, d[0].copied, 0));
	add<<<N / 128, 128, 0, d[1].work>>>(d[1].row, d[1].sum);
	CHECK(cudaEventRecord(d[1].added, d[1].work));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3, devices = 0;
	long want = 0;
	pthread_t t[2];
	static int got[N];

	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2) {
		printf("two_devices: one device only\n");
		return 77;
	}
	for (int dev = 0; dev < 2; dev++)
		open_device(dev);
	for (int dev = 0; dev < 2; dev++)
		pthread_create(&t[dev], NULL, count_alone, (void *)(size_t)dev);
	for (int r = 0; r < rounds; r++)
		round_trip(r);
	for (int dev = 0; dev < 2; dev++)
		pthread_join(t[dev], NULL);
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamWaitEvent(d[0].work, d[1].added, 0));
	CHECK(cudaMemcpyPeerAsync(d[0].back, 0, d[1].sum, 1, N * sizeof(int), d[0].work));
	CHECK(cudaStreamSynchronize(d[0].work));
	CHECK(cudaMemcpy(got, d[0].back, sizeof got, cudaMemcpyDeviceToHost));
	for (int r = 0; r < rounds; r++)
		want += (r * 100000 + 17 + 2) * 3;
	if (got[17] != (int)want || counter_value(d[0].count) != 20 * 32) {
		printf("two_devices: %d, should be %ld\n", got[17], want);
		return 1;
	}
	CHECK(cudaSetDevice(1));
	if (counter_value(d[1].count) != 2 * 20 * 32)
		return 1;
	printf("two_devices: ok\n");
	return 0;
}
