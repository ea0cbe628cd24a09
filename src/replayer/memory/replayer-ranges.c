/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges are a sorted array; addresses come from a trace, so sums are checked before they are made.
 */
#include "replayer/memory/replayer-ranges.h"
#include "base/first-where.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/checked.h"

void ranges_add(struct ranges *s, uint64_t addr, uint64_t size)
{
	if (!size || addr > UINT64_MAX - size)
		return;
	MAKE_ROOM(s->r, s->n, s->cap);
	s->r[s->n++] = (struct range){addr, size};
}

static int by_addr(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

void ranges_sort(struct ranges *s)
{
	if (s->n)
		qsort(s->r, s->n, sizeof *s->r, by_addr);
}

static struct range rounded(struct range r, uint64_t round)
{
	const uint64_t start = r.addr & ~(round - 1), end = r.addr + r.size;
	const uint64_t up = end > UINT64_MAX - (round - 1) ? UINT64_MAX & ~(round - 1)
							   : (end + round - 1) & ~(round - 1);

	return (struct range){start, (up > end ? up : end) - start};
}

void ranges_merge(struct ranges *s, uint64_t round, uint64_t gap)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		s->r[i] = rounded(s->r[i], round);
	if (s->n)
		qsort(s->r, s->n, sizeof *s->r, by_addr);
	for (size_t i = 0; i < s->n; i++) {
		struct range *last = n ? &s->r[n - 1] : NULL;
		const uint64_t last_end = last ? last->addr + last->size : 0,
			       end = s->r[i].addr + s->r[i].size;

		if (!last || (s->r[i].addr > last_end && s->r[i].addr - last_end > gap))
			s->r[n++] = s->r[i];
		else if (end > last_end)
			last->size = end - last->addr;
	}
	s->n = n;
}

const struct range *ranges_find(const struct ranges *s, uint64_t addr, uint64_t size)
{
	const size_t at =
		FIRST_WHERE(s->n, i, s->r[i].addr > addr); /* the first that begins behind addr */

	if (!at)
		return NULL;
	const struct range *r = &s->r[at - 1];
	const uint64_t off = addr - r->addr;

	return off <= r->size && size <= r->size - off ? r : NULL;
}

uint64_t ranges_bytes(const struct ranges *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->r[i].size;
	return sum;
}

void ranges_free(struct ranges *s)
{
	free(s->r);
	*s = (struct ranges){0};
}

static size_t fit(uint64_t bytes, uint64_t room, size_t most)
{
	return bytes && room / bytes < most ? (size_t)(room / bytes) : most;
}

size_t thin_fit(uint64_t device, uint64_t device_room, uint64_t host, uint64_t host_room,
	bool shared, size_t most)
{
	if (shared)
		return fit(sat_add(device, host), device_room, most);
	return fit(host, host_room, fit(device, device_room, most));
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Dropping i joins its two gaps. That costs least where the new gap is small against its distance
 * from the position; the checkpoints kept are then about equally many for each doubling of the
 * distance. */
size_t thin_choose(const uint64_t *at, size_t n, uint64_t seq)
{
	size_t best = n - 1, nearest = 0;
	double least = 0;
	bool found = false;

	for (size_t i = 0; i < n; i++)
		if (distance(at[i], seq) < distance(at[nearest], seq))
			nearest = i;
	for (size_t i = 1; i < n; i++) {
		const uint64_t after = i + 1 < n ? at[i + 1] : at[i] + (at[i] - at[i - 1]);
		const double cost =
			(double)(after - at[i - 1]) / ((double)distance(at[i], seq) + 1);

		if (i == nearest || (found && cost >= least))
			continue;
		best = i;
		least = cost;
		found = true;
	}
	return best;
}
