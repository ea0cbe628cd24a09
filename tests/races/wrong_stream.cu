/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the wait is put on the producer's own stream, which needs none.
 * The pair: produce and consume.
 */
RACE(wrong_stream, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaEvent_t ready = event();

	produce<<<GRID, 0, a>>>(data, 7);
	CHECK(cudaEventRecord(ready, a));
	CHECK(cudaStreamWaitEvent(fixed ? b : a, ready, 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
