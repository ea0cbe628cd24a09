/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: each stream has a part of an array, its grid is rounded up to whole blocks, and the kernel stops its threads at the end of the array, not of the
 * part. So the last block of a part writes to the beginning of the next one, too. Right: it stops at the end of the part.
 */
static __global__ void put_part(int *out, int from, int end, int value)
{
	int i = from + (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < end)
		out[i] = value;
}

RACE(rounded_up_grid, "put_part", "put_part")
{
	enum { PART = N / 2 - 24 };
	cudaStream_t s[2] = {stream(), stream()};
	int *out = device();

	for (int k = 0; k < 2; k++) {
		put_part<<<(PART + 127) / 128, 128, 0, s[k]>>>(out, k * PART, fixed ? (k + 1) * PART : N, k + 1);
		pause_a_moment();
	}
	show(out);
}
