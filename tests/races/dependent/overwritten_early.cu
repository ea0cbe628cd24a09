/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the second kernel clears for the next round what the first may still read.
 * The pair: both.
 */
static __global__ void sum_late(int *sum, const int *in)
{
	trigger();
	sum[self()] += in[self()];
}

static __global__ void clears_at_once(int *data)
{
	data[self()] = 1;
}

static __global__ void clears_when_done(int *data)
{
	wait_for_front();
	data[self()] = 1;
}

RACE(overwritten_early, "sum_late", "clears_at_once")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	CHECK(cudaMemsetAsync(data, 3, BYTES, a));
	sum_late<<<GRID, 0, a>>>(sum, data);
	dependent(a, fixed ? clears_when_done : clears_at_once, data);
	show(sum);
}
