/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in flight, see in-flight.h. Work has finished for certain once a thread that waited for it
 * makes its next call: the wait has returned then. The surprise: threads take numbers for their
 * calls before they look, so another thread's later command may run during the look.
 */
#include "order/in-flight.h"
#include "order/fold/feed.h"

#include <stdlib.h>
#include <string.h>

#define WRITERS_MAX 65536u
#define THREADS_MAX 1024u

struct writer {
	uint64_t seq;
	uint32_t lane, index; /* lane UINT32_MAX: it is kept back by a wait for a value, and when
			       * it begins is not known */
	struct order_accesses to; /* page-locked memory only */
};

struct pilot {
	struct buf *ret;
	const struct order_options *o;
	const struct order_look *looks;
	size_t nlooks, next;
	struct fold *fold; /* threads apart */
	struct state *s;
	struct clock *finished; /* what some thread has certainly seen finished */
	struct writer *w;	/* that may not have finished */
	size_t nw, cap_w;
	struct looking { /* by thread: its looks at its last command */
		uint32_t thread;
		size_t from, to;
	} looking[THREADS_MAX];
	unsigned nlooking;
	struct order_accesses list;
};

static bool is_page_locked(const struct state *s, uint64_t addr, uint64_t end)
{
	struct state_alloc a;

	if (!state_alloc_at(s, addr, &a))
		return true; /* an exact range may begin before an allocation and reach over several
			      */
	return a.mem == SBT_MEM_PINNED || a.mem == SBT_MEM_REGISTERED || end > a.addr + a.size;
}

/* --- reporting --- */

static struct err *tell(
	struct pilot *p, const struct order_look *l, const struct order_access *a, uint64_t by)
{
	const struct order_change c = {.seq = l->seq, .addr = a->addr, .end = a->end, .by = by};

	if (a->addr >= l->end || l->addr >= a->end)
		return NULL;
	if (p->ret->len >= IN_FLIGHT_MAX * sizeof c)
		return err_new(ERR_LIMIT,
			"more than %u ranges of page-locked memory were being written when they were looked at",
			IN_FLIGHT_MAX);
	buf_add(p->ret, &c, sizeof c);
	return NULL;
}

static struct err *tell_all(struct pilot *p, size_t from, size_t to, const struct writer *w)
{
	for (size_t i = from; i < to; i++)
		for (size_t k = 0; k < w->to.n; k++)
			TRY(tell(p, &p->looks[i], &w->to.a[k], w->seq));
	return NULL;
}

/* --- threads --- */

/* The thread's slot; NULL: there are too many threads. */
static struct looking *looking_of(struct pilot *p, uint32_t thread)
{
	for (unsigned i = 0; i < p->nlooking; i++)
		if (p->looking[i].thread == thread)
			return &p->looking[i];
	if (p->nlooking == THREADS_MAX)
		return NULL;
	p->looking[p->nlooking] = (struct looking){.thread = thread};
	return &p->looking[p->nlooking++];
}

/* The thread's earlier calls have returned: what they waited for is finished. */
static void see_finished(struct pilot *p, uint32_t thread)
{
	struct clock *was = p->finished;

	p->finished = clock_join(was, fold_host_knows(p->fold, thread), UINT32_MAX);
	if (p->finished != was)
		for (size_t i = p->nw; i--;)
			if (p->w[i].lane != UINT32_MAX &&
				clock_at(p->finished, p->w[i].lane) >= p->w[i].index) {
				free(p->w[i].to.a);
				p->w[i] = p->w[--p->nw];
			}
	clock_drop(was);
}

/* --- commands --- */

static void list_accesses(struct pilot *p, const struct sbt_cmd *c)
{
	const struct order_source *src = p->o->source;

	p->list.n = 0;
	p->list.unknown = false;
	if (src && src->accesses(src->arg, c->seq, &p->list) && !src->writes_only)
		return;
	order_accesses_of(&p->list, p->s, c);
	if (p->list.unknown && c->kind != SBT_HOST_FUNC)
		order_access_add(&p->list, 0, UINT64_MAX, ORDER_MAYBE);
}

/* it NULL: it is kept back. */
static struct err *add_writer(struct pilot *p, const struct sbt_cmd *c, const struct order_item *it)
{
	struct writer w = {
		.seq = c->seq, .lane = it ? it->lane : UINT32_MAX, .index = it ? it->index : 0};
	struct err *e = NULL;

	list_accesses(p, c);
	for (size_t i = 0; i < p->list.n; i++) {
		const struct order_access *a = &p->list.a[i];

		if (a->how != ORDER_READ && a->how != ORDER_POINTS && a->how < ORDER_BIRTH &&
			is_page_locked(p->s, a->addr, a->end))
			order_access_add(&w.to, a->addr, a->end, a->how);
	}
	for (unsigned i = 0; !e && i < p->nlooking; i++)
		if (p->looking[i].thread != c->thread)
			e = tell_all(p, p->looking[i].from, p->looking[i].to, &w);
	if (!e && w.to.n && p->nw == WRITERS_MAX)
		e = err_new(ERR_LIMIT,
			"more than %u commands that nothing waits for write to page-locked memory",
			WRITERS_MAX);
	if (e || !w.to.n) {
		free(w.to.a);
		return e;
	}
	MAKE_ROOM(p->w, p->nw, p->cap_w);
	p->w[p->nw++] = w;
	return NULL;
}

static struct err *look(struct pilot *p, const struct sbt_cmd *c)
{
	struct looking *l = looking_of(p, c->thread);
	const size_t from = p->next;

	if (!l)
		return err_new(ERR_LIMIT, "more than %u threads", THREADS_MAX);
	while (p->next < p->nlooks && p->looks[p->next].seq <= c->seq)
		p->next++;
	l->from = from;
	l->to = p->next;
	for (size_t i = 0; i < p->nw && from < p->next; i++)
		TRY(tell_all(p, from, p->next, &p->w[i]));
	return NULL;
}

/* Command c, which was kept back, begins now. */
static void begin_late(struct pilot *p, const struct sbt_cmd *c)
{
	struct order_item it;

	if (!fold_apply(p->fold, p->s, c, &it))
		return;
	for (size_t i = 0; i < p->nw; i++)
		if (p->w[i].seq == c->seq) {
			p->w[i].lane = it.lane;
			p->w[i].index = it.index;
		}
}

static struct err *one(struct pilot *p, const struct sbt_cmd *c, enum feed_how how)
{
	struct order_item it;

	if (how == FEED_LATE) {
		begin_late(p, c);
		return NULL;
	}
	see_finished(p, c->thread);
	TRY(look(p, c));
	if (how == FEED_HELD) {
		fold_held(p->fold, c);
		TRY(sbt_cmd_stream(c) != SBT_NO_ID ? add_writer(p, c, NULL) : NULL);
		return state_apply(p->s, c);
	}
	if (fold_apply(p->fold, p->s, c, &it) && fold_stream(p->fold, it.lane) != SBT_NO_ID)
		TRY(add_writer(p, c, &it));
	if (c->kind == SBT_SYNC_END) /* its number was taken when the wait was over */
		see_finished(p, c->thread);
	return state_apply(p->s, c);
}

static struct err *fly(struct pilot *p, struct feed *feed)
{
	const struct sbt_cmd *c;
	enum feed_how how;

	for (uint64_t n = 0;; n++) {
		if (!(n & 1023) && p->o->interrupt && *p->o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(feed_next(feed, &c, &how));
		if (!c)
			return NULL;
		TRY(one(p, c, how));
	}
}

static int by_seq(const void *pa, const void *pb)
{
	const struct order_change *a = pa, *b = pb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

struct err *order_in_flight(struct buf *ret, struct sbt_reader *trace,
	const struct order_options *o, const struct order_look *looks, size_t n)
{
	struct pilot *p = xcalloc(1, sizeof *p);
	struct feed *feed = NULL;
	struct err *e;

	*p = (struct pilot){
		.ret = ret, .o = o, .looks = looks, .nlooks = n, .fold = fold_new(true)};
	e = state_at(&p->s, trace, o->first ? o->first - 1 : 0);
	if (!e)
		e = feed_open(&feed, trace, p->s, p->fold, o->source, o->first, o->last);
	if (!e)
		e = fly(p, feed);
	if (!e && ret->len)
		qsort(ret->data, ret->len / sizeof(struct order_change),
			sizeof(struct order_change), by_seq);
	feed_close(feed);
	for (size_t i = 0; i < p->nw; i++)
		free(p->w[i].to.a);
	free(p->w);
	free(p->list.a);
	clock_drop(p->finished);
	fold_free(p->fold);
	state_free(p->s);
	free(p);
	return e;
}
