/* SPDX-License-Identifier: Apache-2.0
 *
 * What is ordered before launches that may begin early, see early.h. Clocks of launches in the
 * usual order are made only when they are needed: most traces have no others.
 */
#include <stdlib.h>
#include "order/early.h"

static void forget(struct early *e)
{
	clock_drop(e->start);
	clock_drop(e->done);
	clock_drop(e->base);
	clock_drop(e->since);
	e->start = e->done = e->base = e->since = NULL;
	e->seq = 0;
	e->between = e->loose = false;
	e->doubts = 0;
}

void early_free(struct early *e)
{
	forget(e);
	clock_drop(e->pending);
	free(e->side);
	*e = (struct early){0};
}

void early_usual(struct early *e, uint64_t seq, struct clock *base, uint32_t lane, uint32_t index)
{
	forget(e);
	e->seq = seq;
	e->base = clock_ref(base);
	e->lane = lane;
	e->index = index;
}

void early_launched(
	struct early *e, uint64_t seq, struct clock *start, struct clock *done, uint16_t doubts)
{
	forget(e);
	e->seq = seq;
	e->start = start;
	e->done = done;
	e->doubts = doubts;
}

void early_over(struct early *e)
{
	forget(e);
}

static struct clock *and_also(struct clock *owned, struct clock *more)
{
	struct clock *r = clock_join(owned, more, UINT32_MAX);

	clock_drop(owned);
	return r;
}

void early_joined(struct early *e, struct clock *c)
{
	if (e->seq)
		e->since = and_also(e->since, c);
}

struct clock *early_begin(const struct early *e)
{
	struct clock *c =
		e->done ? clock_ref(e->start) : clock_with(e->base, e->lane, e->index - 1);

	return and_also(c, e->since);
}

struct clock *early_waited(const struct early *e)
{
	struct clock *c = e->done ? clock_ref(e->done) : clock_with(e->base, e->lane, e->index);

	return and_also(c, e->since);
}
