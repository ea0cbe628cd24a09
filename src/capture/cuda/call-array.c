/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: CUDA arrays, copies that count an array's bytes from its beginning, texture and surface
 * objects. Arrays have addresses of our own (objects/arrays.h). What is not described here (sparse
 * arrays, texels of other formats, resource views, mipmaps) is recorded as not replayable, by name.
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/arrays.h"
#include "capture/objects/ids.h"

#define KNOWN_FLAGS                                                                                \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |                 \
		CUDA_ARRAY3D_TEXTURE_GATHER)

/* Bytes of one channel; 0: a format that is not known. */
static unsigned format_bytes(uint64_t format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

/* --- arrays come and go --- */

static void array_asked(struct call *c, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d) {
		c->skip = true;
		return;
	}
	if (d->Flags & ~(unsigned)KNOWN_FLAGS || !format_bytes(d->Format)) {
		call_counted(c);
		return;
	}
	c->cmd.u.alloc = (struct sbt_cmd_alloc){.mem = SBT_MEM_ARRAY,
		.device = call_device(c),
		.alloc_flags = d->Flags,
		.stream = SBT_NO_ID,
		.format = d->Format,
		.channels = d->NumChannels,
		.width = d->Width,
		.height = d->Height,
		.depth = d->Depth};
}

void enter_array_create(struct call *c)
{
	const cuArrayCreate_v2_params *p = c->params;
	const CUDA_ARRAY_DESCRIPTOR *d = p->pAllocateArray;
	const CUDA_ARRAY3D_DESCRIPTOR whole = {.Width = d ? d->Width : 0,
		.Height = d ? d->Height : 0,
		.Format = d ? d->Format : 0,
		.NumChannels = d ? d->NumChannels : 0};
	array_asked(c, d ? &whole : NULL);
}

void enter_array_create_3d(struct call *c)
{
	const cuArray3DCreate_v2_params *p = c->params;
	array_asked(c, p->pAllocateArray);
}

void exit_array_create(struct call *c) /* both: pHandle comes first */
{
	const cuArrayCreate_v2_params *p = c->params;
	struct sbt_cmd_alloc *u = &c->cmd.u.alloc;
	if (c->cmd.result || !p->pHandle || c->cmd.kind != SBT_ALLOC)
		return;
	const struct array *a =
		arrays_new(H(*p->pHandle), call_ctx_id(c), u, format_bytes(u->format));
	if (!a) {
		call_counted(c);
		return;
	}
	u->addr = a->addr;
	u->size = array_bytes(a);
}

void enter_array_destroy(struct call *c)
{
	const cuArrayDestroy_params *p = c->params;
	const struct array *a = arrays_by_handle(H(p->hArray));
	if (a)
		c->cmd.u.free = (struct sbt_cmd_free){
			.addr = a->addr, .mem = SBT_MEM_ARRAY, .stream = SBT_NO_ID};
	else
		call_counted(c);
}

void exit_array_destroy(struct call *c)
{
	const cuArrayDestroy_params *p = c->params;
	if (!c->cmd.result)
		arrays_gone(H(p->hArray));
}

/* --- copies whose array sides are offsets --- */

/* The address of n bytes of an array; 0: they are not known. */
static uint64_t bytes_of(CUarray h, uint64_t offset, uint64_t n)
{
	const struct array *a = arrays_by_handle(H(h));
	const uint64_t size = a ? array_bytes(a) : 0;
	return a && offset <= size && n <= size - offset ? a->addr + offset : 0;
}

static void copied(struct call *c, enum sbt_copy dir, uint64_t dst, uint64_t src, uint64_t n,
	CUstream s, bool async)
{
	if (!dst || !src) {
		call_unreplayable(c, "a copy to or from a CUDA array");
		return;
	}
	c->cmd.u.copy = (struct sbt_cmd_copy){
		.dir = dir, .dst = dst, .src = src, .size = n, .async = async};
	c->cmd.u.copy.stream = call_stream(c, H(s));
	if (dir != SBT_COPY_D2D)
		c->cmd.u.copy.pageable = call_is_pageable(dir == SBT_COPY_H2D ? src : dst);
}

void enter_d2a(struct call *c)
{
	const cuMemcpyDtoA_v2_params *p = c->params;
	copied(c, SBT_COPY_D2D, bytes_of(p->dstArray, p->dstOffset, p->ByteCount), p->srcDevice,
		p->ByteCount, NULL, false);
}

void enter_a2d(struct call *c)
{
	const cuMemcpyAtoD_v2_params *p = c->params;
	copied(c, SBT_COPY_D2D, p->dstDevice, bytes_of(p->srcArray, p->srcOffset, p->ByteCount),
		p->ByteCount, NULL, false);
}

void enter_h2a(struct call *c)
{
	const cuMemcpyHtoA_v2_params *p = c->params;
	copied(c, SBT_COPY_H2D, bytes_of(p->dstArray, p->dstOffset, p->ByteCount), H(p->srcHost),
		p->ByteCount, NULL, false);
}

void enter_a2h(struct call *c)
{
	const cuMemcpyAtoH_v2_params *p = c->params;
	copied(c, SBT_COPY_D2H, H(p->dstHost), bytes_of(p->srcArray, p->srcOffset, p->ByteCount),
		p->ByteCount, NULL, false);
}

void enter_a2a(struct call *c)
{
	const cuMemcpyAtoA_v2_params *p = c->params;
	copied(c, SBT_COPY_D2D, bytes_of(p->dstArray, p->dstOffset, p->ByteCount),
		bytes_of(p->srcArray, p->srcOffset, p->ByteCount), p->ByteCount, NULL, false);
}

void enter_h2a_async(struct call *c)
{
	const cuMemcpyHtoAAsync_v2_params *p = c->params;
	copied(c, SBT_COPY_H2D, bytes_of(p->dstArray, p->dstOffset, p->ByteCount), H(p->srcHost),
		p->ByteCount, p->hStream, true);
}

void enter_a2h_async(struct call *c)
{
	const cuMemcpyAtoHAsync_v2_params *p = c->params;
	copied(c, SBT_COPY_D2H, H(p->dstHost), bytes_of(p->srcArray, p->srcOffset, p->ByteCount),
		p->ByteCount, p->hStream, true);
}

/* --- texture and surface objects --- */

static uint32_t float_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}

/* Returns false if it is not known. */
static bool take_array(struct sbt_cmd_texture_create *u, const struct array *a)
{
	if (!a)
		return false;
	u->addr = a->addr;
	u->size = array_bytes(a);
	u->format = a->format;
	u->channels = a->channels;
	u->width = a->width;
	u->height = a->height;
	u->depth = a->depth;
	u->array_flags = a->flags;
	return true;
}

/* Returns false for what is not described. */
static bool take_resource(struct sbt_cmd_texture_create *u, const CUDA_RESOURCE_DESC *d)
{
	u->resource = d->resType;
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return take_array(u, arrays_by_handle(H(d->res.array.hArray)));
	case CU_RESOURCE_TYPE_LINEAR:
		u->addr = d->res.linear.devPtr;
		u->size = d->res.linear.sizeInBytes;
		u->format = d->res.linear.format;
		u->channels = d->res.linear.numChannels;
		return format_bytes(u->format);
	case CU_RESOURCE_TYPE_PITCH2D:
		u->addr = d->res.pitch2D.devPtr;
		u->format = d->res.pitch2D.format;
		u->channels = d->res.pitch2D.numChannels;
		u->width = d->res.pitch2D.width;
		u->height = d->res.pitch2D.height;
		u->pitch = d->res.pitch2D.pitchInBytes;
		u->size = (u->height - 1) * u->pitch +
			  u->width * u->channels * format_bytes(u->format);
		return format_bytes(u->format) && u->height;
	default:
		return false;
	}
}

static void take_sampling(struct sbt_cmd_texture_create *u, const CUDA_TEXTURE_DESC *d)
{
	u->address_x = d->addressMode[0];
	u->address_y = d->addressMode[1];
	u->address_z = d->addressMode[2];
	u->filter = d->filterMode;
	u->texture_flags = d->flags;
	u->anisotropy = d->maxAnisotropy;
	u->border_r = float_bits(d->borderColor[0]);
	u->border_g = float_bits(d->borderColor[1]);
	u->border_b = float_bits(d->borderColor[2]);
	u->border_a = float_bits(d->borderColor[3]);
}

void enter_texture_create(struct call *c)
{
	const cuTexObjectCreate_params *p = c->params;
	struct sbt_cmd_texture_create *u = &c->cmd.u.texture_create;
	if (!p->pResDesc || !p->pTexDesc || p->pResViewDesc || !take_resource(u, p->pResDesc)) {
		call_counted(c);
		return;
	}
	u->new_texture = SBT_NO_ID;
	take_sampling(u, p->pTexDesc);
}

void enter_surface_create(struct call *c)
{
	const cuSurfObjectCreate_params *p = c->params;
	struct sbt_cmd_texture_create *u = &c->cmd.u.texture_create;
	if (!p->pResDesc || !take_resource(u, p->pResDesc)) {
		call_counted(c);
		return;
	}
	u->new_texture = SBT_NO_ID;
	u->surface = true;
}

void exit_texture_create(struct call *c) /* both: the handle comes first */
{
	const cuTexObjectCreate_params *p = c->params;
	struct sbt_cmd_texture_create *u = &c->cmd.u.texture_create;
	if (c->cmd.result || !p->pTexObject || c->cmd.kind != SBT_TEXTURE_CREATE)
		return;
	u->handle = *p->pTexObject;
	u->new_texture = ids_new_number(
		u->surface ? &ids.surfaces : &ids.textures, &ids.next_texture, u->handle);
	if (u->addr)
		(void)map_put(&ids.texture_memory, ids_texture_key(u->handle, u->surface), u->addr);
}

static void destroyed(struct call *c, bool surface, uint64_t handle)
{
	const uint32_t id = ids_drop(surface ? &ids.surfaces : &ids.textures, handle);
	(void)map_remove(&ids.texture_memory, ids_texture_key(handle, surface));
	if (id == SBT_NO_ID)
		call_counted(c);
	else
		c->cmd.u.texture_destroy.dead_texture = id;
}

void enter_texture_destroy(struct call *c)
{
	const cuTexObjectDestroy_params *p = c->params;
	destroyed(c, false, p->texObject);
}

void enter_surface_destroy(struct call *c)
{
	const cuSurfObjectDestroy_params *p = c->params;
	destroyed(c, true, p->surfObject);
}
