/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the bytes of paired areas at the positions of both devices. What differs in aligned
 * words that are addresses of the same place in both is counted, and is no difference.
 */
#include <stdlib.h>
#include <string.h>
#include "numeric/core/numeric-private.h"
#include "replay/values.h"

enum { PIECE = 1 << 20, HASHED_FROM = 1 << 16 };

/* --- what a pair touches --- */

static void add_extent(struct extents *x, uint32_t area, uint64_t off, uint64_t size)
{
	MAKE_ROOM(x->e, x->n, x->cap);
	x->e[x->n++] = (struct extent){area, off, size};
}

/* The parts of a span of one side that lie in areas; the rest is unknown. */
static void add_span(struct numeric_job *j, struct extents *x, bool b, struct span s)
{
	struct numeric_side *side = b ? &j->b : &j->a;

	while (s.size) {
		const uint32_t i = side_area_at(side, s.addr);
		const struct area *a = i == NUMERIC_NONE ? NULL : &side->areas[i];
		uint64_t n = s.size, off;

		if (!a) {
			x->unknown = true;
			return;
		}
		off = s.addr - a->addr;
		n = n < a->size - off ? n : a->size - off;
		if (a->twin == NUMERIC_NONE) {
			x->unknown = true;
			if (!b && !j->reported_unpaired[i])
				j->ret->left.unpaired++;
			if (!b)
				j->reported_unpaired[i] = true;
		} else {
			const uint32_t of_a = b ? a->twin : i;
			const uint64_t size_a = j->a.areas[of_a].size,
				       size_b = j->b.areas[j->a.areas[of_a].twin].size,
				       both = size_a < size_b ? size_a : size_b;

			if (off < both)
				add_extent(x, of_a, off, n < both - off ? n : both - off);
		}
		s.addr += n;
		s.size -= n;
	}
}

static int by_area(const void *pa, const void *pb)
{
	const struct extent *a = pa, *b = pb;

	if (a->area != b->area)
		return a->area < b->area ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

void extents_join(struct extents *x)
{
	size_t out = 0;

	if (x->n < 2)
		return;
	qsort(x->e, x->n, sizeof *x->e, by_area);
	for (size_t i = 1; i < x->n; i++) {
		struct extent *last = &x->e[out];
		const struct extent *e = &x->e[i];

		if (e->area != last->area || e->off > last->off + last->size)
			x->e[++out] = *e;
		else if (e->off + e->size > last->off + last->size)
			last->size = e->off + e->size - last->off;
	}
	x->n = out + 1;
}

/* Where reads are not known: all of the areas that arguments point to, and what copies read. */
static void add_arguments(struct numeric_job *j, struct extents *x, const struct work *w, bool b)
{
	const struct numeric_side *side = b ? &j->b : &j->a;

	for (size_t i = 0; i < w->nuses; i++) {
		const struct area *a = &side->areas[side->uses[w->use + i].area];

		add_span(j, x, b, (struct span){a->addr, a->size});
	}
}

static void add_touched(struct numeric_job *j, struct extents *x, const struct work *w, bool b,
	enum extents_of what)
{
	const struct numeric_side *side = b ? &j->b : &j->a;
	const size_t at = what == EXTENTS_READ ? w->reads : w->writes,
		     n = what == EXTENTS_READ ? w->nreads : w->nwrites;

	for (size_t i = 0; i < n; i++)
		add_span(j, x, b, side->spans[at + i]);
	if (!j->ret->exact && (what == EXTENTS_READ || w->kind != SBT_LAUNCH))
		add_arguments(j, x, w, b);
}

struct extents extents_of_pair(
	struct numeric_job *j, const struct work *a, const struct work *b, enum extents_of what)
{
	struct extents x = {0};

	add_touched(j, &x, a, false, what);
	add_touched(j, &x, b, true, what);
	extents_join(&x);
	return x;
}

struct extents extents_of_all(struct numeric_job *j)
{
	struct extents x = {0};

	for (size_t i = 0; i < j->a.nlive; i++) {
		const struct area *a = &j->a.areas[j->a.live[i]];
		const struct area *b = a->twin == NUMERIC_NONE ? NULL : &j->b.areas[a->twin];

		if (b && b->from < j->b.live_seq && b->to >= j->b.live_seq)
			add_extent(&x, j->a.live[i], 0, a->size < b->size ? a->size : b->size);
	}
	return x;
}

/* --- addresses in memory --- */

/* The area of an address, or of one right behind an area's end. */
static uint32_t area_of_word(const struct numeric_side *s, uint64_t word, uint64_t *ret_off)
{
	uint32_t i = word > 0xffff ? side_area_at(s, word) : NUMERIC_NONE;

	if (i == NUMERIC_NONE && word > 0xffff)
		i = side_area_at(s, word - 1);
	if (i != NUMERIC_NONE)
		*ret_off = word - s->areas[i].addr;
	return i;
}

bool words_same_place(const struct numeric_job *j, uint64_t a, uint64_t b)
{
	uint64_t off_a = 0, off_b = 0;
	const uint32_t i = area_of_word(&j->a, a, &off_a), k = area_of_word(&j->b, b, &off_b);

	return i != NUMERIC_NONE && k != NUMERIC_NONE && j->a.areas[i].twin == k && off_a == off_b;
}

uint64_t word_in_b(const struct numeric_job *j, uint64_t a)
{
	uint64_t off = 0;
	const uint32_t i = area_of_word(&j->a, a, &off);

	return i == NUMERIC_NONE || j->a.areas[i].twin == NUMERIC_NONE
		       ? 0
		       : j->b.areas[j->a.areas[i].twin].addr + off;
}

/* Makes B's bytes A's where both are addresses of the same place. Offset 0 of both is aligned. */
static void even_addresses(struct numeric_job *j, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t a, b;

		memcpy(&a, j->buf_a + i, 8);
		memcpy(&b, j->buf_b + i, 8);
		if (a == b || !words_same_place(j, a, b))
			continue;
		memcpy(j->buf_b + i, &a, 8);
		j->ret->pointers++;
	}
}

/* --- comparing --- */

static struct numeric_place *place_for(
	struct numeric_job *j, struct bytes_result *r, const struct extent *e)
{
	const struct area *a = &j->a.areas[e->area], *b = &j->b.areas[a->twin];
	struct numeric_place *p = r->nplaces ? &r->places[r->nplaces - 1] : NULL;

	if (p && p->addr_a == a->addr)
		return p;
	r->places = xrealloc(r->places, (r->nplaces + 1) * sizeof *r->places);
	p = &r->places[r->nplaces++];
	*p = (struct numeric_place){.addr_a = a->addr,
		.addr_b = b->addr,
		.size = a->size,
		.name = a->name ? xstrdup(a->name) : NULL,
		.alloc_a = a->alloc,
		.alloc_b = b->alloc,
		.first = UINT64_MAX};
	return p;
}

/* n bytes from `from` on of the buffers are of the extent; they begin at offset off of it. */
static void count_bytes(struct numeric_job *j, const struct extent *e, uint64_t off, size_t from,
	size_t n, bool places, enum replayer_as as, struct bytes_result *r)
{
	const uint8_t *a = j->buf_a + from, *b = j->buf_b + from;
	struct numeric_place *p = places ? place_for(j, r, e) : NULL;

	if (p)
		values_add(p, a, b, off, n, as);
	for (size_t i = 0; i < n; i++) {
		if (a[i] == b[i])
			continue;
		if (!r->bytes++) {
			r->area = e->area;
			r->off = off + i;
		}
		if (p && !p->bytes++)
			p->first = off + i;
	}
}

static struct err *compare_piece(struct numeric_job *j, const struct extent *e, uint64_t off,
	size_t n, bool places, enum replayer_as as, struct bytes_result *r)
{
	const struct area *a = &j->a.areas[e->area], *b = &j->b.areas[a->twin];
	const uint64_t both = a->size < b->size ? a->size : b->size;
	const uint64_t from = off & ~UINT64_C(7);
	size_t all = (size_t)(off - from) + n; /* whole words, as far as both have them */

	all = (all + 7) & ~(size_t)7;
	all = all < both - from ? all : (size_t)(both - from);
	TRY(device_read(j->a.en.trace.device->d, a->addr + from, j->buf_a, all));
	TRY(device_read(j->b.en.trace.device->d, b->addr + from, j->buf_b, all));
	if (!memcmp(j->buf_a + (off - from), j->buf_b + (off - from), n)) {
		if (places && as != REPLAYER_AS_AUTO)
			place_for(j, r, e)->compared += n / value_types[as].bytes;
		return NULL;
	}
	even_addresses(j, all);
	count_bytes(j, e, off, (size_t)(off - from), n, places, as, r);
	return NULL;
}

static struct err *same_hash(struct numeric_job *j, const struct extent *e, bool *ret)
{
	const struct area *a = &j->a.areas[e->area], *b = &j->b.areas[a->twin];
	struct sbt_hash x, y;

	*ret = false;
	if (e->size < HASHED_FROM)
		return NULL;
	TRY(device_hash(j->a.en.trace.device->d, a->addr + e->off, e->size, &x));
	TRY(device_hash(j->b.en.trace.device->d, b->addr + e->off, e->size, &y));
	*ret = !memcmp(&x, &y, sizeof x);
	return NULL;
}

static void drop_equal_places(struct bytes_result *r)
{
	size_t out = 0;

	for (size_t i = 0; i < r->nplaces; i++) {
		if (r->places[i].bytes)
			r->places[out++] = r->places[i];
		else
			free(r->places[i].name);
	}
	r->nplaces = out;
}

struct err *bytes_compare(struct numeric_job *j, const struct extents *x, bool places,
	enum replayer_as as, struct bytes_result *ret)
{
	*ret = (struct bytes_result){0};
	for (size_t i = 0; i < x->n; i++) {
		const struct extent *e = &x->e[i];
		bool same;

		TRY(same_hash(j, e, &same));
		for (uint64_t at = 0; !same && at < e->size; at += PIECE - 8) {
			const uint64_t n = e->size - at < PIECE - 8 ? e->size - at : PIECE - 8;

			TRY(compare_piece(j, e, e->off + at, (size_t)n, places, as, ret));
		}
	}
	drop_equal_places(ret);
	return NULL;
}

void places_free(struct numeric_place *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(p[i].name);
	free(p);
}
