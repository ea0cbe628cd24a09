/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: cudaMemcpyAsync from ordinary memory returns when the memory may be written again, not when the copy is done.
 * The pair: the copy and consume. Writing to the ordinary memory is no race: it was staged.
 */
RACE(pageable_is_staged, "copy", "consume")
{
	static int batch[N];
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();

	for (int i = 0; i < N; i++)
		batch[i] = i;
	CHECK(cudaMemcpyAsync(data, batch, BYTES, cudaMemcpyHostToDevice, a));
	memset(batch, 0, sizeof batch);
	if (fixed)
		after(b, a);
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
