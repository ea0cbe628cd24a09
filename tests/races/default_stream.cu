/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a non-blocking stream does not wait for the default stream, as one made with cudaStreamCreate would.
 * The pair: produce and consume.
 */
RACE(default_stream, "produce", "consume")
{
	int *data = device(), *sum = device();
	cudaStream_t b;

	if (fixed)
		CHECK(cudaStreamCreate(&b));
	else
		b = stream();
	produce<<<GRID>>>(data, 7);
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
