/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax of rows, one warp to a row: maximum and sum by butterfly shuffles, expf, and the logarithm of the sum.
 */
#include "suite.h"

__global__ void softmax(const float *in, float *out, float *log_sum, int rows, int cols)
{
	int row = blockIdx.x * blockDim.y + threadIdx.y;
	float most = -INFINITY, sum = 0;

	if (row >= rows)
		return;
	in += row * cols;
	out += row * cols;
	for (int i = threadIdx.x; i < cols; i += 32)
		most = fmaxf(most, in[i]);
	for (int step = 16; step; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
	for (int i = threadIdx.x; i < cols; i += 32)
		sum += expf(in[i] - most);
	for (int step = 16; step; step /= 2)
		sum += __shfl_xor_sync(~0u, sum, step);
	for (int i = threadIdx.x; i < cols; i += 32)
		out[i] = expf(in[i] - most) / sum;
	if (threadIdx.x == 0)
		log_sum[row] = logf(sum) + most;
}

int main()
{
	const int rows = 37, cols = 100;
	std::vector<float> in(rows * cols), want(rows * cols), want_log(rows);
	unsigned seed = 3;

	for (float &v : in)
		v = (float)(next_random(&seed) % 2000) / 100 - 10;
	for (int r = 0; r < rows; r++) {
		double most = -1e30, sum = 0;

		for (int i = 0; i < cols; i++)
			most = std::fmax(most, in[r * cols + i]);
		for (int i = 0; i < cols; i++)
			sum += std::exp(in[r * cols + i] - most);
		for (int i = 0; i < cols; i++)
			want[r * cols + i] = (float)(std::exp(in[r * cols + i] - most) / sum);
		want_log[r] = (float)(std::log(sum) + most);
	}
	float *d_in = to_device(in), *d_out = device_zeros<float>(rows * cols), *d_log = device_zeros<float>(rows);
	softmax<<<(rows + 3) / 4, dim3(32, 4)>>>(d_in, d_out, d_log, rows, cols);
	compare("softmax", to_host(d_out, rows * cols), want, 1e-6);
	compare("log of the sum", to_host(d_log, rows), want_log, 1e-6);
	return passed("softmax");
}
