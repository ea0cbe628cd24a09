/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong by the letter: a synchronous copy of 32 bytes from ordinary memory need not have arrived when the call returns. Drivers seen so far send
 * so few bytes along at once.
 * The pair: the copy and the kernel that reads the symbol.
 */
static __device__ int symbol_copied[8];

static __global__ void read_symbol(int *out)
{
	out[threadIdx.x] = symbol_copied[threadIdx.x];
}

RACE(symbol_copy_returns, "copy", "read_symbol")
{
	const int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	cudaStream_t b = stream();
	int *out = device();

	CHECK(cudaMemcpyToSymbol(symbol_copied, values, sizeof values));
	if (fixed)
		CHECK(cudaStreamSynchronize(cudaStreamLegacy));
	read_symbol<<<1, 8, 0, b>>>(out);
	show(out);
}
