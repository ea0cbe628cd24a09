/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse matrix times vector (CSR, doubles), one warp to a row, rows of very different length; read-only loads.
 */
#include "suite.h"

__global__ void spmv(const int *__restrict__ start, const int *__restrict__ column,
	const double *__restrict__ value, const double *__restrict__ x, double *y, int rows)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	double sum = 0;

	if (row >= rows)
		return;
	for (int i = start[row] + lane; i < start[row + 1]; i += 32)
		sum += value[i] * __ldg(&x[column[i]]);
	for (int step = 16; step; step /= 2)
		sum += __shfl_down_sync(~0u, sum, step);
	if (lane == 0)
		y[row] = sum;
}

int main()
{
	const int rows = 203, cols = 300;
	std::vector<int> start(1), column;
	std::vector<double> value, x(cols), want(rows);
	unsigned seed = 13;

	for (double &v : x)
		v = (double)(next_random(&seed) % 1000) / 8;
	for (int r = 0; r < rows; r++) {
		int n = r % 17 == 0 ? 0 : (int)(next_random(&seed) % (r % 5 == 0 ? 90 : 12));

		for (int i = 0; i < n; i++) {
			column.push_back((int)(next_random(&seed) % cols));
			value.push_back((double)(next_random(&seed) % 1000) / 16 - 30);
			want[r] += value.back() * x[column.back()]; /* exact: few bits */
		}
		start.push_back((int)column.size());
	}
	int *d_start = to_device(start), *d_column = to_device(column);
	double *d_value = to_device(value), *d_x = to_device(x), *d_y = device_zeros<double>(rows);
	spmv<<<(rows * 32 + 127) / 128, 128>>>(d_start, d_column, d_value, d_x, d_y, rows);
	compare("spmv", to_host(d_y, rows), want);
	return passed("spmv");
}
