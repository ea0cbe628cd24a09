/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host writes the next batch into page-locked memory that is still being copied from.
 * The pair: the copy and the host.
 */
RACE(pinned_reused, "copy", "host")
{
	cudaStream_t a = stream();
	int *batch = pinned(1), *data = device(), *sum = device();

	for (int round = 0; round < 3; round++) {
		CHECK(cudaMemcpyAsync(data, batch, BYTES, cudaMemcpyHostToDevice, a));
		consume<<<GRID, 0, a>>>(sum, data);
		if (fixed)
			CHECK(cudaStreamSynchronize(a));
		pause_a_moment();
		for (int i = 0; i < N; i++)
			batch[i] = round + 2;
	}
	show(sum);
}
