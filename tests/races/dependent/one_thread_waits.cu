/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the first thread of a block waits, and nothing makes the others wait for it.
 * The pair: the kernel in front, and that one.
 */
static __global__ void others_go_on(int *sum, const int *in)
{
	if (!threadIdx.x)
		wait_for_front();
	sum[self()] = 3 * in[self()];
}

static __global__ void others_meet_it(int *sum, const int *in)
{
	if (!threadIdx.x)
		wait_for_front();
	__syncthreads();
	sum[self()] = 3 * in[self()];
}

RACE(one_thread_waits, "produce_late", "others_go_on")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? others_meet_it : others_go_on, sum, data);
	show(sum);
}
