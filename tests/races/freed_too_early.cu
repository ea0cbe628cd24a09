/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: memory is freed in the order of a stream that has not waited for its last use on another; the next allocation gets it.
 * The pair: consume and the free.
 */
RACE(freed_too_early, "consume", "free")
{
	cudaStream_t a = stream(), b = stream();
	int *sum = device(), *data, *next;

	CHECK(cudaMallocAsync(&data, BYTES, a));
	produce<<<GRID, 0, a>>>(data, 7);
	after(b, a);
	consume<<<GRID, 0, b>>>(sum, data);
	if (fixed)
		after(a, b);
	pause_a_moment();
	CHECK(cudaFreeAsync(data, a));
	CHECK(cudaMallocAsync(&next, BYTES, a));
	CHECK(cudaMemsetAsync(next, 9, BYTES, a));
	show(sum);
}
