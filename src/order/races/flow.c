/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubts followed through a window, see flow.h. Bytes in doubt are a sorted list of ranges that do not touch.
 */
#include <stdlib.h>
#include <string.h>
#include "order/flow.h"
#include "order/kept.h"

struct step {
	uint64_t seq;
	size_t at, n; /* in accesses */
	bool exact;   /* what it writes is written whole */
	bool unknown; /* it may read anything */
};

struct order_flow {
	struct step *steps; /* in order of seq */
	size_t n, cap;
	struct order_access *accesses;
	size_t naccesses, cap_accesses;
};

/* ---- reading ----------------------------------------------------------------------------------------------------------- */

static bool runs(const struct sbt_cmd *c)
{
	return !c->result && !(c->flags & SBT_F_GRAPH);
}

static struct err *add_step(struct order_flow *f, const struct state *s, const struct order_source *src, const struct sbt_cmd *c)
{
	struct order_accesses l = {0};
	bool exact = c->kind == SBT_COPY || c->kind == SBT_FILL;

	if (src && !src->writes_only && (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH))
		exact = src->accesses(src->arg, c->seq, &l);
	if (!exact)
		l.n = 0;
	if (!exact || c->kind == SBT_COPY || c->kind == SBT_FILL)
		order_accesses_of(&l, s, c);
	if (l.n > ORDER_FLOW_MAX - f->naccesses) {
		free(l.a);
		return err_new(ERR_LIMIT, "the commands touch more than %u ranges of memory", ORDER_FLOW_MAX);
	}
	if (l.n || l.unknown) {
		MAKE_ROOM(f->steps, f->n, f->cap);
		f->steps[f->n++] = (struct step){c->seq, f->naccesses, l.n, exact, l.unknown};
	}
	for (size_t i = 0; i < l.n; i++) {
		MAKE_ROOM(f->accesses, f->naccesses, f->cap_accesses);
		f->accesses[f->naccesses++] = l.a[i];
	}
	free(l.a);
	return NULL;
}

static struct err *read_all(struct order_flow *f, struct state *s, struct sbt_cursor *cursor, const struct order_options *o)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, o->first));
	for (;;) {
		if (o->interrupt && *o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > o->last)
			return NULL;
		if (runs(c))
			TRY(add_step(f, s, o->source, c));
		TRY(state_apply(s, c));
	}
}

struct err *order_flow_open(struct order_flow **ret, struct sbt_reader *trace, const struct order_options *o)
{
	struct order_flow *f = xcalloc(1, sizeof *f);
	struct sbt_cursor *cursor = NULL;
	struct state *s = NULL;
	struct err *e = state_at(&s, trace, o->first ? o->first - 1 : 0);

	if (!e)
		e = sbt_cursor_open(&cursor, trace);
	if (!e)
		e = read_all(f, s, cursor, o);
	if (cursor)
		sbt_cursor_close(cursor);
	state_free(s);
	if (e) {
		order_flow_close(f);
		return e;
	}
	*ret = f;
	return NULL;
}

void order_flow_close(struct order_flow *f)
{
	if (!f)
		return;
	free(f->steps);
	free(f->accesses);
	free(f);
}

/* ---- ranges in doubt ----------------------------------------------------------------------------------------------------- */

struct doubts {
	struct order_range *r;
	size_t n, cap;
};

/* The first range that ends behind addr. */
static size_t from(const struct doubts *d, uint64_t addr)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (d->r[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool overlaps(const struct doubts *d, uint64_t addr, uint64_t end)
{
	const size_t i = from(d, addr);

	return i < d->n && d->r[i].addr < end;
}

/* Replaces n ranges from i on by m others. */
static void splice(struct doubts *d, size_t i, size_t n, const struct order_range *by, size_t m)
{
	while (d->n - n + m > d->cap)
		d->r = xrealloc(d->r, (d->cap = d->cap ? 2 * d->cap : 64) * sizeof *d->r);
	if (d->n - i - n)
		memmove(&d->r[i + m], &d->r[i + n], (d->n - i - n) * sizeof *d->r);
	for (size_t k = 0; k < m; k++)
		d->r[i + k] = by[k];
	d->n = d->n - n + m;
}

static void take_in(struct doubts *d, uint64_t addr, uint64_t end)
{
	struct order_range all = {addr, end};
	const size_t i = from(d, addr);
	size_t n = 0;

	for (; i + n < d->n && d->r[i + n].addr < end; n++) {
		all.addr = d->r[i + n].addr < all.addr ? d->r[i + n].addr : all.addr;
		all.end = d->r[i + n].end > all.end ? d->r[i + n].end : all.end;
	}
	if (end > addr)
		splice(d, i, n, &all, 1);
}

static void take_out(struct doubts *d, uint64_t addr, uint64_t end)
{
	const size_t i = from(d, addr);
	struct order_range rest[2];
	size_t n = 0, m = 0;

	for (; i + n < d->n && d->r[i + n].addr < end; n++) {
		const struct order_range was = d->r[i + n];

		if (was.addr < addr)
			rest[m++] = (struct order_range){was.addr, addr};
		if (was.end > end)
			rest[m++] = (struct order_range){end, was.end};
	}
	if (n)
		splice(d, i, n, rest, m);
}

/* ---- following ------------------------------------------------------------------------------------------------------------ */

static const bool may_read[ORDER_HOWS] = {[ORDER_READ] = true, [ORDER_ATOMIC] = true, [ORDER_MAYBE] = true, [ORDER_POINTS] = true};
static const bool may_write[ORDER_HOWS] = {[ORDER_WRITE] = true, [ORDER_ATOMIC] = true, [ORDER_MAYBE] = true, [ORDER_POINTS] = true};

static bool is_in_doubt(const struct order_flow *f, const struct step *x, const struct doubts *d)
{
	if (x->unknown && d->n)
		return true;
	for (size_t i = x->at; i < x->at + x->n; i++)
		if (may_read[f->accesses[i].how] && overlaps(d, f->accesses[i].addr, f->accesses[i].end))
			return true;
	return false;
}

static void follow(const struct order_flow *f, const struct step *x, bool doubtful, struct doubts *d)
{
	for (size_t i = x->at; i < x->at + x->n; i++) {
		const struct order_access *a = &f->accesses[i];

		if (doubtful && may_write[a->how])
			take_in(d, a->addr, a->end);
		else if (x->exact && a->how == ORDER_WRITE)
			take_out(d, a->addr, a->end);
	}
}

static int by_seq(const void *a, const void *b)
{
	const struct order_doubt *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* A sorted list of doubts that is gone through once. */
struct given {
	struct order_doubt *o;
	size_t n, next;
};

/* Doubts that name their bytes, of commands before seq. */
static void begin(struct given *g, uint64_t seq, struct doubts *d)
{
	for (; g->next < g->n && g->o[g->next].seq < seq; g->next++)
		if (g->o[g->next].end)
			take_in(d, g->o[g->next].addr, g->o[g->next].end);
}

/* Whether all that command seq writes is in doubt. Those before it have begun. */
static bool begins_whole(const struct given *g, uint64_t seq)
{
	for (size_t i = g->next; i < g->n && g->o[i].seq == seq; i++)
		if (!g->o[i].end)
			return true;
	return false;
}

bool order_flow_reaches(const struct order_flow *f, const struct order_doubt *o, size_t n, uint64_t seq, const struct order_range *r, size_t nr)
{
	struct given g = {.o = xmalloc((n + 1) * sizeof *o), .n = n};
	struct doubts d = {0};
	bool ret = false;

	if (n)
		memcpy(g.o, o, n * sizeof *o);
	qsort(g.o, n, sizeof *g.o, by_seq);
	for (size_t i = 0; i < f->n && f->steps[i].seq < seq; i++) {
		const struct step *x = &f->steps[i];

		begin(&g, x->seq, &d);
		follow(f, x, begins_whole(&g, x->seq) || is_in_doubt(f, x, &d), &d);
	}
	begin(&g, seq, &d);
	for (size_t i = 0; i < nr && !ret; i++)
		ret = overlaps(&d, r[i].addr, r[i].end);
	free(d.r);
	free(g.o);
	return ret;
}

size_t order_flow_first(const struct order_flow *f, const struct order_doubt *o, size_t n, size_t each, uint64_t seq, const struct order_range *r, size_t nr)
{
	size_t lo = 0, hi = n; /* the first hi together reach, the first lo do not */

	if (!n || !order_flow_reaches(f, o, n * each, seq, r, nr))
		return SIZE_MAX;
	while (hi - lo > 1) {
		const size_t mid = lo + (hi - lo) / 2;

		if (order_flow_reaches(f, o, mid * each, seq, r, nr))
			hi = mid;
		else
			lo = mid;
	}
	return hi - 1;
}

uint64_t order_flow_writer(const struct order_flow *f, uint64_t seq, uint64_t addr, uint64_t end)
{
	size_t i = kept_row_from(f->steps, f->n, sizeof *f->steps, seq);

	while (i--) {
		const struct step *x = &f->steps[i];

		for (size_t k = x->at; k < x->at + x->n; k++)
			if (may_write[f->accesses[k].how] && f->accesses[k].addr < end && f->accesses[k].end > addr)
				return x->seq;
	}
	return 0;
}

bool order_flow_access(const struct order_flow *f, uint64_t seq, size_t i, struct order_access *ret)
{
	const size_t at = kept_row_from(f->steps, f->n, sizeof *f->steps, seq);

	if (at == f->n || f->steps[at].seq != seq || i >= f->steps[at].n)
		return false;
	*ret = f->accesses[f->steps[at].at + i];
	return true;
}
