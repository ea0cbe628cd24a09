/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: descriptors checked and turned into what the PTX machine samples by
 * (tex.h). The descriptors are kept, for the calls that ask for them. Legacy texture and surface
 * references are refused (drv-refused.c).
 */
#include "softgpu/memory/array.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINEAR (1u << 28) /* texels: "CUDA C++ Programming Guide", technical specifications */
#define PITCH_ALIGN 32u
#define KNOWN_FLAGS                                                                                \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                 \
		CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

/* What an object was made of. A list, guarded by drv_lock. */
struct made {
	struct made *next;
	uint64_t handle;
	bool surface, has_view;
	struct ctx *ctx;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
	CUDA_RESOURCE_VIEW_DESC view;
};
static struct made *all;

static struct made *find(uint64_t handle, bool surface)
{
	struct made *m;

	for (m = all; m && (m->handle != handle || m->surface != surface); m = m->next)
		;
	return m;
}

/* --- resources --- */

static CUresult linear_image(const CUDA_RESOURCE_DESC *d, struct tex_image *m)
{
	size_t texels;

	TRY_CU(array_format(d->res.linear.format, d->res.linear.numChannels, m));
	REQUIRE(d->res.linear.devPtr && !(d->res.linear.devPtr % tex_texel_bytes(m)));
	texels = d->res.linear.sizeInBytes / tex_texel_bytes(m);
	REQUIRE(texels && texels <= MAX_LINEAR &&
		mem_covers(d->res.linear.devPtr, texels * tex_texel_bytes(m)));
	m->base = d->res.linear.devPtr;
	m->width = (uint32_t)texels;
	m->dims = 1;
	return CUDA_SUCCESS;
}

static CUresult pitch_image(const CUDA_RESOURCE_DESC *d, struct tex_image *m)
{
	TRY_CU(array_format(d->res.pitch2D.format, d->res.pitch2D.numChannels, m));
	REQUIRE(d->res.pitch2D.devPtr && !(d->res.pitch2D.devPtr % PITCH_ALIGN) &&
		!(d->res.pitch2D.pitchInBytes % PITCH_ALIGN));
	REQUIRE(d->res.pitch2D.width && d->res.pitch2D.height && d->res.pitch2D.width <= 131072 &&
		d->res.pitch2D.height <= 65536);
	m->width = (uint32_t)d->res.pitch2D.width;
	m->height = (uint32_t)d->res.pitch2D.height;
	m->pitch = d->res.pitch2D.pitchInBytes;
	REQUIRE(m->pitch >= (size_t)m->width * tex_texel_bytes(m) && m->pitch <= 0x7fffffff);
	REQUIRE(mem_covers(d->res.pitch2D.devPtr,
		(m->height - 1) * m->pitch + (size_t)m->width * tex_texel_bytes(m)));
	m->base = d->res.pitch2D.devPtr;
	m->dims = 2;
	return CUDA_SUCCESS;
}

static CUresult image_of(const CUDA_RESOURCE_DESC *d, struct tex_image *m)
{
	struct array *a;

	*m = (struct tex_image){.height = 1, .depth = 1, .layers = 1, .program = true};
	REQUIRE(!d->flags);
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		REQUIRE(array_resolve(d->res.array.hArray, &a) == CUDA_SUCCESS);
		*m = a->image;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		return linear_image(d, m);
	case CU_RESOURCE_TYPE_PITCH2D:
		return pitch_image(d, m);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		drv_say("textures of mipmapped arrays are not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* --- textures --- */

static CUresult sampling_of(const CUDA_TEXTURE_DESC *d, struct tex_object *o)
{
	uint8_t format = o->image.format;
	bool integer = format != TEX_F16 && format != TEX_F32,
	     small = format != TEX_U32 && format != TEX_S32;
	unsigned i;

	REQUIRE(!(d->flags & ~(unsigned)KNOWN_FLAGS) &&
		(unsigned)d->filterMode <= CU_TR_FILTER_MODE_LINEAR);
	for (i = 0; i < 3; i++) {
		REQUIRE((unsigned)d->addressMode[i] <= CU_TR_ADDRESS_MODE_BORDER);
		o->address[i] = (uint8_t)d->addressMode[i];
	}
	o->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
	o->as_float = integer && small && !(d->flags & CU_TRSF_READ_AS_INTEGER);
	o->srgb = d->flags & CU_TRSF_SRGB;
	o->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
	memcpy(o->border, d->borderColor, sizeof(o->border));
	REQUIRE(!o->linear || o->fetch || !integer || o->as_float);
	if (o->srgb && format != TEX_U8) {
		drv_say("sRGB textures of other than 8-bit unsigned texels are not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (o->image.cube && (d->flags & CU_TRSF_SEAMLESS_CUBEMAP) && o->linear) {
		drv_say("seamless filtering across the faces of a cube map is not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

static CUresult make(const struct tex_object *o, struct made *m, struct ctx *c, uint64_t *ret)
{
	struct made *copy = malloc(sizeof(*copy));
	uint64_t handle = copy ? tex_add(o) : 0;

	if (!handle) {
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*copy = *m;
	copy->handle = handle;
	copy->surface = o->surface;
	copy->ctx = c;
	pthread_mutex_lock(&drv_lock);
	copy->next = all;
	all = copy;
	pthread_mutex_unlock(&drv_lock);
	*ret = handle;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuTexObjectCreate, CUtexObject *, pTexObject, const CUDA_RESOURCE_DESC *, pResDesc,
	const CUDA_TEXTURE_DESC *, pTexDesc, const CUDA_RESOURCE_VIEW_DESC *, pResViewDesc)
{
	struct tex_object o = {0};
	struct made m = {0};
	struct ctx *c;
	uint64_t handle;

	REQUIRE(pTexObject && pResDesc && pTexDesc);
	TRY_CU(ctx_current(&c));
	if (pResViewDesc) {
		drv_say("cuTexObjectCreate: resource views are not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	TRY_CU(image_of(pResDesc, &o.image));
	o.fetch = pResDesc->resType == CU_RESOURCE_TYPE_LINEAR;
	TRY_CU(sampling_of(pTexDesc, &o));
	m.res = *pResDesc;
	m.tex = *pTexDesc;
	TRY_CU(make(&o, &m, c, &handle));
	*pTexObject = handle;
	return CUDA_SUCCESS;
}

/* After the work that may use it. */
static CUresult destroy(uint64_t handle, bool surface)
{
	struct made **at, *m;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	pthread_mutex_lock(&drv_lock);
	m = find(handle, surface);
	pthread_mutex_unlock(&drv_lock);
	REQUIRE(m);
	ctx_drain(m->ctx);
	pthread_mutex_lock(&drv_lock);
	for (at = &all; *at && *at != m; at = &(*at)->next)
		;
	if (*at) {
		*at = m->next;
		tex_remove(handle);
		free(m);
	}
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

void textures_delete_of(struct ctx *c)
{
	struct made **at = &all, *m;

	while ((m = *at)) {
		if (m->ctx != c) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		tex_remove(m->handle);
		free(m);
	}
}

DRV_DEFINE(1, cuTexObjectDestroy, CUtexObject, texObject)
{
	return destroy(texObject, false);
}

/* Copies what an object was made of. */
static CUresult ask(uint64_t handle, bool surface, CUDA_RESOURCE_DESC *res, CUDA_TEXTURE_DESC *tex)
{
	struct made *m;

	REQUIRE(res || tex);
	pthread_mutex_lock(&drv_lock);
	m = find(handle, surface);
	if (m && res)
		*res = m->res;
	if (m && tex)
		*tex = m->tex;
	pthread_mutex_unlock(&drv_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRV_DEFINE(2, cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC *, pResDesc, CUtexObject, texObject)
{
	return ask(texObject, false, pResDesc, NULL);
}

DRV_DEFINE(2, cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC *, pTexDesc, CUtexObject, texObject)
{
	return ask(texObject, false, NULL, pTexDesc);
}

/* None is ever given. */
DRV_DEFINE(2, cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC *, pResViewDesc, CUtexObject,
	texObject)
{
	REQUIRE(pResViewDesc);
	return CUDA_ERROR_INVALID_VALUE;
}

/* --- surfaces --- */

DRV_DEFINE(2, cuSurfObjectCreate, CUsurfObject *, pSurfObject, const CUDA_RESOURCE_DESC *, pResDesc)
{
	struct tex_object o = {.surface = true};
	struct made m = {0};
	struct array *a;
	struct ctx *c;
	uint64_t handle;

	REQUIRE(pSurfObject && pResDesc);
	TRY_CU(ctx_current(&c));
	REQUIRE(pResDesc->resType == CU_RESOURCE_TYPE_ARRAY);
	TRY_CU(image_of(pResDesc, &o.image));
	TRY_CU(array_resolve(pResDesc->res.array.hArray, &a));
	REQUIRE(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST);
	m.res = *pResDesc;
	TRY_CU(make(&o, &m, c, &handle));
	*pSurfObject = handle;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuSurfObjectDestroy, CUsurfObject, surfObject)
{
	return destroy(surfObject, true);
}

DRV_DEFINE(2, cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC *, pResDesc, CUsurfObject, surfObject)
{
	return ask(surfObject, true, pResDesc, NULL);
}

DRV_DEFINE(4, cuDeviceGetTexture1DLinearMaxWidth, size_t *, maxWidthInElements, CUarray_format,
	format, unsigned, numChannels, CUdevice, dev)
{
	struct tex_image m;

	REQUIRE(maxWidthInElements);
	TRY_CU(device_check(dev));
	TRY_CU(array_format(format, numChannels, &m));
	*maxWidthInElements = MAX_LINEAR;
	return CUDA_SUCCESS;
}

/* --- objects of a recording, which have the handles and the memory that they had --- */

static CUresult recorded_image(const struct soft_texture *t, struct tex_image *ret)
{
	CUDA_RESOURCE_DESC d = {.resType = (CUresourcetype)t->resource};
	CUDA_ARRAY3D_DESCRIPTOR a = {.Width = t->width,
		.Height = t->height,
		.Depth = t->depth,
		.Format = (CUarray_format)t->format,
		.NumChannels = t->channels,
		.Flags = t->array_flags};
	size_t bytes;

	switch (t->resource) {
	case CU_RESOURCE_TYPE_ARRAY:
		TRY_CU(array_image(&a, ret, &bytes));
		REQUIRE(mem_covers(t->addr, bytes));
		ret->base = t->addr;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		d.res.linear.devPtr = t->addr;
		d.res.linear.format = a.Format;
		d.res.linear.numChannels = t->channels;
		d.res.linear.sizeInBytes = t->size;
		return image_of(&d, ret);
	case CU_RESOURCE_TYPE_PITCH2D:
		d.res.pitch2D.devPtr = t->addr;
		d.res.pitch2D.format = a.Format;
		d.res.pitch2D.numChannels = t->channels;
		d.res.pitch2D.width = t->width;
		d.res.pitch2D.height = t->height;
		d.res.pitch2D.pitchInBytes = t->pitch;
		return image_of(&d, ret);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

const char *textures_put(const struct soft_texture *t)
{
	CUDA_TEXTURE_DESC d = {
		.addressMode = {(CUaddress_mode)t->address[0], (CUaddress_mode)t->address[1],
			(CUaddress_mode)t->address[2]},
		.filterMode = (CUfilter_mode)t->filter,
		.flags = t->flags};
	struct tex_object o = {
		.surface = t->surface, .fetch = t->resource == CU_RESOURCE_TYPE_LINEAR};

	memcpy(d.borderColor, t->border, sizeof(d.borderColor));
	if (recorded_image(t, &o.image) != CUDA_SUCCESS)
		return "its memory, or its shape, is none that a texture has";
	if (o.surface && t->resource != CU_RESOURCE_TYPE_ARRAY)
		return "it is a surface, and not of an array";
	if (!o.surface && sampling_of(&d, &o) != CUDA_SUCCESS)
		return "its way of sampling is none that there is";
	return tex_put(t->handle, &o) ? NULL : "its handle is none that the software GPU has";
}

void textures_take(uint64_t handle)
{
	(void)tex_remove(handle);
}
