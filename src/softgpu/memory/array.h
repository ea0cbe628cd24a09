/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays of the software driver. Texels lie row after row without gaps, so an array is one run
 * of bytes. Its memory comes from the end of the address space, where modules' variables are, so a
 * program's other allocations keep their addresses.
 */
#ifndef SOFTGPU_ARRAY_H
#define SOFTGPU_ARRAY_H

#include "replayer/soft-watch.h"
#include "softgpu/driver/drv.h"
#include "softgpu/tex/tex.h"

struct array {
	struct ctx *ctx;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	struct tex_image image;
	size_t bytes;
};

CUresult array_resolve(CUarray h, struct array **ret);
/* The live array whose memory has the byte at addr, or NULL. Caller holds drv_lock. */
struct array *array_with(uint64_t addr);
/* A texel's format; CUDA_ERROR_INVALID_VALUE for one that does not exist, CUDA_ERROR_NOT_SUPPORTED
 * with a line for the others. */
CUresult array_format(CUarray_format format, unsigned channels, struct tex_image *ret);
/* What the descriptor makes, but for where it lies; *bytes: all of it. */
CUresult array_image(const CUDA_ARRAY3D_DESCRIPTOR *d, struct tex_image *ret, size_t *bytes);
/* The operations texture and texture_gone of soft-watch.h. */
const char *textures_put(const struct soft_texture *t);
void textures_take(uint64_t handle);
/* Caller holds drv_lock; the work of c has run. */
void arrays_delete_of(struct ctx *c);

#endif
