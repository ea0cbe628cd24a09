/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: another stream waits for an event that a launch records when it lets others begin, not when it has ended, and the kernel there does not wait.
 * The pair: both kernels.
 */
static __global__ void copies_at_once(int *sum, const int *in)
{
	sum[self()] = in[self()];
}

RACE(attribute_event, "produce_late", "copies_at_once")
{
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *sum = device();
	cudaLaunchAttribute attr = {};
	cudaLaunchConfig_t config = {};
	cudaEvent_t e = event();

	attr.id = cudaLaunchAttributeProgrammaticEvent;
	attr.val.programmaticEvent.event = e;
	config.gridDim = dim3(N / 128);
	config.blockDim = dim3(128);
	config.stream = a;
	config.attrs = &attr;
	config.numAttrs = !fixed;
	CHECK(cudaLaunchKernelEx(&config, produce_late, data, 7));
	if (fixed)
		CHECK(cudaEventRecord(e, a));
	CHECK(cudaStreamWaitEvent(b, e, 0));
	copies_at_once<<<GRID, 0, b>>>(sum, data);
	show(sum);
}
