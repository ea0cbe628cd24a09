/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the wait comes after the kernel that needs it.
 * The pair: produce and consume.
 */
RACE(waited_too_late, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaEvent_t ready = event();

	produce<<<GRID, 0, a>>>(data, 7);
	CHECK(cudaEventRecord(ready, a));
	if (fixed)
		CHECK(cudaStreamWaitEvent(b, ready, 0));
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	if (!fixed)
		CHECK(cudaStreamWaitEvent(b, ready, 0));
	show(sum);
}
