/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that prints 512 lines with a terminal's escape sequence in each, then one that prints one.
 */
#include <cstdio>

__global__ void speak(int n)
{
	for (int i = 0; i < n; i++)
		printf("line %d of %d \033[31m\n", i, (int)(threadIdx.x + blockIdx.x * blockDim.x));
}

int main()
{
	speak<<<2, 32>>>(8);
	cudaDeviceSynchronize();
	speak<<<1, 1>>>(1);
	return cudaDeviceSynchronize() != cudaSuccess;
}
