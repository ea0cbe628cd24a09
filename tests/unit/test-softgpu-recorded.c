/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects of a recording, which are put where a replay has their memory: each
 * must answer what the object answers that a program makes of the same description, for every
 * shape, format, way of addressing and filter; what the driver refuses is refused. And programs
 * that were linked from several parts (nvcc -rdc=true), whose wrapper lists these.
 */
#include "softgpu-test.h"

#include "replayer/soft-watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state_;
static uint32_t next(uint32_t n)
{
	uint64_t x = state_ += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* --- kernels --- */
enum shape { A1D, A2D, A3D, L1D, L2D, CUBE, LCUBE, LINEAR, PITCH, SHAPES };
static const char *const fetches[SHAPES] = {
	"tex.1d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f0}];",
	"tex.2d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f0, %f1}];",
	"tex.3d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f0, %f1, %f2, %f2}];",
	"tex.a1d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%r5, %f0}];",
	"tex.a2d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%r5, %f0, %f1, %f1}];",
	"tex.cube.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f0, %f1, %f2, %f2}];",
	"tex.acube.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%r5, %f0, %f1, %f2}];",
	"tex.1d.v4.b32.s32 {%r1, %r2, %r3, %r4}, [%d0, {%r5}];",
	"tex.2d.v4.b32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f0, %f1}];",
};
#define THREADS 64

static CUmodule module;
static CUfunction kernels[SHAPES], load, store;
static CUdeviceptr in, out;
static const struct soft_watch *door;

static void write_kernel(char *text, size_t *at, size_t room, const char *name, const char *body)
{
	char typed[256], *b32;

	snprintf(typed, sizeof(typed), "%s", body);
	b32 = strstr(typed, "v4.b32");
	if (b32)
		b32[3] = 'u';
	*at += (size_t)snprintf(text + *at, room - *at,
		".visible .entry %s(.param .u64 object, .param .u64 in, .param .u64 out) {\n"
		".reg .b32 %%r<9>; .reg .b64 %%d<6>; .reg .f32 %%f<5>;\n"
		"ld.param.u64 %%d0, [object]; ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d3, %%r0, 16; add.u64 %%d1, %%d1, %%d3; add.u64 %%d2, %%d2, %%d3;\n"
		"ld.global.v2.f32 {%%f0, %%f1}, [%%d1]; ld.global.f32 %%f2, [%%d1+8]; ld.global.u32 %%r5, [%%d1+12]; mov.u32 %%r1, 0; mov.u32 %%r2, 0; mov.u32 %%r3, 0; mov.u32 %%r4, 0;\n"
		"%s\nst.global.v4.u32 [%%d2], {%%r1, %%r2, %%r3, %%r4}; ret; }\n",
		name, typed);
}

static int start(void **state)
{
	const struct soft_watch *(*table)(void);
	static char text[16384];
	size_t at;

	softgpu_start(state);
	*(void **)&table = dlsym(RTLD_DEFAULT, SOFT_WATCH_SYMBOL);
	assert_non_null(table);
	door = table();
	at = (size_t)snprintf(
		text, sizeof(text), ".version 8.0\n.target sm_75\n.address_size 64\n");
	for (unsigned k = 0; k < SHAPES; k++) {
		char name[8];

		snprintf(name, sizeof(name), "k%u", k);
		write_kernel(text, &at, sizeof(text), name, fetches[k]);
	}
	/* surfaces, x in bytes: 64 bytes of the first row */
	write_kernel(text, &at, sizeof(text), "load",
		"and.b32 %r5, %r0, 15; shl.b32 %r5, %r5, 2; shr.u32 %r6, %r0, 4; suld.b.2d.b32.trap %r1, [%d0, {%r5, %r6}];");
	write_kernel(text, &at, sizeof(text), "store",
		"and.b32 %r7, %r0, 15; shl.b32 %r7, %r7, 2; shr.u32 %r6, %r0, 4; sust.b.2d.b32.trap [%d0, {%r7, %r6}], {%r5};");
	assert_true(at < sizeof(text));
	OK(cuModuleLoadData(&module, text));
	for (unsigned k = 0; k < SHAPES; k++) {
		char name[8];

		snprintf(name, sizeof(name), "k%u", k);
		OK(cuModuleGetFunction(&kernels[k], module, name));
	}
	OK(cuModuleGetFunction(&load, module, "load"));
	OK(cuModuleGetFunction(&store, module, "store"));
	OK(cuMemAlloc(&in, THREADS * 16));
	OK(cuMemAlloc(&out, THREADS * 16));
	return 0;
}

static int stop(void **state)
{
	OK(cuMemFree(in));
	OK(cuMemFree(out));
	OK(cuModuleUnload(module));
	return softgpu_stop(state);
}

static void launch(CUfunction f, uint64_t object, uint32_t *ret)
{
	void *params[] = {&object, &in, &out};

	OK(cuMemsetD8(out, 0xee, THREADS * 16));
	OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(ret, out, THREADS * 16));
}

/* --- one object both ways --- */
struct both {
	enum shape shape;
	struct soft_texture t;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
	size_t bytes; /* of texels */
	CUarray array;
	CUdeviceptr memory; /* the recorded object's */
};

static const struct {
	CUarray_format format;
	unsigned bytes;
} formats[] = {
	{CU_AD_FORMAT_UNSIGNED_INT8, 1},
	{CU_AD_FORMAT_UNSIGNED_INT16, 2},
	{CU_AD_FORMAT_UNSIGNED_INT32, 4},
	{CU_AD_FORMAT_SIGNED_INT8, 1},
	{CU_AD_FORMAT_SIGNED_INT16, 2},
	{CU_AD_FORMAT_SIGNED_INT32, 4},
	{CU_AD_FORMAT_HALF, 2},
	{CU_AD_FORMAT_FLOAT, 4},
};

static void any_sampling(struct both *b)
{
	static const unsigned flags[] = {
		0, CU_TRSF_READ_AS_INTEGER, CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_SRGB};

	for (unsigned k = 0; k < 3; k++) {
		b->t.address[k] = next(60) ? next(4) : 4; /* there is no fifth */
		b->tex.addressMode[k] = (CUaddress_mode)b->t.address[k];
	}
	b->t.filter = next(60) ? next(2) : 2;
	b->tex.filterMode = (CUfilter_mode)b->t.filter;
	b->t.flags = flags[next(4)] | flags[next(3)];
	b->tex.flags = b->t.flags;
	for (unsigned k = 0; k < 4; k++) {
		const float f = (float)(k + 1) / 8;

		b->tex.borderColor[k] = f;
		memcpy(&b->t.border[k], &f, 4);
	}
}

static void any_shape(struct both *b)
{
	struct soft_texture *t = &b->t;
	const bool layered = b->shape == L1D || b->shape == L2D || b->shape == LCUBE,
		   cube = b->shape == CUBE || b->shape == LCUBE;

	t->width = 2 + next(7);
	t->height = b->shape == A1D || b->shape == L1D ? 0 : cube ? t->width : 1 + next(6);
	t->depth = b->shape == A3D     ? 1 + next(5)
		   : b->shape == LCUBE ? 6 + 6 * next(2)
		   : cube	       ? 6
				       : 0;
	if (layered && !cube)
		t->depth = 1 + next(4);
	t->array_flags = (layered ? CUDA_ARRAY3D_LAYERED : 0) | (cube ? CUDA_ARRAY3D_CUBEMAP : 0);
}

static CUdeviceptr texels(size_t n)
{
	CUdeviceptr ret;

	OK(cuMemAlloc(&ret, n));
	for (size_t k = 0; k + 1 < n; k += 2) /* halves and floats of moderate size among them */
		OK(cuMemsetD16(ret + k, (unsigned short)(0x3000 + next(0x1000)), 1));
	if (n & 1)
		OK(cuMemsetD8(ret + n - 1, (unsigned char)next(256), 1));
	return ret;
}

static void make_array(struct both *b, unsigned texel)
{
	const struct soft_texture *t = &b->t;
	const size_t rows = t->height ? t->height : 1, slices = t->depth ? t->depth : 1;
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = t->width,
		.Height = t->height,
		.Depth = t->depth,
		.Format = (CUarray_format)t->format,
		.NumChannels = t->channels,
		.Flags = t->array_flags};
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcPitch = t->width * texel,
		.srcHeight = rows,
		.WidthInBytes = t->width * texel,
		.Height = rows,
		.Depth = slices};

	OK(cuArray3DCreate(&b->array, &d));
	b->bytes = t->width * texel * rows * slices;
	b->memory = texels(b->bytes);
	c.srcDevice = b->memory;
	c.dstArray = b->array;
	OK(cuMemcpy3D(&c));
	b->res = (CUDA_RESOURCE_DESC){
		.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = b->array};
}

static void make_memory(struct both *b, unsigned texel)
{
	struct soft_texture *t = &b->t;

	if (b->shape == LINEAR) {
		t->size = t->width * texel;
		b->bytes = t->size;
		b->memory = texels(b->bytes);
		b->res.resType = CU_RESOURCE_TYPE_LINEAR;
		b->res.res.linear.devPtr = b->memory;
		b->res.res.linear.format = (CUarray_format)t->format;
		b->res.res.linear.numChannels = t->channels;
		b->res.res.linear.sizeInBytes = t->size;
		return;
	}
	t->pitch = 512 * (1 + next(2));
	b->bytes = t->pitch * t->height;
	b->memory = texels(b->bytes);
	b->res.resType = CU_RESOURCE_TYPE_PITCH2D;
	b->res.res.pitch2D.devPtr = b->memory;
	b->res.res.pitch2D.format = (CUarray_format)t->format;
	b->res.res.pitch2D.numChannels = t->channels;
	b->res.res.pitch2D.width = t->width;
	b->res.res.pitch2D.height = t->height;
	b->res.res.pitch2D.pitchInBytes = t->pitch;
}

static struct both any_both(void)
{
	static const unsigned channels[] = {1, 2, 4};
	const unsigned format = next(COUNT_OF(formats));
	struct both b = {.shape = next(SHAPES)};
	unsigned texel;

	b.t.format = formats[format].format;
	b.t.channels = channels[next(3)];
	texel = formats[format].bytes * b.t.channels;
	any_shape(&b);
	any_sampling(&b);
	if (b.shape == LINEAR || b.shape == PITCH)
		make_memory(&b, texel);
	else
		make_array(&b, texel);
	b.t.resource = b.res.resType;
	b.t.addr = b.memory;
	return b;
}

static void unmake(const struct both *b)
{
	if (b->array)
		OK(cuArrayDestroy(b->array));
	OK(cuMemFree(b->memory));
}

/* Some inside, some outside, in texels or from 0 to 1. */
static void any_coordinates(const struct both *b)
{
	for (unsigned t = 0; t < THREADS; t++) {
		float f[3];
		uint32_t u[4];

		for (unsigned k = 0; k < 3; k++) {
			f[k] = (float)(int)(next(4000) - 1200) / 256;
			if (b->t.flags & CU_TRSF_NORMALIZED_COORDINATES)
				f[k] /= 4;
		}
		memcpy(u, f, 12);
		u[3] = next(12) - 2;
		OK(cuMemcpyHtoD(in + 16 * t, u, 16));
	}
}

static unsigned compare(struct both *b, uint64_t handle)
{
	static uint32_t want[THREADS * 4], got[THREADS * 4];
	CUtexObject made = 0;
	const CUresult r = cuTexObjectCreate(&made, &b->res, &b->tex, NULL);
	const char *why;

	b->t.handle = handle;
	why = door->texture(&b->t);
	if ((r == CUDA_SUCCESS) != !why)
		fail_msg("the driver answers %d, the door %s", r, why ? why : "nothing");
	if (why)
		return 0;
	any_coordinates(b);
	launch(kernels[b->shape], made, want);
	launch(kernels[b->shape], handle, got);
	for (unsigned k = 0; k < THREADS * 4; k++)
		if (got[k] != want[k])
			fail_msg(
				"shape %u, format %#x, %u channels, %ux%ux%u, flags %#x, addressing %u %u %u, filter %u, thread %u: %#x, not %#x",
				b->shape, b->t.format, b->t.channels, (unsigned)b->t.width,
				(unsigned)b->t.height, (unsigned)b->t.depth, b->t.flags,
				b->t.address[0], b->t.address[1], b->t.address[2], b->t.filter,
				k / 4, got[k], want[k]);
	OK(cuTexObjectDestroy(made));
	return 1;
}

/* The handle is used again and again: what is put there replaces what was. */
static void test_textures(void **state)
{
	unsigned done = 0;

	state_ = 1;
	for (unsigned k = 0; k < 250; k++) {
		struct both b = any_both();

		done += compare(&b, 50000 + k % 3);
		unmake(&b);
	}
	assert_true(done > 100);
	for (unsigned k = 0; k < 3; k++)
		door->texture_gone(50000 + k);
}

static void test_handles(void **state)
{
	struct both b;

	state_ = 2;
	do
		b = any_both();
	while (b.shape != LINEAR);
	memset(b.t.address, 0, sizeof(b.t.address));
	b.t.filter = b.t.flags = 0;
	b.t.handle = 65536;
	assert_null(door->texture(&b.t));
	door->texture_gone(65536);
	b.t.handle = 65537; /* there are so many */
	assert_non_null(door->texture(&b.t));
	b.t.handle = 0;
	assert_non_null(door->texture(&b.t));
	b.t.handle = 1ull << 32 | 1;
	assert_non_null(door->texture(&b.t));
	b.t.handle = 100;
	b.t.resource = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	assert_non_null(door->texture(&b.t));
	b.t.resource = 99;
	assert_non_null(door->texture(&b.t));
	b.t.resource = CU_RESOURCE_TYPE_LINEAR;
	b.t.addr = 4096; /* no memory */
	assert_non_null(door->texture(&b.t));
	unmake(&b);
}

/* A surface of an array: loads and stores, where the recorded one's texels are. */
static void test_surfaces(void **state)
{
	struct soft_texture t = {.handle = 1234,
		.surface = 1,
		.resource = CU_RESOURCE_TYPE_ARRAY,
		.format = CU_AD_FORMAT_UNSIGNED_INT32,
		.channels = 1,
		.width = 16,
		.height = 4,
		.array_flags = CUDA_ARRAY3D_SURFACE_LDST};
	uint32_t coordinates[THREADS * 4] = {0}, got[THREADS * 4], words[64];
	CUdeviceptr memory;

	for (unsigned k = 0; k < THREADS; k++)
		coordinates[4 * k + 3] = 1000 + k;
	OK(cuMemcpyHtoD(in, coordinates, sizeof(coordinates)));
	OK(cuMemAlloc(&memory, 256));
	for (unsigned k = 0; k < 64; k++)
		OK(cuMemsetD32(memory + 4 * k, 7 * k, 1));
	t.addr = memory;
	assert_null(door->texture(&t));
	launch(load, t.handle, got);
	for (unsigned k = 0; k < THREADS; k++)
		assert_int_equal(got[4 * k], 7 * k);
	launch(store, t.handle, got);
	OK(cuMemcpyDtoH(words, memory, 256));
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(words[k], 1000 + k);
	t.height = 5; /* more than there is memory for */
	assert_non_null(door->texture(&t));
	t.height = 4;
	t.resource = CU_RESOURCE_TYPE_LINEAR;
	t.size = 256;
	assert_non_null(door->texture(&t)); /* surfaces are of arrays */
	door->texture_gone(t.handle);
	OK(cuMemFree(memory));
}

/* --- programs of several parts --- */
struct bytes {
	unsigned char b[4096];
	size_t n;
};

static void put(struct bytes *x, uint64_t value, unsigned size)
{
	for (; size; size--, value >>= 8)
		x->b[x->n++] = (unsigned char)value;
}

/* A fat binary of one entry. kind 1: PTX, 2: machine code. */
static void fat_binary(struct bytes *x, unsigned kind, const char *text)
{
	const size_t n = strlen(text), padded = (n + 7) & ~(size_t)7;

	memset(x, 0, sizeof(*x));
	put(x, 0xba55ed50, 4);
	put(x, 1, 2);
	put(x, 16, 2);
	put(x, 0x40 + padded, 8);
	put(x, kind, 2);
	put(x, 0x0101, 2);
	put(x, 0x40, 4);
	put(x, padded, 8);
	put(x, 0, 4);
	put(x, 0x40, 4);
	put(x, 0x00090000, 4);
	put(x, 75, 4);
	put(x, 0, 8);
	put(x, 0x11, 8);
	put(x, 0, 16);
	memcpy(x->b + x->n, text, n);
	x->n += padded;
}

#define PART_HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
static const char caller[] = PART_HEAD
	".extern .func (.param .b32 r) helper(.param .b32 a);\n.extern .global .align 4 .u32 shared_word;\n"
	".visible .entry k(.param .u64 o) { .reg .b32 %r<5>; .reg .b64 %d<3>; ld.param.u64 %d0, [o]; mov.u32 %r1, 5;\n"
	"{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), helper, (a); ld.param.b32 %r2, [r]; }\n"
	"ld.global.u32 %r3, [shared_word]; add.u32 %r2, %r2, %r3; st.global.u32 [%d0], %r2; ret; }\n";
static const char callee[] = PART_HEAD
	".visible .global .align 4 .u32 shared_word = 900;\n"
	".visible .func (.param .b32 r) helper(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; mul.lo.u32 %r2, %r1, 11; st.param.b32 [r], %r2; ret; }\n";

static struct bytes binaries[4], machine;
static struct {
	uint32_t magic, version;
	const void *code;
	const void *const *parts;
} wrapper;

/* What a program holds whose machine code was linked from these parts. */
static CUresult load_parts(CUmodule *m, const void *const *parts)
{
	fat_binary(&machine, 2,
		"\x7f"
		"ELF....");
	wrapper.magic = 0x466243b1;
	wrapper.version = 2;
	wrapper.code = machine.b;
	wrapper.parts = parts;
	return cuModuleLoadData(m, &wrapper);
}

static void test_parts(void **state)
{
	const void *both[] = {binaries[0].b, binaries[1].b, NULL},
		   *with_machine[] = {binaries[2].b, binaries[1].b, binaries[0].b, NULL},
		   *missing[] = {binaries[0].b, NULL}, *none[] = {NULL},
		   *only_machine[] = {binaries[2].b, NULL},
		   *wrong[] = {binaries[0].b, binaries[3].b, binaries[1].b, NULL};
	const void *const *good[] = {both, with_machine};
	CUfunction f;
	CUmodule m;

	fat_binary(&binaries[0], 1, caller);
	fat_binary(&binaries[1], 1, callee);
	fat_binary(&binaries[2], 2,
		"\x7f"
		"ELF....");
	binaries[3] = binaries[0];
	binaries[3].b[0] ^= 1;
	for (unsigned k = 0; k < 2; k++) {
		void *params[] = {&out};
		uint32_t got;

		OK(load_parts(&m, good[k]));
		OK(cuModuleGetFunction(&f, m, "k"));
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		OK(cuCtxSynchronize());
		OK(cuMemcpyDtoH(&got, out, 4));
		assert_int_equal(got, 955);
		OK(cuModuleUnload(m));
	}
	IS(load_parts(&m, none), NO_BINARY_FOR_GPU);
	IS(load_parts(&m, only_machine), NO_BINARY_FOR_GPU);
	IS(load_parts(&m, wrong), INVALID_IMAGE);
	assert_int_not_equal(load_parts(&m, missing), CUDA_SUCCESS); /* helper is nowhere */
	/* PTX in the binary that was linked is what runs, whatever the parts hold */
	fat_binary(&machine, 1, callee);
	wrapper.parts = none;
	OK(cuModuleLoadData(&m, &wrapper));
	OK(cuModuleUnload(m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_textures),
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_surfaces),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
