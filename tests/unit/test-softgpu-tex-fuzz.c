/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling and linking with hostile input: any coordinates on any kind of image stay inside its
 * memory (a sanitizer watches the edges), filtering gives the values that were worked out by hand,
 * and no text makes the merging of PTX read past its end.
 */
#include "softgpu/ptx/ptx-merge.h"
#include "softgpu/ptx/ptx.h"
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

static uint64_t state = 7;

static uint32_t next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(x >> 32);
}

static float any_float(void)
{
	static const uint32_t edges[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
		0x7f7fffff, 0xff7fffff, 1, 0x3f800000, 0xbf800000, 0x4f000000, 0xcf000000,
		0x5f000000};
	uint32_t u = next() % 3 ? next() : edges[next() % (sizeof(edges) / sizeof(edges[0]))];
	float f;

	if (next() % 4 == 0)
		return (float)(int32_t)(next() % 64) * 0.25f - 8;
	memcpy(&f, &u, 4);
	return f;
}

static void any_object(struct tex_object *o, uint8_t **memory)
{
	struct tex_image *m = &o->image;
	static const uint8_t channels[] = {1, 2, 4};
	unsigned shape = next() % 6;
	size_t n, i;

	memset(o, 0, sizeof(*o));
	m->format = (uint8_t)(next() % TEX_FORMATS);
	m->channels = channels[next() % 3];
	m->width = 1 + next() % 5;
	m->dims = (uint8_t)(shape < 3 ? shape + 1 : 2);
	m->height = m->dims > 1 ? 1 + next() % 4 : 1;
	m->depth = m->dims > 2 ? 1 + next() % 3 : 1;
	m->cube = shape == 5;
	m->layered = shape >= 3 && shape != 5;
	m->layers = shape == 5 ? 6 : m->layered ? 1 + next() % 4 : 1;
	m->height = m->cube ? m->width : m->height;
	m->pitch = (size_t)m->width * tex_texel_bytes(m);
	m->slice = m->pitch * m->height;
	n = m->slice * (m->dims == 3 ? m->depth : m->layers);
	*memory = malloc(n);
	for (i = 0; i < n; i++)
		(*memory)[i] = (uint8_t)next();
	m->base = (uint64_t)(uintptr_t)*memory;
	o->normalized = next() & 1;
	o->as_float = (m->format == TEX_U8 || m->format == TEX_S8 || m->format == TEX_U16 ||
			      m->format == TEX_S16) &&
		      next() & 1;
	o->linear = (o->as_float || m->format >= TEX_F16) && next() & 1;
	o->srgb = m->format == TEX_U8 && o->as_float && next() & 1;
	o->fetch = m->dims == 1 && !m->layered && next() % 4 == 0;
	for (i = 0; i < 3; i++)
		o->address[i] = (uint8_t)(next() % 4);
	for (i = 0; i < 4; i++)
		o->border[i] = any_float();
}

static void any_coordinates(void **state_)
{
	unsigned i, k, c;

	for (i = 0; i < 3000; i++) {
		struct tex_object o;
		uint8_t *memory;

		any_object(&o, &memory);
		for (k = 0; k < 40; k++) {
			struct tex_at at = {.integer = next() % 4 == 0,
				.layer = next() % 3 ? next() % 8 : next(),
				.cube = o.image.cube};
			uint32_t v[4];

			for (c = 0; c < 3; c++) {
				at.c[c] = any_float();
				at.i[c] = next() % 2 ? (int32_t)(next() % 16) - 5 : (int32_t)next();
			}
			tex_sample(&o, &at, v);
			if (o.image.dims == 2)
				tex_gather(&o, &at, next() % 4, v);
		}
		free(memory);
	}
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

/* Four texels 1, 2, 4, 8 in a row. */
static void by_hand(void **state_)
{
	float texels[4] = {1, 2, 4, 8};
	struct tex_object o = {.image = {.base = (uint64_t)(uintptr_t)texels,
				       .width = 4,
				       .height = 1,
				       .depth = 1,
				       .layers = 1,
				       .dims = 1,
				       .format = TEX_F32,
				       .channels = 1},
		.linear = true,
		.address = {TEX_CLAMP, TEX_CLAMP, TEX_CLAMP},
		.border = {16, 0, 0, 0}};
	static const struct {
		uint8_t mode;
		bool normalized, linear;
		float x, want;
	} cases[] = {
		{TEX_CLAMP, false, true, 0.5f, 1}, {TEX_CLAMP, false, true, 1.0f, 1.5f},
		{TEX_CLAMP, false, true, 3.25f, 7}, /* 4 + 3/4 of 4 */
		{TEX_CLAMP, false, true, -9, 1}, {TEX_CLAMP, false, true, 99, 8},
		{TEX_BORDER, false, true, 0, 8.5f}, {TEX_BORDER, false, true, 4, 12},
		{TEX_BORDER, false, false, 4, 16}, {TEX_BORDER, false, false, -0.001f, 16},
		{TEX_BORDER, false, false, 3.999f, 8},
		{TEX_WRAP, true, true, 0, 4.5f}, /* half of the last, half of the first */
		{TEX_WRAP, true, false, -0.1f, 8}, {TEX_WRAP, true, false, 1.3f, 2},
		{TEX_WRAP, true, false, 1e30f, 1}, {TEX_MIRROR, true, false, -0.1f, 1},
		{TEX_MIRROR, true, false, -0.3f, 2}, {TEX_MIRROR, true, false, 1.1f, 8},
		{TEX_MIRROR, true, false, 2.6f, 4}, {TEX_MIRROR, true, true, 0, 1},
		{TEX_WRAP, false, false, -1, 1}, /* not normalised: clamp */
		{TEX_CLAMP, false, true, 1.001953125f,
			1.50390625f}, /* 1 + 1/512: the weight 128.5/256 rounds up to 129/256 */
	};
	struct tex_at at = {0};
	uint32_t v[4];
	unsigned i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o.address[0] = cases[i].mode;
		o.normalized = cases[i].normalized;
		o.linear = cases[i].linear;
		at.c[0] = cases[i].x;
		tex_sample(&o, &at, v);
		if (v[0] != bits(cases[i].want))
			fail_msg("case %u, %g: %#x, should be %#x", i, (double)cases[i].x, v[0],
				bits(cases[i].want));
	}
}

static void handles(void **state_)
{
	struct tex_object o = {.image = {.base = 64}};
	uint64_t a = tex_add(&o), b = tex_add(&o), c = tex_add(&o);

	assert_int_equal(b, a + 1);
	assert_int_equal(c, a + 2);
	assert_true(tex_remove(b));
	assert_false(tex_remove(b));
	assert_null(tex_find(b));
	assert_int_equal(tex_add(&o), b); /* the lowest that is free */
	tex_forget_image(64);
	assert_int_equal(tex_find(a)->image.base, 0);
	assert_null(tex_find(0));
	assert_null(tex_find(UINT64_MAX));
	assert_true(tex_remove(a) && tex_remove(b) && tex_remove(c));
}

/* --- merging --- */

static const char seed[] =
	".version 7.0\n.target sm_75\n.address_size 64\n.file 1 \"a.cu\"\n/* c */ .extern .func (.param .b32 r) f(.param .b32 x);\n"
	".global .align 4 .b32 v[2] = {1, 2};\n.weak .func w()\n{ ret; }\n.visible .entry k(.param .u64 p)\n{ .reg .b32 %r<2>; .loc 1 3 4\nmov.u32 %r0, 1; ret; }\n"
	".section .debug_str\n{ .b8 1,2 }\n";

static void fuzz_merge(void **state_)
{
	unsigned i, k;

	for (i = 0; i < 20000; i++) {
		char *text = strdup(seed), log[128], *out;
		struct ptx_input in[2] = {{"a", text}, {"b", seed}};
		size_t n = strlen(text), size;

		for (k = next() % 6; k-- > 0;) {
			if (next() % 3 == 0)
				text[n = next() % (n + 1)] = '\0';
			else if (n)
				text[next() % n] = next() % 2 ? "{}();\"/*.\\ \nkv0"[next() % 15]
							      : (char)(1 + next() % 255);
			if (!n)
				break;
		}
		out = ptx_merge(in, 2, &size, log, sizeof(log));
		if (out) {
			assert_int_equal(strlen(out), size);
			if (i % 50 == 0)
				ptx_free(ptx_load(out, size, log, sizeof(log)));
		} else {
			assert_true(log[0]);
		}
		free(out);
		free(text);
	}
}

static void merged_debug_lines(void **state_)
{
	const struct ptx_input in[2] = {{"a", seed},
		{"b", ".version 7.0\n.target sm_75\n.address_size 64\n.file 1 \"b.cu\"\n.file 2 \"c.cu\"\n"
		      ".func g()\n{ .loc 2 7 1, function_name L, inlined_at 1 3 1\nret; }\n"}};
	char log[128], *out;
	size_t size;

	out = ptx_merge(in, 2, &size, log, sizeof(log));
	assert_non_null(out);
	assert_non_null(strstr(out, ".file 1 \"a.cu\""));
	assert_non_null(strstr(out, ".file 2 \"b.cu\""));
	assert_non_null(strstr(out, ".file 3 \"c.cu\""));
	assert_non_null(strstr(out, ".loc 3 7 1, function_name L, inlined_at 2 3 1"));
	assert_non_null(strstr(out, "g__link1()"));
	assert_null(strstr(strstr(out, ".version") + 1, ".version"));
	free(out);
}

/* All 65536 numbers can be in use at once, whichever were given back before. */
static void test_every_handle_is_given_out(void **unused)
{
	enum { MOST = 65536 };
	static bool used[MOST + 1];
	struct tex_object o = {0};
	uint64_t h;

	(void)unused;
	assert_null(tex_find(0));
	assert_null(tex_find(MOST));
	assert_null(tex_find(MOST + 1));
	assert_null(tex_find(UINT64_MAX));
	assert_false(tex_remove(0));
	assert_false(tex_remove(MOST));
	assert_false(tex_remove(MOST + 1));
	for (unsigned round = 0; round < 3; round++) {
		unsigned n = 0;

		for (unsigned k = 1; k <= MOST; k++)
			n += used[k];
		for (; n < MOST; n++) {
			o.image.base = n;
			h = tex_add(&o);
			assert_true(h >= 1 && h <= MOST && !used[h]);
			used[h] = true;
			assert_int_equal(tex_find(h)->image.base, n);
		}
		assert_int_equal(tex_add(&o), 0);
		for (unsigned k = 0; k < 1000; k++) { /* some of them, in any order */
			h = 1 + next() % MOST;
			assert_int_equal(tex_remove(h), used[h]);
			used[h] = false;
			assert_null(tex_find(h));
			assert_false(tex_remove(h));
		}
	}
	for (h = 1; h <= MOST; h++)
		assert_int_equal(tex_remove(h), used[h]);
}

/* The objects of one array: their image goes, others' does not. */
static void test_an_array_is_forgotten(void **unused)
{
	struct tex_object o = {0};
	uint64_t a, b;

	(void)unused;
	o.image.base = 0x1000;
	a = tex_add(&o);
	o.image.base = 0x2000;
	b = tex_add(&o);
	tex_forget_image(0x1000);
	assert_int_equal(tex_find(a)->image.base, 0);
	assert_int_equal(tex_find(b)->image.base, 0x2000);
	assert_true(tex_remove(a) && tex_remove(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_handle_is_given_out),
		cmocka_unit_test(test_an_array_is_forgotten),
		cmocka_unit_test(any_coordinates),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(handles),
		cmocka_unit_test(fuzz_merge),
		cmocka_unit_test(merged_debug_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
