/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap of kernels: malloc() and free() on the device. One range of memory of the context's, cut
 * into pieces by halving (a buddy allocator), with all bookkeeping outside of it, so that no kernel
 * can spoil it. Every piece is checked like an allocation of its own: an access behind its last
 * byte, or to a freed one, is a fault. Kernels that use the heap run their blocks one after the
 * other, so addresses repeat.
 */
#include "softgpu/machine/ptx-exec.h"

#include <pthread.h>
#include <stdlib.h>

#define UNIT 32u /* bytes, and the alignment of a piece */
#define ORDERS 32
#define NONE UINT32_MAX
#define HEAD 0x80 /* in kind: a piece begins here */
#define USED 0x40

struct ptx_heap {
	pthread_mutex_t lock;
	uint32_t owner; /* of the memory */
	size_t limit;
	uint64_t start, end; /* 0: not used yet */
	uint32_t n;	     /* units */
	uint8_t *kind;	     /* of each unit: 0, or HEAD, USED and the order of the piece */
	uint32_t *next, *prev, *bytes; /* of pieces */
	uint32_t free[ORDERS];
};

struct ptx_heap *ptx_heap_new(size_t limit, uint32_t owner)
{
	struct ptx_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	h->limit = limit;
	h->owner = owner;
	return h;
}

void ptx_heap_delete(struct ptx_heap *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h->kind);
	free(h->next);
	free(h->prev);
	free(h->bytes);
	free(h);
}

bool ptx_heap_set_limit(struct ptx_heap *h, size_t limit)
{
	bool ok;

	pthread_mutex_lock(&h->lock);
	ok = !h->start;
	if (ok)
		h->limit = limit;
	pthread_mutex_unlock(&h->lock);
	return ok;
}

/* --- pieces; the lock is held --- */
static void put_free(struct ptx_heap *h, uint32_t at, unsigned order)
{
	h->kind[at] = (uint8_t)(HEAD | order);
	h->prev[at] = NONE;
	h->next[at] = h->free[order];
	if (h->free[order] != NONE)
		h->prev[h->free[order]] = at;
	h->free[order] = at;
}

static void take_free(struct ptx_heap *h, uint32_t at, unsigned order)
{
	if (h->prev[at] != NONE)
		h->next[h->prev[at]] = h->next[at];
	else
		h->free[order] = h->next[at];
	if (h->next[at] != NONE)
		h->prev[h->next[at]] = h->prev[at];
	h->kind[at] = 0;
}

/* False when there is no memory: then the heap is empty for ever. */
static bool begin(struct ptx_heap *h)
{
	uint64_t units = h->limit / UNIT;
	const struct mem_range *r;

	if (h->start)
		return true;
	if (!units || units >= 1u << 31)
		return false;
	h->n = (uint32_t)units;
	h->kind = calloc(units, 1);
	h->next = calloc(units, 4);
	h->prev = calloc(units, 4);
	h->bytes = calloc(units, 4);
	r = h->kind && h->next && h->prev && h->bytes
		    ? mem_alloc(MEM_DEVICE, units * UNIT, 4096, h->owner)
		    : NULL;
	if (!r) {
		h->limit = 0;
		return false;
	}
	h->start = r->start;
	h->end = r->end;
	for (unsigned k = 0; k < ORDERS; k++)
		h->free[k] = NONE;
	for (uint32_t at = h->n;
		at;) { /* the largest pieces that fit, the first to be used lowest */
		unsigned order = (unsigned)__builtin_ctz(at);
		at -= 1u << order;
		put_free(h, at, order);
	}
	return true;
}

static uint64_t allocate(struct ptx_heap *h, uint64_t bytes)
{
	unsigned order = 0, from;
	uint32_t at;

	if (!bytes || !begin(h) || bytes > (uint64_t)h->n * UNIT)
		return 0;
	while (((uint64_t)UNIT << order) < bytes)
		order++;
	for (from = order; from < ORDERS && h->free[from] == NONE; from++)
		;
	if (from == ORDERS)
		return 0;
	at = h->free[from];
	take_free(h, at, from);
	while (from-- > order)
		put_free(h, at + (1u << from), from);
	h->kind[at] = (uint8_t)(HEAD | USED | order);
	h->bytes[at] = (uint32_t)bytes;
	return h->start + (uint64_t)at * UNIT;
}

static bool give_back(struct ptx_heap *h, uint64_t a)
{
	uint32_t at = (uint32_t)((a - h->start) / UNIT), buddy;
	unsigned order;

	if (!h->start || a < h->start || a >= h->end || (a - h->start) % UNIT ||
		(h->kind[at] & (HEAD | USED)) != (HEAD | USED))
		return false;
	order = h->kind[at] & 0x3f;
	memset((void *)(uintptr_t)a, 0xa5, h->bytes[at]);
	h->kind[at] = 0;
	for (; order + 1 < ORDERS; order++) {
		buddy = at ^ 1u << order;
		if (buddy >= h->n || h->kind[buddy] != (HEAD | order))
			break;
		take_free(h, buddy, order);
		at &= buddy;
	}
	put_free(h, at, order);
	return true;
}

/* --- what kernels do --- */
bool ptx_heap_find(struct ptx_heap *h, uint64_t a, struct ptx_cached *ret)
{
	bool inside;

	pthread_mutex_lock(&h->lock);
	inside = h->start && a >= h->start && a < h->end;
	*ret = (struct ptx_cached){0};
	for (unsigned order = 0; inside && order < ORDERS - 1; order++) {
		uint32_t at = (uint32_t)((a - h->start) / UNIT) & ~((1u << order) - 1);
		if (h->kind[at] != (HEAD | USED | order))
			continue;
		if (a - h->start - (uint64_t)at * UNIT < h->bytes[at])
			*ret = (struct ptx_cached){h->start + (uint64_t)at * UNIT,
				h->start + (uint64_t)at * UNIT + h->bytes[at], false};
		break;
	}
	pthread_mutex_unlock(&h->lock);
	return inside;
}

uint64_t ptx_heap_malloc(struct ptx_warp *w, uint64_t bytes)
{
	struct ptx_heap *h = w->wk->l->heap;
	uint64_t a;

	if (!h)
		return 0;
	pthread_mutex_lock(&h->lock);
	a = allocate(h, bytes);
	pthread_mutex_unlock(&h->lock);
	return a;
}

void ptx_heap_free(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a)
{
	struct ptx_heap *h = w->wk->l->heap;
	bool ok = false;

	if (!a)
		return;
	if (h) {
		pthread_mutex_lock(&h->lock);
		ok = give_back(h, a);
		pthread_mutex_unlock(&h->lock);
	}
	if (!ok)
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, 0,
			"free() of what malloc() did not give, or gave back already");
	memset(w->wk->cache, 0, sizeof(w->wk->cache));
	memset(w->wk->jit_range, 0, sizeof(w->wk->jit_range));
}
