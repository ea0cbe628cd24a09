/* SPDX-License-Identifier: Apache-2.0
 *
 * What C++ makes of a kernel: structs by value, local arrays indexed at run time, recursion, virtual functions, function
 * pointers, templates, a dense switch, early returns in loops, tables in constant memory, small integer types, bit tricks.
 */
#include "suite.h"

struct shape {
	int kind;
	double a, b;
	short pad[3];
};

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int counter = 40;

struct base {
	__host__ __device__ virtual int value(int x) const { return x; }
};
struct triple : base {
	__host__ __device__ int value(int x) const override { return 3 * x; }
};
struct square : base {
	__host__ __device__ int value(int x) const override { return x * x; }
};

__host__ __device__ static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__host__ __device__ static int dense(int x)
{
	switch (x % 10) {
	case 0: return 17;
	case 1: return x * 3;
	case 2: return x ^ 0x55;
	case 3: return -x;
	case 4: return x << 3;
	case 5: return x / 7;
	case 6: return x % 7;
	case 7: return ~x;
	case 8: return x * x;
	default: return 1;
	}
}

typedef int (*operation)(int, int);
__host__ __device__ static int op_add(int a, int b) { return a + b; }
__host__ __device__ static int op_xor(int a, int b) { return a ^ b; }
__host__ __device__ static int op_max(int a, int b) { return a > b ? a : b; }

__host__ __device__ static int collatz(int x)
{
	for (int n = 0;; n++) {
		if (x == 1)
			return n;
		if (n == 200)
			return -1;
		x = x % 2 ? 3 * x + 1 : x / 2;
	}
}

template <typename T> __host__ __device__ static int narrow(int x)
{
	T v = (T)x;

	v = (T)(v * 3 + 100);
	v >>= 1;
	return (int)v;
}

__host__ __device__ static int with_array(int x)
{
	int a[16];

	for (int i = 0; i < 16; i++)
		a[i] = x * i + (x >> i);
	for (int i = 0; i < 16; i++)
		a[(x + i * 5) % 16] ^= a[(i * 3) % 16];
	return a[x % 16] + a[(x + 7) % 16];
}

__host__ __device__ static int of_shape(shape s)
{
	return s.kind + (int)(s.a * s.b) + s.pad[0] * s.pad[2] - s.pad[1];
}

#define RESULTS 12

__host__ __device__ static void compute(int i, int *out, shape s, const int *table, const base &b, operation op)
{
	out[0] = dense(i + 1);
	out[1] = fibonacci(i % 12);
	out[2] = with_array(i + 3);
	out[3] = of_shape(s) + i;
	out[4] = b.value(i - 20);
	out[5] = op(i, 37);
	out[6] = collatz(i + 1);
	out[7] = narrow<signed char>(i * 5) + narrow<unsigned char>(i * 7) + narrow<short>(i * 700);
	out[8] = table[i % 8];
	out[9] = (int)((float)i * 0.37f) + (int)((double)i / 3.0);
	out[10] = (i << 27 >> 27) ^ (int)((unsigned)i * 0x9e3779b9u >> 5);
	out[11] = i & 1 ? (i & 2 ? 3 : 5) : (i & 2 ? 7 : (i & 4 ? 11 : 13));
}

__global__ void run(int *out, int n, shape s)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	const operation ops[3] = {op_add, op_xor, op_max};
	base plain;
	triple t;
	square q;
	const base *bases[3] = {&plain, &t, &q};

	if (i >= n)
		return;
	compute(i, out + i * RESULTS, s, primes, *bases[i % 3], ops[i % 3]);
	atomicAdd(&counter, 1);
}

__global__ void bits(unsigned *out)
{
	unsigned i = threadIdx.x, x = i * 0x01234567u + 0x89abcdefu;

	out[i * 6] = __popc(x);
	out[i * 6 + 1] = __clz(x);
	out[i * 6 + 2] = __brev(x);
	out[i * 6 + 3] = __byte_perm(x, ~x, 0x2514);
	out[i * 6 + 4] = __funnelshift_l(x, ~x, i);
	out[i * 6 + 5] = __umulhi(x, 0xdeadbeefu);
}

static unsigned brev(unsigned x)
{
	unsigned r = 0;

	for (int i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}

int main()
{
	const int n = 100;
	const shape s = {9, 2.5, 4.0, {3, -2, 5}};
	const int host_primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
	const operation ops[3] = {op_add, op_xor, op_max};
	base plain;
	triple t;
	square q;
	const base *bases[3] = {&plain, &t, &q};
	std::vector<int> want(n * RESULTS);
	std::vector<unsigned> want_bits(32 * 6);
	int *out = device_zeros<int>(n * RESULTS), count = 0;
	unsigned *d_bits = device_zeros<unsigned>(32 * 6);

	for (int i = 0; i < n; i++)
		compute(i, &want[i * RESULTS], s, host_primes, *bases[i % 3], ops[i % 3]);
	for (unsigned i = 0; i < 32; i++) {
		unsigned x = i * 0x01234567u + 0x89abcdefu;
		unsigned char b[8];
		unsigned *w = &want_bits[i * 6];
		const int pick[4] = {4, 1, 5, 2};

		for (int k = 0; k < 4; k++) {
			b[k] = (unsigned char)(x >> 8 * k);
			b[k + 4] = (unsigned char)(~x >> 8 * k);
		}
		w[0] = (unsigned)__builtin_popcount(x);
		w[1] = x ? (unsigned)__builtin_clz(x) : 32;
		w[2] = brev(x);
		w[3] = 0;
		for (int k = 0; k < 4; k++)
			w[3] |= (unsigned)b[pick[k]] << 8 * k;
		w[4] = i ? ~x << i | x >> (32 - i) : ~x;
		w[5] = (unsigned)((unsigned long long)x * 0xdeadbeefu >> 32);
	}
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
	run<<<2, 64>>>(out, n, s);
	bits<<<1, 32>>>(d_bits);
	std::vector<int> got = to_host(out, n * RESULTS);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < RESULTS; k++) {
			if (got[i * RESULTS + k] != want[i * RESULTS + k]) {
				fprintf(stderr, "language: thread %d, result %d is %d, should be %d\n", i, k,
					got[i * RESULTS + k], want[i * RESULTS + k]);
				return 1;
			}
		}
	}
	compare("bits", to_host(d_bits, 32 * 6), want_bits);
	CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
	if (count != 40 + n) {
		fprintf(stderr, "language: counter is %d\n", count);
		return 1;
	}
	return passed("language");
}
