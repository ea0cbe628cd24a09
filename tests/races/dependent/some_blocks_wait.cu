/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the wait is on the way of some blocks alone.
 * The pair: the kernel in front, and that one.
 */
static __global__ void first_half_waits(int *sum, const int *in)
{
	if (blockIdx.x < gridDim.x / 2)
		wait_for_front();
	sum[self()] = 3 * in[self()];
}

static __global__ void all_blocks_wait(int *sum, const int *in)
{
	wait_for_front();
	sum[self()] = 3 * in[self()];
}

RACE(some_blocks_wait, "produce_late", "first_half_waits")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? all_blocks_wait : first_half_waits, sum, data);
	show(sum);
}
