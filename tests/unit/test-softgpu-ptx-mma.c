/* SPDX-License-Identifier: Apache-2.0
 *
 * The matrix instructions. Fragments are laid out here once more, from the formulas of the PTX ISA,
 * and products compared with plain triple loops over small whole numbers, which every type holds
 * exactly; then sums worked out by hand that show how a tensor core cuts off, rounds, overflows.
 * wmma goes through memory alone, so that its layout does not matter.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-access.h"

#include <math.h>

/* --- numbers --- */
static uint16_t half_of(double v) /* exact ones */
{
	int e;
	double f = frexp(fabs(v), &e);
	uint16_t s = signbit(v) ? 0x8000 : 0;

	if (v == 0)
		return s;
	if (e - 1 < -14)
		return (uint16_t)(s | (uint16_t)ldexp(fabs(v), 24));
	return (uint16_t)(s | (uint16_t)((e + 14) << 10) | (uint16_t)((f * 2 - 1) * 1024));
}

static double half_value(uint16_t h)
{
	int e = h >> 10 & 31, f = h & 1023;
	double v = e == 31 ? (f ? (double)NAN : (double)INFINITY)
		   : e	   ? ldexp(1024 + f, e - 25)
			   : ldexp(f, -24);

	return h & 0x8000 ? -v : v;
}

static uint32_t single_of(double v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float single_value(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint64_t double_of(double v)
{
	uint64_t u;

	memcpy(&u, &v, 8);
	return u;
}

/* Whole numbers of at most 8 in magnitude. */
static uint64_t encode(const char *type, int v)
{
	int e = 0, a = abs(v);

	while (a >> (e + 1))
		e++;
	if (!strcmp(type, "f16"))
		return half_of(v);
	if (!strcmp(type, "bf16"))
		return single_of(v) >> 16;
	if (!strcmp(type, "f64"))
		return double_of(v);
	if (!strcmp(type, "e4m3"))
		return v ? (v < 0 ? 0x80u : 0) | (unsigned)(e + 7) << 3 |
				       (unsigned)((a << 3 >> e) & 7)
			 : 0;
	if (!strcmp(type, "e5m2"))
		return v ? (v < 0 ? 0x80u : 0) | (unsigned)(e + 15) << 2 |
				       (unsigned)((a << 2 >> e) & 3)
			 : 0;
	if (!strcmp(type, "f32") || !strcmp(type, "tf32"))
		return single_of(v);
	if (!strcmp(type, "s4") || !strcmp(type, "u4"))
		return (unsigned)v & 15;
	if (!strcmp(type, "s8") || !strcmp(type, "u8"))
		return (unsigned)v & 255;
	if (!strcmp(type, "b1"))
		return (unsigned)v & 1;
	return (uint32_t)v;
}

static unsigned bits_of(const char *type)
{
	return !strcmp(type, "b1")	? 1
	       : type[0] == 'e'		? 8
	       : type[1] == '4'		? 4
	       : !strcmp(type + 1, "8") ? 8
	       : strstr(type, "f16")	? 16
	       : !strcmp(type, "f64")	? 64
					: 32;
}

/* --- forms --- */
struct form {
	unsigned m, n, k;
	const char *d, *a, *b, *c, *before, *after;
};
static const struct form forms[] = {
	{16, 8, 8, "f16", "f16", "f16", "f16", "", ""},
	{16, 8, 8, "f32", "f16", "f16", "f32", "", ""},
	{16, 8, 16, "f16", "f16", "f16", "f16", "", ""},
	{16, 8, 16, "f32", "f16", "f16", "f32", "", ""},
	{16, 8, 8, "f32", "bf16", "bf16", "f32", "", ""},
	{16, 8, 16, "f32", "bf16", "bf16", "f32", "", ""},
	{16, 8, 4, "f32", "tf32", "tf32", "f32", "", ""},
	{16, 8, 8, "f32", "tf32", "tf32", "f32", "", ""},
	{16, 8, 16, "f32", "e4m3", "e5m2", "f32", "", ""},
	{16, 8, 32, "f32", "e5m2", "e5m2", "f32", "", ""},
	{16, 8, 32, "f32", "e4m3", "e4m3", "f32", "", ""},
	{16, 8, 16, "f16", "e5m2", "e4m3", "f16", "", ""},
	{16, 8, 32, "f16", "e4m3", "e4m3", "f16", "", ""},
	{8, 8, 4, "f64", "f64", "f64", "f64", "", ""},
	{8, 8, 4, "f64", "f64", "f64", "f64", ".rp", ""},
	{16, 8, 4, "f64", "f64", "f64", "f64", ".rn", ""},
	{16, 8, 8, "f64", "f64", "f64", "f64", "", ""},
	{16, 8, 16, "f64", "f64", "f64", "f64", ".rz", ""},
	{8, 8, 16, "s32", "s8", "u8", "s32", "", ""},
	{16, 8, 16, "s32", "u8", "s8", "s32", "", ""},
	{16, 8, 32, "s32", "s8", "s8", "s32", ".satfinite", ""},
	{8, 8, 32, "s32", "s4", "u4", "s32", "", ""},
	{16, 8, 32, "s32", "u4", "u4", "s32", "", ""},
	{16, 8, 64, "s32", "s4", "s4", "s32", ".satfinite", ""},
	{8, 8, 128, "s32", "b1", "b1", "s32", "", ".xor.popc"},
	{16, 8, 128, "s32", "b1", "b1", "s32", "", ".and.popc"},
	{16, 8, 256, "s32", "b1", "b1", "s32", "", ".xor.popc"},
};

/* Element number e of lane l, in the order of its registers: "PTX ISA 9.0", 9.7.14.5.2
 * to 9.7.14.5.13. */
static void where(
	const struct form *f, char matrix, unsigned l, unsigned e, unsigned *row, unsigned *col)
{
	unsigned per = bits_of(f->a) == 64 ? 1 : 32 / bits_of(f->a), group = l >> 2, in = l % 4,
		 tall = f->m == 16;

	if (matrix == 'a') {
		*row = tall && e / per % 2 ? group + 8 : group;
		*col = in * per + e % per + (tall ? e / per / 2 : e / per) * per * 4;
	} else if (matrix == 'b') {
		*row = in * per + e % per + e / per * per * 4;
		*col = group;
	} else {
		*row = e < 2 ? group : group + 8;
		*col = in * 2 + (e & 1);
	}
}

static unsigned elements(const struct form *f, char matrix)
{
	return (matrix == 'a' ? f->m * f->k : matrix == 'b' ? f->k * f->n : f->m * f->n) / 32;
}

static const char *type_of(const struct form *f, char matrix)
{
	return matrix == 'a' ? f->a : matrix == 'b' ? f->b : matrix == 'c' ? f->c : f->d;
}

static unsigned registers(const struct form *f, char matrix)
{
	unsigned bits = bits_of(type_of(f, matrix));

	return bits == 64 ? elements(f, matrix) : elements(f, matrix) * bits / 32;
}

/* --- running --- */
/* Registers of a lane: a at 0, b at 8, c at 16; d goes to 24. All as 64-bit words. */
#define WORDS 32
static void vector(char *text, size_t size, unsigned first, unsigned n, bool wide)
{
	size_t at = strlen(text);

	at += (size_t)snprintf(text + at, size - at, " {");
	for (unsigned k = 0; k < n; k++)
		at += (size_t)snprintf(text + at, size - at, "%s%%%c%u", k ? "," : "",
			wide ? 'd' : 'r', first + k);
	snprintf(text + at, size - at, "}");
}

static void run_mma(
	const char *insn, const unsigned regs[4], const bool wide[4], uint64_t words[32][WORDS])
{
	static const unsigned first[4] = {24, 0, 8, 16};
	char text[8192];
	struct ptx_module *m;
	uint64_t *p = device(32 * WORDS * 8);
	size_t at = (size_t)snprintf(text, sizeof(text),
		PTX_HEAD
		".visible .entry k(.param .u64 p) { .reg .b32 %%r<33>; .reg .b64 %%d<36>;\n"
		"ld.param.u64 %%d32, [p]; mov.u32 %%r32, %%tid.x; mul.wide.u32 %%d33, %%r32, 256; add.u64 %%d32, %%d32, %%d33;\n");

	for (unsigned o = 1; o < 4; o++)
		for (unsigned k = first[o]; k < first[o] + regs[o]; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
				"ld.global.b%u %%%c%u, [%%d32+%u];\n", wide[o] ? 64 : 32,
				wide[o] ? 'd' : 'r', k, k * 8);
	at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", insn);
	for (unsigned o = 0; o < 4; o++) {
		vector(text, sizeof(text), first[o], regs[o], wide[o]);
		at = strlen(text);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", o < 3 ? "," : ";\n");
	}
	for (unsigned k = first[0]; k < first[0] + regs[0]; k++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"st.global.b%u [%%d32+%u], %%%c%u;\n", wide[0] ? 64 : 32, k * 8,
			wide[0] ? 'd' : 'r', k);
	snprintf(text + at, sizeof(text) - at, "ret; }\n");
	memcpy(p, words, 32 * WORDS * 8);
	m = load(text);
	run(m, "k", 1, 32, &p);
	ptx_free(m);
	memcpy(words, p, 32 * WORDS * 8);
}

static int small(unsigned seed, unsigned row, unsigned col, const char *type)
{
	uint32_t x = (seed * 977 + row * 131 + col * 31 + 7) * 2654435761u >> 16;

	if (!strcmp(type, "b1"))
		return x & 1;
	return type[0] == 'u' ? (int)(x % 9) : (int)(x % 9) - 4;
}

static void pack(
	const struct form *f, char matrix, unsigned base, unsigned seed, uint64_t words[32][WORDS])
{
	const char *type = type_of(f, matrix);
	unsigned bits = bits_of(type), per = bits == 64 ? 1 : 32 / bits, row, col;

	for (unsigned l = 0; l < 32; l++)
		for (unsigned e = 0; e < elements(f, matrix); e++) {
			where(f, matrix, l, e, &row, &col);
			words[l][base + e / per] |= encode(type, small(seed, row, col, type))
						    << (e % per * bits);
		}
}

static long expected(const struct form *f, unsigned row, unsigned col)
{
	long sum = small(3, row, col, f->c);

	for (unsigned k = 0; k < f->k; k++) {
		int x = small(1, row, k, f->a), y = small(2, k, col, f->b);
		sum += strstr(f->after, "xor") ? x ^ y : strstr(f->after, "and") ? (x & y) : x * y;
	}
	return sum;
}

static void test_whole_numbers(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		const struct form *f = &forms[k];
		static uint64_t words[32][WORDS];
		unsigned regs[4], bits = bits_of(f->d), per = bits == 64 ? 1 : 32 / bits, row, col;
		bool wide[4];
		char insn[160];

		memset(words, 0, sizeof(words));
		for (unsigned o = 0; o < 4; o++) {
			regs[o] = registers(f, "dabc"[o]);
			wide[o] = bits_of(type_of(f, "dabc"[o])) == 64;
		}
		pack(f, 'a', 0, 1, words);
		pack(f, 'b', 8, 2, words);
		pack(f, 'c', 16, 3, words);
		snprintf(insn, sizeof(insn), "mma.sync.aligned.m%un%uk%u.row.col%s.%s.%s.%s.%s%s",
			f->m, f->n, f->k, f->before, f->d, f->a, f->b, f->c, f->after);
		run_mma(insn, regs, wide, words);
		for (unsigned l = 0; l < 32; l++)
			for (unsigned e = 0; e < elements(f, 'd'); e++) {
				uint64_t got = words[l][24 + e / per] >> (e % per * bits), want;
				where(f, 'd', l, e, &row, &col);
				want = encode(f->d, (int)expected(f, row, col));
				if (bits < 64)
					got &= (1ull << bits) - 1;
				if (got != want)
					fail_msg("%s: d[%u][%u] is %#llx, not %#llx", insn, row,
						col, (unsigned long long)got,
						(unsigned long long)want);
			}
	}
}

/* Volta's: four products of 8 by 8 by 4, all four pairs of layouts, both accumulators. "PTX
 * ISA 9.0", 9.7.14.5.1. */
static void test_volta(void **state)
{
	static const char *const layouts[] = {"row.row", "row.col", "col.row", "col.col"};
	static uint64_t words[32][WORDS];

	(void)state;
	for (unsigned v = 0; v < 12; v++) {
		bool acol = layouts[v % 4][0] == 'c', bcol = layouts[v % 4][4] == 'c',
		     dwide = v / 4 > 0, cwide = v / 4 > 1;
		unsigned regs[4] = {dwide ? 8 : 4, 2, 2, cwide ? 8 : 4};
		char insn[120];
		memset(words, 0, sizeof(words));
		for (unsigned l = 0; l < 32; l++) {
			unsigned q = l % 16 / 4, high = l < 16 ? 0 : 4, t = l % 4;
			for (unsigned i = 0; i < 4; i++) {
				int x = acol ? small(q, high + i, t, "f16")
					     : small(q, high + t, i, "f16");
				int y = bcol ? small(q + 5, i, high + t, "f16")
					     : small(q + 5, t, high + i, "f16");
				words[l][i / 2] |= (uint64_t)half_of(x) << (i % 2 * 16);
				words[l][8 + i / 2] |= (uint64_t)half_of(y) << (i % 2 * 16);
			}
			for (unsigned i = 0; i < 8; i++) {
				unsigned row = high + (cwide ? (l & 1) + (i & 2) : t),
					 col = cwide ? (i & 4) + (l & 2) + (i & 1) : i;
				int z = small(q + 9, row, col, "f16");
				if (cwide)
					words[l][16 + i] = single_of(z);
				else
					words[l][16 + i / 2] |= (uint64_t)half_of(z)
								<< (i % 2 * 16);
			}
		}
		snprintf(insn, sizeof(insn), "mma.sync.aligned.m8n8k4.%s.%s.f16.f16.%s",
			layouts[v % 4], dwide ? "f32" : "f16", cwide ? "f32" : "f16");
		run_mma(insn, regs, (const bool[4]){false}, words);
		for (unsigned l = 0; l < 32; l++)
			for (unsigned i = 0; i < 8; i++) {
				unsigned q = l % 16 / 4, high = l < 16 ? 0 : 4;
				unsigned row = high + (dwide ? (l & 1) + (i & 2) : l % 4),
					 col = dwide ? (i & 4) + (l & 2) + (i & 1) : i;
				int sum = small(q + 9, row, col, "f16");
				double got = dwide ? single_value((uint32_t)words[l][24 + i])
						   : half_value((uint16_t)(words[l][24 + i / 2] >>
									   (i % 2 * 16)));
				for (unsigned k = 0; k < 4; k++)
					sum += small(q, row, k, "f16") *
					       small(q + 5, k, col, "f16");
				if (got != sum)
					fail_msg("%s: product %u, d[%u][%u] is %g, not %d", insn, q,
						row, col, got, sum);
			}
	}
}

/* --- how a tensor core adds --- */
struct sum {
	const char *what;
	double a[3], b[3], c; /* products at k = 0, 1 and 8 */
	uint32_t want;
	bool f16; /* the accumulator */
};
/* An H200 keeps 25 binary places below the largest exponent, for 16 products and the accumulator at
 * once. */
static const struct sum sums[] = {
	{"the last place kept", {1, 0x1p-13, 0}, {1, 0x1p-12, 0}, -1, 0x33000000 /* 2^-25 */,
		false},
	{"below it", {1, 0x1p-14, 0}, {1, 0x1p-12, 0}, -1, 0, false},
	{"two below it are not added first", {1, 0x1p-14, 0x1p-14}, {1, 0x1p-12, 0x1p-12}, -1, 0,
		false},
	{"the sum is cut off", {0x1p-12, 0x1p-13, 0}, {0x1p-12, 0x1p-12, 0}, 1, 0x3f800000, false},
	{"towards zero also below it", {-0x1p-12, -0x1p-13, 0}, {0x1p-12, 0x1p-12, 0}, -1,
		0xbf800000, false},
	{"one block of 16", {0x1p-12, 0, 0x1p-12}, {0x1p-12, 0, 0x1p-12}, 1, 0x3f800001, false},
	{"an accumulator far below", {1, -1, 0}, {1, 1, 0}, 0x1p-26, 0, false},
	{"a large accumulator", {1, 1, 0}, {1, 1, 0}, 0x1p25, 0x4c000000,
		false}, /* 2^25 + 2 is cut to 2^25 */
	{"subnormal halves", {0x1p-24, 0, 0}, {0x1p-24, 0, 0}, 0, 0x27800000, false},
	{"infinity", {INFINITY, 0, 0}, {1, 0, 0}, 1, 0x7f800000, false},
	{"minus infinity", {INFINITY, 0, 0}, {-1, 0, 0}, 1, 0xff800000, false},
	{"infinity times zero", {INFINITY, 0, 0}, {0, 0, 0}, 1, 0x7fffffff, false},
	{"infinities that cancel", {INFINITY, INFINITY, 0}, {1, -1, 0}, 1, 0x7fffffff, false},
	{"a NaN", {NAN, 0, 0}, {1, 0, 0}, 1, 0x7fffffff, false},
	{"a half ties to even", {0x1p-11, 0, 0}, {1, 0, 0}, 1, 0x3c00, true},
	{"a half goes up", {0x1p-11, 0x1p-10, 0}, {1, 0x1p-10, 0}, 1, 0x3c01, true},
	{"a half overflows", {32768, 0, 0}, {1, 0, 0}, 32768, 0x7c00, true},
	{"a NaN half", {NAN, 0, 0}, {1, 0, 0}, 1, 0x7fff, true},
};

static uint16_t any_half(double v)
{
	return isnan(v) ? 0x7e00 : isinf(v) ? (v < 0 ? 0xfc00 : 0x7c00) : half_of(v);
}

static void test_sums(void **state)
{
	static uint64_t words[32][WORDS];

	(void)state;
	for (unsigned k = 0; k < sizeof(sums) / sizeof(sums[0]); k++) {
		const struct sum *s = &sums[k];
		unsigned regs[4] = {s->f16 ? 2 : 4, 4, 2, s->f16 ? 2 : 4};
		memset(words, 0, sizeof(words));
		/* row 0 of a and column 0 of b: lane 0 has k = 0, 1 in its first register and 8, 9
		 * in its third (second) */
		words[0][0] = any_half(s->a[0]) | (uint64_t)any_half(s->a[1]) << 16;
		words[0][2] = any_half(s->a[2]);
		words[0][8] = any_half(s->b[0]) | (uint64_t)any_half(s->b[1]) << 16;
		words[0][9] = any_half(s->b[2]);
		words[0][16] = s->f16 ? any_half(s->c) : single_of(s->c);
		run_mma(s->f16 ? "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
			       : "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
			regs, (const bool[4]){false}, words);
		if (s->f16)
			words[0][24] &= 0xffff;
		if ((uint32_t)words[0][24] != s->want)
			fail_msg("%s: %#x, not %#x", s->what, (uint32_t)words[0][24], s->want);
	}
}

/* bf16 reaches beyond f32, tf32 drops 13 bits, integers wrap or stay at the ends. */
static void test_ranges(void **state)
{
	static uint64_t words[32][WORDS];

	(void)state;
	memset(words, 0, sizeof(words));
	words[0][0] = 0x7f00; /* 2^127 */
	words[0][8] = 0x4000; /* 2 */
	run_mma("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
		(const unsigned[4]){4, 4, 2, 4}, (const bool[4]){false}, words);
	assert_int_equal((uint32_t)words[0][24], 0x7f800000);
	words[0][0] = 0x7f007f00;
	words[0][8] = 0xc0004000; /* 2^128 - 2^128 */
	run_mma("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
		(const unsigned[4]){4, 4, 2, 4}, (const bool[4]){false}, words);
	assert_int_equal((uint32_t)words[0][24], 0);
	memset(words, 0, sizeof(words));
	words[0][0] = 0x3f801fff; /* 1 and bits that tf32 has not */
	words[0][8] = 0x3fffffff; /* 1.9990234375 and more */
	run_mma("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
		(const unsigned[4]){4, 4, 2, 4}, (const bool[4]){false}, words);
	assert_int_equal((uint32_t)words[0][24], 0x3fffe000);
	memset(words, 0, sizeof(words));
	words[0][0] = 2;
	words[0][8] = 3;
	words[0][16] = 0x7ffffffe;
	run_mma("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", (const unsigned[4]){4, 2, 1, 4},
		(const bool[4]){false}, words);
	assert_int_equal((uint32_t)words[0][24], 0x80000004);
	run_mma("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32",
		(const unsigned[4]){4, 2, 1, 4}, (const bool[4]){false}, words);
	assert_int_equal((uint32_t)words[0][24], 0x7fffffff);
}

/* What an H200 does not have in hardware. 8-bit products: k = 0, 1, 4, 5, ... at once, then k = 2,
 * 3, 6, 7, ..., then c by an addition that rounds. m8n8k4: products one after the other in f32. */
static void test_emulated(void **state)
{
	static uint64_t words[32][WORDS];
	static const unsigned regs[4] = {4, 4, 2, 4}, volta[4] = {8, 2, 2, 8};
	static const bool narrow[4] = {false};

	(void)state;
	memset(words, 0, sizeof(words));
	words[0][0] = 0x38; /* k = 0: 1 * 1 */
	words[0][8] = 0x38;
	words[0][16] = 0x33c00000; /* c = 1.5 * 2^-24: 1 + c is nearer to 1 + 2^-23; a tensor core
				      would cut it off */
	run_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", regs, narrow, words);
	assert_int_equal((uint32_t)words[0][24], 0x3f800001);
	memset(words, 0, sizeof(words));
	words[0][0] = 0x01780078; /* 256 at k = 0 and 2 */
	words[0][8] = 0x01f80078; /* 256 and -256; at k = 3 2^-9 * 2^-9 */
	run_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", regs, narrow, words);
	assert_int_equal((uint32_t)words[0][24],
		0);		  /* 2^-18 is 34 places below 2^16, in the block of k = 2 and 3 */
	words[0][0] = 0x00780178; /* the same at k = 1: gone in the first block, too */
	words[0][8] = 0x00f80178;
	run_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", regs, narrow, words);
	assert_int_equal((uint32_t)words[0][24], 0);
	words[0][0] = 0x00000100; /* alone it stays */
	words[0][8] = 0x00000100;
	run_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", regs, narrow, words);
	assert_int_equal((uint32_t)words[0][24], 0x36800000);
	/* 1 + 2^-24 + 2^-24 = 1 in steps, then c = 2^-24 * 1.5 rounds up */
	memset(words, 0, sizeof(words));
	words[0][0] = 0x0c003c00;
	words[0][1] = 0x0c00;
	words[0][8] = 0x0c003c00;
	words[0][9] = 0x0c00;
	words[0][16] = 0x33c00000;
	run_mma("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", volta, narrow, words);
	assert_int_equal((uint32_t)words[0][24], 0x3f800001);
	words[0][16] = 0;
	run_mma("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", volta, narrow, words);
	assert_int_equal((uint32_t)words[0][24], 0x3f800000);
}

/* A chain of fma in the order of k: 2^60, then 1 which is lost, then -2^60. */
static void test_f64_order(void **state)
{
	static uint64_t words[32][WORDS];

	(void)state;
	memset(words, 0, sizeof(words));
	for (unsigned t = 0; t < 3; t++) {
		words[t][0] = double_of(t == 0 ? 0x1p60 : t == 1 ? 1 : -0x1p60);
		words[t][8] = double_of(1);
	}
	run_mma("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (const unsigned[4]){2, 1, 1, 2},
		(const bool[4]){true, true, true, true}, words);
	assert_true(words[0][24] == 0);
	run_mma("mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64",
		(const unsigned[4]){2, 1, 1, 2}, (const bool[4]){true, true, true, true}, words);
	assert_true(words[0][24] == double_of(256)); /* 2^60 + 1 goes up to 2^60 + 256 */
}

/* --- wmma --- */
struct wform {
	unsigned m, n, k;
	const char *ab, *cd;
	unsigned a, b, c; /* registers */
};
static const struct wform wforms[] = {
	{16, 16, 16, "f16", "f16", 8, 8, 4},
	{16, 16, 16, "f16", "f32", 8, 8, 8},
	{8, 32, 16, "f16", "f32", 8, 8, 8},
	{32, 8, 16, "f16", "f16", 8, 8, 4},
	{16, 16, 16, "bf16", "f32", 4, 4, 8},
	{8, 32, 16, "bf16", "f32", 2, 8, 8},
	{32, 8, 16, "bf16", "f32", 8, 2, 8},
	{16, 16, 8, "tf32", "f32", 4, 4, 8},
	{8, 8, 4, "f64", "f64", 1, 1, 2},
	{16, 16, 16, "s8", "s32", 2, 2, 8},
	{8, 32, 16, "u8", "s32", 1, 4, 8},
	{32, 8, 16, "s8", "s32", 4, 1, 8},
	{8, 8, 32, "s4", "s32", 1, 1, 2},
	{8, 8, 32, "u4", "s32", 1, 1, 2},
	{8, 8, 128, "b1", "s32", 1, 1, 2},
};

static void put(uint8_t *p, const char *type, uint64_t at, uint64_t v)
{
	unsigned bits = bits_of(type);

	if (bits < 8)
		p[at * bits / 8] = (uint8_t)(p[at * bits / 8] | v << (at * bits % 8));
	else
		memcpy(p + at * bits / 8, &v, bits / 8);
}

static uint64_t get(const uint8_t *p, const char *type, uint64_t at)
{
	uint64_t v = 0;

	memcpy(&v, p + at * bits_of(type) / 8, bits_of(type) / 8);
	return v;
}

/* a and b lie at 0 and 4096 with rows (columns) 4 elements apart more than needed, c at 8192, d
 * goes to 12288. */
static void run_wmma(const struct wform *f, bool acol, bool bcol, bool ccol)
{
	bool sub = bits_of(f->ab) < 8, wide = !strcmp(f->ab, "f64");
	unsigned pad = sub ? 128 : 16, lda = (acol ? f->m : f->k) + pad,
		 ldb = (bcol ? f->k : f->n) + pad, ldc = ccol ? f->m : f->n;
	const char *al = acol ? "col" : "row", *bl = bcol ? "col" : "row",
		   *cl = ccol ? "col" : "row";
	char text[4096] = PTX_HEAD
		".visible .entry k(.param .u64 p) { .reg .b32 %r<33>; .reg .b64 %d<36>; ld.param.u64 %d32, [p];\n",
	     line[600];
	char shape[32], types[64];
	struct ptx_module *m;
	uint8_t *p = device(16384);

	for (unsigned r = 0; r < f->m; r++)
		for (unsigned k = 0; k < f->k; k++)
			put(p, f->ab, acol ? k * lda + r : r * lda + k,
				encode(f->ab, small(1, r, k, f->ab)));
	for (unsigned k = 0; k < f->k; k++)
		for (unsigned c = 0; c < f->n; c++)
			put(p + 4096, f->ab, bcol ? c * ldb + k : k * ldb + c,
				encode(f->ab, small(2, k, c, f->ab)));
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned c = 0; c < f->n; c++)
			put(p + 8192, f->cd, ccol ? c * ldc + r : r * ldc + c,
				encode(f->cd, small(3, r, c, f->cd)));
	snprintf(shape, sizeof(shape), "m%un%uk%u", f->m, f->n, f->k);
	snprintf(line, sizeof(line), "wmma.load.a.sync.aligned.%s.%s.global.%s", al, shape, f->ab);
	strcat(text, line);
	vector(text, sizeof(text), 0, f->a, wide);
	snprintf(line, sizeof(line), ", [%%d32], %u;\nwmma.load.b.sync.aligned.%s.%s.%s", lda, bl,
		shape, f->ab);
	strcat(text, line);
	vector(text, sizeof(text), 8, f->b, wide);
	snprintf(line, sizeof(line), ", [%%d32+4096], %u;\nwmma.load.c.sync.aligned.%s.%s.%s", ldb,
		cl, shape, f->cd);
	strcat(text, line);
	vector(text, sizeof(text), 16, f->c, wide);
	if (!strcmp(f->ab, "f16"))
		snprintf(types, sizeof(types), "%s.%s", f->cd, f->cd);
	else
		snprintf(types, sizeof(types), "%s.%s.%s.%s", f->cd, f->ab, f->ab, f->cd);
	snprintf(line, sizeof(line), ", [%%d32+8192];\nwmma.mma%s.sync.aligned.%s.%s.%s.%s",
		strcmp(f->ab, "b1") ? "" : ".xor.popc", al, bl, shape, types);
	strcat(text, line);
	vector(text, sizeof(text), 24, f->c, wide);
	for (unsigned o = 0; o < 3; o++) {
		strcat(text, ",");
		vector(text, sizeof(text), 8 * o, o == 0 ? f->a : o == 1 ? f->b : f->c, wide);
	}
	snprintf(line, sizeof(line), ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%d32+12288],",
		cl, shape, f->cd);
	strcat(text, line);
	vector(text, sizeof(text), 24, f->c, wide);
	snprintf(line, sizeof(line), ", %u; ret; }\n", ldc);
	strcat(text, line);
	m = load(text);
	run(m, "k", 1, 32, &p);
	ptx_free(m);
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned c = 0; c < f->n; c++) {
			int sum = small(3, r, c, f->cd);
			uint64_t got = get(p + 12288, f->cd, ccol ? c * ldc + r : r * ldc + c);
			for (unsigned k = 0; k < f->k; k++) {
				int x = small(1, r, k, f->ab), y = small(2, k, c, f->ab);
				sum += !strcmp(f->ab, "b1") ? x ^ y : x * y;
			}
			if (got != encode(f->cd, sum))
				fail_msg("%s %s %s %s.%s: d[%u][%u] is %#llx, not %d", shape, types,
					al, bl, cl, r, c, (unsigned long long)got, sum);
		}
}

static void test_wmma(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(wforms) / sizeof(wforms[0]); k++)
		for (unsigned v = 0; v < 8; v++) {
			bool sub = bits_of(wforms[k].ab) < 8;
			if (!sub || (v & 3) == 2) /* those know a by rows and b by columns only */
				run_wmma(&wforms[k], v & 1, v & 2, v & 4);
		}
}

/* --- ldmatrix, stmatrix, movmatrix --- */
/* Element e of row r of matrix k is 256 * k + 16 * r + e. All through: load four, store them
 * transposed, turn one. */
static void test_matrices(void **state)
{
	static const char text[] = PTX_HEAD
		".visible .entry k(.param .u64 p) { .reg .b32 %r<20>; .reg .b64 %d<8>; .shared .align 16 .b8 s[1024];\n"
		"ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; cvt.u64.u32 %d1, %r1; add.u64 %d1, %d0, %d1;\n"
		"mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"
		"ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%d1]; st.shared.v4.u32 [%r3], {%r4,%r5,%r6,%r7}; bar.sync 0;\n"
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8,%r9,%r10,%r11}, [%r3];\n"
		"ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r12}, [%r3];\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r13, %r9;\n"
		"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r3+512], {%r10,%r11}; bar.sync 0;\n"
		"add.u64 %d2, %d0, 1024; mad.wide.u32 %d2, %r0, 32, %d2; st.global.v4.u32 [%d2], {%r8,%r9,%r10,%r11}; st.global.v2.u32 [%d2+16], {%r12,%r13};\n"
		"and.b32 %r14, %r1, 255; add.u32 %r14, %r14, %r2; ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r14+512];\n"
		"st.global.v4.u32 [%d1], {%r4,%r5,%r6,%r7}; ret; }\n";
	struct ptx_module *m = load(text);
	uint8_t *p = device(4096);
	uint16_t *in = (uint16_t *)p;
	uint32_t got[8];

	(void)state;
	for (unsigned k = 0; k < 4; k++)
		for (unsigned r = 0; r < 8; r++)
			for (unsigned e = 0; e < 8; e++)
				in[k * 64 + r * 8 + e] = (uint16_t)(256 * k + 16 * r + e);
	run(m, "k", 1, 32, &p);
	for (unsigned l = 0; l < 32; l++) {
		unsigned row = l / 4, col = l % 4 * 2;
		memcpy(got, p + 1024 + 32 * l, sizeof(got));
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(got[k],
				(256 * k + 16 * row + col) | (256 * k + 16 * row + col + 1) << 16);
		assert_int_equal(got[4], (16 * col + row) | (16 * (col + 1) + row) << 16);
		assert_int_equal(
			got[5], (256 + 16 * col + row) | (256 + 16 * (col + 1) + row) << 16);
	}
	for (unsigned r = 0; r < 16; r++) /* rows of the two stored matrices */
		for (unsigned e = 0; e < 8; e++)
			assert_int_equal(in[r * 8 + e], 256 * (2 + r / 8) + 16 * e + r % 8);
	ptx_free(m);
}

/* Who watches sees the bytes of rows that are 8 elements longer than a matrix needs, and not those
 * between. */
static void test_watched(void **state)
{
	static const char text[] = PTX_HEAD
		".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d<2>; ld.param.u64 %d0, [p];\n"
		"wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3}, [%d0], 24;\n"
		"wmma.store.d.sync.aligned.col.m16n16k16.f16 [%d0+4096], {%r0,%r1,%r2,%r3}, 32; ret; }\n";
	struct ptx_module *m = load(text);
	struct ptx_accesses *a = ptx_accesses_new(0);
	struct ptx_observer o = ptx_accesses_observer(a);
	uint8_t *p = device(8192);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.params = &p,
		.observer = &o};
	struct access_span *spans;
	struct ptx_fault f;
	bool inexact;
	size_t n;

	(void)state;
	assert_int_equal(ptx_run(&l, &f), 0);
	for (unsigned kind = PTX_READ; kind <= PTX_WRITE; kind++) {
		assert_true(ptx_accesses_spans(a, kind, 100, &spans, &n, &inexact));
		assert_int_equal(n, 16);
		for (unsigned k = 0; k < n; k++) {
			assert_int_equal(spans[k].addr - (uint64_t)(uintptr_t)p,
				kind == PTX_READ ? 48 * k : 4096 + 64 * k);
			assert_int_equal(spans[k].size, 32);
		}
		free(spans);
	}
	ptx_accesses_free(a);
	ptx_free(m);
}

/* --- refusals --- */
static void refused(const char *insn, unsigned block, const char *why)
{
	char text[1024];
	struct ptx_module *m;
	struct ptx_fault f;
	void *p = device(4096);

	snprintf(text, sizeof(text),
		PTX_HEAD
		".visible .entry k(.param .u64 p) { .reg .b32 %%r<33>; .reg .b64 %%d<36>; .shared .align 16 .b8 s[512];\n%s ret; }\n",
		insn);
	m = load(text);
	if (!launch_of(m, "k", 1, block, &p, &f))
		fail_msg("%s runs", insn);
	if (!strstr(f.text, why))
		fail_msg("%s: %s", insn, f.text);
	ptx_free(m);
}

static void test_refusals(void **state)
{
	(void)state;
	refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {%r0,%r1,%r2,%r3},{%r4,%r5},{%r6},{%r7,%r8};",
		32, "these types");
	refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2},{%r4,%r5,%r9,%r10},{%r6,%r11},{%r7,%r8,%r0,%r1};",
		32, "another number of registers");
	refused("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {%r0,%r1,%r2,%r3},{%r4,%r5,%r9,%r10},{%r6,%r11},{%r7,%r8,%r0,%r1};",
		32, ".satfinite");
	refused("mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3},{%r4},{%r6},{%r7,%r8,%r0,%r1};",
		32, "this shape");
	refused("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0,%r1},{%r2,%r3},{%r4},{%r5,%r6};",
		31, "not all 32 lanes");
	refused("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1},{%r2,%r3},{%r4,%r7},{%r5,%r6},%r8,0;",
		32, "mma.sp");
	refused("wgmma.fence.sync.aligned;", 32, "wgmma.fence");
	refused("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%d0];",
		32, "this shape with this type");
	refused("mov.u32 %r0, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0+8];", 32,
		"misaligned");
	refused("mov.u32 %r0, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0+512];", 32,
		"illegal address");
	refused("ld.param.u64 %d0, [p]; ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%d0];", 32,
		"illegal address");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_volta),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_emulated),
		cmocka_unit_test(test_f64_order),
		cmocka_unit_test(test_wmma),
		cmocka_unit_test(test_matrices),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
