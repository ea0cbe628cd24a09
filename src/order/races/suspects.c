/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that something is not ordered with, see order.h. Whatever a launch touches, it cannot
 * race with what is certainly finished before it begins, or begins when it has finished: only for
 * the others does it matter which bytes they touch.
 */
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "order/fold/feed.h"
#include "order/order.h"
#include "sbt/memory.h"

struct entry { /* an item that touches memory */
	uint64_t seq;
	uint32_t index;
	bool is_launch, is_host, marked;
};

struct lane {
	struct entry *e; /* in order of index */
	size_t n, cap;
	size_t run_from, run_to; /* these are all marked */
};

struct detective {
	struct order_suspects *ret;
	const struct order_options *o;
	struct fold *fold;
	struct state *s;
	struct lane *lanes;
	size_t nlanes, cap_lanes, cap_seqs;
	uint64_t *changed; /* commands before which page-locked memory had changed, in order */
	size_t nchanged, cap_changed, next_changed;
	uint8_t *graphs; /* by id: launched before */
	size_t ngraphs;
	bool freed; /* in stream order: what comes behind may use it all the same */
};

#define GRAPHS_MAX (1u << 24) /* as in the fold */

static void mark(struct detective *d, struct entry *e)
{
	if (e->marked)
		return;
	e->marked = true;
	d->ret->host |= e->is_host;
	if (!e->is_launch)
		return;
	MAKE_ROOM(d->ret->seq, d->ret->n, d->cap_seqs);
	d->ret->seq[d->ret->n++] = e->seq;
}

/* All items of a lane from entry `from` on. */
static void mark_from(struct detective *d, struct lane *l, size_t from)
{
	for (size_t i = l->n; i > from;) {
		if (i <= l->run_to && i > l->run_from)
			i = l->run_from;
		else
			mark(d, &l->e[--i]);
	}
	if (l->run_to < from || from < l->run_from)
		l->run_from = from;
	l->run_to = l->n;
}

static void meet_others(struct detective *d, const struct order_item *it, struct entry *mine)
{
	for (size_t i = 0; i < d->nlanes; i++) {
		struct lane *l = &d->lanes[i];
		const uint32_t known = clock_at(it->clock, (uint32_t)i);

		if (i == it->lane || !l->n || l->e[l->n - 1].index <= known)
			continue;
		mark_from(d, l, FIRST_WHERE(l->n, k, l->e[k].index > known));
		mark(d, mine);
	}
}

static struct lane *lane_of(struct detective *d, uint32_t i)
{
	while (d->nlanes <= i) {
		MAKE_ROOM(d->lanes, d->nlanes, d->cap_lanes);
		d->lanes[d->nlanes++] = (struct lane){0};
	}
	return &d->lanes[i];
}

static void add(struct detective *d, const struct order_item *it, struct entry e)
{
	struct lane *l = lane_of(d, it->lane);

	MAKE_ROOM(l->e, l->n, l->cap);
	l->e[l->n++] = e;
	meet_others(d, it, &l->e[l->n - 1]);
}

static bool touches(const struct sbt_cmd *c)
{
	return c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH || c->kind == SBT_COPY ||
	       c->kind == SBT_FILL || c->kind == SBT_BATCH || c->kind == SBT_ALLOC ||
	       c->kind == SBT_FREE || c->kind == SBT_HOST_FUNC;
}

/* The nodes of a graph are judged against each other at its first launch. */
static bool is_first_of_graph(struct detective *d, const struct sbt_cmd *c)
{
	const uint64_t id = c->u.graph_launch.exec;
	bool first;

	if (c->kind != SBT_GRAPH_LAUNCH || id >= GRAPHS_MAX)
		return c->kind == SBT_GRAPH_LAUNCH;
	if (id >= d->ngraphs) {
		const size_t n = (id + 64) & ~(size_t)63;

		d->graphs = xrealloc(d->graphs, n);
		memset(d->graphs + d->ngraphs, 0, n - d->ngraphs);
		d->ngraphs = n;
	}
	first = !d->graphs[id];
	d->graphs[id] = 1;
	return first;
}

static void work(struct detective *d, const struct sbt_cmd *c, const struct order_item *it)
{
	struct lane *l = lane_of(d, it->lane);
	const bool is_launch = c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH;

	if (early_is(c) && l->n) /* the launch in front of it may still run */
		mark(d, &l->e[l->n - 1]);
	add(d, it, (struct entry){.seq = c->seq, .index = it->index, .is_launch = is_launch});
	l = lane_of(d, it->lane);
	d->ret->launches += is_launch;
	if (early_is(c) || is_first_of_graph(d, c) || (is_launch && d->freed))
		mark(d, &l->e[l->n - 1]);
	d->freed |= c->kind == SBT_FREE;
}

/* The host changed page-locked memory before c. */
static void host(struct detective *d, const struct sbt_cmd *c)
{
	bool any = false;

	for (; d->next_changed < d->nchanged && d->changed[d->next_changed] <= c->seq;
		d->next_changed++)
		any |= d->changed[d->next_changed] == c->seq;
	if (!any)
		return;
	const struct order_item it = fold_host_touch(d->fold, c->thread, c->seq);

	add(d, &it, (struct entry){.seq = c->seq, .index = it.index, .is_host = true});
}

static struct err *look(struct detective *d, struct feed *feed)
{
	const struct sbt_cmd *c;
	struct order_item it;
	enum feed_how how;

	for (uint64_t n = 0;; n++) {
		if (!(n & 1023) && d->o->interrupt && *d->o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(feed_next(feed, &c, &how));
		d->ret->late = feed_waits(feed);
		if (!c)
			return NULL;
		if (how != FEED_LATE)
			host(d, c);
		if (how == FEED_HELD)
			fold_held(d->fold, c);
		else if (fold_apply(d->fold, d->s, c, &it) && touches(c) &&
			 fold_stream(d->fold, it.lane) != SBT_NO_ID)
			work(d, c, &it);
		if (how != FEED_LATE)
			TRY(state_apply(d->s, c));
	}
}

static struct err *note_change(void *arg, const struct sbt_memory *m)
{
	struct detective *d = arg;

	if (m->role != SBT_MEMORY_HOST)
		return NULL;
	MAKE_ROOM(d->changed, d->nchanged, d->cap_changed);
	d->changed[d->nchanged++] = m->seq;
	return NULL;
}

static int by_number(const void *pa, const void *pb)
{
	const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

struct err *order_suspects(
	struct order_suspects *ret, struct sbt_reader *trace, const struct order_options *o)
{
	const uint64_t first = o->first ? o->first : sbt_reader_first_seq(trace);
	const uint64_t last = o->last ? o->last : sbt_reader_last_seq(trace);
	struct detective d = {.ret = ret, .o = o, .fold = fold_new(o->threads_apart)};
	struct feed *feed = NULL;
	struct err *e;

	*ret = (struct order_suspects){0};
	e = sbt_reader_memory(trace, first, last, note_change, &d);
	if (d.nchanged)
		qsort(d.changed, d.nchanged, sizeof *d.changed, by_number);
	if (!e)
		e = state_at(&d.s, trace, first ? first - 1 : 0);
	if (!e)
		e = feed_open(&feed, trace, d.s, d.fold, NULL, first, last);
	if (!e)
		e = look(&d, feed);
	if (ret->n)
		qsort(ret->seq, ret->n, sizeof *ret->seq, by_number);
	feed_close(feed);
	for (size_t i = 0; i < d.nlanes; i++)
		free(d.lanes[i].e);
	free(d.lanes);
	free(d.changed);
	free(d.graphs);
	fold_free(d.fold);
	state_free(d.s);
	if (e)
		order_suspects_free(ret);
	return e;
}

void order_suspects_free(struct order_suspects *s)
{
	free(s->seq);
	*s = (struct order_suspects){0};
}
