/* SPDX-License-Identifier: Apache-2.0
 *
 * cuFFT: a batch of complex transforms and a real one of two dimensions, there and back.
 */
#include <cufft.h>
#include <cmath>
#include <vector>
#include "real.h"

int main(int argc, char **argv)
{
	const int n = 1000, batch = 16, nx = 128, ny = 96;
	std::vector<cufftComplex> z(n * batch), back(n * batch);
	std::vector<float> r(nx * ny), rback(nx * ny);
	cufftComplex *dz, *dspectrum;
	float *dr;
	cufftHandle many, forward, inverse;

	for (int i = 0; i < n * batch; i++)
		z[i] = {float(i % 37) - 18, float(i % 11) - 5};
	for (int i = 0; i < nx * ny; i++)
		r[i] = float(i % 53) / 53;
	CHECK(cudaMalloc(&dz, sizeof *dz * z.size()));
	CHECK(cudaMalloc(&dr, sizeof *dr * r.size()));
	CHECK(cudaMalloc(&dspectrum, sizeof *dspectrum * nx * (ny / 2 + 1)));
	CHECK(cufftPlan1d(&many, n, CUFFT_C2C, batch));
	CHECK(cufftPlan2d(&forward, nx, ny, CUFFT_R2C));
	CHECK(cufftPlan2d(&inverse, nx, ny, CUFFT_C2R));
	for (int k = 0; k < steps_of(argc, argv); k++) {
		float worst = 0;
		step range(k);
		CHECK(cudaMemcpy(dz, z.data(), sizeof *dz * z.size(), cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(dr, r.data(), sizeof *dr * r.size(), cudaMemcpyHostToDevice));
		CHECK(cufftExecC2C(many, dz, dz, CUFFT_FORWARD));
		CHECK(cufftExecC2C(many, dz, dz, CUFFT_INVERSE));
		CHECK(cufftExecR2C(forward, dr, dspectrum));
		CHECK(cufftExecC2R(inverse, dspectrum, dr));
		CHECK(cudaMemcpy(back.data(), dz, sizeof *dz * z.size(), cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpy(rback.data(), dr, sizeof *dr * r.size(), cudaMemcpyDeviceToHost));
		for (int i = 0; i < n * batch; i++)
			worst = fmaxf(worst, fabsf(back[i].x / n - z[i].x));
		for (int i = 0; i < nx * ny; i++)
			worst = fmaxf(worst, fabsf(rback[i] / (nx * ny) - r[i]));
		printf("step %d %s sum %016llx\n", k, worst < 1e-3f ? "ok" : "WRONG",
			(unsigned long long)checksum(back.data(), sizeof back[0] * back.size()));
	}
	CHECK(cufftDestroy(many));
	return 0;
}
