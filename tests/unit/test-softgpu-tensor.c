/* SPDX-License-Identifier: Apache-2.0
 *
 * Random dot products by each model of a tensor core against what ptx-tensor.h says of them, worked
 * out in double precision, where all of it is exact: blocks of products and the accumulator, cut
 * off below the largest exponent, added, and cut off or rounded.
 */
#include "ptx-test.h"

#include "softgpu/insns/ptx-tensor.h"
#include "softgpu/ptx/ptx-int.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state_;
static uint32_t next(uint32_t n)
{
	uint64_t x = state_ += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* --- numbers --- */
static const struct kind {
	unsigned type, bits, places, min_exp_below; /* the least exponent is minus this */
	unsigned bytes;
	unsigned ks[2];
} kinds[] = {
	{T_f16, 16, 10, 14, 2, {8, 16}},
	{T_bf16, 16, 7, 126, 2, {8, 16}},
	{T_tf32, 32, 23, 126, 4, {4, 8}},
	{T_e4m3, 8, 3, 6, 1, {16, 32}},
	{T_e5m2, 8, 2, 14, 1, {16, 32}},
};

static double value_of(const struct kind *k, uint32_t u)
{
	const unsigned exp_bits = k->bits - 1 - k->places;
	const uint32_t e = u >> k->places & ((1u << exp_bits) - 1);
	uint32_t frac = u & ((1u << k->places) - 1);
	double v;

	if (k->type == T_tf32)
		frac &= ~0x1fffu; /* it does not look at them */
	if (k->type == T_e4m3 ? e == 15 && frac == 7 : e + 1 == 1u << exp_bits)
		v = frac ? (double)NAN : (double)INFINITY;
	else if (e)
		v = ldexp((double)(frac | 1u << k->places),
			(int)e - 1 - (int)k->min_exp_below - (int)k->places);
	else
		v = ldexp((double)frac, -(int)k->min_exp_below - (int)k->places);
	return u >> (k->bits - 1) & 1 ? -v : v;
}

/* Of a number of that kind that is not 0. */
static int exponent(double v, int least)
{
	int e;

	frexp(v, &e);
	return e - 1 < least ? least : e - 1;
}

static float single(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static double half(uint32_t u)
{
	return value_of(&kinds[0], u & 0xffff);
}

static double acc_value(uint32_t u, unsigned type)
{
	return type == T_f16 ? half(u) : (double)single(u);
}

/* To f32 by cutting off, to f16 by rounding to nearest, ties to even. */
static uint32_t finished(double v, unsigned type)
{
	const double mag = fabs(v);
	const bool cut = type == T_f32;
	const int places = cut ? 23 : 10, least = cut ? -126 : -14;
	int e = mag != 0 && isfinite(mag) ? exponent(mag, least) : least;
	double units = ldexp(mag, places - e);
	uint32_t bits;

	units = cut ? floor(units) : nearbyint(units);
	if (units >= ldexp(2, places)) {
		units /= 2;
		e++;
	}
	if (isinf(v) || e > (cut ? 127 : 15))
		bits = cut ? 0x7f800000 : 0x7c00;
	else if (units < ldexp(1, places))
		bits = (uint32_t)units;
	else
		bits = (uint32_t)(e - least + 1) << places |
		       ((uint32_t)units & ((1u << places) - 1));
	if (v < 0)
		bits |= cut ? 0x80000000 : 0x8000;
	return bits;
}

/* --- the definition --- */
static uint32_t block_of(unsigned bits, const double *a, const double *b, unsigned n, int least,
	uint32_t c, unsigned ctype, unsigned dtype)
{
	const double acc = acc_value(c, ctype);
	double ieee = acc, sum = 0;
	int top = acc != 0 ? exponent(acc, ctype == T_f16 ? -14 : -126) : -126;
	bool special = !isfinite(acc);

	for (unsigned k = 0; k < n; k++) {
		special |= !isfinite(a[k]) || !isfinite(b[k]);
		ieee += a[k] * b[k];
	}
	if (special) {
		if (isnan(ieee))
			return dtype == T_f16 ? 0x7fff : 0x7fffffff;
		return (dtype == T_f16 ? 0x7c00u : 0x7f800000u) |
		       (ieee < 0 ? (dtype == T_f16 ? 0x8000u : 0x80000000u) : 0);
	}
	for (unsigned k = 0; k < n; k++) {
		const int e =
			a[k] * b[k] == 0 ? -126 : exponent(a[k], least) + exponent(b[k], least);

		top = e > top ? e : top;
	}
	for (unsigned k = 0; k < n; k++)
		sum += trunc(ldexp(a[k] * b[k], (int)bits - top));
	sum += trunc(ldexp(acc, (int)bits - top));
	return finished(ldexp(sum, top - (int)bits), dtype);
}

static uint32_t dot_of(const struct ptx_tensor_model *m, const struct kind *t, const double *a,
	const double *b, unsigned k, bool wmma, uint32_t c, unsigned ctype, unsigned dtype)
{
	const unsigned step =
		wmma && t->type == T_tf32 && m->wmma_tf32 ? m->wmma_tf32 : m->block / t->bytes;

	for (unsigned at = 0; at < k; at += step) {
		c = block_of(m->bits, a + at, b + at, at + step < k ? step : k - at,
			-(int)t->min_exp_below, c, ctype, dtype);
		ctype = dtype;
	}
	return c;
}

/* 8-bit numbers on a machine that has no products of them: as halves, the low pair of each
 * register's four first, then the high ones, c at the end. */
static uint32_t halves_of(const struct ptx_tensor_model *m, const double *a, const double *b,
	unsigned k, uint32_t c, unsigned dtype)
{
	uint32_t sum = 0;

	for (unsigned pair = 0; pair < 4; pair += 2) {
		double x[16], y[16];
		unsigned n = 0;

		for (unsigned at = 0; at < k; at++)
			if ((at & 2) == pair) {
				x[n] = a[at];
				y[n++] = b[at];
			}
		sum = block_of(m->bits, x, y, n, -14, sum, dtype, dtype);
	}
	if (dtype == T_f16) {
		const double v = half(c) + half(sum);

		return isnan(v) ? 0x7fff : finished(v, T_f16);
	}
	return isnan(single(c) + single(sum)) ? 0x7fffffff : bits_of(single(c) + single(sum));
}

/* --- the comparison --- */
/* Mostly of like size, so that they meet; some small, zero, subnormal; seldom no number. */
static uint32_t any_number(const struct kind *k, bool specials)
{
	const unsigned exp_bits = k->bits - 1 - k->places, bias = (1u << (exp_bits - 1)) - 1;
	const unsigned spread = exp_bits == 8 ? 20 : exp_bits == 4 ? 5 : 10, what = next(40);
	uint32_t e = bias + next(2 * spread) - spread, u = next(1u << 31) << 1 ^ next(1u << 31);
	uint32_t ret;

	if (what < 3)
		return u & 1u << (k->bits - 1); /* a zero */
	if (what == 3 && exp_bits != 8)
		e = 0;
	if (what == 4 && specials)
		e = (1u << exp_bits) - 1;
	ret = (u & ((1u << k->places) - 1)) | e << k->places | (u & 1u << (k->bits - 1));
	if (what == 4 && specials && next(2) && k->type != T_e4m3)
		ret &= ~((1u << k->places) - 1);
	if (!isfinite(value_of(k, ret)) && !specials)
		ret = 0;
	return ret;
}

static uint32_t any_acc(unsigned type, bool specials)
{
	const struct kind f32 = {T_f32, 32, 23, 126, 4, {0, 0}};

	return any_number(type == T_f16 ? &kinds[0] : &f32, specials);
}

static void one_dot(const struct ptx_tensor_model *m)
{
	const struct kind *t = &kinds[next(5)];
	const unsigned k = t->ks[next(2)],
		       dtype = t->type == T_f16 || t->bytes == 1 ? (next(2) ? T_f16 : T_f32)
								 : T_f32,
		       ctype = t->type == T_f16 && next(3) == 0 ? (next(2) ? T_f16 : T_f32) : dtype;
	const bool wmma = t->type == T_tf32 && next(2), specials = next(6) == 0;
	const uint32_t c = any_acc(ctype, specials);
	struct ptx_tensor_row a = {0}, b = {0};
	double x[32], y[32];
	uint32_t got, want;

	for (unsigned n = 0; n < k; n++) {
		const uint32_t u = any_number(t, specials), v = any_number(t, specials);

		ptx_tensor_set(m, &a, n, t->type, u);
		ptx_tensor_set(m, &b, n, t->type, v);
		x[n] = value_of(t, u);
		y[n] = value_of(t, v);
		if (t->bytes == 1)
			assert_true(ptx_fp8_value(t->type, u) == x[n] ||
				    (isnan(ptx_fp8_value(t->type, u)) && isnan(x[n])));
	}
	got = ptx_tensor_dot(m, &a, &b, k, t->type, wmma, c, ctype, dtype);
	want = t->bytes == 1 && m->fp8_as_f16 ? halves_of(m, x, y, k, c, dtype)
					      : dot_of(m, t, x, y, k, wmma, c, ctype, dtype);
	if (got != want)
		fail_msg("%s: %s, k %u, c %#x of %s, to %s: %#x, not %#x", m->name,
			ptx_type_name[t->type], k, c, ptx_type_name[ctype], ptx_type_name[dtype],
			got, want);
}

static void in_process(const char *name, const char *want, bool avx2)
{
	int status;
	pid_t p;

	fflush(NULL);
	p = fork();
	assert_true(p >= 0);
	if (!p) {
		const struct ptx_tensor_model *m;

		alarm(60);
		name ? setenv("TSDB_SOFT_TENSOR", name, 1) : unsetenv("TSDB_SOFT_TENSOR");
		avx2 ? unsetenv("TSDB_SOFT_NO_AVX2") : setenv("TSDB_SOFT_NO_AVX2", "1", 1);
		m = ptx_tensor_model();
		if (strcmp(m->name, want) != 0)
			_exit(2);
		state_ = 1;
		for (unsigned k = 0; k < 6000; k++)
			one_dot(m);
		_exit(0);
	}
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_models(void **state)
{
	static const char *const names[] = {"volta", "turing", "ampere", "ada", "hopper"};

	for (size_t k = 0; k < 5; k++)
		in_process(names[k], names[k], k % 2);
	in_process(NULL, "hopper", true);
	in_process("none", "hopper", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
