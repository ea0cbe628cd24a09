/* SPDX-License-Identifier: Apache-2.0
 *
 * Types by later reads. Some launches' code and names say nothing of the type that they write. If
 * the next launch that is given the same address only reads there, and its type is known, that is
 * the type. No launch after the next one counts: one that may write there begins something new.
 */
#include <stdlib.h>
#include "base/first-where.h"
#include "engine/nan/nan-private.h"
#include "state/steps.h"

/* A launch, or a graph launch with such a node, was given this address. */
struct nan_given {
	uint64_t addr, seq;
	uint32_t order; /* of what launch seq was given */
	enum replayer_as as;
	bool reads;
};

static int by_address(const void *a, const void *b)
{
	const struct nan_given *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void take_launch(
	struct nan_job *j, const struct state *st, const struct sbt_cmd *c, uint64_t seq)
{
	struct nan_pointers p;

	nan_pointers_of(st, c, &p);
	for (unsigned i = 0; i < p.n; i++) {
		const struct nan_named is = nan_reads_as(j, st, c, &p.v[i]);

		MAKE_ROOM(j->given.v, j->given.n, j->given.cap);
		j->given.v[j->given.n] = (struct nan_given){.addr = p.v[i].addr,
			.seq = seq,
			.order = (uint32_t)j->given.n,
			.as = is.as,
			.reads = is.reads};
		j->given.n++;
	}
}

static struct err *take_graph(struct nan_job *j, const struct state *st, const struct sbt_cmd *c)
{
	struct state_steps steps = {0};
	struct sbt_cmd node;
	struct err *e = state_steps(&steps, st, (uint32_t)c->u.graph_launch.exec);

	for (uint32_t i = 0; !e && i < steps.n; i++)
		if (step_cmd(&steps.step[i], &node) && node.kind == SBT_LAUNCH)
			take_launch(j, st, &node, c->seq);
	state_steps_free(&steps);
	return e;
}

static struct err *each_launch(struct nan_job *j, struct sbt_cursor *cursor, struct state *st)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, j->first));
	TRY(sbt_cursor_next(cursor, &c));
	while (c && c->seq <= j->last) {
		if (c->kind == SBT_LAUNCH)
			take_launch(j, st, c, c->seq);
		else if (c->kind == SBT_GRAPH_LAUNCH)
			TRY(take_graph(j, st, c));
		TRY(state_apply(st, c));
		TRY(sbt_cursor_next(cursor, &c));
	}
	return NULL;
}

struct err *nan_learn_readers(struct nan_job *j)
{
	struct sbt_cursor *cursor;
	struct state *st;
	struct err *e;

	if (j->ask->as != REPLAYER_AS_AUTO)
		return NULL;
	TRY(state_at(&st, j->en->trace.reader, j->first - 1));
	e = sbt_cursor_open(&cursor, j->en->trace.reader);
	if (!e) {
		e = each_launch(j, cursor, st);
		sbt_cursor_close(cursor);
	}
	state_free(st);
	if (j->given.n)
		qsort(j->given.v, j->given.n, sizeof *j->given.v, by_address);
	return e;
}

/* Whether a work between the two wrote to addr: then it is that what was read. */
static bool is_rewritten(const struct nan_job *j, uint64_t addr, uint64_t from, uint64_t to)
{
	for (size_t i = nan_work_at(j, from + 1); i < j->nwork && j->work[i].seq < to; i++)
		if (nan_wrote(j, &j->work[i], addr, 1))
			return true;
	return false;
}

bool nan_type_by_reader(const struct nan_job *j, uint64_t seq, struct nan_span *s)
{
	const size_t at = FIRST_WHERE(j->given.n, i,
		j->given.v[i].addr > s->base ||
			(j->given.v[i].addr == s->base && j->given.v[i].seq > seq));
	const struct nan_given *g = at < j->given.n ? &j->given.v[at] : NULL;

	if (!s->base || !g || g->addr != s->base || !g->reads || g->as == REPLAYER_AS_AUTO)
		return false;
	for (size_t i = at;
		i < j->given.n && j->given.v[i].addr == g->addr && j->given.v[i].seq == g->seq; i++)
		if (!j->given.v[i].reads || j->given.v[i].as != g->as)
			return false; /* in place, or as two things */
	if (is_rewritten(j, s->base, seq, g->seq))
		return false;
	s->as = g->as;
	s->typed = NAN_TYPE_READER;
	return true;
}
