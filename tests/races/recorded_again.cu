/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: one event is used twice, and recorded on a third stream before anybody waited for the first record.
 * The pair: produce and consume.
 */
RACE(recorded_again, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream(), c = stream();
	int *data = device(), *other = device(), *sum = device();
	cudaEvent_t ready = event(), second = fixed ? event() : ready;

	produce<<<GRID, 0, a>>>(data, 7);
	CHECK(cudaEventRecord(ready, a));
	CHECK(cudaMemsetAsync(other, 1, BYTES, c));
	CHECK(cudaEventRecord(second, c));
	CHECK(cudaStreamWaitEvent(b, ready, 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
