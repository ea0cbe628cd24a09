/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky's factors of a symmetric matrix in f64, by blocks of 16: the diagonal block in one thread block, the panel below it by triangular
 * solves, the rest by tiled products.
 */
#include "suite.h"

#define B 16
#define N 64

__global__ void diagonal(double *a, int k)
{
	__shared__ double t[B][B];
	int r = threadIdx.y, c = threadIdx.x;

	t[r][c] = a[(k + r) * N + k + c];
	for (int j = 0; j < B; j++) {
		__syncthreads();
		if (r == j && c == j)
			t[j][j] = sqrt(t[j][j]);
		__syncthreads();
		if (c == j && r > j)
			t[r][j] /= t[j][j];
		__syncthreads();
		if (c > j && r >= c)
			t[r][c] -= t[r][j] * t[c][j];
	}
	a[(k + r) * N + k + c] = c <= r ? t[r][c] : 0;
}

/* A thread solves one row of the panel: x * transposed(L) = row. */
__global__ void panel(double *a, int k)
{
	__shared__ double l[B][B];
	int row = k + B + blockIdx.x * B + threadIdx.x;
	double x[B];

	for (int j = 0; j < B; j++)
		l[threadIdx.x][j] = a[(k + threadIdx.x) * N + k + j];
	__syncthreads();
	for (int j = 0; j < B; j++) {
		double v = a[row * N + k + j];

#pragma unroll
		for (int i = 0; i < B; i++)
			if (i < j)
				v -= x[i] * l[j][i];
		x[j] = v / l[j][j];
	}
	for (int j = 0; j < B; j++)
		a[row * N + k + j] = x[j];
}

__global__ void rest(double *a, int k)
{
	__shared__ double left[B][B], right[B][B];
	int r = threadIdx.y, c = threadIdx.x, row = k + B + blockIdx.y * B, col = k + B + blockIdx.x * B;
	double sum = 0;

	if (col > row)
		return;
	left[r][c] = a[(row + r) * N + k + c];
	right[r][c] = a[(col + r) * N + k + c];
	__syncthreads();
	for (int j = 0; j < B; j++)
		sum += left[r][j] * right[c][j];
	a[(row + r) * N + col + c] -= sum;
}

int main()
{
	std::vector<double> a(N * N), want(N * N), m(N * N);
	unsigned seed = 30;

	for (double &v : m)
		v = (int)(next_random(&seed) % 200) / 100.0 - 1;
	for (int r = 0; r < N; r++)
		for (int c = 0; c < N; c++) {
			for (int k = 0; k < N; k++)
				a[r * N + c] += m[r * N + k] * m[c * N + k];
			a[r * N + c] += r == c;
		}
	for (int r = 0; r < N; r++)
		for (int c = 0; c <= r; c++) {
			double sum = a[r * N + c];

			for (int k = 0; k < c; k++)
				sum -= want[r * N + k] * want[c * N + k];
			want[r * N + c] = r == c ? std::sqrt(sum) : sum / want[c * N + c];
		}
	double *d = to_device(a);
	for (int k = 0; k < N; k += B) {
		int left = (N - k) / B - 1;

		diagonal<<<1, dim3(B, B)>>>(d, k);
		if (left > 0) {
			panel<<<left, B>>>(d, k);
			rest<<<dim3(left, left), dim3(B, B)>>>(d, k);
		}
	}
	std::vector<double> got = to_host(d, N * N);
	for (int r = 0; r < N; r++)
		for (int c = r + 1; c < N; c++)
			got[r * N + c] = 0;
	compare("cholesky", got, want, 1e-9);
	return passed("cholesky");
}
