/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the first kernel triggers when half of its result is stored, and the second reads the other half without having waited.
 * The pair: both.
 */
static __global__ void half_and_half(int *out, int *later)
{
	out[self()] = 7 + (int)threadIdx.x;
	trigger();
	later[self()] = 9 + (int)threadIdx.x;
}

static __global__ void later_first(int *sum, const int *in, const int *later)
{
	const int x = *(const volatile int *)&later[self()];

	wait_for_front();
	sum[self()] = in[self()] + 3 * x;
}

static __global__ void later_behind(int *sum, const int *in, const int *later)
{
	wait_for_front();
	sum[self()] = in[self()] + 3 * *(const volatile int *)&later[self()];
}

RACE(trigger_before_store, "half_and_half", "later_first")
{
	cudaStream_t a = stream();
	int *data = device(), *later = device(), *sum = device();

	half_and_half<<<GRID, 0, a>>>(data, later);
	dependent(a, fixed ? later_behind : later_first, sum, data, later);
	show(sum);
}
