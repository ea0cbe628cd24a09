/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces: the objects, the table from handles to objects, and sampling. The driver
 * fills objects in (drv-tex.c), the PTX machine reads them (ptx-tex.c). A handle is a small number,
 * the lowest that is free, so it repeats from run to run.
 */
#ifndef SOFTGPU_TEX_H
#define SOFTGPU_TEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tex_format {
	TEX_U8,
	TEX_U16,
	TEX_U32,
	TEX_S8,
	TEX_S16,
	TEX_S32,
	TEX_F16,
	TEX_F32,
	TEX_FORMATS
};
enum tex_address { TEX_WRAP, TEX_CLAMP, TEX_MIRROR, TEX_BORDER }; /* CUaddress_mode's numbers */

/* Where texels are. Rows lie pitch bytes apart, slices (of a volume, or layers, or faces of cubes)
 * slice bytes. */
struct tex_image {
	uint64_t base; /* an address of this process; 0 when the array has gone */
	size_t pitch, slice;
	uint32_t width, height, depth; /* in texels; 1 where the image has no such dimension */
	uint32_t layers;	       /* of a layered image; faces count singly. Else 1 */
	uint8_t dims;		       /* 1, 2, 3 */
	bool layered, cube;
	bool program; /* the program's memory, which it may free: looked at before each use */
	uint8_t format, channels;
};

struct tex_object {
	struct tex_image image;
	bool surface;
	bool fetch; /* of linear memory: texels by number, 0 outside; nothing else below counts */
	bool normalized; /* coordinates from 0 to 1 */
	bool linear;	 /* filter */
	bool as_float;	 /* 8-bit and 16-bit integers become [0, 1] or [-1, 1] */
	bool srgb;
	uint8_t address[3];
	float border[4];
};

/* The object's handle, from 1; 0 when memory or numbers are out. Copies *o. */
uint64_t tex_add(const struct tex_object *o);
/* The same for a handle that is given, in the place of any object that has it. False when the
 * handle is none that tex_add() could give, or memory is out. No kernel that uses it may run. */
bool tex_put(uint64_t handle, const struct tex_object *o);
/* False when there is none. No kernel that uses it may run. */
bool tex_remove(uint64_t handle);
/* NULL when there is none. Any thread, no lock. */
const struct tex_object *tex_find(uint64_t handle);
/* The array at base goes: its objects can be used no more. */
void tex_forget_image(uint64_t base);

unsigned tex_format_bytes(unsigned format);
static inline unsigned tex_texel_bytes(const struct tex_image *i)
{
	return tex_format_bytes(i->format) * i->channels;
}

/* Coordinates of one fetch. A cube map has three in c, and its own layer. */
struct tex_at {
	float c[3];
	int32_t i[3]; /* instead of c when integer */
	bool integer;
	uint32_t layer;
	bool cube;
};
/* Of this thread: called with each texel that a sample reads; NULL: not observed. */
extern _Thread_local void (*tex_watch)(void *arg, const void *texel, unsigned bytes);
extern _Thread_local void *tex_watch_arg;
/* Four 32-bit values: floats, or integers as the object reads them. */
void tex_sample(const struct tex_object *o, const struct tex_at *at, uint32_t ret[4]);
/* tld4: one component of the four texels that a bilinear fetch would mix: (i0,j1) (i1,j1) (i1,j0)
 * (i0,j0). */
void tex_gather(
	const struct tex_object *o, const struct tex_at *at, unsigned component, uint32_t ret[4]);

#endif
