/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a synchronous copy from ordinary memory returns when the memory has been read, not when the device has the bytes.
 * The pair: the copy and consume, on a stream that the copy's does not wait for.
 */
RACE(pageable_copy_returns, "copy", "consume")
{
	enum { WORDS = 1 << 18 };
	static int batch[WORDS];
	cudaStream_t b = stream();
	int *data, *sum = device();

	CHECK(cudaMalloc(&data, sizeof batch));
	CHECK(cudaMemset(data, 0, sizeof batch));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < WORDS; i++)
		batch[i] = i;
	CHECK(cudaMemcpy(data, batch, sizeof batch, cudaMemcpyHostToDevice));
	if (fixed)
		CHECK(cudaStreamSynchronize(cudaStreamLegacy));
	consume<<<GRID, 0, b>>>(sum, data + WORDS - N);
	show(sum);
}
