/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: threads of several blocks increment a counter without atomics.
 * The kernel: count_up, by the race check.
 */
template <bool FIXED> static __global__ void count_up(int *n)
{
	if (FIXED)
		atomicAdd(&n[0], 1);
	else
		n[0]++;
}

RACE(lost_update, "count_up", "racecheck")
{
	int *n = device();

	if (fixed)
		count_up<true><<<GRID>>>(n);
	else
		count_up<false><<<GRID>>>(n);
	show(n);
}
