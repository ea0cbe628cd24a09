/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubts followed through a window, see flow.h. Bytes in doubt are a sorted list of ranges that do
 * not touch.
 *
 * The surprise: steps are in the order in which a replay executes them, which is not always that of
 * their numbers (fold/feed.h).
 */
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "order/flow.h"
#include "order/fold/feed.h"
#include "order/fold/fold.h"
#include "order/kept.h"

struct step {
	uint64_t seq, behind; /* behind: the command that it runs right behind, its own seq for
				 nearly all of them; it never falls */
	size_t at, n;	      /* in accesses */
	bool exact;	      /* what it writes is written whole */
	bool unknown;	      /* it may read anything */
};
/* Where a step is that comes later than its number. */
struct late_step {
	uint64_t seq;
	size_t step;
};

struct order_flow {
	struct step *steps; /* in the order of execution */
	size_t n, cap;
	struct late_step *late; /* in order of seq */
	size_t nlate, cap_late;
	struct order_access *accesses;
	size_t naccesses, cap_accesses;
};

/* --- reading --- */

static bool runs(const struct sbt_cmd *c)
{
	return !c->result && !(c->flags & SBT_F_GRAPH);
}

static struct err *add_step(struct order_flow *f, const struct state *s,
	const struct order_source *src, const struct sbt_cmd *c, uint64_t behind)
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
		return err_new(ERR_LIMIT, "the commands touch more than %u ranges of memory",
			ORDER_FLOW_MAX);
	}
	if (l.n || l.unknown) {
		MAKE_ROOM(f->steps, f->n, f->cap);
		f->steps[f->n++] =
			(struct step){c->seq, behind, f->naccesses, l.n, exact, l.unknown};
		if (c->seq != behind) {
			MAKE_ROOM(f->late, f->nlate, f->cap_late);
			f->late[f->nlate++] = (struct late_step){c->seq, f->n - 1};
		}
	}
	for (size_t i = 0; i < l.n; i++) {
		MAKE_ROOM(f->accesses, f->naccesses, f->cap_accesses);
		f->accesses[f->naccesses++] = l.a[i];
	}
	free(l.a);
	return NULL;
}

static int by_late_seq(const void *pa, const void *pb)
{
	const struct late_step *a = pa, *b = pb;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static struct err *read_all(
	struct order_flow *f, struct state *s, struct feed *feed, const struct order_options *o)
{
	const struct sbt_cmd *c;
	uint64_t behind = 0;
	enum feed_how how;

	for (;;) {
		if (o->interrupt && *o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(feed_next(feed, &c, &how));
		if (!c)
			break;
		if (how != FEED_LATE)
			behind = c->seq;
		if (runs(c) && how != FEED_HELD)
			TRY(add_step(f, s, o->source, c, behind));
		if (how != FEED_LATE)
			TRY(state_apply(s, c));
	}
	if (f->nlate)
		qsort(f->late, f->nlate, sizeof *f->late, by_late_seq);
	return NULL;
}

struct err *order_flow_open(
	struct order_flow **ret, struct sbt_reader *trace, const struct order_options *o)
{
	struct order_flow *f = xcalloc(1, sizeof *f);
	struct fold *unused = fold_new(false); /* it only takes the feed's doubts, which are not
						* used here */
	struct feed *feed = NULL;
	struct state *s = NULL;
	struct err *e = state_at(&s, trace, o->first ? o->first - 1 : 0);

	if (!e)
		e = feed_open(&feed, trace, s, unused, o->source, o->first, o->last);
	if (!e)
		e = read_all(f, s, feed, o);
	feed_close(feed);
	fold_free(unused);
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
	free(f->late);
	free(f->accesses);
	free(f);
}

/* --- when --- */

/* Where a command is among the steps: twice its step's index and one more, or between two of them;
 * then its seq decides. */
struct place {
	uint64_t rank, seq;
};

static struct place place_of(const struct order_flow *f, uint64_t seq)
{
	const size_t late = kept_row_from(f->late, f->nlate, sizeof *f->late, seq);
	size_t i;

	if (late < f->nlate && f->late[late].seq == seq)
		return (struct place){2 * (uint64_t)f->late[late].step + 1, seq};
	i = FIRST_WHERE(f->n, k, f->steps[k].behind >= seq);
	return (struct place){2 * (uint64_t)i + (i < f->n && f->steps[i].seq == seq), seq};
}

static int compare_places(struct place a, struct place b)
{
	return a.rank != b.rank ? (a.rank > b.rank) - (a.rank < b.rank)
				: (a.seq > b.seq) - (a.seq < b.seq);
}

bool order_flow_is_behind(const struct order_flow *f, uint64_t a, uint64_t b)
{
	return compare_places(place_of(f, a), place_of(f, b)) > 0;
}

uint64_t order_flow_newest(const struct order_flow *f, uint64_t seq)
{
	const size_t n = (size_t)(place_of(f, seq).rank / 2);
	uint64_t ret = seq;

	for (size_t i = 0; i < n && f->nlate; i++)
		ret = f->steps[i].seq > ret ? f->steps[i].seq : ret;
	return ret;
}

/* --- ranges in doubt --- */

struct doubts {
	struct order_range *r;
	size_t n, cap;
};

/* The first range that ends behind addr. */
static size_t from(const struct doubts *d, uint64_t addr)
{
	return FIRST_WHERE(d->n, i, d->r[i].end > addr);
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

/* --- following --- */

static const bool may_read[ORDER_HOWS] = {
	[ORDER_READ] = true, [ORDER_ATOMIC] = true, [ORDER_MAYBE] = true, [ORDER_POINTS] = true};
static const bool may_write[ORDER_HOWS] = {
	[ORDER_WRITE] = true, [ORDER_ATOMIC] = true, [ORDER_MAYBE] = true, [ORDER_POINTS] = true};

static bool is_in_doubt(const struct order_flow *f, const struct step *x, const struct doubts *d)
{
	if (x->unknown && d->n)
		return true;
	for (size_t i = x->at; i < x->at + x->n; i++)
		if (may_read[f->accesses[i].how] &&
			overlaps(d, f->accesses[i].addr, f->accesses[i].end))
			return true;
	return false;
}

static void follow(
	const struct order_flow *f, const struct step *x, bool doubtful, struct doubts *d)
{
	for (size_t i = x->at; i < x->at + x->n; i++) {
		const struct order_access *a = &f->accesses[i];

		if (doubtful && may_write[a->how])
			take_in(d, a->addr, a->end);
		else if (x->exact && a->how == ORDER_WRITE)
			take_out(d, a->addr, a->end);
	}
}

/* A sorted list of doubts that is walked once. */
struct doubt {
	struct place at;
	uint64_t addr, end;
};
struct given {
	struct doubt *o;
	size_t n, next;
};

static int by_place(const void *pa, const void *pb)
{
	const struct doubt *a = pa, *b = pb;

	return compare_places(a->at, b->at);
}

/* Doubts that name their bytes, of commands before that place. */
static void begin(struct given *g, struct place at, struct doubts *d)
{
	for (; g->next < g->n && compare_places(g->o[g->next].at, at) < 0; g->next++)
		if (g->o[g->next].end)
			take_in(d, g->o[g->next].addr, g->o[g->next].end);
}

/* Whether all that the command there writes is in doubt. Those before it have begun. */
static bool begins_whole(const struct given *g, struct place at)
{
	for (size_t i = g->next; i < g->n && !compare_places(g->o[i].at, at); i++)
		if (!g->o[i].end)
			return true;
	return false;
}

bool order_flow_reaches(const struct order_flow *f, const struct order_doubt *o, size_t n,
	uint64_t seq, const struct order_range *r, size_t nr)
{
	struct given g = {.o = xmalloc((n + 1) * sizeof *g.o), .n = n};
	const struct place to = place_of(f, seq);
	struct doubts d = {0};
	bool ret = false;

	for (size_t i = 0; i < n; i++)
		g.o[i] = (struct doubt){place_of(f, o[i].seq), o[i].addr, o[i].end};
	qsort(g.o, n, sizeof *g.o, by_place);
	for (size_t i = 0; i < to.rank / 2; i++) {
		const struct step *x = &f->steps[i];
		const struct place at = {2 * (uint64_t)i + 1, x->seq};

		begin(&g, at, &d);
		follow(f, x, begins_whole(&g, at) || is_in_doubt(f, x, &d), &d);
	}
	begin(&g, to, &d);
	for (size_t i = 0; i < nr && !ret; i++)
		ret = overlaps(&d, r[i].addr, r[i].end);
	free(d.r);
	free(g.o);
	return ret;
}

size_t order_flow_first(const struct order_flow *f, const struct order_doubt *o, size_t n,
	size_t each, uint64_t seq, const struct order_range *r, size_t nr)
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
	size_t i = (size_t)(place_of(f, seq).rank / 2);

	while (i--) {
		const struct step *x = &f->steps[i];

		for (size_t k = x->at; k < x->at + x->n; k++)
			if (may_write[f->accesses[k].how] && f->accesses[k].addr < end &&
				f->accesses[k].end > addr)
				return x->seq;
	}
	return 0;
}

bool order_flow_access(const struct order_flow *f, uint64_t seq, size_t i, struct order_access *ret)
{
	const struct place place = place_of(f, seq);
	const size_t at = (size_t)(place.rank / 2);

	if (!(place.rank & 1) || i >= f->steps[at].n)
		return false;
	*ret = f->accesses[f->steps[at].at + i];
	return true;
}
