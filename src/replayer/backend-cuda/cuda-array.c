/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays, texture and surface objects, behind src/replayer/backend.h. Numbers of struct
 * soft_texture are CUDA's; what they may be the driver decides.
 */
#include "replayer/backend-cuda/cuda-driver.h"

#include <string.h>
#include "base/checked.h"
#include "replayer/soft-watch.h"

struct gpu_result cuda_array_create(struct gpu_array **ret, const struct soft_texture *t)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = t->width,
		.Height = t->height,
		.Depth = t->depth,
		.Format = (CUarray_format)t->format,
		.NumChannels = t->channels,
		.Flags = t->array_flags};
	CUarray a = NULL;
	const CUresult r = CU.cuArray3DCreate_v2(&a, &d);

	*ret = (struct gpu_array *)a;
	return cuda_result(r, "cuArray3DCreate");
}

struct gpu_result cuda_array_destroy(struct gpu_array *a)
{
	return cuda_result(CU.cuArrayDestroy((CUarray)a), "cuArrayDestroy");
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* What the trace says of the size and the shape must agree: the copy goes by the shape. */
static bool has_size(const struct soft_texture *t, uint64_t *ret_row)
{
	const uint64_t rows = at_least_one(t->height), slices = at_least_one(t->depth);
	uint64_t n;

	return !ckd_mul(&n, rows, slices) && n && t->size && t->size % n == 0 &&
	       (*ret_row = t->size / n) <= SIZE_MAX;
}

struct gpu_result cuda_array_copy(struct gpu_array *a, const struct soft_texture *t, uint64_t addr,
	bool to_array, struct gpu_stream *s)
{
	uint64_t row;

	if (!has_size(t, &row))
		return cuda_result(CUDA_ERROR_INVALID_VALUE, "cuMemcpy3DAsync");
	CUDA_MEMCPY3D m = {.WidthInBytes = row,
		.Height = at_least_one(t->height),
		.Depth = at_least_one(t->depth)};
	if (to_array) {
		m.srcMemoryType = CU_MEMORYTYPE_DEVICE;
		m.srcDevice = addr;
		m.srcPitch = row;
		m.srcHeight = m.Height;
		m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		m.dstArray = (CUarray)a;
	} else {
		m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		m.srcArray = (CUarray)a;
		m.dstMemoryType = CU_MEMORYTYPE_DEVICE;
		m.dstDevice = addr;
		m.dstPitch = row;
		m.dstHeight = m.Height;
	}
	return cuda_result(CU.cuMemcpy3DAsync_v2(&m, (CUstream)s), "cuMemcpy3DAsync");
}

static CUDA_RESOURCE_DESC resource_of(const struct soft_texture *t, struct gpu_array *a)
{
	CUDA_RESOURCE_DESC d = {.resType = (CUresourcetype)t->resource};

	if (a) {
		d.resType = CU_RESOURCE_TYPE_ARRAY;
		d.res.array.hArray = (CUarray)a;
	} else if (t->resource == CU_RESOURCE_TYPE_LINEAR) {
		d.res.linear.devPtr = t->addr;
		d.res.linear.format = (CUarray_format)t->format;
		d.res.linear.numChannels = t->channels;
		d.res.linear.sizeInBytes = t->size;
	} else {
		d.resType = CU_RESOURCE_TYPE_PITCH2D;
		d.res.pitch2D.devPtr = t->addr;
		d.res.pitch2D.format = (CUarray_format)t->format;
		d.res.pitch2D.numChannels = t->channels;
		d.res.pitch2D.width = t->width;
		d.res.pitch2D.height = t->height;
		d.res.pitch2D.pitchInBytes = t->pitch;
	}
	return d;
}

struct gpu_result cuda_texture_create(
	uint64_t *ret, const struct soft_texture *t, struct gpu_array *a)
{
	const CUDA_RESOURCE_DESC what = resource_of(t, a);
	CUDA_TEXTURE_DESC how = {
		.addressMode = {(CUaddress_mode)t->address[0], (CUaddress_mode)t->address[1],
			(CUaddress_mode)t->address[2]},
		.filterMode = (CUfilter_mode)t->filter,
		.flags = t->flags,
		.maxAnisotropy = t->anisotropy};
	unsigned long long handle = 0;
	CUresult r;

	memcpy(how.borderColor, t->border, sizeof how.borderColor);
	r = t->surface ? CU.cuSurfObjectCreate(&handle, &what)
		       : CU.cuTexObjectCreate(&handle, &what, &how, NULL);
	*ret = handle;
	return cuda_result(r, t->surface ? "cuSurfObjectCreate" : "cuTexObjectCreate");
}

struct gpu_result cuda_texture_destroy(uint64_t handle, bool surface)
{
	return surface ? cuda_result(CU.cuSurfObjectDestroy(handle), "cuSurfObjectDestroy")
		       : cuda_result(CU.cuTexObjectDestroy(handle), "cuTexObjectDestroy");
}
