/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: each block writes one element of the next block's part.
 * The kernel: smear, by the race check.
 */
static __global__ void smear(int *out, int last)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i;
	if (threadIdx.x == blockDim.x - 1 && blockIdx.x + 1 < gridDim.x)
		out[i + last] = -1;
}

RACE(blocks_overlap, "smear", "racecheck")
{
	int *out = device();

	smear<<<GRID>>>(out, !fixed);
	show(out);
}
