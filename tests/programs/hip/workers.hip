// SPDX-License-Identifier: Apache-2.0
//
// What comes out must not depend on how many threads of the processor run the workgroups: sums, and what a workgroup sees of another
// one's progress by atomics. "last wrong" has a race instead: all workgroups store to one word.
#include "hip_check.h"

enum { GROUPS = 96, ITEMS = 256, N = GROUPS * ITEMS };

__device__ unsigned word(unsigned i)
{
	unsigned v = i * 2654435761u;

	for (int k = 0; k < 200; k++)
		v = (v ^ v >> 15) * 0x2c1b3c6du;
	return v;
}

__global__ void sums(unsigned *each, unsigned *total)
{
	__shared__ unsigned part[ITEMS];
	const unsigned i = blockIdx.x * ITEMS + threadIdx.x;

	part[threadIdx.x] = each[i] = word(i);
	__syncthreads();
	for (unsigned half = ITEMS / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		atomicAdd(total, part[0]);
}

/* No data race: each access is atomic. What is seen depends on which workgroup comes first. */
__global__ void progress(unsigned *done, unsigned *seen)
{
	const unsigned next = (blockIdx.x * 7 + 3) % GROUPS;

	seen[blockIdx.x] = __hip_atomic_load(done + next, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	__hip_atomic_store(done + blockIdx.x, word(blockIdx.x) | 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <bool WRONG> __global__ void last(unsigned *one)
{
	if (threadIdx.x)
		return;
	if (WRONG)
		*one = word(blockIdx.x);
	else
		atomicMax(one, word(blockIdx.x));
}

static void show(const char *what, const unsigned *d, unsigned n)
{
	static unsigned v[N];
	unsigned long long h = 14695981039346656037ull;

	HIP(hipMemcpy(v, d, n * sizeof(*v), hipMemcpyDeviceToHost));
	for (unsigned i = 0; i < n; i++)
		h = (h ^ v[i]) * 1099511628211ull;
	printf("%s %llx\n", what, h);
}

int main(int argc, char **argv)
{
	const bool wrong = argc == 3 && !strcmp(argv[2], "wrong");
	unsigned *d;

	HIP(hipMalloc(&d, (2 * N + 1) * sizeof(*d)));
	HIP(hipMemset(d, 0, (2 * N + 1) * sizeof(*d)));
	if (argc == 1) {
		sums<<<GROUPS, ITEMS>>>(d, d + N);
		show("each", d, N);
		show("total", d + N, 1);
		HIP(hipMemset(d, 0, 2 * GROUPS * sizeof(*d)));
		progress<<<GROUPS, 1>>>(d, d + GROUPS);
		show("seen", d + GROUPS, GROUPS);
	}
	if (wrong)
		last<true><<<GROUPS, ITEMS>>>(d + 2 * N);
	else
		last<false><<<GROUPS, ITEMS>>>(d + 2 * N);
	HIP(hipDeviceSynchronize());
	if (!wrong)
		show("greatest", d + 2 * N, 1);
	return 0;
}
