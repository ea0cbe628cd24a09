/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the event is recorded before the kernel that it is meant to stand for.
 * The pair: produce and consume.
 */
RACE(recorded_too_early, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaEvent_t ready = event();

	if (!fixed)
		CHECK(cudaEventRecord(ready, a));
	produce<<<GRID, 0, a>>>(data, 7);
	if (fixed)
		CHECK(cudaEventRecord(ready, a));
	CHECK(cudaStreamWaitEvent(b, ready, 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
