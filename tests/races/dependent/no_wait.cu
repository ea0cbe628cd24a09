/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the second kernel may begin early and never waits for the first.
 * The pair: both.
 */
static __global__ void consume_at_once(int *sum, const int *in)
{
	sum[self()] = 3 * sum[self()] + in[self()];
}

static __global__ void consume_when_done(int *sum, const int *in)
{
	wait_for_front();
	sum[self()] = 3 * sum[self()] + in[self()];
}

RACE(no_wait, "produce_late", "consume_at_once")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? consume_when_done : consume_at_once, sum, data);
	show(sum);
}
