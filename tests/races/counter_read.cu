/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a counter that one kernel changes with atomics is copied on another stream.
 * The pair: tally and the copy.
 */
static __global__ void tally(int *n)
{
	atomicAdd(&n[threadIdx.x & 7], 1);
}

RACE(counter_read, "tally", "copy")
{
	cudaStream_t a = stream(), b = stream();
	int *n = device(), *seen = device();

	tally<<<GRID, 0, a>>>(n);
	if (fixed)
		after(b, a);
	pause_a_moment();
	CHECK(cudaMemcpyAsync(seen, n, 64, cudaMemcpyDeviceToDevice, b));
	show(seen);
}
