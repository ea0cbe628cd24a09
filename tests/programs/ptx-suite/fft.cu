/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms of 1,024 points, radix 2, in shared memory: against the sums of the definition, and there and back.
 */
#include "suite.h"
#include <cuComplex.h>

#define POINTS 1024
#define BATCH 3

/* direction: -1 forwards, 1 back (not scaled). */
__global__ void fft(const cuFloatComplex *in, cuFloatComplex *out, float direction)
{
	__shared__ cuFloatComplex v[POINTS];
	const float pi = 3.14159265358979f;

	in += blockIdx.x * POINTS;
	out += blockIdx.x * POINTS;
	for (int i = threadIdx.x; i < POINTS; i += blockDim.x)
		v[__brev(i) >> 22] = in[i];
	for (int half = 1; half < POINTS; half *= 2) {
		__syncthreads();
		for (int k = threadIdx.x; k < POINTS / 2; k += blockDim.x) {
			int at = k % half, low = k / half * 2 * half + at;
			float s, c;

			sincosf(direction * pi * at / half, &s, &c);
			cuFloatComplex odd = cuCmulf(make_cuFloatComplex(c, s), v[low + half]), even = v[low];
			v[low] = cuCaddf(even, odd);
			v[low + half] = cuCsubf(even, odd);
		}
	}
	__syncthreads();
	for (int i = threadIdx.x; i < POINTS; i += blockDim.x)
		out[i] = v[i];
}

static std::vector<float> parts(const std::vector<cuFloatComplex> &v, float scale)
{
	std::vector<float> p;

	for (const cuFloatComplex &z : v) {
		p.push_back(z.x * scale);
		p.push_back(z.y * scale);
	}
	return p;
}

int main()
{
	const int n = POINTS * BATCH;
	std::vector<cuFloatComplex> in(n), want(n);
	std::vector<double> c(POINTS), s(POINTS);
	unsigned seed = 3;

	for (cuFloatComplex &z : in) {
		z.x = next_random(&seed) % 200 / 100.0f - 1;
		z.y = next_random(&seed) % 200 / 100.0f - 1;
	}
	for (int i = 0; i < POINTS; i++) {
		c[i] = std::cos(2 * M_PI * i / POINTS);
		s[i] = -std::sin(2 * M_PI * i / POINTS);
	}
	for (int k = 0; k < n; k++) {
		const cuFloatComplex *x = &in[k / POINTS * POINTS];
		double re = 0, im = 0;

		for (int j = 0; j < POINTS; j++) {
			int w = k % POINTS * j % POINTS;

			re += x[j].x * c[w] - x[j].y * s[w];
			im += x[j].x * s[w] + x[j].y * c[w];
		}
		want[k] = make_cuFloatComplex((float)re, (float)im);
	}
	cuFloatComplex *d = to_device(in), *e = device_zeros<cuFloatComplex>(n), *f = device_zeros<cuFloatComplex>(n);
	fft<<<BATCH, 128>>>(d, e, -1);
	compare("forwards", parts(to_host(e, n), 1), parts(want, 1), 2e-4);
	fft<<<BATCH, 256>>>(e, f, 1);
	compare("back", parts(to_host(f, n), 1.0f / POINTS), parts(in, 1), 1e-5);
	return passed("fft");
}
