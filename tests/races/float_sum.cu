/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: floats are added by atomics, so the sum depends on who comes first.
 * The kernel: add_floats, found by other orders of warps and blocks; no race.
 */
static __global__ void add_floats(int *sum, int exact)
{
	float x = (threadIdx.x + blockIdx.x) % 7 ? 1.2345f * threadIdx.x : 16777216.0f;

	if (exact)
		atomicAdd(&sum[0], (int)threadIdx.x);
	else
		atomicAdd((float *)&sum[0], x);
}

RACE(float_sum, "add_floats", "perturb")
{
	int *sum = device();

	add_floats<<<GRID>>>(sum, fixed);
	show(sum);
}
