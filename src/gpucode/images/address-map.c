/* SPDX-License-Identifier: Apache-2.0
 *
 * See address-map.h. Hardly any word of memory lies in the map, so words are tested in blocks,
 * without branches.
 */
#include "gpucode/address-map.h"
#include "base/first-where.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 64u /* words */

void address_map_add(struct address_map *m, uint64_t from, uint64_t size, uint64_t to)
{
	if (!size || from == to || size > UINT64_MAX - from || size > UINT64_MAX - to)
		return;
	MAKE_ROOM(m->r, m->n, m->cap);
	m->r[m->n++] = (struct address_range){from, size, to};
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_from(const void *a, const void *b)
{
	const struct address_range *x = a, *y = b;
	const int r = compare(x->from, y->from);

	return r			   ? r
	       : compare(y->size, x->size) ? compare(y->size, x->size)
					   : compare(x->to, y->to);
}

void address_map_end(struct address_map *m)
{
	uint64_t end = 0;
	size_t n = 0;

	if (m->n)
		qsort(m->r, m->n, sizeof *m->r, by_from);
	for (size_t i = 0; i < m->n; i++) {
		if (n && m->r[i].from < end)
			continue;
		end = m->r[i].from + m->r[i].size;
		m->r[n++] = m->r[i];
	}
	m->n = n;
	m->lo = n ? m->r[0].from : 0;
	m->span = end - m->lo;
}

void address_map_free(struct address_map *m)
{
	free(m->r);
	*m = (struct address_map){0};
}

bool address_map_find(const struct address_map *m, uint64_t addr, uint64_t *ret)
{
	if (addr - m->lo >= m->span)
		return false;
	const size_t at =
		FIRST_WHERE(m->n, i, m->r[i].from > addr); /* the first that begins behind addr */
	const struct address_range *r = at ? &m->r[at - 1] : NULL;
	if (!r || addr - r->from >= r->size)
		return false;
	*ret = r->to + (addr - r->from);
	return true;
}

/* The aligned words of p[0, n), memory at addr: *ret is the first; returns how many there are. */
static size_t words_of(uint64_t addr, const void *p, size_t n, const uint8_t **ret)
{
	const size_t skip = -addr & 7;

	*ret = (const uint8_t *)p + skip;
	return n < skip ? 0 : (n - skip) / 8;
}

/* Whether any of these lies between the first and the last range. */
static bool any_near(const struct address_map *m, const uint8_t *p, size_t words)
{
	const uint64_t lo = m->lo, span = m->span;
	unsigned any = 0;

	for (size_t i = 0; i < words; i++) {
		uint64_t w;

		memcpy(&w, p + 8 * i, 8);
		any |= w - lo < span;
	}
	return any;
}

static size_t translate(const struct address_map *m, uint8_t *p, size_t words)
{
	size_t changed = 0;
	uint64_t w;

	for (size_t i = 0; i < words; i++) {
		memcpy(&w, p + 8 * i, 8);
		if (!address_map_find(m, w, &w))
			continue;
		memcpy(p + 8 * i, &w, 8);
		changed++;
	}
	return changed;
}

size_t address_map_words(const struct address_map *m, uint64_t addr, void *p, size_t n)
{
	const uint8_t *at;
	size_t changed = 0;

	for (size_t words = m->span ? words_of(addr, p, n, &at) : 0, some; words;
		words -= some, at += 8 * some) {
		some = words < BLOCK ? words : BLOCK;
		if (any_near(m, at, some))
			changed += translate(m, (uint8_t *)p + (at - (const uint8_t *)p), some);
	}
	return changed;
}

bool address_map_any(const struct address_map *m, uint64_t addr, const void *p, size_t n)
{
	const uint8_t *at;
	const size_t words = m->span ? words_of(addr, p, n, &at) : 0;

	return words && any_near(m, at, words);
}

/* --- pairs --- */

struct vote {
	struct address_pair pair;
	size_t n; /* observations; 0: the candidate is out */
	bool settled;
};

static int by_here(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;
	const int r = compare(x->pair.here, y->pair.here);

	return r ? r : compare(x->pair.there, y->pair.there);
}

static int by_there(const void *a, const void *b)
{
	const struct vote *const *x = a, *const *y = b;

	return compare((*x)->pair.there, (*y)->pair.there);
}

static size_t count(struct vote *v, const struct address_pair *p, size_t n)
{
	size_t votes = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct vote){p[i], 1, false};
	if (n)
		qsort(v, n, sizeof *v, by_here);
	for (size_t i = 0; i < n; i++)
		if (votes && !by_here(&v[votes - 1], &v[i]))
			v[votes - 1].n++;
		else
			v[votes++] = v[i];
	return votes;
}

/* Settles each `here` that has one candidate left; returns whether any was newly settled. */
static bool settle(struct vote *v, size_t n)
{
	bool learned = false;

	for (size_t i = 0, end; i < n; i = end) {
		struct vote *only = NULL;
		size_t left = 0;

		for (end = i; end < n && v[end].pair.here == v[i].pair.here; end++)
			if (v[end].n) {
				only = &v[end];
				left++;
			}
		if (left == 1 && !only->settled)
			learned = only->settled = true;
	}
	return learned;
}

/* Of the candidates for one `there`, if any is settled, keeps the settled one with most votes; at a
 * tie none. */
static void one_each(struct vote **group, size_t n)
{
	struct vote *best = NULL;
	bool tie = false, settled = false;

	for (size_t i = 0; i < n; i++)
		settled |= group[i]->n && group[i]->settled;
	for (size_t i = 0; i < n && settled; i++) {
		if (!group[i]->n || !group[i]->settled)
			continue;
		tie = best && (group[i]->n == best->n || (tie && group[i]->n < best->n));
		best = !best || group[i]->n > best->n ? group[i] : best;
	}
	for (size_t i = 0; i < n && settled; i++)
		if (tie || group[i] != best)
			group[i]->n = 0;
}

/* Of the candidates of each `here` keeps the one with most votes; at a tie none. */
static void choose(struct vote *v, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		struct vote *best = &v[i];
		bool tie = false;

		for (end = i + 1; end < n && v[end].pair.here == v[i].pair.here; end++) {
			tie = v[end].n == best->n || (tie && v[end].n < best->n);
			best = v[end].n > best->n ? &v[end] : best;
		}
		for (size_t k = i; k < end; k++)
			if (tie || &v[k] != best)
				v[k].n = 0;
	}
}

size_t address_pairs_agree(struct address_pair *p, size_t n)
{
	struct vote *v = xcalloc(n + 1, sizeof *v), **groups = xcalloc(n + 1, sizeof *groups);
	const size_t votes = count(v, p, n);
	size_t left = 0;

	for (size_t i = 0; i < votes; i++)
		groups[i] = &v[i];
	if (votes)
		qsort(groups, votes, sizeof *groups, by_there);
	for (bool again = true; again;) {
		again = settle(v, votes);
		if (!again) { /* no candidate is left alone any more: take the majority, and what
			       * follows from that */
			choose(v, votes);
			settle(v, votes);
		}
		for (size_t i = 0, end; i < votes; i = end) {
			for (end = i + 1;
				end < votes && groups[end]->pair.there == groups[i]->pair.there;
				end++)
				;
			one_each(groups + i, end - i);
		}
	}
	for (size_t i = 0; i < votes; i++)
		if (v[i].n && v[i].settled)
			p[left++] = v[i].pair;
	free(groups);
	free(v);
	return left;
}
