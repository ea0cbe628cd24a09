/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions called through their addresses: out of a table in the module, out of a variable that the host changes, as a kernel's parameter,
 * and a variable that points into another one. Linked as relocatable device code, as collective libraries are: only there are a table's
 * entries addresses, which differ from one loading to the next.
 */
#include "gpu.h"

typedef int (*op)(int, int);

__device__ __noinline__ int add(int a, int b)
{
	return a + b;
}

__device__ __noinline__ int subtract(int a, int b)
{
	return a - b;
}

__device__ __noinline__ int multiply(int a, int b)
{
	return a * b;
}

__device__ int numbers[4] = {1, 10, 100, 1000};
__device__ int *second = numbers + 1;
__device__ op const table[] = {add, subtract, NULL, multiply};
__device__ op chosen = add;

__global__ void by_table(int *n, int which)
{
	*n = table[which](*n, *second);
}

__global__ void by_choice(int *n)
{
	*n = chosen(*n, 7);
}

__global__ void by_parameter(int *n, op f)
{
	*n = f(*n, 3);
}

int main(int argc, char **argv)
{
	int *n = counter_new();
	op f[4];

	CHECK(cudaMemcpyFromSymbol(f, table, sizeof f));
	if (argc > 1)
		fprintf(stderr, "add %p, subtract %p, none %p, multiply %p\n", (void *)f[0], (void *)f[1], (void *)f[2], (void *)f[3]);
	for (int round = 0; round < 3; round++) {
		by_table<<<1, 1>>>(n, 0);
		by_choice<<<1, 1>>>(n);
		CHECK(cudaMemcpyToSymbol(chosen, &f[round == 1 ? 0 : 3], sizeof(op)));
		by_table<<<1, 1>>>(n, 3);
		by_choice<<<1, 1>>>(n);
		by_parameter<<<1, 1>>>(n, f[1]);
		CHECK(cudaDeviceSynchronize());
	}
	printf("%d\n", counter_value(n));
	return 0;
}
