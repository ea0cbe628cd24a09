/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a block sets a flag for another without a fence between the message and the flag.
 * The kernel: send_flag, by the race check.
 */
static __device__ volatile int flag_set;
static __device__ int flag_message;

template <bool FIXED> static __global__ void send_flag(int *out)
{
	if (threadIdx.x)
		return;
	if (!blockIdx.x) {
		flag_message = 77;
		if (FIXED)
			__threadfence();
		flag_set = 1;
	} else {
		while (!flag_set)
			;
		__threadfence();
		out[0] = flag_message;
	}
}

RACE(flag_without_fence, "send_flag", "racecheck")
{
	int *out = device();

	if (fixed)
		send_flag<true><<<2, 32>>>(out);
	else
		send_flag<false><<<2, 32>>>(out);
	show(out);
}
