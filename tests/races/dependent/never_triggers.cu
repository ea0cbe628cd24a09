/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the second kernel does not wait. The first never triggers, so that they overlap at its very end only: by the letter of the
 * documentation it is a race, which no run has shown.
 * The pair: both, in the possible tier.
 */
static __global__ void produce_quietly(int *out)
{
	out[self()] = 7;
}

RACE(never_triggers, "produce_quietly", "consume_at_once")
{
	cudaStream_t a = stream();
	int *data = device(), *sum = device();

	produce_quietly<<<GRID, 0, a>>>(data);
	dependent(a, fixed ? consume_when_done : consume_at_once, sum, data);
	show(sum);
}
