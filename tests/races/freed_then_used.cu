/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: memory is freed, and whoever waits for that uses it: always too late, and always right as long as nobody else gets the memory.
 * The pair: the free and consume.
 */
RACE(freed_then_used, "free", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *sum = device(), *data;

	CHECK(cudaMallocAsync(&data, BYTES, a));
	produce<<<GRID, 0, a>>>(data, 7);
	if (!fixed)
		CHECK(cudaFreeAsync(data, a));
	after(b, a);
	consume<<<GRID, 0, b>>>(sum, data);
	if (fixed)
		CHECK(cudaFreeAsync(data, b));
	show(sum);
}
