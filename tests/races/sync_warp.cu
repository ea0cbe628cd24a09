/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: lanes of a warp read what their neighbours wrote to shared memory without __syncwarp().
 * The kernel: swap_lanes, by the race check.
 */
template <bool FIXED> static __global__ void swap_lanes(int *out)
{
	__shared__ int s[128];
	int t = threadIdx.x;

	s[t] = t * 3;
	if (FIXED)
		__syncwarp();
	out[blockIdx.x * 128 + t] = s[t ^ 1];
}

RACE(sync_warp, "swap_lanes", "racecheck")
{
	int *out = device();

	if (fixed)
		swap_lanes<true><<<GRID>>>(out);
	else
		swap_lanes<false><<<GRID>>>(out);
	show(out);
}
