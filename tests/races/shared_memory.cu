/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a sum over a block in shared memory without __syncthreads() between its steps. The block
 * has four waves of 64 lanes, so that AMD's GPUs race, too: they keep the lanes of a wave in step.
 * The kernel: block_sum, by the race check.
 */
template <bool FIXED> static __global__ void block_sum(int *out)
{
	__shared__ int s[256];
	int t = threadIdx.x;

	s[t] = t + blockIdx.x;
	__syncthreads();
	for (int k = 128; k; k /= 2) {
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
		block_sum<true><<<N / 256, 256>>>(out);
	else
		block_sum<false><<<N / 256, 256>>>(out);
	show(out);
}
