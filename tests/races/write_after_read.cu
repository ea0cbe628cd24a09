/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the next round's data is written while another stream may still read this round's.
 * The pair: consume and produce.
 */
RACE(write_after_read, "consume", "produce")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();

	CHECK(cudaMemsetAsync(data, 1, BYTES, a));
	after(b, a);
	consume<<<GRID, 0, b>>>(sum, data);
	if (fixed)
		after(a, b);
	pause_a_moment();
	produce<<<GRID, 0, a>>>(data, 7);
	show(sum);
}
