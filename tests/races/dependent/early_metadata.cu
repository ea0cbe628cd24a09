/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the data is read behind the wait, and how much there is of it before.
 * The pair: the kernel that makes both, and the one that reads them.
 */
static __global__ void produce_some(int *out, int *count)
{
	trigger();
	out[self()] = 7 + (int)threadIdx.x;
	if (!self())
		*count = N;
}

static __global__ void counts_first(int *sum, const int *in, const int *count)
{
	const int n = *(const volatile int *)count;

	wait_for_front();
	if (self() < n)
		sum[self()] = in[self()];
}

static __global__ void waits_first(int *sum, const int *in, const int *count)
{
	wait_for_front();
	if (self() < *(const volatile int *)count)
		sum[self()] = in[self()];
}

RACE(early_metadata, "produce_some", "counts_first")
{
	cudaStream_t a = stream();
	int *data = device(), *count = device(), *sum = device();

	produce_some<<<GRID, 0, a>>>(data, count);
	dependent(a, fixed ? waits_first : counts_first, sum, data, count);
	show(sum);
}
