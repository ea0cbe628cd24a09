/* SPDX-License-Identifier: Apache-2.0
 *
 * Built without PTX (machine code for one GPU only): every use of its code fails in the same way, and nothing else does. Prints the call, its
 * answer, the last error.
 */
#include <cstdio>

#include <cuda_runtime.h>

__device__ int variable;

__global__ void set(int *p)
{
	*p = 1;
}

static void show(const char *what, cudaError_t err)
{
	cudaError_t last = cudaGetLastError();

	printf("%s %d %d\n", what, (int)err, (int)last);
}

int main()
{
	cudaFuncAttributes a;
	void *q;
	int *p;

	show("malloc", cudaMalloc(&p, 4));
	for (int i = 0; i < 2; i++) {
		set<<<1, 1>>>(p);
		show("launch", cudaPeekAtLastError());
	}
	show("synchronize", cudaDeviceSynchronize());
	show("attributes", cudaFuncGetAttributes(&a, set));
	show("symbol address", cudaGetSymbolAddress(&q, variable));
	show("copy to symbol", cudaMemcpyToSymbol(variable, &a, 4));
	return 0;
}
