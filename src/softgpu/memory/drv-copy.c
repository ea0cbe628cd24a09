/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills. Device sides must lie in one live allocation, else CUDA_ERROR_INVALID_VALUE;
 * host sides may be any memory. Pageable memory behaves as the vendor documents it ("API
 * synchronization behavior"): a host-to-device copy has read its source when the call returns, a
 * device-to-host copy has ended.
 */
#include "softgpu/memory/array.h"

#include <stdlib.h>
#include <string.h>

/* The extent in bytes that rows of width at this pitch and slice touch. False when it does not fit
 * 64 bits. */
static bool extent(const struct copy *c, size_t pitch, size_t slice, size_t *ret)
{
	size_t a, b;

	return !__builtin_mul_overflow(c->depth - 1, slice, &a) &&
	       !__builtin_mul_overflow(c->height - 1, pitch, &b) &&
	       !__builtin_add_overflow(a, b, &a) && !__builtin_add_overflow(a, c->width, ret);
}

static CUresult check_side(uint64_t addr, enum copy_side side, size_t n, enum soft_mem_kind *kind)
{
	const struct mem_range *r;

	REQUIRE(addr);
	r = mem_find(addr);
	/* A host pointer into device memory would be a wild pointer to the vendor's driver. */
	if (!r) {
		REQUIRE(side != SIDE_DEVICE);
		*kind = SOFT_MEM_PAGEABLE;
		return CUDA_SUCCESS;
	}
	REQUIRE(mem_covers(addr, n));
	*kind = mem_soft_kind(r);
	return CUDA_SUCCESS;
}

static bool on_host(enum soft_mem_kind k)
{
	return k == SOFT_MEM_PAGEABLE || k == SOFT_MEM_PINNED;
}

/* Reads a pageable source now, so that the call may return. */
static CUresult stage(struct op *op)
{
	struct copy *c = &op->copy.c;
	size_t row = c->width, y, z;
	size_t n;
	char *p;

	if (__builtin_mul_overflow(c->width, c->height, &n) ||
		__builtin_mul_overflow(n, c->depth, &n))
		return CUDA_ERROR_INVALID_VALUE;
	p = op->copy.staging = malloc(n);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++, p += row)
			memcpy(p, (const char *)c->src + z * c->src_slice + y * c->src_pitch, row);
	c->src = (uint64_t)op->copy.staging;
	c->src_pitch = row;
	c->src_slice = row * c->height;
	return CUDA_SUCCESS;
}

/* A synchronous call of such a context, or about such memory, returns when the memory has changed,
 * whatever memory. */
static bool always_waits(const struct stream *s, uint64_t addr)
{
	const struct mem_range *r = mem_find(addr);

	return s->ctx->flags & CU_CTX_SYNC_MEMOPS || (r && r->flags & DRV_MEM_SYNC);
}

static CUresult submit_copy(struct stream *s, const struct copy *c, bool async)
{
	struct op op = {.kind = OP_COPY, .copy.c = *c};
	bool capturing = s->capture, wait;
	CUresult r;

	if (capturing && !async) {
		capture_invalidate(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (async) {
		if (!capturing && c->src_kind == SOFT_MEM_PAGEABLE && !on_host(c->dst_kind)) {
			r = stage(&op);
			if (r != CUDA_SUCCESS)
				return r;
		}
		wait = !capturing && (c->dst_kind == SOFT_MEM_PAGEABLE ||
					     (on_host(c->src_kind) && on_host(c->dst_kind)));
	} else {
		wait = on_host(c->src_kind) || on_host(c->dst_kind) || always_waits(s, c->src) ||
		       always_waits(s, c->dst);
	}
	return stream_submit(s, &op, NULL, wait, async);
}

CUresult copy_check(struct copy *c, int dst_side, int src_side)
{
	size_t dst_bytes, src_bytes;

	REQUIRE(extent(c, c->dst_pitch, c->dst_slice, &dst_bytes) &&
		extent(c, c->src_pitch, c->src_slice, &src_bytes));
	TRY_CU(check_side(c->dst, (enum copy_side)dst_side, dst_bytes, &c->dst_kind));
	REQUIRE(c->dst_kind == SOFT_MEM_PAGEABLE || mem_covers_writable(c->dst, dst_bytes));
	return check_side(c->src, (enum copy_side)src_side, src_bytes, &c->src_kind);
}

CUresult copy_bytes(uint64_t dst, enum copy_side dst_side, uint64_t src, enum copy_side src_side,
	size_t n, CUstream h, bool ptds, bool async)
{
	struct copy c = {.dst = dst,
		.src = src,
		.dst_pitch = n,
		.src_pitch = n,
		.width = n,
		.height = 1,
		.depth = 1};
	struct stream *s;

	TRY_CU(stream_resolve(h, ptds, &s));
	if (!n)
		return CUDA_SUCCESS;
	TRY_CU(copy_check(&c, dst_side, src_side));
	return submit_copy(s, &c, async);
}

/* --- one-dimensional copies --- */

DRV_STREAM(3, cuMemcpy, _ptds, CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount)
{
	return copy_bytes(dst, SIDE_ANY, src, SIDE_ANY, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyAsync, _ptsz, CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount, CUstream,
	hStream)
{
	return copy_bytes(dst, SIDE_ANY, src, SIDE_ANY, ByteCount, hStream, ptds, true);
}

DRV_STREAM(
	3, cuMemcpyHtoD_v2, _ptds, CUdeviceptr, dstDevice, const void *, srcHost, size_t, ByteCount)
{
	return copy_bytes(
		dstDevice, SIDE_DEVICE, (uint64_t)srcHost, SIDE_HOST, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyHtoDAsync_v2, _ptsz, CUdeviceptr, dstDevice, const void *, srcHost, size_t,
	ByteCount, CUstream, hStream)
{
	return copy_bytes(dstDevice, SIDE_DEVICE, (uint64_t)srcHost, SIDE_HOST, ByteCount, hStream,
		ptds, true);
}

DRV_STREAM(3, cuMemcpyDtoH_v2, _ptds, void *, dstHost, CUdeviceptr, srcDevice, size_t, ByteCount)
{
	return copy_bytes(
		(uint64_t)dstHost, SIDE_HOST, srcDevice, SIDE_DEVICE, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyDtoHAsync_v2, _ptsz, void *, dstHost, CUdeviceptr, srcDevice, size_t,
	ByteCount, CUstream, hStream)
{
	return copy_bytes((uint64_t)dstHost, SIDE_HOST, srcDevice, SIDE_DEVICE, ByteCount, hStream,
		ptds, true);
}

DRV_STREAM(3, cuMemcpyDtoD_v2, _ptds, CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t,
	ByteCount)
{
	return copy_bytes(
		dstDevice, SIDE_DEVICE, srcDevice, SIDE_DEVICE, ByteCount, NULL, ptds, false);
}

DRV_STREAM(4, cuMemcpyDtoDAsync_v2, _ptsz, CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t,
	ByteCount, CUstream, hStream)
{
	return copy_bytes(
		dstDevice, SIDE_DEVICE, srcDevice, SIDE_DEVICE, ByteCount, hStream, ptds, true);
}

/* Under unified addressing the addresses say all. */
static CUresult peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
	size_t n, CUstream h, bool ptds, bool async)
{
	struct ctx *a, *b, *now;

	TRY_CU(ctx_resolve(dst_ctx, &a));
	TRY_CU(ctx_resolve(src_ctx, &b));
	if (async)
		return copy_bytes(dst, SIDE_DEVICE, src, SIDE_DEVICE, n, h, ptds, true);
	/* "CUDA Driver API", cuMemcpyPeer: serializing with all work of the current and both
	 * contexts */
	TRY_CU(ctx_current(&now));
	ctx_drain(a);
	ctx_drain(b);
	TRY_CU(copy_bytes(dst, SIDE_DEVICE, src, SIDE_DEVICE, n, NULL, ptds, false));
	ctx_drain(now);
	return ctx_sticky(now);
}

DRV_STREAM(5, cuMemcpyPeer, _ptds, CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr,
	srcDevice, CUcontext, srcContext, size_t, ByteCount)
{
	return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, ptds, false);
}

DRV_STREAM(6, cuMemcpyPeerAsync, _ptsz, CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr,
	srcDevice, CUcontext, srcContext, size_t, ByteCount, CUstream, hStream)
{
	return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, ptds, true);
}

/* --- two and three dimensions --- */

/* One side of a CUDA_MEMCPY structure. */
struct face {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height;
	CUarray array;
};

/* The box must lie in the array. */
static CUresult array_face(
	const struct face *f, const struct copy *c, uint64_t *addr, size_t *pitch, size_t *slice)
{
	const struct tex_image *m;
	struct array *a;
	size_t deep;

	TRY_CU(array_resolve(f->array, &a));
	m = &a->image;
	deep = m->dims == 3 ? m->depth : m->layers;
	REQUIRE(f->x <= m->pitch && c->width <= m->pitch - f->x && f->y <= m->height &&
		c->height <= m->height - f->y);
	REQUIRE(f->z <= deep && c->depth <= deep - f->z);
	*pitch = m->pitch;
	*slice = m->slice;
	*addr = m->base + f->z * m->slice + f->y * m->pitch + f->x;
	return CUDA_SUCCESS;
}

/* Where a face begins, and how its rows follow one another. */
static CUresult face_resolve(const struct face *f, const struct copy *c, uint64_t *addr,
	size_t *pitch, size_t *slice, int *side)
{
	/* What 0 means was measured on an H200: tests/programs/pitches.cu. */
	size_t off, row = f->pitch ? f->pitch : f->x + c->width,
		    rows = f->height ? f->height : f->y + c->height;

	switch (f->type) {
	case CU_MEMORYTYPE_HOST:
		*addr = (uint64_t)f->host;
		*side = SIDE_HOST;
		break;
	case CU_MEMORYTYPE_DEVICE:
		*addr = f->device;
		*side = SIDE_DEVICE;
		break;
	case CU_MEMORYTYPE_UNIFIED:
		*addr = f->device;
		*side = SIDE_ANY;
		break;
	case CU_MEMORYTYPE_ARRAY:
		*side = SIDE_DEVICE;
		return array_face(f, c, addr, pitch, slice);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	REQUIRE(*addr);
	REQUIRE(c->height == 1 || row >= c->width + f->x || !f->pitch);
	REQUIRE(c->depth == 1 || rows >= c->height);
	*pitch = row;
	if (__builtin_mul_overflow(row, rows, slice) || __builtin_mul_overflow(f->z, *slice, &off))
		return CUDA_ERROR_INVALID_VALUE;
	*addr += off + f->y * row + f->x;
	return CUDA_SUCCESS;
}

CUresult copy_3d(const CUDA_MEMCPY3D *p, struct copy *c)
{
	const struct face dst = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes,
		p->dstY, p->dstZ, p->dstPitch, p->dstHeight, p->dstArray};
	const struct face src = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes,
		p->srcY, p->srcZ, p->srcPitch, p->srcHeight, p->srcArray};
	int dst_side, src_side;

	*c = (struct copy){.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
	if (!c->width || !c->height || !c->depth)
		return CUDA_SUCCESS;
	TRY_CU(face_resolve(&dst, c, &c->dst, &c->dst_pitch, &c->dst_slice, &dst_side));
	TRY_CU(face_resolve(&src, c, &c->src, &c->src_pitch, &c->src_slice, &src_side));
	return copy_check(c, dst_side, src_side);
}

static CUresult run_3d(const CUDA_MEMCPY3D *p, CUstream h, bool ptds, bool async)
{
	struct stream *s;
	struct copy c;

	REQUIRE(p);
	TRY_CU(stream_resolve(h, ptds, &s));
	TRY_CU(copy_3d(p, &c));
	if (!c.width || !c.height || !c.depth)
		return CUDA_SUCCESS;
	return submit_copy(s, &c, async);
}

static CUresult run_2d(const CUDA_MEMCPY2D *p, CUstream h, bool ptds, bool async)
{
	CUDA_MEMCPY3D q;

	REQUIRE(p);
	q = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcPitch = p->srcPitch,
		.srcArray = p->srcArray,
		.dstArray = p->dstArray,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};
	return run_3d(&q, h, ptds, async);
}

DRV_STREAM(1, cuMemcpy2D_v2, _ptds, const CUDA_MEMCPY2D *, pCopy)
{
	return run_2d(pCopy, NULL, ptds, false);
}

DRV_STREAM(1, cuMemcpy2DUnaligned_v2, _ptds, const CUDA_MEMCPY2D *, pCopy)
{
	return run_2d(pCopy, NULL, ptds, false);
}

DRV_STREAM(2, cuMemcpy2DAsync_v2, _ptsz, const CUDA_MEMCPY2D *, pCopy, CUstream, hStream)
{
	return run_2d(pCopy, hStream, ptds, true);
}

DRV_STREAM(1, cuMemcpy3D_v2, _ptds, const CUDA_MEMCPY3D *, pCopy)
{
	return run_3d(pCopy, NULL, ptds, false);
}

DRV_STREAM(2, cuMemcpy3DAsync_v2, _ptsz, const CUDA_MEMCPY3D *, pCopy, CUstream, hStream)
{
	return run_3d(pCopy, hStream, ptds, true);
}

/* The structure begins like CUDA_MEMCPY3D but for the contexts in place of the reserved pointers.
 */
static CUresult run_3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream h, bool ptds, bool async)
{
	struct ctx *a, *b, *now;
	CUDA_MEMCPY3D q;
	CUresult r;

	REQUIRE(p);
	TRY_CU(ctx_current(&now));
	if (!async && ctx_resolve(p->srcContext, &a) == CUDA_SUCCESS &&
		ctx_resolve(p->dstContext, &b) == CUDA_SUCCESS) {
		ctx_drain(a);
		ctx_drain(b);
	}
	q = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcZ = p->srcZ,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcPitch = p->srcPitch,
		.srcHeight = p->srcHeight,
		.srcArray = p->srcArray,
		.dstArray = p->dstArray,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstZ = p->dstZ,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstPitch = p->dstPitch,
		.dstHeight = p->dstHeight,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = p->Depth,
	};
	r = run_3d(&q, h, ptds, async);
	if (!async)
		ctx_drain(now);
	return r;
}

DRV_STREAM(1, cuMemcpy3DPeer, _ptds, const CUDA_MEMCPY3D_PEER *, pCopy)
{
	return run_3d_peer(pCopy, NULL, ptds, false);
}

DRV_STREAM(2, cuMemcpy3DPeerAsync, _ptsz, const CUDA_MEMCPY3D_PEER *, pCopy, CUstream, hStream)
{
	return run_3d_peer(pCopy, hStream, ptds, true);
}

/* --- fills --- */

CUresult fill_check(const struct fill *f)
{
	size_t row, last, n;

	REQUIRE(f->elem == 1 || f->elem == 2 || f->elem == 4);
	REQUIRE(!(f->dst % f->elem) && !(f->pitch % f->elem));
	REQUIRE(!__builtin_mul_overflow(f->width, f->elem, &row));
	REQUIRE(f->height == 1 || f->pitch >= row);
	REQUIRE(!__builtin_mul_overflow(f->height - 1, f->pitch, &last) &&
		!__builtin_add_overflow(last, row, &n));
	REQUIRE(mem_covers_writable(f->dst, n));
	return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr dst, size_t pitch, size_t width, size_t height, unsigned elem,
	uint32_t value, CUstream h, bool ptds, bool async)
{
	struct op op = {.kind = OP_FILL, .fill = {dst, pitch, width, height, elem, value}};
	enum soft_mem_kind kind;
	struct stream *s;

	TRY_CU(stream_resolve(h, ptds, &s));
	if (!width || !height)
		return CUDA_SUCCESS;
	TRY_CU(fill_check(&op.fill));
	if (s->capture && !async) {
		capture_invalidate(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	/* "CUDA Runtime API", API synchronization behavior: a fill of pinned or managed memory has
	 * been done on return */
	kind = mem_soft_kind(mem_find(dst));
	return stream_submit(s, &op, NULL,
		!async && (on_host(kind) || kind == SOFT_MEM_MANAGED || always_waits(s, dst)),
		async);
}

DRV_STREAM(3, cuMemsetD8_v2, _ptds, CUdeviceptr, dstDevice, unsigned char, uc, size_t, N)
{
	return fill(dstDevice, 0, N, 1, 1, uc, NULL, ptds, false);
}

DRV_STREAM(3, cuMemsetD16_v2, _ptds, CUdeviceptr, dstDevice, unsigned short, us, size_t, N)
{
	return fill(dstDevice, 0, N, 1, 2, us, NULL, ptds, false);
}

DRV_STREAM(3, cuMemsetD32_v2, _ptds, CUdeviceptr, dstDevice, unsigned int, ui, size_t, N)
{
	return fill(dstDevice, 0, N, 1, 4, ui, NULL, ptds, false);
}

DRV_STREAM(5, cuMemsetD2D8_v2, _ptds, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc,
	size_t, Width, size_t, Height)
{
	return fill(dstDevice, dstPitch, Width, Height, 1, uc, NULL, ptds, false);
}

DRV_STREAM(5, cuMemsetD2D16_v2, _ptds, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short, us,
	size_t, Width, size_t, Height)
{
	return fill(dstDevice, dstPitch, Width, Height, 2, us, NULL, ptds, false);
}

DRV_STREAM(5, cuMemsetD2D32_v2, _ptds, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui,
	size_t, Width, size_t, Height)
{
	return fill(dstDevice, dstPitch, Width, Height, 4, ui, NULL, ptds, false);
}

DRV_STREAM(4, cuMemsetD8Async, _ptsz, CUdeviceptr, dstDevice, unsigned char, uc, size_t, N,
	CUstream, hStream)
{
	return fill(dstDevice, 0, N, 1, 1, uc, hStream, ptds, true);
}

DRV_STREAM(4, cuMemsetD16Async, _ptsz, CUdeviceptr, dstDevice, unsigned short, us, size_t, N,
	CUstream, hStream)
{
	return fill(dstDevice, 0, N, 1, 2, us, hStream, ptds, true);
}

DRV_STREAM(4, cuMemsetD32Async, _ptsz, CUdeviceptr, dstDevice, unsigned int, ui, size_t, N,
	CUstream, hStream)
{
	return fill(dstDevice, 0, N, 1, 4, ui, hStream, ptds, true);
}

DRV_STREAM(6, cuMemsetD2D8Async, _ptsz, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc,
	size_t, Width, size_t, Height, CUstream, hStream)
{
	return fill(dstDevice, dstPitch, Width, Height, 1, uc, hStream, ptds, true);
}

DRV_STREAM(6, cuMemsetD2D16Async, _ptsz, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short,
	us, size_t, Width, size_t, Height, CUstream, hStream)
{
	return fill(dstDevice, dstPitch, Width, Height, 2, us, hStream, ptds, true);
}

DRV_STREAM(6, cuMemsetD2D32Async, _ptsz, CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui,
	size_t, Width, size_t, Height, CUstream, hStream)
{
	return fill(dstDevice, dstPitch, Width, Height, 4, ui, hStream, ptds, true);
}
