/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: memory is allocated in the order of one stream and used on another that has not waited for that.
 * The pair: the allocation and produce.
 */
RACE(used_before_alloc, "alloc", "produce")
{
	cudaStream_t a = stream(), b = stream();
	int *data;

	CHECK(cudaMallocAsync(&data, BYTES, a));
	if (fixed)
		after(b, a);
	pause_a_moment();
	produce<<<GRID, 0, b>>>(data, 7);
	CHECK(cudaStreamSynchronize(b));
	show(data);
}
