/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the third kernel waits for the second, which has not waited for the first, so that the first may still run.
 * The pair: the first and the third.
 */
static __global__ void passes_by(int *other)
{
	other[self()] = 5;
}

static __global__ void waits_in_between(int *other)
{
	wait_for_front();
	other[self()] = 5;
}

static __global__ void third(int *sum, const int *in, const int *other)
{
	wait_for_front();
	sum[self()] = in[self()] + other[self()];
}

RACE(chain_of_three, "produce_late", "third")
{
	cudaStream_t a = stream();
	int *data = device(), *other = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? waits_in_between : passes_by, other);
	dependent(a, third, sum, data, other);
	show(sum);
}
