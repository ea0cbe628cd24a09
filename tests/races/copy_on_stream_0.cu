/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: cudaMemcpy between two places of the device does not wait; a non-blocking stream uses the memory.
 * The pair: the copy and consume.
 */
RACE(copy_on_stream_0, "copy", "consume")
{
	cudaStream_t b = stream();
	int *from = device(), *data = device(), *sum = device();

	produce<<<GRID>>>(from, 7);
	if (fixed)
		after(b, 0);
	CHECK(cudaMemcpyAsync(data, from, BYTES, cudaMemcpyDeviceToDevice, fixed ? b : 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
