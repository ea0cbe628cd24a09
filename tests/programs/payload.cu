/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a file to the device, 4096 bytes, and has a kernel add its bytes up: a trace that carries a text. tests/sandbox/attack has it recorded.
 *   payload FILE
 */
#include <cstdio>
#include <cstring>
#include "gpu.h"

#define BYTES 4096

__global__ void add_up(const unsigned char *text, unsigned *sum)
{
	atomicAdd(sum, text[blockIdx.x * blockDim.x + threadIdx.x]);
}

int main(int argc, char **argv)
{
	static unsigned char text[BYTES];
	unsigned char *there;
	unsigned *sum, got = 0, want = 0;
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!f || !fread(text, 1, BYTES - 1, f)) {
		fprintf(stderr, "payload FILE\n");
		return 2;
	}
	fclose(f);
	for (int i = 0; i < BYTES; i++)
		want += text[i];
	CHECK(cudaMalloc((void **)&there, BYTES));
	CHECK(cudaMalloc((void **)&sum, sizeof *sum));
	CHECK(cudaMemset(sum, 0, sizeof *sum));
	CHECK(cudaMemcpy(there, text, BYTES, cudaMemcpyHostToDevice));
	add_up<<<BYTES / 256, 256>>>(there, sum);
	CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
	printf("%s\n", got == want ? "ok" : "wrong");
	return got != want;
}
