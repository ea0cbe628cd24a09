/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays; see arrays.h. They are in a list that only grows: a program makes few.
 */
#include "capture/objects/arrays.h"

#include "base/checked.h"
#include "capture/objects/ids.h"

#define ALIGN 512u
#define GAP 256u /* at least so much is free behind each, so that running off its end shows */

static struct {
	struct spin lock;
	_Atomic(struct array *) first;
	uint64_t used; /* bytes of addresses */
} arrays;

const struct array *arrays_by_handle(uint64_t handle)
{
	struct array *a = atomic_load(&arrays.first);
	while (a && (!handle || atomic_load(&a->handle) != handle))
		a = atomic_load(&a->next);
	return a;
}

const struct array *arrays_at(uint64_t addr)
{
	struct array *a = atomic_load(&arrays.first);
	while (a && (!atomic_load(&a->handle) || addr - a->addr >= array_bytes(a)))
		a = atomic_load(&a->next);
	return a;
}

/* With the lock: a destroyed one of this size, whose address can be given again. */
static struct array *again(uint64_t bytes)
{
	struct array *a = atomic_load(&arrays.first);
	while (a && (atomic_load(&a->handle) || array_bytes(a) != bytes))
		a = atomic_load(&a->next);
	return a;
}

/* With the lock: a new one. */
static struct array *make(uint64_t bytes)
{
	const uint64_t room = SBT_ARRAYS_END - SBT_ARRAYS_BASE - arrays.used;
	struct array *a =
		bytes <= room - ALIGN - GAP && room > ALIGN + GAP ? ids_keep(sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	*a = (struct array){.addr = SBT_ARRAYS_BASE + arrays.used};
	arrays.used += (bytes + GAP + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	return a;
}

static void shape(struct array *a, const struct sbt_cmd_alloc *u, unsigned channel_bytes)
{
	a->format = u->format;
	a->channels = u->channels;
	a->width = u->width;
	a->height = u->height;
	a->depth = u->depth;
	a->flags = u->alloc_flags;
	a->row = u->width * u->channels * channel_bytes;
	a->rows = u->height ? u->height : 1;
	a->slices = u->depth ? u->depth : 1;
}

static bool is_possible(const struct sbt_cmd_alloc *u, unsigned channel_bytes, uint64_t *bytes)
{
	return !ckd_mul(bytes, u->width, u->channels * channel_bytes) &&
	       !ckd_mul(bytes, *bytes, u->height ? u->height : 1) &&
	       !ckd_mul(bytes, *bytes, u->depth ? u->depth : 1) && *bytes;
}

const struct array *arrays_new(
	uint64_t handle, uint32_t ctx, const struct sbt_cmd_alloc *u, unsigned channel_bytes)
{
	uint64_t bytes;
	if (!handle || !is_possible(u, channel_bytes, &bytes))
		return NULL;
	spin_lock(&arrays.lock);
	struct array *old = again(bytes), *a = old ? old : make(bytes);
	if (a) {
		shape(a, u, channel_bytes);
		a->ctx = ctx;
		atomic_store(&a->handle, handle);
	}
	if (a && !old) {
		atomic_store(&a->next, atomic_load(&arrays.first));
		atomic_store(&arrays.first, a);
	}
	spin_unlock(&arrays.lock);
	return a;
}

static bool of_ctx(const struct array *a, uint64_t ctx)
{
	return a->ctx == ctx;
}

static bool of_handle(const struct array *a, uint64_t handle)
{
	return atomic_load(&a->handle) == handle;
}

static bool any(const struct array *a, uint64_t nothing)
{
	(void)a;
	(void)nothing;
	return true;
}

static void drop(bool (*which)(const struct array *a, uint64_t arg), uint64_t arg)
{
	spin_lock(&arrays.lock);
	for (struct array *a = atomic_load(&arrays.first); a; a = atomic_load(&a->next))
		if (which(a, arg))
			atomic_store(&a->handle, 0);
	spin_unlock(&arrays.lock);
}

void arrays_gone(uint64_t handle)
{
	drop(of_handle, handle);
}

void arrays_drop_ctx(uint32_t ctx)
{
	drop(of_ctx, ctx);
}

void arrays_forget(void)
{
	drop(any, 0);
}

uint64_t array_box(const struct array *a, uint64_t offset, uint64_t n, struct array_box *ret)
{
	const uint64_t slice = a->row * a->rows, x = offset % a->row, in = offset % slice;
	*ret = (struct array_box){.x = x,
		.y = in / a->row,
		.z = offset / slice,
		.width = a->row,
		.height = 1,
		.depth = 1};
	if (x || n < a->row) {
		ret->width = n < a->row - x ? n : a->row - x;
	} else if (in || n < slice) {
		const uint64_t rows = n / a->row, left = a->rows - ret->y;
		ret->height = rows < left ? rows : left;
	} else {
		ret->height = a->rows;
		ret->depth = n / slice;
	}
	return ret->width * ret->height * ret->depth;
}
