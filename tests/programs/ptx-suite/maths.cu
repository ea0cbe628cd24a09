/* SPDX-License-Identifier: Apache-2.0
 *
 * The mathematical functions, single and double, against the CPU's: the libraries' slow paths (large arguments of sin) included. Within the
 * errors that the CUDA C++ Programming Guide states.
 */
#include "suite.h"

#define FLOATS 16
#define DOUBLES 14

__global__ void floats(const float *x, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float v = x[i], p = fabsf(v) + 0.5f, *o = out + i * FLOATS;
	o[0] = sinf(v);
	o[1] = cosf(v * 1000);
	o[2] = tanf(v);
	o[3] = expf(v * 0.1f);
	o[4] = logf(p);
	o[5] = powf(p, 1.7f);
	o[6] = sqrtf(p);
	o[7] = atan2f(v, p);
	o[8] = tanhf(v);
	o[9] = cbrtf(v);
	o[10] = fmodf(v, 1.3f);
	o[11] = floorf(v) + ceilf(v) + truncf(v) + rintf(v);
	o[12] = erff(v);
	o[13] = 1.0f / p;
	o[14] = ldexpf(v, 5);
	o[15] = log1pf(p);
}

__global__ void doubles(const double *x, double *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	double v = x[i], p = fabs(v) + 0.5, *o = out + i * DOUBLES;
	o[0] = sin(v);
	o[1] = cos(v * 1e7);
	o[2] = exp(v * 0.1);
	o[3] = log(p);
	o[4] = pow(p, -2.3);
	o[5] = sqrt(p);
	o[6] = atan(v);
	o[7] = v / p;
	o[8] = cbrt(v);
	o[9] = fmod(v, 1.3);
	o[10] = floor(v) + ceil(v) + round(v);
	o[11] = lgamma(p);
	o[12] = fma(v, p, 0.25);
	o[13] = hypot(v, p);
}

int main()
{
	const int n = 64;
	std::vector<float> xf(n), want_f(n * FLOATS);
	std::vector<double> xd(n), want_d(n * DOUBLES);

	for (int i = 0; i < n; i++) {
		double v = xd[i] = (i - 31) * 0.731 + (i % 7 == 0 ? i * 0.5 : 0), p;

		xf[i] = (float)v;
		v = xf[i];
		p = (double)(std::fabs(xf[i]) + 0.5f);
		const double f[FLOATS] = {std::sin(v), std::cos((double)(xf[i] * 1000)), std::tan(v),
			std::exp((double)(xf[i] * 0.1f)), std::log(p), std::pow(p, (double)1.7f),
			std::sqrt(p), std::atan2(v, p), std::tanh(v), std::cbrt(v),
			std::fmod(v, (double)1.3f),
			std::floor(v) + std::ceil(v) + std::trunc(v) + std::rint(v), std::erf(v),
			1 / p, v * 32, std::log1p(p)};
		for (int k = 0; k < FLOATS; k++)
			want_f[i * FLOATS + k] = (float)f[k];
		v = xd[i];
		p = std::fabs(v) + 0.5;
		const double d[DOUBLES] = {std::sin(v), std::cos(v * 1e7), std::exp(v * 0.1), std::log(p),
			std::pow(p, -2.3), std::sqrt(p), std::atan(v), v / p, std::cbrt(v),
			std::fmod(v, 1.3), std::floor(v) + std::ceil(v) + std::round(v),
			std::lgamma(p), std::fma(v, p, 0.25), std::hypot(v, p)};
		for (int k = 0; k < DOUBLES; k++)
			want_d[i * DOUBLES + k] = d[k];
	}
	float *d_xf = to_device(xf), *d_f = device_zeros<float>(n * FLOATS);
	double *d_xd = to_device(xd), *d_d = device_zeros<double>(n * DOUBLES);
	floats<<<2, 32>>>(d_xf, d_f, n);
	doubles<<<2, 32>>>(d_xd, d_d, n);
	compare("float functions", to_host(d_f, n * FLOATS), want_f, 1e-6);
	compare("double functions", to_host(d_d, n * DOUBLES), want_d, 1e-14);
	return passed("maths");
}
