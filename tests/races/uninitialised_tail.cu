/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: threads write and read scratch memory, and the last one of a block reads one element further than any has written.
 * The kernel: neighbours, by other contents of fresh memory. What a launch has written itself is no mistake.
 */
static __global__ void neighbours(int *out, int *scratch, int reach)
{
	int t = threadIdx.x, *mine = scratch + blockIdx.x * (blockDim.x + 1);

	mine[t] = t;
	__syncthreads();
	out[blockIdx.x * blockDim.x + t] = mine[t] + mine[t + 1 < blockDim.x + reach ? t + 1 : t];
}

RACE(uninitialised_tail, "neighbours", "perturb")
{
	int *out = device(), *scratch;

	CHECK(cudaMalloc(&scratch, 2 * BYTES));
	neighbours<<<GRID>>>(out, scratch, !fixed);
	show(out);
}
