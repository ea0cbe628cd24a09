/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: blocks append their parts in the order in which they finish, and floats are summed in that order.
 * The kernel: append, by other orders of blocks.
 */
static __device__ unsigned append_at;

static __global__ void append(int *part, int in_order)
{
	if (!threadIdx.x)
		part[in_order ? blockIdx.x : atomicInc(&append_at, gridDim.x - 1)] = 1000 * blockIdx.x;
}

static __global__ void sum_parts(int *out, const int *part, int n)
{
	float x = 0.1f;

	for (int i = 0; i < n; i++)
		x = x * 1.0001f + part[i];
	out[0] = __float_as_int(x);
}

RACE(out_of_order_reduction, "append", "perturb")
{
	int *part = device(), *out = device();

	append<<<GRID>>>(part, fixed);
	sum_parts<<<1, 1>>>(out, part, N / 128);
	show(out);
}
