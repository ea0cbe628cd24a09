/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a sum over a block in shared memory without __syncthreads() between its steps.
 * The kernel: block_sum, by the race check.
 */
template <bool FIXED> static __global__ void block_sum(int *out)
{
	__shared__ int s[128];
	int t = threadIdx.x;

	s[t] = t + blockIdx.x;
	__syncthreads();
	for (int k = 64; k; k /= 2) {
		if (t < k)
			s[t] += s[t + k];
		if (FIXED)
			__syncthreads();
	}
	if (!t)
		out[blockIdx.x] = s[0];
}

RACE(shared_memory, "block_sum", "racecheck")
{
	int *out = device();

	if (fixed)
		block_sum<true><<<GRID>>>(out);
	else
		block_sum<false><<<GRID>>>(out);
	show(out);
}
