/* SPDX-License-Identifier: Apache-2.0
 *
 * Jacobi iteration for Laplace's equation in doubles on 66 x 66 points, bit for bit as on the CPU (additions and one product by 1/4 only, no
 * contraction possible); the largest change by atomicMax on the bits.
 */
#include "suite.h"
#include <cstring>

__global__ void jacobi(const double *u, double *next, int n, unsigned long long *change)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;

	if (x >= n - 1 || y >= n - 1)
		return;
	int i = y * n + x;
	double v = ((u[i - 1] + u[i + 1]) + (u[i - n] + u[i + n])) * 0.25;
	next[i] = v;
	atomicMax(change, (unsigned long long)__double_as_longlong(fabs(v - u[i])));
}

int main()
{
	const int n = 66, steps = 25;
	std::vector<double> u(n * n), next;
	double change = 0;

	for (int i = 0; i < n; i++) {
		u[i] = std::sin(i * 0.1);
		u[(n - 1) * n + i] = i * 0.01;
	}
	double *a = to_device(u), *b = to_device(u);
	unsigned long long *d_change = device_zeros<unsigned long long>(1);
	for (int s = 0; s < steps; s++) {
		CHECK(cudaMemsetAsync(d_change, 0, sizeof *d_change));
		jacobi<<<dim3(4, 8), dim3(16, 8)>>>(a, b, n, d_change);
		std::swap(a, b);
	}
	next = u;
	for (int s = 0; s < steps; s++) {
		change = 0;
		for (int y = 1; y < n - 1; y++) {
			for (int x = 1; x < n - 1; x++) {
				int i = y * n + x;
				double v = ((u[i - 1] + u[i + 1]) + (u[i - n] + u[i + n])) * 0.25;

				next[i] = v;
				change = std::fmax(change, std::fabs(v - u[i]));
			}
		}
		std::swap(u, next);
	}
	compare("jacobi", to_host(a, n * n), u);
	std::vector<unsigned long long> bits = to_host(d_change, 1);
	double got;
	memcpy(&got, &bits[0], sizeof got);
	compare("largest change", std::vector<double>{got}, std::vector<double>{change});
	return passed("jacobi");
}
