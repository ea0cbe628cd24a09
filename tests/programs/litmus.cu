/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory model's litmus shapes between blocks and between kernels ("PTX ISA 9.0", 8): which outcomes were seen, and whether one was that the model or
 * the hardware's single accesses forbid. A line for each shape: "NAME ok", or "NAME BAD n". Exit status 1 when one is bad.
 *   torn      one side writes (x, x) with one vector access, the other reads it: halves must be equal
 *   mp        message passing: data, release flag; acquire flag, data. Flag seen and data not: forbidden
 *   mp_fence  the same with relaxed accesses and fences
 *   coherence two reads of one word by one thread: the second is not older than the first
 *   lookback  a scan in the manner of CUB: status and value in one 16-byte word, blocks wait for those before them
 */
#include <cstdio>
#include "gpu.h"

enum { ROUNDS = 20000 };

template <int KIND> __device__ void put(void *p, unsigned long long v)
{
	const unsigned w = (unsigned)v;
	const unsigned short h = (unsigned short)v;

	if (KIND == 0)
		asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" ::"l"(p), "l"(v) : "memory");
	else if (KIND == 1)
		asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %1};" ::"l"(p), "r"(w) : "memory");
	else if (KIND == 2)
		asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(p), "r"(w) : "memory");
	else if (KIND == 3)
		asm volatile("st.volatile.global.v2.u16 [%0], {%1, %1};" ::"l"(p), "h"(h) : "memory");
	else
		asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v << 32 | w) : "memory");
}

template <int KIND> __device__ bool is_torn(void *p)
{
	unsigned long long a = 0, b = 0;
	unsigned w[4] = {0, 0, 0, 0};
	unsigned short h[2] = {0, 0};

	if (KIND == 0) {
		asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(p) : "memory");
		return a != b;
	}
	if (KIND == 1)
		asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p) : "memory");
	if (KIND == 2)
		asm volatile("ld.acquire.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(p) : "memory");
	if (KIND == 3)
		asm volatile("ld.volatile.global.v2.u16 {%0, %1}, [%2];" : "=h"(h[0]), "=h"(h[1]) : "l"(p) : "memory");
	if (KIND == 4) {
		asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(a) : "l"(p) : "memory");
		return (unsigned)a != (unsigned)(a >> 32);
	}
	return w[0] != w[1] || (KIND == 2 && w[2] != w[3]) || (KIND == 2 && w[0] != w[2]) || h[0] != h[1];
}

/* Block 0 writes, the others read; as two kernels with `part` 0 and 1. Each lane has 16 bytes. */
template <int KIND> __global__ void tear(char *mem, unsigned *bad, int part)
{
	void *p = mem + threadIdx.x * 16;
	unsigned n = 0;

	if (part < 0 ? blockIdx.x == 0 : part == 0)
		for (unsigned long long k = 1; k <= ROUNDS; k++)
			put<KIND>(p, k * 0x10001ull);
	else
		for (unsigned k = 0; k < ROUNDS; k++)
			n += is_torn<KIND>(p);
	if (n)
		atomicAdd(bad, n);
}

__global__ void message(unsigned *data, unsigned *flag, unsigned *bad, bool fence)
{
	unsigned seen, value;

	for (unsigned k = 1; k <= ROUNDS / 4; k++) {
		unsigned *d = data + k, *f = flag + k;

		if (blockIdx.x == 0 && !fence) {
			asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(d), "r"(k) : "memory");
			asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(f), "r"(1) : "memory");
		} else if (blockIdx.x == 0) {
			asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(d), "r"(k) : "memory");
			asm volatile("fence.acq_rel.gpu;" ::: "memory");
			asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(f), "r"(1) : "memory");
		} else {
			if (!fence) {
				asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(f) : "memory");
			} else {
				asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(f) : "memory");
				asm volatile("fence.acq_rel.gpu;" ::: "memory");
			}
			asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(d) : "memory");
			if (seen && value != k)
				atomicAdd(bad, 1);
		}
	}
}

__global__ void coherence(unsigned *word, unsigned *bad)
{
	if (blockIdx.x == 0) {
		for (unsigned k = 1; k <= ROUNDS; k++)
			asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(k) : "memory");
		return;
	}
	for (unsigned k = 0; k < ROUNDS; k++) {
		unsigned a, b;

		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(word) : "memory");
		asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(b) : "l"(word) : "memory");
		if (b < a)
			atomicAdd(bad, 1);
	}
}

/* status 0: nothing; 1: this block's own sum; 2: the sum up to and with this block. */
__global__ void lookback(const float *in, float *out, ulonglong2 *tile, unsigned n)
{
	const unsigned b = blockIdx.x;
	float own = 0, before = 0;

	if (threadIdx.x)
		return;
	for (unsigned k = 0; k < n; k++)
		own += in[b * n + k];
	asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(tile + b), "l"(b ? 1ull : 2ull), "l"((unsigned long long)__float_as_uint(own)) : "memory");
	for (int t = (int)b - 1; t >= 0;) {
		unsigned long long status, value;

		asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(status), "=l"(value) : "l"(tile + t) : "memory");
		if (!status)
			continue;
		before = __uint_as_float((unsigned)value) + before;
		if (status == 2)
			break;
		t--;
	}
	out[b] = before + own;
	asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(tile + b), "l"(2ull), "l"((unsigned long long)__float_as_uint(before + own)) : "memory");
}

static unsigned *bad;
static bool failed;

static void tell(const char *name)
{
	unsigned n;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&n, bad, 4, cudaMemcpyDeviceToHost));
	CHECK(cudaMemset(bad, 0, 4));
	if (n)
		printf("%s BAD %u\n", name, n);
	else
		printf("%s ok\n", name);
	failed |= n != 0;
}

template <int KIND> static void torn(const char *name, char *mem, cudaStream_t a, cudaStream_t b)
{
	CHECK(cudaMemset(mem, 0, 4096));
	tear<KIND><<<4, 128>>>(mem, bad, -1);
	tell(name);
	CHECK(cudaMemset(mem, 0, 4096));
	CHECK(cudaDeviceSynchronize());
	tear<KIND><<<1, 128, 0, a>>>(mem, bad, 0);
	tear<KIND><<<1, 128, 0, b>>>(mem, bad, 1);
	tell(name);
}

int main()
{
	enum { BLOCKS = 64, EACH = 100 };
	cudaStream_t a, b;
	ulonglong2 *tile;
	unsigned sum = 0;
	float *in, out[BLOCKS];
	char *mem;

	CHECK(cudaMalloc(&mem, 1 << 20));
	CHECK(cudaMalloc(&bad, 4));
	CHECK(cudaMemset(bad, 0, 4));
	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	torn<0>("torn relaxed 16", mem, a, b);
	torn<2>("torn acquire 16 of 4", mem, a, b);
	torn<1>("torn relaxed 8", mem, a, b);
	torn<4>("torn relaxed one 8", mem, a, b);
	torn<3>("torn volatile 4", mem, a, b);
	for (int fence = 0; fence < 2; fence++) {
		CHECK(cudaMemset(mem, 0, 1 << 20));
		message<<<4, 1>>>((unsigned *)mem, (unsigned *)mem + 100000, bad, fence);
		tell(fence ? "mp_fence" : "mp");
	}
	CHECK(cudaMemset(mem, 0, 4));
	coherence<<<4, 1>>>((unsigned *)mem, bad);
	tell("coherence");
	CHECK(cudaMalloc(&in, BLOCKS * EACH * 4));
	CHECK(cudaMalloc(&tile, BLOCKS * 16));
	float *host = new float[BLOCKS * EACH];
	for (int k = 0; k < BLOCKS * EACH; k++)
		host[k] = 1.0f / (float)(k + 3);
	CHECK(cudaMemcpy(in, host, BLOCKS * EACH * 4, cudaMemcpyHostToDevice));
	for (int round = 0; round < 4; round++) {
		CHECK(cudaMemset(tile, 0, BLOCKS * 16));
		lookback<<<BLOCKS, 32>>>(in, (float *)mem, tile, EACH);
		CHECK(cudaMemcpy(out, mem, sizeof out, cudaMemcpyDeviceToHost));
		for (int k = 0; k < BLOCKS; k++)
			sum = sum * 31 + *(unsigned *)&out[k];
		printf("lookback %08x\n", sum);
		sum = 0;
	}
	delete[] host;
	return failed;
}
