/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: before a buffer is filled again, the stream waits for the use of the other buffer.
 * The pair: consume and the copy.
 */
RACE(double_buffer, "consume", "copy")
{
	cudaStream_t filling = stream(), using_ = stream();
	int *buffer[2] = {device(), device()}, *sum = device(), *batch[4];
	cudaEvent_t full[2] = {event(), event()}, used[2] = {event(), event()};

	for (int i = 0; i < 4; i++)
		batch[i] = pinned(i + 1);
	for (int i = 0; i < 4; i++) {
		int k = i % 2;

		if (i >= 2 && fixed)
			CHECK(cudaStreamWaitEvent(filling, used[k], 0));
		else if (i == 2) /* used[1] was not recorded yet: nothing is waited for */
			CHECK(cudaStreamWaitEvent(filling, used[!k], 0));
		CHECK(cudaMemcpyAsync(buffer[k], batch[i], BYTES, cudaMemcpyHostToDevice, filling));
		CHECK(cudaEventRecord(full[k], filling));
		CHECK(cudaStreamWaitEvent(using_, full[k], 0));
		pause_a_moment();
		consume<<<GRID, 0, using_>>>(sum, buffer[k]);
		if (i != 1 || fixed)
			CHECK(cudaEventRecord(used[k], using_));
	}
	show(sum);
}
