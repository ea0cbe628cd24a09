/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: allocation, what they are, and copies by byte offset and row. cudaMemcpy3D is in
 * rt-copy.c.
 */
#include "softgpu/runtime/rt.h"

#include <string.h>

/* The older copies are marked as deprecated; they exist all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* --- channel descriptions --- */

static const struct {
	int bits;
	enum cudaChannelFormatKind kind;
	CUarray_format format;
} formats[] = {
	{8, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT8},
	{16, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT16},
	{32, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT32},
	{8, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT8},
	{16, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT16},
	{32, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT32},
	{16, cudaChannelFormatKindFloat, CU_AD_FORMAT_HALF},
	{32, cudaChannelFormatKindFloat, CU_AD_FORMAT_FLOAT},
};

cudaError_t rt_format(
	const struct cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels)
{
	const int bits[4] = {d->x, d->y, d->z, d->w};
	unsigned n = 0, i;

	while (n < 4 && bits[n])
		n++;
	for (i = 0; i < 4; i++)
		if (bits[i] != (i < n ? d->x : 0))
			return cudaErrorInvalidChannelDescriptor;
	if (n != 1 && n != 2 && n != 4)
		return cudaErrorInvalidChannelDescriptor;
	*channels = n;
	if (d->f > cudaChannelFormatKindNone)
		return rt_refuse(
			"cudaChannelFormatDesc", "normalised, planar and compressed formats are");
	for (i = 0; i < RT_COUNT(formats); i++)
		if (formats[i].bits == d->x && formats[i].kind == d->f) {
			*format = formats[i].format;
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc rt_channels(CUarray_format format, unsigned channels)
{
	struct cudaChannelFormatDesc d = {.f = cudaChannelFormatKindNone};
	unsigned i;

	for (i = 0; i < RT_COUNT(formats); i++)
		if (formats[i].format == format) {
			d.f = formats[i].kind;
			d.x = formats[i].bits;
			d.y = channels > 1 ? d.x : 0;
			d.z = d.w = channels > 2 ? d.x : 0;
		}
	return d;
}

/* --- arrays --- */

static cudaError_t create(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent e, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = e.width, .Height = e.height, .Depth = e.depth, .Flags = flags};

	if (!array || !desc)
		return cudaErrorInvalidValue;
	RT_TRY(rt_format(desc, &d.Format, &d.NumChannels));
	return RT_DRIVER(cuArray3DCreate((CUarray *)array, &d));
}

RT_API(cudaMallocArray, v3020,
	(cudaArray_t * array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
		unsigned int flags),
	(array, desc, width, height, flags))
{
	return create(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

RT_API(cudaMalloc3DArray, v3020,
	(cudaArray_t * array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
		unsigned int flags),
	(array, desc, extent, flags))
{
	return create(array, desc, extent, flags);
}

RT_API(cudaFreeArray, v3020, (cudaArray_t array), (array))
{
	return array ? RT_DRIVER(cuArrayDestroy((CUarray)array)) : rt_check();
}

cudaError_t rt_array(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return RT_DRIVER(cuArray3DGetDescriptor(d, (CUarray)array));
}

RT_API(cudaArrayGetInfo, v4010,
	(struct cudaChannelFormatDesc * desc, struct cudaExtent *extent, unsigned int *flags,
		cudaArray_t array),
	(desc, extent, flags, array))
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	RT_TRY(rt_array(array, &d));
	if (desc)
		*desc = rt_channels(d.Format, d.NumChannels);
	if (extent)
		*extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

RT_API(cudaGetChannelDesc, v3020, (struct cudaChannelFormatDesc * desc, cudaArray_const_t array),
	(desc, array))
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	if (!desc)
		return cudaErrorInvalidValue;
	RT_TRY(rt_array(array, &d));
	*desc = rt_channels(d.Format, d.NumChannels);
	return cudaSuccess;
}

size_t rt_texel(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct cudaChannelFormatDesc c = rt_channels(d->Format, d->NumChannels);

	return (size_t)c.x / 8 * d->NumChannels;
}

RT_FORWARD(cudaDeviceGetTexture1DLinearMaxWidth, v11010,
	(size_t * maxWidthInElements, const struct cudaChannelFormatDesc *fmtDesc, int device),
	(maxWidthInElements, fmtDesc, device), ({
		CUarray_format f;
		unsigned n;
		cudaError_t e2_ = fmtDesc ? rt_format(fmtDesc, &f, &n) : cudaErrorInvalidValue;
		e2_ ? (CUresult)e2_
		    : cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, f, n, device);
	}))

/* --- copies of rectangles --- */

/* One side of a copy: an array, or memory at pitch. */
struct side {
	CUarray array;
	const void *p;
	size_t x, y, pitch;
};

static CUmemorytype type_of(
	const struct side *s, enum cudaMemcpyKind kind, enum cudaMemcpyKind host)
{
	if (s->array)
		return CU_MEMORYTYPE_ARRAY;
	return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
	       : kind == host		 ? CU_MEMORYTYPE_HOST
					 : CU_MEMORYTYPE_DEVICE;
}

static cudaError_t rectangle(struct side dst, struct side src, size_t width, size_t height,
	enum cudaMemcpyKind kind, CUstream stream, bool async)
{
	CUDA_MEMCPY2D c = {
		.srcXInBytes = src.x,
		.srcY = src.y,
		.srcMemoryType = type_of(&src, kind, cudaMemcpyHostToDevice),
		.srcHost = src.p,
		.srcDevice = (CUdeviceptr)src.p,
		.srcArray = src.array,
		.srcPitch = src.pitch,
		.dstXInBytes = dst.x,
		.dstY = dst.y,
		.dstMemoryType = type_of(&dst, kind, cudaMemcpyDeviceToHost),
		.dstHost = (void *)dst.p,
		.dstDevice = (CUdeviceptr)dst.p,
		.dstArray = dst.array,
		.dstPitch = dst.pitch,
		.WidthInBytes = width,
		.Height = height,
	};
	CUresult r;

	if (!width || !height)
		return cudaSuccess;
	if ((!src.array && width > src.pitch) || (!dst.array && width > dst.pitch))
		return cudaErrorInvalidPitchValue;
	if (!async && !stream)
		return rt_error(cuMemcpy2D(&c));
	r = cuMemcpy2DAsync(&c, stream);
	return rt_error(r || async ? r : cuStreamSynchronize(stream));
}

/* What the other side of an array may be. */
static cudaError_t check(enum cudaMemcpyKind kind, enum cudaMemcpyKind host)
{
	if (kind != host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	return rt_init();
}

#define ARRAY(h, from, row) ((struct side){.array = (CUarray)(h), .x = (from), .y = (row)})
#define MEMORY(ptr, pit) ((struct side){.p = (ptr), .pitch = (pit)})

RT_API_PT(cudaMemcpy2DToArray, v3020, ptds, v7000,
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
		size_t width, size_t height, enum cudaMemcpyKind kind),
	(dst, wOffset, hOffset, src, spitch, width, height, kind))
{
	RT_TRY(check(kind, cudaMemcpyHostToDevice));
	return rectangle(
		ARRAY(dst, wOffset, hOffset), MEMORY(src, spitch), width, height, kind, def, false);
}

RT_API_PT(cudaMemcpy2DToArrayAsync, v3020, ptsz, v7000,
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
		size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, wOffset, hOffset, src, spitch, width, height, kind, stream))
{
	RT_TRY(check(kind, cudaMemcpyHostToDevice));
	return rectangle(ARRAY(dst, wOffset, hOffset), MEMORY(src, spitch), width, height, kind,
		rt_stream(stream, def), true);
}

RT_API_PT(cudaMemcpy2DFromArray, v3020, ptds, v7000,
	(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
		size_t width, size_t height, enum cudaMemcpyKind kind),
	(dst, dpitch, src, wOffset, hOffset, width, height, kind))
{
	RT_TRY(check(kind, cudaMemcpyDeviceToHost));
	return rectangle(
		MEMORY(dst, dpitch), ARRAY(src, wOffset, hOffset), width, height, kind, def, false);
}

RT_API_PT(cudaMemcpy2DFromArrayAsync, v3020, ptsz, v7000,
	(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
		size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream))
{
	RT_TRY(check(kind, cudaMemcpyDeviceToHost));
	return rectangle(MEMORY(dst, dpitch), ARRAY(src, wOffset, hOffset), width, height, kind,
		rt_stream(stream, def), true);
}

RT_API_PT(cudaMemcpy2DArrayToArray, v3020, ptds, v7000,
	(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
		size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
		enum cudaMemcpyKind kind),
	(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width, height, kind))
{
	RT_TRY(check(kind, cudaMemcpyDeviceToDevice));
	return rectangle(ARRAY(dst, wOffsetDst, hOffsetDst), ARRAY(src, wOffsetSrc, hOffsetSrc),
		width, height, kind, def, false);
}

/* --- copies of a run of texels, which goes on in the next row: the rest of a row, whole rows, the
 * beginning of one --- */

static size_t row_bytes(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	return rt_array(array, &d) ? 0 : d.Width * rt_texel(&d);
}

/* a is the array, m the memory; to: into the array. */
static cudaError_t run(struct side a, struct side m, size_t count, bool to,
	enum cudaMemcpyKind kind, CUstream stream, bool async)
{
	size_t row = row_bytes((cudaArray_const_t)a.array);

	if (!row || a.x >= row)
		return count ? cudaErrorInvalidValue : cudaSuccess;
	while (count) {
		size_t width = a.x || count < row ? row - a.x : row,
		       height = a.x || count < row ? 1 : count / row;

		if (width > count)
			width = count;
		m.pitch = width;
		RT_TRY(to ? rectangle(a, m, width, height, kind, stream, async)
			  : rectangle(m, a, width, height, kind, stream, async));
		m.p = (const char *)m.p + width * height;
		count -= width * height;
		a.x = 0;
		a.y += height;
	}
	return cudaSuccess;
}

RT_API_PT(cudaMemcpyToArray, v3020, ptds, v7000,
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
		enum cudaMemcpyKind kind),
	(dst, wOffset, hOffset, src, count, kind))
{
	RT_TRY(check(kind, cudaMemcpyHostToDevice));
	return run(ARRAY(dst, wOffset, hOffset), MEMORY(src, 0), count, true, kind, def, false);
}

RT_API_PT(cudaMemcpyToArrayAsync, v3020, ptsz, v7000,
	(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, wOffset, hOffset, src, count, kind, stream))
{
	RT_TRY(check(kind, cudaMemcpyHostToDevice));
	return run(ARRAY(dst, wOffset, hOffset), MEMORY(src, 0), count, true, kind,
		rt_stream(stream, def), true);
}

RT_API_PT(cudaMemcpyFromArray, v3020, ptds, v7000,
	(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
		enum cudaMemcpyKind kind),
	(dst, src, wOffset, hOffset, count, kind))
{
	RT_TRY(check(kind, cudaMemcpyDeviceToHost));
	return run(ARRAY(src, wOffset, hOffset), MEMORY(dst, 0), count, false, kind, def, false);
}

RT_API_PT(cudaMemcpyFromArrayAsync, v3020, ptsz, v7000,
	(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, src, wOffset, hOffset, count, kind, stream))
{
	RT_TRY(check(kind, cudaMemcpyDeviceToHost));
	return run(ARRAY(src, wOffset, hOffset), MEMORY(dst, 0), count, false, kind,
		rt_stream(stream, def), true);
}

/* The rows of two arrays may break in different places: row by row of the destination, and of the
 * source. */
RT_API_PT(cudaMemcpyArrayToArray, v3020, ptds, v7000,
	(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
		size_t wOffsetSrc, size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind),
	(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count, kind))
{
	struct side d = ARRAY(dst, wOffsetDst, hOffsetDst), s = ARRAY(src, wOffsetSrc, hOffsetSrc);
	size_t drow, srow, n;

	RT_TRY(check(kind, cudaMemcpyDeviceToDevice));
	drow = row_bytes(dst);
	srow = row_bytes(src);
	if (d.x >= drow || s.x >= srow)
		return count ? cudaErrorInvalidValue : cudaSuccess;
	for (; count; count -= n) {
		n = drow - d.x < srow - s.x ? drow - d.x : srow - s.x;
		n = n < count ? n : count;
		RT_TRY(rectangle(d, s, n, 1, kind, def, false));
		d.y += (d.x + n) / drow;
		d.x = (d.x + n) % drow;
		s.y += (s.x + n) / srow;
		s.x = (s.x + n) % srow;
	}
	return cudaSuccess;
}
