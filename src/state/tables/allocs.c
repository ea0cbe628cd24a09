/* SPDX-License-Identifier: Apache-2.0
 *
 * The live allocations by address, see allocs.h. Look-up is two binary searches; inserting moves at
 * most one leaf, and the directory when a leaf splits.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "state/tables/allocs.h"

#define DIR sizeof(struct alloc_dir)

_Static_assert(ALLOC_HINTS == 1 << (64 - 51), "the hash in locate()");

static struct alloc_dir *dir(const struct allocs *t)
{
	return t->dir.data;
}

static void leaf_unref(struct alloc_leaf *l)
{
	if (--l->refs == 0)
		free(l);
}

void allocs_free(struct allocs *t)
{
	for (size_t i = 0; i < t->dir.n; i++)
		leaf_unref(dir(t)[i].leaf);
	vec_free(&t->dir);
	free(t->hints);
	*t = (struct allocs){0};
}

void allocs_share(struct allocs *dst)
{
	dst->hints = NULL;
	vec_share(&dst->dir);
	vec_own(&dst->dir, DIR);
	for (size_t i = 0; i < dst->dir.n; i++)
		dir(dst)[i].leaf->refs++;
}

/* Both searches are without branches: addresses in a launch come in no order, so half of the
 * branches would be mispredicted, which costs more than all the rest of applying a launch. */

/* Index of the last leaf with first <= addr; 0 when there is none. */
static size_t find_leaf(const struct allocs *t, uint64_t addr)
{
	const struct alloc_dir *d = dir(t);
	size_t lo = 0, n = t->dir.n;

	for (size_t half; n > 1; n -= half) {
		half = n / 2;
		lo += half & -(size_t)(d[lo + half].first <= addr);
	}
	return lo;
}

/* Number of rows with key <= addr. */
static uint32_t find_row(const struct alloc_leaf *l, uint64_t addr)
{
	uint32_t lo = 0, n = l->n;

	for (uint32_t half; n > 1; n -= half) {
		half = n / 2;
		lo += half & -(uint32_t)(l->key[lo + half] <= addr);
	}
	return lo + (n && l->key[lo] <= addr);
}

static struct alloc_leaf *leaf_own(struct allocs *t, size_t i)
{
	struct alloc_leaf *l = dir(t)[i].leaf, *c;

	if (l->refs == 1)
		return l;
	c = xmalloc(sizeof *c);
	c->refs = 1;
	c->n = l->n;
	memcpy(c->key, l->key, l->n * sizeof l->key[0]);
	memcpy(c->a, l->a, l->n * sizeof l->a[0]);
	l->refs--;
	dir(t)[i].leaf = c;
	return c;
}

static bool holds(const struct alloc_leaf *l, uint32_t row, uint64_t addr)
{
	return addr - l->key[row] < l->a[row].size; /* wraps to a large number below the key */
}

static bool search(const struct allocs *t, uint64_t addr, size_t *ret_leaf, uint32_t *ret_row)
{
	const struct alloc_leaf *l;

	*ret_leaf = find_leaf(t, addr);
	l = dir(t)[*ret_leaf].leaf;
	*ret_row = find_row(l, addr) - 1;
	return *ret_row < l->n && holds(l, *ret_row, addr);
}

/* Finds the row that holds addr; false when there is none. Programs use the same pointers again and
 * again: a hint spares the search, and as allocations never overlap, a row that holds addr is the
 * one, however old the hint is. */
static bool locate(const struct allocs *t, uint64_t addr, size_t *ret_leaf, uint32_t *ret_row)
{
	struct alloc_hint *h;

	if (!t->n)
		return false;
	if (!t->hints) /* no part of the contents, so a const table may get them */
		((struct allocs *)(uintptr_t)t)->hints = xcalloc(ALLOC_HINTS, sizeof *t->hints);
	h = &t->hints[(addr * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
	if (h->leaf < t->dir.n && h->row < dir(t)[h->leaf].leaf->n &&
		holds(dir(t)[h->leaf].leaf, h->row, addr)) {
		*ret_leaf = h->leaf;
		*ret_row = h->row;
		return true;
	}
	if (!search(t, addr, ret_leaf, ret_row))
		return false;
	*h = (struct alloc_hint){(uint32_t)*ret_leaf, *ret_row};
	return true;
}

const struct alloc *allocs_find(const struct allocs *t, uint64_t addr)
{
	size_t leaf;
	uint32_t row;

	return locate(t, addr, &leaf, &row) ? &dir(t)[leaf].leaf->a[row] : NULL;
}

struct alloc *allocs_own(struct allocs *t, uint64_t addr)
{
	size_t leaf;
	uint32_t row;

	return locate(t, addr, &leaf, &row) ? &leaf_own(t, leaf)->a[row] : NULL;
}

void allocs_doubt(struct allocs *t, uint64_t seq)
{
	for (size_t i = 0; i < t->dir.n; i++) {
		struct alloc_leaf *l = leaf_own(t, i);

		for (uint32_t row = 0; row < l->n; row++) {
			l->a[row].writer = seq;
			l->a[row].certain = false;
		}
	}
}

const struct alloc *allocs_next(const struct allocs *t, uint64_t addr)
{
	size_t i;
	uint32_t row;

	if (!t->n)
		return NULL;
	i = find_leaf(t, addr);
	row = find_row(dir(t)[i].leaf, addr);
	if (row && dir(t)[i].leaf->key[row - 1] == addr)
		return &dir(t)[i].leaf->a[row - 1];
	if (row < dir(t)[i].leaf->n)
		return &dir(t)[i].leaf->a[row];
	return i + 1 < t->dir.n ? &dir(t)[i + 1].leaf->a[0] : NULL;
}

static struct alloc_leaf *new_leaf(struct allocs *t, size_t at)
{
	struct alloc_dir *d = vec_insert(&t->dir, DIR, at);

	d->leaf = xmalloc(sizeof *d->leaf);
	d->leaf->refs = 1;
	d->leaf->n = 0;
	return d->leaf;
}

/* Moves the upper rows of leaf i to a new leaf after it. Appending at the very end, where addresses
 * only grow, moves none: leaves stay full. */
static void split(struct allocs *t, size_t i, uint64_t addr)
{
	struct alloc_leaf *l = leaf_own(t, i), *r;
	uint32_t keep = l->n / 2;

	if (i + 1 == t->dir.n && addr > l->key[l->n - 1])
		keep = l->n;
	r = new_leaf(t, i + 1);
	r->n = l->n - keep;
	memcpy(r->key, l->key + keep, r->n * sizeof r->key[0]);
	memcpy(r->a, l->a + keep, r->n * sizeof r->a[0]);
	l->n = keep;
	dir(t)[i + 1].first = r->n ? r->key[0] : addr;
}

void allocs_insert(struct allocs *t, const struct alloc *a)
{
	size_t i;
	uint32_t row;
	struct alloc_leaf *l;

	t->at_leaf = t->at_base = 0;
	if (!t->dir.n) {
		new_leaf(t, 0);
		dir(t)[0].first = a->addr;
	}
	i = find_leaf(t, a->addr);
	if (dir(t)[i].leaf->n == ALLOC_LEAF) {
		split(t, i, a->addr);
		i = find_leaf(t, a->addr);
	}
	l = leaf_own(t, i);
	row = find_row(l, a->addr);
	memmove(l->key + row + 1, l->key + row, (l->n - row) * sizeof l->key[0]);
	memmove(l->a + row + 1, l->a + row, (l->n - row) * sizeof l->a[0]);
	l->key[row] = a->addr;
	l->a[row] = *a;
	l->n++;
	dir(t)[i].first = l->key[0];
	t->n++;
}

/* Joins leaf i + 1 to leaf i when both together fill half a leaf at most. */
static void join(struct allocs *t, size_t i)
{
	struct alloc_leaf *l, *r;

	if (i + 1 >= t->dir.n || dir(t)[i].leaf->n + dir(t)[i + 1].leaf->n > ALLOC_LEAF / 2)
		return;
	l = leaf_own(t, i);
	r = dir(t)[i + 1].leaf;
	memcpy(l->key + l->n, r->key, r->n * sizeof r->key[0]);
	memcpy(l->a + l->n, r->a, r->n * sizeof r->a[0]);
	l->n += r->n;
	leaf_unref(r);
	vec_remove(&t->dir, DIR, i + 1);
	dir(t)[i].first = l->n ? l->key[0] : 0;
}

bool allocs_remove(struct allocs *t, uint64_t addr)
{
	size_t i;
	uint32_t row;
	struct alloc_leaf *l;

	if (!locate(t, addr, &i, &row) || dir(t)[i].leaf->key[row] != addr)
		return false;
	t->at_leaf = t->at_base = 0;
	l = leaf_own(t, i);
	l->n--;
	memmove(l->key + row, l->key + row + 1, (l->n - row) * sizeof l->key[0]);
	memmove(l->a + row, l->a + row + 1, (l->n - row) * sizeof l->a[0]);
	t->n--;
	if (!l->n) {
		leaf_unref(l);
		vec_remove(&t->dir, DIR, i);
		return true;
	}
	dir(t)[i].first = l->key[0];
	join(t, i);
	if (i)
		join(t, i - 1);
	return true;
}

const struct alloc *allocs_get(struct allocs *t, size_t i)
{
	if (i >= t->n)
		return NULL;
	if (i < t->at_base)
		t->at_leaf = t->at_base = 0;
	while (i - t->at_base >= dir(t)[t->at_leaf].leaf->n)
		t->at_base += dir(t)[t->at_leaf++].leaf->n;
	return &dir(t)[t->at_leaf].leaf->a[i - t->at_base];
}

size_t allocs_bytes(const struct allocs *t)
{
	size_t n = vec_bytes(&t->dir) + (t->hints ? ALLOC_HINTS * sizeof *t->hints : 0);

	for (size_t i = 0; i < t->dir.n; i++)
		n += sizeof(struct alloc_leaf) / dir(t)[i].leaf->refs;
	return n;
}
