/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture sampling, after "CUDA C++ Programming Guide", Texture Fetching. Linear filtering places a
 * coordinate on a grid of 1/256 texel (the guide's 9-bit fixed point with 8 fractional bits). What
 * the guide leaves open is as measured on an H200 with tests/programs/tex-bits: the rounding of
 * weights, sums and results, borders, missing channels, sRGB's table. docs/softgpu.md says which
 * kinds are bit-identical.
 */
#include "softgpu/tex/tex.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 65536u

/* --- the table --- */
static struct tex_object *_Atomic slots[MAX_OBJECTS];
static uint32_t lowest; /* no slot below is free */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t tex_add(const struct tex_object *o)
{
	struct tex_object *copy = malloc(sizeof(*copy));
	uint64_t ret = 0;

	if (!copy)
		return 0;
	*copy = *o;
	pthread_mutex_lock(&lock);
	while (lowest < MAX_OBJECTS && slots[lowest])
		lowest++;
	if (lowest < MAX_OBJECTS) {
		atomic_store_explicit(&slots[lowest], copy, memory_order_release);
		ret = ++lowest;
	}
	pthread_mutex_unlock(&lock);
	if (!ret)
		free(copy);
	return ret;
}

bool tex_put(uint64_t handle, const struct tex_object *o)
{
	struct tex_object *copy = handle - 1 < MAX_OBJECTS ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return false;
	*copy = *o;
	pthread_mutex_lock(&lock);
	free(atomic_exchange(&slots[handle - 1], copy));
	pthread_mutex_unlock(&lock);
	return true;
}

const struct tex_object *tex_find(uint64_t handle)
{
	return handle - 1 < MAX_OBJECTS
		       ? atomic_load_explicit(&slots[handle - 1], memory_order_acquire)
		       : NULL;
}

bool tex_remove(uint64_t handle)
{
	struct tex_object *o = NULL;

	if (handle - 1 >= MAX_OBJECTS)
		return false;
	pthread_mutex_lock(&lock);
	o = atomic_exchange(&slots[handle - 1], NULL);
	if (o && handle - 1 < lowest)
		lowest = (uint32_t)handle - 1;
	pthread_mutex_unlock(&lock);
	free(o);
	return o != NULL;
}

void tex_forget_image(uint64_t base)
{
	pthread_mutex_lock(&lock);
	for (uint32_t k = 0; k < MAX_OBJECTS; k++)
		if (slots[k] && !slots[k]->image.program && slots[k]->image.base == base)
			slots[k]->image.base = 0;
	pthread_mutex_unlock(&lock);
}

/* --- texels --- */
unsigned tex_format_bytes(unsigned format)
{
	static const uint8_t bytes[TEX_FORMATS] = {1, 2, 4, 1, 2, 4, 2, 4};

	return bytes[format];
}

static float half(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, u;
	float f;

	if (e == 31) {
		u = sign | 0x7f800000u | m << 13;
	} else if (e) {
		u = sign | (e + 112) << 23 | m << 13;
	} else {
		f = (float)m * 0x1p-24f;
		return sign ? -f : f;
	}
	memcpy(&f, &u, 4);
	return f;
}

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static bool float_format(unsigned format)
{
	return format == TEX_F16 || format == TEX_F32;
}

/* Channel c of a texel: an integer, or a float's bits. */
static uint32_t channel(const struct tex_image *m, const uint8_t *p, unsigned c)
{
	uint32_t u = 0;
	uint16_t h;

	memcpy(&u, p + c * tex_format_bytes(m->format), tex_format_bytes(m->format));
	switch (m->format) {
	case TEX_S8:
		return (uint32_t)(int8_t)u;
	case TEX_S16:
		return (uint32_t)(int16_t)u;
	case TEX_F16:
		h = (uint16_t)u;
		return bits_of(half(h));
	default:
		return u;
	}
}

/* The integer value that reads as 1.0 when integers are read as floats. */
static double unit(unsigned format)
{
	switch (format) {
	case TEX_U8:
		return 255;
	case TEX_U16:
		return 65535;
	case TEX_S8:
		return 127;
	default:
		return 32767;
	}
}

/* What 8-bit sRGB is as a float, whose upper halves these are: IEC 61966-2-1 to 8 significant bits,
 * as measured on an H200. */
static const uint16_t srgb[256] = {
	0x0000,
	0x39a0,
	0x3a20,
	0x3a70,
	0x3aa0,
	0x3ac8,
	0x3af0,
	0x3b0c,
	0x3b20,
	0x3b34,
	0x3b48,
	0x3b5c,
	0x3b70,
	0x3b84,
	0x3b90,
	0x3b9c,
	0x3baa,
	0x3bb8,
	0x3bc6,
	0x3bd6,
	0x3be6,
	0x3bf6,
	0x3c03,
	0x3c0c,
	0x3c16,
	0x3c1f,
	0x3c29,
	0x3c34,
	0x3c3e,
	0x3c49,
	0x3c55,
	0x3c60,
	0x3c6c,
	0x3c7a,
	0x3c83,
	0x3c8a,
	0x3c91,
	0x3c98,
	0x3c9f,
	0x3ca6,
	0x3cae,
	0x3cb6,
	0x3cbe,
	0x3cc6,
	0x3cce,
	0x3cd7,
	0x3ce0,
	0x3ce9,
	0x3cf2,
	0x3cfc,
	0x3d03,
	0x3d08,
	0x3d0d,
	0x3d12,
	0x3d17,
	0x3d1c,
	0x3d22,
	0x3d28,
	0x3d2d,
	0x3d33,
	0x3d39,
	0x3d3f,
	0x3d45,
	0x3d4c,
	0x3d52,
	0x3d58,
	0x3d60,
	0x3d66,
	0x3d6c,
	0x3d74,
	0x3d7a,
	0x3d81,
	0x3d85,
	0x3d88,
	0x3d8c,
	0x3d90,
	0x3d94,
	0x3d98,
	0x3d9c,
	0x3da0,
	0x3da4,
	0x3da9,
	0x3dad,
	0x3db1,
	0x3db6,
	0x3dba,
	0x3dbf,
	0x3dc3,
	0x3dc8,
	0x3dcd,
	0x3dd1,
	0x3dd6,
	0x3ddb,
	0x3de0,
	0x3de5,
	0x3dea,
	0x3df0,
	0x3df4,
	0x3dfa,
	0x3e00,
	0x3e02,
	0x3e05,
	0x3e08,
	0x3e0b,
	0x3e0e,
	0x3e11,
	0x3e14,
	0x3e17,
	0x3e1a,
	0x3e1d,
	0x3e20,
	0x3e23,
	0x3e26,
	0x3e29,
	0x3e2c,
	0x3e30,
	0x3e33,
	0x3e36,
	0x3e3a,
	0x3e3d,
	0x3e40,
	0x3e44,
	0x3e47,
	0x3e4b,
	0x3e4e,
	0x3e52,
	0x3e56,
	0x3e59,
	0x3e5d,
	0x3e61,
	0x3e65,
	0x3e68,
	0x3e6c,
	0x3e70,
	0x3e74,
	0x3e78,
	0x3e7c,
	0x3e80,
	0x3e82,
	0x3e84,
	0x3e86,
	0x3e88,
	0x3e8a,
	0x3e8d,
	0x3e8f,
	0x3e91,
	0x3e93,
	0x3e95,
	0x3e98,
	0x3e9a,
	0x3e9c,
	0x3e9e,
	0x3ea1,
	0x3ea3,
	0x3ea5,
	0x3ea8,
	0x3eaa,
	0x3ead,
	0x3eaf,
	0x3eb2,
	0x3eb4,
	0x3eb6,
	0x3eb9,
	0x3ebc,
	0x3ebe,
	0x3ec1,
	0x3ec3,
	0x3ec6,
	0x3ec8,
	0x3ecb,
	0x3ece,
	0x3ed1,
	0x3ed3,
	0x3ed6,
	0x3ed9,
	0x3edb,
	0x3ede,
	0x3ee1,
	0x3ee4,
	0x3ee7,
	0x3eea,
	0x3eed,
	0x3ef0,
	0x3ef2,
	0x3ef6,
	0x3ef8,
	0x3efc,
	0x3efe,
	0x3f01,
	0x3f02,
	0x3f04,
	0x3f05,
	0x3f07,
	0x3f09,
	0x3f0a,
	0x3f0c,
	0x3f0d,
	0x3f0f,
	0x3f11,
	0x3f12,
	0x3f14,
	0x3f16,
	0x3f17,
	0x3f19,
	0x3f1b,
	0x3f1c,
	0x3f1e,
	0x3f20,
	0x3f21,
	0x3f23,
	0x3f25,
	0x3f27,
	0x3f29,
	0x3f2a,
	0x3f2c,
	0x3f2e,
	0x3f30,
	0x3f32,
	0x3f33,
	0x3f35,
	0x3f37,
	0x3f39,
	0x3f3b,
	0x3f3d,
	0x3f3f,
	0x3f41,
	0x3f43,
	0x3f45,
	0x3f47,
	0x3f49,
	0x3f4b,
	0x3f4d,
	0x3f4f,
	0x3f51,
	0x3f53,
	0x3f55,
	0x3f57,
	0x3f59,
	0x3f5b,
	0x3f5d,
	0x3f5f,
	0x3f61,
	0x3f63,
	0x3f65,
	0x3f68,
	0x3f6a,
	0x3f6c,
	0x3f6e,
	0x3f70,
	0x3f72,
	0x3f74,
	0x3f76,
	0x3f7a,
	0x3f7c,
	0x3f7e,
	0x3f80,
};

static double from_srgb(unsigned v)
{
	uint32_t u = (uint32_t)srgb[v] << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static double to_srgb(double v)
{
	return v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* A channel as the number that filtering works on: floats as they are, integers of 65535 or 32767,
 * but s8 of 127 * 256. */
static double number(const struct tex_object *o, uint32_t bits, unsigned c)
{
	int32_t s = (int32_t)bits;
	float f;

	switch (o->image.format) {
	case TEX_U8:
		return o->srgb && c < 3 ? from_srgb(bits) : bits * 257.0;
	case TEX_S8:
		return s * 256;
	case TEX_U16:
		return bits;
	case TEX_S16:
		return s < -32767 ? -32767 : s;
	default:
		memcpy(&f, &bits, 4);
		return f;
	}
}

/* To so many significant bits, with no place below 2^least; ties away from zero. */
static float rounded(double v, int bits, int least)
{
	int e;

	if (!isfinite(v) || v == 0)
		return (float)v;
	frexp(v, &e);
	e = e - bits < least ? least : e - bits;
	return (float)ldexp(round(ldexp(v, -e)), e);
}

/* Half precision is what f16 and sRGB are filtered in. */
static bool in_halves(const struct tex_object *o, unsigned c)
{
	return o->image.format == TEX_F16 || (o->srgb && c < 3);
}

/* What a filter's number becomes. */
static uint32_t finish(const struct tex_object *o, double v, unsigned c)
{
	int32_t s;

	if (in_halves(o, c))
		return bits_of(rounded(v, 11, -24));
	switch (o->image.format) {
	case TEX_U8:
	case TEX_U16:
		return bits_of((float)(v / 65535));
	case TEX_S8:
		s = (int32_t)v;
		s += ((s >> 4) * 257 + 1024) >> 11; /* from 127 * 256 to 32767 */
		return bits_of((float)((s < -32767 ? -32767 : s) / 32767.0));
	case TEX_S16:
		return bits_of((float)(v / 32767));
	default:
		return bits_of(rounded(v, 24, -149));
	}
}

/* A channel read without a filter. */
static uint32_t plain(const struct tex_object *o, uint32_t bits, unsigned c)
{
	if (!o->as_float)
		return bits;
	if (o->image.format == TEX_S8)
		return bits_of((float)((int32_t)bits < -127 ? -127 : (int32_t)bits) / 127);
	return finish(o, number(o, bits, c), c);
}

_Thread_local void (*tex_watch)(void *arg, const void *texel, unsigned bytes);
_Thread_local void *tex_watch_arg;

static const uint8_t *texel(const struct tex_image *m, uint32_t x, uint32_t y, uint32_t z)
{
	unsigned n = tex_texel_bytes(m);
	const uint8_t *p = (const uint8_t *)(uintptr_t)(m->base + z * m->slice + y * m->pitch +
							(uint64_t)x * n);

	if (__builtin_expect(tex_watch != NULL, 0))
		tex_watch(tex_watch_arg, p, n);
	return p;
}

/* --- coordinates --- */
static uint8_t mode_of(const struct tex_object *o, unsigned dim)
{
	/* wrap and mirror are for normalised coordinates: the guide has clamp in their place */
	return !o->normalized && (o->address[dim] == TEX_WRAP || o->address[dim] == TEX_MIRROR)
		       ? TEX_CLAMP
		       : o->address[dim];
}

/* The coordinate in texels, small enough for 1/256 texel in 64 bits. */
static double in_texels(const struct tex_object *o, float c, unsigned dim, uint32_t n)
{
	double x = c;

	if (x != x)
		return 0;
	if (o->normalized) {
		if ((mode_of(o, dim) == TEX_WRAP || mode_of(o, dim) == TEX_MIRROR) &&
			fabs(x) < HUGE_VAL)
			x -= 2 * floor(x / 2); /* both repeat after two widths */
		x *= n;
	}
	return x > 0x1p30 ? 0x1p30 : x < -0x1p30 ? -0x1p30 : x;
}

/* The texel's index by the address mode, -1: border. */
static int64_t place(int64_t i, uint32_t n, uint8_t mode)
{
	int64_t m;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case TEX_CLAMP:
		return i < 0 ? 0 : (int64_t)n - 1;
	case TEX_WRAP:
		m = i % n;
		return m < 0 ? m + n : m;
	case TEX_MIRROR:
		m = i % (2 * (int64_t)n);
		m = m < 0 ? m + 2 * (int64_t)n : m;
		return m < n ? m : 2 * (int64_t)n - 1 - m;
	default:
		return -1;
	}
}

/* One dimension of a fetch: two texels and the second one's weight in 1/256. */
struct axis {
	int64_t i[2];
	unsigned weight;
};

static struct axis axis_of(
	const struct tex_object *o, const struct tex_at *at, unsigned dim, uint32_t n, bool mix)
{
	struct axis a = {{0, 0}, 0};
	uint8_t mode = mode_of(o, dim);
	int64_t fixed, i;

	if (at->integer) {
		i = at->i[dim];
	} else if (!mix) {
		i = (int64_t)floor(in_texels(o, at->c[dim], dim, n));
	} else {
		fixed = (int64_t)floor((in_texels(o, at->c[dim], dim, n) - 0.5) * 256 + 0.5);
		i = fixed >> 8;
		a.weight = (unsigned)(fixed & 255);
	}
	a.i[0] = place(i, n, mode);
	a.i[1] = place(i + 1, n, mode);
	if (mode == TEX_CLAMP && a.i[0] == a.i[1])
		a.weight = 0;
	return a;
}

/* "CUDA C++ Programming Guide", Cubemap Textures: the face, and its two coordinates. Of equal
 * magnitudes the later axis counts. */
static void to_face(const struct tex_image *image, const struct tex_at *at, struct tex_at *ret)
{
	float x = at->c[0], y = at->c[1], z = at->c[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z),
	      m, s, t;
	unsigned face, cubes = image->layers / 6;

	if (az >= ax && az >= ay) {
		face = z < 0 ? 5 : 4;
		m = az;
		s = z < 0 ? -x : x;
		t = -y;
	} else if (ay >= ax) {
		face = y < 0 ? 3 : 2;
		m = ay;
		s = x;
		t = y < 0 ? -z : z;
	} else {
		face = x < 0 ? 1 : 0;
		m = ax;
		s = x < 0 ? z : -z;
		t = -y;
	}
	*ret = *at;
	ret->c[0] = (s / m + 1) / 2;
	ret->c[1] = (t / m + 1) / 2;
	ret->layer = (at->layer < cubes ? at->layer : cubes - 1) * 6 + face;
	ret->cube = false;
}

/* Unsigned: a negative number is the last layer. */
static uint32_t layer_of(const struct tex_image *m, uint32_t layer)
{
	return layer >= m->layers ? m->layers - 1 : layer;
}

/* --- fetches --- */
/* Channels that an image does not have read as 0, the fourth as well. */
static void missing(const struct tex_object *o, uint32_t ret[4])
{
	for (unsigned c = o->image.channels; c < 4; c++)
		ret[c] = 0;
}

/*
 * A channel of the border, as channel() gives a texel's. For integers read as floats the nearest
 * that the format holds, of two the smaller magnitude; for integers the descriptor's bits ("CUDA
 * Runtime API", cudaTextureDesc), of which texels hold the lowest.
 */
static uint32_t border_channel(const struct tex_object *o, unsigned c)
{
	uint8_t bits[4];
	uint32_t u = bits_of(o->border[c]);
	double v, most = unit(o->image.format);

	if (float_format(o->image.format))
		return u;
	if (o->as_float) {
		v = o->srgb && c < 3 ? to_srgb(o->border[c]) : o->border[c];
		v = copysign(ceil(fabs(v) * most - 0.5), v);
		v = v > most ? most : v > -most ? v : -most;
		return (uint32_t)(int32_t)(o->image.format == TEX_U8 || o->image.format == TEX_U16
						   ? fmax(v, 0)
						   : v);
	}
	memcpy(bits, &u, 4);
	return channel(&(struct tex_image){.format = o->image.format}, bits, 0);
}

/* p: the texel, NULL for the border */
static uint32_t channel_or_border(const struct tex_object *o, const uint8_t *p, unsigned c)
{
	return p ? channel(&o->image, p, c) : border_channel(o, c);
}

static void read_texel(const struct tex_object *o, const uint8_t *p, uint32_t ret[4])
{
	for (unsigned c = 0; c < o->image.channels; c++)
		ret[c] = plain(o, channel_or_border(o, p, c), c);
	missing(o, ret);
}

static void fetch(const struct tex_object *o, const struct tex_at *at, uint32_t ret[4])
{
	if (at->i[0] >= 0 && (uint32_t)at->i[0] < o->image.width) {
		read_texel(o, texel(&o->image, (uint32_t)at->i[0], 0, 0), ret);
		return;
	}
	memset(ret, 0, 4 * sizeof(*ret));
	missing(o, ret);
}

/* The product of two weights of 1/256: rounded, ties up, or down. */
static unsigned both(unsigned a, unsigned b, bool down)
{
	return (a * b + 128 - down) >> 8;
}

/* Four weights of two rows: the rounded products, of which each row adds up to its share y, and in
 * a plane also each column. */
static void corners(unsigned x, unsigned y, bool plane, unsigned w[4])
{
	w[3] = both(x, y, false);
	w[2] = y - w[3];
	w[1] = both(x, 256 - y, plane);
	w[0] = 256 - y - w[1];
}

#define NO_EXPONENT INT_MIN

/* What the filter takes for a half's exponent; of sRGB that of the largest of eight codes. */
static int exponent(const struct tex_object *o, uint32_t bits, double v)
{
	if (o->srgb)
		return ilogb(from_srgb(bits | 7));
	return v == 0 || !isfinite(v) ? NO_EXPONENT : ilogb(v);
}

/*
 * The sum of weights times values, of one plane of texels. Halves (e: their exponents) are first
 * cut so many places below the largest one's exponent; floats and integers are added exactly.
 */
static double weighted(
	const double v[4], const unsigned w[4], const int e[4], int places, int *ret_top)
{
	double sum = 0, x;
	int top = NO_EXPONENT;
	unsigned k;

	for (k = 0; k < 4; k++)
		top = w[k] && e[k] > top ? e[k] : top;
	for (k = 0; k < 4; k++) {
		x = v[k];
		if (top != NO_EXPONENT && isfinite(x))
			x = ldexp(trunc(ldexp(x, places - top)), top - places);
		if (w[k])
			sum += x * w[k] / 256;
	}
	*ret_top = top;
	return sum;
}

/* Both planes of a volume. Of halves each one's sum is cut 25 places below the larger exponent; 24
 * and 27 do not fit what was measured. */
static double planes(const double v[8], const unsigned w[8], const int e[8], int places)
{
	int top[2], cut;
	double a = weighted(v, w, e, places, &top[0]),
	       b = weighted(v + 4, w + 4, e + 4, places, &top[1]);

	cut = top[0] > top[1] ? top[0] : top[1];
	if (cut == NO_EXPONENT || !isfinite(a) || !isfinite(b))
		return a + b;
	cut -= 25;
	return ldexp(trunc(ldexp(a, -cut)) + trunc(ldexp(b, -cut)), cut);
}

/* The weights of two or four rows of two columns, and of two planes of them: z is shared out first,
 * y last. */
static void weigh(const struct axis a[3], bool volume, unsigned w[8])
{
	unsigned xz[4], k, *to;

	if (!volume) {
		corners(a[0].weight, a[1].weight, true, w);
		return;
	}
	corners(a[0].weight, a[2].weight, false, xz);
	for (k = 0; k < 4; k++) {
		to = &w[(k & 1) + (k & 2) * 2];
		to[2] = both(xz[k], a[1].weight, !(k & 1));
		to[0] = xz[k] - to[2];
	}
}

/* A line is a plane of one row, sampled at y = 0: that shows where there is a border. */
static void sample_linear(
	const struct tex_object *o, const struct axis a[3], uint32_t layer, uint32_t ret[4])
{
	const struct tex_image *m = &o->image;
	bool volume = m->dims == 3;
	unsigned w[8], k, c, n = volume ? 8 : 4;
	const uint8_t *p[8];
	double v[8], sum;
	int e[8], top;

	weigh(a, volume, w);
	for (k = 0; k < n; k++) {
		int64_t x = a[0].i[k & 1], y = a[1].i[k >> 1 & 1],
			z = volume ? a[2].i[k >> 2] : layer;

		p[k] = x < 0 || y < 0 || z < 0 ? NULL
					       : texel(m, (uint32_t)x, (uint32_t)y, (uint32_t)z);
	}
	for (c = 0; c < m->channels; c++) {
		bool halves = in_halves(o, c);

		for (k = 0; k < n; k++) {
			uint32_t bits = channel_or_border(o, p[k], c);

			v[k] = number(o, bits, c);
			e[k] = halves ? exponent(o, bits, v[k]) : NO_EXPONENT;
		}
		sum = volume ? planes(v, w, e, o->srgb ? 7 : 14)
			     : weighted(v, w, e, o->srgb ? 7 : 14, &top);
		ret[c] = finish(o, halves || m->format == TEX_F32 ? sum : floor(sum + 0.5), c);
	}
	missing(o, ret);
}

void tex_sample(const struct tex_object *o, const struct tex_at *where, uint32_t ret[4])
{
	const struct tex_image *m = &o->image;
	struct tex_at at = *where;
	struct axis a[3] = {0};
	bool mix = o->linear && !at.integer;
	const uint32_t n[3] = {m->width, m->height, m->depth};
	uint32_t layer, z;
	unsigned k;

	if (o->fetch) {
		if (!at.integer)
			at.i[0] = at.c[0] >= 0 && at.c[0] < 0x1p31f ? (int32_t)at.c[0] : -1;
		fetch(o, &at, ret);
		return;
	}
	if (at.cube)
		to_face(m, where, &at);
	layer = m->layered || m->cube ? layer_of(m, at.layer) : 0;
	for (k = 0; k < m->dims || (mix && k < 2); k++)
		a[k] = axis_of(o, &at, k, n[k], mix);
	if (mix) {
		sample_linear(o, a, layer, ret);
		return;
	}
	if (a[0].i[0] < 0 || a[1].i[0] < 0 || a[2].i[0] < 0) {
		read_texel(o, NULL, ret);
		return;
	}
	z = m->dims == 3 ? (uint32_t)a[2].i[0] : layer;
	read_texel(o, texel(m, (uint32_t)a[0].i[0], (uint32_t)a[1].i[0], z), ret);
}

void tex_gather(
	const struct tex_object *o, const struct tex_at *where, unsigned component, uint32_t ret[4])
{
	static const uint8_t dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
	const struct tex_image *m = &o->image;
	struct tex_at at = *where;
	uint32_t layer;
	struct axis x, y;
	unsigned k;

	if (at.cube)
		to_face(m, where, &at);
	layer = m->layered || m->cube ? layer_of(m, at.layer) : 0;
	x = axis_of(o, &at, 0, m->width, true);
	y = axis_of(o, &at, 1, m->height, true);
	for (k = 0; k < 4; k++) {
		bool out = x.i[dx[k]] < 0 || y.i[dy[k]] < 0;
		const uint8_t *p =
			out ? NULL : texel(m, (uint32_t)x.i[dx[k]], (uint32_t)y.i[dy[k]], layer);

		ret[k] = component < m->channels ? channel_or_border(o, p, component) : 0;
		if (component < m->channels && o->as_float)
			ret[k] = finish(o, number(o, ret[k], component), component);
	}
}
