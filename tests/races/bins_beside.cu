/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a kernel counts into bins by atomics, while one on another stream reads bins, of which one
 * is counted into. Which bins those are is in memory. Right: none of them is; it reads another bin that
 * holds what is counted.
 * The pair: the two kernels.
 */
static __global__ void count_bins(int *bins, const int *which)
{
	atomicAdd(&bins[which[blockIdx.x * blockDim.x + threadIdx.x]], 1);
}

static __global__ void read_bins(int *out, const int *bins, const int *which)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = bins[which[N - 1 - i]];
}

RACE(bins_beside, "count_bins", "read_bins")
{
	static int counted[N], read[N], start[N];
	cudaStream_t a = stream(), b = stream();
	int *bins = device(), *out = device(), *c = device(), *r = device();

	for (int i = 0; i < N; i++) {
		counted[i] = i % 100 * 2;
		read[i] = i % 100 * 2 + 1;
	}
	start[241] = (N - 20 + 99) / 100; /* how often bin 40 is counted into */
	read[1234] = fixed ? 241 : 40;
	CHECK(cudaMemcpy(bins, start, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(c, counted, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(r, read, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	count_bins<<<GRID, 0, a>>>(bins, c);
	pause_a_moment();
	read_bins<<<GRID, 0, b>>>(out, bins, r);
	show(out);
}
