/* SPDX-License-Identifier: Apache-2.0
 *
 * Two buffers in one page of page-locked memory. Wrong: the host fills the one that a kernel reads. Right: it fills the other one; the page has changed all
 * the same.
 */
static __global__ void add_half(int *sum, const int *half)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += half[i];
}

RACE(halves_of_a_page, "add_half", "host")
{
	enum { HALF = 512 };
	cudaStream_t a = stream();
	int *sum = device(), *other = device(), *page = pinned(1);

	for (int round = 0; round < 3; round++) {
		int now = round % 2, fill = fixed ? !now : now;

		add_half<<<HALF / 128, 128, 0, a>>>(sum, page + now * HALF);
		pause_a_moment();
		for (int i = 0; i < HALF; i++)
			page[fill * HALF + i] = round + 2;
		produce<<<GRID, 0, a>>>(other, round);
		CHECK(cudaStreamSynchronize(a));
	}
	show(sum);
}
