/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the event is recorded in the first round only, so the second round's wait is for the first round's work.
 * The pair: produce and consume.
 */
RACE(recorded_once, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaEvent_t ready = event();

	for (int round = 0; round < 2; round++) {
		produce<<<GRID, 0, a>>>(data, 7 + round);
		if (!round || fixed)
			CHECK(cudaEventRecord(ready, a));
		CHECK(cudaStreamWaitEvent(b, ready, 0));
		pause_a_moment();
		consume<<<GRID, 0, b>>>(sum, data);
		after(a, b);
	}
	show(sum);
}
