/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds copies to the host that the host cannot have read in time, see unread.h.
 */
#include <string.h>
#include "order/races/unread.h"

static bool is_known(const struct unread_copy *p, const struct clock *knows)
{
	return clock_at(knows, p->at.lane) >= p->at.index;
}

static void forget(struct unread *u, unsigned i)
{
	memmove(&u->c[i], &u->c[i + 1], (u->n - i - 1) * sizeof u->c[0]);
	u->n--;
}

static void forget_known(struct unread *u, const struct clock *knows)
{
	for (unsigned i = u->n; i--;)
		if (is_known(&u->c[i], knows))
			forget(u, i);
}

/* Drops each copy whose bytes this command touches. A write ordered behind the copy is reported;
 * another access reads the bytes, or is reported as a race. */
static void touch(struct unread *u, const struct sbt_cmd *c, const struct order_item *it,
	const struct order_access *a)
{
	for (unsigned i = u->n; i--;) {
		if (a->addr >= u->c[i].end || u->c[i].addr >= a->end)
			continue;
		if (a->how == ORDER_WRITE && fold_before(u->c[i].at.lane, u->c[i].at.index, it))
			u->found(u->arg, &u->c[i], c, ORDER_OVERWRITTEN);
		forget(u, i);
	}
}

/* A host function behind the copy may have read them. */
static void host_function(struct unread *u, const struct order_item *it)
{
	for (unsigned i = u->n; i--;)
		if (fold_before(u->c[i].at.lane, u->c[i].at.index, it))
			forget(u, i);
}

static void freed(struct unread *u, const struct state *s, const struct sbt_cmd *c)
{
	struct state_alloc a;

	if (c->result || !state_alloc_at(s, c->u.free.addr, &a))
		return;
	for (unsigned i = u->n; i--;)
		if (u->c[i].addr >= a.addr && u->c[i].addr < a.addr + a.size) {
			u->found(u->arg, &u->c[i], c, ORDER_FREED);
			forget(u, i);
		}
}

static void add(struct unread *u, const struct state *s, const struct sbt_cmd *c,
	const struct order_item *it)
{
	const struct sbt_cmd_copy *k = &c->u.copy;
	struct state_alloc a;

	if (c->kind != SBT_COPY || k->dir != SBT_COPY_D2H || !k->async || k->pageable || k->width ||
		!k->size || !state_alloc_at(s, k->dst, &a) ||
		(a.mem != SBT_MEM_PINNED && a.mem != SBT_MEM_REGISTERED))
		return;
	if (u->n == UNREAD_MAX)
		forget(u, 0);
	u->c[u->n++] =
		(struct unread_copy){.at = {.seq = c->seq, .lane = it->lane, .index = it->index},
			.addr = k->dst,
			.end = k->dst + k->size,
			.stack = c->stack};
}

void unread_command(struct unread *u, const struct state *s, const struct sbt_cmd *c,
	const struct order_item *it, const struct order_accesses *l, const struct clock *knows)
{
	if (u->n)
		forget_known(u, knows);
	if (u->n && c->kind == SBT_FREE)
		freed(u, s, c);
	if (!it)
		return;
	if (u->n && c->kind == SBT_HOST_FUNC)
		host_function(u, it);
	for (size_t i = 0; u->n && i < l->n; i++)
		touch(u, c, it, &l->a[i]);
	add(u, s, c, it);
}

void unread_end(struct unread *u, const struct sbt_cmd *c, const struct clock *knows)
{
	forget_known(u, knows);
	for (unsigned i = 0; i < u->n; i++)
		u->found(u->arg, &u->c[i], c, ORDER_ENDED);
	u->n = 0;
}
