/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes that wait for lanes of their own warp, barriers with names and counts, recursion, function tables, memory taken from the stack.
 */
#include "suite.h"

#define THREADS 96

__device__ int lock, counter;

/* The lock that works since Volta: the owner goes on while the others spin. */
__global__ void locked(int *order)
{
	while (atomicCAS(&lock, 0, 1))
		;
	__threadfence();
	int at = *(volatile int *)&counter;

	order[at] = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	*(volatile int *)&counter = at + 1;
	__threadfence();
	atomicExch(&lock, 0);
}

/* Each lane waits for the one above it. */
__global__ void chain(volatile int *flags, int *out)
{
	int t = threadIdx.x;

	if (t == (int)blockDim.x - 1)
		flags[t] = 1;
	else
		while (!(flags[t] = flags[t + 1]))
			;
	out[t] = t * flags[t];
}

/* A third of the warps produces, two thirds consume, by two barriers with a count and one reduction. */
__global__ void named(const int *in, int *out, int rounds)
{
	__shared__ int box[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;

	for (int r = 0; r < rounds; r++) {
		if (warp == 0) {
			box[lane] = in[r * 32 + lane];
			asm volatile("barrier.cta.arrive 1, 96;" ::: "memory");
			asm volatile("barrier.cta.sync 2, 96;" ::: "memory");
		} else {
			asm volatile("bar.sync 1, 96;" ::: "memory");
			sum += box[(lane + warp) % 32];
			asm volatile("bar.arrive 2, 96;" ::: "memory");
		}
	}
	int even = __syncthreads_count(sum % 2 == 0), any = __syncthreads_or(sum > 1000000), all = __syncthreads_and(sum >= 0);

	out[threadIdx.x] = sum;
	if (threadIdx.x == 0) {
		out[THREADS] = even;
		out[THREADS + 1] = any;
		out[THREADS + 2] = all;
	}
}

__device__ __noinline__ int ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

typedef int (*op)(int, int);
__device__ int sum_of(int a, int b) { return a + b; }
__device__ int product_of(int a, int b) { return a * b; }
__device__ op ops[] = {sum_of, product_of, ackermann};

/* The table says what; how much is taken from the stack differs from lane to lane. */
__global__ void calls(int *out)
{
	int t = threadIdx.x, n = t % 5 + 1, s = 0;
	int *a = (int *)alloca(n * sizeof(int));

	for (int k = 0; k < n; k++)
		a[k] = ops[(t + k) % 3](k % 3, t % 4);
	for (int k = 0; k < n; k++)
		s = s * 7 + a[k];
	out[t] = s;
}

static int host_ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1));
}

int main()
{
	const int rounds = 5, n = 64;
	std::vector<int> in(rounds * 32), want(THREADS + 3), results(THREADS), ones(THREADS);
	unsigned seed = 3;

	int *order = device_zeros<int>(n);
	locked<<<2, 32>>>(order); /* few, since all spin at each step */
	std::vector<int> got = to_host(order, n), seen(n), each(n, 1);
	for (int k = 0; k < n; k++)
		seen[got[k]]++;
	compare("each had the lock once", seen, each);

	int *flags = device_zeros<int>(THREADS), *out = device_zeros<int>(THREADS + 3);
	chain<<<1, 32>>>(flags, out);
	for (int t = 0; t < 32; t++)
		ones[t] = t;
	ones.resize(32);
	compare("chain", to_host(out, 32), ones);

	for (int &v : in)
		v = (int)(next_random(&seed) % 1000);
	for (int t = 32; t < THREADS; t++)
		for (int r = 0; r < rounds; r++)
			want[t] += in[r * 32 + (t % 32 + t / 32) % 32];
	for (int t = 0; t < THREADS; t++)
		want[THREADS] += want[t] % 2 == 0;
	want[THREADS + 2] = 1;
	named<<<1, THREADS>>>(to_device(in), out, rounds);
	compare("named barriers", to_host(out, THREADS + 3), want);

	for (int t = 0; t < THREADS; t++)
		for (int k = 0; k < t % 5 + 1; k++) {
			int a = k % 3, b = t % 4, w = (t + k) % 3;

			results[t] = results[t] * 7 + (w == 0 ? a + b : w == 1 ? a * b : host_ackermann(a, b));
		}
	calls<<<1, THREADS>>>(out);
	compare("calls", to_host(out, THREADS), results);
	return passed("control");
}
