/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of the code: constants that the host sets before anything is launched, counters that
 * kernels change, one of them this file's own.
 */
#include "hip_check.h"

__constant__ int factor = 1;
__device__ int counter;
__device__ int table[256] = {5, 6, 7};
static __device__ int hidden[64];

__global__ void step(int *out)
{
	const unsigned i = threadIdx.x;

	hidden[i] += factor * (int)i;
	out[i] = hidden[i] + table[i & 3];
	if (!i)
		counter++;
}

int main()
{
	const int by = 3, four = 4;
	int *d, out[64], n = 0;

	HIP(hipMemcpyToSymbol(HIP_SYMBOL(factor), &by, sizeof(by)));
	HIP(hipMalloc(&d, sizeof(out)));
	step<<<1, 64>>>(d);
	step<<<1, 64>>>(d);
	HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), &four, sizeof(four), 12));
	step<<<1, 64>>>(d);
	HIP(hipMemcpy(out, d, sizeof(out), hipMemcpyDeviceToHost));
	HIP(hipMemcpyFromSymbol(&n, HIP_SYMBOL(counter), sizeof(n)));
	for (int i = 0; i < 64; i++)
		n += out[i] != 9 * i + (i % 4 < 3 ? 5 + i % 4 : 4) ? 100 : 0;
	printf("%s\n", n == 3 ? "variables are right" : "variables are wrong");
	return n != 3;
}
