/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces through the driver: descriptors, what wrong ones answer, sampling
 * by hand-computed values, and objects that are used wrongly in kernels.
 * tests/programs/ptx-suite/texture.cu has the formulas at length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
/* k(texture, out, x, y): one thread; its results are stored */
#define KERNEL(body)                                                                                         \
	HEAD ".visible .entry k(.param .u64 t, .param .u64 o, .param .f32 x, .param .f32 y)\n{\n"            \
	     ".reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"                                          \
	     "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [o]; ld.param.f32 %f4, [x]; ld.param.f32 %f5, [y];\n" \
	     "ld.param.b32 %r4, [x]; ld.param.b32 %r5, [y];\n" body                                          \
	     "st.global.v4.b32 [%d2], {%r0, %r1, %r2, %r3};\nret;\n}\n"

static CUcontext ctx;
static CUdeviceptr out;

static int setup(void **state)
{
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	OK(cuMemAlloc(&out, 64));
	return 0;
}

static int teardown(void **state)
{
	return cuCtxDestroy(ctx);
}

/* Runs `body` on one thread; x and y are bits. The launch's error, or the results. */
static CUresult fetch(const char *text, uint64_t object, uint32_t x, uint32_t y, uint32_t ret[4])
{
	void *params[4] = {&object, &out, &x, &y};
	CUfunction f;
	CUmodule m;
	CUresult r;

	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	r = cuCtxSynchronize();
	if (r == CUDA_SUCCESS) {
		OK(cuMemcpyDtoH(ret, out, 16));
		OK(cuModuleUnload(m));
	}
	return r;
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float number(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static CUarray array_2d(CUarray_format format, unsigned channels, size_t w, size_t h,
	unsigned flags, const void *data, size_t bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = w, .Height = h, .Format = format, .NumChannels = channels, .Flags = flags};
	CUarray a;

	OK(cuArray3DCreate(&a, &d));
	OK(cuMemcpyHtoA(a, 0, data, bytes));
	return a;
}

static CUtexObject texture_of(CUarray a, CUfilter_mode filter, CUaddress_mode mode, unsigned flags)
{
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
	CUDA_TEXTURE_DESC t = {.addressMode = {mode, mode, mode},
		.filterMode = filter,
		.flags = flags,
		.borderColor = {0.25f, 0.5f, 0.75f, 1}};
	CUtexObject ret;

	OK(cuTexObjectCreate(&ret, &r, &t, NULL));
	return ret;
}

/* --- arrays --- */

static void array_descriptors(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 5,
					.Height = 3,
					.Format = CU_AD_FORMAT_HALF,
					.NumChannels = 2},
				got;
	CUDA_ARRAY_DESCRIPTOR d2;
	CUarray a;

	IS(cuArray3DCreate(NULL, &d), INVALID_VALUE);
	OK(cuArray3DCreate(&a, &d));
	OK(cuArray3DGetDescriptor(&got, a));
	assert_memory_equal(&got, &d, sizeof(d));
	OK(cuArrayGetDescriptor(&d2, a));
	assert_int_equal(d2.Width, 5);
	assert_int_equal(d2.Height, 3);
	OK(cuArrayDestroy(a));
	IS(cuArrayDestroy(a), INVALID_HANDLE);
	IS(cuArray3DGetDescriptor(&got, a), INVALID_HANDLE);
	IS(cuArray3DGetDescriptor(&got, (CUarray)out), INVALID_HANDLE);

	d.NumChannels = 3;
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.NumChannels = 1;
	d.Format = (CUarray_format)7;
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.Format = CU_AD_FORMAT_BC1_UNORM;
	IS(cuArray3DCreate(&a, &d), NOT_SUPPORTED);
	d.Format = CU_AD_FORMAT_FLOAT;
	d.Width = 0;
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.Width = SIZE_MAX;
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.Width = 6;
	d.Height = 5;
	d.Depth = 6;
	d.Flags = CUDA_ARRAY3D_CUBEMAP;
	IS(cuArray3DCreate(&a, &d), INVALID_VALUE);
	d.Flags = CUDA_ARRAY3D_SPARSE;
	IS(cuArray3DCreate(&a, &d), NOT_SUPPORTED);
	d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = 16384,
		.Height = 16384,
		.Depth = 16384,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 4};
	IS(cuArray3DCreate(&a, &d), OUT_OF_MEMORY);
}

static void array_copies(void **state)
{
	uint8_t data[24], back[24];
	CUdeviceptr mem;
	CUarray a, b;
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = back,
		.dstPitch = 3,
		.srcXInBytes = 2,
		.srcY = 1,
		.WidthInBytes = 3,
		.Height = 2};

	for (unsigned i = 0; i < 24; i++)
		data[i] = (uint8_t)(i * 7);
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 3, 0, data, 24);
	b = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 3, 0, data, 1);
	OK(cuMemcpyAtoA(b, 0, a, 4, 20));
	OK(cuMemcpyAtoH(back, b, 1, 19));
	assert_memory_equal(back, data + 5, 19);
	OK(cuMemAlloc(&mem, 24));
	OK(cuMemcpyAtoD(mem, a, 20, 4));
	OK(cuMemcpyDtoA(b, 2, mem, 4));
	OK(cuMemcpyAtoH(back, b, 2, 4));
	assert_memory_equal(back, data + 20, 4);
	IS(cuMemcpyAtoH(back, a, 20, 5), INVALID_VALUE);
	IS(cuMemcpyAtoH(back, a, SIZE_MAX, 2), INVALID_VALUE);
	IS(cuMemcpyHtoA((CUarray)mem, 0, data, 4), INVALID_HANDLE);
	c.srcArray = a;
	OK(cuMemcpy2D(&c));
	assert_memory_equal(back, data + 10, 3);
	assert_memory_equal(back + 3, data + 18, 3);
	c.srcXInBytes = 6;
	IS(cuMemcpy2D(&c), INVALID_VALUE); /* past the row */
	c.srcXInBytes = 0;
	c.srcY = 2;
	IS(cuMemcpy2D(&c), INVALID_VALUE); /* past the last row */
	c.srcY = SIZE_MAX;
	IS(cuMemcpy2D(&c), INVALID_VALUE);
	OK(cuMemFree(mem));
	OK(cuArrayDestroy(a));
	OK(cuArrayDestroy(b));
}

/* --- objects --- */

static void object_descriptors(void **state)
{
	const float data[4] = {1, 2, 3, 4};
	CUarray a = array_2d(CU_AD_FORMAT_FLOAT, 1, 2, 2, 0, data, 16);
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a}, got;
	CUDA_TEXTURE_DESC t = {.addressMode = {CU_TR_ADDRESS_MODE_MIRROR},
				  .flags = CU_TRSF_NORMALIZED_COORDINATES},
			  tgot;
	CUtexObject x;
	CUsurfObject s;

	IS(cuTexObjectCreate(&x, &r, NULL, NULL), INVALID_VALUE);
	OK(cuTexObjectCreate(&x, &r, &t, NULL));
	OK(cuTexObjectGetResourceDesc(&got, x));
	assert_memory_equal(&got, &r, sizeof(r));
	OK(cuTexObjectGetTextureDesc(&tgot, x));
	assert_memory_equal(&tgot, &t, sizeof(t));
	IS(cuSurfObjectGetResourceDesc(&got, x), INVALID_VALUE);
	OK(cuTexObjectDestroy(x));
	IS(cuTexObjectDestroy(x), INVALID_VALUE);
	IS(cuTexObjectDestroy(0), INVALID_VALUE);
	IS(cuSurfObjectCreate(&s, &r), INVALID_VALUE); /* not made for surfaces */
	r.flags = 1;
	IS(cuTexObjectCreate(&x, &r, &t, NULL), INVALID_VALUE);
	r.flags = 0;
	t.addressMode[2] = (CUaddress_mode)4;
	IS(cuTexObjectCreate(&x, &r, &t, NULL), INVALID_VALUE);
	t.addressMode[2] = CU_TR_ADDRESS_MODE_CLAMP;
	r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	IS(cuTexObjectCreate(&x, &r, &t, NULL), NOT_SUPPORTED);
	r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {.devPtr = out,
			.format = CU_AD_FORMAT_FLOAT,
			.numChannels = 1,
			.sizeInBytes = 68}};
	IS(cuTexObjectCreate(&x, &r, &t, NULL), INVALID_VALUE); /* the allocation has 64 */
	r.res.linear.sizeInBytes = 64;
	OK(cuTexObjectCreate(&x, &r, &t, NULL));
	OK(cuTexObjectDestroy(x));
	r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
		.res.pitch2D = {.devPtr = out,
			.format = CU_AD_FORMAT_FLOAT,
			.numChannels = 1,
			.width = 8,
			.height = 2,
			.pitchInBytes = 33}};
	IS(cuTexObjectCreate(&x, &r, &t, NULL), INVALID_VALUE);
	r.res.pitch2D.pitchInBytes = 32;
	OK(cuTexObjectCreate(&x, &r, &t, NULL));
	OK(cuTexObjectDestroy(x));
	r.res.pitch2D.height = 3;
	IS(cuTexObjectCreate(&x, &r, &t, NULL), INVALID_VALUE);
	OK(cuArrayDestroy(a));
}

#define TEX2D                                                                                      \
	KERNEL("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}];\n"                      \
	       "mov.b32 %r0, %f0; mov.b32 %r1, %f1; mov.b32 %r2, %f2; mov.b32 %r3, %f3;\n")

static void sampling(void **state)
{
	const uint8_t px[8] = {0, 51, 102, 255, 10, 20, 30, 40};
	CUarray a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 2, 2, 2, 0, px, 8);
	CUtexObject t = texture_of(a, CU_TR_FILTER_MODE_LINEAR, CU_TR_ADDRESS_MODE_CLAMP, 0);
	uint32_t v[4];

	/* the middle of the upper two texels: (0 + 102) / 2 / 255 = 0.2, (51 + 255) / 2 / 255 = 0.6
	 */
	OK(fetch(TEX2D, t, bits(1), bits(0.5f), v));
	assert_float_equal(number(v[0]), 0.2, 1e-7);
	assert_float_equal(number(v[1]), 0.6, 1e-7);
	assert_int_equal(v[2], 0);
	assert_int_equal(v[3], 0);
	/* 1/512 of a texel to the right of texel 0: rounds up to a weight of 1/256; (255 * 0 + 1 *
	 * 102 * 257) / 256 = 102.4 of 65535 */
	OK(fetch(TEX2D, t, bits(0.5f + 1.0f / 512), bits(0.5f), v));
	assert_int_equal(v[0], bits(102.0f / 65535));
	/* not quite that far: rounds down to 0 */
	OK(fetch(TEX2D, t, bits(0.5f + 0.9f / 512), bits(0.5f), v));
	assert_int_equal(v[0], 0);
	/* NaN and infinities stay inside */
	OK(fetch(TEX2D, t, 0x7fc00000, 0x7f800000, v));
	assert_int_equal(v[0], bits(10.0f / 255));
	OK(cuTexObjectDestroy(t));
	/* the border's colour outside, halved half a texel away */
	t = texture_of(a, CU_TR_FILTER_MODE_LINEAR, CU_TR_ADDRESS_MODE_BORDER, 0);
	OK(fetch(TEX2D, t, bits(-3), bits(0.5f), v));
	assert_int_equal(v[0], bits(64.0f / 255)); /* 0.25 as a texel holds it, and 0.5 is 127 */
	OK(fetch(TEX2D, t, bits(0), bits(0.5f), v));
	assert_int_equal(v[1], bits((51 + 127) / 2 * 257 / 65535.0f));
	OK(cuTexObjectDestroy(t));
	/* as they are */
	t = texture_of(a, CU_TR_FILTER_MODE_POINT, CU_TR_ADDRESS_MODE_WRAP,
		CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES);
	OK(fetch(TEX2D, t, bits(1.75f), bits(-0.25f), v));
	assert_int_equal(v[0], 30);
	assert_int_equal(v[1], 40);
	OK(cuTexObjectDestroy(t));
	OK(cuArrayDestroy(a));
}

static void questions(void **state)
{
	const float data[6] = {0};
	CUarray a = array_2d(CU_AD_FORMAT_FLOAT, 1, 3, 2, 0, data, 24);
	CUtexObject t = texture_of(a, CU_TR_FILTER_MODE_POINT, CU_TR_ADDRESS_MODE_CLAMP,
		CU_TRSF_NORMALIZED_COORDINATES);
	uint32_t v[4];

	OK(fetch(
		KERNEL("txq.width.b32 %r0, [%d1]; txq.height.b32 %r1, [%d1]; txq.depth.b32 %r2, [%d1]; txq.normalized_coords.b32 %r3, [%d1];\n"),
		t, 0, 0, v));
	assert_int_equal(v[0], 3);
	assert_int_equal(v[1], 2);
	assert_int_equal(v[2], 0);
	assert_int_equal(v[3], 1);
	OK(cuTexObjectDestroy(t));
	OK(cuArrayDestroy(a));
}

/* --- surfaces --- */

static CUsurfObject surface_of(CUarray a)
{
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
	CUsurfObject s;

	OK(cuSurfObjectCreate(&s, &r));
	return s;
}

static void reductions(void **state)
{
	int32_t data[4] = {5, -6, 7, 8}, back[4];
	CUarray a =
		array_2d(CU_AD_FORMAT_SIGNED_INT32, 1, 4, 1, CUDA_ARRAY3D_SURFACE_LDST, data, 16);
	CUsurfObject s = surface_of(a);
	uint32_t v[4];

	OK(fetch(
		KERNEL("mov.u32 %r6, 0; mov.u32 %r7, -20;\n"
		       "sured.b.add.2d.s32.trap [%d1, {%r6, %r6}], %r7; mov.u32 %r6, 4; mov.u32 %r5, 0;\n"
		       "sured.b.max.2d.s32.trap [%d1, {%r6, %r5}], 3; mov.u32 %r6, 8;\n"
		       "sured.b.min.2d.u32.zero [%d1, {%r6, %r5}], %r7; mov.u32 %r6, 3;\n"
		       "sured.p.or.2d.b32.clamp [%d1, {%r6, %r6}], 16; mov.u32 %r6, 400; sured.b.add.2d.s32.zero [%d1, {%r6, %r5}], 1;\n"
		       "suld.b.2d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%d1, {%r5, %r5}];\n"),
		s, 0, 0, v));
	OK(cuMemcpyAtoH(back, a, 0, 16));
	assert_memory_equal(back, v, 16);
	assert_int_equal(back[0], -15);
	assert_int_equal(back[1], 3);
	assert_int_equal(back[2], 7);
	assert_int_equal(back[3], 24);
	OK(cuSurfObjectDestroy(s));
	OK(cuArrayDestroy(a));
}

/* Stores of every size by 32 threads, a row for each; constants among what is stored. x is in
 * bytes: PTX ISA, sust. */
#define STORES                                                                                                        \
	HEAD ".visible .entry k(.param .u64 s)\n{\n"                                                                  \
	     ".reg .b16 %h<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"                                                   \
	     "ld.param.u64 %d1, [s]; mov.u32 %r0, %tid.x; cvt.u16.u32 %h1, %r0; mul.wide.u32 %d2, %r0, 1000000000;\n" \
	     "sust.b.2d.b8.trap [%d1, {%r0, 0}], %h1; shl.b32 %r1, %r0, 1;\n"                                         \
	     "sust.b.2d.b16.trap [%d1, {%r1, 1}], %h1; shl.b32 %r1, %r0, 2;\n"                                        \
	     "sust.b.2d.b32.trap [%d1, {%r1, 2}], 305419896; shl.b32 %r1, %r0, 3;\n"                                  \
	     "sust.b.2d.b64.trap [%d1, {%r1, 3}], %d2;\n"                                                             \
	     "sust.b.2d.v2.b32.trap [%d1, {%r1, 4}], {%r0, 7}; shl.b32 %r1, %r0, 4;\n"                                \
	     "sust.b.2d.v4.b32.trap [%d1, {%r1, 5}], {1, %r0, 305419896, %r0};\nret;\n}\n"

static void stores(void **state)
{
	static uint8_t rows[6][512], back[6][512];
	CUarray a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 512, 6, CUDA_ARRAY3D_SURFACE_LDST, rows,
		sizeof rows);
	CUsurfObject s = surface_of(a);
	void *params[] = {&s};
	CUfunction f;
	CUmodule m;

	OK(cuModuleLoadData(&m, STORES));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	for (uint32_t t = 0; t < 32; t++) {
		const uint64_t wide = t * 1000000000ull;

		rows[0][t] = (uint8_t)t;
		memcpy(&rows[1][2 * t], &(uint16_t){(uint16_t)t}, 2);
		memcpy(&rows[2][4 * t], &(uint32_t){0x12345678}, 4);
		memcpy(&rows[3][8 * t], &wide, 8);
		memcpy(&rows[4][8 * t], (uint32_t[]){t, 7}, 8);
		memcpy(&rows[5][16 * t], (uint32_t[]){1, t, 0x12345678, t}, 16);
	}
	OK(cuMemcpyAtoH(back, a, 0, sizeof back));
	for (unsigned y = 0; y < 6; y++)
		assert_memory_equal(back[y], rows[y], 512);
	OK(cuModuleUnload(m));
	OK(cuSurfObjectDestroy(s));
	OK(cuArrayDestroy(a));
}

/* --- wrong use in kernels: each in a context of its own, which the fault ends --- */

static void fresh(void)
{
	CUdevice dev = 0;

	cuCtxDestroy(ctx);
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	OK(cuMemAlloc(&out, 64));
}

static void misuse(void **state)
{
	const uint8_t data[64] = {0};
	uint32_t v[4];
	CUarray a;
	CUtexObject t;
	CUsurfObject s;

	memset(v, 1, sizeof(v));
	OK(fetch(TEX2D, 12345678, 0, 0, v)); /* no fault on an H200 either */
	assert_int_equal(v[0] | v[1] | v[2] | v[3], 0);
	OK(fetch(TEX2D, ~0ull, 0, 0, v));
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 8, CUDA_ARRAY3D_SURFACE_LDST, data, 64);
	s = surface_of(a);
	IS(fetch(TEX2D, s, 0, 0, v), ILLEGAL_INSTRUCTION); /* a surface is no texture */
	fresh();
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 8, CUDA_ARRAY3D_SURFACE_LDST, data, 64);
	t = texture_of(a, CU_TR_FILTER_MODE_POINT, CU_TR_ADDRESS_MODE_CLAMP, 0);
	OK(cuArrayDestroy(a));
	IS(fetch(TEX2D, t, 0, 0, v), ILLEGAL_INSTRUCTION);
	fresh();
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 8, CUDA_ARRAY3D_SURFACE_LDST, data, 64);
	t = texture_of(a, CU_TR_FILTER_MODE_POINT, CU_TR_ADDRESS_MODE_CLAMP, 0);
	IS(fetch(KERNEL("tex.3d.v4.s32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%f4, %f5, %f4, %f4}];\n"),
		   t, 0, 0, v),
		ILLEGAL_INSTRUCTION);
	fresh();
#define SULD                                                                                       \
	KERNEL("suld.b.2d.b32.trap %r0, [%d1, {%r4, %r5}]; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n")
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 8, CUDA_ARRAY3D_SURFACE_LDST, data, 64);
	s = surface_of(a);
	OK(fetch(SULD, s, 4, 7, v));
	IS(fetch(SULD, s, 8, 7, v), ILLEGAL_ADDRESS); /* outside */
	fresh();
	a = array_2d(CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 8, CUDA_ARRAY3D_SURFACE_LDST, data, 64);
	s = surface_of(a);
	IS(fetch(SULD, s, 2, 0, v), MISALIGNED_ADDRESS);
	fresh();
	/* memory of the program's that has gone */
	{
		CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR,
			.res.linear = {
				.format = CU_AD_FORMAT_FLOAT, .numChannels = 1, .sizeInBytes = 64}};
		CUDA_TEXTURE_DESC d = {.flags = 0};

		OK(cuMemAlloc(&r.res.linear.devPtr, 64));
		OK(cuTexObjectCreate(&t, &r, &d, NULL));
		OK(cuMemFree(r.res.linear.devPtr));
		IS(fetch(KERNEL("tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%d1, {%r4}];\n"), t, 0, 0,
			   v),
			ILLEGAL_ADDRESS);
		fresh();
	}
}

/* What has no row stops the launch; what is no PTX stops the load. */
static void texts(void **state)
{
	static const char *const refused[] = {
		"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4}];",
		"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5, %f4, %f4}];",
		"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}], {%r4, %r5};",
		"tex.2d.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}];",
		"tex.2d.v4.f32.f32 {%f0, %f1}, [%d1, {%f4, %f5}];",
		"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%r4, {%f4, %f5}];",
		"tld4.r.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5, %f4}];",
		"txq.width.b32 %r0, [%d1, {%f4}];",
		"suld.b.2d.b32 %r0, [%d1, {%r4, %r5}];",
		"suld.p.2d.b32.trap %r0, [%d1, {%r4, %r5}];",
		"suld.b.cube.b32.trap %r0, [%d1, {%r4, %r5, %r5}];",
		"sured.b.add.2d.b32.trap [%d1, {%r4, %r5}], 1;",
		"ld.global.b32 %r0, [%d2, {%r4}];",
	};
	char text[2048];
	uint32_t v[4];
	unsigned i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		snprintf(text, sizeof(text), "%s%s\nret;\n}\n",
			HEAD
			".visible .entry k(.param .u64 t, .param .u64 o, .param .f32 x, .param .f32 y)\n{\n"
			".reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [o];\n",
			refused[i]);
		assert_int_equal(fetch(text, 1, 0, 0, v), CUDA_ERROR_ILLEGAL_INSTRUCTION);
		fresh();
	}
	{
		CUmodule m;

		IS(cuModuleLoadData(&m, HEAD ".global .texref t;\n"), INVALID_PTX);
		IS(cuModuleLoadData(&m, HEAD
			   ".visible .entry k()\n{ .reg .b64 %d<2>; .reg .b32 %r<2>; txq.width.b32 %r0, [%d1, {; ret; }\n"),
			INVALID_PTX);
		IS(cuModuleLoadData(&m, HEAD
			   ".visible .entry k()\n{ .reg .b64 %d<2>; .reg .b32 %r<2>; txq.width.b32 %r0, [%d1,; ret; }\n"),
			INVALID_PTX);
		IS(cuModuleLoadData(&m, HEAD
			   ".visible .entry k()\n{ .reg .b64 %d<2>; .reg .b32 %r<2>; suld.b.1d.b32.trap %r0, [%d1, {%r9}]; ret; }\n"),
			INVALID_PTX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_descriptors),
		cmocka_unit_test(array_copies),
		cmocka_unit_test(object_descriptors),
		cmocka_unit_test(sampling),
		cmocka_unit_test(questions),
		cmocka_unit_test(reductions),
		cmocka_unit_test(stores),
		cmocka_unit_test(misuse),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
