/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the third kernel reads what the first one makes before it waits. That is right only when the second triggers behind its own wait.
 * The pair: the first and the third.
 */
static __global__ void triggers_first(int *other)
{
	trigger();
	wait_for_front();
	other[self()] = 5;
}

static __global__ void waits_then_triggers(int *other)
{
	wait_for_front();
	trigger();
	other[self()] = 5;
}

static __global__ void reads_ahead(int *sum, const int *in, const int *other)
{
	const int x = *(const volatile int *)&in[self()];

	wait_for_front();
	sum[self()] = x + other[self()];
}

RACE(middle_triggers_first, "produce_late", "reads_ahead")
{
	cudaStream_t a = stream();
	int *data = device(), *other = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? waits_then_triggers : triggers_first, other);
	dependent(a, reads_ahead, sum, data, other);
	show(sum);
}
