/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles: one arena per kind of object, reserved once and never unmapped, so that obj_alive() can
 * be asked about any pointer a program passes in, stale and wild ones included. Freed slots queue
 * up and are reused oldest first.
 */
#include "softgpu/memory/array.h"
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_OBJECTS (1u << 20)

struct arena {
	size_t size; /* of one object, a multiple of 16 */
	char *base;
	_Atomic uint8_t *live;
	uint32_t *queue; /* ring of freed slots */
	uint32_t head, tail, used;
};

#define SIZE_OF(type)                                                                              \
	{                                                                                          \
		.size = (sizeof(struct type) + 15) & ~15ull                                        \
	}
static struct arena arenas[OBJ_KINDS] = {
	[OBJ_CTX] = SIZE_OF(ctx),
	[OBJ_STREAM] = SIZE_OF(stream),
	[OBJ_EVENT] = SIZE_OF(event),
	[OBJ_MODULE] = SIZE_OF(module),
	[OBJ_FUNC] = SIZE_OF(func),
	[OBJ_LIBRARY] = SIZE_OF(library),
	[OBJ_KERNEL] = SIZE_OF(kernel),
	[OBJ_POOL] = SIZE_OF(pool),
	[OBJ_GRAPH] = SIZE_OF(graph),
	[OBJ_NODE] = SIZE_OF(node),
	[OBJ_GRAPH_EXEC] = SIZE_OF(graph_exec),
	[OBJ_ARRAY] = SIZE_OF(array),
	[OBJ_USER] = SIZE_OF(user_object),
	[OBJ_LINK] = SIZE_OF(link_handle),
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Caller holds the lock. */
static bool arena_open(struct arena *a)
{
	char *base;

	if (a->base)
		return true;
	a->live = reserve(MAX_OBJECTS);
	a->queue = reserve(MAX_OBJECTS * sizeof(*a->queue));
	base = reserve(MAX_OBJECTS * a->size);
	if (!a->live || !a->queue || !base)
		return false;
	__atomic_store_n(&a->base, base, __ATOMIC_RELEASE);
	return true;
}

void *obj_new(enum obj_kind kind)
{
	struct arena *a = &arenas[kind];
	void *ret = NULL;
	uint32_t slot;

	pthread_mutex_lock(&lock);
	if (!arena_open(a))
		goto out;
	/* Slots come back only after some others were freed: a stale handle stays stale for a
	 * while. */
	if (a->tail - a->head > 64 || (a->used == MAX_OBJECTS && a->tail != a->head))
		slot = a->queue[a->head++ % MAX_OBJECTS];
	else if (a->used < MAX_OBJECTS)
		slot = a->used++;
	else
		goto out;
	ret = a->base + slot * a->size;
	memset(ret, 0, a->size);
	atomic_store_explicit(&a->live[slot], 1, memory_order_release);
out:
	pthread_mutex_unlock(&lock);
	return ret;
}

static bool slot_of(const struct arena *a, const void *obj, size_t *ret)
{
	const char *base = __atomic_load_n(&a->base, __ATOMIC_ACQUIRE);
	size_t off = (size_t)((const char *)obj - base);

	if (!base || (const char *)obj < base || off >= MAX_OBJECTS * a->size || off % a->size)
		return false;
	*ret = off / a->size;
	return true;
}

void obj_free(enum obj_kind kind, void *obj)
{
	struct arena *a = &arenas[kind];
	size_t slot;

	if (!slot_of(a, obj, &slot))
		return;
	pthread_mutex_lock(&lock);
	atomic_store_explicit(&a->live[slot], 0, memory_order_release);
	a->queue[a->tail++ % MAX_OBJECTS] = (uint32_t)slot;
	pthread_mutex_unlock(&lock);
}

bool obj_alive(enum obj_kind kind, const void *obj)
{
	const struct arena *a = &arenas[kind];
	size_t slot;

	return obj && slot_of(a, obj, &slot) &&
	       atomic_load_explicit(&a->live[slot], memory_order_acquire);
}

void *obj_next(enum obj_kind kind, void *after)
{
	struct arena *a = &arenas[kind];
	size_t slot = 0;

	if (!a->base)
		return NULL;
	if (after && slot_of(a, after, &slot))
		slot++;
	for (; slot < a->used; slot++)
		if (a->live[slot])
			return a->base + slot * a->size;
	return NULL;
}
