/* SPDX-License-Identifier: Apache-2.0
 *
 * The happens-before graph kept whole; see order.h. An item's clock answers whether, its edges
 * answer why.
 */
#include <stdlib.h>
#include "order/fold/feed.h"
#include "base/first-where.h"
#include "order/races/ptx-waits.h"
#include "order/order.h"

struct edge {
	uint64_t from, via;
	enum order_edge kind;
};

struct item {
	struct order_item is;
	size_t edge, nedges; /* the first of its edges */
};

struct lane_items {
	uint64_t *seqs; /* of items 1 to n */
	uint32_t n, cap;
};

struct order {
	struct fold *fold;
	struct item *items; /* in order of seq */
	size_t n, cap;
	struct edge *edges;
	size_t nedges, cap_edges;
	struct lane_items *lanes;
	uint32_t nlanes;
	struct state *s;
	bool waits_for_values;
	volatile bool *interrupt;
	const struct order_source *source; /* these while it is made */
	struct sbt_reader *trace;
	struct waits waits;
};

static bool early_of(void *arg, uint64_t seq, struct order_early *ret)
{
	const struct order *o = arg;

	return o->source->early(o->source->arg, seq, ret, NULL);
}

static bool code_of(void *arg, uint64_t kernel, struct order_early *ret)
{
	struct order *o = arg;
	bool known = false;

	err_free(waits_kernel(&o->waits, o->trace, o->s, kernel, ret, &known));
	return known;
}

static void add_edge(void *arg, uint64_t from, enum order_edge kind, uint64_t via)
{
	struct order *o = arg;

	MAKE_ROOM(o->edges, o->nedges, o->cap_edges);
	o->edges[o->nedges++] = (struct edge){from, via, kind};
}

static void note_lane(struct order *o, const struct order_item *it)
{
	struct lane_items *l;

	if (it->lane >= o->nlanes) {
		o->lanes = xrealloc(o->lanes, (it->lane + 1) * sizeof *o->lanes);
		while (o->nlanes <= it->lane)
			o->lanes[o->nlanes++] = (struct lane_items){0};
	}
	l = &o->lanes[it->lane];
	/* The host's lane also counts what it learned from a synchronous copy, which is an item
	 * elsewhere: such a number is that of the host's item before it. */
	while (l->n < it->index) {
		const uint64_t last = l->n ? l->seqs[l->n - 1] : 0;

		MAKE_ROOM(l->seqs, l->n, l->cap);
		l->seqs[l->n] = l->n + 1 == it->index ? it->seq : last;
		l->n++;
	}
}

static struct err *keep(struct order *o, const struct order_item *it, size_t edge)
{
	if (o->n >= ORDER_KEEP_MAX)
		return err_cure(err_new(ERR_LIMIT,
					"more than %u commands are too many for a graph kept whole",
					ORDER_KEEP_MAX),
			"ask about a range of them");
	MAKE_ROOM(o->items, o->n, o->cap);
	o->items[o->n] = (struct item){*it, edge, o->nedges - edge};
	clock_ref(o->items[o->n++].is.clock);
	note_lane(o, it);
	return NULL;
}

/* What the host changed before c is an item of its own. */
static struct err *host_changes(
	struct order *o, const struct order_options *opt, size_t *next, const struct sbt_cmd *c)
{
	const size_t edge = o->nedges;

	if (c->seq >= ORDER_STEP_SEQS)
		return err_new(ERR_BAD_TRACE, "#%llu is no number of a command",
			(unsigned long long)c->seq);
	while (*next < opt->nchanges &&
		(opt->changes[*next].seq < c->seq || opt->changes[*next].by))
		++*next;
	if (*next == opt->nchanges || opt->changes[*next].seq != c->seq)
		return NULL;
	const struct order_item it = fold_host_touch(o->fold, c->thread, c->seq | ORDER_HOST);
	return keep(o, &it, edge);
}

static struct err *one(struct order *o, const struct order_options *opt, size_t *change,
	const struct sbt_cmd *c, enum feed_how how)
{
	struct order_item it;

	if (how != FEED_LATE)
		TRY(host_changes(o, opt, change, c));
	const size_t edge = o->nedges;
	if (how == FEED_HELD)
		fold_held(o->fold, c);
	else if (fold_apply(o->fold, o->s, c, &it)) {
		const struct order_item *begins = fold_before_wait(o->fold);

		if (begins)
			it.clock = begins->clock;
		TRY(keep(o, &it, edge));
	}
	if (how == FEED_LATE)
		return NULL;
	if (opt->before)
		TRY(opt->before(opt->before_arg, o, o->s, c));
	TRY(state_apply(o->s, c));
	return opt->after ? opt->after(opt->after_arg, o->s, c) : NULL;
}

static int by_key(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	const uint64_t x = order_key(a->is.seq), y = order_key(b->is.seq);

	return (x > y) - (x < y);
}

static struct err *read_all(struct order *o, const struct order_options *opt, struct feed *feed)
{
	const struct sbt_cmd *c;
	enum feed_how how;
	size_t change = 0;

	for (uint64_t n = 0;; n++) {
		if (!(n & 1023) && o->interrupt && *o->interrupt)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(feed_next(feed, &c, &how));
		if (!c)
			break;
		TRY(one(o, opt, &change, c, how));
	}
	o->waits_for_values = feed_waits(feed);
	if (o->waits_for_values && o->n)
		qsort(o->items, o->n, sizeof *o->items, by_key);
	return NULL;
}

struct err *order_open(
	struct order **ret, struct sbt_reader *trace, const struct order_options *opt)
{
	const uint64_t first = opt->first ? opt->first : sbt_reader_first_seq(trace);
	const uint64_t last = opt->last ? opt->last : sbt_reader_last_seq(trace);
	struct feed *feed = NULL;
	struct order *o = xcalloc(1, sizeof *o);
	struct err *e;

	o->fold = fold_new(opt->threads_apart);
	o->interrupt = opt->interrupt;
	fold_on_edge(o->fold, add_edge, o);
	o->source = opt->source;
	if (!opt->strict)
		fold_small_copies_finish(o->fold);
	if (opt->early_in_order)
		fold_early_in_order(o->fold);
	if (opt->source && opt->source->early)
		fold_on_early(o->fold, early_of, o);
	o->trace = trace;
	fold_on_code(o->fold, code_of, o);
	e = state_at(&o->s, trace, first ? first - 1 : 0);
	if (!e)
		state_without_writers(o->s);
	if (!e)
		e = feed_open(&feed, trace, o->s, o->fold, opt->source, first, last);
	if (!e)
		e = read_all(o, opt, feed);
	waits_free(&o->waits);
	feed_close(feed);
	if (e) {
		order_close(o);
		return e;
	}
	*ret = o;
	return NULL;
}

void order_close(struct order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n; i++)
		clock_drop(o->items[i].is.clock);
	for (uint32_t i = 0; i < o->nlanes; i++)
		free(o->lanes[i].seqs);
	free(o->items);
	free(o->edges);
	free(o->lanes);
	fold_free(o->fold);
	state_free(o->s);
	free(o);
}

/* --- asking --- */

const struct state *order_state(const struct order *o)
{
	return o->s;
}

bool order_waits(const struct order *o)
{
	return o->waits_for_values;
}

static const struct item *find(const struct order *o, uint64_t seq)
{
	const uint64_t key = order_key(seq);

	/* Often the last one is wanted while the graph is made. */
	if (!o->n || order_key(o->items[o->n - 1].is.seq) <= key)
		return o->n && order_key(o->items[o->n - 1].is.seq) == key ? &o->items[o->n - 1]
									   : NULL;
	const size_t at = FIRST_WHERE(o->n, i, order_key(o->items[i].is.seq) >= key);

	return at < o->n && order_key(o->items[at].is.seq) == key ? &o->items[at] : NULL;
}

bool order_item(const struct order *o, uint64_t seq, struct order_item *ret)
{
	const struct item *it = find(o, seq);

	if (it)
		*ret = it->is;
	return it != NULL;
}

bool order_item_at(const struct order *o, size_t i, struct order_item *ret)
{
	if (i >= o->n)
		return false;
	*ret = o->items[i].is;
	return true;
}

size_t order_items(const struct order *o)
{
	return o->n;
}

uint32_t order_lanes(const struct order *o)
{
	return fold_lanes(o->fold);
}

uint32_t order_stream_of(const struct order *o, uint32_t lane)
{
	return fold_stream(o->fold, lane);
}

uint64_t order_seq_on(const struct order *o, uint32_t lane, uint32_t index)
{
	const struct lane_items *l = lane < o->nlanes ? &o->lanes[lane] : NULL;

	if (!l || !l->n || !index)
		return 0;
	return l->seqs[(index < l->n ? index : l->n) - 1];
}

static bool before(const struct item *a, const struct item *b)
{
	return fold_before(a->is.lane, a->is.index, &b->is);
}

bool order_before(const struct order *o, uint64_t a, uint64_t b)
{
	const struct item *x = find(o, a), *y = find(o, b);

	return x && y && x != y && before(x, y);
}

/* --- why --- */

const char *order_edge_name(enum order_edge e)
{
	static const char *const names[] = {[ORDER_EDGE_STREAM] = "stream order",
		[ORDER_EDGE_EVENT] = "event wait",
		[ORDER_EDGE_DEFAULT] = "legacy default stream",
		[ORDER_EDGE_HOST] = "submitted after",
		[ORDER_EDGE_LEARNED] = "host waited",
		[ORDER_EDGE_VALUE] = "stream memory wait",
		[ORDER_EDGE_BEGUN] = "begins after it began",
		[ORDER_EDGE_WAITED] = "griddepcontrol.wait"};

	return (unsigned)e < sizeof names / sizeof names[0] ? names[e] : "?";
}

static size_t edges_end(const struct item *x)
{
	return x->edge + x->nedges;
}

/* The step into x of a path that comes from a: across lanes when there is such a one, else along
 * the lane. */
static struct order_step step_into(
	const struct order *o, const struct item *a, const struct item *x)
{
	const struct item *front = x->is.early & ORDER_EARLY_WAITS ? find(o, x->is.behind) : NULL;
	struct order_step along = {0};
	uint64_t seq;

	if (front && (front == a || before(a, front)))
		return (struct order_step){x->is.behind, x->is.seq, ORDER_EDGE_WAITED, 0, 0};
	if (a->is.lane == x->is.lane)
		return (struct order_step){
			a->is.seq, x->is.seq, ORDER_EDGE_STREAM, 0, x->is.index - a->is.index - 1};
	for (size_t i = x->edge; i < edges_end(x); i++) {
		const struct edge *e = &o->edges[i];
		const struct item *from = find(o, e->from);
		struct order_step s = {e->from, x->is.seq, e->kind, e->via, 0};

		if (!from || (from != a && !before(a, from)))
			continue;
		/* a copy of which the host knows that its bytes are staged need not be over */
		if ((e->kind == ORDER_EDGE_HOST || e->kind == ORDER_EDGE_STREAM) &&
			!before(from, x))
			continue;
		if (e->kind != ORDER_EDGE_STREAM)
			return s;
		/* what the host learned last may be that a copy was over */
		if (order_stream_of(o, from->is.lane) != order_stream_of(o, x->is.lane))
			s.edge = ORDER_EDGE_LEARNED;
		along = s;
	}
	if (along.from)
		return along;
	/* Waiting for a whole context: its clock says how far it saw a's lane. */
	seq = order_seq_on(o, a->is.lane, clock_at(x->is.clock, a->is.lane));
	return (struct order_step){seq, x->is.seq, ORDER_EDGE_LEARNED, 0, 0};
}

/* Why a launch that may begin early is not ordered behind a, which is in front of it on its stream.
 */
static struct err *no_path_early(const struct item *a, const struct item *b)
{
	static const struct {
		uint16_t flag;
		const char *why;
	} reasons[] = {
		{ORDER_EARLY_UNKNOWN,
			"whether it waits for it (griddepcontrol.wait) before it touches memory is not known"},
		{ORDER_EARLY_BETWEEN,
			"it does not wait for it (griddepcontrol.wait) first; an event was recorded or waited for between them, and whether they "
			"overlap then is not documented"},
		{ORDER_EARLY_QUIET,
			"it does not wait for it (griddepcontrol.wait) first; the launch in front never lets it begin before its own blocks have ended, "
			"but its memory may not be visible by then"},
		{ORDER_EARLY,
			"it does not wait for it (griddepcontrol.wait) before it touches memory"},
	};
	const bool in_front = a->is.seq == b->is.behind;
	unsigned i = 0;

	while (!(b->is.early & reasons[i].flag) ||
		(reasons[i].flag == ORDER_EARLY_QUIET && !in_front))
		i++;
	if (!in_front && reasons[i].flag == ORDER_EARLY)
		return err_new(ERR_NOT_FOUND,
			"#%llu may begin before #%llu has finished: it is a programmatic dependent launch behind #%llu, and not each of the "
			"launches from there on waits for the one in front of it (griddepcontrol.wait) before it touches memory and lets the next one begin",
			(unsigned long long)b->is.seq, (unsigned long long)a->is.seq,
			(unsigned long long)b->is.behind);
	return err_new(ERR_NOT_FOUND,
		"#%llu may begin before #%llu has finished: it is a programmatic dependent launch behind #%llu, and %s",
		(unsigned long long)b->is.seq, (unsigned long long)a->is.seq,
		(unsigned long long)b->is.behind, reasons[i].why);
}

static struct err *no_path(const struct order *o, const struct item *a, const struct item *b)
{
	const uint32_t stream = order_stream_of(o, a->is.lane);
	const uint64_t knows = order_seq_on(o, a->is.lane, clock_at(b->is.clock, a->is.lane));
	struct buf why = BUF_INIT;
	struct err *e;

	if (b->is.early & ORDER_EARLY && order_stream_of(o, b->is.lane) == stream &&
		a->is.seq < b->is.seq)
		return no_path_early(a, b);
	if (b->is.early & ORDER_EARLY_TRIGGER && b->is.behind == a->is.seq)
		buf_printf(&why,
			"it waits for an event that #%llu records when it lets others begin, not when it has ended",
			(unsigned long long)a->is.seq);
	else if (stream == SBT_NO_ID)
		buf_printf(&why, "what the host did at #%llu is not ordered before it",
			(unsigned long long)a->is.seq);
	else if (knows)
		buf_printf(&why, "of stream %u it waits for nothing after #%llu", stream,
			(unsigned long long)knows);
	else
		buf_printf(&why, "it waits for nothing of stream %u", stream);
	e = err_new(ERR_NOT_FOUND, "#%llu may begin before #%llu has finished: %s",
		(unsigned long long)b->is.seq, (unsigned long long)a->is.seq, buf_cstr(&why));
	buf_free(&why);
	return e;
}

static struct err *known(const struct order *o, uint64_t seq, const struct item **ret)
{
	*ret = find(o, seq);
	if (*ret)
		return NULL;
	return err_new(ERR_NOT_FOUND,
		"#%llu is not in the graph: it neither runs on a stream nor tells the host that something is finished",
		(unsigned long long)seq);
}

struct err *order_path(
	const struct order *o, uint64_t sa, uint64_t sb, struct order_step **ret, size_t *ret_n)
{
	const struct item *a, *b, *x;
	struct order_step *steps = NULL;
	size_t n = 0, cap = 0;

	TRY(known(o, sa, &a));
	TRY(known(o, sb, &b));
	if (a == b || !before(a, b))
		return no_path(o, a, b);
	for (x = b; x != a; x = find(o, steps[n - 1].from)) {
		struct order_step s = step_into(o, a, x);

		BUG_ON(!s.from || s.from == s.to);
		if (n && s.edge == ORDER_EDGE_STREAM && steps[n - 1].edge == ORDER_EDGE_STREAM) {
			steps[n - 1].from = s.from;
			steps[n - 1].skipped += s.skipped + 1;
			continue;
		}
		MAKE_ROOM(steps, n, cap);
		steps[n++] = s;
	}
	for (size_t i = 0; i < n / 2; i++) {
		const struct order_step t = steps[i];

		steps[i] = steps[n - 1 - i];
		steps[n - 1 - i] = t;
	}
	*ret = steps;
	*ret_n = n;
	return NULL;
}

/* --- drawing --- */

static void dot_lane(struct buf *out, const struct order *o, uint32_t lane,
	void (*label)(void *arg, struct buf *out, uint64_t seq), void *arg)
{
	const uint32_t stream = order_stream_of(o, lane);

	buf_printf(out, "  subgraph cluster_%u {\n    label=\"", lane);
	if (stream == SBT_NO_ID)
		buf_str(out, "host");
	else
		buf_printf(out, "stream %u", stream);
	buf_str(out, "\";\n");
	for (size_t i = 0; i < o->n; i++) {
		struct buf text = BUF_INIT;

		if (o->items[i].is.lane != lane)
			continue;
		buf_printf(out, "    n%llu [label=\"", (unsigned long long)o->items[i].is.seq);
		if (label)
			label(arg, &text, o->items[i].is.seq);
		else
			buf_printf(&text, "#%llu", (unsigned long long)o->items[i].is.seq);
		for (size_t k = 0; k < text.len; k++) {
			if (text.data[k] == '"' || text.data[k] == '\\')
				buf_byte(out, '\\');
			buf_byte(out, text.data[k]);
		}
		buf_str(out, "\"];\n");
		buf_free(&text);
	}
	buf_str(out, "  }\n");
}

struct err *order_dot(struct buf *out, const struct order *o,
	void (*label)(void *arg, struct buf *out, uint64_t seq), void *arg)
{
	if (o->n > ORDER_DOT_MAX)
		return err_cure(
			err_new(ERR_LIMIT, "%zu commands do not fit on a picture (at most %u)",
				o->n, ORDER_DOT_MAX),
			"draw a range of them");
	buf_str(out,
		"digraph order {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
	for (uint32_t i = 0; i < o->nlanes; i++)
		if (o->lanes[i].n)
			dot_lane(out, o, i, label, arg);
	for (size_t i = 0; i < o->n; i++)
		for (size_t k = o->items[i].edge; k < edges_end(&o->items[i]); k++)
			if (find(o, o->edges[k].from))
				buf_printf(out, "  n%llu -> n%llu%s;\n",
					(unsigned long long)o->edges[k].from,
					(unsigned long long)o->items[i].is.seq,
					o->edges[k].kind == ORDER_EDGE_STREAM ? ""
					: o->edges[k].kind == ORDER_EDGE_EVENT
						? " [color=red, label=\"event\"]"
					: o->edges[k].kind == ORDER_EDGE_HOST	 ? " [style=dotted]"
					: o->edges[k].kind == ORDER_EDGE_LEARNED ? " [style=dashed]"
										 : " [color=blue]");
	buf_str(out, "}\n");
	return NULL;
}
