/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host reads page-locked memory before the copy into it is done, in every round.
 * The pair: the copy and the host. Nobody sees the host read; but nothing has waited for a round's copy when the next one overwrites it. So it is
 * possible only: a program may also not care for what it copied before.
 */
RACE(host_reads_early, "copy", "host")
{
	cudaStream_t a = stream();
	int *from = device(), *got = pinned(0);
	unsigned h = 0;

	for (int round = 0; round < 3; round++) {
		produce<<<GRID, 0, a>>>(from, 7 + round);
		CHECK(cudaMemcpyAsync(got, from, BYTES, cudaMemcpyDeviceToHost, a));
		if (fixed)
			CHECK(cudaStreamSynchronize(a));
		pause_a_moment();
		for (int i = 0; i < N; i++)
			h = h * 31 + (unsigned)((volatile int *)got)[i];
	}
	printf("%08x\n", h);
	CHECK(cudaDeviceSynchronize());
}
