// SPDX-License-Identifier: Apache-2.0
//
// Products of small matrices by matrix instructions, in the lanes and registers that AMD's examples
// for them use ("AMD matrix cores", lab notes, 2022); of integers that each type holds exactly.
#include "hip_check.h"

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));

// A of M x K and B of K x N are rows of integers in -8..7, C is all 3: D = A B + C.
#define A(i, k) a[(i) * 16 + (k)]
#define B(k, j) b[(k) * 32 + (j)]
__device__ short bf16(int v)
{
	return (short)(__float_as_int((float)v) >> 16);
}

__global__ void f32_16x16x4(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 16, y = threadIdx.x / 16;
	f4 c = {3, 3, 3, 3};

	c = __builtin_amdgcn_mfma_f32_16x16x4f32((float)A(x, y), (float)B(y, x), c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		d[(i + 4 * y) * 32 + x] = c[i];
}

__global__ void f32_32x32x2(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 32, y = threadIdx.x / 32;
	f16v c;

	for (int i = 0; i < 16; i++)
		c[i] = 3;
	c = __builtin_amdgcn_mfma_f32_32x32x2f32((float)A(x, y), (float)B(y, x), c, 0, 0, 0);
	for (int j = 0; j < 4; j++)
		for (int i = 0; i < 4; i++)
			d[(i + 4 * y + 8 * j) * 32 + x] = c[4 * j + i];
}

__global__ void f16_32x32x8(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 32, y = threadIdx.x / 32;
	f16v c;
	h4 p, q;

	for (int i = 0; i < 16; i++)
		c[i] = 3;
	for (int i = 0; i < 4; i++) {
		p[i] = (_Float16)A(x, i + 4 * y);
		q[i] = (_Float16)B(i + 4 * y, x);
	}
	c = __builtin_amdgcn_mfma_f32_32x32x8f16(p, q, c, 0, 0, 0);
	for (int j = 0; j < 4; j++)
		for (int i = 0; i < 4; i++)
			d[(i + 4 * y + 8 * j) * 32 + x] = c[4 * j + i];
}

__global__ void bf16_16x16x16(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 16, y = threadIdx.x / 16;
	f4 c = {3, 3, 3, 3};
	s4 p, q;

	for (int i = 0; i < 4; i++) {
		p[i] = bf16(A(x, i + 4 * y));
		q[i] = bf16(B(i + 4 * y, x));
	}
	c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(p, q, c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		d[(i + 4 * y) * 32 + x] = c[i];
}

__global__ void i8_16x16x16(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 16, y = threadIdx.x / 16, p = 0, q = 0;
	i4 c = {3, 3, 3, 3};

	for (int i = 0; i < 4; i++) {
		p |= (A(x, i + 4 * y) & 255) << 8 * i;
		q |= (B(i + 4 * y, x) & 255) << 8 * i;
	}
	c = __builtin_amdgcn_mfma_i32_16x16x16i8(p, q, c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		d[(i + 4 * y) * 32 + x] = c[i];
}

// Four blocks of 16 x 16, K = 1: block n multiplies column n of A by row n of B; their sum is taken.
__global__ void f32_16x16x1(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 16, y = threadIdx.x / 16;
	f16v c;

	for (int i = 0; i < 16; i++)
		c[i] = i < 4 ? 3 : 0;
	c = __builtin_amdgcn_mfma_f32_16x16x1f32((float)A(x, y), (float)B(y, x), c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		d[(i + 4 * y) * 32 + x] = c[i] + c[4 + i] + c[8 + i] + c[12 + i];
}

__global__ void f64_16x16x4(const int *a, const int *b, double *d)
{
	int x = threadIdx.x % 16, y = threadIdx.x / 16;
	d4 c = {3, 3, 3, 3};

	c = __builtin_amdgcn_mfma_f64_16x16x4f64((double)A(x, y), (double)B(y, x), c, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		d[(4 * i + y) * 32 + x] = c[i];
}

static int a[32 * 16], b[16 * 32], *da, *db;
static double d[32 * 32], *dd;

static void check(const char *name, void (*f)(const int *, const int *, double *), int m, int k)
{
	f<<<1, 64>>>(da, db, dd);
	HIP(hipMemcpy(d, dd, sizeof(d), hipMemcpyDeviceToHost));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < m; j++) {
			int want = 3;

			for (int n = 0; n < k; n++)
				want += A(i, n) * B(n, j);
			SAME(d[i * 32 + j] == want, name);
		}
}

int main()
{
	for (int i = 0; i < 512; i++) {
		a[i] = (int)(i * 2654435761u >> 20) % 16 - 8;
		b[i] = (int)(i * 2246822519u >> 19) % 16 - 8;
	}
	HIP(hipMalloc(&da, sizeof(a)));
	HIP(hipMalloc(&db, sizeof(b)));
	HIP(hipMalloc(&dd, sizeof(d)));
	HIP(hipMemcpy(da, a, sizeof(a), hipMemcpyHostToDevice));
	HIP(hipMemcpy(db, b, sizeof(b), hipMemcpyHostToDevice));
	check("f32_16x16x4", f32_16x16x4, 16, 4);
	check("f32_32x32x2", f32_32x32x2, 32, 2);
	check("f16_32x32x8", f16_32x32x8, 32, 8);
	check("bf16_16x16x16", bf16_16x16x16, 16, 16);
	check("i8_16x16x16", i8_16x16x16, 16, 16);
	check("f32_16x16x1", f32_16x16x1, 16, 4);
	check("f64_16x16x4", f64_16x16x4, 16, 4);
	printf("products are right\n");
}
