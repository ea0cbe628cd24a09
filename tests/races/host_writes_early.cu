/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host writes into page-locked memory that a copy from the device has not reached yet.
 * The pair: the copy and the host; only possible, since a change in that memory may be the copy's own.
 */
RACE(host_writes_early, "copy", "host")
{
	cudaStream_t a = stream();
	int *from = device(), *got = pinned(0), *sum = device();

	produce<<<GRID, 0, a>>>(from, 7);
	CHECK(cudaMemcpyAsync(got, from, BYTES, cudaMemcpyDeviceToHost, a));
	if (fixed)
		CHECK(cudaStreamSynchronize(a));
	pause_a_moment();
	for (int i = 0; i < N; i++)
		got[i] = 100 + i;
	consume<<<GRID, 0, a>>>(sum, got);
	show(sum);
}
