/* SPDX-License-Identifier: Apache-2.0
 *
 * Synchronous copies from pageable memory, see staged.h.
 */
#include "order/races/staged.h"

#include <stdlib.h>
#include "base/first-where.h"

bool staged_is_small(const struct sbt_cmd_copy *u)
{
	uint64_t all;

	if (!u->width)
		return u->size <= STAGED_SMALL_MAX;
	return !__builtin_mul_overflow(u->width, u->height ? u->height : 1, &all) &&
	       !__builtin_mul_overflow(all, u->depth ? u->depth : 1, &all) &&
	       all <= STAGED_SMALL_MAX;
}

void staged_note(struct staged *s, struct fold *f, const struct state *st, const struct sbt_cmd *c)
{
	struct staged_copy x = {.seq = c->seq};

	if (!fold_is_staged(st, c))
		return;
	x.small = staged_is_small(&c->u.copy);
	fold_host_at(f, c->thread, &x.lane, &x.index);
	MAKE_ROOM(s->c, s->n, s->cap);
	s->c[s->n++] = x;
}

enum order_staged staged_is(const struct staged *s, uint64_t seq, const struct order_item *later)
{
	const size_t i = FIRST_WHERE(s->n, k, s->c[k].seq >= seq);

	if (i == s->n || s->c[i].seq != seq ||
		(s->c[i].lane != later->lane && !fold_before(s->c[i].lane, s->c[i].index, later)))
		return ORDER_NOT_STAGED;
	return s->c[i].small ? ORDER_STAGED_SMALL : ORDER_STAGED;
}

void staged_free(struct staged *s)
{
	free(s->c);
	*s = (struct staged){0};
}
