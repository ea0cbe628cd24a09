/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: memory is freed in the order of one stream and used on another afterwards.
 * The pair: the free and consume.
 */
RACE(used_after_free, "free", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *sum = device(), *data;

	CHECK(cudaMallocAsync(&data, BYTES, a));
	produce<<<GRID, 0, a>>>(data, 7);
	after(b, a);
	if (!fixed)
		CHECK(cudaFreeAsync(data, a));
	consume<<<GRID, 0, b>>>(sum, data);
	if (fixed) {
		after(a, b);
		CHECK(cudaFreeAsync(data, a));
	}
	show(sum);
}
