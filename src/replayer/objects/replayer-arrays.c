/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects that a driver makes, and the arrays below them. All commands but
 * kernels see an array as the memory at its recorded address: that is what is restored, copied,
 * compared and hashed. Kernels see an array of the driver's, a copy of that memory: it is brought
 * up to date before each launch, and what surfaces may have written is brought back behind it. One
 * command runs after the other, so neither is ever seen half done.
 *
 * The driver chooses handles: small numbers from 1 on, those that were given back among them, and
 * takes some for itself, for copies to arrays say (measured on an H200, driver 580). So the handles
 * that the window's objects have are taken before anything else can have them, by objects that are
 * never used. An object is made where the one that kept its handle has just been destroyed.
 */
#include "replayer/execute/replayer-fail.h"

#include <time.h>

#define TRIES_MAX 65536u /* objects made for handles, all together */
#define AGAIN 64u	 /* for one whose handle was just given back */
#define ROUNDS 8u	 /* of those, with longer and longer pauses: 0.13 s */
#define HELD_BYTES 512u

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
	struct rarray *a = t->array == SIZE_MAX ? NULL : &rp->objects.textures.arrays[t->array];

	if (!a)
		return;
	a->surfaces -= t->is.surface != 0;
	if (!--a->objects)
		(void)rp->gpu->array_destroy(a->handle);
}

/* Finds the array below t, or makes it; it must be dropped. */
static struct err *take_array(struct rp *rp, struct rtexture *t)
{
	struct textures *x = &rp->objects.textures;
	size_t i = 0;

	t->array = SIZE_MAX;
	if (t->is.resource)
		return NULL;
	while (i < x->narrays && !(x->arrays[i].objects && same_shape(&x->arrays[i].is, &t->is)))
		i++;
	if (i == x->narrays) {
		struct gpu_array *handle = NULL;
		const struct gpu_result r = rp->gpu->array_create(&handle, &t->is);

		if (r.status)
			return refused(rp, t, r);
		i = free_slot(x);
		x->arrays[i] = (struct rarray){.is = t->is, .handle = handle};
	}
	x->arrays[i].objects++;
	x->arrays[i].surfaces += t->is.surface != 0;
	t->array = i;
	return NULL;
}

/* --- handles --- */

static bool take_held(struct textures *x, uint64_t handle)
{
	for (size_t i = 0; i < x->nheld; i++)
		if (x->held[i] == handle) {
			x->held[i] = x->held[--x->nheld];
			return true;
		}
	return false;
}

static bool is_held(const struct textures *x, uint64_t handle)
{
	for (size_t i = 0; i < x->nheld; i++)
		if (x->held[i] == handle)
			return true;
	return false;
}

/* Makes objects that are never used until one of them has the handle. Without that the handle is
 * just not held: the object that must have it is then refused. */
static struct err *claim(struct rp *rp, uint64_t handle)
{
	struct textures *x = &rp->objects.textures;
	const struct soft_texture unused = {
		.resource = 2, .format = 0x20, .channels = 1, .size = HELD_BYTES};
	struct soft_texture is = unused;
	uint64_t got = 0;

	if (is_held(x, handle))
		return NULL;
	if (!x->held_memory)
		GPU(rp, mem_alloc, &x->held_memory, HELD_BYTES);
	is.addr = x->held_memory;
	while (got != handle && x->tries < TRIES_MAX) {
		GPU(rp, texture_create, &got, &is, NULL);
		x->tries++;
		MAKE_ROOM(x->held, x->nheld, x->cap_held);
		x->held[x->nheld++] = got;
	}
	return NULL;
}

struct err *textures_claim(struct rp *rp)
{
	struct textures *x = &rp->objects.textures;

	for (size_t i = 0; i < x->nlist && x->by_driver; i++)
		if (!x->list[i].gone)
			TRY(claim(rp, x->list[i].is.handle));
	return NULL;
}

/* Makes objects as `is` says until one has its handle: *ret. */
static struct gpu_result try_handle(
	struct rp *rp, const struct soft_texture *is, struct gpu_array *of, bool *ret)
{
	uint64_t wrong[AGAIN];
	struct gpu_result r = {0};
	unsigned n = 0;

	for (*ret = false; n < AGAIN && !*ret && !r.status; n += !*ret && !r.status) {
		r = rp->gpu->texture_create(&wrong[n], is, of);
		*ret = !r.status && wrong[n] == is->handle;
	}
	while (n)
		(void)rp->gpu->texture_destroy(wrong[--n], is->surface != 0);
	return r;
}

/* With the recorded handle or not at all. One that was just given back may not be the next, nor
 * one of the next: the driver keeps it for a while. */
static struct err *with_handle(struct rp *rp, struct rtexture *t, const struct soft_texture *is)
{
	struct textures *x = &rp->objects.textures;
	struct gpu_array *of = t->array == SIZE_MAX ? NULL : x->arrays[t->array].handle;
	struct timespec pause = {.tv_nsec = 1000000};

	if (take_held(x, is->handle))
		(void)rp->gpu->texture_destroy(is->handle, false);
	for (unsigned round = 0; round < ROUNDS && !t->alive; round++) {
		if (round) {
			TRY(devices_finish(rp));
			(void)nanosleep(&pause, NULL);
			pause.tv_nsec *= 2;
		}
		const struct gpu_result r = try_handle(rp, is, of, &t->alive);
		if (r.status)
			return refused(rp, t, r);
	}
	return t->alive ? NULL
			: cannot(rp, t,
				  "the driver gives other handles, and kernels may have this one");
}

/* --- objects --- */

struct err *texture_make(struct rp *rp, struct rtexture *t)
{
	struct soft_texture is = t->is;

	if (place_find(rp, is.addr, is.size, &is.addr) == PLACE_NOWHERE)
		return cannot(rp, t, "it is of memory that the window does not have");
	TRY(take_array(rp, t));
	struct err *e = with_handle(rp, t, &is);
	if (e)
		drop_array(rp, t);
	return e;
}

/* Its handle is kept for an object to come, or for going back. */
struct err *texture_unmake(struct rp *rp, struct rtexture *t)
{
	if (!t->alive)
		return NULL;
	t->alive = false;
	(void)rp->gpu->texture_destroy(t->is.handle, t->is.surface);
	drop_array(rp, t);
	return claim(rp, t->is.handle);
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
