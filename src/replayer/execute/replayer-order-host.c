/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's own changes of page-locked memory, in other orders. The recording knows what such
 * memory held before a command, but not what wrote it. Bytes that differ after executing the work
 * up to there were changed by the host.
 */
#include <stdlib.h>
#include <string.h>
#include "order/kept.h"
#include "replayer/execute/replayer-order.h"
#include "replayer/execute/replayer-execute.h"

#define PART (1u << 20)

static bool is_evidence(const struct sbt_memory *m, bool copies)
{
	return m->has_bytes && !m->missing &&
	       (m->role == SBT_MEMORY_HOST || (copies && m->role == SBT_MEMORY_INPUT));
}

static struct err *put_part(
	struct order_running *o, const struct sbt_memory *m, uint64_t from, uint64_t to)
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
		const uint64_t from = c.addr > m[i].addr ? c.addr : m[i].addr,
			       over = m[i].addr + m[i].size;

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
	for (size_t i = kept_row_from(o->changes, o->nchanges, sizeof(struct order_change), seq);
		i < o->nchanges; i++) {
		const struct order_change c = change_at(o, i);

		if (c.seq != seq)
			return NULL;
		if (!c.by)
			TRY(put(o, c));
	}
	return NULL;
}

/* The changes may have been seen at any later time. */
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
			TRY(order_learn(o, &m[i]));
	return NULL;
}
