/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: one thread waits and sets a flag, which the others look at; the wrong ones read before they have seen it. A launch that is held while
 * these go as far as they can must not wait for the flag for ever.
 * The pair: both kernels.
 */
static __global__ void looks_at_flag(int *sum, const int *in, int *flag, int early)
{
	int x = early ? *(const volatile int *)&in[self()] : 0;

	if (!blockIdx.x && !threadIdx.x) {
		wait_for_front();
		__threadfence();
		*(volatile int *)flag = 1;
	}
	if (!threadIdx.x)
		while (!*(volatile int *)flag)
			;
	__threadfence();
	__syncthreads();
	sum[self()] = early ? x : in[self()];
}

RACE(told_by_flag, "produce_late", "looks_at_flag")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device(), *flag = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, looks_at_flag, sum, data, flag, (int)!fixed);
	show(sum);
}
