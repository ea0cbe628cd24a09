/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: of two roles of warps, one waits.
 * The pair: the kernel in front, and the one with the roles.
 */
static __device__ __forceinline__ void roles(int *sum, const int *in, bool both_wait)
{
	if (threadIdx.x < 64) {
		wait_for_front();
		sum[self()] += in[self()];
	} else {
		if (both_wait)
			wait_for_front();
		sum[self()] += 2 * in[self()];
	}
}

static __global__ void one_waits(int *sum, const int *in)
{
	roles(sum, in, false);
}

static __global__ void both_wait(int *sum, const int *in)
{
	roles(sum, in, true);
}

RACE(one_role_waits, "produce_late", "one_waits")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? both_wait : one_waits, sum, data);
	show(sum);
}
