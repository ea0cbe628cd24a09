// SPDX-License-Identifier: Apache-2.0
//
// Handlers: copies and fills.
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-version.h"
#include "sbt/footprint.h"

/* ---- copies ---- */

static bool attributes(uint64_t address, hipPointerAttribute_t *ret)
{
	return hip.hipPointerGetAttributes &&
	       !OWN(hip.hipPointerGetAttributes(ret, (const void *)(uintptr_t)address));
}

static bool is_device(uint64_t address)
{
	hipPointerAttribute_t a;

	return attributes(address, &a) && hip_memory_is_device(&a);
}

/* HIP knows pinned and managed memory; for other memory of the host it answers an error, or type 0.
 */
static bool is_pageable(uint64_t address)
{
	const struct hip_version *v = hip_version();
	hipPointerAttribute_t a;

	return !attributes(address, &a) || (v && v->knows_pageable && !(unsigned)a.memoryType);
}

static enum sbt_copy direction(hipMemcpyKind kind, uint64_t dst, uint64_t src)
{
	switch (kind) {
	case hipMemcpyHostToHost:
		return SBT_COPY_H2H;
	case hipMemcpyHostToDevice:
		return SBT_COPY_H2D;
	case hipMemcpyDeviceToHost:
		return SBT_COPY_D2H;
	case hipMemcpyDeviceToDevice:
		return SBT_COPY_D2D;
	default:
		return is_device(dst) ? (is_device(src) ? SBT_COPY_D2D : SBT_COPY_H2D)
				      : (is_device(src) ? SBT_COPY_D2H : SBT_COPY_H2H);
	}
}

static void note_pageable(struct sbt_cmd_copy *k)
{
	if (k->dir == SBT_COPY_H2D || k->dir == SBT_COPY_D2H)
		k->pageable = is_pageable(k->dir == SBT_COPY_H2D ? k->src : k->dst);
}

static void copied(struct call *c, hipStream_t stream, bool async)
{
	c->cmd.u.copy.stream = call_stream(c, H(stream));
	c->cmd.u.copy.async = async;
	note_pageable(&c->cmd.u.copy);
}

static void flat(struct call *c, enum sbt_copy dir, uint64_t dst, uint64_t src, uint64_t size)
{
	struct sbt_cmd_copy *k = &c->cmd.u.copy;

	k->dir = dir;
	k->dst = dst;
	k->src = src;
	k->size = size;
}

#define COPY(handler, name, direction_of, stream_of, is_async)                                     \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		flat(c, direction_of, H(p->dst), H(p->src), p->sizeBytes);                         \
		copied(c, stream_of, is_async);                                                    \
	}
#define SAID direction(p->kind, H(p->dst), H(p->src))
COPY(hip_copy, hipMemcpy, SAID, NULL, false)
COPY(hip_copy_async, hipMemcpyAsync, SAID, p->stream, true)
COPY(hip_copy_with_stream, hipMemcpyWithStream, SAID, p->stream, false)
COPY(hip_h2d, hipMemcpyHtoD, SBT_COPY_H2D, NULL, false)
COPY(hip_h2d_async, hipMemcpyHtoDAsync, SBT_COPY_H2D, p->stream, true)
COPY(hip_d2h, hipMemcpyDtoH, SBT_COPY_D2H, NULL, false)
COPY(hip_d2h_async, hipMemcpyDtoHAsync, SBT_COPY_D2H, p->stream, true)
COPY(hip_d2d, hipMemcpyDtoD, SBT_COPY_D2D, NULL, false)
COPY(hip_d2d_async, hipMemcpyDtoDAsync, SBT_COPY_D2D, p->stream, true)
COPY(hip_peer, hipMemcpyPeer, SBT_COPY_PEER, NULL, false)
COPY(hip_peer_async, hipMemcpyPeerAsync, SBT_COPY_PEER, p->stream, true)
#undef COPY

static void rows(struct call *c, struct sbt_side dst, struct sbt_side src, uint64_t width,
	uint64_t height, hipMemcpyKind kind)
{
	struct sbt_cmd_copy *k = &c->cmd.u.copy;

	k->width = width;
	k->height = height;
	k->depth = 1;
	k->size = width * height;
	sbt_side_rows(&dst, width, height, &k->dst, &k->dst_pitch, &k->dst_slice);
	sbt_side_rows(&src, width, height, &k->src, &k->src_pitch, &k->src_slice);
	k->dir = direction(kind, k->dst, k->src);
}

#define COPY_2D(handler, name, stream_of, is_async)                                                \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		rows(c, (struct sbt_side){.base = H(p->dst), .pitch = p->dpitch},                  \
			(struct sbt_side){.base = H(p->src), .pitch = p->spitch}, p->width,        \
			p->height, p->kind);                                                       \
		copied(c, stream_of, is_async);                                                    \
	}
COPY_2D(hip_2d, hipMemcpy2D, NULL, false)
COPY_2D(hip_2d_async, hipMemcpy2DAsync, p->stream, true)
#undef COPY_2D

/* Without a stream. An array is not an address: such a copy is not replayable. */
static void rows_3d(struct call *c, const hipMemcpy3DParms *p)
{
	const struct hipExtent *e = &p->extent;
	struct sbt_cmd_copy *k = &c->cmd.u.copy;
	const struct sbt_side dst = {.base = H(p->dstPtr.ptr),
		.x = p->dstPos.x,
		.y = p->dstPos.y,
		.z = p->dstPos.z,
		.pitch = p->dstPtr.pitch,
		.height = p->dstPtr.ysize};
	const struct sbt_side src = {.base = H(p->srcPtr.ptr),
		.x = p->srcPos.x,
		.y = p->srcPos.y,
		.z = p->srcPos.z,
		.pitch = p->srcPtr.pitch,
		.height = p->srcPtr.ysize};

	if (p->srcArray || p->dstArray) {
		call_unreplayable(c, "a copy to or from a HIP array");
		return;
	}
	rows(c, dst, src, e->width, e->height, p->kind);
	k->depth = e->depth;
	k->size = e->width * e->height * e->depth;
}

static void copy_3d(struct call *c, const hipMemcpy3DParms *p, hipStream_t stream, bool async)
{
	if (p)
		rows_3d(c, p);
	else
		call_unreplayable(c, c->row->name);
	if (c->cmd.kind == SBT_COPY)
		copied(c, stream, async);
}

void hip_3d(struct call *c)
{
	copy_3d(c, HIP_ARGS(c, hipMemcpy3D)->p, NULL, false);
}

void hip_3d_async(struct call *c)
{
	copy_3d(c, HIP_ARGS(c, hipMemcpy3DAsync)->p, HIP_ARGS(c, hipMemcpy3DAsync)->stream, true);
}

/* The variable's place on the current device; 0: there is none, and the call fails. Its code may
 * have run no kernel yet, so it is introduced. */
static uint64_t place_of(struct call *c, const void *symbol)
{
	struct hip_code code;
	void *at = NULL;

	if (!hip.hipGetSymbolAddress || OWN(hip.hipGetSymbolAddress(&at, symbol)))
		return 0;
	(void)hip_introduce_code(c, H(at), &code);
	return H(at);
}

static enum sbt_copy direction_of_symbol(hipMemcpyKind kind, bool to, uint64_t other)
{
	const bool on_device =
		kind == hipMemcpyDeviceToDevice || (kind == hipMemcpyDefault && is_device(other));

	return on_device ? SBT_COPY_D2D : to ? SBT_COPY_H2D : SBT_COPY_D2H;
}

#define TO_SYMBOL(handler, name, stream_of, is_async)                                              \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		flat(c, direction_of_symbol(p->kind, true, H(p->src)),                             \
			place_of(c, p->symbol) + p->offset, H(p->src), p->sizeBytes);              \
		copied(c, stream_of, is_async);                                                    \
	}
#define FROM_SYMBOL(handler, name, stream_of, is_async)                                            \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		flat(c, direction_of_symbol(p->kind, false, H(p->dst)), H(p->dst),                 \
			place_of(c, p->symbol) + p->offset, p->sizeBytes);                         \
		copied(c, stream_of, is_async);                                                    \
	}
TO_SYMBOL(hip_to_symbol, hipMemcpyToSymbol, NULL, false)
TO_SYMBOL(hip_to_symbol_async, hipMemcpyToSymbolAsync, p->stream, true)
FROM_SYMBOL(hip_from_symbol, hipMemcpyFromSymbol, NULL, false)
FROM_SYMBOL(hip_from_symbol_async, hipMemcpyFromSymbolAsync, p->stream, true)

/* ---- copies of graphs: they have no stream ---- */

static void in_graph(struct call *n)
{
	if (n->cmd.kind != SBT_COPY)
		return;
	n->cmd.u.copy.stream = SBT_NO_ID;
	n->cmd.u.copy.async = 1;
	note_pageable(&n->cmd.u.copy);
}

void hip_node_copy(struct call *n, uint64_t dst, uint64_t src, uint64_t size, hipMemcpyKind kind)
{
	n->cmd.kind = SBT_COPY;
	flat(n, direction(kind, dst, src), dst, src, size);
	in_graph(n);
}

void hip_node_copy_symbol(struct call *n, const void *symbol, uint64_t offset, bool to,
	uint64_t other, uint64_t size, hipMemcpyKind kind)
{
	const uint64_t at = place_of(n, symbol) + offset;

	n->cmd.kind = SBT_COPY;
	flat(n, direction_of_symbol(kind, to, other), to ? at : other, to ? other : at, size);
	in_graph(n);
}

void hip_node_copy_3d(struct call *n, const hipMemcpy3DParms *p)
{
	n->cmd.kind = SBT_COPY;
	rows_3d(n, p);
	in_graph(n);
}

/* ---- fills ---- */

static void fill(struct call *c, uint64_t dst, uint64_t value, unsigned elem, uint64_t n)
{
	struct sbt_cmd_fill *f = &c->cmd.u.fill;

	f->dst = dst;
	f->elem = elem;
	f->value = value & (UINT64_MAX >> (64 - 8 * elem));
	f->size = n * elem;
}

static void filled(struct call *c, hipStream_t stream, bool async)
{
	c->cmd.u.fill.stream = call_stream(c, H(stream));
	c->cmd.u.fill.async = async;
}

#define FILL(handler, name, dst_of, count_of, elem, stream_of, is_async)                           \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		fill(c, H(p->dst_of), (uint64_t)p->value, elem, p->count_of);                      \
		filled(c, stream_of, is_async);                                                    \
	}
FILL(hip_set, hipMemset, dst, sizeBytes, 1, NULL, false)
FILL(hip_set_async, hipMemsetAsync, dst, sizeBytes, 1, p->stream, true)
FILL(hip_set8, hipMemsetD8, dest, count, 1, NULL, false)
FILL(hip_set8_async, hipMemsetD8Async, dest, count, 1, p->stream, true)
FILL(hip_set16, hipMemsetD16, dest, count, 2, NULL, false)
FILL(hip_set16_async, hipMemsetD16Async, dest, count, 2, p->stream, true)
FILL(hip_set32, hipMemsetD32, dest, count, 4, NULL, false)
FILL(hip_set32_async, hipMemsetD32Async, dst, count, 4, p->stream, true)
#undef FILL

static void fill_rows(
	struct call *c, uint64_t dst, uint64_t pitch, int value, uint64_t width, uint64_t height)
{
	struct sbt_cmd_fill *f = &c->cmd.u.fill;

	fill(c, dst, (uint64_t)value, 1, width * height);
	f->dst_pitch = pitch;
	f->width = width;
	f->height = height;
}

void hip_set_2d(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMemset2D)) *p = HIP_ARGS(c, hipMemset2D);

	fill_rows(c, H(p->dst), p->pitch, p->value, p->width, p->height);
	filled(c, NULL, false);
}

void hip_set_2d_async(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMemset2DAsync)) *p = HIP_ARGS(c, hipMemset2DAsync);

	fill_rows(c, H(p->dst), p->pitch, p->value, p->width, p->height);
	filled(c, p->stream, true);
}
