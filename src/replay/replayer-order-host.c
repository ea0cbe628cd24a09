/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's own changes of page-locked memory in other orders. The recording knows what such memory held before a command, not who had written
 * it. Finding out: what executing the work up to there does not leave in it was the host's.
 */
#include <stdlib.h>
#include <string.h>
#include "order/kept.h"
#include "replay/replayer-order.h"

#define GAP 64u		 /* bytes that are the same between two that are not; fewer do not part them */
#define LEARNED_MAX 65536u
#define PART (1u << 20)

static bool is_evidence(const struct sbt_memory *m, bool copies)
{
	return m->has_bytes && !m->missing && (m->role == SBT_MEMORY_HOST || (copies && m->role == SBT_MEMORY_INPUT));
}

static struct err *note(struct order_running *o, uint64_t seq, uint64_t addr, uint64_t end)
{
	const struct order_change c = {.seq = seq, .addr = addr, .end = end};

	if (o->learned.len >= LEARNED_MAX * sizeof c)
		return rp_fail(o->rp, REPLAYER_E_REFUSED, seq, "the host changed more than %u ranges of memory", LEARNED_MAX);
	buf_add(&o->learned, &c, sizeof c);
	return NULL;
}

/* Words, since a value is written whole even where some of its bytes were the same. */
static struct err *compare(struct order_running *o, uint64_t seq, uint64_t addr, const uint8_t *is, const uint8_t *was, size_t n)
{
	size_t from = SIZE_MAX, to = 0;

	for (size_t i = 0; i < n; i++) {
		if (is[i] == was[i])
			continue;
		if (from != SIZE_MAX && i > to + GAP) {
			TRY(note(o, seq, addr + from, addr + to));
			from = SIZE_MAX;
		}
		from = from == SIZE_MAX ? i & ~(size_t)3 : from;
		to = (i | 3) < n ? (i | 3) + 1 : n;
	}
	return from == SIZE_MAX ? NULL : note(o, seq, addr + from, addr + to);
}

static struct err *learn(struct order_running *o, const struct sbt_memory *m)
{
	uint8_t *is = xmalloc(PART), *was = xmalloc(PART);
	struct err *e = NULL;
	uint64_t here;

	if (place_find(o->rp, m->addr, m->size, &here) != PLACE_NOWHERE)
		for (uint64_t at = 0; !e && at < m->size; at += PART) {
			const size_t n = m->size - at < PART ? (size_t)(m->size - at) : PART;

			e = sbt_reader_memory_read(o->rp->trace, m, at, is, n);
			if (!e)
				e = contents_read(o->rp, m->addr + at, was, n);
			if (!e)
				e = compare(o, m->seq, m->addr + at, is, was, n);
			if (!e && memcmp(is, was, n))
				e = contents_write(o->rp, m->addr + at, is, n);
		}
	free(is);
	free(was);
	return e;
}

static struct err *put_part(struct order_running *o, const struct sbt_memory *m, uint64_t from, uint64_t to)
{
	uint8_t *is = xmalloc(PART);
	struct err *e = NULL;

	for (uint64_t at = from; !e && at < to; at += PART) {
		const size_t n = to - at < PART ? (size_t)(to - at) : PART;

		e = sbt_reader_memory_read(o->rp->trace, m, at - m->addr, is, n);
		if (!e)
			e = contents_write(o->rp, at, is, n);
	}
	free(is);
	return e;
}

static struct err *put(struct order_running *o, struct order_change c)
{
	size_t n;
	const struct sbt_memory *m = contents_of(o->rp, c.seq, &n);

	for (size_t i = 0; i < n; i++) {
		const uint64_t from = c.addr > m[i].addr ? c.addr : m[i].addr, over = m[i].addr + m[i].size;

		if (is_evidence(&m[i], true) && from < (c.end < over ? c.end : over))
			TRY(put_part(o, &m[i], from, c.end < over ? c.end : over));
	}
	return NULL;
}

static struct order_change change_at(const struct order_running *o, size_t i)
{
	struct order_change c;

	memcpy(&c, o->changes + i * sizeof c, sizeof c);
	return c;
}

static struct err *put_own(struct order_running *o, uint64_t seq)
{
	for (size_t i = kept_row_from(o->changes, o->nchanges, sizeof(struct order_change), seq); i < o->nchanges; i++) {
		const struct order_change c = change_at(o, i);

		if (c.seq != seq)
			return NULL;
		if (!c.by)
			TRY(put(o, c));
	}
	return NULL;
}

/* Its changes were seen at any time later. */
struct err *order_host_function(struct order_running *o, uint64_t seq)
{
	if (!(o->flags & REPLAYER_ORDER_LIVE))
		return NULL;
	TRY(execute_finish(o->rp));
	for (size_t i = 0; i < o->nchanges; i++)
		if (change_at(o, i).by == seq)
			TRY(put(o, change_at(o, i)));
	return NULL;
}

struct err *order_host(struct order_running *o, uint64_t seq, bool copies)
{
	size_t n;
	const struct sbt_memory *m = contents_of(o->rp, seq, &n);

	TRY(execute_finish(o->rp));
	if (!(o->flags & REPLAYER_ORDER_LEARN))
		return put_own(o, seq);
	for (size_t i = 0; i < n; i++)
		if (is_evidence(&m[i], copies))
			TRY(learn(o, &m[i]));
	return NULL;
}
