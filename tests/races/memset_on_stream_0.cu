/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: cudaMemset fills on the default stream and does not wait; a non-blocking stream uses the memory.
 * The pair: the fill and consume.
 */
RACE(memset_on_stream_0, "fill", "consume")
{
	cudaStream_t b = stream();
	int *data = device(), *sum = device();

	if (fixed)
		CHECK(cudaMemsetAsync(data, 5, BYTES, b));
	else
		CHECK(cudaMemset(data, 5, BYTES));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
