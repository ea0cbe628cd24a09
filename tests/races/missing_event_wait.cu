/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: consume uses what produce writes on another stream, and nothing makes it wait.
 * The pair: produce and consume.
 */
RACE(missing_event_wait, "produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();

	produce<<<GRID, 0, a>>>(data, 7);
	if (fixed)
		after(b, a);
	pause_a_moment();
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
