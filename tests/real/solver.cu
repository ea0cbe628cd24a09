/* SPDX-License-Identifier: Apache-2.0
 *
 * cuSOLVER: a dense system solved by LU with pivoting, and by Cholesky.
 */
#include <cusolverDn.h>
#include <cmath>
#include <vector>
#include "real.h"

int main(int argc, char **argv)
{
	const int n = 300;
	std::vector<double> a(n * n), b(n), x(n);
	double *da, *db, *work;
	int *pivots, *info, size, size2, bad;
	cusolverDnHandle_t solver;

	for (int i = 0; i < n * n; i++)
		a[i] = (i % (n + 1) == 0 ? n : 0) + 1.0 / (1 + i % n + i / n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			b[i] += a[i + j * n] * (j % 7);
	CHECK(cudaMalloc(&da, sizeof *da * n * n));
	CHECK(cudaMalloc(&db, sizeof *db * n));
	CHECK(cudaMalloc(&pivots, sizeof *pivots * n));
	CHECK(cudaMalloc(&info, sizeof *info));
	CHECK(cusolverDnCreate(&solver));
	CHECK(cusolverDnDgetrf_bufferSize(solver, n, n, da, n, &size));
	CHECK(cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, da, n, &size2));
	CHECK(cudaMalloc(&work, sizeof *work * (size > size2 ? size : size2)));
	for (int k = 0; k < steps_of(argc, argv); k++) {
		double worst = 0;
		step range(k);
		CHECK(cudaMemcpy(da, a.data(), sizeof *da * n * n, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(db, b.data(), sizeof *db * n, cudaMemcpyHostToDevice));
		if (k % 2) {
			CHECK(cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, n, da, n, work, size2, info));
			CHECK(cusolverDnDpotrs(solver, CUBLAS_FILL_MODE_LOWER, n, 1, da, n, db, n, info));
		} else {
			CHECK(cusolverDnDgetrf(solver, n, n, da, n, work, pivots, info));
			CHECK(cusolverDnDgetrs(solver, CUBLAS_OP_N, n, 1, da, n, pivots, db, n, info));
		}
		CHECK(cudaMemcpy(x.data(), db, sizeof *db * n, cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(&bad, info, sizeof bad, cudaMemcpyDeviceToHost));
		for (int j = 0; j < n; j++)
			worst = fmax(worst, fabs(x[j] - j % 7));
		printf("step %d %s info %d sum %016llx\n", k, worst < 1e-9 ? "ok" : "WRONG", bad,
			(unsigned long long)checksum(x.data(), sizeof(double) * n));
	}
	CHECK(cusolverDnDestroy(solver));
	return 0;
}
