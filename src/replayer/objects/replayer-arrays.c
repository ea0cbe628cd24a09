/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects that a driver makes, and the arrays below them. All commands but
 * kernels see an array as the memory at its recorded address: that is what is restored, copied,
 * compared and hashed. Kernels see an array of the driver's, a copy of that memory: it is brought
 * up to date before each launch, and what surfaces may have written is brought back behind it. One
 * command runs after the other, so neither is ever seen half done.
 *
 * The driver chooses handles: small numbers, those that were given back among them, though in no
 * order that one could rely on (measured on an H200, driver 580). So objects are made until one has
 * the recorded handle, and the others are kept. What is free is then what the recording's program
 * had, and little more.
 */
#include "replayer/execute/replayer-fail.h"

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
		if (!x->arrays[i].held)
			return i;
	MAKE_ROOM(x->arrays, x->narrays, x->cap_arrays);
	return x->narrays++;
}

static void drop_array(struct rp *rp, size_t array)
{
	struct rarray *a = array == SIZE_MAX ? NULL : &rp->objects.textures.arrays[array];

	if (a && !--a->held)
		(void)rp->gpu->array_destroy(a->handle);
}

/* The array below t, made if there is none of its shape; SIZE_MAX: it is of other memory. It must
 * be dropped. */
static struct err *take_array(struct rp *rp, const struct rtexture *t, size_t *ret)
{
	struct textures *x = &rp->objects.textures;
	size_t i = 0;

	*ret = SIZE_MAX;
	if (t->is.resource)
		return NULL;
	while (i < x->narrays && !(x->arrays[i].held && same_shape(&x->arrays[i].is, &t->is)))
		i++;
	if (i == x->narrays) {
		struct gpu_array *handle = NULL;
		const struct gpu_result r = rp->gpu->array_create(&handle, &t->is);

		if (r.status)
			return refused(rp, t, r);
		i = free_slot(x);
		x->arrays[i] = (struct rarray){.is = t->is, .handle = handle};
	}
	x->arrays[i].held++;
	*ret = i;
	return NULL;
}

/* --- handles --- */

static void hold(struct textures *x, uint64_t handle, size_t array, bool surface)
{
	MAKE_ROOM(x->held, x->nheld, x->cap_held);
	x->held[x->nheld++] = (struct rheld){handle, array, surface};
	if (array != SIZE_MAX)
		x->arrays[array].held++;
}

static void let_go(struct rp *rp, uint64_t handle)
{
	struct textures *x = &rp->objects.textures;

	for (size_t i = 0; i < x->nheld; i++) {
		const struct rheld h = x->held[i];

		if (h.handle != handle)
			continue;
		x->held[i] = x->held[--x->nheld];
		(void)rp->gpu->texture_destroy(handle, h.surface);
		drop_array(rp, h.array);
		return;
	}
}

/* Makes t as `is` says, with the recorded handle or not at all. */
static struct err *with_handle(
	struct rp *rp, struct rtexture *t, const struct soft_texture *is, size_t array)
{
	struct textures *x = &rp->objects.textures;
	struct gpu_array *of = array == SIZE_MAX ? NULL : x->arrays[array].handle;
	uint64_t handle = 0;

	let_go(rp, is->handle);
	for (unsigned n = 0; n < HANDLES_MAX; n++) {
		const struct gpu_result r = rp->gpu->texture_create(&handle, is, of);

		if (r.status)
			return refused(rp, t, r);
		t->alive = handle == is->handle;
		if (t->alive)
			return NULL;
		hold(x, handle, array, is->surface != 0);
	}
	return cannot(rp, t, "the driver gives other handles, and kernels may have this one");
}

/* --- objects --- */

struct err *texture_make(struct rp *rp, struct rtexture *t)
{
	struct soft_texture is = t->is;
	size_t array;

	if (place_find(rp, is.addr, is.size, &is.addr) == PLACE_NOWHERE)
		return cannot(rp, t, "it is of memory that the window does not have");
	TRY(take_array(rp, t, &array));
	struct err *e = with_handle(rp, t, &is, array);
	t->array = array;
	if (e) {
		drop_array(rp, array);
	} else if (array != SIZE_MAX) {
		struct rarray *a = &rp->objects.textures.arrays[array];

		a->objects++;
		a->surfaces += is.surface != 0;
	}
	return e;
}

void texture_unmake(struct rp *rp, struct rtexture *t)
{
	if (!t->alive)
		return;
	t->alive = false;
	(void)rp->gpu->texture_destroy(t->is.handle, t->is.surface);
	if (t->array != SIZE_MAX) {
		struct rarray *a = &rp->objects.textures.arrays[t->array];

		a->objects--;
		a->surfaces -= t->is.surface != 0;
	}
	drop_array(rp, t->array);
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
		if (x->arrays[i].surfaces)
			TRY(copy_array(rp, &x->arrays[i], false, stream));
	return NULL;
}

bool textures_have(const struct rp *rp, const struct sbt_rows *rows)
{
	return textures_are_copies(&rp->objects.textures) && sbt_is_array(rows->addr);
}
