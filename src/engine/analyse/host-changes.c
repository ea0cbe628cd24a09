/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host wrote, see host-changes.h.
 */
#include <stdlib.h>
#include <string.h>
#include "order/in-flight.h"
#include "base/checked.h"
#include "order/kept.h"
#include "sbt/memory.h"
#include "engine/analyse/host-changes.h"
#include "state/state.h"

#define WATCHED_MAX 4096u /* places looked at; with more, nothing is known */

struct seqs {
	uint64_t *seq; /* in order; heap */
	size_t n, cap;
};

struct learner {
	volatile bool *cancel;
	struct host_changes *ret;
	struct sbt_reader *trace;
	struct device *d;
	uint64_t first, last;
	/* commands before which the recording has the contents of host memory, because they had
	 * changed */
	struct seqs pieces;
	struct seqs watched;   /* those, and those that read it, in order */
	struct seqs functions; /* host functions */
	size_t next_piece;
	struct order *order; /* with the host's entries at watched */
	const struct order_source *source;
	struct order_look *looks; /* recorded contents of host memory */
	size_t nlooks, cap_looks;
};

/* --- where to look --- */

static void add(struct seqs *l, uint64_t seq)
{
	if (l->n && l->seq[l->n - 1] == seq)
		return;
	MAKE_ROOM(l->seq, l->n, l->cap);
	l->seq[l->n++] = seq;
}

static struct err *note_piece(void *arg, const struct sbt_memory *m)
{
	struct learner *x = arg;

	if (m->role == SBT_MEMORY_HOST)
		add(&x->pieces, m->seq);
	if (m->role == SBT_MEMORY_HOST || m->role == SBT_MEMORY_INPUT) {
		MAKE_ROOM(x->looks, x->nlooks, x->cap_looks);
		x->looks[x->nlooks++] =
			(struct order_look){m->seq, m->addr, sat_add(m->addr, m->size)};
	}
	return NULL;
}

/* Notes a place to look at. Behind a host function every place where the memory was compared
 * counts: it limits the time of the change. */
static void look_at(struct learner *x, const struct state *s, const struct sbt_cmd *c)
{
	while (x->next_piece < x->pieces.n && x->pieces.seq[x->next_piece] < c->seq)
		x->next_piece++;
	if ((x->next_piece < x->pieces.n && x->pieces.seq[x->next_piece] == c->seq) ||
		order_reads_live(s, c) ||
		(x->functions.n && (c->kind == SBT_LAUNCH || c->kind == SBT_COPY ||
					   c->kind == SBT_GRAPH_LAUNCH)))
		add(&x->watched, c->seq);
	if (c->kind == SBT_HOST_FUNC)
		add(&x->functions, c->seq);
}

static struct err *look(struct learner *x, struct state *s, struct sbt_cursor *cursor)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, x->first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > x->last)
			return NULL;
		look_at(x, s, c);
		TRY(state_apply(s, c));
	}
}

static struct err *look_through(struct learner *x)
{
	struct sbt_cursor *cursor = NULL;
	struct state *s = NULL;
	struct err *e;

	TRY(sbt_reader_memory(x->trace, x->first, x->last, note_piece, x));
	TRY(state_at(&s, x->trace, x->first - 1));
	e = sbt_cursor_open(&cursor, x->trace);
	if (!e)
		e = look(x, s, cursor);
	if (cursor)
		sbt_cursor_close(cursor);
	state_free(s);
	return e;
}

/* --- what was found there --- */

static int by_seq(const void *pa, const void *pb)
{
	const struct order_change *a = pa, *b = pb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int by_look(const void *pa, const void *pb)
{
	const struct order_look *a = pa, *b = pb;

	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* The last host function that the host did not know to be finished at the previous look at the
 * memory: it may have made the change. 0: none. */
static uint64_t blame(const struct learner *x, uint64_t seq)
{
	const size_t at = kept_row_from(x->watched.seq, x->watched.n, sizeof *x->watched.seq, seq);

	for (size_t i = kept_row_from(
		     x->functions.seq, x->functions.n, sizeof *x->functions.seq, seq);
		i--;)
		if (!at || !order_before(x->order, x->functions.seq[i],
				   x->watched.seq[at - 1] | ORDER_HOST))
			return x->functions.seq[i];
	return 0;
}

/* flights: struct order_change. */
static struct err *learn_beside(struct learner *x, const struct buf *flights)
{
	struct device_order o = {.flags = REPLAYER_ORDER_LEARN,
		.changes = (const void *)flights->data,
		.nchanges = flights->len / sizeof(struct order_change)};
	struct device_ordered found = {0};
	uint64_t *entries = NULL;
	struct err *e = order_recorded(x->order, &entries, &o.n);

	o.entries = entries;
	if (!e)
		e = device_order(x->d, &o, &found);
	free(entries);
	if (!e) {
		x->ret->c = found.changes;
		x->ret->n = found.sums.changes;
		found.changes = NULL;
		if (x->ret->n)
			qsort(x->ret->c, x->ret->n, sizeof *x->ret->c, by_seq);
		for (size_t i = 0; i < x->ret->n; i++)
			x->ret->c[i].by = blame(x, x->ret->c[i].seq);
		x->ret->known = true;
	}
	device_ordered_free(&found);
	return e;
}

static struct err *learn(struct learner *x)
{
	const struct order_options o = {
		.first = x->first, .last = x->last, .interrupt = x->cancel, .source = x->source};
	struct buf flights = BUF_INIT;
	struct err *e;

	if (x->nlooks)
		qsort(x->looks, x->nlooks, sizeof *x->looks, by_look);
	e = order_in_flight(&flights, x->trace, &o, x->looks, x->nlooks);
	if (!e)
		e = learn_beside(x, &flights);
	buf_free(&flights);
	return e;
}

static struct err *open_and_learn(struct learner *x)
{
	struct order_change *at = xcalloc(x->watched.n + 1, sizeof *at);
	const struct order_options o = {.first = x->first,
		.last = x->last,
		.interrupt = x->cancel,
		.changes = at,
		.nchanges = x->watched.n,
		.early_in_order = true};
	struct err *e;

	for (size_t i = 0; i < x->watched.n; i++)
		at[i].seq = x->watched.seq[i];
	e = order_open(&x->order, x->trace, &o);
	if (!e)
		e = learn(x);
	order_close(x->order);
	free(at);
	if (!e || e->code == ERR_INTERRUPTED || e->code == ERR_INFERIOR)
		return e;
	err_free(e); /* too many changes */
	return NULL;
}

struct err *host_changes_learn(struct host_changes *ret, struct sbt_reader *trace, struct device *d,
	const struct order_source *source, uint64_t first, uint64_t last, volatile bool *cancel)
{
	struct learner x = {.ret = ret,
		.trace = trace,
		.d = d,
		.source = source,
		.first = first,
		.last = last,
		.cancel = cancel};
	struct err *e;

	*ret = (struct host_changes){0};
	e = look_through(&x);
	ret->known = !x.watched.n;
	if (!e && x.watched.n && x.watched.n <= WATCHED_MAX)
		e = open_and_learn(&x);
	free(x.pieces.seq);
	free(x.watched.seq);
	free(x.functions.seq);
	free(x.looks);
	return e;
}

void host_changes_free(struct host_changes *h)
{
	free(h->c);
	*h = (struct host_changes){0};
}
