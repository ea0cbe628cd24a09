/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what exploring may reverse: pairs of commands that touch the same bytes without an order.
 * Also finds what has to stay as it is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "order/place.h"
#include "sbt/memory.h"
#include "engine/exact.h"
#include "engine/analyse/explore-private.h"
#include "engine/trace-file.h"
#include "state/state.h"

#define PAIRS_MAX 4096u /* looked at; chance may still reverse further ones */
#define SLOTS (4 * PAIRS_MAX)

/* --- pairs --- */

static uint32_t *slot_of(const struct explorer *x, const struct order_pair *p)
{
	size_t i = (size_t)place_mix(place_mix(1, p->before), p->after) & (SLOTS - 1);

	for (; x->pair_slots[i]; i = (i + 1) & (SLOTS - 1)) {
		const struct order_pair *q = &x->pairs[x->pair_slots[i] - 1].p;

		if (q->before == p->before && q->after == p->after)
			break;
	}
	return &x->pair_slots[i];
}

/* The entry of a party in orders. The host's changes are entries only where they are known. */
static bool entry_of(const struct explorer *x, const struct order_party *p, uint64_t *ret)
{
	struct order_item it;

	*ret = p->stream == SBT_NO_ID ? p->seq | ORDER_HOST : p->seq;
	return p->node == SBT_NO_ID && order_item(x->order, *ret, &it);
}

static bool is_lifetime(enum order_how how)
{
	return how == ORDER_BIRTH || how == ORDER_DEATH;
}

/* Adds two launches of one stream, the later of which may begin early. Only a launch that triggers
 * can be overtaken. */
static void add_early(
	struct explorer *x, const struct order_source *src, const struct explore_pair *p)
{
	struct order_early front;

	for (size_t i = 0; i < x->nearly; i++)
		if (x->early[i].p.before == p->p.before && x->early[i].p.after == p->p.after)
			return;
	if (x->nearly == PAIRS_MAX || !src->early ||
		!src->early(src->arg, p->p.before, &front, NULL) || !front.triggers) {
		x->r->left_early = true;
		return;
	}
	MAKE_ROOM(x->early, x->nearly, x->cap_early);
	x->early[x->nearly++] = *p;
}

static void add_pair(void *arg, const struct order_party *a, const struct order_party *b)
{
	struct explorer *x = arg;
	struct explore_pair p = {.place = place_mix(place_hash(a), place_hash(b))};
	uint32_t *slot;

	if (!entry_of(x, a, &p.p.before) || !entry_of(x, b, &p.p.after) ||
		order_key(p.p.before) >= order_key(p.p.after) ||
		(is_lifetime(a->how) && is_lifetime(b->how)))
		return;
	if (a->stream != b->stream && a->kind == SBT_LAUNCH && b->kind == SBT_LAUNCH &&
		order_before(x->order, p.p.before, p.p.after)) {
		/* it is behind a wait for what may be a launch attribute's event */
		x->r->left_early = true;
		return;
	}
	if (a->kind == SBT_LAUNCH && b->kind == SBT_LAUNCH &&
		order_before(x->order, p.p.before, p.p.after)) {
		add_early(x, x->source, &p);
		return;
	}
	slot = slot_of(x, &p.p);
	if (*slot)
		return;
	if (x->npairs == PAIRS_MAX) {
		x->too_many = true;
		return;
	}
	p.lifetime = is_lifetime(a->how) ? a->seq : is_lifetime(b->how) ? b->seq : 0;
	p.is_birth = a->how == ORDER_BIRTH || b->how == ORDER_BIRTH;
	MAKE_ROOM(x->pairs, x->npairs, x->cap_pairs);
	x->pairs[x->npairs++] = p;
	*slot = (uint32_t)x->npairs;
}

struct order_options explore_graph_options(const struct explorer *x)
{
	return (struct order_options){.first = x->r->first,
		.last = x->r->last,
		.interrupt = x->en->cancel,
		.changes = x->host.c,
		.nchanges = x->host.n,
		.early_in_order = true,
		.strict = x->o->strict};
}

static bool knows_host(void *arg, uint64_t seq)
{
	(void)seq;
	return ((const struct explorer *)arg)->host.known;
}

static bool knows_nothing(void *arg, uint64_t seq, struct order_accesses *l)
{
	(void)arg;
	(void)seq;
	(void)l;
	return false;
}

/* The source of access sets: what is known of kernels and of the host's changes. */
static struct order_source source(struct explorer *x, const struct exact *exact)
{
	const struct order_source *kernels = exact_source(exact);
	struct order_source s =
		kernels ? *kernels : (struct order_source){.accesses = knows_nothing};

	s.knows_host = knows_host;
	s.host_arg = x;
	s.changes = x->host.c;
	s.nchanges = x->host.n;
	return s;
}

static struct err *find(struct explorer *x, const struct order_options *o)
{
	struct order_races races;
	struct err *e;

	TRY(order_races(&races, x->en->trace.reader, o));
	order_races_free(&races);
	e = order_conflicts(x->order, x->en->trace.reader, o, &x->unknown);
	if (!e || e->code != ERR_LIMIT)
		return e;
	err_free(e);
	x->too_many = true;
	return NULL;
}

struct err *explore_find_pairs(struct explorer *x)
{
	struct order_options o = explore_graph_options(x);
	struct order_source src;
	struct err *e;

	x->pair_slots = xcalloc(SLOTS, sizeof *x->pair_slots);
	o.each = add_pair;
	o.each_arg = x;
	src = source(x, x->exact);
	o.source = x->source = &src;
	e = find(x, &o);
	x->source = NULL;
	x->r->pairs = x->npairs + x->nearly;
	return e;
}

uint64_t explore_place(const struct explorer *x, const struct order_pair *p)
{
	const struct order_pair round = {p->after, p->before};
	const uint32_t *slot = slot_of(x, p);

	slot = *slot ? slot : slot_of(x, &round);
	return *slot ? x->pairs[*slot - 1].place : 0;
}

/* --- what every order has to keep --- */

struct freed {
	uint64_t seq, addr, end;
};
#define FREED_MAX 1024u /* remembered, the newest */

struct look {
	struct explorer *x;
	struct state *st;
	struct freed *freed;
	size_t nfreed;
};

static void keep_order(struct explorer *x, uint64_t before, uint64_t after)
{
	MAKE_ROOM(x->fixed, x->nfixed, x->cap_fixed);
	x->fixed[x->nfixed++] = (struct order_pair){before, after};
}

/* A stream-ordered allocation gets memory of an earlier one only after that is free (CUDA
 * programming guide, "Stream Ordered Memory Allocator"). For a call that no command kind describes,
 * its stream and memory are not known. */
static struct err *look_at(struct look *l, const struct sbt_cmd *c)
{
	struct state_alloc a;

	if (c->kind == SBT_UNREPLAYABLE && !c->result)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"other orders cannot be had: #%" PRIu64
					" %.*s is a call that no command kind describes",
					c->seq, (int)c->u.unreplayable.call.len,
					(const char *)c->u.unreplayable.call.p),
			"Capture a window without it");
	if (c->kind == SBT_FREE && c->u.free.stream < SBT_NO_ID &&
		state_alloc_at(l->st, c->u.free.addr, &a))
		l->freed[l->nfreed++ % FREED_MAX] = (struct freed){c->seq, a.addr, a.addr + a.size};
	for (size_t i = 0; c->kind == SBT_ALLOC && c->u.alloc.stream < SBT_NO_ID && i < l->nfreed &&
			   i < FREED_MAX;
		i++)
		if (l->freed[i].addr < c->u.alloc.addr + c->u.alloc.size &&
			c->u.alloc.addr < l->freed[i].end)
			keep_order(l->x, l->freed[i].seq, c->seq);
	return NULL;
}

static struct err *look(struct look *l, struct sbt_cursor *cursor)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, l->x->r->first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > l->x->r->last)
			return NULL;
		if (!c->result && !(c->flags & SBT_F_GRAPH))
			TRY(look_at(l, c));
		TRY(state_apply(l->st, c));
	}
}

struct err *explore_look_through(struct explorer *x)
{
	struct look l = {.x = x, .freed = xcalloc(FREED_MAX, sizeof *l.freed)};
	struct sbt_cursor *cursor = NULL;
	struct err *e = state_at(&l.st, x->en->trace.reader, x->r->first - 1);

	if (!e)
		e = sbt_cursor_open(&cursor, x->en->trace.reader);
	if (!e)
		e = look(&l, cursor);
	if (cursor)
		sbt_cursor_close(cursor);
	state_free(l.st);
	free(l.freed);
	return e;
}
