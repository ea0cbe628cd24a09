/* SPDX-License-Identifier: Apache-2.0
 *
 * Access sets, see ptx-access.h: a hash table of 64 KiB regions, each with a bitmap per kind that
 * is made when the region is first touched that way.
 */
#include "softgpu/watch/ptx-access.h"

#include <pthread.h>
#include <stdlib.h>

#define REGION_BITS 16u
#define REGION (1ull << REGION_BITS)
#define WORDS (REGION / 64)

struct region {
	uint64_t key; /* address >> REGION_BITS, plus 1; 0: free */
	uint64_t *bits[PTX_ACCESS_SETS];
	bool whole[PTX_ACCESS_SETS];
};

struct ptx_accesses {
	pthread_mutex_t lock;
	struct region *table;
	size_t n, slots; /* a power of two */
	size_t used, limit;
	bool inexact[PTX_ACCESS_SETS];
	struct ptx_depends depends;
};

struct ptx_accesses *ptx_accesses_new(size_t limit)
{
	struct ptx_accesses *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->limit = limit ? limit : PTX_ACCESS_LIMIT;
	a->slots = 64;
	a->table = calloc(a->slots, sizeof(*a->table));
	if (!a->table) {
		free(a);
		return NULL;
	}
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void ptx_accesses_clear(struct ptx_accesses *a)
{
	for (size_t k = 0; k < a->slots; k++)
		for (unsigned kind = 0; kind < PTX_ACCESS_SETS; kind++)
			free(a->table[k].bits[kind]);
	memset(a->table, 0, a->slots * sizeof(*a->table));
	memset(a->inexact, 0, sizeof(a->inexact));
	a->n = a->used = 0;
	a->depends = (struct ptx_depends){0};
}

void ptx_accesses_free(struct ptx_accesses *a)
{
	if (!a)
		return;
	ptx_accesses_clear(a);
	pthread_mutex_destroy(&a->lock);
	free(a->table);
	free(a);
}

/* --- adding --- */
static struct region *slot_of(struct region *table, size_t slots, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20) & (slots - 1);

	while (table[at].key && table[at].key != key)
		at = (at + 1) & (slots - 1);
	return &table[at];
}

static bool grow(struct ptx_accesses *a)
{
	size_t slots = a->slots * 2;
	struct region *table = calloc(slots, sizeof(*table));

	if (!table)
		return false;
	for (size_t k = 0; k < a->slots; k++)
		if (a->table[k].key)
			*slot_of(table, slots, a->table[k].key) = a->table[k];
	free(a->table);
	a->table = table;
	a->slots = slots;
	return true;
}

/* NULL: no memory; the caller's set then misses bytes, which its end says by being refused. */
static struct region *region_of(struct ptx_accesses *a, uint64_t addr)
{
	uint64_t key = (addr >> REGION_BITS) + 1;
	struct region *r = slot_of(a->table, a->slots, key);

	if (r->key)
		return r;
	if (2 * a->n >= a->slots) {
		if (!grow(a))
			return NULL;
		r = slot_of(a->table, a->slots, key);
	}
	r->key = key;
	a->n++;
	return r;
}

static void set_bits(uint64_t *bits, unsigned from, unsigned n)
{
	while (n) {
		unsigned at = from % 64, here = 64 - at < n ? 64 - at : n;
		bits[from / 64] |= (here == 64 ? ~0ull : (1ull << here) - 1) << at;
		from += here;
		n -= here;
	}
}

static void add_in_region(struct ptx_accesses *a, unsigned kind, uint64_t addr, unsigned n)
{
	struct region *r = region_of(a, addr);

	if (!r) {
		a->limit = 0; /* reported by ptx_accesses_spans() */
		return;
	}
	if (r->whole[kind])
		return;
	if (!r->bits[kind]) {
		if (a->used + WORDS * 8 <= a->limit)
			r->bits[kind] = calloc(WORDS, 8);
		if (!r->bits[kind]) {
			r->whole[kind] = a->inexact[kind] = true;
			return;
		}
		a->used += WORDS * 8;
	}
	set_bits(r->bits[kind], (unsigned)(addr % REGION), n);
}

static void add(struct ptx_accesses *a, unsigned kind, uint64_t addr, uint64_t size)
{
	while (size) {
		uint64_t room = REGION - addr % REGION, n = size < room ? size : room;
		add_in_region(a, kind, addr, (unsigned)n);
		addr += n;
		size -= n;
	}
}

void ptx_accesses_add(
	struct ptx_accesses *a, enum ptx_access_kind kind, uint64_t addr, uint64_t size)
{
	pthread_mutex_lock(&a->lock);
	add(a, kind, addr, size);
	pthread_mutex_unlock(&a->lock);
}

/* Lanes side by side are one piece. */
static void add_lanes(
	struct ptx_accesses *a, const struct ptx_access *x, unsigned set, uint32_t mask)
{
	uint64_t begin = 0, end = 0;

	EACH_LANE(l)
	{
		if (x->addr[l] >= begin && x->addr[l] <= end && end) {
			if (x->addr[l] + x->size > end)
				end = x->addr[l] + x->size;
			continue;
		}
		add(a, set, begin, end - begin);
		begin = x->addr[l];
		end = begin + x->size;
	}
	add(a, set, begin, end - begin);
}

static void on_access(void *arg, const struct ptx_access *x)
{
	struct ptx_accesses *a = arg;

	if (x->space != SP_GLOBAL)
		return;
	pthread_mutex_lock(&a->lock);
	add_lanes(a, x, x->kind, x->mask);
	if (x->warp->wk->l->early)
		add_lanes(a, x, PTX_ACCESS_KINDS + x->kind, x->mask & ~x->warp->waited);
	ptx_depends_access(&a->depends, x);
	pthread_mutex_unlock(&a->lock);
}

static void on_sync(void *arg, const struct ptx_sync *s)
{
	ptx_depends_sync(&((struct ptx_accesses *)arg)->depends, s);
}

static void on_block_start(void *arg, struct ptx_block *b)
{
	ptx_depends_block_start(&((struct ptx_accesses *)arg)->depends, b);
}

static void on_block_end(void *arg, struct ptx_block *b)
{
	ptx_depends_block_end(&((struct ptx_accesses *)arg)->depends, b);
}

struct ptx_observer ptx_accesses_observer(struct ptx_accesses *a)
{
	return (struct ptx_observer){.arg = a,
		.access = on_access,
		.sync = on_sync,
		.block_start = on_block_start,
		.block_end = on_block_end};
}

const struct ptx_depends *ptx_accesses_depends(const struct ptx_accesses *a)
{
	return &a->depends;
}

/* --- spans --- */
struct list {
	struct ptx_span *s;
	size_t n, cap, max;
	bool inexact, failed;
};

static int by_size(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static uint64_t gap_after(const struct list *l, size_t k)
{
	return l->s[k + 1].addr - (l->s[k].addr + l->s[k].size);
}

/* Closes the smallest gaps, until at most want spans are left. */
static void close_gaps(struct list *l, size_t want)
{
	uint64_t *gaps, limit;
	size_t close = l->n - want, less = 0, out = 0;

	if (l->n <= want)
		return;
	gaps = malloc((l->n - 1) * sizeof(*gaps));
	if (!gaps) {
		l->failed = true;
		return;
	}
	for (size_t k = 0; k + 1 < l->n; k++)
		gaps[k] = gap_after(l, k);
	qsort(gaps, l->n - 1, sizeof(*gaps), by_size);
	limit = gaps[close - 1];
	for (size_t k = 0; k < close; k++)
		less += gaps[k] < limit;
	close -= less; /* of those that are exactly limit */
	free(gaps);
	for (size_t k = 1; k < l->n; k++) {
		uint64_t gap = l->s[k].addr - (l->s[out].addr + l->s[out].size);
		if (gap < limit || (gap == limit && close)) {
			close -= gap == limit;
			l->s[out].size = l->s[k].addr + l->s[k].size - l->s[out].addr;
		} else {
			l->s[++out] = l->s[k];
		}
	}
	l->n = out + 1;
	l->inexact = true;
}

static void put(struct list *l, uint64_t addr, uint64_t size)
{
	if (l->n && l->s[l->n - 1].addr + l->s[l->n - 1].size == addr) {
		l->s[l->n - 1].size += size;
		return;
	}
	if (l->n >= 4 * l->max)
		close_gaps(l, l->max);
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct ptx_span *s = realloc(l->s, cap * sizeof(*s));
		if (!s) {
			l->failed = true;
			return;
		}
		l->s = s;
		l->cap = cap;
	}
	l->s[l->n++] = (struct ptx_span){addr, size};
}

static void put_bits(struct list *l, uint64_t base, const uint64_t *bits)
{
	for (unsigned w = 0; w < WORDS; w++) {
		uint64_t left = bits[w], at = base + 64 * w;
		if (left == ~0ull) {
			put(l, at, 64);
			continue;
		}
		while (left) {
			unsigned from = (unsigned)__builtin_ctzll(left),
				 n = (unsigned)__builtin_ctzll(~(left >> from));
			put(l, at + from, n);
			left &= from + n >= 64 ? 0 : ~0ull << (from + n);
		}
	}
}

static int by_key(const void *x, const void *y)
{
	const struct region *a = *(struct region *const *)x, *b = *(struct region *const *)y;

	return a->key < b->key ? -1 : a->key > b->key;
}

bool ptx_accesses_spans(struct ptx_accesses *a, unsigned kind, size_t max, struct ptx_span **ret,
	size_t *ret_n, bool *inexact)
{
	struct list l = {.max = max ? max : 1, .inexact = a->inexact[kind]};
	struct region **order;
	size_t n = 0;

	*ret = NULL;
	*ret_n = 0;
	*inexact = l.inexact;
	order = malloc((a->n + 1) * sizeof(*order));
	if (!order || !a->limit) {
		free(order);
		return false;
	}
	for (size_t k = 0; k < a->slots; k++)
		if (a->table[k].bits[kind] || a->table[k].whole[kind])
			order[n++] = &a->table[k];
	qsort(order, n, sizeof(struct region *), by_key);
	for (size_t k = 0; k < n; k++) {
		uint64_t base = (order[k]->key - 1) << REGION_BITS;
		if (order[k]->whole[kind])
			put(&l, base, REGION);
		else
			put_bits(&l, base, order[k]->bits[kind]);
	}
	free(order);
	close_gaps(&l, l.max);
	if (l.failed) {
		free(l.s);
		return false;
	}
	*ret = l.s;
	*ret_n = l.n;
	*inexact = l.inexact;
	return true;
}
