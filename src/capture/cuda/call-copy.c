/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: copies and fills. The parameter structures of the plain, _ptds, _ptsz forms of a call are the same, so they
 * share a handler; the Async form has the stream behind the rest.
 */
#include <cupti.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"
#include "capture/core/thread.h"
#include "sbt/footprint.h"

/* ---- plain copies ------------------------------------------------------------------------------------------------- */

static void plain(struct call *c, enum sbt_copy dir, uint64_t dst, uint64_t src, uint64_t size, CUstream s)
{
	struct sbt_cmd_copy *k = &c->cmd.u.copy;
	k->stream = call_stream(c, H(s));
	k->dir = dir;
	k->dst = dst;
	k->src = src;
	k->size = size;
	k->async = (c->row->flags & CALL_ASYNC) != 0;
}

/* The driver knows no pageable memory: it answers with an error. */
static bool is_pageable(uint64_t address)
{
	CUmemorytype type = 0;
	return OWN(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) != CUDA_SUCCESS || !type;
}

static bool is_device(uint64_t address)
{
	CUmemorytype type = 0;
	return OWN(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) == CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

static enum sbt_copy direction(bool dst_device, bool src_device)
{
	return dst_device ? (src_device ? SBT_COPY_D2D : SBT_COPY_H2D) : (src_device ? SBT_COPY_D2H : SBT_COPY_H2H);
}

void enter_h2d(struct call *c)
{
	const cuMemcpyHtoD_v2_params *p = c->params;
	plain(c, SBT_COPY_H2D, p->dstDevice, (uint64_t)(uintptr_t)p->srcHost, p->ByteCount, NULL);
	c->cmd.u.copy.pageable = is_pageable(c->cmd.u.copy.src);
}

void enter_h2d_async(struct call *c)
{
	const cuMemcpyHtoDAsync_v2_params *p = c->params;
	plain(c, SBT_COPY_H2D, p->dstDevice, (uint64_t)(uintptr_t)p->srcHost, p->ByteCount, p->hStream);
	c->cmd.u.copy.pageable = is_pageable(c->cmd.u.copy.src);
}

void enter_d2h(struct call *c)
{
	const cuMemcpyDtoH_v2_params *p = c->params;
	plain(c, SBT_COPY_D2H, (uint64_t)(uintptr_t)p->dstHost, p->srcDevice, p->ByteCount, NULL);
	c->cmd.u.copy.pageable = is_pageable(c->cmd.u.copy.dst);
}

void enter_d2h_async(struct call *c)
{
	const cuMemcpyDtoHAsync_v2_params *p = c->params;
	plain(c, SBT_COPY_D2H, (uint64_t)(uintptr_t)p->dstHost, p->srcDevice, p->ByteCount, p->hStream);
	c->cmd.u.copy.pageable = is_pageable(c->cmd.u.copy.dst);
}

void enter_d2d(struct call *c)
{
	const cuMemcpyDtoD_v2_params *p = c->params;
	plain(c, SBT_COPY_D2D, p->dstDevice, p->srcDevice, p->ByteCount, NULL);
}

void enter_d2d_async(struct call *c)
{
	const cuMemcpyDtoDAsync_v2_params *p = c->params;
	plain(c, SBT_COPY_D2D, p->dstDevice, p->srcDevice, p->ByteCount, p->hStream);
}

/* cuMemcpy finds the direction out from the addresses; so do we. */
static void unified(struct call *c, uint64_t dst, uint64_t src, uint64_t size, CUstream s)
{
	const bool to = is_device(dst), from = is_device(src);
	plain(c, direction(to, from), dst, src, size, s);
	if (to != from)
		c->cmd.u.copy.pageable = is_pageable(to ? src : dst);
}

void enter_memcpy(struct call *c)
{
	const cuMemcpy_params *p = c->params;
	unified(c, p->dst, p->src, p->ByteCount, NULL);
}

void enter_memcpy_async(struct call *c)
{
	const cuMemcpyAsync_params *p = c->params;
	unified(c, p->dst, p->src, p->ByteCount, p->hStream);
}

void enter_peer(struct call *c)
{
	const cuMemcpyPeer_params *p = c->params;
	plain(c, SBT_COPY_PEER, p->dstDevice, p->srcDevice, p->ByteCount, NULL);
}

void enter_peer_async(struct call *c)
{
	const cuMemcpyPeerAsync_params *p = c->params;
	plain(c, SBT_COPY_PEER, p->dstDevice, p->srcDevice, p->ByteCount, p->hStream);
}

/* ---- 2D and 3D ------------------------------------------------------------------------------------------------------ */

/* One side as the driver's structure describes it. */
struct side {
	struct sbt_side at;
	bool device, array;
};

static struct side side_of(CUmemorytype type, const void *host, CUdeviceptr device, struct sbt_side at)
{
	struct side s = { .at = at };
	s.at.base = device;
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		s.at.base = (uint64_t)(uintptr_t)host;
		break;
	case CU_MEMORYTYPE_DEVICE:
		s.device = true;
		break;
	case CU_MEMORYTYPE_UNIFIED:
		s.device = is_device(device);
		break;
	default:
		s.array = true;
	}
	return s;
}

static void pitched(struct call *c, struct side dst, struct side src, uint64_t width, uint64_t height, uint64_t depth,
	CUstream s)
{
	struct sbt_cmd_copy *k = &c->cmd.u.copy;
	if (dst.array || src.array) {
		call_unreplayable(c, "a copy to or from a CUDA array");
		return;
	}
	plain(c, direction(dst.device, src.device), 0, 0, width * height * depth, s);
	k->width = width;
	k->height = height;
	k->depth = depth;
	sbt_side_rows(&dst.at, width, height, &k->dst, &k->dst_pitch, &k->dst_slice);
	sbt_side_rows(&src.at, width, height, &k->src, &k->src_pitch, &k->src_slice);
	if (dst.device != src.device)
		k->pageable = is_pageable(dst.device ? k->src : k->dst);
}

static void copy_2d(struct call *c, const CUDA_MEMCPY2D *m, CUstream s)
{
	if (!m) {
		c->skip = true;
		return;
	}
	pitched(c,
		side_of(m->dstMemoryType, m->dstHost, m->dstDevice,
			(struct sbt_side){ .x = m->dstXInBytes, .y = m->dstY, .pitch = m->dstPitch }),
		side_of(m->srcMemoryType, m->srcHost, m->srcDevice,
			(struct sbt_side){ .x = m->srcXInBytes, .y = m->srcY, .pitch = m->srcPitch }),
		m->WidthInBytes, m->Height, 1, s);
}

void enter_2d(struct call *c)
{
	copy_2d(c, ((const cuMemcpy2D_v2_params *)c->params)->pCopy, NULL);
}

void enter_2d_async(struct call *c)
{
	const cuMemcpy2DAsync_v2_params *p = c->params;
	copy_2d(c, p->pCopy, p->hStream);
}

/* The peer form's structure has the same leading members under the same names. */
#define SIDE_3D(m, side)                                                                                               \
	side_of((m)->side##MemoryType, (m)->side##Host, (m)->side##Device,                                             \
		(struct sbt_side){ .x = (m)->side##XInBytes, .y = (m)->side##Y, .z = (m)->side##Z,                     \
			.pitch = (m)->side##Pitch, .height = (m)->side##Height })
#define COPY_3D(c, m, s)                                                                                               \
	pitched(c, SIDE_3D(m, dst), SIDE_3D(m, src), (m)->WidthInBytes, (m)->Height, (m)->Depth, s)

void call_copy_3d(struct call *c, const CUDA_MEMCPY3D *m, CUstream s)
{
	if (m)
		COPY_3D(c, m, s);
	else
		c->skip = true;
}

static void copy_3d_peer(struct call *c, const CUDA_MEMCPY3D_PEER *m, CUstream s)
{
	if (!m) {
		c->skip = true;
		return;
	}
	COPY_3D(c, m, s);
	if (c->cmd.kind == SBT_COPY)
		c->cmd.u.copy.dir = SBT_COPY_PEER;
}

void enter_3d(struct call *c)
{
	call_copy_3d(c, ((const cuMemcpy3D_v2_params *)c->params)->pCopy, NULL);
}

void enter_3d_async(struct call *c)
{
	const cuMemcpy3DAsync_v2_params *p = c->params;
	call_copy_3d(c, p->pCopy, p->hStream);
}

void enter_3d_peer(struct call *c)
{
	copy_3d_peer(c, ((const cuMemcpy3DPeer_params *)c->params)->pCopy, NULL);
}

void enter_3d_peer_async(struct call *c)
{
	const cuMemcpy3DPeerAsync_params *p = c->params;
	copy_3d_peer(c, p->pCopy, p->hStream);
}

/* ---- fills ------------------------------------------------------------------------------------------------------------ */

static struct sbt_cmd_fill *fill(struct call *c, uint64_t dst, uint64_t value, unsigned elem, uint64_t n, CUstream s)
{
	struct sbt_cmd_fill *f = &c->cmd.u.fill;
	f->stream = call_stream(c, H(s));
	f->dst = dst;
	f->value = value;
	f->elem = elem;
	f->size = n * elem;
	f->async = (c->row->flags & CALL_ASYNC) != 0;
	return f;
}

static void fill_2d(struct call *c, uint64_t dst, uint64_t pitch, uint64_t value, unsigned elem, uint64_t width, uint64_t height,
	CUstream s)
{
	struct sbt_cmd_fill *f = fill(c, dst, value, elem, width * height, s);
	f->width = width;
	f->height = height;
	f->dst_pitch = pitch;
}

#define FILL(fn, type, member, elem)                                             \
	void enter_##fn(struct call *c)                                          \
	{                                                                        \
		const type##_v2_params *p = c->params;                           \
		fill(c, p->dstDevice, p->member, elem, p->N, NULL);              \
	}                                                                        \
	void enter_##fn##_async(struct call *c)                                  \
	{                                                                        \
		const type##Async_params *p = c->params;                         \
		fill(c, p->dstDevice, p->member, elem, p->N, p->hStream);        \
	}
#define FILL_2D(fn, type, member, elem)                                                                           \
	void enter_##fn(struct call *c)                                                                           \
	{                                                                                                         \
		const type##_v2_params *p = c->params;                                                            \
		fill_2d(c, p->dstDevice, p->dstPitch, p->member, elem, p->Width, p->Height, NULL);                \
	}                                                                                                         \
	void enter_##fn##_async(struct call *c)                                                                   \
	{                                                                                                         \
		const type##Async_params *p = c->params;                                                          \
		fill_2d(c, p->dstDevice, p->dstPitch, p->member, elem, p->Width, p->Height, p->hStream);          \
	}
FILL(set8, cuMemsetD8, uc, 1)
FILL(set16, cuMemsetD16, us, 2)
FILL(set32, cuMemsetD32, ui, 4)
FILL_2D(set8_2d, cuMemsetD2D8, uc, 1)
FILL_2D(set16_2d, cuMemsetD2D16, us, 2)
FILL_2D(set32_2d, cuMemsetD2D32, ui, 4)
