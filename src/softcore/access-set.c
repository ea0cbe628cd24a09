/* SPDX-License-Identifier: Apache-2.0
 *
 * Access sets, see access-set.h: a hash table of 64 KiB regions, each with a bitmap per kind that
 * is made when the region is first touched that way.
 */
#include "softcore/access-set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BITS 16u
#define REGION (1ull << REGION_BITS)
#define WORDS (REGION / 64)

struct region {
	uint64_t key; /* address >> REGION_BITS, plus 1; 0: free */
	uint64_t *bits[ACCESS_SETS];
	bool whole[ACCESS_SETS];
};

struct access_set {
	pthread_mutex_t lock;
	struct region *table;
	size_t n, slots; /* a power of two */
	size_t used, limit;
	bool inexact[ACCESS_SETS];
};

struct access_set *access_set_new(size_t limit)
{
	struct access_set *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->limit = limit ? limit : ACCESS_SET_LIMIT;
	a->slots = 64;
	a->table = calloc(a->slots, sizeof(*a->table));
	if (!a->table) {
		free(a);
		return NULL;
	}
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void access_set_clear(struct access_set *a)
{
	for (size_t k = 0; k < a->slots; k++)
		for (unsigned kind = 0; kind < ACCESS_SETS; kind++)
			free(a->table[k].bits[kind]);
	memset(a->table, 0, a->slots * sizeof(*a->table));
	memset(a->inexact, 0, sizeof(a->inexact));
	a->n = a->used = 0;
}

void access_set_free(struct access_set *a)
{
	if (!a)
		return;
	access_set_clear(a);
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

static bool grow(struct access_set *a)
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
static struct region *region_of(struct access_set *a, uint64_t addr)
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

static void add_in_region(struct access_set *a, unsigned kind, uint64_t addr, unsigned n)
{
	struct region *r = region_of(a, addr);

	if (!r) {
		a->limit = 0; /* reported by access_set_spans() */
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

static void add(struct access_set *a, unsigned kind, uint64_t addr, uint64_t size)
{
	while (size) {
		uint64_t room = REGION - addr % REGION, n = size < room ? size : room;
		add_in_region(a, kind, addr, (unsigned)n);
		addr += n;
		size -= n;
	}
}

void access_set_lock(struct access_set *a)
{
	pthread_mutex_lock(&a->lock);
}

void access_set_unlock(struct access_set *a)
{
	pthread_mutex_unlock(&a->lock);
}

void access_set_add_locked(struct access_set *a, unsigned set, uint64_t addr, uint64_t size)
{
	add(a, set, addr, size);
}

void access_set_add(struct access_set *a, unsigned set, uint64_t addr, uint64_t size)
{
	access_set_lock(a);
	add(a, set, addr, size);
	access_set_unlock(a);
}

/* --- spans --- */
struct list {
	struct access_span *s;
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
		struct access_span *s = realloc(l->s, cap * sizeof(*s));
		if (!s) {
			l->failed = true;
			return;
		}
		l->s = s;
		l->cap = cap;
	}
	l->s[l->n++] = (struct access_span){addr, size};
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

bool access_set_spans(struct access_set *a, unsigned kind, size_t max, struct access_span **ret,
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
