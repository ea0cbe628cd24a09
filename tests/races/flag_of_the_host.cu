/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host writes a word that a kernel may be reading. Right: the kernel polls the word, as a flag; that is how the two meet, and no race.
 * The pair: the kernel and the host.
 */
static __global__ void take_word(int *out, const int *word)
{
	out[threadIdx.x] = word[0];
}

static __global__ void wait_for_word(int *out, const int *word)
{
	int turns = 0;

	while (!*(const volatile int *)word && ++turns < 20000) /* a replay need not see it set */
		;
	out[threadIdx.x] = 1;
}

RACE(flag_of_the_host, "take_word", "host")
{
	cudaStream_t a = stream();
	int *out = device(), *other = device(), *word = pinned(0);

	if (fixed)
		wait_for_word<<<1, 32, 0, a>>>(out, word);
	else
		take_word<<<1, 32, 0, a>>>(out, word);
	pause_a_moment();
	*(volatile int *)word = 1;
	produce<<<GRID, 0, a>>>(other, 1);
	show(out);
}
