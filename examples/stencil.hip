/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP: a bar of metal cools. Each step a workgroup takes its part of the bar and the neighbours'
 * ends into LDS, and writes the averages; a second stream adds up the heat every eighth step, behind
 * an event.
 */
#include <stdio.h>
#include <stdlib.h>

#include <hip/hip_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		hipError_t check_error = (call);                                                   \
		if (check_error != hipSuccess) {                                                   \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				hipGetErrorString(check_error));                                   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { N = 2048, GROUP = 128, STEPS = 16, EACH = 8 };

__global__ void cool(int *to, const int *from, int n)
{
	__shared__ int part[GROUP + 2];
	int i = blockIdx.x * GROUP + threadIdx.x, t = threadIdx.x + 1;

	part[t] = from[i];
	if (threadIdx.x == 0)
		part[0] = i ? from[i - 1] : 0;
	if (threadIdx.x == GROUP - 1)
		part[GROUP + 1] = i + 1 < n ? from[i + 1] : 0;
	__syncthreads();
	to[i] = (part[t - 1] + 2 * part[t] + part[t + 1]) / 4;
}

__global__ void add_up(int *sum, const int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(sum, v[i]);
}

int main(void)
{
	int *bar[2], *sums, start[N], heat[STEPS / EACH];
	hipStream_t work, look;
	hipEvent_t cooled, seen;

	for (int i = 0; i < N; i++)
		start[i] = i % 64 ? 0 : 6400;
	CHECK(hipStreamCreateWithFlags(&work, hipStreamNonBlocking));
	CHECK(hipStreamCreateWithFlags(&look, hipStreamNonBlocking));
	CHECK(hipEventCreateWithFlags(&cooled, hipEventDisableTiming));
	CHECK(hipEventCreateWithFlags(&seen, hipEventDisableTiming));
	CHECK(hipMalloc(&bar[0], sizeof start));
	CHECK(hipMalloc(&bar[1], sizeof start));
	CHECK(hipMalloc(&sums, sizeof heat));
	CHECK(hipMemset(sums, 0, sizeof heat));
	CHECK(hipMemcpy(bar[0], start, sizeof start, hipMemcpyHostToDevice));
	CHECK(hipDeviceSynchronize());
	for (int s = 0; s < STEPS; s++) {
		cool<<<N / GROUP, GROUP, 0, work>>>(bar[(s + 1) % 2], bar[s % 2], N);
		if (s % EACH != EACH - 1)
			continue;
		CHECK(hipEventRecord(cooled, work));
		CHECK(hipStreamWaitEvent(look, cooled, 0));
		add_up<<<N / 256, 256, 0, look>>>(sums + s / EACH, bar[(s + 1) % 2], N);
		CHECK(hipEventRecord(seen, look));
		CHECK(hipStreamWaitEvent(work, seen, 0));
	}
	CHECK(hipDeviceSynchronize());
	CHECK(hipMemcpy(heat, sums, sizeof heat, hipMemcpyDeviceToHost));
	printf("stencil: heat %d, %d: %s\n", heat[0], heat[1],
		heat[1] <= heat[0] && heat[0] <= N / 64 * 6400 && heat[1] > 0 ? "ok" : "WRONG");
	CHECK(hipFree(bar[0]));
	CHECK(hipFree(bar[1]));
	CHECK(hipFree(sums));
	return 0;
}
