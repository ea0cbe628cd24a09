/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: of two kernels behind one producer the first waits, the second does not, and begins when the first triggers.
 * The pair: the producer and the second.
 */
static __global__ void triggers_and_waits(int *other, const int *in)
{
	trigger();
	wait_for_front();
	other[self()] = in[self()];
}

static __global__ void second_at_once(int *sum, const int *in)
{
	sum[self()] = in[self()];
}

static __global__ void second_waits(int *sum, const int *in)
{
	wait_for_front();
	sum[self()] = in[self()];
}

RACE(two_behind, "produce_late", "second_at_once")
{
	cudaStream_t a = stream();
	int *data = device(), *other = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, triggers_and_waits, other, data);
	dependent(a, fixed ? second_waits : second_at_once, sum, data);
	show(sum);
}
