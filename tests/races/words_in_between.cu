/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel reads every second word of page-locked memory. Wrong: the host sets those meanwhile. Right: it sets the words in between.
 */
static __global__ void add_every_second(int *sum, const int *words)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += words[2 * i];
}

RACE(words_in_between, "add_every_second", "host")
{
	enum { WORDS = 256 };
	cudaStream_t a = stream();
	int *sum = device(), *other = device(), *words = pinned(1);

	add_every_second<<<WORDS / 128, 128, 0, a>>>(sum, words);
	pause_a_moment();
	for (int i = 0; i < WORDS; i++)
		words[2 * i + fixed] = 5;
	produce<<<GRID, 0, a>>>(other, 1);
	CHECK(cudaStreamSynchronize(a));
	show(sum);
}
