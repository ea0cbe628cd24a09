/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the function that should wait is called through a table, and the wrong one is.
 * The pair: both kernels.
 */
typedef void first_thing(void);

static __device__ __noinline__ void does_nothing(void)
{
	asm volatile("");
}

static __device__ __noinline__ void waits(void)
{
	wait_for_front();
}

static __global__ void calls_first(int *sum, const int *in, int which)
{
	first_thing *const table[2] = {does_nothing, waits};

	table[which]();
	sum[self()] = in[self()];
}

RACE(wait_by_pointer, "produce_late", "calls_first")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, calls_first, sum, data, (int)fixed);
	show(sum);
}
