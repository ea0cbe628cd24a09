/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture sampling, after "CUDA C++ Programming Guide", Texture Fetching. Linear filtering places a coordinate on a grid of 1/256 texel
 * (the guide's 9-bit fixed point with 8 fractional bits), then adds texels times exact weights in double precision and rounds once. What
 * the guide leaves open is decided here and said in docs/softgpu.md: how the grid is rounded to, and that texels of weight 0 do not count.
 */
#include "softgpu/tex.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 65536u

/* --- the table --------------------------------------------------------------------------------------- */
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

const struct tex_object *tex_find(uint64_t handle)
{
	return handle - 1 < MAX_OBJECTS ? atomic_load_explicit(&slots[handle - 1], memory_order_acquire) : NULL;
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

/* --- texels ------------------------------------------------------------------------------------------ */
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

/* What stands for 1.0 in an integer that is read as a float. */
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

static double from_srgb(double v)
{
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* A channel as the number that filtering works on: floats as they are, integers with 16 bits, whose unit 8 bits are repeated to have. */
static double number(const struct tex_object *o, uint32_t bits, unsigned c)
{
	int32_t s = (int32_t)bits;
	float f;

	switch (o->image.format) {
	case TEX_U8:
		return o->srgb && c < 3 ? from_srgb(bits / 255.0) * 65535 : bits * 257.0;
	case TEX_S8:
		s = s < -127 ? -127 : s;
		return s * 258 + (s < 0 ? -((-s - 1) >> 6) : s >> 6);
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

/* What a filter's number becomes. */
static uint32_t finish(const struct tex_object *o, double v)
{
	switch (o->image.format) {
	case TEX_U8:
	case TEX_U16:
		return bits_of((float)(v / 65535));
	case TEX_S8:
	case TEX_S16:
		return bits_of((float)(v / 32767));
	default:
		return bits_of(o->image.format == TEX_F16 ? rounded(v, 11, -24) : rounded(v, 24, -149));
	}
}

/* A channel read without a filter. */
static uint32_t plain(const struct tex_object *o, uint32_t bits, unsigned c)
{
	if (!o->as_float)
		return bits;
	if (o->image.format == TEX_S8)
		return bits_of((float)((int32_t)bits < -127 ? -127 : (int32_t)bits) / 127);
	return finish(o, number(o, bits, c));
}

_Thread_local void (*tex_watch)(void *arg, const void *texel, unsigned bytes);
_Thread_local void *tex_watch_arg;

static const uint8_t *texel(const struct tex_image *m, uint32_t x, uint32_t y, uint32_t z)
{
	unsigned n = tex_texel_bytes(m);
	const uint8_t *p = (const uint8_t *)(uintptr_t)(m->base + z * m->slice + y * m->pitch + (uint64_t)x * n);

	if (__builtin_expect(tex_watch != NULL, 0))
		tex_watch(tex_watch_arg, p, n);
	return p;
}

/* --- coordinates ------------------------------------------------------------------------------------- */
static uint8_t mode_of(const struct tex_object *o, unsigned dim)
{
	/* wrap and mirror are for normalised coordinates: the guide has clamp in their place */
	return !o->normalized && (o->address[dim] == TEX_WRAP || o->address[dim] == TEX_MIRROR) ? TEX_CLAMP : o->address[dim];
}

/* The coordinate in texels, small enough for 1/256 texel in 64 bits. */
static double in_texels(const struct tex_object *o, float c, unsigned dim, uint32_t n)
{
	double x = c;

	if (x != x)
		return 0;
	if (o->normalized) {
		if ((mode_of(o, dim) == TEX_WRAP || mode_of(o, dim) == TEX_MIRROR) && fabs(x) < HUGE_VAL)
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

static struct axis axis_of(const struct tex_object *o, const struct tex_at *at, unsigned dim, uint32_t n, bool mix)
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

/* "CUDA C++ Programming Guide", Cubemap Textures: the face, and its two coordinates. Of equal magnitudes the later axis counts. */
static void to_face(const struct tex_at *at, struct tex_at *ret)
{
	float x = at->c[0], y = at->c[1], z = at->c[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z), m, s, t;
	unsigned face;

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
	ret->layer = at->layer * 6 + face;
	ret->cube = false;
}

/* Unsigned: a negative number is the last layer. */
static uint32_t layer_of(const struct tex_image *m, uint32_t layer)
{
	return layer >= m->layers ? m->layers - 1 : layer;
}

/* --- fetches ----------------------------------------------------------------------------------------- */
/* Channels that an image does not have read as 0, the fourth as well. */
static void missing(const struct tex_object *o, uint32_t ret[4])
{
	for (unsigned c = o->image.channels; c < 4; c++)
		ret[c] = 0;
}

/*
 * A channel of the border, as channel() gives a texel's. For integers read as floats the nearest that the format holds, of two the
 * smaller magnitude; for integers the descriptor's bits ("CUDA Runtime API", cudaTextureDesc), of which texels hold the lowest.
 */
static uint32_t border_channel(const struct tex_object *o, unsigned c)
{
	uint8_t bits[4];
	uint32_t u = bits_of(o->border[c]);
	double v, most = unit(o->image.format);

	if (float_format(o->image.format))
		return u;
	if (o->as_float) {
		v = copysign(ceil(fabs(o->border[c]) * most - 0.5), o->border[c]);
		v = v > most ? most : v > -most ? v : -most;
		return (uint32_t)(int32_t)(o->image.format == TEX_U8 || o->image.format == TEX_U16 ? fmax(v, 0) : v);
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

/* Four weights of two rows: the rounded products, of which each row adds up to its share y, and in a plane also each column. */
static void corners(unsigned x, unsigned y, bool plane, unsigned w[4])
{
	w[3] = both(x, y, false);
	w[2] = y - w[3];
	w[1] = both(x, 256 - y, plane);
	w[0] = 256 - y - w[1];
}

/*
 * The sum of weights times values. Of halves each is first cut to 15 bits of the largest one's exponent; floats and integers are
 * added exactly.
 */
static double weighted(const double *v, const unsigned *w, unsigned n, bool halves)
{
	double sum = 0, grid, x;
	int top = -1000, e;
	unsigned k;

	for (k = 0; halves && k < n; k++) {
		if (!w[k] || !v[k] || !isfinite(v[k]))
			continue;
		e = ilogb(v[k]);
		top = e > top ? e : top;
	}
	grid = top > -1000 ? ldexp(1, top - 14) : 0;
	for (k = 0; k < n; k++) {
		x = v[k];
		if (grid != 0 && isfinite(x))
			x = trunc(x / grid) * grid;
		if (w[k])
			sum += x * w[k] / 256;
	}
	return sum;
}

/*
 * Two dimensions share weights out by corners(): of a volume x and z, whose four weights y then splits. A line is a plane of one row,
 * sampled at y = 0: that shows where there is a border.
 */
static void sample_linear(const struct tex_object *o, const struct axis a[3], uint32_t layer, uint32_t ret[4])
{
	const struct tex_image *m = &o->image;
	bool volume = m->dims == 3, floats = float_format(m->format);
	unsigned w[8], k, c, n = volume ? 8 : 4;
	const uint8_t *p[8];
	double v[8], sum;

	corners(a[0].weight, a[volume ? 2 : 1].weight, !volume, w);
	for (k = 0; volume && k < 4; k++) {
		w[k + 4] = both(w[k], a[1].weight, !(k & 1));
		w[k] -= w[k + 4];
	}
	for (k = 0; k < n; k++) {
		int64_t x = a[0].i[k & 1], y = a[1].i[volume ? k >> 2 : k >> 1], z = volume ? a[2].i[k >> 1 & 1] : layer;

		p[k] = x < 0 || y < 0 || z < 0 ? NULL : texel(m, (uint32_t)x, (uint32_t)y, (uint32_t)z);
	}
	for (c = 0; c < m->channels; c++) {
		for (k = 0; k < n; k++)
			v[k] = number(o, channel_or_border(o, p[k], c), c);
		sum = weighted(v, w, n, m->format == TEX_F16);
		ret[c] = finish(o, floats ? sum : floor(sum + 0.5));
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
		to_face(where, &at);
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

void tex_gather(const struct tex_object *o, const struct tex_at *where, unsigned component, uint32_t ret[4])
{
	static const uint8_t dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
	const struct tex_image *m = &o->image;
	struct tex_at at = *where;
	uint32_t layer;
	struct axis x, y;
	unsigned k;

	if (at.cube)
		to_face(where, &at);
	layer = m->layered || m->cube ? layer_of(m, at.layer) : 0;
	x = axis_of(o, &at, 0, m->width, true);
	y = axis_of(o, &at, 1, m->height, true);
	for (k = 0; k < 4; k++) {
		bool out = x.i[dx[k]] < 0 || y.i[dy[k]] < 0;
		const uint8_t *p = out ? NULL : texel(m, (uint32_t)x.i[dx[k]], (uint32_t)y.i[dy[k]], layer);

		ret[k] = component < m->channels ? channel_or_border(o, p, component) : 0;
		if (component < m->channels && o->as_float)
			ret[k] = finish(o, number(o, ret[k], component));
	}
}
