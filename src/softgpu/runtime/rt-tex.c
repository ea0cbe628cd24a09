/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: the runtime's descriptors translated to the driver's and back.
 */
#include "softgpu/runtime/rt.h"

#include <string.h>

static cudaError_t resource_in(const struct cudaResourceDesc *d, CUDA_RESOURCE_DESC *ret)
{
	*ret = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)d->resType, .flags = 0};
	switch (d->resType) {
	case cudaResourceTypeArray:
		ret->res.array.hArray = (CUarray)d->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		ret->res.mipmap.hMipmappedArray = (CUmipmappedArray)d->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		ret->res.linear.devPtr = (CUdeviceptr)d->res.linear.devPtr;
		ret->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		return rt_format(
			&d->res.linear.desc, &ret->res.linear.format, &ret->res.linear.numChannels);
	case cudaResourceTypePitch2D:
		ret->res.pitch2D.devPtr = (CUdeviceptr)d->res.pitch2D.devPtr;
		ret->res.pitch2D.width = d->res.pitch2D.width;
		ret->res.pitch2D.height = d->res.pitch2D.height;
		ret->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		return rt_format(&d->res.pitch2D.desc, &ret->res.pitch2D.format,
			&ret->res.pitch2D.numChannels);
	default:
		return cudaErrorInvalidValue;
	}
}

static struct cudaResourceDesc resource_out(const CUDA_RESOURCE_DESC *d)
{
	struct cudaResourceDesc ret;

	memset(&ret, 0, sizeof(ret));
	ret.resType = (enum cudaResourceType)d->resType;
	switch (d->resType) {
	case CU_RESOURCE_TYPE_LINEAR:
		ret.res.linear.devPtr = (void *)d->res.linear.devPtr;
		ret.res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		ret.res.linear.desc = rt_channels(d->res.linear.format, d->res.linear.numChannels);
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		ret.res.pitch2D.devPtr = (void *)d->res.pitch2D.devPtr;
		ret.res.pitch2D.width = d->res.pitch2D.width;
		ret.res.pitch2D.height = d->res.pitch2D.height;
		ret.res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		ret.res.pitch2D.desc =
			rt_channels(d->res.pitch2D.format, d->res.pitch2D.numChannels);
		break;
	default:
		ret.res.array.array = (cudaArray_t)d->res.array.hArray;
		break;
	}
	return ret;
}

/* The texel format that a resource has. */
static cudaError_t format_of(const CUDA_RESOURCE_DESC *d, CUarray_format *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR a;

	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		RT_TRY(rt_array((cudaArray_const_t)d->res.array.hArray, &a));
		*ret = a.Format;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		*ret = d->res.linear.format;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_PITCH2D:
		*ret = d->res.pitch2D.format;
		return cudaSuccess;
	default:
		*ret = CU_AD_FORMAT_FLOAT;
		return cudaSuccess;
	}
}

/* "CUDA Runtime API", cudaErrorInvalidNormSetting, cudaErrorInvalidFilterSetting */
static cudaError_t check_reading(const struct cudaTextureDesc *t, const CUDA_RESOURCE_DESC *d)
{
	CUarray_format f;
	bool integer;

	RT_TRY(format_of(d, &f));
	integer = f != CU_AD_FORMAT_FLOAT && f != CU_AD_FORMAT_HALF;
	if (t->readMode == cudaReadModeNormalizedFloat &&
		(f == CU_AD_FORMAT_UNSIGNED_INT32 || f == CU_AD_FORMAT_SIGNED_INT32))
		return cudaErrorInvalidNormSetting;
	if (t->readMode == cudaReadModeElementType && integer &&
		t->filterMode == cudaFilterModeLinear)
		return cudaErrorInvalidFilterSetting;
	return cudaSuccess;
}

static CUDA_TEXTURE_DESC texture_in(const struct cudaTextureDesc *t)
{
	CUDA_TEXTURE_DESC ret = {
		.filterMode = (CUfilter_mode)t->filterMode,
		.maxAnisotropy = t->maxAnisotropy,
		.mipmapFilterMode = (CUfilter_mode)t->mipmapFilterMode,
		.mipmapLevelBias = t->mipmapLevelBias,
		.minMipmapLevelClamp = t->minMipmapLevelClamp,
		.maxMipmapLevelClamp = t->maxMipmapLevelClamp,
	};

	for (unsigned i = 0; i < 3; i++)
		ret.addressMode[i] = (CUaddress_mode)t->addressMode[i];
	memcpy(ret.borderColor, t->borderColor, sizeof(ret.borderColor));
	ret.flags =
		(t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
		(t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
		(t->sRGB ? CU_TRSF_SRGB : 0u) |
		(t->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
		(t->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
	return ret;
}

static struct cudaTextureDesc texture_out(const CUDA_TEXTURE_DESC *t)
{
	struct cudaTextureDesc ret;

	memset(&ret, 0, sizeof(ret));
	for (unsigned i = 0; i < 3; i++)
		ret.addressMode[i] = (enum cudaTextureAddressMode)t->addressMode[i];
	memcpy(ret.borderColor, t->borderColor, sizeof(ret.borderColor));
	ret.filterMode = (enum cudaTextureFilterMode)t->filterMode;
	ret.readMode = t->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
							  : cudaReadModeNormalizedFloat;
	ret.normalizedCoords = (t->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
	ret.sRGB = (t->flags & CU_TRSF_SRGB) != 0;
	ret.disableTrilinearOptimization = (t->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
	ret.seamlessCubemap = (t->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
	ret.maxAnisotropy = t->maxAnisotropy;
	ret.mipmapFilterMode = (enum cudaTextureFilterMode)t->mipmapFilterMode;
	ret.mipmapLevelBias = t->mipmapLevelBias;
	ret.minMipmapLevelClamp = t->minMipmapLevelClamp;
	ret.maxMipmapLevelClamp = t->maxMipmapLevelClamp;
	return ret;
}

RT_API(cudaCreateTextureObject, v5000,
	(cudaTextureObject_t * pTexObject, const struct cudaResourceDesc *pResDesc,
		const struct cudaTextureDesc *pTexDesc,
		const struct cudaResourceViewDesc *pResViewDesc),
	(pTexObject, pResDesc, pTexDesc, pResViewDesc))
{
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;

	if (!pTexObject || !pResDesc || !pTexDesc)
		return cudaErrorInvalidValue;
	RT_TRY(resource_in(pResDesc, &res));
	if (pResViewDesc)
		return rt_refuse("cudaCreateTextureObject", "resource views are");
	RT_TRY(check_reading(pTexDesc, &res));
	tex = texture_in(pTexDesc);
	return RT_DRIVER(cuTexObjectCreate((CUtexObject *)pTexObject, &res, &tex, NULL));
}

RT_FORWARD(cudaDestroyTextureObject, v5000, (cudaTextureObject_t texObject), (texObject),
	cuTexObjectDestroy(texObject))

RT_API(cudaGetTextureObjectResourceDesc, v5000,
	(struct cudaResourceDesc * pResDesc, cudaTextureObject_t texObject), (pResDesc, texObject))
{
	CUDA_RESOURCE_DESC d;

	if (!pResDesc)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuTexObjectGetResourceDesc(&d, texObject)));
	*pResDesc = resource_out(&d);
	return cudaSuccess;
}

RT_API(cudaGetTextureObjectTextureDesc, v5000,
	(struct cudaTextureDesc * pTexDesc, cudaTextureObject_t texObject), (pTexDesc, texObject))
{
	CUDA_TEXTURE_DESC d;

	if (!pTexDesc)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuTexObjectGetTextureDesc(&d, texObject)));
	*pTexDesc = texture_out(&d);
	return cudaSuccess;
}

RT_FORWARD(cudaGetTextureObjectResourceViewDesc, v5000,
	(struct cudaResourceViewDesc * pResViewDesc, cudaTextureObject_t texObject),
	(pResViewDesc, texObject),
	cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)pResViewDesc, texObject))

RT_API(cudaCreateSurfaceObject, v5000,
	(cudaSurfaceObject_t * pSurfObject, const struct cudaResourceDesc *pResDesc),
	(pSurfObject, pResDesc))
{
	CUDA_RESOURCE_DESC res;

	if (!pSurfObject || !pResDesc)
		return cudaErrorInvalidValue;
	RT_TRY(resource_in(pResDesc, &res));
	return RT_DRIVER(cuSurfObjectCreate((CUsurfObject *)pSurfObject, &res));
}

RT_FORWARD(cudaDestroySurfaceObject, v5000, (cudaSurfaceObject_t surfObject), (surfObject),
	cuSurfObjectDestroy(surfObject))

RT_API(cudaGetSurfaceObjectResourceDesc, v5000,
	(struct cudaResourceDesc * pResDesc, cudaSurfaceObject_t surfObject),
	(pResDesc, surfObject))
{
	CUDA_RESOURCE_DESC d;

	if (!pResDesc)
		return cudaErrorInvalidValue;
	RT_TRY(RT_DRIVER(cuSurfObjectGetResourceDesc(&d, surfObject)));
	*pResDesc = resource_out(&d);
	return cudaSuccess;
}
