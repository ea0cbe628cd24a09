/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that fail, each reported by the runtime as it is without us.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();
	void *p = NULL;

	printf("%s\n", cudaGetErrorName(cudaMalloc(&p, (size_t)1 << 60)));
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	count<<<1, 4096>>>(n, 1);
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	count<<<1, 32, 1 << 20>>>(n, 1);
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	printf("%s\n", cudaGetErrorName(cudaSetDevice(1000)));
	cudaGetLastError();
	printf("%s\n", cudaGetErrorName(cudaMemcpy(n, n, 4, (cudaMemcpyKind)77)));
	cudaGetLastError();
	count<<<1, 32>>>(n, 1);
	printf("failing_calls: %d\n", counter_value(n));
	return 0;
}
