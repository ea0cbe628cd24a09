/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that ordinary arithmetic does not reach: half precision, byte products, SIMD in a register, match, atomics of every type,
 * 128-bit accesses, saturation, rounding modes, volatile and cached loads, clocks.
 */
#include "suite.h"
#include <cuda_fp16.h>

__global__ void halves(const float *in, float *out, int n)
{
	int i = threadIdx.x;

	if (i >= n)
		return;
	__half h = __float2half(in[i]), k = __float2half(1.5f);
	__half2 two = __halves2half2(h, k), r = __hfma2(two, two, __float2half2_rn(0.25f));
	out[i * 6] = __half2float(h);
	out[i * 6 + 1] = __half2float(__hadd(h, k));
	out[i * 6 + 2] = __half2float(__hmul(h, k));
	out[i * 6 + 3] = __low2float(r);
	out[i * 6 + 4] = __high2float(r);
	out[i * 6 + 5] = __hgt(h, k) ? 1.0f : __half2float(__hneg(h));
}

__global__ void integers(int *out)
{
	int i = threadIdx.x, a = i * 0x01030507 - 77, b = 0x10f0807f - i * 3;
	int *o = out + i * 12;

	o[0] = __dp4a(a, b, i);
	o[1] = (int)__dp4a((unsigned)a, (unsigned)b, 5u);
	o[2] = (int)__vadd4((unsigned)a, (unsigned)b);
	o[3] = (int)__vmaxs2((unsigned)a, (unsigned)b);
	o[4] = (int)__vabsdiffu4((unsigned)a, (unsigned)b);
	o[5] = (int)__sad(a, b, 3u);
	o[6] = __mul24(a, b);
	o[7] = __hadd(a, b);
	o[8] = __rhadd(a, b);
	o[9] = (int)__match_any_sync(~0u, i / 5);
	o[10] = (int)__ballot_sync(~0u, i % 3 == 0);
	o[11] = __shfl_up_sync(~0u, i, 3, 8) * 100 + __shfl_sync(~0u, i, 5, 16);
}

__global__ void floats(const float *in, float *out)
{
	float v = in[threadIdx.x], *o = out + threadIdx.x * 9;

	o[0] = __saturatef(v);
	o[1] = __fadd_rz(v, 0.1f);
	o[2] = __fmul_ru(v, 0.1f);
	o[3] = __fdiv_rd(v, 3.0f);
	o[4] = (float)__float2int_ru(v) + (float)__float2uint_rd(fabsf(v));
	o[5] = __int_as_float(__float_as_int(v) ^ 0x80000000);
	o[6] = (float)__double2float_rd((double)v * 1.1);
	o[7] = __frsqrt_rn(fabsf(v) + 1);
	o[8] = copysignf(3.0f, v) + (signbit(v) ? 1 : 0) + (isnan(v * INFINITY * 0.0f) ? 10 : 0);
}

__global__ void atomics(int *i, unsigned long long *l, float *f, double *d, int4 *wide)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&i[0], t);
	atomicSub(&i[1], 2);
	atomicMin(&i[2], -t);
	atomicMax(&i[3], t);
	atomicAnd(&i[4], ~(1 << (t % 5)));
	atomicOr(&i[5], 1 << (t % 31));
	atomicXor(&i[6], t);
	atomicDec((unsigned *)&i[7], 9);
	atomicExch(&i[8], 77);
	atomicAdd(&l[0], 0x100000001ull);
	atomicMax(&l[1], (unsigned long long)t << 33);
	atomicCAS(&l[2], 0ull, 5ull);
	atomicAdd(&f[0], 0.5f);
	atomicAdd(&d[0], 0.25);
	int4 w = wide[t];
	wide[t] = make_int4(w.w, w.z, w.y, w.x);
}

__global__ void clocks(long long *out)
{
	long long a = clock64(), b;

	__nanosleep(100);
	__syncwarp();
	b = clock64();
	out[threadIdx.x] = b - a;
}

static float half_of(double v) /* to the nearest of 11 bits; the numbers here are no denormals */
{
	int e;
	double m = std::frexp(v, &e);

	return (float)std::ldexp(std::nearbyint(std::ldexp(m, 11)), e - 11);
}

int main()
{
	const int n = 32, threads = 128;
	std::vector<float> in(n), want(n * 6), want_f(n * 9);
	std::vector<int> want_i(n * 12);

	for (int i = 0; i < n; i++) {
		in[i] = (float)(i - 13) * 0.37f;
		double h = half_of(in[i]);
		float *w = &want[i * 6];
		w[0] = (float)h;
		w[1] = half_of(h + 1.5);
		w[2] = half_of(h * 1.5);
		w[3] = half_of(h * h + 0.25);
		w[4] = 2.5f;
		w[5] = h > 1.5 ? 1.0f : (float)-h;
	}
	float *d_in = to_device(in), *d_out = device_zeros<float>(n * 6), *d_f = device_zeros<float>(n * 9);
	halves<<<1, 32>>>(d_in, d_out, n);
	compare("halves", to_host(d_out, n * 6), want);

	for (int i = 0; i < n; i++) {
		int a = i * 0x01030507 - 77, b = 0x10f0807f - i * 3, *o = &want_i[i * 12];
		unsigned u = 5, add = 0, dif = 0;

		o[0] = i;
		for (int k = 0; k < 32; k += 8) {
			int x = (signed char)(a >> k), y = (signed char)(b >> k);
			unsigned ux = (unsigned char)(a >> k), uy = (unsigned char)(b >> k);

			o[0] += x * y;
			u += ux * uy;
			add |= ((ux + uy) & 255) << k;
			dif |= (ux > uy ? ux - uy : uy - ux) << k;
		}
		o[1] = (int)u;
		o[2] = (int)add;
		for (int k = 0; k < 32; k += 16) {
			short x = (short)(a >> k), y = (short)(b >> k);

			o[3] |= (int)((unsigned)(unsigned short)(x > y ? x : y) << k);
		}
		o[4] = (int)dif;
		o[5] = (int)((a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + 3);
		o[6] = (int)(unsigned)((long long)(a << 8 >> 8) * (b << 8 >> 8));
		o[7] = (int)(((long long)a + b) >> 1);
		o[8] = (int)(((long long)a + b + 1) >> 1);
		for (int k = 0; k < 32; k++) {
			o[9] |= (int)((unsigned)(k / 5 == i / 5) << k);
			o[10] |= (int)((unsigned)(k % 3 == 0) << k);
		}
		o[11] = (i % 8 >= 3 ? i - 3 : i) * 100 + i / 16 * 16 + 5;
	}
	int *d_i = device_zeros<int>(n * 12);
	integers<<<1, 32>>>(d_i);
	compare("integers", to_host(d_i, n * 12), want_i);

	for (int i = 0; i < n; i++) {
		float v = in[i], *o = &want_f[i * 9];
		double exact = (double)v + (double)0.1f, product = (double)v * (double)0.1f, quotient = (double)v / 3;

		o[0] = v < 0 ? 0 : v > 1 ? 1 : v;
		o[1] = (float)exact;
		if (std::fabs((double)o[1]) > std::fabs(exact))
			o[1] = std::nextafterf(o[1], 0);
		o[2] = (float)product;
		if ((double)o[2] < product)
			o[2] = std::nextafterf(o[2], INFINITY);
		o[3] = (float)quotient;
		if ((double)o[3] > quotient)
			o[3] = std::nextafterf(o[3], -INFINITY);
		o[4] = std::ceil(v) + std::floor(std::fabs(v));
		o[5] = -v;
		double scaled = (double)v * 1.1;
		o[6] = (float)scaled;
		if ((double)o[6] > scaled)
			o[6] = std::nextafterf(o[6], -INFINITY);
		o[7] = (float)(1 / std::sqrt((double)(std::fabs(v) + 1)));
		o[8] = std::copysign(3.0f, v) + (std::signbit(v) ? 1 : 0) + 10;
	}
	floats<<<1, 32>>>(d_in, d_f);
	compare("floats", to_host(d_f, n * 9), want_f);

	std::vector<int> i0 = {0, 0, 0, 0, -1, 0, 0, 5, 1}, i1(9);
	std::vector<unsigned long long> l0(3), l1(3);
	std::vector<int4> wide(threads);
	std::vector<float> f1(1);
	std::vector<double> d1(1);
	for (int t = 0; t < threads; t++) {
		i1[0] += t;
		i1[6] ^= t;
		i1[5] |= 1 << (t % 31);
		wide[t] = make_int4(t, t + 1, t + 2, t + 3);
	}
	i1[1] = -2 * threads;
	i1[2] = -(threads - 1);
	i1[3] = threads - 1;
	i1[4] = ~31;
	i1[7] = 5;
	for (int t = 0; t < threads; t++)
		i1[7] = i1[7] == 0 || i1[7] > 9 ? 9 : i1[7] - 1;
	i1[8] = 77;
	l1[0] = 0x100000001ull * threads;
	l1[1] = (unsigned long long)(threads - 1) << 33;
	l1[2] = 5;
	f1[0] = 0.5f * threads;
	d1[0] = 0.25 * threads;
	int *ai = to_device(i0);
	unsigned long long *al = to_device(l0);
	float *af = device_zeros<float>(1);
	double *ad = device_zeros<double>(1);
	int4 *aw = to_device(wide);
	atomics<<<4, threads / 4>>>(ai, al, af, ad, aw);
	compare("atomics", to_host(ai, 9), i1);
	compare("64-bit atomics", to_host(al, 3), l1);
	compare("float atomics", to_host(af, 1), f1);
	compare("double atomics", to_host(ad, 1), d1);
	std::vector<int4> turned = to_host(aw, threads);
	for (int t = 0; t < threads; t++) {
		if (turned[t].x != t + 3 || turned[t].y != t + 2 || turned[t].z != t + 1 || turned[t].w != t) {
			fprintf(stderr, "intrinsics: a 128-bit access went wrong\n");
			return 1;
		}
	}
	long long *d_clock = device_zeros<long long>(32);
	clocks<<<1, 32>>>(d_clock);
	for (long long c : to_host(d_clock, 32)) {
		if (c <= 0) {
			fprintf(stderr, "intrinsics: the clock does not run\n");
			return 1;
		}
	}
	return passed("intrinsics");
}
