/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects that a driver makes, and the arrays below them. All commands but
 * kernels see an array as the memory at its recorded address: that is what is restored, copied,
 * compared and hashed. Kernels see an array of the driver's, a copy of that memory: it is brought
 * up to date before each launch, and what surfaces may have written is brought back behind it. One
 * command runs after the other, so neither is ever seen half done.
 *
 * The driver chooses handles, the lowest numbers that are free (measured on an H200, driver 580):
 * objects are made until one has the recorded handle, and the others are given back.
 */
#include "replayer/execute/replayer-fail.h"

#include <stdlib.h>

#define HANDLES_MAX 65536u /* made for one */

static const char *name_of(const struct rtexture *t)
{
	return t->is.surface ? "surface" : "texture";
}

static struct err *cannot(struct rp *rp, const struct rtexture *t, const char *why)
{
	return err_cure(rp_fail(rp, REPLAYER_E_REFUSED, t->seq,
				"#%llu: the %s object 0x%llx cannot be made again: %s",
				(unsigned long long)t->seq, name_of(t),
				(unsigned long long)t->is.handle, why),
		"`--on none` replays the state without executing anything");
}

static struct err *refused(struct rp *rp, const struct rtexture *t, struct gpu_result r)
{
	const char *name = rp->gpu->result_name(r.code);

	if (r.status == GPU_FAULT)
		return rp_gpu(rp, r);
	return cannot(rp, t, name ? name : r.call);
}

/* --- arrays --- */

static bool same_shape(const struct soft_texture *a, const struct soft_texture *b)
{
	return a->addr == b->addr && a->size == b->size && a->format == b->format &&
	       a->channels == b->channels && a->width == b->width && a->height == b->height &&
	       a->depth == b->depth && a->array_flags == b->array_flags;
}

static size_t free_slot(struct textures *x)
{
	for (size_t i = 0; i < x->narrays; i++)
		if (!x->arrays[i].objects)
			return i;
	MAKE_ROOM(x->arrays, x->narrays, x->cap_arrays);
	return x->narrays++;
}

static void drop_array(struct rp *rp, const struct rtexture *t)
{
	struct rarray *a = &rp->objects.textures.arrays[t->array];

	a->surfaces -= t->is.surface != 0;
	if (!--a->objects)
		(void)rp->gpu->array_destroy(a->handle);
}

static struct err *take_array(struct rp *rp, struct rtexture *t)
{
	struct textures *x = &rp->objects.textures;

	for (t->array = 0; t->array < x->narrays; t->array++)
		if (x->arrays[t->array].objects && same_shape(&x->arrays[t->array].is, &t->is))
			break;
	if (t->array == x->narrays) {
		struct gpu_array *handle = NULL;
		const struct gpu_result r = rp->gpu->array_create(&handle, &t->is);

		if (r.status)
			return refused(rp, t, r);
		t->array = free_slot(x);
		x->arrays[t->array] = (struct rarray){.is = t->is, .handle = handle};
	}
	x->arrays[t->array].objects++;
	x->arrays[t->array].surfaces += t->is.surface != 0;
	return NULL;
}

/* --- objects --- */

/* With the recorded handle, or not at all. */
static struct err *with_handle(
	struct rp *rp, struct rtexture *t, const struct soft_texture *is, struct gpu_array *array)
{
	uint64_t *wrong = NULL, handle = 0;
	size_t n = 0, cap = 0;
	struct gpu_result r = {0};

	while (n < HANDLES_MAX && !t->alive) {
		r = rp->gpu->texture_create(&handle, is, array);
		if (r.status)
			break;
		t->alive = handle == is->handle;
		if (t->alive)
			break;
		MAKE_ROOM(wrong, n, cap);
		wrong[n++] = handle;
	}
	for (size_t i = 0; i < n; i++)
		(void)rp->gpu->texture_destroy(wrong[i], is->surface);
	free(wrong);
	if (r.status)
		return refused(rp, t, r);
	return t->alive ? NULL
			: cannot(rp, t,
				  "the driver gives other handles, and kernels may have this one");
}

struct err *texture_make(struct rp *rp, struct rtexture *t)
{
	struct soft_texture is = t->is;
	const bool of_array = is.resource == 0;
	struct gpu_array *array = NULL;

	if (place_find(rp, is.addr, is.size, &is.addr) == PLACE_NOWHERE)
		return cannot(rp, t, "it is of memory that the window does not have");
	if (of_array) {
		TRY(take_array(rp, t));
		array = rp->objects.textures.arrays[t->array].handle;
	}
	struct err *e = with_handle(rp, t, &is, array);
	if (e && of_array)
		drop_array(rp, t);
	return e;
}

void texture_unmake(struct rp *rp, struct rtexture *t)
{
	if (!t->alive)
		return;
	t->alive = false;
	(void)rp->gpu->texture_destroy(t->is.handle, t->is.surface);
	if (t->is.resource == 0)
		drop_array(rp, t);
}

/* --- around launches --- */

static struct err *copy_array(
	struct rp *rp, const struct rarray *a, bool to_array, struct gpu_stream *stream)
{
	uint64_t here;

	if (place_find(rp, a->is.addr, a->is.size, &here) == PLACE_NOWHERE)
		return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			"an array at 0x%llx is not memory of the window",
			(unsigned long long)a->is.addr);
	GPU(rp, array_copy, a->handle, &a->is, here, to_array, stream);
	return NULL;
}

struct err *textures_before_launch(struct rp *rp, struct gpu_stream *stream)
{
	const struct textures *x = &rp->objects.textures;

	for (size_t i = 0; i < x->narrays; i++) {
		if (!x->arrays[i].objects)
			continue;
		if (rp->turn.overlap)
			return err_cure(
				rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
					"#%llu: streams cannot overlap where kernels may use textures or surfaces of arrays",
					(unsigned long long)rp->current),
				"`set replay order fixed`");
		TRY(copy_array(rp, &x->arrays[i], true, stream));
	}
	return NULL;
}

struct err *textures_after_launch(struct rp *rp, struct gpu_stream *stream)
{
	const struct textures *x = &rp->objects.textures;

	for (size_t i = 0; i < x->narrays; i++)
		if (x->arrays[i].objects && x->arrays[i].surfaces)
			TRY(copy_array(rp, &x->arrays[i], false, stream));
	return NULL;
}

bool textures_have(const struct rp *rp, const struct sbt_rows *rows)
{
	return textures_are_copies(&rp->objects.textures) && sbt_is_array(rows->addr);
}
