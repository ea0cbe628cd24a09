/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the toolkit's headers: halves and bfloat16 with their operators and functions, alone and in pairs, fp8, complex numbers of
 * cuComplex.h. The CPU does the same in f32 or f64 and rounds once.
 */
#include "suite.h"
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define N 256

/* T: __half or __nv_bfloat16, T2 its pair. */
template <typename T, typename T2> __global__ void arithmetic(const T *a, const T *b, float *out)
{
	int i = threadIdx.x;
	T x = a[i], y = b[i], z = x;

	z += y;
	z *= T(2.0f);
	out[i] = z;
	out[N + i] = x - y;
	out[2 * N + i] = x * y;
	out[3 * N + i] = x / y;
	out[4 * N + i] = -x < y ? (float)(x == y) : 2 + (float)(x >= y);
	out[5 * N + i] = __hfma(x, y, x);
	out[6 * N + i] = __hmax(x, y);
	out[7 * N + i] = __habs(x);
	T2 p, q;
	p.x = x;
	p.y = y;
	q.x = y;
	q.y = y;
	T2 r = __hfma2(p, q, p);
	out[8 * N + i] = r.x;
	out[9 * N + i] = r.y;
	out[10 * N + i] = (float)(int)x;
	out[11 * N + i] = hfloor(x);
	out[12 * N + i] = __hisnan(x / (y - y)) + 2 * __hlt(x, y);
}

__global__ void functions(const __half *a, float *out)
{
	int i = threadIdx.x;
	__half x = __habs(a[i]);

	out[i] = hsqrt(x);
	out[N + i] = hexp(-x);
	out[2 * N + i] = hlog(x + __half(1));
	out[3 * N + i] = hrcp(x);
	out[4 * N + i] = __hfma_relu(a[i], x, __half(-1));
	out[5 * N + i] = float(__nv_fp8_e4m3(float(a[i])));
	out[6 * N + i] = float(__nv_fp8_e5m2(float(a[i])));
}

__global__ void complexes(const double *in, double *out)
{
	int i = threadIdx.x;
	cuDoubleComplex z = make_cuDoubleComplex(in[i], 1.5), w = cuCdiv(cuCmul(z, cuConj(z)), make_cuDoubleComplex(0, 2));

	out[i] = cuCabs(z);
	out[N + i] = cuCimag(w);
	out[2 * N + i] = cuCreal(cuCfma(z, z, w));
}

template <typename T> static T rounded(double v)
{
	return T((float)v);
}

template <typename T, typename T2> static void check(const char *name, const std::vector<float> &a, const std::vector<float> &b)
{
	std::vector<T> x, y;
	std::vector<float> want(13 * N);
	float *out = device_zeros<float>(13 * N);

	for (int i = 0; i < N; i++) {
		x.push_back(T(a[i]));
		y.push_back(T(b[i]));
		float p = x[i], q = y[i];

		want[i] = rounded<T>(2.0 * (float)rounded<T>(p + q));
		want[N + i] = rounded<T>(p - q);
		want[2 * N + i] = rounded<T>(p * q);
		want[3 * N + i] = rounded<T>(p / q);
		want[4 * N + i] = -p < q ? p == q : 2 + (p >= q);
		want[5 * N + i] = rounded<T>(p * q + p);
		want[6 * N + i] = p > q ? p : q;
		want[7 * N + i] = std::fabs(p);
		want[8 * N + i] = rounded<T>(p * q + p);
		want[9 * N + i] = rounded<T>(q * q + q);
		want[10 * N + i] = (float)(int)p;
		want[11 * N + i] = std::floor(p);
		want[12 * N + i] = (p == 0) + 2 * (p < q);
	}
	arithmetic<T, T2><<<1, N>>>(to_device(x), to_device(y), out);
	compare(name, to_host(out, 13 * N), want);
}

int main()
{
	std::vector<float> a(N), b(N), want(7 * N);
	std::vector<__half> h;
	std::vector<double> d(N), want_complex(3 * N);
	unsigned seed = 28;

	/* Few bits, so that the CPU's sums in f32 are exact and rounding once is right. */
	for (int i = 0; i < N; i++) {
		a[i] = (int)(next_random(&seed) % 256 - 128) / 16.0f;
		b[i] = (int)(next_random(&seed) % 128 + 1) / 32.0f * (i % 2 ? 1 : -1);
		d[i] = a[i];
	}
	check<__half, __half2>("halves", a, b);
	check<__nv_bfloat16, __nv_bfloat162>("bfloat16", a, b);

	for (int i = 0; i < N; i++) {
		float x = std::fabs(a[i]);

		h.push_back(__half(a[i]));
		want[i] = std::sqrt(x);
		want[N + i] = std::exp(-x);
		want[2 * N + i] = std::log(x + 1);
		want[3 * N + i] = 1 / x;
		want[4 * N + i] = std::fmax(a[i] * x - 1, 0.0f);
		want[5 * N + i] = a[i];
		want[6 * N + i] = a[i];
		want_complex[i] = std::hypot(d[i], 1.5);
		want_complex[N + i] = -(d[i] * d[i] + 2.25) / 2;
		want_complex[2 * N + i] = d[i] * d[i] - 2.25;
	}
	float *out = device_zeros<float>(7 * N);
	functions<<<1, N>>>(to_device(h), out);
	std::vector<float> got = to_host(out, 7 * N);
	for (int f = 0; f < 7; f++) /* a half keeps 11 bits, e4m3 4, e5m2 3 */
		compare("functions", std::vector<float>(got.begin() + f * N, got.begin() + (f + 1) * N),
			std::vector<float>(want.begin() + f * N, want.begin() + (f + 1) * N), f < 5 ? 1.5e-3 : f == 5 ? 1 / 16.0 : 1 / 8.0);
	double *e = device_zeros<double>(3 * N);
	complexes<<<1, N>>>(to_device(d), e);
	compare("complexes", to_host(e, 3 * N), want_complex, 1e-12);
	return passed("numbers");
}
