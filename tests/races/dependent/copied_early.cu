/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: an asynchronous copy to shared memory is begun before the wait, and looked at behind it.
 * The pair: the kernel in front, and that one.
 */
static __device__ __forceinline__ void copy_begin(int *to, const int *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

static __device__ __forceinline__ void copy_end(void)
{
	asm volatile("cp.async.wait_all;" ::: "memory");
}

static __global__ void copies_ahead(int *sum, const int *in)
{
	__shared__ int tile[128];

	copy_begin(&tile[threadIdx.x], &in[self()]);
	wait_for_front();
	copy_end();
	sum[self()] = 3 * tile[threadIdx.x];
}

static __global__ void copies_behind(int *sum, const int *in)
{
	__shared__ int tile[128];

	wait_for_front();
	copy_begin(&tile[threadIdx.x], &in[self()]);
	copy_end();
	sum[self()] = 3 * tile[threadIdx.x];
}

RACE(copied_early, "produce_late", "copies_ahead")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_late<<<GRID, 0, a>>>(data, 7);
	dependent(a, fixed ? copies_behind : copies_ahead, sum, data);
	show(sum);
}
