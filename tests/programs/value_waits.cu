/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for values that are submitted before the write which ends them: `consumer` waits for a flag and adds one to what `producer` has put. The word says who
 * sets the flag:
 *   stream     the producer's stream, cuStreamWriteValue behind the kernel
 *   clock      the same, and behind it, between two others, a kernel whose result is the time
 *   bare       the same, but nobody waits: a race
 *   kernel     a kernel of the producer's that also puts the data, by a store
 *   either     one of two streams, nobody knows which
 *   circle     two streams wait for each other; the host sets both flags in the end
 *   pingpong   the two take turns, four times, by a flag that is set and cleared
 *   third      as stream, and another stream writes what the consumer reads, without any order: a race besides
 *   copied     as stream, but the flag was cleared by a copy from the host
 *   copied_third  as third, and so cleared
 *   set_by_copy   as stream, but a copy sets the flag
 * The result is 6, in a circle 1. Ends with 77 where the outcome was another one and the program allows that.
 */
#include "gpu.h"
#include <cuda.h>

#define N 1024
#define BYTES (N * sizeof(unsigned))

__global__ void put(unsigned *x, unsigned value)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void more(unsigned *x, unsigned by)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

__global__ void fetch(unsigned *to, const unsigned *from)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i] + 1;
}

__global__ void tick(unsigned *x)
{
	unsigned long long t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	*x = (unsigned)t;
}

/* One block: what it puts is there when the flag is. */
__global__ void put_and_tell(unsigned *x, unsigned value, unsigned *flag)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		x[i] = value;
	__threadfence();
	__syncthreads();
	if (!threadIdx.x)
		*(volatile unsigned *)flag = 1;
}

static CUresult (*wait_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned), (*write_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
static cudaStream_t producer, consumer, other;
static unsigned *x, *y, *flag, host[N];

static void *driver(const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *f = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
	return f;
}

static void wait_for(cudaStream_t s, unsigned *at, unsigned value)
{
	if (wait_value(s, (CUdeviceptr)at, value, CU_STREAM_WAIT_VALUE_EQ))
		exit(1);
}

static void set(cudaStream_t s, unsigned *at, unsigned value)
{
	if (write_value(s, (CUdeviceptr)at, value, 0))
		exit(1);
}

static void consume(bool waits)
{
	if (waits)
		wait_for(consumer, flag, 1);
	fetch<<<N / 256, 256, 0, consumer>>>(y, x);
}

static void stream_(void)
{
	consume(true);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, flag, 1);
}

static void clock_(void)
{
	consume(true);
	tick<<<1, 1, 0, consumer>>>(y + N);
	fetch<<<1, 256, 0, consumer>>>(y + N + 256, x);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, flag, 1);
}

static void bare(void)
{
	consume(false);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, flag, 1);
}

static void kernel(void)
{
	consume(true);
	put_and_tell<<<1, 256, 0, producer>>>(x, 5, flag);
}

static void either(void)
{
	consume(true);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, flag, 1);
	set(other, flag, 1);
}

static void circle(void)
{
	unsigned *pinned;

	CHECK(cudaMallocHost(&pinned, 2 * sizeof *pinned));
	pinned[0] = pinned[1] = 0;
	wait_for(consumer, &pinned[0], 1);
	fetch<<<N / 256, 256, 0, consumer>>>(y, x);
	set(consumer, &pinned[1], 1);
	wait_for(producer, &pinned[1], 1);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, &pinned[0], 1);
	((volatile unsigned *)pinned)[0] = 1;
}

static void pingpong(void)
{
	for (int i = 0; i < 4; i++) {
		wait_for(consumer, flag, 1);
		fetch<<<N / 256, 256, 0, consumer>>>(y, x);
		set(consumer, flag, 0);
	}
	for (int i = 0; i < 4; i++) {
		wait_for(producer, flag, 0);
		put<<<N / 256, 256, 0, producer>>>(x, 2 + i);
		set(producer, flag, 1);
	}
}

static void clear_by_copy(void)
{
	const unsigned zero = 0;

	CHECK(cudaMemcpy(flag, &zero, sizeof zero, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
}

static void copied(void)
{
	clear_by_copy();
	stream_();
}

static void set_by_copy(void)
{
	unsigned *one;

	CHECK(cudaMalloc(&one, sizeof *one));
	put<<<1, 1, 0, producer>>>(one, 1);
	CHECK(cudaDeviceSynchronize());
	consume(true);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	CHECK(cudaMemcpyAsync(flag, one, sizeof *one, cudaMemcpyDeviceToDevice, producer));
}

static void third(void)
{
	consume(true);
	more<<<N / 256, 256, 0, other>>>(y + N, 1);
	put<<<N / 256, 256, 0, producer>>>(x, 5);
	set(producer, flag, 1);
	fetch<<<N / 256, 256, 0, consumer>>>(y + N, x);
}

static void copied_third(void)
{
	clear_by_copy();
	third();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		unsigned result;
	} all[] = {{"stream", stream_, 6}, {"clock", clock_, 6}, {"bare", bare, 6}, {"kernel", kernel, 6}, {"either", either, 6}, {"circle", circle, 1},
		{"pingpong", pingpong, 6}, {"third", third, 6}, {"copied", copied, 6}, {"copied_third", copied_third, 6},
		{"set_by_copy", set_by_copy, 6}};
	cudaFuncAttributes a;

	wait_value = (decltype(wait_value))driver("cuStreamWaitValue32");
	write_value = (decltype(write_value))driver("cuStreamWriteValue32");
	CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&x, BYTES));
	CHECK(cudaMalloc(&y, 2 * BYTES));
	CHECK(cudaMalloc(&flag, sizeof *flag));
	CHECK(cudaMemset(x, 0, BYTES));
	CHECK(cudaMemset(y, 0, 2 * BYTES));
	CHECK(cudaMemset(flag, 0, sizeof *flag));
	/* Loaded now: a kernel that is loaded at its first launch waits for the device, and so for the stream that waits. */
	CHECK(cudaFuncGetAttributes(&a, put));
	CHECK(cudaFuncGetAttributes(&a, more));
	CHECK(cudaFuncGetAttributes(&a, fetch));
	CHECK(cudaFuncGetAttributes(&a, put_and_tell));
	CHECK(cudaFuncGetAttributes(&a, tick));
	CHECK(cudaDeviceSynchronize());
	for (const auto &one : all) {
		if (argc < 2 || strcmp(argv[1], one.name))
			continue;
		one.run();
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaMemcpy(host, y, BYTES, cudaMemcpyDeviceToHost));
		printf("value_waits: %u\n", host[0]);
		return host[0] == one.result && host[N - 1] == one.result ? 0 : 77;
	}
	return 2;
}
