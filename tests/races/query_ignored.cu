/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the program asks whether the event is complete, and goes on whatever the answer.
 * The pair: produce and consume.
 */
static __global__ void slow_produce(int *out, int v, int turns)
{
	int x = v;

	for (int k = 0; k < turns; k++)
		x = x * 1103515245 + 12345;
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

RACE(query_ignored, "slow_produce", "consume")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaEvent_t ready = event();

	slow_produce<<<GRID, 0, a>>>(data, 7, 20000);
	CHECK(cudaEventRecord(ready, a));
	while (cudaEventQuery(ready) == cudaErrorNotReady && fixed)
		;
	usleep(20000);
	consume<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
