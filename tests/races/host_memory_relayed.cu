/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: page-locked memory is copied on to the device before the copy into it is done.
 * The pair: the copy to the host and the copy from it.
 */
RACE(host_memory_relayed, "copy", "copy")
{
	cudaStream_t a = stream(), b = stream();
	int *from = device(), *to = device(), *relay = pinned(0);

	produce<<<GRID, 0, a>>>(from, 7);
	CHECK(cudaMemcpyAsync(relay, from, BYTES, cudaMemcpyDeviceToHost, a));
	if (fixed)
		CHECK(cudaStreamSynchronize(a));
	pause_a_moment();
	CHECK(cudaMemcpyAsync(to, relay, BYTES, cudaMemcpyHostToDevice, b));
	show(to);
}
