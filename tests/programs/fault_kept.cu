/* SPDX-License-Identifier: Apache-2.0
 *
 * Much memory with known contents, and then a launch that writes where no memory is. With an argument the program aborts at the error.
 */
#include <vector>
#include "gpu.h"

#define WORDS (48u << 20)

__global__ void stray(unsigned *v, long at)
{
	v[at] = 1;
}

int main(int argc, char **argv)
{
	std::vector<unsigned> words(WORDS);
	unsigned *v;

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u + 1;
	CHECK(cudaMalloc(&v, WORDS * sizeof *v));
	CHECK(cudaMemcpy(v, words.data(), WORDS * sizeof *v, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	stray<<<1, 1>>>(v, 1L << 40);
	const cudaError_t e = cudaDeviceSynchronize();
	printf("fault_kept: %s\n", cudaGetErrorName(e));
	fflush(stdout);
	if (argc > 1)
		abort();
	return 0;
}
