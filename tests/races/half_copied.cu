/* SPDX-License-Identifier: Apache-2.0
 *
 * As halves_of_a_page, with a copy in the place of the kernel: what it reads is known without executing anything.
 */
RACE(half_copied, "copy", "host")
{
	enum { HALF = 512 };
	cudaStream_t a = stream();
	int *data = device(), *other = device(), *page = pinned(1);

	for (int round = 0; round < 3; round++) {
		int now = round % 2, fill = fixed ? !now : now;

		CHECK(cudaMemcpyAsync(data + now * HALF, page + now * HALF, HALF * sizeof *data, cudaMemcpyHostToDevice, a));
		pause_a_moment();
		for (int i = 0; i < HALF; i++)
			page[fill * HALF + i] = round + 2;
		produce<<<GRID, 0, a>>>(other, round);
		CHECK(cudaStreamSynchronize(a));
	}
	show(data);
}
