/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the second kernel counts into what the first may have yet to set back.
 * The pair: both.
 */
static __global__ void sets_back(int *count)
{
	trigger();
	if (threadIdx.x < 8)
		count[8 * blockIdx.x + threadIdx.x] = 1000;
}

static __global__ void counts_at_once(int *count)
{
	atomicAdd(&count[8 * blockIdx.x + threadIdx.x % 8], 1);
}

static __global__ void counts_when_done(int *count)
{
	wait_for_front();
	atomicAdd(&count[8 * blockIdx.x + threadIdx.x % 8], 1);
}

RACE(counted_early, "sets_back", "counts_at_once")
{
	cudaStream_t a = stream();
	int *count = device();

	sets_back<<<GRID, 0, a>>>(count);
	dependent(a, fixed ? counts_when_done : counts_at_once, count);
	show(count);
}
