/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes and contexts of happens-before, see fold-lanes.h.
 */
#include "order/fold/fold-lanes.h"

uint32_t lane_new(struct fold *f, uint32_t stream)
{
	GROW(f->lanes, f->cap_lanes, f->nlanes, 0);
	f->lanes[f->nlanes] = (struct lane){.stream = stream, .ctx = SBT_NO_ID};
	return f->nlanes++;
}

static struct context *fold_context(struct fold *f, uint32_t id)
{
	const uint32_t had = f->ncontexts;

	if (id >= IDS_MAX)
		id = 0; /* no context known: as if there were one */
	GROW(f->contexts, f->ncontexts, id, 0);
	for (uint32_t i = had; i < f->ncontexts; i++)
		f->contexts[i].default_lane = UINT32_MAX;
	return &f->contexts[id];
}

/* What kind of stream it is; in a trace that begins in the middle this may be known only later. */
static void lane_learn(struct fold *f, const struct state *s, uint32_t lane)
{
	struct lane *l = &f->lanes[lane];
	struct state_stream st;

	if (l->known || !state_stream_by_id(s, l->stream, &st))
		return;
	l->known = true;
	l->ctx = st.ctx;
	l->is_default = st.is_default;
	l->blocking = !st.is_default && !(st.flags & 1);
	if (l->is_default)
		fold_context(f, l->ctx)->default_lane = lane;
}

uint32_t lane_of_stream(struct fold *f, const struct state *s, uint32_t id)
{
	if (id >= IDS_MAX)
		return UINT32_MAX;
	GROW(f->stream_lanes, f->nstreams, id, 0xff);
	if (f->stream_lanes[id] == UINT32_MAX)
		f->stream_lanes[id] = lane_new(f, id);
	lane_learn(f, s, f->stream_lanes[id]);
	return f->stream_lanes[id];
}

uint32_t lane_of_thread(struct fold *f, uint32_t thread)
{
	const uint32_t had = f->nthreads;

	if (!f->threads_apart) {
		if (f->host == UINT32_MAX)
			f->host = lane_new(f, SBT_NO_ID);
		return f->host;
	}
	if (thread >= IDS_MAX)
		thread = 0;
	GROW(f->threads, f->nthreads, thread, 0);
	for (uint32_t i = had; i < f->nthreads; i++)
		f->threads[i].lane = UINT32_MAX;
	if (f->threads[thread].lane == UINT32_MAX)
		f->threads[thread].lane = lane_new(f, SBT_NO_ID);
	return f->threads[thread].lane;
}

struct thread *fold_thread(struct fold *f, uint32_t number)
{
	const uint32_t had = f->nthreads;

	if (number >= IDS_MAX)
		number = 0;
	GROW(f->threads, f->nthreads, number, 0);
	for (uint32_t i = had; i < f->nthreads; i++)
		f->threads[i].lane = UINT32_MAX;
	return &f->threads[number];
}

/* From here on the lane is behind all launches that began early: a moment of its own, with no
 * command. */
void lane_settle(struct fold *f, uint32_t lane)
{
	struct lane *l = &f->lanes[lane];
	struct clock *was = l->base;

	if (!l->early.pending)
		return;
	l->base = clock_join(was, l->early.pending, lane);
	l->index++;
	l->seq = l->early.pending_seq;
	clock_drop(was);
	clock_drop(l->early.pending);
	clock_drop(l->point);
	l->early.pending = l->point = NULL;
}

/* The clock of the lane's present moment. Not a new reference. */
struct clock *lane_point(struct fold *f, uint32_t lane)
{
	struct lane *l = &f->lanes[lane];

	lane_settle(f, lane);
	if (l->point && l->point_index == l->index)
		return l->point;
	clock_drop(l->point);
	l->point = clock_with(l->base, lane, l->index);
	l->point_index = l->index;
	return l->point;
}

struct moment lane_moment(struct fold *f, uint32_t lane)
{
	lane_settle(f, lane);
	return (struct moment){.clock = clock_ref(lane_point(f, lane)),
		.lane = lane,
		.index = f->lanes[lane].index,
		.seq = f->lanes[lane].seq,
		.doubt = f->lanes[lane].doubt};
}

void lane_take_doubt(struct fold *f, uint32_t lane, uint64_t doubt)
{
	if (f->lanes[lane].doubt < doubt)
		f->lanes[lane].doubt = doubt;
}

/* The host knows that all work of the context submitted before seq is over: whatever ended a wait
 * came before. */
void lanes_settle_doubts(struct fold *f, uint32_t ctx, uint64_t seq)
{
	bool any = false;

	for (uint32_t i = 0; i < f->nlanes; i++) {
		struct lane *l = &f->lanes[i];

		if (l->stream != SBT_NO_ID && l->doubt < seq && l->ctx == ctx)
			l->doubt = 0;
		any |= l->stream != SBT_NO_ID && l->doubt;
	}
	for (uint32_t i = 0; i < f->nlanes && !any; i++)
		f->lanes[i].doubt = 0;
}

/* Lane's next item happens after what c knows. */
void lane_join(struct fold *f, uint32_t lane, struct clock *c)
{
	struct lane *l = &f->lanes[lane];
	struct clock *was = l->base;

	early_joined(&l->early, c);
	l->base = clock_join(was, c, lane);
	if (l->base != was) {
		clock_drop(l->point);
		l->point = NULL;
	}
	clock_drop(was);
}

void lane_tell_edge(struct fold *f, uint64_t from, enum order_edge kind, uint64_t via)
{
	if (f->edge && from)
		f->edge(f->edge_arg, from, kind, via);
}

void lane_join_moment(
	struct fold *f, uint32_t lane, const struct moment *m, enum order_edge kind, uint64_t via)
{
	if (m->index && m->lane != lane)
		lane_take_doubt(f, lane, m->doubt);
	if (!m->index || m->lane == lane || clock_at(f->lanes[lane].base, m->lane) >= m->index)
		return; /* it knows that moment, and with it all that the moment knew */
	lane_tell_edge(f, m->seq, kind, via);
	lane_join(f, lane, m->clock);
}

void lane_join_lane(struct fold *f, uint32_t lane, uint32_t other, enum order_edge kind)
{
	const struct lane *o = &f->lanes[other];

	if (other != lane)
		lane_settle(f, other);
	if (o->index && other != lane)
		lane_take_doubt(f, lane, o->doubt);
	if (!o->index || other == lane || clock_at(f->lanes[lane].base, other) >= o->index)
		return;
	lane_tell_edge(f, o->seq, kind, 0);
	lane_join(f, lane, lane_point(f, other));
}

struct order_item lane_advance(struct fold *f, uint32_t lane, uint64_t seq)
{
	struct lane *l = &f->lanes[lane];
	struct order_item it = {.seq = seq, .lane = lane, .clock = l->base};

	lane_tell_edge(f, l->seq, ORDER_EDGE_STREAM, 0);
	it.index = ++l->index;
	l->seq = seq;
	return it;
}

/* --- the legacy default stream, and contexts --- */

static void note_unseen(uint32_t **p, uint32_t *n, uint32_t *cap, uint32_t lane)
{
	GROW(*p, *cap, *n, 0);
	(*p)[(*n)++] = lane;
}

void lane_barrier(struct fold *f, uint32_t lane)
{
	struct lane *l = &f->lanes[lane];
	struct context *x = fold_context(f, l->ctx);

	if (l->is_default) {
		for (uint32_t i = 0; i < x->nunseen_default; i++) {
			f->lanes[x->unseen_default[i]].unseen_by_default = false;
			lane_join_lane(f, lane, x->unseen_default[i], ORDER_EDGE_DEFAULT);
		}
		x->nunseen_default = 0;
	} else if (l->blocking && x->default_lane != UINT32_MAX &&
		   f->lanes[x->default_lane].index > l->seen_default) {
		l->seen_default = f->lanes[x->default_lane].index;
		lane_join_lane(f, lane, x->default_lane, ORDER_EDGE_DEFAULT);
	}
}

void lane_note_work(struct fold *f, uint32_t lane)
{
	struct lane *l = &f->lanes[lane];
	struct context *x = fold_context(f, l->ctx);

	if (l->blocking && !l->unseen_by_default) {
		l->unseen_by_default = true;
		note_unseen(&x->unseen_default, &x->nunseen_default, &x->cap_default, lane);
	}
	if (!l->unseen_by_ctx) {
		l->unseen_by_ctx = true;
		note_unseen(&x->unseen_ctx, &x->nunseen_ctx, &x->cap_ctx, lane);
	}
}

/* All work of the context so far. */
struct clock *fold_context_clock(struct fold *f, uint32_t ctx)
{
	struct context *x = fold_context(f, ctx);

	for (uint32_t i = 0; i < x->nunseen_ctx; i++) {
		struct clock *was = x->all;

		f->lanes[x->unseen_ctx[i]].unseen_by_ctx = false;
		x->all = clock_join(was, lane_point(f, x->unseen_ctx[i]), UINT32_MAX);
		clock_drop(was);
	}
	x->nunseen_ctx = 0;
	return x->all;
}
