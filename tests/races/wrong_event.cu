/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: of two events, consume's stream waits for the other one.
 * The pair: produce and consume.
 */
RACE(wrong_event, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *other = device(), *data = device(), *sum = device();
	cudaEvent_t e[2] = {event(), event()};

	CHECK(cudaMemsetAsync(other, 0, BYTES, a));
	CHECK(cudaEventRecord(e[0], a));
	produce<<<GRID, 0, a>>>(data, 7);
	CHECK(cudaEventRecord(e[1], a));
	CHECK(cudaStreamWaitEvent(b, e[fixed], 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
