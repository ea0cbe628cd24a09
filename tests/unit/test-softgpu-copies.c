/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes copied between host memory, device memory and arrays, at random places with random pitches,
 * against a copy byte by byte; a box that lacks a side copies nothing. What a pitch or a height of
 * 0 means: tests/programs/pitches.cu.
 */
#include "softgpu-test.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 4096
#define WIDTH 24 /* of the arrays, one byte each */
#define HEIGHT 9
#define DEPTH 6

static unsigned seed = 1;
static size_t rnd(size_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 9) % n;
}

/* One side of a copy: where it is, and all bytes there. */
struct side {
	CUmemorytype type;
	size_t x, y, z, pitch, rows;
	unsigned char *host;
	CUdeviceptr device;
	CUarray array;
	unsigned char bytes[BYTES];
};

static struct side sides[2];

static size_t size_of(const struct side *s)
{
	return s->type == CU_MEMORYTYPE_ARRAY ? WIDTH * HEIGHT * DEPTH : BYTES;
}

/* All of an array from or to memory of the host. */
static void whole_array(const struct side *s, unsigned char *host, bool in)
{
	CUDA_MEMCPY3D c = {.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY,
		.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.dstHost = host,
		.srcArray = s->array,
		.dstArray = s->array,
		.srcPitch = WIDTH,
		.dstPitch = WIDTH,
		.srcHeight = HEIGHT,
		.dstHeight = HEIGHT,
		.WidthInBytes = WIDTH,
		.Height = HEIGHT,
		.Depth = DEPTH};

	OK(cuMemcpy3D(&c));
}

static void fill(struct side *s)
{
	for (size_t k = 0; k < size_of(s); k++)
		s->bytes[k] = (unsigned char)rnd(256);
	if (s->type == CU_MEMORYTYPE_ARRAY)
		whole_array(s, s->bytes, true);
	else if (s->type == CU_MEMORYTYPE_HOST)
		memcpy(s->host, s->bytes, BYTES);
	else
		OK(cuMemcpyHtoD(s->device, s->bytes, BYTES));
}

static void is_as_expected(const struct side *s)
{
	unsigned char got[BYTES];

	if (s->type == CU_MEMORYTYPE_ARRAY)
		whole_array(s, got, false);
	else if (s->type == CU_MEMORYTYPE_HOST)
		memcpy(got, s->host, BYTES);
	else
		OK(cuMemcpyDtoH(got, s->device, BYTES));
	assert_memory_equal(got, s->bytes, size_of(s));
}

static void choose(struct side *s, const CUDA_MEMCPY3D *c)
{
	static const CUmemorytype types[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
		CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED};

	s->type = types[rnd(4)];
	s->x = rnd(7);
	s->y = rnd(4);
	s->z = rnd(3);
	s->pitch = rnd(3) ? s->x + c->WidthInBytes + rnd(5) : 0;
	s->rows = rnd(3) ? s->y + c->Height + rnd(3) : 0;
	fill(s);
}

static size_t at(const struct side *s, const CUDA_MEMCPY3D *c, size_t x, size_t y, size_t z)
{
	const bool array = s->type == CU_MEMORYTYPE_ARRAY;
	const size_t pitch = array	? WIDTH
			     : s->pitch ? s->pitch
					: s->x + c->WidthInBytes,
		     rows = array     ? HEIGHT
			    : s->rows ? s->rows
				      : s->y + c->Height;

	return ((s->z + z) * rows + s->y + y) * pitch + s->x + x;
}

static void describe(const struct side *src, const struct side *dst, CUDA_MEMCPY3D *c)
{
	c->srcMemoryType = src->type;
	c->srcXInBytes = src->x;
	c->srcY = src->y;
	c->srcZ = src->z;
	c->srcPitch = src->pitch;
	c->srcHeight = src->rows;
	c->srcHost = src->host;
	c->srcDevice = src->device;
	c->srcArray = src->array;
	c->dstMemoryType = dst->type;
	c->dstXInBytes = dst->x;
	c->dstY = dst->y;
	c->dstZ = dst->z;
	c->dstPitch = dst->pitch;
	c->dstHeight = dst->rows;
	c->dstHost = dst->host;
	c->dstDevice = dst->device;
	c->dstArray = dst->array;
}

static void model(CUDA_MEMCPY3D *c)
{
	for (size_t z = 0; z < c->Depth; z++)
		for (size_t y = 0; y < c->Height; y++)
			for (size_t x = 0; x < c->WidthInBytes; x++)
				sides[1].bytes[at(&sides[1], c, x, y, z)] =
					sides[0].bytes[at(&sides[0], c, x, y, z)];
}

static CUDA_MEMCPY2D flat(const CUDA_MEMCPY3D *c)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = c->srcMemoryType,
		.srcXInBytes = c->srcXInBytes,
		.srcY = c->srcY,
		.srcPitch = c->srcPitch,
		.srcHost = c->srcHost,
		.srcDevice = c->srcDevice,
		.srcArray = c->srcArray,
		.dstMemoryType = c->dstMemoryType,
		.dstXInBytes = c->dstXInBytes,
		.dstY = c->dstY,
		.dstPitch = c->dstPitch,
		.dstHost = c->dstHost,
		.dstDevice = c->dstDevice,
		.dstArray = c->dstArray,
		.WidthInBytes = c->WidthInBytes,
		.Height = c->Height};
}

static int start(void **state)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = WIDTH,
		.Height = HEIGHT,
		.Depth = DEPTH,
		.Format = CU_AD_FORMAT_UNSIGNED_INT8,
		.NumChannels = 1};

	softgpu_start(state);
	for (unsigned k = 0; k < 2; k++) {
		sides[k].host = malloc(BYTES);
		OK(cuMemAlloc(&sides[k].device, BYTES));
		OK(cuArray3DCreate(&sides[k].array, &d));
	}
	return 0;
}

static int stop(void **state)
{
	for (unsigned k = 0; k < 2; k++) {
		free(sides[k].host);
		OK(cuMemFree(sides[k].device));
		OK(cuArrayDestroy(sides[k].array));
	}
	return softgpu_stop(state);
}

static void test_boxes(void **state)
{
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned round = 0; round < 600; round++) {
		CUDA_MEMCPY3D c = {.WidthInBytes = rnd(12) ? 1 + rnd(9) : 0,
			.Height = rnd(12) ? 1 + rnd(5) : 0,
			.Depth = rnd(12) ? 1 + rnd(3) : 0};
		CUDA_MEMCPY2D c2;

		choose(&sides[0], &c);
		choose(&sides[1], &c);
		if (round % 3 == 2) { /* a rectangle */
			c.Depth = 1;
			sides[0].z = sides[1].z = 0;
			sides[0].rows = sides[1].rows = 0;
		}
		describe(&sides[0], &sides[1], &c);
		c2 = flat(&c);
		if (round % 6 == 2)
			OK(cuMemcpy2DUnaligned(&c2));
		else if (round % 6 == 5)
			OK(cuMemcpy2DAsync(&c2, s));
		else if (round % 2)
			OK(cuMemcpy3DAsync(&c, s));
		else
			OK(cuMemcpy3D(&c));
		OK(cuStreamSynchronize(s));
		model(&c);
		is_as_expected(&sides[0]);
		is_as_expected(&sides[1]);
	}
	OK(cuStreamDestroy(s));
}

/* A box that ends where its array ends, and one that is further by one in one direction. */
static void test_ends_of_arrays(void **state)
{
	CUDA_MEMCPY3D c = {.WidthInBytes = 5, .Height = 4, .Depth = 3};

	sides[0].type = CU_MEMORYTYPE_HOST;
	sides[0].x = sides[0].y = sides[0].z = sides[0].pitch = sides[0].rows = 0;
	for (unsigned k = 0; k < 8; k++) {
		sides[1].type = CU_MEMORYTYPE_ARRAY;
		sides[1].x = WIDTH - 5 + (k & 1);
		sides[1].y = HEIGHT - 4 + (k >> 1 & 1);
		sides[1].z = DEPTH - 3 + (k >> 2 & 1);
		describe(&sides[0], &sides[1], &c);
		if (k)
			IS(cuMemcpy3D(&c), INVALID_VALUE);
		else
			OK(cuMemcpy3D(&c));
		c.dstXInBytes = WIDTH + 1;
		IS(cuMemcpy3D(&c), INVALID_VALUE);
	}
}

/* Rectangles filled, each by its own call. */
static void test_fills(void **state)
{
	unsigned char want[BYTES], got[BYTES];
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned round = 0; round < 300; round++) {
		const unsigned size = 1u << rnd(3), value = (unsigned)rnd(1u << 22) * 977;
		const size_t width = 1 + rnd(9), height = 1 + rnd(6), first = rnd(20) * size,
			     pitch = (width + rnd(4)) * size;
		const CUdeviceptr p = sides[0].device + first;

		sides[0].type = CU_MEMORYTYPE_DEVICE;
		fill(&sides[0]);
		memcpy(want, sides[0].bytes, BYTES);
		for (size_t y = 0; y < height; y++)
			for (size_t x = 0; x < width; x++)
				memcpy(want + first + y * pitch + x * size, &value, size);
		if (round & 1)
			OK(size == 1 ? cuMemsetD2D8Async(
					       p, pitch, (unsigned char)value, width, height, s)
				: size == 2
					? cuMemsetD2D16Async(
						  p, pitch, (unsigned short)value, width, height, s)
					: cuMemsetD2D32Async(p, pitch, value, width, height, s));
		else
			OK(size == 1 ? cuMemsetD2D8(p, pitch, (unsigned char)value, width, height)
				: size == 2 ? cuMemsetD2D16(p, pitch, (unsigned short)value, width,
						      height)
					    : cuMemsetD2D32(p, pitch, value, width, height));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH(got, sides[0].device, BYTES));
		assert_memory_equal(got, want, BYTES);
	}
	OK(cuStreamDestroy(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_ends_of_arrays),
		cmocka_unit_test(test_fills),
	};

	return cmocka_run_group_tests_name("softgpu-copies", tests, start, stop);
}
