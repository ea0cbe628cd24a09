/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host writes into page-locked memory that the second of two copies has not reached yet.
 * The pair: that copy and the host. Right, and easily taken for wrong: launches behind the copies look at the memory while it changes.
 */
RACE(copied_to_again, "copy", "host")
{
	enum { WORDS = 1 << 18 };
	cudaStream_t a = stream();
	int *from, *got, *sum = device();

	CHECK(cudaMalloc(&from, WORDS * sizeof *from));
	CHECK(cudaMallocHost(&got, WORDS * sizeof *got));
	CHECK(cudaMemset(from, 0, WORDS * sizeof *from));
	memset(got, 0, WORDS * sizeof *got);
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < 4; round++) {
		produce<<<WORDS / 128, 128, 0, a>>>(from, 7 + round);
		CHECK(cudaMemcpyAsync(got, from, WORDS * sizeof *got, cudaMemcpyDeviceToHost, a));
	}
	for (int more = 0; more < 8; more++) {
		consume<<<GRID, 0, a>>>(sum, from);
		if (!fixed && more == 4) {
			for (int ms = 0; ms < 5000 && ((volatile int *)got)[WORDS - 1] != 10 + 127; ms++)
				usleep(1000);
			got[5] = -1;
		}
	}
	CHECK(cudaStreamSynchronize(a));
	CHECK(cudaMemcpyAsync(from, got, BYTES, cudaMemcpyHostToDevice, a));
	show(from);
}
