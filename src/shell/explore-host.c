/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory in other orders. The recording has what page-locked memory held before commands that may read it, but not who had written that: the
 * host, or a copy to it. The surprise: it is found out by executing. In the recorded order, and in one in which the host is as early as the
 * program lets it be, bytes are compared with the recording; what neither explains by work of the device, the host wrote.
 */
#include <stdlib.h>
#include <string.h>
#include "order/kept.h"
#include "sbt/memory.h"
#include "shell/explore-private.h"
#include "shell/interrupt.h"
#include "shell/trace.h"

#define WATCHED_MAX 4096u /* commands; beyond, copies carry what they carried */

void explore_watch(struct explorer *x, uint64_t seq)
{
	if (x->nwatched && x->watched[x->nwatched - 1] == seq)
		return;
	if (x->nwatched == x->cap_watched) {
		x->cap_watched = x->cap_watched ? 2 * x->cap_watched : 64;
		x->watched = xrealloc(x->watched, x->cap_watched * sizeof *x->watched);
	}
	x->watched[x->nwatched++] = seq;
}

void explore_watch_function(struct explorer *x, uint64_t seq)
{
	if (x->nfunctions == x->cap_functions) {
		x->cap_functions = x->cap_functions ? 2 * x->cap_functions : 16;
		x->functions = xrealloc(x->functions, x->cap_functions * sizeof *x->functions);
	}
	x->functions[x->nfunctions++] = seq;
}

struct order_options explore_graph_options(const struct explorer *x)
{
	return (struct order_options){.first = x->r->first, .last = x->r->last, .interrupt = &interrupt_flag, .changes = x->changes,
		.nchanges = x->nchanges};
}

/* Of an order with an entry for each place where the host's memory was looked at. Takes entries; appends nothing to what was executed. */
static struct err *learn_in(struct explorer *x, struct err *e, uint64_t *entries, size_t n, struct device_ordered *ret)
{
	const struct device_order o = {.entries = entries, .n = n, .flags = REPLAYER_ORDER_LEARN};

	*ret = (struct device_ordered){0};
	if (!e)
		e = device_order(x->d, &o, ret);
	free(entries);
	return e;
}

static int by_seq(const void *pa, const void *pb)
{
	const struct order_change *a = pa, *b = pb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void sort(struct device_ordered *o)
{
	if (o->sums.changes)
		qsort(o->changes, o->sums.changes, sizeof *o->changes, by_seq);
}

/* What both have. */
static void meet(struct explorer *x, const struct device_ordered *a, const struct device_ordered *b)
{
	size_t i = 0, k = 0, cap = 0;

	while (i < a->sums.changes && k < b->sums.changes) {
		const struct order_change *p = &a->changes[i], *q = &b->changes[k];
		const struct order_change both = {.seq = p->seq, .addr = p->addr > q->addr ? p->addr : q->addr, .end = p->end < q->end ? p->end : q->end};

		if (p->seq == q->seq && both.addr < both.end) {
			if (x->nchanges == cap) {
				cap = cap ? 2 * cap : 64;
				x->changes = xrealloc(x->changes, cap * sizeof *x->changes);
			}
			x->changes[x->nchanges++] = both;
		}
		if (p->seq < q->seq || (p->seq == q->seq && p->end <= q->end))
			i++;
		else
			k++;
	}
}

/* The last host function that the host did not know to be over when the memory was looked at before: it may have made the change. 0: none. */
static uint64_t blame(const struct explorer *x, const struct order *order, uint64_t seq)
{
	const size_t at = kept_row_from(x->watched, x->nwatched, sizeof *x->watched, seq);

	for (size_t i = kept_row_from(x->functions, x->nfunctions, sizeof *x->functions, seq); i--;)
		if (!at || !order_before(order, x->functions[i], x->watched[at - 1] | ORDER_HOST))
			return x->functions[i];
	return 0;
}

static struct err *learn(struct explorer *x, struct order *order)
{
	struct device_ordered late, early = {0};
	uint64_t *entries = NULL;
	size_t n = 0;
	struct err *e = order_recorded(order, &entries, &n);

	e = learn_in(x, e, entries, n, &late);
	if (!e) {
		entries = NULL;
		e = order_prefer(order, SBT_NO_ID, true, &entries, &n);
		e = learn_in(x, e, entries, n, &early);
	}
	if (!e) {
		sort(&late);
		sort(&early);
		meet(x, &late, &early);
		for (size_t i = 0; i < x->nchanges; i++)
			x->changes[i].by = blame(x, order, x->changes[i].seq);
		x->live = true;
	}
	device_ordered_free(&late);
	device_ordered_free(&early);
	return e;
}

struct err *explore_learn(struct explorer *x)
{
	struct order_options o = explore_graph_options(x);
	struct order_change *at;
	struct order *order;
	struct err *e;

	if (!x->nwatched || x->nwatched > WATCHED_MAX)
		return NULL;
	at = xcalloc(x->nwatched, sizeof *at);
	for (size_t i = 0; i < x->nwatched; i++)
		at[i].seq = x->watched[i];
	o.changes = at;
	o.nchanges = x->nwatched;
	e = order_open(&order, x->s->trace.reader, &o);
	if (!e) {
		e = learn(x, order);
		order_close(order);
	}
	free(at);
	if (!e || e->code == ERR_INTERRUPTED || e->code == ERR_INFERIOR)
		return e;
	err_free(e); /* too much of it: orders without the host's changes can still be had */
	return NULL;
}
