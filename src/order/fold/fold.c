/* SPDX-License-Identifier: Apache-2.0
 *
 * Happens-before, see fold.h.
 */
#include <stdlib.h>
#include <string.h>
#include "order/fold/fold-lanes.h"
#include "order/races/staged.h"
#include "sbt/fields.h"

struct fold *fold_new(bool threads_apart)
{
	struct fold *f = xcalloc(1, sizeof *f);

	f->threads_apart = threads_apart;
	f->host = UINT32_MAX;
	f->before_wait.lane = UINT32_MAX;
	return f;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->nlanes; i++) {
		clock_drop(f->lanes[i].base);
		clock_drop(f->lanes[i].point);
		early_free(&f->lanes[i].early);
		moment_drop(&f->lanes[i].ahead);
	}
	clock_drop(f->kept[0]);
	clock_drop(f->kept[1]);
	clock_drop(f->by_attribute);
	for (uint32_t i = 0; i < f->nevents; i++)
		moment_drop(&f->events[i]);
	for (uint32_t i = 0; i < f->nthreads; i++)
		moment_drop(&f->threads[i].to);
	values_free(&f->values);
	held_free(&f->held);
	for (uint32_t i = 0; i < f->ncontexts; i++) {
		clock_drop(f->contexts[i].all);
		free(f->contexts[i].unseen_default);
		free(f->contexts[i].unseen_ctx);
	}
	free(f->lanes);
	free(f->stream_lanes);
	free(f->events);
	free(f->contexts);
	free(f->threads);
	free(f);
}

void fold_on_edge(struct fold *f,
	void (*edge)(void *arg, uint64_t from, enum order_edge kind, uint64_t via), void *arg)
{
	f->edge = edge;
	f->edge_arg = arg;
}

void fold_on_early(
	struct fold *f, bool (*early)(void *arg, uint64_t seq, struct order_early *ret), void *arg)
{
	f->early = early;
	f->early_arg = arg;
}

void fold_on_code(struct fold *f, bool (*code)(void *arg, uint64_t kernel, struct order_early *ret),
	void *arg)
{
	f->code = code;
	f->code_arg = arg;
}

void fold_doubt(struct fold *f)
{
	f->doubt = true;
}

void fold_leaves(struct fold *f, uint64_t addr, uint64_t value)
{
	if (f->nleaves < LEAVES_MAX)
		f->leaves[f->nleaves++] = (struct sbt_cmd_batch){.addr = addr, .value = value};
}

void fold_early_in_order(struct fold *f)
{
	f->early_in_order = true;
}

const struct order_item *fold_before_wait(const struct fold *f)
{
	return f->before_wait.lane != UINT32_MAX ? &f->before_wait : NULL;
}

uint32_t fold_stream(const struct fold *f, uint32_t lane)
{
	return lane < f->nlanes ? f->lanes[lane].stream : SBT_NO_ID;
}

uint32_t fold_lanes(const struct fold *f)
{
	return f->nlanes;
}

/* --- the host --- */

/* What the host learns becomes one item of its lane, so that whatever it submits from now on is
 * known to come later. */
static struct order_item host_learns(
	struct fold *f, uint32_t thread, uint64_t seq, const struct moment *m)
{
	const uint32_t h = lane_of_thread(f, thread);

	lane_tell_edge(f, m->lane == UINT32_MAX ? 0 : m->seq, ORDER_EDGE_LEARNED, 0);
	lane_take_doubt(f, h, m->doubt);
	if (m->clock)
		lane_join(f, h, m->clock);
	return lane_advance(f, h, seq);
}

struct order_item fold_host_touch(struct fold *f, uint32_t thread, uint64_t seq)
{
	const uint32_t lane = lane_of_thread(f, thread);
	struct order_item ret = lane_advance(f, lane, seq);

	ret.early = f->lanes[lane].doubt ? ORDER_EARLY_VALUE : 0;
	return ret;
}

struct clock *fold_host_knows(struct fold *f, uint32_t thread)
{
	const uint32_t lane = lane_of_thread(f, thread); /* may move the lanes */

	return f->lanes[lane].base;
}

static struct moment *event(struct fold *f, uint64_t id)
{
	if (id >= IDS_MAX)
		return NULL;
	GROW(f->events, f->nevents, (uint32_t)id, 0);
	return &f->events[id];
}

/* What a wait for the event is a wait for. */
static const struct moment *awaited_event(struct fold *f, const struct sbt_cmd *c, uint64_t id)
{
	const struct held_cmd *x = held_find(&f->held, c->seq);

	return x && x->waits ? &x->event : event(f, id);
}

static uint64_t event_waited_for(const struct sbt_cmd *c)
{
	if (c->kind == SBT_STREAM_WAIT)
		return c->u.stream_wait.event;
	return c->kind == SBT_SYNC && c->u.sync.scope == SBT_SYNC_EVENT ? c->u.sync.event
									: SBT_NO_ID;
}

void fold_held(struct fold *f, const struct sbt_cmd *c)
{
	struct held_cmd x = {.seq = c->seq,
		.records = c->kind == SBT_EVENT_RECORD ? c->u.event_record.event : SBT_NO_ID,
		.host = lane_moment(f, lane_of_thread(f, c->thread))};
	const uint64_t id = event_waited_for(c);
	const struct moment *e = event(f, id);

	if (e) {
		x.waits = true;
		x.wants = held_record(&f->held, id, e->seq);
		if (!x.wants)
			x.event = moment_again(e);
	}
	held_put(&f->held, x);
}

/* What is finished when such a wait ends, or such a query says yes. */
static struct moment awaited(struct fold *f, const struct state *s, const struct sbt_cmd *c,
	uint64_t scope, uint64_t stream, uint64_t ev)
{
	struct moment m = {.lane = UINT32_MAX};
	const struct moment *e;
	uint32_t lane;

	switch (scope) {
	case SBT_SYNC_STREAM:
		lane = stream >= IDS_MAX ? UINT32_MAX : lane_of_stream(f, s, (uint32_t)stream);
		if (lane != UINT32_MAX)
			m = lane_moment(f, lane);
		break;
	case SBT_SYNC_EVENT:
		e = awaited_event(f, c, ev);
		if (e && e->index) {
			m = *e;
			m.clock = clock_ref(e->is_early ? e->begun : m.clock);
			m.seq = e->is_early ? 0 : m.seq; /* it need not have finished */
			m.begun = NULL;
		}
		break;
	default:
		m.clock = clock_ref(fold_context_clock(f, c->ctx));
	}
	return m;
}

static bool on_sync(struct fold *f, const struct state *s, const struct sbt_cmd *c)
{
	struct thread *t = fold_thread(f, c->thread);

	moment_drop(&t->to);
	t->begin = c->seq;
	t->to = awaited(f, s, c, c->u.sync.scope, c->u.sync.stream, c->u.sync.event);
	return false;
}

static bool on_sync_end(struct fold *f, const struct sbt_cmd *c, struct order_item *ret)
{
	struct thread *t = fold_thread(f, c->thread);
	struct moment m = t->to;

	if (c->result || t->begin != c->u.sync_end.begin)
		return false;
	if (m.lane == UINT32_MAX)
		lanes_settle_doubts(f, c->ctx, t->begin);
	t->begin = 0;
	t->to = (struct moment){0};
	*ret = host_learns(f, c->thread, c->seq, &m);
	moment_drop(&m);
	return true;
}

static bool on_query(
	struct fold *f, const struct state *s, const struct sbt_cmd *c, struct order_item *ret)
{
	struct moment m;

	if (c->result)
		return false;
	m = awaited(f, s, c, c->u.query.scope, c->u.query.stream, c->u.query.event);
	if (m.lane == UINT32_MAX && m.clock)
		lanes_settle_doubts(f, c->ctx, c->seq);
	*ret = host_learns(f, c->thread, c->seq, &m);
	moment_drop(&m);
	return true;
}

/* cuMemFree gives back memory that nothing uses any more: it waits for the context (as the driver
 * does; the manual only says that it may). */
static bool on_free(struct fold *f, const struct sbt_cmd *c, struct order_item *ret)
{
	struct moment m = {.lane = UINT32_MAX};

	if (c->result || !c->u.free.addr)
		return false;
	m.clock = clock_ref(fold_context_clock(f, c->ctx));
	lanes_settle_doubts(f, c->ctx, c->seq);
	*ret = host_learns(f, c->thread, c->seq, &m);
	moment_drop(&m);
	return true;
}

/* --- work --- */

bool fold_is_staged(const struct state *s, const struct sbt_cmd *c)
{
	return c->kind == SBT_COPY && !c->result && !(c->flags & SBT_F_GRAPH) &&
	       state_returns(s, c) == STATE_RETURNS_PRIOR;
}

void fold_host_at(struct fold *f, uint32_t thread, uint32_t *ret_lane, uint32_t *ret_index)
{
	*ret_lane = lane_of_thread(f, thread);
	*ret_index = f->lanes[*ret_lane].index;
}

void fold_small_copies_finish(struct fold *f)
{
	f->small_copies_finish = true;
}

static void join_value(struct fold *f, uint32_t lane, const struct sbt_cmd *c)
{
	const struct moment *first =
		values_first(&f->values, &c->u.batch, lane, f->lanes[lane].base);

	if (first && !f->doubt)
		lane_join_moment(f, lane, first, ORDER_EDGE_VALUE, 0);
	else
		lane_take_doubt(f, lane, c->seq);
	f->doubt = false;
}

/* What the host knows of the lane when the call of c, the lane's last item, has returned. */
static void host_returned(
	struct fold *f, const struct state *s, uint32_t lane, const struct sbt_cmd *c)
{
	const enum state_returns how = state_returns(s, c);
	struct moment m;
	uint32_t h;

	if (how == STATE_RETURNS_AT_ONCE)
		return;
	m = lane_moment(f, lane);
	h = lane_of_thread(f, c->thread);
	if (how == STATE_RETURNS_PRIOR &&
		!(f->small_copies_finish &&
			staged_is_small(&c->u.copy))) { /* all but the copy itself */
		clock_drop(m.clock);
		m.clock = clock_with(f->lanes[lane].base, lane, m.index - 1);
	}
	lane_join(f, h, m.clock);
	lane_take_doubt(f, h, m.doubt);
	f->lanes[h].index++;
	f->lanes[h].seq = c->seq;
	moment_drop(&m);
}

/* A record that was held is not the event's last one when another was submitted since. */
static void record(struct fold *f, uint32_t lane, const struct sbt_cmd *c)
{
	struct moment *e = event(f, c->u.event_record.event), m;

	if (!e)
		return;
	m = lane_moment(f, lane);
	m.unsure = f->lanes[lane].ahead.index || f->lanes[lane].waited_for_any;
	held_recorded(&f->held, c->seq, &m);
	if (e->index && e->seq > c->seq) {
		moment_drop(&m);
		return;
	}
	moment_drop(e);
	*e = m;
}

static void after(struct fold *f, const struct state *s, uint32_t lane, const struct sbt_cmd *c)
{
	for (unsigned i = 0; i < f->nleaves && (c->kind == SBT_COPY || c->kind == SBT_FILL); i++)
		values_note(&f->values, &f->leaves[i], lane_moment(f, lane));
	switch (c->kind) {
	case SBT_EVENT_RECORD:
		record(f, lane, c);
		break;
	case SBT_BATCH:
		if (!c->u.batch.is_wait)
			values_note(&f->values, &c->u.batch, lane_moment(f, lane));
		break;
	case SBT_COPY:
	case SBT_FILL:
		host_returned(f, s, lane, c);
		break;
	default:
		break;
	}
}

/* --- launches that may begin early --- */

/* lanes of one stream for launches that none is behind; beyond, a launch waits for all */
#define SIDES_MAX 256

/* A lane of stream's on which all is finished that a launch knowing start begins after; UINT32_MAX:
 * there are too many. */
static uint32_t side_lane(struct fold *f, uint32_t lane, const struct clock *start)
{
	struct early *e = &f->lanes[lane].early;
	uint32_t ret;

	for (uint32_t i = 0; i < e->nside; i++)
		if (clock_at(start, e->side[i]) >= f->lanes[e->side[i]].index)
			return e->side[i];
	if (e->nside == SIDES_MAX)
		return UINT32_MAX;
	ret = lane_new(f, f->lanes[lane].stream);
	e = &f->lanes[lane].early;
	GROW(e->side, e->cap, e->nside, 0);
	e->side[e->nside++] = ret;
	return ret;
}

static struct order_early known_of(const struct fold *f, uint64_t seq, uint64_t kernel)
{
	struct order_early x = {0};

	if (f->early && f->early(f->early_arg, seq, &x))
		return x;
	x = (struct order_early){0};
	if (!f->code || !f->code(f->code_arg, kernel, &x))
		x = (struct order_early){0};
	return x;
}

/* An item of that lane which begins knowing clock, and is kept until the next command. */
static struct order_item put_early(
	struct fold *f, uint32_t lane, uint64_t seq, struct clock *clock, unsigned kept)
{
	struct lane *l = &f->lanes[lane];

	clock_drop(f->kept[kept]);
	f->kept[kept] = clock_ref(clock);
	l->seq = seq;
	return (struct order_item){.seq = seq, .lane = lane, .index = ++l->index, .clock = clock};
}

/* Puts it besides the lane, in one piece or two. False: there are too many already. */
static bool put_besides(struct fold *f, uint32_t lane, uint64_t seq, const struct order_early *x,
	struct clock *begin, struct clock *waited, struct order_item *ret)
{
	const bool ordered =
		x->known && x->waits && !x->before; /* it has only the part behind the wait */
	const uint32_t side = side_lane(f, lane, ordered ? waited : begin);

	if (side == UINT32_MAX)
		return false;
	lane_tell_edge(f, f->lanes[lane].early.seq, ORDER_EDGE_BEGUN, 0);
	*ret = put_early(f, side, seq, ordered ? waited : begin, 0);
	if (!x->known || !x->waits || ordered)
		return true;
	f->before_wait = *ret;
	*ret = put_early(f, side, seq, waited, 1);
	return true;
}

/* c on its stream's lane, when it may begin before the launch in front has finished. False: it is a
 * launch like others. */
static bool place_early(
	struct fold *f, uint32_t lane, const struct sbt_cmd *c, struct order_item *ret)
{
	const struct early was = f->lanes[lane].early;
	struct clock *begin, *waited;
	struct order_early x, front;
	uint16_t doubts = was.doubts;
	bool besides;

	if (f->early_in_order || !early_is(c) || !was.seq)
		return false;
	x = known_of(f, c->seq, c->u.launch.kernel);
	front = known_of(f, was.seq, was.kernel);
	begin = early_begin(&was);
	waited = early_waited(&was);
	doubts |= x.known ? 0 : ORDER_EARLY_UNKNOWN;
	besides = !x.known || !x.waits || x.before || clock_at(waited, lane) < f->lanes[lane].index;
	if (besides && !put_besides(f, lane, c->seq, &x, begin, waited, ret)) {
		clock_drop(begin);
		clock_drop(waited);
		return false;
	}
	if (!besides) {
		lane_tell_edge(f, was.seq, ORDER_EDGE_WAITED, 0);
		*ret = put_early(f, lane, c->seq, waited, 0);
	}
	ret->behind = was.seq;
	f->before_wait.early = ret->early =
		besides ? (uint16_t)(ORDER_EARLY | (x.code ? ORDER_EARLY_CODE : 0) | doubts |
				     (x.known && x.waits && !x.before ? ORDER_EARLY_WAITS : 0) |
				     (was.between ? ORDER_EARLY_BETWEEN : 0) |
				     (was.loose ? ORDER_EARLY_LOOSE : 0) |
				     (front.known && !front.triggers ? ORDER_EARLY_QUIET : 0))
			: ORDER_EARLY_WAITS;
	ret->early |= besides && x.known && x.waits ? ORDER_EARLY_BEHIND : 0;
	f->before_wait.behind = ret->behind;

	struct lane *l = &f->lanes[lane];
	struct clock *const after = x.known && x.waits ? waited : begin,
			    *done = clock_with(after, ret->lane, ret->index);

	if (besides) {
		struct clock *const p = l->early.pending;

		l->early.pending = clock_join(p, done, UINT32_MAX);
		l->early.pending_seq = c->seq;
		clock_drop(p);
	}
	early_launched(&l->early, c->seq,
		clock_ref(x.known && x.waits && x.trigger_waits ? waited : begin), done, doubts);
	l->early.kernel = c->u.launch.kernel;
	l->early.loose = was.loose || !x.known || !x.waits;
	clock_drop(begin);
	clock_drop(waited);
	return true;
}

/* What the command just put on the lane means for a launch behind it. */
static void note_front(struct fold *f, const struct sbt_cmd *c, const struct order_item *it)
{
	struct early *e = &f->lanes[it->lane].early;

	if (c->kind == SBT_LAUNCH) {
		early_usual(e, c->seq, f->lanes[it->lane].base, it->lane, it->index);
		e->kernel = c->u.launch.kernel;
	} else if (c->kind == SBT_EVENT_RECORD || c->kind == SBT_STREAM_WAIT)
		e->between = true;
	else
		early_over(e);
}

static uint16_t doubt_of(const struct fold *f, uint32_t lane)
{
	return f->lanes[lane].doubt ? ORDER_EARLY_VALUE : 0;
}

/* Which event it was is not in the trace. An order of whole commands keeps a wait that may be for
 * it behind the launch. */
static void note_attribute_event(struct fold *f, const struct sbt_cmd *c, uint32_t lane)
{
	struct clock *was = f->by_attribute;

	if (!f->early_in_order || !early_records(c))
		return;
	f->by_attribute = clock_join(was, lane_point(f, lane), UINT32_MAX);
	clock_drop(was);
}

/* The events that launch c, which became the item, records itself. */
static void note_own_event(struct fold *f, const struct sbt_cmd *c, const struct order_item *it,
	uint64_t plus_one, bool by_trigger)
{
	struct moment *e = plus_one ? event(f, plus_one - 1) : NULL;

	if (!e)
		return;
	moment_drop(e);
	*e = (struct moment){.clock = clock_with(it->clock, it->lane, it->index),
		.lane = it->lane,
		.index = it->index,
		.seq = c->seq,
		.doubt = f->lanes[it->lane].doubt,
		.is_early = true,
		.begun = clock_with(it->clock, it->lane, it->index - 1),
		.kernel = c->u.launch.kernel,
		.by_trigger = by_trigger,
		.at_start = !by_trigger || c->u.launch.trigger_at_start};
}

static void note_own_events(struct fold *f, const struct sbt_cmd *c, const struct order_item *it)
{
	if (c->kind != SBT_LAUNCH)
		return;
	note_own_event(f, c, it, c->u.launch.trigger_event, true);
	note_own_event(f, c, it, c->u.launch.begun_event, false);
}

/* The lane waits for an event that fires before its launch has ended. */
static void wait_for_begun(struct fold *f, uint32_t lane, const struct moment *e, uint64_t via)
{
	struct lane *l = &f->lanes[lane];

	if (e->lane == lane || clock_at(l->base, e->lane) >= e->index)
		return;
	lane_tell_edge(f, e->seq, ORDER_EDGE_BEGUN, via);
	lane_take_doubt(f, lane, e->doubt);
	if (e->begun)
		lane_join(f, lane, e->begun);
	l->waited_for_any |= l->ahead.index && l->ahead.seq != e->seq; /* only one is kept; what
									* is known of the other
									* is lost */
	moment_drop(&l->ahead);
	l->ahead = *e;
	clock_ref(l->ahead.clock);
	clock_ref(l->ahead.begun);
}

/* What c, the lane's next work, knows of a launch whose event the lane waited for. Returns flags of
 * its item. */
static uint16_t behind_begun(struct fold *f, uint32_t lane, const struct sbt_cmd *c)
{
	struct moment *a = &f->lanes[lane].ahead;
	struct order_early x = {0}, front;

	if (!a->index || c->kind == SBT_STREAM_WAIT || c->kind == SBT_EVENT_RECORD)
		return 0;
	if (clock_at(f->lanes[lane].base, a->lane) >= a->index) { /* it is known to have ended,
								   * by another edge */
		moment_drop(a);
		return 0;
	}
	front = known_of(f, a->seq, a->kernel);
	if (c->kind == SBT_LAUNCH)
		x = known_of(f, c->seq, c->u.launch.kernel);
	if (x.known && !x.waits && (a->at_start || (front.known && front.triggers)))
		return ORDER_EARLY_TRIGGER;
	if (!f->early_in_order && !(a->by_trigger && x.known && x.waits && !x.before))
		return ORDER_EARLY_EVENT;
	lane_tell_edge(f, a->seq, ORDER_EDGE_WAITED, 0);
	lane_join(f, lane, a->clock);
	moment_drop(&f->lanes[lane].ahead);
	return 0;
}

static bool work(struct fold *f, const struct state *s, const struct sbt_cmd *c, uint32_t stream,
	struct order_item *ret)
{
	const uint32_t lane = lane_of_stream(f, s, stream), h = lane_of_thread(f, c->thread);
	const struct held_cmd *held;

	if (lane == UINT32_MAX)
		return false;
	held = held_find(&f->held, c->seq);
	if (held)
		lane_join_moment(f, lane, &held->host, ORDER_EDGE_HOST, 0);
	else
		lane_join_lane(f, lane, h, ORDER_EDGE_HOST);
	lane_barrier(f, lane);
	f->attribute_events |= early_records(c);
	f->lanes[lane].waited_for_any |= f->attribute_events && c->kind == SBT_STREAM_WAIT;
	if (c->kind == SBT_STREAM_WAIT) {
		const struct moment *e = awaited_event(f, c, c->u.stream_wait.event);

		if (e && e->is_early)
			wait_for_begun(f, lane, e, c->seq);
		else if (e)
			lane_join_moment(f, lane, e, ORDER_EDGE_EVENT, c->seq);
		f->lanes[lane].waited_for_any |= e && e->unsure && !f->early_in_order;
		if (f->by_attribute)
			lane_join(f, lane, f->by_attribute);
	} else if (c->kind == SBT_BATCH && c->u.batch.is_wait) {
		join_value(f, lane, c);
	}
	const uint64_t ahead = f->lanes[lane].ahead.seq;
	const uint16_t begun = behind_begun(f, lane, c);

	if (place_early(f, lane, c, ret)) {
		ret->early |= f->lanes[lane].waited_for_any || begun ? ORDER_EARLY_EVENT : 0;
		f->before_wait.early |= ret->early & ORDER_EARLY_EVENT;
		ret->early |= doubt_of(f, lane);
		f->before_wait.early |= doubt_of(f, lane);
		note_own_events(f, c, ret);
		lane_note_work(f, lane);
		return true;
	}
	lane_settle(f, lane);
	*ret = lane_advance(f, lane, c->seq);
	note_front(f, c, ret);
	note_attribute_event(f, c, lane);
	lane_note_work(f, lane);
	after(f, s, lane, c);
	f->nleaves = 0;
	ret->clock = f->lanes[lane].base;
	ret->early = (uint16_t)((f->lanes[lane].waited_for_any ? ORDER_EARLY_EVENT : 0) | begun |
				doubt_of(f, lane));
	ret->behind = begun & ORDER_EARLY_TRIGGER ? ahead : 0;
	note_own_events(f, c, ret);
	return true;
}

/* The stream of a stream-ordered allocation or free; SBT_NO_ID. */
static uint64_t ordered_on(const struct sbt_cmd *c)
{
	if (c->kind == SBT_ALLOC)
		return c->u.alloc.stream;
	return c->kind == SBT_FREE ? c->u.free.stream : SBT_NO_ID;
}

static bool apply(
	struct fold *f, const struct state *s, const struct sbt_cmd *c, struct order_item *ret)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	f->before_wait.lane = UINT32_MAX;
	if (c->flags & SBT_F_GRAPH)
		return false;
	switch (c->kind) {
	case SBT_SYNC:
		return on_sync(f, s, c);
	case SBT_SYNC_END:
		return on_sync_end(f, c, ret);
	case SBT_QUERY:
		return on_query(f, s, c, ret);
	case SBT_FREE:
		if (ordered_on(c) == SBT_NO_ID)
			return on_free(f, c, ret);
		/* fall through */
	case SBT_ALLOC:
		return !c->result && ordered_on(c) < SBT_NO_ID &&
		       work(f, s, c, (uint32_t)ordered_on(c), ret);
	default:
		return d && d->cls == SBT_CLASS_WORK && !c->result &&
		       work(f, s, c, sbt_cmd_stream(c), ret);
	}
}

bool fold_apply(
	struct fold *f, const struct state *s, const struct sbt_cmd *c, struct order_item *ret)
{
	const bool is_item = apply(f, s, c, ret);
	struct held_cmd *x = held_find(&f->held, c->seq);

	if (x)
		held_done(&f->held, x);
	return is_item;
}
