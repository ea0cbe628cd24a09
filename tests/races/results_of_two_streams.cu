/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host writes into the results of one stream while the copy that brings them is on its way.
 * The pair: that copy and the host. Right, and easily taken for wrong: two streams copy at the same time, each into memory of its own.
 */
RACE(results_of_two_streams, "copy", "host")
{
	enum { STREAMS = 2, ROUNDS = 8, WORDS = 1 << 16 };
	cudaStream_t s[STREAMS];
	int *from[STREAMS], *got[STREAMS], *last = device();

	for (int k = 0; k < STREAMS; k++) {
		s[k] = stream();
		CHECK(cudaMalloc(&from[k], WORDS * sizeof *from[k]));
		CHECK(cudaMallocHost(&got[k], WORDS * sizeof *got[k]));
		memset(got[k], 0, WORDS * sizeof *got[k]);
	}
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++)
		for (int k = 0; k < STREAMS; k++) {
			produce<<<WORDS / 128, 128, 0, s[k]>>>(from[k], 100 * round + k);
			CHECK(cudaMemcpyAsync(got[k], from[k], WORDS * sizeof *from[k], cudaMemcpyDeviceToHost, s[k]));
			if (!fixed && round == ROUNDS - 1 && !k) {
				for (int ms = 0; ms < 5000 && ((volatile int *)got[0])[WORDS - 1] != 100 * round + 127; ms++)
					usleep(1000);
				got[0][5] = -1;
			}
		}
	for (int k = 0; k < STREAMS; k++)
		CHECK(cudaStreamSynchronize(s[k]));
	CHECK(cudaMemcpyAsync(last, got[0], BYTES, cudaMemcpyHostToDevice, s[0]));
	show(last);
}
