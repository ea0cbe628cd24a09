/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a kernel reads memory that was allocated and never written.
 * The kernel: consume, by other contents of fresh memory.
 */
RACE(uninitialised, "consume", "perturb")
{
	int *data, *sum = device();

	CHECK(cudaMalloc(&data, BYTES));
	if (fixed)
		CHECK(cudaMemset(data, 0, BYTES));
	consume<<<GRID>>>(sum, data);
	show(sum);
}
