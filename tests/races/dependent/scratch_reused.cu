/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: two launches of one kernel share scratch memory, which the second fills before it waits.
 * The pair: both.
 */
static __device__ __forceinline__ void round_of(int *sum, int *scratch, int round)
{
	scratch[self()] = round * (int)threadIdx.x;
	wait_for_front();
	sum[self()] = 3 * sum[self()] + *(volatile int *)&scratch[self()];
}

static __global__ void fills_first(int *sum, int *scratch, int round)
{
	trigger();
	round_of(sum, scratch, round);
}

static __global__ void fills_behind(int *sum, int *scratch, int round)
{
	trigger();
	wait_for_front();
	round_of(sum, scratch, round);
}

RACE(scratch_reused, "fills_first", "fills_first")
{
	cudaStream_t a = stream();
	int *scratch = device(), *sum = device();

	dependent(a, fixed ? fills_behind : fills_first, sum, scratch, 1);
	dependent(a, fixed ? fills_behind : fills_first, sum, scratch, 2);
	show(sum);
}
