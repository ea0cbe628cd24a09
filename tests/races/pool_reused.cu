/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the program's own pool hands out a buffer again as soon as its last use is submitted, to another stream.
 * The pair: consume and produce.
 */
RACE(pool_reused, "consume", "produce")
{
	cudaStream_t a = stream(), b = stream();
	int *pool = device(), *sum = device();

	CHECK(cudaMemset(pool, 1, BYTES));
	CHECK(cudaDeviceSynchronize());
	consume<<<GRID, 0, a>>>(sum, pool);
	/* "free": the pool does not remember on which stream */
	if (fixed)
		after(b, a);
	pause_a_moment();
	produce<<<GRID, 0, b>>>(pool, 9);
	show(sum);
}
