/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces against a plain model ("PTX ISA 9.0", 9.7.10): loads, stores and reductions of every
 * width in every shape, inside and outside, where .zero gives 0 and drops what is stored, and
 * .clamp takes the nearest place inside. The surfaces lie in memory that the test looks at.
 */
#include "softgpu-test.h"

#include "replayer/soft-watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state_ = 3;
static uint32_t next(uint32_t n)
{
	uint64_t x = state_ += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

enum { WIDTH = 16, BYTES = 16384, THREADS = 32 };
static const struct shape {
	const char *name, *at;
	unsigned height, depth, flags; /* as an array is made */
} shapes[] = {
	{"1d", "{%r5}", 0, 0, 0},
	{"2d", "{%r5, %r6}", 5, 0, 0},
	{"3d", "{%r5, %r6, %r7, %r7}", 3, 4, 0},
	{"a1d", "{%r7, %r5}", 0, 3, CUDA_ARRAY3D_LAYERED},
	{"a2d", "{%r7, %r5, %r6, %r6}", 4, 3, CUDA_ARRAY3D_LAYERED},
};
static const struct {
	CUarray_format format;
	unsigned channels, texel;
} formats[] = {
	{CU_AD_FORMAT_UNSIGNED_INT8, 1, 1},
	{CU_AD_FORMAT_UNSIGNED_INT8, 4, 4},
	{CU_AD_FORMAT_HALF, 4, 8},
	{CU_AD_FORMAT_FLOAT, 4, 16},
	{CU_AD_FORMAT_SIGNED_INT16, 1, 2},
};
enum what { LOAD, STORE, REDUCE };
static const struct reduction {
	const char *op, *type;
	unsigned size;
	bool is_signed;
} reductions[] = {
	{"add", "u32", 4, false},
	{"min", "s32", 4, true},
	{"max", "s32", 4, true},
	{"min", "u32", 4, false},
	{"max", "u32", 4, false},
	{"and", "b32", 4, false},
	{"or", "b32", 4, false},
	{"add", "u64", 8, false},
	{"min", "s64", 8, true},
	{"max", "u64", 8, false},
	{"or", "b64", 8, false},
};

static const struct soft_watch *door;
static CUdeviceptr in, out, memory;

static int start(void **state)
{
	const struct soft_watch *(*table)(void);

	softgpu_start(state);
	*(void **)&table = dlsym(RTLD_DEFAULT, SOFT_WATCH_SYMBOL);
	assert_non_null(table);
	door = table();
	OK(cuMemAlloc(&in, THREADS * 48));
	OK(cuMemAlloc(&out, THREADS * 32));
	OK(cuMemAlloc(&memory, BYTES));
	return 0;
}

static int stop(void **state)
{
	OK(cuMemFree(in));
	OK(cuMemFree(out));
	OK(cuMemFree(memory));
	return softgpu_stop(state);
}

struct trial {
	const struct shape *s;
	enum what what;
	const struct reduction *red;
	unsigned size, vec, texel;
	const char *bound;
	struct {
		int32_t x, y, z, pad;
		uint64_t v[4];
	} t[THREADS];
	unsigned threads;
};

/* Its kernel: thread t takes coordinates and values from in, and gives what it has loaded. */
static void launch(const struct trial *t, uint64_t surface)
{
	const char reg = t->size < 4 ? 'h' : t->size == 4 ? 'r' : 'd';
	const char *vec = t->vec == 4 ? ".v4" : t->vec == 2 ? ".v2" : "";
	char list[64] = "{", text[4096], insn[300];
	void *params[] = {&surface, &in, &out};
	CUfunction f;
	CUmodule m;
	size_t at;

	for (unsigned k = 0; k < t->vec; k++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%%c1%u",
			k ? ", " : "", reg, k);
	strcat(list, "}");
	if (t->what == LOAD)
		snprintf(insn, sizeof insn, "suld.b.%s%s.b%u.%s %s, [%%d0, %s];", t->s->name, vec,
			t->size * 8, t->bound, list, t->s->at);
	else if (t->what == STORE)
		snprintf(insn, sizeof insn, "sust.b.%s%s.b%u.%s [%%d0, %s], %s;", t->s->name, vec,
			t->size * 8, t->bound, t->s->at, list);
	else
		snprintf(insn, sizeof insn, "sured.b.%s.%s.%s.%s [%%d0, %s], %s;", t->red->op,
			t->s->name, t->red->type, t->bound, t->s->at, list);
	at = (size_t)snprintf(text, sizeof text,
		".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 s, .param .u64 in, .param .u64 out) {\n"
		".reg .b16 %%h<20>; .reg .b32 %%r<20>; .reg .b64 %%d<20>; ld.param.u64 %%d0, [s]; ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
		"mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d3, %%r0, 48; add.u64 %%d1, %%d1, %%d3; mul.wide.u32 %%d3, %%r0, 32; add.u64 %%d2, %%d2, %%d3; ld.global.v2.u32 {%%r5, %%r6}, [%%d1]; ld.global.u32 %%r7, [%%d1+8];\n");
	for (unsigned k = 0; k < t->vec; k++)
		at += (size_t)snprintf(text + at, sizeof text - at,
			"ld.global.b%u %%%c1%u, [%%d1+%u];\n",
			reg == 'h'   ? 16
			: reg == 'r' ? 32
				     : 64,
			reg, k, 16 + 8 * k);
	at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", insn);
	for (unsigned k = 0; k < t->vec; k++)
		at += (size_t)snprintf(text + at, sizeof text - at,
			"st.global.b%u [%%d2+%u], %%%c1%u;\n",
			reg == 'h'   ? 16
			: reg == 'r' ? 32
				     : 64,
			8 * k, reg, k);
	snprintf(text + at, sizeof text - at, "ret; }\n");
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuMemcpyHtoD(in, t->t, sizeof t->t));
	OK(cuMemsetD8(out, 0, THREADS * 32));
	OK(cuLaunchKernel(f, 1, 1, 1, t->threads, 1, 1, 0, NULL, params, NULL));
	if (cuCtxSynchronize())
		fail_msg("%s", insn);
	OK(cuModuleUnload(m));
}

/* --- the model --- */
/* -1: the access is left out. */
static long place(const struct trial *t, int32_t x, int32_t y, int32_t z)
{
	const long n = t->size * t->vec, row = WIDTH * t->texel,
		   height = t->s->height ? t->s->height : 1, depth = t->s->depth ? t->s->depth : 1;
	const bool flat = t->s->name[strlen(t->s->name) - 2] == '1',
		   level = !strcmp(t->s->name, "2d");
	long at[3] = {x, flat ? 0 : y, flat && t->s->name[0] != 'a' ? 0 : level ? 0 : z};
	const long limit[3] = {row - n + 1, height, depth};

	for (unsigned k = 0; k < 3; k++) {
		if (at[k] >= 0 && at[k] < limit[k])
			continue;
		if (!strcmp(t->bound, "zero"))
			return -1;
		at[k] = at[k] < 0 ? 0 : limit[k] - 1;
	}
	return (at[2] * height + at[1]) * row + at[0];
}

static uint64_t reduced(const struct reduction *r, uint64_t a, uint64_t b)
{
	const int64_t x = r->size == 8 ? (int64_t)a : (int32_t)a,
		      y = r->size == 8 ? (int64_t)b : (int32_t)b;
	const bool less = r->is_signed ? x < y : a < b;

	if (!strcmp(r->op, "add"))
		return a + b;
	if (!strcmp(r->op, "and"))
		return a & b;
	if (!strcmp(r->op, "or"))
		return a | b;
	return less == !strcmp(r->op, "min") ? a : b;
}

static void expect(const struct trial *t, uint8_t *bytes, uint8_t *results)
{
	for (unsigned k = 0; k < t->threads; k++) {
		const long at = place(t, t->t[k].x, t->t[k].y, t->t[k].z);

		for (unsigned v = 0; v < t->vec; v++) {
			uint8_t *p = bytes + at + v * t->size;
			uint64_t value = t->t[k].v[v], old = 0;

			if (t->size < 8)
				value &= (1ull << (t->size < 4 ? 16 : 32)) - 1;
			if (at >= 0)
				memcpy(&old, p, t->size);
			if (t->what == LOAD)
				value = old;
			memcpy(results + 32 * k + 8 * v, &value, 8);
			if (t->what == REDUCE)
				value = reduced(
					t->red, old, t->size == 8 ? value : (uint32_t)value);
			if (t->what != LOAD && at >= 0)
				memcpy(p, &value, t->size);
		}
	}
}

/* --- trials --- */
static void any_access(struct trial *t, unsigned k)
{
	const long n = t->size * t->vec, places = WIDTH * t->texel / n;
	const bool inside = !strcmp(t->bound, "trap");
	const unsigned height = t->s->height ? t->s->height : 1,
		       depth = t->s->depth ? t->s->depth : 1;

	t->t[k].x = (int32_t)(n * (inside ? (long)next((uint32_t)places)
					  : (long)next((uint32_t)places + 6) - 3));
	t->t[k].y = inside ? (int32_t)next(height) : (int32_t)next(height + 4) - 2;
	t->t[k].z = inside || t->s->flags ? (int32_t)next(depth) : (int32_t)next(depth + 4) - 2;
	for (unsigned v = 0; v < 4; v++)
		t->t[k].v[v] = (uint64_t)next(1u << 31) << 33 ^ next(1u << 31) << 1 ^ next(7);
}

static struct trial any_trial(unsigned texel)
{
	static const char *const bounds[] = {"trap", "clamp", "zero"};
	struct trial t = {.s = &shapes[next(COUNT_OF(shapes))],
		.what = next(3),
		.texel = texel,
		.bound = bounds[next(3)],
		.vec = 1};

	if (t.what == REDUCE) {
		t.red = &reductions[next(COUNT_OF(reductions))];
		t.size = t.red->size;
	} else {
		t.size = 1u << next(4);
		t.vec = 1u << next(3);
		while (t.size * t.vec > 16)
			t.vec /= 2;
	}
	/* of two stores to one place the last is not defined */
	t.threads = t.what == STORE ? 1 : THREADS;
	for (unsigned k = 0; k < t.threads; k++)
		any_access(&t, k);
	return t;
}

static void test_accesses(void **state)
{
	static uint8_t want[BYTES], got[BYTES], results[THREADS * 32], has[THREADS * 32];

	for (unsigned n = 0; n < 500; n++) {
		const unsigned f = next(COUNT_OF(formats));
		struct trial t = any_trial(formats[f].texel);
		const struct soft_texture s = {.handle = 777,
			.surface = 1,
			.resource = CU_RESOURCE_TYPE_ARRAY,
			.format = formats[f].format,
			.channels = formats[f].channels,
			.width = WIDTH,
			.height = t.s->height,
			.depth = t.s->depth,
			.array_flags = t.s->flags | CUDA_ARRAY3D_SURFACE_LDST,
			.addr = memory};

		if (WIDTH * t.texel < t.size * t.vec)
			continue;
		for (unsigned k = 0; k < BYTES; k++)
			want[k] = (uint8_t)next(256);
		OK(cuMemcpyHtoD(memory, want, BYTES));
		assert_null(door->texture(&s));
		memset(results, 0, sizeof results);
		launch(&t, s.handle);
		expect(&t, want, results);
		OK(cuMemcpyDtoH(got, memory, BYTES));
		OK(cuMemcpyDtoH(has, out, sizeof has));
		for (unsigned k = 0; k < t.threads * 32; k++)
			if (has[k] != results[k])
				fail_msg(
					"%s, %u times %u bytes, .%s, texels of %u: thread %u at %d %d %d has byte %u %#x, not %#x",
					t.s->name, t.vec, t.size, t.bound, t.texel, k / 32,
					t.t[k / 32].x, t.t[k / 32].y, t.t[k / 32].z, k % 32, has[k],
					results[k]);
		for (unsigned k = 0; k < BYTES; k++)
			if (got[k] != want[k])
				fail_msg(
					"%s %s, %u times %u bytes, .%s, texels of %u: byte %u is %#x, not %#x",
					t.s->name,
					t.what == STORE ? "stored"
					: t.red		? t.red->op
							: "loaded",
					t.vec, t.size, t.bound, t.texel, k, got[k], want[k]);
	}
	door->texture_gone(777);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accesses),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
