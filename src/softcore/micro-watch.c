/* SPDX-License-Identifier: Apache-2.0
 *
 * Breakpoints' list, and watched bytes: an instruction that is about to write watched bytes is
 * noted with what they are before; the next step looks whether they are different.
 */
#include "softcore/micro-core.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct soft_session *s)
{
	for (unsigned k = 0; k < s->npoints; k++)
		if (s->points[k].own)
			s->m->point_free(s->points[k].own);
	free(s->points);
	s->points = NULL;
	s->npoints = 0;
	s->npieces = 0;
	s->watches = false;
}

static const char *set_point(struct soft_session *s, struct micro_point *q, struct soft_point *p)
{
	p->file[sizeof(p->file) - 1] = p->condition[sizeof(p->condition) - 1] = 0;
	if (p->kind < SOFT_WATCH || p->kind > SOFT_WATCH_TOUCH)
		return s->m->point(s, q, p);
	if ((p->space != SOFT_GLOBAL && p->space != SOFT_SHARED) || !p->size ||
		p->addr + p->size < p->addr)
		return micro_say(s, "watched bytes are in global or shared memory");
	s->watches = true;
	q->p = *p;
	return NULL;
}

const char *micro_points(struct soft_session *s, struct soft_point *p, unsigned n)
{
	struct micro_point *v;
	const char *why = NULL;

	if (n > SOFT_POINTS_MAX)
		return micro_say(s, "there are at most %u breakpoints", (unsigned)SOFT_POINTS_MAX);
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return micro_say(s, "the host has no memory");
	forget(s);
	s->m->no_points(s);
	s->points = v;
	for (unsigned k = 0; k < n && !why; k++) {
		why = set_point(s, &v[k], &p[k]);
		s->npoints += !why;
	}
	return why;
}

/* --- watching --- */

/* The bits of enum soft_touch with which an access concerns the watchpoint; *ret_is is false: it
 * does not concern it. */
static uint32_t concerns(const struct soft_point *p, bool reads, bool writes, bool *ret_is)
{
	*ret_is = p->kind == SOFT_WATCH		? writes
		  : p->kind == SOFT_WATCH_READS ? reads
						: p->kind == SOFT_WATCH_TOUCH;
	return p->kind == SOFT_WATCH ? 0 : (reads ? SOFT_READS : 0u) | (writes ? SOFT_WRITES : 0u);
}

/* At most SOFT_BYTES bytes. */
static void touch(
	struct soft_session *s, uint32_t space, bool reads, bool writes, struct micro_piece piece)
{
	for (unsigned k = 0; k < s->npoints && s->npieces < MICRO_PIECES; k++) {
		const struct soft_point *p = &s->points[k].p;
		bool is;
		const uint32_t access = concerns(p, reads, writes, &is);

		if (!is || p->space != space || piece.addr >= p->addr + p->size ||
			piece.addr + piece.size <= p->addr)
			continue;
		piece.point = &s->points[k];
		piece.access = access;
		s->pieces[s->npieces++] = piece;
	}
}

bool micro_touch(struct soft_session *s, struct micro_at w, uint32_t space, bool reads, bool writes,
	unsigned lane, uint64_t addr, const uint8_t *at, unsigned size)
{
	const unsigned before = s->npieces;

	if (!s->watches)
		return false;
	for (unsigned k = 0; k < size; k += SOFT_BYTES) {
		struct micro_piece q = {.lane = lane, .addr = addr + k, .at = at + k};

		q.size = size - k < SOFT_BYTES ? size - k : SOFT_BYTES;
		memcpy(q.before, q.at, q.size);
		touch(s, space, reads, writes, q);
	}
	if (s->npieces != before)
		s->writer = w;
	return s->npieces != before;
}

static bool differs(const struct micro_piece *q)
{
	const struct soft_point *p = &q->point->p;

	if (q->access)
		return true;
	for (unsigned k = 0; k < q->size; k++)
		if (q->at[k] != q->before[k] && q->addr + k >= p->addr &&
			q->addr + k < p->addr + p->size)
			return true;
	return false;
}

/* Of those that differ, the one with the lowest point, then with the lowest lane. */
static const struct micro_piece *first_of(const struct soft_session *s)
{
	const struct micro_piece *first = NULL;

	for (unsigned k = 0; k < s->npieces; k++) {
		const struct micro_piece *q = &s->pieces[k];

		if (differs(q) && (!first || q->point < first->point))
			first = q;
	}
	return first;
}

static void fill_bytes(const struct micro_piece *first, struct soft_change *ret)
{
	const struct soft_point *p = &first->point->p;
	const uint64_t from = p->addr > first->addr ? p->addr : first->addr;
	uint64_t to = p->addr + p->size;

	if (to > first->addr + first->size)
		to = first->addr + first->size;
	ret->space = p->space;
	ret->access = first->access;
	ret->addr = from;
	ret->size = (uint32_t)(to - from);
	memcpy(ret->before, first->before + (from - first->addr), ret->size);
	memcpy(ret->after, first->at + (from - first->addr), ret->size);
}

const struct micro_point *micro_changed(struct soft_session *s, struct soft_change *ret)
{
	const struct micro_piece *first = first_of(s);

	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; first && k < s->npieces; k++) {
		const struct micro_piece *q = &s->pieces[k];

		if (q->point != first->point || q->addr != first->addr || !differs(q))
			continue;
		ret->lanes++; /* the last one's value stays */
		s->m->thread(s->writer, q->lane, ret->thread);
	}
	s->npieces = 0;
	if (!first)
		return NULL;
	fill_bytes(first, ret);
	s->m->block_id(s->writer, ret->block);
	s->m->toucher(s, ret);
	return first->point;
}
