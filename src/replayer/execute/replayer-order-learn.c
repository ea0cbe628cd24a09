/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which bytes of page-locked memory the host itself changed: those where the recording
 * differs from what executing up to there gives. The surprise: copies were in flight while the
 * recording looked. A byte under one of them may have its value from before the copy or after it,
 * so both explain it; under work whose steps are not known (a kernel, a graph) any value is
 * explained.
 */
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "order/kept.h"
#include "replayer/execute/replayer-order.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"

#define RANGES_MAX                                                                                 \
	4096u /* of a part; where more words changed here and there, what lies between is in doubt \
	       */
#define NEXT 3u /* bytes of the next word in which nothing has changed yet */
#define GAP                                                                                        \
	64u /* then: bytes that are the same between two that are not; fewer do not part them      \
	     */
#define LEARNED_MAX 65536u
#define PART (1u << 20)
#define SAVED_MAX ((size_t)256 << 20) /* bytes; what is beyond explains everything */

/* What [addr, end) held before work `by`. In the list of lost bytes: what work delivered there and
 * the host wrote over, or the other way round. */
struct order_saved {
	uint64_t by, addr, end;
	uint8_t *bytes;
};

/* --- work in flight --- */

static struct order_change flight_at(const struct order_running *o, size_t i)
{
	struct order_change c;

	memcpy(&c, o->changes + i * sizeof c, sizeof c);
	return c;
}

static int by_writer(const void *pa, const void *pb)
{
	const struct order_saved *a = pa, *b = pb;

	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Makes one entry for each range that work in flight writes to, in order of the work; nothing is
 * saved yet. */
static void list_writers(struct order_running *o)
{
	struct order_saved *s = o->saved = xcalloc(o->nchanges + 1, sizeof *s);
	size_t n = 0;

	for (size_t i = 0; i < o->nchanges; i++) {
		const struct order_change f = flight_at(o, i);

		s[i] = (struct order_saved){.by = f.by, .addr = f.addr, .end = f.end};
	}
	qsort(s, o->nchanges, sizeof *s, by_writer);
	for (size_t i = 0; i < o->nchanges; i++)
		if (!n || by_writer(&s[n - 1], &s[i]))
			s[n++] = s[i];
	o->nsaved = n;
}

/* The saved bytes of a range; NULL: they are not known. */
static const struct order_saved *saved_of(
	const struct order_running *o, const struct order_change *c)
{
	const struct order_saved key = {.by = c->by, .addr = c->addr, .end = c->end};
	const size_t i = FIRST_WHERE(o->nsaved, k, by_writer(&o->saved[k], &key) >= 0);

	return i < o->nsaved && !by_writer(&o->saved[i], &key) && o->saved[i].bytes ? &o->saved[i]
										    : NULL;
}

static struct err *save(struct order_running *o, struct order_saved *s)
{
	const uint64_t size = s->end - s->addr;
	uint64_t here;

	if (size > SAVED_MAX || o->saved_bytes > SAVED_MAX - size ||
		place_find(o->rp, s->addr, size, &here) == PLACE_NOWHERE)
		return NULL;
	o->saved_bytes += size;
	s->bytes = xmalloc(size);
	return contents_read(o->rp, s->addr, s->bytes, size);
}

struct err *order_save(struct order_running *o, const struct sbt_cmd *c)
{
	if (!(o->flags & REPLAYER_ORDER_LEARN) ||
		(c->kind != SBT_COPY && c->kind != SBT_FILL && c->kind != SBT_BATCH))
		return NULL;
	if (!o->saved)
		list_writers(o);
	size_t i = FIRST_WHERE(o->nsaved, k, o->saved[k].by >= c->seq);
	if (i < o->nsaved && o->saved[i].by == c->seq)
		TRY(execute_finish(o->rp));
	for (; i < o->nsaved && o->saved[i].by == c->seq; i++)
		TRY(save(o, &o->saved[i]));
	return NULL;
}

/* The part of [from, to) that lies in n bytes at addr, as offsets there; false: none. */
static bool overlap(
	uint64_t from, uint64_t to, uint64_t addr, size_t n, size_t *ret_from, size_t *ret_to)
{
	if (from >= addr + n || to <= addr)
		return false;
	*ret_from = from > addr ? (size_t)(from - addr) : 0;
	*ret_to = to - addr < n ? (size_t)(to - addr) : n;
	return true;
}

/* Bytes of `is` that work in flight at seq explains get the value they have in `was`. */
static void explain_flights(const struct order_running *o, uint64_t seq, uint64_t addr, uint8_t *is,
	const uint8_t *was, size_t n)
{
	size_t from, to;

	for (size_t i = kept_row_from(o->changes, o->nchanges, sizeof(struct order_change), seq);
		i < o->nchanges; i++) {
		const struct order_change f = flight_at(o, i);
		const struct order_saved *s;

		if (f.seq != seq)
			return;
		if (!overlap(f.addr, f.end, addr, n, &from, &to))
			continue;
		s = saved_of(o, &f);
		for (size_t k = from; k < to; k++)
			if (!s || is[k] == s->bytes[addr + k - s->addr])
				is[k] = was[k];
	}
}

static bool is_in_flight(const struct order_running *o, uint64_t seq, uint64_t addr, uint64_t end)
{
	for (size_t i = kept_row_from(o->changes, o->nchanges, sizeof(struct order_change), seq);
		i < o->nchanges; i++) {
		const struct order_change f = flight_at(o, i);

		if (f.seq != seq)
			return false;
		if (f.addr < end && addr < f.end)
			return true;
	}
	return false;
}

/* --- what was written over --- */

/* Keeps bytes that both the host and work in flight wrote: at a later look either value may be
 * there. */
static void keep_lost(struct order_running *o, uint64_t addr, const uint8_t *was, size_t n)
{
	uint8_t *bytes = xmalloc(n);

	memcpy(bytes, was, n);
	MAKE_ROOM(o->lost, o->nlost, o->cap_lost);
	o->lost[o->nlost++] = (struct order_saved){.addr = addr, .end = addr + n, .bytes = bytes};
}

/* seen is a copy of `is`; its bytes that were lost get the value they have in `was`. Once nothing
 * is in flight there they are settled. */
static void explain_lost(struct order_running *o, uint64_t seq, uint64_t addr, uint8_t *seen,
	const uint8_t *was, size_t n)
{
	size_t from, to;

	for (size_t i = o->nlost; i--;) {
		struct order_saved *l = &o->lost[i];

		if (!overlap(l->addr, l->end, addr, n, &from, &to))
			continue;
		for (size_t k = from; k < to; k++)
			if (seen[k] == l->bytes[addr + k - l->addr])
				seen[k] = was[k];
		if (is_in_flight(o, seq, l->addr, l->end))
			continue;
		free(l->bytes);
		*l = o->lost[--o->nlost];
	}
}

/* --- comparing --- */

/* A part of a piece that is compared. */
struct part {
	uint64_t seq, addr;
	size_t n;
	uint8_t *recorded, *was, *is; /* is: what memory becomes */
	uint8_t *seen;		      /* as recorded, with what is explained as in was */
};

static struct err *note(struct order_running *o, struct part *p, size_t from, size_t to, bool doubt)
{
	const struct order_change c = {
		.seq = p->seq, .addr = p->addr + from, .end = p->addr + to, .doubt = doubt};

	if (o->learned.len >= LEARNED_MAX * sizeof c)
		return rp_fail(o->rp, REPLAYER_E_REFUSED, p->seq,
			"the host changed more than %u ranges of memory", LEARNED_MAX);
	buf_add(&o->learned, &c, sizeof c);
	if (is_in_flight(o, p->seq, c.addr, c.end))
		keep_lost(o, c.addr, p->was + from, to - from);
	memcpy(p->is + from, p->recorded + from, to - from);
	return NULL;
}

/* Finds the next range behind `at`: words with gaps of at most that many bytes between them; false:
 * there is none. A value is written whole even if some of its bytes are the same. */
static bool next_range(
	const struct part *p, size_t gap, size_t at, size_t *ret_from, size_t *ret_to)
{
	size_t from = SIZE_MAX, to = 0;

	for (size_t i = at; i < p->n && (from == SIZE_MAX || i <= to + gap); i++) {
		if (p->seen[i] == p->was[i])
			continue;
		from = from == SIZE_MAX ? i & ~(size_t)3 : from;
		to = (i | 3) < p->n ? (i | 3) + 1 : p->n;
	}
	*ret_from = from;
	*ret_to = to;
	return from != SIZE_MAX;
}

static struct err *compare(struct order_running *o, struct part *p)
{
	size_t from, to, n = 0;

	for (size_t at = 0; n <= RANGES_MAX && next_range(p, NEXT, at, &from, &to); at = to)
		n++;
	const bool many = n > RANGES_MAX;
	for (size_t at = 0; next_range(p, many ? GAP : NEXT, at, &from, &to); at = to)
		TRY(note(o, p, from, to, many));
	return NULL;
}

static struct err *learn_part(struct order_running *o, const struct sbt_memory *m, struct part *p)
{
	TRY(sbt_reader_memory_read(o->rp->trace, m, p->addr - m->addr, p->recorded, p->n));
	TRY(contents_read(o->rp, p->addr, p->was, p->n));
	if (!memcmp(p->recorded, p->was, p->n))
		return NULL;
	memcpy(p->is, p->recorded, p->n);
	explain_flights(o, p->seq, p->addr, p->is, p->was, p->n);
	memcpy(p->seen, p->is, p->n);
	explain_lost(o, p->seq, p->addr, p->seen, p->was, p->n);
	TRY(compare(o, p));
	return contents_write(o->rp, p->addr, p->is, p->n);
}

struct err *order_learn(struct order_running *o, const struct sbt_memory *m)
{
	uint8_t *room = xmalloc(4 * (size_t)PART);
	struct part p = {.seq = m->seq,
		.recorded = room,
		.was = room + PART,
		.is = room + 2 * (size_t)PART,
		.seen = room + 3 * (size_t)PART};
	struct err *e = NULL;
	uint64_t here;

	if (place_find(o->rp, m->addr, m->size, &here) != PLACE_NOWHERE)
		for (uint64_t at = 0; !e && at < m->size; at += p.n) {
			p.addr = m->addr + at;
			p.n = m->size - at < PART ? (size_t)(m->size - at) : PART;
			e = learn_part(o, m, &p);
		}
	free(room);
	return e;
}

/* --- doubt --- */

/* Whether the copy delivers what it did in the recording, as far as that is known. */
static bool delivers_the_same(const struct order_running *o, uint64_t seq)
{
	const struct contents *x = &o->rp->contents;
	bool same = false;

	for (size_t i = 0; i < x->nverdicts; i++) {
		if (x->verdicts[i].piece->seq != seq)
			continue;
		if (!x->verdicts[i].same)
			return false;
		same = true;
	}
	return same;
}

static bool is_doubtful(const struct order_running *o, const struct order_change *c)
{
	for (size_t i = kept_row_from(o->changes, o->nchanges, sizeof *c, c->seq); i < o->nchanges;
		i++) {
		const struct order_change f = flight_at(o, i);

		if (f.seq != c->seq)
			return false;
		if (f.addr < c->end && c->addr < f.end && !delivers_the_same(o, f.by))
			return true;
	}
	return false;
}

/* A copy's source is trusted where all memory of the device ended as it was recorded. */
void order_doubt(struct order_running *o)
{
	struct order_change c;

	for (size_t i = 0; !o->ends_same && i < o->learned.len; i += sizeof c) {
		memcpy(&c, o->learned.data + i, sizeof c);
		c.doubt = c.doubt || is_doubtful(o, &c);
		memcpy(o->learned.data + i, &c, sizeof c);
	}
}

void order_learned_free(struct order_running *o)
{
	for (size_t i = 0; i < o->nsaved; i++)
		free(o->saved[i].bytes);
	for (size_t i = 0; i < o->nlost; i++)
		free(o->lost[i].bytes);
	free(o->saved);
	free(o->lost);
	buf_free(&o->learned);
}
