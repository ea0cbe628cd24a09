/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling against a plain model ("CUDA C++ Programming Guide", Texture Fetching): every format,
 * address mode, shape and number of channels, coordinates on a grid of parts of a texel so that all
 * of the model is exact, in whole numbers.
 */
#include "softgpu/tex/tex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRID 16 /* parts of a texel; a volume is filtered at quarters */

static uint64_t state = 11;

static uint32_t next(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)((x >> 32) % n);
}

static float float_of(uint32_t u)
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

/* --- the image --- */
static uint8_t memory[1 << 16];
static const float halves[] = {0, 1, -2, 0.5f, 1024, -0.25f, 3, 65504};
static const uint16_t half_bits[] = {0, 0x3c00, 0xc000, 0x3800, 0x6400, 0xb400, 0x4200, 0x7bff};

static bool is_float(unsigned format)
{
	return format == TEX_F16 || format == TEX_F32;
}

static void fill(const struct tex_image *m, size_t n)
{
	for (size_t k = 0; k < n; k++)
		memory[k] = (uint8_t)(next(4) ? next(256) : next(2) ? 0x80 : 0xff);
	for (size_t k = 0; m->format == TEX_F16 && k < n / 2; k++)
		memcpy(memory + 2 * k, &half_bits[next(8)], 2);
	for (size_t k = 0; m->format == TEX_F32 && k < n / 4; k++) {
		const float f = (float)(int)next(2000) - 1000;
		memcpy(memory + 4 * k, &f, 4);
	}
}

static void any_object(struct tex_object *o)
{
	static const uint8_t channels[] = {1, 2, 4};
	struct tex_image *m = &o->image;

	*o = (struct tex_object){.normalized = next(2)};
	*m = (struct tex_image){.base = (uint64_t)(uintptr_t)memory,
		.format = (uint8_t)next(TEX_FORMATS),
		.channels = channels[next(3)],
		.width = 1u << next(4),
		.height = 1,
		.depth = 1,
		.layers = 1,
		.dims = (uint8_t)(1 + next(3))};
	if (m->dims > 1)
		m->height = 1u << next(3);
	if (m->dims > 2)
		m->depth = 1u << next(3);
	m->layered = m->dims < 3 && next(3) == 0;
	m->layers = m->layered ? 1 + next(4) : 1;
	m->pitch = (size_t)m->width * tex_texel_bytes(m) + 16 * next(2);
	m->slice = m->pitch * m->height + 32 * next(2);
	fill(m, m->slice * (m->dims == 3 ? m->depth : m->layers));
	o->as_float = !is_float(m->format) && tex_format_bytes(m->format) < 4 && next(2);
	o->linear = (m->format == TEX_F32 ||
			    (o->as_float && (m->format == TEX_U16 || m->format == TEX_U8))) &&
		    next(3);
	for (unsigned k = 0; k < 3; k++)
		o->address[k] = (uint8_t)next(4);
	for (unsigned k = 0; k < 4; k++)
		o->border[k] = (float)((int)next(9) - 4) / 4;
}

/* --- the model --- */
/* A texel's channel: integers as they are, floats by their bits. */
static int64_t raw(const struct tex_image *m, const uint8_t *p, unsigned c)
{
	int8_t s8;
	int16_t s16;
	int32_t s32;
	uint16_t u16;
	uint32_t u32;

	p += c * tex_format_bytes(m->format);
	memcpy(&s8, p, 1);
	memcpy(&s16, p, 2);
	memcpy(&u16, p, 2);
	memcpy(&s32, p, 4);
	memcpy(&u32, p, 4);
	switch (m->format) {
	case TEX_U8:
		return *p;
	case TEX_S8:
		return s8;
	case TEX_U16:
		return u16;
	case TEX_S16:
		return s16;
	case TEX_S32:
		return s32;
	case TEX_F16:
		for (unsigned k = 0; k < 8; k++)
			if (half_bits[k] == u16)
				return bits_of(halves[k]);
		return 0;
	default:
		return u32;
	}
}

/* The largest number of a format that is read as [0, 1] or [-1, 1]. */
static int64_t most_of(unsigned format)
{
	return format == TEX_U8 ? 255 : format == TEX_S8 ? 127 : format == TEX_U16 ? 65535 : 32767;
}

static int64_t border(const struct tex_object *o, unsigned c)
{
	const uint32_t bits = bits_of(o->border[c]);
	const int64_t most = most_of(o->image.format);
	const bool sign = o->image.format == TEX_S8 || o->image.format == TEX_S16;
	uint8_t bytes[4];
	double v;

	if (is_float(o->image.format))
		return bits;
	if (!o->as_float) {
		memcpy(bytes, &bits, 4);
		return raw(&o->image, bytes, 0);
	}
	v = (double)o->border[c] * (double)most; /* the nearest, of two the smaller magnitude */
	v = v < 0 ? -ceil(-v - 0.5) : ceil(v - 0.5);
	return v > (double)most			? most
	       : v < (sign ? (double)-most : 0) ? (sign ? -most : 0)
						: (int64_t)v;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static unsigned mode_of(const struct tex_object *o, unsigned dim)
{
	return !o->normalized && (o->address[dim] == TEX_WRAP || o->address[dim] == TEX_MIRROR)
		       ? TEX_CLAMP
		       : o->address[dim];
}

/* Which texel an index is by the address mode; -1: the border. */
static int64_t place(int64_t i, int64_t n, unsigned mode)
{
	const int64_t wrapped = i - floor_div(i, n) * n, turn = floor_div(i, n) & 1;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case TEX_WRAP:
		return wrapped;
	case TEX_MIRROR:
		return turn ? n - 1 - wrapped : wrapped;
	case TEX_CLAMP:
		return i < 0 ? 0 : n - 1;
	default:
		return -1;
	}
}

static int64_t texel(const struct tex_object *o, const int64_t at[3], uint32_t layer, unsigned c)
{
	const struct tex_image *m = &o->image;

	if (at[0] < 0 || at[1] < 0 || at[2] < 0)
		return border(o, c);
	return raw(m,
		memory + (size_t)(m->dims == 3 ? at[2] : layer) * m->slice +
			(size_t)at[1] * m->pitch + (size_t)at[0] * tex_texel_bytes(m),
		c);
}

static uint32_t finished(const struct tex_object *o, int64_t v)
{
	const double most = (double)most_of(o->image.format);

	if (is_float(o->image.format) || !o->as_float)
		return (uint32_t)v;
	return bits_of((float)((double)v < -most ? -1 : (double)v / most));
}

static const int64_t *sizes(const struct tex_object *o)
{
	static int64_t n[3];

	n[0] = o->image.width;
	n[1] = o->image.height;
	n[2] = o->image.depth;
	return n;
}

static uint32_t point(
	const struct tex_object *o, const int64_t parts[3], uint32_t layer, unsigned c)
{
	const unsigned dims = o->image.dims;
	int64_t at[3] = {0};

	for (unsigned k = 0; k < dims; k++)
		at[k] = place(floor_div(parts[k], GRID), sizes(o)[k], mode_of(o, k));
	return finished(o, texel(o, at, layer, c));
}

/* Of 256 parts, exact at this grid: a line is a plane sampled at y = 0. */
static uint32_t linear(
	const struct tex_object *o, const int64_t parts[3], uint32_t layer, unsigned c)
{
	const bool real = o->image.format == TEX_F32;
	const int64_t *n = sizes(o), unit = o->image.format == TEX_U8 ? 257 : 1;
	double sum = 0;

	for (unsigned k = 0; k < 8; k++) {
		double weight = 1, v;
		int64_t at[3] = {0};

		for (unsigned d = 0; d < 3; d++) {
			const int64_t from = (d < o->image.dims ? parts[d] : 0) - GRID / 2,
				      i = floor_div(from, GRID), part = from - i * GRID;

			if (d == 2 && o->image.dims < 3) {
				weight *= !(k >> 2);
				continue;
			}
			at[d] = place(i + (k >> d & 1), n[d], mode_of(o, d));
			weight *= (double)(k >> d & 1 ? part : GRID - part) / GRID;
		}
		v = real ? (double)float_of((uint32_t)texel(o, at, layer, c))
			 : (double)(texel(o, at, layer, c) * unit);
		sum += weight * v;
	}
	return bits_of(real ? (float)sum : (float)(floor(sum + 0.5) / 65535));
}

/* --- the comparison --- */
static void describe(
	const struct tex_object *o, const int64_t parts[3], unsigned c, uint32_t got, uint32_t want)
{
	fail_msg(
		"format %u, %u channels, %u dimensions %ux%ux%u, %s%s%s, modes %u %u %u at %lld %lld %lld/16: channel %u is %#x, not %#x",
		o->image.format, o->image.channels, o->image.dims, o->image.width, o->image.height,
		o->image.depth, o->linear ? "linear" : "point", o->as_float ? ", as float" : "",
		o->normalized ? ", normalized" : "", o->address[0], o->address[1], o->address[2],
		(long long)parts[0], (long long)parts[1], (long long)parts[2], c, got, want);
}

static void one_fetch(const struct tex_object *o)
{
	struct tex_at at = {
		.layer = next(3) ? next(5) : UINT32_MAX - next(2), .integer = next(4) == 0};
	const uint32_t layer = !o->image.layered	    ? 0
			       : at.layer < o->image.layers ? at.layer
							    : o->image.layers - 1;
	const bool coarse = o->linear && o->image.dims == 3;
	int64_t parts[3] = {0};
	uint32_t got[4] = {1, 1, 1, 1};

	for (unsigned k = 0; k < o->image.dims; k++) {
		const int64_t n = sizes(o)[k];

		parts[k] = (int64_t)next((uint32_t)(5 * n * GRID)) - 2 * n * GRID;
		if (coarse)
			parts[k] &= ~3;
		at.i[k] = (int32_t)floor_div(parts[k], GRID);
		at.c[k] = (float)parts[k] / GRID / (float)(o->normalized ? n : 1);
	}
	tex_sample(o, &at, got);
	for (unsigned c = 0; c < 4; c++) {
		const uint32_t want = c >= o->image.channels	 ? 0
				      : o->linear && !at.integer ? linear(o, parts, layer, c)
								 : point(o, parts, layer, c);

		if (got[c] != want)
			describe(o, parts, c, got[c], want);
	}
}

static void test_samples(void **unused)
{
	for (unsigned k = 0; k < 6000; k++) {
		struct tex_object o;

		any_object(&o);
		for (unsigned n = 0; n < 30; n++)
			one_fetch(&o);
	}
}

/* The four texels that a bilinear fetch mixes, in tld4's order. */
static void test_gathers(void **unused)
{
	static const unsigned dx[] = {0, 1, 1, 0}, dy[] = {1, 1, 0, 0};

	for (unsigned k = 0; k < 3000; k++) {
		struct tex_object o;
		struct tex_at at = {.layer = next(5)};
		const unsigned c = next(4);
		int64_t from[2], parts[3] = {0};
		uint32_t got[4], layer;

		any_object(&o);
		if (o.image.dims != 2 || o.image.format == TEX_S8) /* that one is filtered */
			continue;
		layer = !o.image.layered	    ? 0
			: at.layer < o.image.layers ? at.layer
						    : o.image.layers - 1;
		for (unsigned d = 0; d < 2; d++) {
			const int64_t n = sizes(&o)[d];

			parts[d] = (int64_t)next((uint32_t)(5 * n * GRID)) - 2 * n * GRID;
			at.c[d] = (float)parts[d] / GRID / (float)(o.normalized ? n : 1);
			from[d] = floor_div(parts[d] - GRID / 2, GRID);
		}
		tex_gather(&o, &at, c, got);
		for (unsigned t = 0; t < 4; t++) {
			const int64_t x = place(from[0] + dx[t], sizes(&o)[0], mode_of(&o, 0)),
				      y = place(from[1] + dy[t], sizes(&o)[1], mode_of(&o, 1)),
				      p[3] = {x, y, 0};
			const uint32_t want =
				c < o.image.channels ? finished(&o, texel(&o, p, layer, c)) : 0;

			if (got[t] != want)
				describe(&o, parts, t, got[t], want);
		}
	}
}

/* A direction in a cube, from the face and the place on it (the guide's table, Cubemap Textures).
 */
static void test_cubes(void **unused)
{
	static const int major[6][3] = {
		{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
	static const int s_axis[6][3] = {
		{0, 0, -1}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
	static const int t_axis[6][3] = {
		{0, -1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};
	struct tex_object o = {.normalized = true,
		.address = {TEX_CLAMP, TEX_CLAMP, TEX_CLAMP},
		.image = {.base = (uint64_t)(uintptr_t)memory,
			.format = TEX_U16,
			.channels = 1,
			.width = 4,
			.height = 4,
			.depth = 1,
			.layers = 12,
			.dims = 2,
			.cube = true,
			.layered = true,
			.pitch = 8,
			.slice = 32}};

	for (unsigned k = 0; k < 12 * 16; k++) {
		const uint16_t v = (uint16_t)(k + 1);
		memcpy(memory + 2 * k, &v, 2);
	}
	for (unsigned k = 0; k < 12 * 16; k++)
		for (unsigned scale = 1; scale < 4; scale++) {
			const unsigned face = k / 16 % 6, x = k % 4, y = k / 4 % 4;
			struct tex_at at = {.cube = true, .layer = k / 96};
			uint32_t got[4];

			for (unsigned d = 0; d < 3; d++)
				at.c[d] = (float)(major[face][d] * 4 +
						  s_axis[face][d] * (2 * (int)x - 3) +
						  t_axis[face][d] * (2 * (int)y - 3)) *
					  (float)scale / 3;
			tex_sample(&o, &at, got);
			assert_int_equal(got[0], k + 1);
			at.layer = k / 96 ? 7 : 0; /* past the last cube is the last */
			tex_sample(&o, &at, got);
			assert_int_equal(got[0], k + 1);
		}
}

/* Linear memory: texels by number, nothing outside. */
static void test_linear_memory(void **unused)
{
	struct tex_object o = {.fetch = true,
		.image = {.base = (uint64_t)(uintptr_t)memory,
			.format = TEX_S16,
			.channels = 2,
			.width = 5,
			.height = 1,
			.depth = 1,
			.layers = 1,
			.dims = 1}};

	for (int k = 0; k < 10; k++) {
		const int16_t v = (int16_t)(-100 * k - 1);
		memcpy(memory + 2 * k, &v, 2);
	}
	for (int x = -2; x < 8; x++) {
		struct tex_at at = {.i = {x}, .integer = true};
		const bool in = x >= 0 && x < 5;
		uint32_t got[4];

		for (unsigned how = 0; how < 2; how++, at.integer = false) {
			at.c[0] = (float)x;
			tex_sample(&o, &at, got);
			assert_int_equal((int)got[0], in ? -200 * x - 1 : 0);
			assert_int_equal((int)got[1], in ? -200 * x - 101 : 0);
			assert_true(!got[2] && !got[3]);
		}
	}
}

/* -128 and -127 are both -1, and so is all between them; what lies beyond is no less than -1. */
static void test_signed_ends(void **unused)
{
	static const int8_t texels[][2] = {{-128, -127}, {-128, -128}, {-127, -127}, {-128, 127}};
	struct tex_object o = {.as_float = true,
		.linear = true,
		.address = {TEX_CLAMP, TEX_CLAMP, TEX_CLAMP},
		.image = {.base = (uint64_t)(uintptr_t)memory,
			.format = TEX_S8,
			.channels = 1,
			.width = 2,
			.height = 1,
			.depth = 1,
			.layers = 1,
			.dims = 1}};

	for (unsigned k = 0; k < sizeof(texels) / sizeof(texels[0]); k++)
		for (int part = 0; part <= 256; part++) {
			struct tex_at at = {.c = {0.5f + (float)part / 256}};
			const double exact = (texels[k][0] * (256.0 - part) + texels[k][1] * part) /
					     256 / 127,
				     want = exact < -1 ? -1 : exact;
			uint32_t got[4];

			memcpy(memory, texels[k], 2);
			tex_sample(&o, &at, got);
			if (k < 3)
				assert_true(float_of(got[0]) == -1.0f);
			if (!(float_of(got[0]) >= -1.0f) || fabs(float_of(got[0]) - want) > 0.009)
				fail_msg("%d and %d, part %d: %g, not %g", texels[k][0],
					texels[k][1], part, (double)float_of(got[0]), want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_gathers),
		cmocka_unit_test(test_cubes),
		cmocka_unit_test(test_linear_memory),
		cmocka_unit_test(test_signed_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
