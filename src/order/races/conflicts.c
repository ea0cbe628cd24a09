/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds all pairs that conflict without an order. order_races() drops an access as soon as a later
 * one covers it, which finds every place in the program but not every pair. To try all orders one
 * needs every pair.
 */
#include <stdlib.h>
#include "order/kept.h"
#include "order/races/ledger.h"
#include "order/order.h"

struct touched { /* by one command */
	struct order_party party;
	struct order_item item;
	size_t at, n; /* in the list of accesses */
};

/* The free of an allocation in stream order. */
struct death {
	uint64_t key;
	struct order_item item;
};

struct search {
	const struct order *order;
	const struct order_options *o;
	struct state *s;
	struct touched *t;
	size_t n, cap;
	struct order_accesses list;
	uint64_t *keys; /* by access: the allocation's, 0: of none */
	size_t cap_keys, nkeys;
	struct death *deaths; /* in order of key */
	size_t ndeaths, cap_deaths;
	size_t change; /* the next of o->changes */
	bool *ret_unknown;
};

/* The allocation at addr: the seq that made it, 0: none. *ret_end: where it ends, UINT64_MAX: not
 * known. */
static uint64_t key_of(
	const struct search *x, const struct sbt_cmd *c, uint64_t addr, uint64_t *ret_end)
{
	struct state_alloc a;

	*ret_end = UINT64_MAX;
	if (c->kind == SBT_ALLOC && addr - c->u.alloc.addr < c->u.alloc.size)
		return c->seq; /* and not what the host changed before it */
	if (!state_alloc_at(x->s, addr, &a))
		return 0;
	*ret_end = a.addr + a.size;
	return a.alloc_seq;
}

/* The key of every access that has none yet. Allocations may lie wall to wall, and an exact range
 * then reaches over several: it is cut there. */
static void note_keys(struct search *x, const struct sbt_cmd *c)
{
	for (; x->nkeys < x->list.n; x->nkeys++) {
		struct order_access *a = &x->list.a[x->nkeys];
		const uint64_t from = a->addr, to = a->end;
		uint64_t end;
		const uint64_t key = key_of(x, c, from, &end);

		MAKE_ROOM(x->keys, x->nkeys, x->cap_keys);
		x->keys[x->nkeys] = key;
		if (end <= from || end >= to)
			continue;
		a->end = end;
		order_access_add(&x->list, end, to, a->how);
	}
}

static struct err *note_touched(
	struct search *x, const struct order_item *it, size_t at, struct order_party party)
{
	if (x->n >= ORDER_CONFLICTS_MAX)
		return err_new(
			ERR_LIMIT, "more than %u commands touch memory", ORDER_CONFLICTS_MAX);
	MAKE_ROOM(x->t, x->n, x->cap);
	x->t[x->n++] = (struct touched){.item = *it, .at = at, .n = x->list.n - at, .party = party};
	return NULL;
}

static void note_death(
	struct search *x, const struct sbt_cmd *c, const struct order_item *it, size_t at)
{
	if (c->kind != SBT_FREE || !x->keys[at])
		return;
	MAKE_ROOM(x->deaths, x->ndeaths, x->cap_deaths);
	x->deaths[x->ndeaths++] = (struct death){x->keys[at], *it};
}

/* What a host function changed. There are few of them. */
static void add_changes(struct search *x, uint64_t by)
{
	for (size_t i = 0; i < x->o->nchanges; i++)
		if (x->o->changes[i].by == by)
			order_access_add(
				&x->list, x->o->changes[i].addr, x->o->changes[i].end, ORDER_WRITE);
}

static struct err *take(struct search *x, const struct sbt_cmd *c)
{
	const struct order_source *src = x->o->source;
	const size_t at = x->list.n;
	struct order_item it;

	if (!order_item(x->order, c->seq, &it) || order_stream_of(x->order, it.lane) == SBT_NO_ID)
		return NULL;
	const bool known = src && (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH) &&
			   src->accesses(src->arg, c->seq, &x->list);

	if (!known || src->writes_only) {
		if (!known)
			x->list.n = at;
		x->list.unknown = false;
		order_accesses_of(&x->list, x->s, c);
		*x->ret_unknown |= x->list.unknown;
	}
	if (c->kind == SBT_HOST_FUNC)
		add_changes(x, c->seq);
	if (x->list.n == at)
		return NULL;
	note_keys(x, c);
	note_death(x, c, &it, at);
	return note_touched(x, &it, at,
		(struct order_party){.seq = c->seq,
			.kind = c->kind,
			.node = SBT_NO_ID,
			.stream = order_stream_of(x->order, it.lane),
			.stack = c->stack,
			.kernel =
				c->kind == SBT_LAUNCH ? (uint32_t)c->u.launch.kernel : SBT_NO_ID});
}

/* What the host changed before c. */
static struct err *take_changes(struct search *x, const struct sbt_cmd *c)
{
	const struct order_options *o = x->o;
	const size_t at = x->list.n;
	struct order_item it;

	while (x->change < o->nchanges && o->changes[x->change].seq < c->seq)
		x->change++;
	if (!order_item(x->order, c->seq | ORDER_HOST, &it))
		return NULL;
	for (; x->change < o->nchanges && o->changes[x->change].seq == c->seq; x->change++)
		if (!o->changes[x->change].by)
			order_access_add(&x->list, o->changes[x->change].addr,
				o->changes[x->change].end, ORDER_WRITE);
	if (x->list.n == at)
		return NULL;
	note_keys(x, c);
	return note_touched(x, &it, at,
		(struct order_party){.seq = c->seq,
			.kind = c->kind,
			.node = SBT_NO_ID,
			.stream = SBT_NO_ID,
			.stack = c->stack,
			.kernel = SBT_NO_ID});
}

static int by_key(const void *pa, const void *pb)
{
	const struct death *a = pa, *b = pb;

	return a->key < b->key ? -1 : a->key > b->key;
}

static struct err *read_all(
	struct search *x, struct sbt_cursor *cursor, uint64_t first, uint64_t last)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, first));
	for (;;) {
		if (x->o->interrupt && *x->o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > last)
			break;
		TRY(take_changes(x, c));
		TRY(take(x, c));
		TRY(state_apply(x->s, c));
	}
	if (x->ndeaths)
		qsort(x->deaths, x->ndeaths, sizeof *x->deaths, by_key);
	return NULL;
}

/* Memory that was freed and allocated anew at the same place counts as other memory, unless user, a
 * command that touches the freed one, may come after the free. It may then also come after the next
 * owner's accesses. */
static bool may_meet(const struct search *x, uint64_t freed, const struct order_item *user)
{
	const size_t i = kept_row_from(x->deaths, x->ndeaths, sizeof *x->deaths, freed);

	return i < x->ndeaths && x->deaths[i].key == freed &&
	       !fold_before(user->lane, user->index, &x->deaths[i].item);
}

static bool is_access(enum order_how how)
{
	return how != ORDER_BIRTH && how != ORDER_DEATH;
}

static bool conflict(const struct search *x, struct touched *a, struct touched *b)
{
	for (size_t i = a->at; i < a->at + a->n; i++)
		for (size_t k = b->at; k < b->at + b->n; k++) {
			const struct order_access *p = &x->list.a[i], *q = &x->list.a[k];

			if (p->addr >= q->end || q->addr >= p->end ||
				!ledger_conflict(p->how, q->how))
				continue;
			if (x->keys[i] && x->keys[k] && x->keys[i] != x->keys[k] &&
				!(is_access(p->how) && is_access(q->how) &&
					may_meet(x, x->keys[i], &a->item)))
				continue;
			a->party.how = p->how;
			b->party.how = q->how;
			return true;
		}
	return false;
}

static struct err *pairs(struct search *x)
{
	for (size_t b = 1; b < x->n; b++) {
		if (x->o->interrupt && *x->o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		for (size_t a = 0; a < b; a++)
			/* Work behind a wait for a value may be ordered behind a command that was
			 * submitted later. */
			if (!fold_before(x->t[a].item.lane, x->t[a].item.index, &x->t[b].item) &&
				!fold_before(
					x->t[b].item.lane, x->t[b].item.index, &x->t[a].item) &&
				conflict(x, &x->t[a], &x->t[b]))
				x->o->each(x->o->each_arg, &x->t[a].party, &x->t[b].party);
	}
	return NULL;
}

struct err *order_conflicts(const struct order *order, struct sbt_reader *trace,
	const struct order_options *o, bool *ret_unknown)
{
	struct search x = {.order = order, .o = o, .ret_unknown = ret_unknown};
	struct sbt_cursor *cursor = NULL;
	struct err *e = state_at(&x.s, trace, o->first ? o->first - 1 : 0);

	*ret_unknown = false;
	if (!e)
		e = sbt_cursor_open(&cursor, trace);
	if (!e)
		e = read_all(&x, cursor, o->first, o->last ? o->last : UINT64_MAX);
	if (!e)
		e = pairs(&x);
	if (cursor)
		sbt_cursor_close(cursor);
	state_free(x.s);
	free(x.t);
	free(x.list.a);
	free(x.keys);
	free(x.deaths);
	return e;
}
