/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: one to three dimensions, layers, cube maps; and the one-dimensional copies to and
 * from them. Copies of two and three dimensions are in drv-copy.c. Mipmaps and sparse arrays are
 * refused.
 */
#include "softgpu/memory/array.h"

#define MAX_1D 131072u
#define MAX_2D_WIDTH 131072u
#define MAX_2D_HEIGHT 65536u
#define MAX_3D 16384u
#define MAX_LAYERED 32768u /* width and height */
#define MAX_LAYERS 2048u
#define KNOWN_FLAGS                                                                                \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |                 \
		CUDA_ARRAY3D_TEXTURE_GATHER)

CUresult array_resolve(CUarray h, struct array **ret)
{
	if (!obj_alive(OBJ_ARRAY, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct array *)h;
	return CUDA_SUCCESS;
}

struct array *array_with(uint64_t addr)
{
	struct array *a = obj_next(OBJ_ARRAY, NULL);

	while (a && addr - a->image.base >= a->bytes)
		a = obj_next(OBJ_ARRAY, a);
	return a;
}

CUresult array_format(CUarray_format format, unsigned channels, struct tex_image *ret)
{
	static const struct {
		CUarray_format from;
		uint8_t to;
	} formats[] = {
		{CU_AD_FORMAT_UNSIGNED_INT8, TEX_U8},
		{CU_AD_FORMAT_UNSIGNED_INT16, TEX_U16},
		{CU_AD_FORMAT_UNSIGNED_INT32, TEX_U32},
		{CU_AD_FORMAT_SIGNED_INT8, TEX_S8},
		{CU_AD_FORMAT_SIGNED_INT16, TEX_S16},
		{CU_AD_FORMAT_SIGNED_INT32, TEX_S32},
		{CU_AD_FORMAT_HALF, TEX_F16},
		{CU_AD_FORMAT_FLOAT, TEX_F32},
	};
	unsigned i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].from != format)
			continue;
		REQUIRE(channels == 1 || channels == 2 || channels == 4);
		ret->format = formats[i].to;
		ret->channels = (uint8_t)channels;
		return CUDA_SUCCESS;
	}
	REQUIRE((unsigned)format >= 0x50 && (unsigned)format <= 0xcb);
	drv_say("texel format %#x is not supported: only integers and floating point of 8, 16 and 32 bits are",
		(unsigned)format);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* "CUDA Driver API", cuArray3DCreate: which sizes make which kind of array. */
static CUresult shape_of(const CUDA_ARRAY3D_DESCRIPTOR *d, struct tex_image *m)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;

	REQUIRE(d->Width);
	m->layered = layered;
	m->cube = cube;
	m->width = (uint32_t)d->Width;
	m->height = d->Height ? (uint32_t)d->Height : 1;
	m->depth = m->layers = 1;
	if (layered || cube) {
		REQUIRE(d->Depth && d->Width <= MAX_LAYERED && d->Height <= MAX_LAYERED &&
			d->Depth <= MAX_LAYERS);
		REQUIRE(!cube ||
			(d->Width == d->Height && (layered ? d->Depth % 6 == 0 : d->Depth == 6)));
		m->layers = (uint32_t)d->Depth;
		m->dims = d->Height ? 2 : 1;
	} else if (d->Depth) {
		REQUIRE(d->Height && d->Width <= MAX_3D && d->Height <= MAX_3D &&
			d->Depth <= MAX_3D);
		m->depth = (uint32_t)d->Depth;
		m->dims = 3;
	} else if (d->Height) {
		REQUIRE(d->Width <= MAX_2D_WIDTH && d->Height <= MAX_2D_HEIGHT);
		m->dims = 2;
	} else {
		REQUIRE(d->Width <= MAX_1D);
		m->dims = 1;
	}
	REQUIRE(!(d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) || m->dims == 2);
	return CUDA_SUCCESS;
}

CUresult array_image(const CUDA_ARRAY3D_DESCRIPTOR *d, struct tex_image *ret, size_t *bytes)
{
	TRY_CU(array_format(d->Format, d->NumChannels, ret));
	TRY_CU(shape_of(d, ret));
	ret->pitch = (size_t)ret->width * tex_texel_bytes(ret);
	ret->slice = ret->pitch * ret->height;
	*bytes = ret->slice * (ret->dims == 3 ? ret->depth : ret->layers);
	return CUDA_SUCCESS;
}

static CUresult create(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	const struct mem_range *r;
	struct tex_image m = {0};
	struct array *a;
	struct ctx *c;
	size_t bytes;

	REQUIRE(ret && d);
	TRY_CU(ctx_current(&c));
	TRY_CU(capture_check_unsafe());
	if (d->Flags & ~(unsigned)KNOWN_FLAGS) {
		drv_say("arrays with flags %#x (depth textures, attachments, sparse, deferred) are not supported",
			d->Flags & ~(unsigned)KNOWN_FLAGS);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	TRY_CU(array_image(d, &m, &bytes));
	a = obj_new(OBJ_ARRAY);
	r = a ? mem_alloc_on((unsigned)c->dev, MEM_MODULE, bytes, 0, c->uid) : NULL;
	if (!r) {
		if (a)
			obj_free(OBJ_ARRAY, a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m.base = r->start;
	*a = (struct array){.ctx = c, .desc = *d, .image = m, .bytes = bytes};
	*ret = (CUarray)a;
	return CUDA_SUCCESS;
}

DRV_DEFINE(
	2, cuArray3DCreate_v2, CUarray *, pHandle, const CUDA_ARRAY3D_DESCRIPTOR *, pAllocateArray)
{
	return create(pHandle, pAllocateArray);
}

DRV_DEFINE(2, cuArrayCreate_v2, CUarray *, pHandle, const CUDA_ARRAY_DESCRIPTOR *, pAllocateArray)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	REQUIRE(pAllocateArray);
	d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = pAllocateArray->Width,
		.Height = pAllocateArray->Height,
		.Format = pAllocateArray->Format,
		.NumChannels = pAllocateArray->NumChannels};
	return create(pHandle, &d);
}

DRV_DEFINE(
	2, cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *, pArrayDescriptor, CUarray, hArray)
{
	struct array *a;

	REQUIRE(pArrayDescriptor);
	TRY_CU(array_resolve(hArray, &a));
	*pArrayDescriptor = a->desc;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR *, pArrayDescriptor, CUarray, hArray)
{
	struct array *a;

	REQUIRE(pArrayDescriptor);
	TRY_CU(array_resolve(hArray, &a));
	*pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = a->desc.Width,
		.Height = a->desc.Height,
		.Format = a->desc.Format,
		.NumChannels = a->desc.NumChannels};
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *, memoryRequirements,
	CUarray, array, CUdevice, device)
{
	struct array *a;

	REQUIRE(memoryRequirements);
	TRY_CU(array_resolve(array, &a));
	TRY_CU(device_check(device));
	return CUDA_ERROR_INVALID_VALUE; /* only arrays with deferred mapping have any */
}

/* Caller holds drv_lock, or is alone with the array. */
static void array_end(struct array *a)
{
	tex_forget_image(a->image.base);
	mem_free(a->image.base);
	obj_free(OBJ_ARRAY, a);
}

DRV_DEFINE(1, cuArrayDestroy, CUarray, hArray)
{
	struct array *a;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	TRY_CU(array_resolve(hArray, &a));
	TRY_CU(capture_check_unsafe());
	ctx_drain_all();
	array_end(a);
	return ctx_sticky(c);
}

void arrays_delete_of(struct ctx *c)
{
	struct array *a, *next;

	for (a = obj_next(OBJ_ARRAY, NULL); a; a = next) {
		next = obj_next(OBJ_ARRAY, a);
		if (a->ctx == c)
			array_end(a);
	}
}

/* --- one-dimensional copies: offsets count bytes from the array's beginning --- */

static CUresult bytes_at(CUarray h, size_t offset, size_t n, uint64_t *ret)
{
	struct array *a;

	TRY_CU(array_resolve(h, &a));
	REQUIRE(offset <= a->bytes && n <= a->bytes - offset);
	*ret = a->image.base + offset;
	return CUDA_SUCCESS;
}

static CUresult to_array(CUarray h, size_t offset, uint64_t src, enum copy_side side, size_t n,
	CUstream s, bool ptds, bool async)
{
	uint64_t dst;

	TRY_CU(bytes_at(h, offset, n, &dst));
	return copy_bytes(dst, SIDE_DEVICE, src, side, n, s, ptds, async);
}

static CUresult from_array(uint64_t dst, enum copy_side side, CUarray h, size_t offset, size_t n,
	CUstream s, bool ptds, bool async)
{
	uint64_t src;

	TRY_CU(bytes_at(h, offset, n, &src));
	return copy_bytes(dst, side, src, SIDE_DEVICE, n, s, ptds, async);
}

DRV_STREAM(4, cuMemcpyDtoA_v2, _ptds, CUarray, dstArray, size_t, dstOffset, CUdeviceptr, srcDevice,
	size_t, ByteCount)
{
	return to_array(dstArray, dstOffset, srcDevice, SIDE_DEVICE, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyAtoD_v2, _ptds, CUdeviceptr, dstDevice, CUarray, srcArray, size_t, srcOffset,
	size_t, ByteCount)
{
	return from_array(
		dstDevice, SIDE_DEVICE, srcArray, srcOffset, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyHtoA_v2, _ptds, CUarray, dstArray, size_t, dstOffset, const void *, srcHost,
	size_t, ByteCount)
{
	return to_array(
		dstArray, dstOffset, (uint64_t)srcHost, SIDE_HOST, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyAtoH_v2, _ptds, void *, dstHost, CUarray, srcArray, size_t, srcOffset, size_t,
	ByteCount)
{
	return from_array(
		(uint64_t)dstHost, SIDE_HOST, srcArray, srcOffset, ByteCount, NULL, ptds, false);
}

DRV_STREAM(5, cuMemcpyAtoA_v2, _ptds, CUarray, dstArray, size_t, dstOffset, CUarray, srcArray,
	size_t, srcOffset, size_t, ByteCount)
{
	uint64_t src;

	TRY_CU(bytes_at(srcArray, srcOffset, ByteCount, &src));
	return to_array(dstArray, dstOffset, src, SIDE_DEVICE, ByteCount, NULL, ptds, false);
}

DRV_STREAM(5, cuMemcpyHtoAAsync_v2, _ptsz, CUarray, dstArray, size_t, dstOffset, const void *,
	srcHost, size_t, ByteCount, CUstream, hStream)
{
	return to_array(
		dstArray, dstOffset, (uint64_t)srcHost, SIDE_HOST, ByteCount, hStream, ptds, true);
}

DRV_STREAM(5, cuMemcpyAtoHAsync_v2, _ptsz, void *, dstHost, CUarray, srcArray, size_t, srcOffset,
	size_t, ByteCount, CUstream, hStream)
{
	return from_array(
		(uint64_t)dstHost, SIDE_HOST, srcArray, srcOffset, ByteCount, hStream, ptds, true);
}
