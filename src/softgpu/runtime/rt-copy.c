/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills. A kind of copy is one driver call, as under the vendor's runtime:
 * cudaMemcpyHostToDevice is cuMemcpyHtoD, and so on; only cudaMemcpyDefault and host to host leave
 * the direction to the driver (cuMemcpy).
 */
#include "softgpu/runtime/rt.h"

#include <string.h>

static cudaError_t copy(
	void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, CUstream def)
{
	CUdeviceptr d = (CUdeviceptr)dst, s = (CUdeviceptr)src;

	/* per-thread default stream: an asynchronous copy in that stream, and wait for it */
	if (def) {
		CUresult r = kind == cudaMemcpyHostToDevice   ? cuMemcpyHtoDAsync(d, src, n, def)
			     : kind == cudaMemcpyDeviceToHost ? cuMemcpyDtoHAsync(dst, s, n, def)
							      : cuMemcpyAsync(d, s, n, def);
		return rt_error(r ? r : cuStreamSynchronize(def));
	}
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(cuMemcpyHtoD(d, src, n));
	case cudaMemcpyDeviceToHost:
		return rt_error(cuMemcpyDtoH(dst, s, n));
	case cudaMemcpyDeviceToDevice:
		return rt_error(cuMemcpyDtoD(d, s, n));
	default:
		return rt_error(cuMemcpy(d, s, n));
	}
}

static cudaError_t copy_async(
	void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, CUstream stream)
{
	CUdeviceptr d = (CUdeviceptr)dst, s = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(cuMemcpyHtoDAsync(d, src, n, stream));
	case cudaMemcpyDeviceToHost:
		return rt_error(cuMemcpyDtoHAsync(dst, s, n, stream));
	case cudaMemcpyDeviceToDevice:
		return rt_error(cuMemcpyDtoDAsync(d, s, n, stream));
	default:
		return rt_error(cuMemcpyAsync(d, s, n, stream));
	}
}

static cudaError_t check_kind(enum cudaMemcpyKind kind)
{
	return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : rt_init();
}

RT_API_PT(cudaMemcpy, v3020, ptds, v7000,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	(dst, src, count, kind))
{
	RT_TRY(check_kind(kind));
	return count ? copy(dst, src, count, kind, def) : cudaSuccess;
}

RT_API_PT(cudaMemcpyAsync, v3020, ptsz, v7000,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, src, count, kind, stream))
{
	RT_TRY(check_kind(kind));
	return count ? copy_async(dst, src, count, kind, rt_stream(stream, def)) : cudaSuccess;
}

/* --- symbols --- */

cudaError_t rt_in_symbol(const void *symbol, size_t offset, size_t count, enum cudaMemcpyKind kind,
	enum cudaMemcpyKind host, CUdeviceptr *ret)
{
	size_t size;

	if (kind != host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	RT_TRY(rt_symbol(symbol, ret, &size));
	if (offset > size || count > size - offset)
		return cudaErrorInvalidValue;
	*ret += offset;
	return cudaSuccess;
}

RT_API_PT(cudaMemcpyToSymbol, v3020, ptds, v7000,
	(const void *symbol, const void *src, size_t count, size_t offset,
		enum cudaMemcpyKind kind),
	(symbol, src, count, offset, kind))
{
	CUdeviceptr d;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyHostToDevice, &d));
	return count ? copy((void *)d, src, count, kind, def) : cudaSuccess;
}

RT_API_PT(cudaMemcpyFromSymbol, v3020, ptds, v7000,
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind),
	(dst, symbol, count, offset, kind))
{
	CUdeviceptr s;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyDeviceToHost, &s));
	return count ? copy(dst, (void *)s, count, kind, def) : cudaSuccess;
}

RT_API_PT(cudaMemcpyToSymbolAsync, v3020, ptsz, v7000,
	(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind,
		cudaStream_t stream),
	(symbol, src, count, offset, kind, stream))
{
	CUdeviceptr d;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyHostToDevice, &d));
	return count ? copy_async((void *)d, src, count, kind, rt_stream(stream, def))
		     : cudaSuccess;
}

RT_API_PT(cudaMemcpyFromSymbolAsync, v3020, ptsz, v7000,
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
		cudaStream_t stream),
	(dst, symbol, count, offset, kind, stream))
{
	CUdeviceptr s;

	RT_TRY(rt_in_symbol(symbol, offset, count, kind, cudaMemcpyDeviceToHost, &s));
	return count ? copy_async(dst, (void *)s, count, kind, rt_stream(stream, def))
		     : cudaSuccess;
}

/* --- two and three dimensions --- */

/* What each kind says about its two sides, for CUDA_MEMCPY2D and 3D. */
static const CUmemorytype side_types[][2] = {
	/* source, destination */
	[cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
	[cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
	[cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
	[cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
	[cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
};

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
	size_t height, enum cudaMemcpyKind kind, CUstream stream, bool async)
{
	CUDA_MEMCPY2D c = {
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.srcPitch = spitch,
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)dst,
		.dstPitch = dpitch,
		.WidthInBytes = width,
		.Height = height,
	};
	CUresult r;

	RT_TRY(check_kind(kind));
	if (width > dpitch || width > spitch)
		return cudaErrorInvalidPitchValue;
	if (!width || !height)
		return cudaSuccess;
	c.srcMemoryType = side_types[kind][0];
	c.dstMemoryType = side_types[kind][1];
	if (!async && !stream)
		return rt_error(cuMemcpy2D(&c));
	r = cuMemcpy2DAsync(&c, stream);
	return rt_error(r || async ? r : cuStreamSynchronize(stream));
}

RT_API_PT(cudaMemcpy2D, v3020, ptds, v7000,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
		enum cudaMemcpyKind kind),
	(dst, dpitch, src, spitch, width, height, kind))
{
	return copy_2d(dst, dpitch, src, spitch, width, height, kind, def, false);
}

RT_API_PT(cudaMemcpy2DAsync, v3020, ptsz, v7000,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	(dst, dpitch, src, spitch, width, height, kind, stream))
{
	return copy_2d(dst, dpitch, src, spitch, width, height, kind, rt_stream(stream, def), true);
}

/* "CUDA Runtime API", cudaMemcpy3D: with an array the extent counts texels, and so does the
 * position in it. */
static cudaError_t texel_of(const struct cudaMemcpy3DParms *p, size_t *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	if (p->srcArray) {
		RT_TRY(rt_array(p->srcArray, &d));
		*ret = rt_texel(&d);
	}
	if (p->dstArray) {
		RT_TRY(rt_array(p->dstArray, &d));
		if (p->srcArray && *ret != rt_texel(&d))
			return cudaErrorInvalidValue;
		*ret = rt_texel(&d);
	}
	return cudaSuccess;
}

cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret)
{
	size_t texel = 1;

	if (!p)
		return cudaErrorInvalidValue;
	if ((p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
		return cudaErrorInvalidValue;
	RT_TRY(check_kind(p->kind));
	RT_TRY(texel_of(p, &texel));
	if (p->extent.width > SIZE_MAX / texel || p->srcPos.x > SIZE_MAX / texel ||
		p->dstPos.x > SIZE_MAX / texel)
		return cudaErrorInvalidValue;
	*ret = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * (p->srcArray ? texel : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : side_types[p->kind][0],
		.srcArray = (CUarray)p->srcArray,
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? texel : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : side_types[p->kind][1],
		.dstArray = (CUarray)p->dstArray,
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * texel,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return cudaSuccess;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, CUstream stream, bool async)
{
	CUDA_MEMCPY3D c;
	CUresult r;

	RT_TRY(rt_copy_3d(p, &c));
	if (!c.WidthInBytes || !c.Height || !c.Depth)
		return cudaSuccess;
	if (!async && !stream)
		return rt_error(cuMemcpy3D(&c));
	r = cuMemcpy3DAsync(&c, stream);
	return rt_error(r || async ? r : cuStreamSynchronize(stream));
}

RT_API_PT(cudaMemcpy3D, v3020, ptds, v7000, (const struct cudaMemcpy3DParms *p), (p))
{
	return copy_3d(p, def, false);
}

RT_API_PT(cudaMemcpy3DAsync, v3020, ptsz, v7000,
	(const struct cudaMemcpy3DParms *p, cudaStream_t stream), (p, stream))
{
	return copy_3d(p, rt_stream(stream, def), true);
}

static cudaError_t check_device(int device)
{
	int n;

	RT_TRY(rt_init());
	return cuDeviceGetCount(&n) || device < 0 || device >= n ? cudaErrorInvalidDevice
								 : cudaSuccess;
}

/* Addresses say which device they belong to: a peer copy is a copy. */
RT_API(cudaMemcpyPeer, v4000,
	(void *dst, int dstDevice, const void *src, int srcDevice, size_t count),
	(dst, dstDevice, src, srcDevice, count))
{
	CUcontext to, from;

	RT_TRY(check_device(dstDevice));
	RT_TRY(check_device(srcDevice));
	if (!count)
		return cudaSuccess;
	RT_TRY(rt_peer_context(dstDevice, &to));
	RT_TRY(rt_peer_context(srcDevice, &from));
	return rt_error(cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
}

RT_API(cudaMemcpyPeerAsync, v4000,
	(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
		cudaStream_t stream),
	(dst, dstDevice, src, srcDevice, count, stream))
{
	RT_TRY(check_device(dstDevice));
	RT_TRY(check_device(srcDevice));
	return count ? copy_async(dst, src, count, cudaMemcpyDeviceToDevice, (CUstream)stream)
		     : cudaSuccess;
}

static cudaError_t peer_3d(const struct cudaMemcpy3DPeerParms *p, CUstream stream, bool async)
{
	struct cudaMemcpy3DParms c;

	if (!p)
		return cudaErrorInvalidValue;
	c = (struct cudaMemcpy3DParms){
		.srcArray = p->srcArray,
		.srcPos = p->srcPos,
		.srcPtr = p->srcPtr,
		.dstArray = p->dstArray,
		.dstPos = p->dstPos,
		.dstPtr = p->dstPtr,
		.extent = p->extent,
		.kind = cudaMemcpyDeviceToDevice,
	};
	return copy_3d(&c, stream, async);
}

RT_API_PT(cudaMemcpy3DPeer, v4000, ptds, v7000, (const struct cudaMemcpy3DPeerParms *p), (p))
{
	return peer_3d(p, def, false);
}

RT_API_PT(cudaMemcpy3DPeerAsync, v4000, ptsz, v7000,
	(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream), (p, stream))
{
	return peer_3d(p, rt_stream(stream, def), true);
}

/* The attributes are hints on where memory is and when the source is read; copies here read their
 * source in stream order. */
RT_API_PT(cudaMemcpyBatchAsync, v13000, ptsz, v13000,
	(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
		struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
		cudaStream_t stream),
	(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream))
{
	if (!dsts || !srcs || !sizes || !count || !attrs || !attrsIdxs || !numAttrs ||
		numAttrs > count)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	for (size_t i = 0; i < count; i++)
		RT_TRY(copy_async((void *)dsts[i], srcs[i], sizes[i], cudaMemcpyDefault,
			rt_stream(stream, def)));
	return cudaSuccess;
}

/* --- fills --- */

static cudaError_t fill(void *p, int value, size_t n, CUstream stream, bool async)
{
	CUdeviceptr d = (CUdeviceptr)p;
	CUresult r;

	RT_TRY(rt_init());
	if (!n)
		return cudaSuccess;
	if (!async && !stream)
		return rt_error(cuMemsetD8(d, (unsigned char)value, n));
	r = cuMemsetD8Async(d, (unsigned char)value, n, stream);
	return rt_error(r || async ? r : cuStreamSynchronize(stream));
}

static cudaError_t fill_2d(
	void *p, size_t pitch, int value, size_t width, size_t height, CUstream stream, bool async)
{
	CUdeviceptr d = (CUdeviceptr)p;
	CUresult r;

	RT_TRY(rt_init());
	if (width > pitch && height > 1)
		return cudaErrorInvalidValue;
	if (!width || !height)
		return cudaSuccess;
	if (!async && !stream)
		return rt_error(cuMemsetD2D8(d, pitch, (unsigned char)value, width, height));
	r = cuMemsetD2D8Async(d, pitch, (unsigned char)value, width, height, stream);
	return rt_error(r || async ? r : cuStreamSynchronize(stream));
}

/* A box is a row of rectangles, each ysize rows after the one before. */
static cudaError_t fill_3d(
	struct cudaPitchedPtr p, int value, struct cudaExtent e, CUstream stream, bool async)
{
	if (e.depth > 1 && e.height > p.ysize)
		return cudaErrorInvalidValue;
	for (size_t z = 0; z < e.depth; z++) {
		void *slice = (char *)p.ptr + z * p.pitch * p.ysize;

		RT_TRY(fill_2d(slice, p.pitch, value, e.width, e.height, stream, async));
	}
	return cudaSuccess;
}

RT_API_PT(cudaMemset, v3020, ptds, v7000, (void *devPtr, int value, size_t count),
	(devPtr, value, count))
{
	return fill(devPtr, value, count, def, false);
}

RT_API_PT(cudaMemsetAsync, v3020, ptsz, v7000,
	(void *devPtr, int value, size_t count, cudaStream_t stream),
	(devPtr, value, count, stream))
{
	return fill(devPtr, value, count, rt_stream(stream, def), true);
}

RT_API_PT(cudaMemset2D, v3020, ptds, v7000,
	(void *devPtr, size_t pitch, int value, size_t width, size_t height),
	(devPtr, pitch, value, width, height))
{
	return fill_2d(devPtr, pitch, value, width, height, def, false);
}

RT_API_PT(cudaMemset2DAsync, v3020, ptsz, v7000,
	(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
	(devPtr, pitch, value, width, height, stream))
{
	return fill_2d(devPtr, pitch, value, width, height, rt_stream(stream, def), true);
}

RT_API_PT(cudaMemset3D, v3020, ptds, v7000,
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent),
	(pitchedDevPtr, value, extent))
{
	return fill_3d(pitchedDevPtr, value, extent, def, false);
}

RT_API_PT(cudaMemset3DAsync, v3020, ptsz, v7000,
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
		cudaStream_t stream),
	(pitchedDevPtr, value, extent, stream))
{
	return fill_3d(pitchedDevPtr, value, extent, rt_stream(stream, def), true);
}
