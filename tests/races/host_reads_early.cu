/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host reads page-locked memory before the copy into it is done.
 * The pair: the copy and the host. Nobody sees the host read: it is not found.
 */
RACE(host_reads_early, "copy", "unseen")
{
	cudaStream_t a = stream();
	int *from = device(), *got = pinned(0);
	unsigned h = 0;

	produce<<<GRID, 0, a>>>(from, 7);
	CHECK(cudaMemcpyAsync(got, from, BYTES, cudaMemcpyDeviceToHost, a));
	if (fixed)
		CHECK(cudaStreamSynchronize(a));
	pause_a_moment();
	for (int i = 0; i < N; i++)
		h = h * 31 + (unsigned)((volatile int *)got)[i];
	printf("%08x\n", h);
	CHECK(cudaDeviceSynchronize());
}
