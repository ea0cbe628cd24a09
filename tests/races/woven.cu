/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: two kernels on two streams write the even and the odd elements of one array, by way of the
 * same places in their blocks' shared memory; one of them reads one byte that the other writes.
 * Right: it knows that byte.
 * The pair: the two kernels.
 */
static __global__ void weave(int *out, int top)
{
	__shared__ int part[128];

	part[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[2 * (blockIdx.x * 128 + threadIdx.x)] = top << 24 | part[127 - threadIdx.x];
}

static __global__ void weave_other(int *out, int known)
{
	__shared__ int part[128];
	int i = 2 * (blockIdx.x * 128 + threadIdx.x) + 1, more = known;

	part[threadIdx.x] = threadIdx.x;
	__syncthreads();
	if (i == 801 && known < 0)
		more = ((char *)out)[4 * i - 1];
	out[i] = part[127 - threadIdx.x] + (i == 801 ? more : 0);
}

RACE(woven, "weave", "weave_other")
{
	cudaStream_t a = stream(), b = stream();
	int *out = device();

	weave<<<N / 256, 128, 0, a>>>(out, 9);
	pause_a_moment();
	weave_other<<<N / 256, 128, 0, b>>>(out, fixed ? 9 : -1);
	show(out);
}
