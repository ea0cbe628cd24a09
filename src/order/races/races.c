/* SPDX-License-Identifier: Apache-2.0
 *
 * Races: one pass that folds happens-before and keeps the ledger of last accesses side by side. The
 * same two places in the program race once, however often they are passed; a place is a call with
 * its stream, kernel and host stack.
 */
#include <stdlib.h>
#include <string.h>
#include "order/fold/feed.h"
#include "order/races/ledger.h"
#include "order/races/news.h"
#include "order/races/graph-races.h"
#include "order/place.h"
#include "order/races/polls.h"
#include "order/races/staged.h"
#include "order/races/unread.h"
#include "order/races/ptx-waits.h"
#include "sbt/vendor.h"
#include "sbt/memory.h"

struct host_change {
	uint64_t seq, addr, end;
	uint64_t
		since; /* the bytes had been others before this command; 0: when the window began */
	enum {
		CHANGE_NEWS,	  /* the recording shows that these bytes changed */
		CHANGE_UNSURE,	  /* the recording shows that some of these bytes may have
				   * changed */
		CHANGE_HOST,	  /* certainly the host's */
		CHANGE_DOUBT,	  /* the host's, or that of a copy that delivered other bytes */
		CHANGE_EXPLAINED, /* the device may have done all of it */
	} what;
};

struct dead {
	uint64_t addr, end, key;
};
#define HOST_TOUCH (SBT_NO_ID - 1) /* in the place of a kernel: the host */
#define DEAD_MAX 1024		   /* stream-ordered frees that are remembered, the newest */

enum { GRAPH_NEW, GRAPH_SEEN, GRAPH_ALLOCATES };

struct hunt {
	struct order_races *ret;
	const struct order_options *o;
	struct fold *fold;
	struct ledger *ledger;
	struct state *s;
	uint32_t *slots; /* hash table of races by their two places: index + 1 */
	size_t nslots, cap;
	struct host_change *changes; /* of pinned memory, by the host, in order of seq */
	size_t nchanges, cap_changes, next_change;
	struct dead dead[DEAD_MAX];
	uint64_t ndead;
	uint8_t *graphs; /* by id: GRAPH_..., what was found when its nodes were judged */
	size_t ngraphs;
	/* What the host knew to be finished before commands for which its memory was looked at and
	 * some of it recorded, in order of seq. */
	struct look {
		uint64_t seq;
		struct clock *knew;
	} * looks;
	size_t nlooks, cap_looks;
	struct unread unread;
	struct staged staged;
	struct polls polls;
	struct waits waits;
	struct sbt_reader *trace;
	struct order_accesses list,
		before; /* before: without having waited, of a programmatic dependent launch */
	bool now_polls; /* the command */
	const struct order_item *now; /* the item whose touches are judged */
	uint64_t alloc, alloc_size;   /* that the touch in progress lies in */
};

const char *order_tier_name(enum order_tier t)
{
	static const char *const names[] = {"certain", "likely", "possible"};

	return names[t];
}

/* --- places --- */

static struct order_party party(const struct hunt *h, const struct ledger_touch *t)
{
	return (struct order_party){.seq = t->seq,
		.stream = fold_stream(h->fold, t->lane),
		.kernel = t->kernel == HOST_TOUCH ? SBT_NO_ID : t->kernel,
		.stack = t->stack,
		.node = SBT_NO_ID,
		.kind = t->kind,
		.how = (enum order_how)t->how};
}

/* Calls without a stack and a kernel differ by their seq. */
static bool same_place(const struct order_party *a, const struct order_party *b)
{
	return a->stream == b->stream && a->kernel == b->kernel && a->stack == b->stack &&
	       a->kind == b->kind && a->how == b->how &&
	       (a->stack || a->kernel != SBT_NO_ID || a->seq == b->seq);
}

/* --- races --- */

static uint64_t pair_hash(const struct order_party *a, const struct order_party *b)
{
	return place_mix(place_mix(place_hash(a), a->how), place_mix(place_hash(b), b->how));
}

static void more_slots(struct hunt *h)
{
	h->nslots = h->nslots ? 2 * h->nslots : 256;
	free(h->slots);
	h->slots = xcalloc(h->nslots, sizeof *h->slots);
	for (size_t i = 0; i < h->ret->n; i++) {
		size_t at = pair_hash(&h->ret->r[i].a, &h->ret->r[i].b) & (h->nslots - 1);

		while (h->slots[at])
			at = (at + 1) & (h->nslots - 1);
		h->slots[at] = (uint32_t)i + 1;
	}
}

/* The race between those two places that was found before; else NULL, and *ret_slot is where the
 * new one goes. */
static struct order_race *known(
	struct hunt *h, const struct order_party *a, const struct order_party *b, size_t *ret_slot)
{
	size_t at = pair_hash(a, b) & (h->nslots - 1);

	for (; h->slots[at]; at = (at + 1) & (h->nslots - 1)) {
		struct order_race *r = &h->ret->r[h->slots[at] - 1];

		if (same_place(&r->a, a) && same_place(&r->b, b) &&
			(!h->o->pairs_apart || (r->a.seq == a->seq && r->b.seq == b->seq)))
			return r;
	}
	*ret_slot = at;
	return NULL;
}

static struct order_race *new_race(struct hunt *h)
{
	MAKE_ROOM(h->ret->r, h->ret->n, h->cap);
	return &h->ret->r[h->ret->n++];
}

/* Whether a race is not certain: it depends on a launch's wait or an event that is not known, or on
 * the documentation alone. */
static bool is_doubtful(const struct order_race *r)
{
	return r->early & (ORDER_EARLY_UNKNOWN | ORDER_EARLY_BETWEEN | ORDER_EARLY_EVENT |
				  ORDER_EARLY_VALUE) ||
	       (r->early & ORDER_EARLY_QUIET && r->a.seq == r->behind);
}

static enum order_tier tier_of(const struct hunt *h, const struct order_race *r)
{
	if (is_doubtful(r) || r->flag || (r->staged == ORDER_STAGED_SMALL && !h->o->strict))
		return ORDER_POSSIBLE;
	if (r->unread || r->a.how == ORDER_MAYBE || r->b.how == ORDER_MAYBE)
		return ORDER_POSSIBLE;
	return r->a.how == ORDER_POINTS || r->b.how == ORDER_POINTS ? ORDER_LIKELY : ORDER_CERTAIN;
}

/* Counts a pair once: all its pieces of memory come one after the other. */
static void count_pair(struct order_race *r, uint64_t b)
{
	r->count += b != r->last_b;
	r->last_b = b;
}

/* Adds a race, or counts it to the known one of the same places. race: all members but count,
 * last_b and tier. */
static void note_race(struct hunt *h, const struct order_race *race)
{
	struct order_race *r;
	size_t slot = 0;

	if (2 * (h->ret->n + 1) > h->nslots)
		more_slots(h);
	r = known(h, &race->a, &race->b, &slot);
	if (r && tier_of(h, race) < r->tier) { /* the surer of the two is kept */
		count_pair(r, race->b.seq);
		const uint64_t count = r->count, last_b = r->last_b;

		*r = *race;
		r->count = count;
		r->last_b = last_b;
		r->tier = tier_of(h, r);
		return;
	}
	if (r) {
		if (r->a.seq == race->a.seq && r->b.seq == race->b.seq &&
			r->addr + r->size == race->addr)
			r->size += race->size; /* the same pair, further on */
		count_pair(r, race->b.seq);
		return;
	}
	if (h->ret->n >= ORDER_RACES_MAX) {
		h->ret->more++;
		return;
	}
	r = new_race(h);
	h->slots[slot] = (uint32_t)h->ret->n;
	*r = *race;
	r->count = 1;
	r->last_b = race->b.seq;
	r->tier = tier_of(h, r);
}

static void conflict(void *arg, const struct ledger_touch *earlier, const struct ledger_touch *now,
	uint64_t addr, uint64_t end)
{
	struct hunt *h = arg;
	struct order_race r = {.a = party(h, earlier),
		.b = party(h, now),
		.addr = addr,
		.size = end - addr,
		.alloc = h->alloc,
		.alloc_size = h->alloc_size,
		.staged = earlier->kind == SBT_COPY ? staged_is(&h->staged, earlier->seq, h->now)
						    : ORDER_NOT_STAGED};

	r.flag = (r.b.stream == SBT_NO_ID && earlier->polls) ||
		 (r.a.stream == SBT_NO_ID && now->polls);
	if (h->now->early & ORDER_EARLY_EVENT)
		r.early = ORDER_EARLY_EVENT;
	else if (h->now->early & ORDER_EARLY_VALUE || earlier->doubt)
		r.early = ORDER_EARLY_VALUE;
	else if (h->now->early & ORDER_EARLY_TRIGGER && r.a.seq == h->now->behind)
		r.early = ORDER_EARLY_TRIGGER;
	if (h->now->early & ORDER_EARLY && r.a.stream == r.b.stream && r.a.how != ORDER_DEATH) {
		r.early = h->now->early & (uint16_t) ~(ORDER_EARLY_EVENT | ORDER_EARLY_VALUE);
		r.behind = h->now->behind;
	}
	if (r.a.seq > r.b.seq) { /* that one came late */
		const struct order_party late = r.b;

		r.b = r.a;
		r.a = late;
	}
	if (h->o->each)
		h->o->each(h->o->each_arg, &r.a, &r.b);
	note_race(h, &r);
}

/* --- one command --- */

static const struct dead *dead_at(const struct hunt *h, uint64_t addr)
{
	for (uint64_t i = 0; i < h->ndead && i < DEAD_MAX; i++) {
		const struct dead *d = &h->dead[(h->ndead - 1 - i) % DEAD_MAX];

		if (addr >= d->addr && addr < d->end)
			return d;
	}
	return NULL;
}

/* The ledger's book for the bytes at addr. Memory that was freed in stream order keeps its own
 * until it is allocated again. */
static uint64_t key_of(struct hunt *h, const struct sbt_cmd *c, uint64_t addr)
{
	const struct dead *d;
	struct state_alloc a;

	h->alloc = h->alloc_size = 0;
	if (c->kind == SBT_ALLOC && addr - c->u.alloc.addr < c->u.alloc.size) {
		h->alloc = addr;
		h->alloc_size = c->u.alloc.size;
		return c->seq + 1;
	}
	if (state_alloc_at(h->s, addr, &a)) {
		h->alloc = a.addr;
		h->alloc_size = a.size;
		return a.alloc_seq + 1;
	}
	d = dead_at(h, addr);
	if (!d)
		return 0;
	h->alloc = d->addr;
	h->alloc_size = d->end - d->addr;
	return d->key;
}

/* kernel: of the touch, SBT_NO_ID none. A range of an exact set may reach over several allocations.
 */
static void touch_all(struct hunt *h, const struct sbt_cmd *c, const struct order_item *it,
	const struct order_accesses *l, uint32_t kernel)
{
	const bool polls = kernel != HOST_TOUCH && h->now_polls;

	h->now = it;
	for (size_t i = 0; i < l->n; i++) {
		const struct order_access *a = &l->a[i];
		const struct ledger_touch t = {.seq = it->seq,
			.lane = it->lane,
			.index = it->index,
			.how = (uint16_t)a->how,
			.kernel = kernel,
			.stack = c->stack,
			.kind = c->kind,
			.polls = polls,
			.doubt = it->early & ORDER_EARLY_VALUE};

		for (uint64_t addr = a->addr; addr < a->end;) {
			const uint64_t key = key_of(h, c, addr), over = h->alloc + h->alloc_size;
			const uint64_t end =
				h->alloc_size && over > addr && over < a->end ? over : a->end;

			ledger_touch(h->ledger, key, it, &t, addr, end);
			addr = end;
		}
	}
	if (l->unknown)
		h->ret->unknown++;
}

static bool early_of(void *arg, uint64_t seq, struct order_early *ret)
{
	const struct order_source *src = ((struct hunt *)arg)->o->source;

	return src->early(src->arg, seq, ret, NULL);
}

static bool code_of(void *arg, uint64_t kernel, struct order_early *ret)
{
	struct hunt *h = arg;
	bool known = false;

	err_free(waits_kernel(&h->waits, h->trace, h->s, kernel, ret, &known));
	return known;
}

/* A programmatic dependent launch touches some of its memory before it waits. */
static void touch_before_wait(struct hunt *h, const struct sbt_cmd *c, const struct order_item *it)
{
	const struct order_source *src = h->o->source;
	const struct order_item *begins = fold_before_wait(h->fold);
	struct order_early x;

	h->ret->by_attribute += early_records(c);
	if (c->kind != SBT_LAUNCH ||
		!(it->early & ~(ORDER_EARLY_BETWEEN | ORDER_EARLY_EVENT | ORDER_EARLY_VALUE |
				      ORDER_EARLY_TRIGGER)))
		return;
	h->ret->early++;
	h->ret->early_unknown += (it->early & ORDER_EARLY_UNKNOWN) != 0;
	h->before.n = 0;
	h->before.unknown = false;
	if (!begins || !src->early(src->arg, c->seq, &x, &h->before))
		return;
	touch_all(h, c, begins, &h->before, (uint32_t)c->u.launch.kernel);
}

/* Fills h->list with what c touches; true when the source knew it exactly. */
static bool list_accesses(struct hunt *h, const struct sbt_cmd *c)
{
	const struct order_source *src = h->o->source;

	h->list.n = 0;
	h->list.unknown = false;
	if (src && (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH) &&
		src->accesses(src->arg, c->seq, &h->list)) {
		if (src->writes_only)
			order_accesses_of(&h->list, h->s, c);
		return !src->writes_only;
	}
	h->list.n = 0;
	h->list.unknown = false;
	order_accesses_of(&h->list, h->s, c);
	return false;
}

/* Whether t may be a write of the device that came after a look at the memory; arg: what the host
 * knew to be finished then. */
static bool explains(void *arg, const struct ledger_touch *t)
{
	return t->how != ORDER_READ && t->how != ORDER_POINTS && t->kernel != HOST_TOUCH &&
	       clock_at(arg, t->lane) < t->index;
}

static bool explains_not_as_copy(void *arg, const struct ledger_touch *t)
{
	return explains(arg, t) && t->kind != SBT_COPY;
}

/* What the host knew to be finished when the contents before a change were recorded. Pages that the
 * device alone changed meanwhile may not have been recorded (capture/host/written.h), so later
 * looks at the memory say nothing. */
static struct clock *knew_at(const struct hunt *h, uint64_t since)
{
	size_t i = h->nlooks;

	while (i && h->looks[i - 1].seq > since)
		i--;
	return i ? h->looks[i - 1].knew : NULL;
}

/* Enters a change of pinned memory as the host's: a certain write where no work of the device
 * may have made it. A change that a kernel may have made is left out. One that only a copy may
 * have made is entered as possible, since the host may also have written there before the copy
 * was done. */
static void host_change(struct hunt *h, const struct sbt_cmd *c, const struct host_change *w)
{
	const uint64_t key = key_of(h, c, w->addr);
	const struct order_item it = fold_host_touch(h->fold, c->thread, c->seq);
	const bool known = w->what == CHANGE_HOST || w->what == CHANGE_DOUBT;
	struct clock *const knew = knew_at(h, w->since);
	const bool device = !known && ledger_each(h->ledger, key, w->addr, w->end, explains, knew);

	if ((device && ledger_each(h->ledger, key, w->addr, w->end, explains_not_as_copy, knew)) ||
		(!device && w->what == CHANGE_EXPLAINED))
		return;
	h->list.n = 0;
	h->list.unknown = false;
	order_access_add(&h->list, w->addr, w->end,
		device || w->what == CHANGE_DOUBT || w->what == CHANGE_UNSURE ? ORDER_MAYBE
									      : ORDER_WRITE);
	touch_all(h, c, &it, &h->list, HOST_TOUCH);
}

/* Whether the recording looked at all pinned memory before command c; see capture/host/host.c. */
static bool looks_at_all(const struct sbt_cmd *c)
{
	return !(c->flags & SBT_F_GRAPH) &&
	       (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH ||
		       (c->kind == SBT_COPY && c->u.copy.dir != SBT_COPY_H2D));
}

/* Enters the host's changes of pinned memory before command c. */
static void host_changes(struct hunt *h, const struct sbt_cmd *c)
{
	bool any = false;

	while (h->next_change < h->nchanges && h->changes[h->next_change].seq < c->seq)
		h->next_change++;
	for (; h->next_change < h->nchanges && h->changes[h->next_change].seq == c->seq;
		h->next_change++) {
		host_change(h, c, &h->changes[h->next_change]);
		any = true;
	}
	if (any && looks_at_all(c)) {
		MAKE_ROOM(h->looks, h->nlooks, h->cap_looks);
		h->looks[h->nlooks++] =
			(struct look){c->seq, clock_ref(fold_host_knows(h->fold, c->thread))};
	}
}

static void bury(struct hunt *h, const struct sbt_cmd *c)
{
	struct state_alloc a;

	if (c->kind != SBT_FREE || c->result || !state_alloc_at(h->s, c->u.free.addr, &a))
		return;
	if (c->u.free.stream < SBT_NO_ID) {
		struct dead *d = &h->dead[h->ndead++ % DEAD_MAX];

		if (d->key)
			ledger_forget(h->ledger, d->key);
		*d = (struct dead){a.addr, a.addr + a.size, a.alloc_seq + 1};
	} else {
		ledger_forget(h->ledger, a.alloc_seq + 1);
	}
}

/* New memory lies where memory was freed in stream order: forgets the freed memory. */
static void unbury(struct hunt *h, uint64_t addr, uint64_t end)
{
	for (uint64_t i = 0; i < h->ndead && i < DEAD_MAX; i++) {
		struct dead *d = &h->dead[i];

		if (d->key && d->addr < end && addr < d->end) {
			ledger_forget(h->ledger, d->key);
			*d = (struct dead){0};
		}
	}
}

static void unbury_allocated(struct hunt *h, const struct sbt_cmd *c)
{
	if (c->kind == SBT_ALLOC && !c->result)
		unbury(h, c->u.alloc.addr, c->u.alloc.addr + c->u.alloc.size);
}

/* --- nodes of a graph --- */

struct in_graph {
	struct hunt *h;
	const struct sbt_cmd *c;
	uint32_t stream;
};

static struct order_party node_party(const struct in_graph *g, const struct nodes_party *p)
{
	return (struct order_party){.seq = g->c->seq,
		.stream = g->stream,
		.kernel = p->kernel,
		.stack = g->c->stack,
		.node = p->node,
		.kind = p->kind,
		.how = p->how};
}

static void node_race(void *arg, const struct nodes_race *r)
{
	const struct in_graph *g = arg;
	struct hunt *h = g->h;

	if (h->ret->n >= ORDER_RACES_MAX) {
		h->ret->more++;
		return;
	}
	(void)key_of(h, g->c, r->addr);
	*new_race(h) = (struct order_race){.a = node_party(g, &r->a),
		.b = node_party(g, &r->b),
		.tier = r->tier,
		.addr = r->addr,
		.size = r->end - r->addr,
		.alloc = h->alloc,
		.alloc_size = h->alloc_size,
		.count = 1,
		.early = r->early ? ORDER_EARLY | ORDER_EARLY_UNKNOWN : 0};
	h->ret->early_edges += r->early;
}

/* A node that no command kind describes may allocate memory. */
static bool may_allocate(const struct state *s, uint32_t graph)
{
	struct state_graph g;
	struct state_node n;

	for (unsigned i = 0; state_graph_node(s, graph, i, &n); i++)
		if (n.type == SBT_NODE_OTHER && !n.disabled)
			return true;
	return !state_graph_by_id(s, graph, &g) || g.before;
}

/* The nodes, once for each graph, at its first launch. h->list: what the launch touches; exact:
 * whether that is known to the byte. Memory of the graph's own may lie where the program freed
 * other memory: what the launch touches there is no use after the free. */
static void inside_graph(
	struct hunt *h, const struct sbt_cmd *c, const struct order_item *it, bool exact)
{
	struct in_graph g = {.h = h, .c = c, .stream = fold_stream(h->fold, it->lane)};
	const uint64_t id = c->u.graph_launch.exec;

	if (id >= 1u << 24) /* as in the fold */
		return;
	if (id >= h->ngraphs) {
		const size_t n = (id + 1 + 63) & ~(size_t)63;

		h->graphs = xrealloc(h->graphs, n);
		memset(h->graphs + h->ngraphs, 0, n - h->ngraphs);
		h->ngraphs = n;
	}
	if (!h->graphs[id]) {
		(void)nodes_races(h->s, (uint32_t)id, exact ? &h->list : NULL, node_race, &g);
		h->graphs[id] = may_allocate(h->s, (uint32_t)id) ? GRAPH_ALLOCATES : GRAPH_SEEN;
	}
	for (size_t i = 0; i < h->list.n && h->graphs[id] == GRAPH_ALLOCATES; i++)
		unbury(h, h->list.a[i].addr, h->list.a[i].end);
}

static void found_unread(
	void *arg, const struct unread_copy *copy, const struct sbt_cmd *by, enum order_unread why)
{
	struct hunt *h = arg;
	struct order_race r = {.unread = why, .addr = copy->addr, .size = copy->end - copy->addr};

	r.a = (struct order_party){.seq = copy->at.seq,
		.stream = fold_stream(h->fold, copy->at.lane),
		.kernel = SBT_NO_ID,
		.stack = copy->stack,
		.node = SBT_NO_ID,
		.kind = SBT_COPY,
		.how = ORDER_WRITE};
	r.b = (struct order_party){.seq = by->seq,
		.stream = SBT_NO_ID,
		.kernel = SBT_NO_ID,
		.stack = by->stack,
		.node = SBT_NO_ID,
		.kind = by->kind,
		.how = ORDER_READ};
	(void)key_of(h, by, copy->addr);
	r.alloc = h->alloc;
	r.alloc_size = h->alloc_size;
	note_race(h, &r);
}

/* The host's reads are not recorded; which of its threads waited says nothing about another one
 * that reads. */
static void judge_unread(struct hunt *h, const struct sbt_cmd *c, const struct order_item *it,
	const struct clock *knows)
{
	if (!h->o->threads_apart && !(c->flags & SBT_F_GRAPH))
		unread_command(&h->unread, h->s, c, it, &h->list, knows);
}

/* Called where c was submitted: enters what the host did before it. */
static void submitted(struct hunt *h, const struct sbt_cmd *c)
{
	if (h->nchanges)
		host_changes(h, c);
	unbury_allocated(h, c);
}

/* Called where c is executed. True when it runs on a stream. */
static bool executed(struct hunt *h, const struct sbt_cmd *c, struct order_item *it)
{
	const bool runs = fold_apply(h->fold, h->s, c, it);

	staged_note(&h->staged, h->fold, h->s, c);
	if (!runs)
		return false;
	const bool exact = list_accesses(h, c);
	if (c->kind == SBT_GRAPH_LAUNCH)
		inside_graph(h, c, it, exact);
	touch_before_wait(h, c, it);
	touch_all(h, c, it, &h->list,
		c->kind == SBT_LAUNCH ? (uint32_t)c->u.launch.kernel : SBT_NO_ID);
	return fold_stream(h->fold, it->lane) != SBT_NO_ID;
}

static struct err *one(struct hunt *h, const struct sbt_cmd *c, enum feed_how how)
{
	struct clock *knows;
	struct order_item it;
	bool works = false;

	TRY(polls_launch(&h->polls, h->trace, h->s, c, &h->now_polls));
	knows = clock_ref(fold_host_knows(h->fold, c->thread));
	if (how != FEED_LATE)
		submitted(h, c);
	if (how == FEED_HELD)
		fold_held(h->fold, c);
	else
		works = executed(h, c, &it);
	if (how != FEED_HELD)
		judge_unread(h, c, works ? &it : NULL, knows);
	clock_drop(knows);
	if (how == FEED_LATE)
		return NULL;
	bury(h, c);
	h->ret->commands++;
	return state_apply(h->s, c);
}

static void add_change(struct hunt *h, struct host_change c)
{
	MAKE_ROOM(h->changes, h->nchanges, h->cap_changes);
	h->changes[h->nchanges++] = c;
}

/* Keeps a change also where a replay explained all of it by the device: in a run in which a copy
 * came last, the host's writes are lost, and the device explains the bytes. */
static void add_news(void *arg, const struct news_change *c)
{
	const struct order_source *src = ((struct hunt *)arg)->o->source;
	const bool explained = src && src->knows_host && src->knows_host(src->host_arg, c->m->seq);

	add_change(arg, (struct host_change){c->m->seq, c->addr, c->end, c->since,
				explained ? CHANGE_EXPLAINED
				: c->sure ? CHANGE_NEWS
					  : CHANGE_UNSURE});
}

static int by_change(const void *pa, const void *pb)
{
	const struct host_change *a = pa, *b = pb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Collects the changes of host memory; those of host functions are left out. */
static struct err *read_changes(
	struct hunt *h, struct sbt_reader *trace, uint64_t first, uint64_t last)
{
	const struct order_source *src = h->o->source;
	struct news news = {0};
	struct err *e = sbt_reader_memory(trace, first, last, news_note, &news);

	if (!e)
		e = news_tell(&news, trace, add_news, h);
	news_free(&news);
	TRY(e);
	for (size_t i = 0; src && i < src->nchanges; i++)
		if (!src->changes[i].by)
			add_change(h, (struct host_change){src->changes[i].seq,
					      src->changes[i].addr, src->changes[i].end, 0,
					      src->changes[i].doubt ? CHANGE_DOUBT : CHANGE_HOST});
	if (h->nchanges)
		qsort(h->changes, h->nchanges, sizeof *h->changes, by_change);
	return NULL;
}

static struct err *hunt(struct hunt *h, struct sbt_reader *trace, uint64_t first, uint64_t last,
	struct feed **ret_feed)
{
	const struct sbt_cmd *c;
	struct sbt_cmd end = {0};
	enum feed_how how;

	TRY(read_changes(h, trace, first, last));
	TRY(state_at(&h->s, trace, first ? first - 1 : 0));
	TRY(feed_open(ret_feed, trace, h->s, h->fold, h->o->source, first, last));
	for (uint64_t n = 0;; n++) {
		if (!(n & 1023) && h->o->interrupt && *h->o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(feed_next(*ret_feed, &c, &how));
		if (!c)
			break;
		if (how != FEED_LATE)
			end = (struct sbt_cmd){.seq = c->seq,
				.kind = c->kind,
				.thread = c->thread,
				.stack = c->stack};
		TRY(one(h, c, how));
	}
	if (!h->o->last && end.seq) /* else there is more behind it */
		unread_end(&h->unread, &end, fold_host_knows(h->fold, end.thread));
	return NULL;
}

/* Drops a possible race of two commands for which a surer one was found. */
static void drop_weaker(struct order_races *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		bool weaker = false;

		for (size_t k = 0; r->r[i].tier == ORDER_POSSIBLE && k < n &&
				   r->r[k].tier != ORDER_POSSIBLE && !weaker;
			k++)
			weaker = r->r[k].a.seq == r->r[i].a.seq && r->r[k].b.seq == r->r[i].b.seq &&
				 r->r[k].a.node == r->r[i].a.node &&
				 r->r[k].b.node == r->r[i].b.node;
		if (!weaker)
			r->r[n++] = r->r[i];
	}
	r->n = n;
}

static int by_tier(const void *pa, const void *pb)
{
	const struct order_race *a = pa, *b = pb;

	if (a->tier != b->tier)
		return a->tier < b->tier ? -1 : 1;
	if (a->b.seq != b->b.seq)
		return a->b.seq < b->b.seq ? -1 : 1;
	return a->a.seq < b->a.seq ? -1 : a->a.seq > b->a.seq;
}

void order_races_sort(struct order_races *r)
{
	if (r->n)
		qsort(r->r, r->n, sizeof *r->r, by_tier);
}

struct err *order_races(
	struct order_races *ret, struct sbt_reader *trace, const struct order_options *o)
{
	const uint64_t first = o->first ? o->first : sbt_reader_first_seq(trace);
	const uint64_t last = o->last ? o->last : sbt_reader_last_seq(trace);
	struct hunt *h = xcalloc(1, sizeof *h);
	struct feed *feed = NULL;
	struct err *e;

	*ret = (struct order_races){0};
	h->ret = ret;
	h->o = o;
	h->trace = trace;
	h->fold = fold_new(o->threads_apart);
	if (o->source && o->source->early)
		fold_on_early(h->fold, early_of, h);
	fold_on_code(h->fold, code_of, h);
	h->ledger = ledger_new(conflict, h);
	h->unread.found = found_unread;
	h->unread.arg = h;
	e = hunt(h, trace, first, last, &feed);
	feed_close(feed);
	ret->coarse = ledger_coarse(h->ledger);
	order_races_sort(ret);
	drop_weaker(ret);
	for (size_t i = 0; i < ret->n; i++)
		ret->r[i].hip = sbt_meta_is_hip(sbt_reader_meta(trace));
	ledger_free(h->ledger);
	fold_free(h->fold);
	state_free(h->s);
	free(h->slots);
	for (size_t i = 0; i < h->nlooks; i++)
		clock_drop(h->looks[i].knew);
	free(h->looks);
	free(h->graphs);
	free(h->changes);
	staged_free(&h->staged);
	polls_free(&h->polls);
	waits_free(&h->waits);
	free(h->list.a);
	free(h->before.a);
	free(h);
	if (e)
		order_races_free(ret);
	return e;
}

void order_races_free(struct order_races *r)
{
	free(r->r);
	*r = (struct order_races){0};
}
