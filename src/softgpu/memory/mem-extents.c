/* SPDX-License-Identifier: Apache-2.0
 *
 * See mem-extents.h. A sorted array: programs have few free places, and looking through them is
 * short.
 */
#include "softgpu/memory/mem-extents.h"
#include "base/first-where.h"

#include <string.h>

/* Takes [start, start + size) out of extent i, which holds it. False when the table is full. */
static bool extent_cut(struct region *r, uint32_t i, uint64_t start, uint64_t size)
{
	struct extent *e = &r->extents[i];
	uint64_t end = start + size;

	if (start > e->start && end < e->end) {
		if (r->n == r->most)
			return false;
		memmove(e + 1, e, (r->n - i) * sizeof(*e));
		r->n++;
		e[0].end = start;
		e[1].start = end;
	} else if (start > e->start) {
		e->end = start;
	} else if (end < e->end) {
		e->start = end;
	} else {
		r->n--;
		memmove(e, e + 1, (r->n - i) * sizeof(*e));
	}
	return true;
}

bool extent_take(struct region *r, uint64_t size, uint64_t align, struct extent *ret)
{
	uint32_t i;

	for (i = 0; i < r->n; i++) {
		const struct extent *e = &r->extents[i];
		uint64_t start = (e->start + align - 1) & ~(align - 1);

		if (start < e->start || start > e->end || e->end - start < size)
			continue;
		*ret = (struct extent){start, start + size};
		return extent_cut(r, i, start, size);
	}
	return false;
}

bool extent_take_high(struct region *r, uint64_t size, uint64_t align, struct extent *ret)
{
	uint32_t i;

	for (i = r->n; i-- > 0;) {
		const struct extent *e = &r->extents[i];
		uint64_t start;

		if (e->end - e->start < size)
			continue;
		start = (e->end - size) & ~(align - 1);
		if (start < e->start)
			continue;
		*ret = (struct extent){start, start + size};
		return extent_cut(r, i, start, size);
	}
	return false;
}

bool extent_take_at(struct region *r, uint64_t start, uint64_t size)
{
	const uint32_t at = FIRST_WHERE(r->n, i, r->extents[i].start > start);

	if (!at || start > r->extents[at - 1].end || r->extents[at - 1].end - start < size)
		return false;
	return extent_cut(r, at - 1, start, size);
}

struct extent extent_give(struct region *r, struct extent x)
{
	uint32_t i = 0;
	struct extent *e;

	while (i < r->n && r->extents[i].start < x.start)
		i++;
	e = &r->extents[i];
	memmove(e + 1, e, (r->n - i) * sizeof(*e));
	*e = x;
	r->n++;
	if (i + 1 < r->n && e->end == e[1].start) {
		e->end = e[1].end;
		memmove(e + 1, e + 2, (r->n - i - 2) * sizeof(*e));
		r->n--;
	}
	if (i && e[-1].end == e->start) {
		e[-1].end = e->end;
		memmove(e, e + 1, (r->n - i - 1) * sizeof(*e));
		r->n--;
		e--;
	}
	return *e;
}
