/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at the device, see live-look.h. Surprise: the live state is not changed, since traces hold
 * what the program could know; a copy is.
 */
#include "engine/live-look.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/monotonic.h"
#include "engine/engine.h"
#include "engine/recorder.h"
#include "engine/why/why-device.h"
#include "engine/why/why-code.h"

enum { APART_MOST_MS = 60000, LIMIT_MS = 2000, SOFT_MS = 150 };
#define LEGACY 1u /* the handle of a default stream */

/* --- questions --- */

static uint64_t context_handle(const struct state *s, uint32_t ctx)
{
	struct state_context c;

	for (unsigned i = 0; state_context(s, i, &c); i++)
		if (c.id == ctx && !c.destroyed)
			return c.handle;
	return 0;
}

static void ask(struct tsdb_look *l, enum tsdb_ask kind, uint32_t id, uint64_t handle, uint64_t ctx)
{
	if (l->nquestions < TSDB_LOOK_QUESTIONS && ctx)
		l->question[l->nquestions++] = (struct tsdb_question){
			.handle = handle, .ctx = ctx, .kind = kind, .id = id};
}

static bool any_captures(const struct state *s)
{
	struct state_stream st;

	for (unsigned i = 0; state_stream(s, i, &st); i++)
		if (st.capturing && !st.destroyed)
			return true;
	return false;
}

/* A query of the default stream would end another stream's capture. */
static void ask_streams(struct tsdb_look *l, const struct state *s)
{
	const bool captures = any_captures(s);
	struct state_stream st;

	for (unsigned i = 0; state_stream(s, i, &st); i++) {
		if (!st.pending || st.destroyed || st.capturing || st.per_thread ||
			(st.is_default && captures))
			continue;
		ask(l, TSDB_ASK_STREAM, st.id, st.is_default ? LEGACY : st.handle,
			context_handle(s, st.ctx));
	}
}

static void ask_events(struct tsdb_look *l, const struct state *s)
{
	struct state_stream st;
	struct state_event e;

	for (unsigned i = 0; state_event(s, i, &e); i++) {
		if (!e.recorded || e.complete || e.destroyed ||
			!state_stream_by_id(s, e.stream, &st))
			continue;
		ask(l, TSDB_ASK_EVENT, e.id, e.handle, context_handle(s, st.ctx));
	}
}

/* --- answers --- */

static void take_answers(struct state *s, const struct tsdb_look *l)
{
	for (uint32_t i = 0; i < l->nquestions; i++) {
		const struct tsdb_question *q = &l->question[i];
		struct state_stream st;
		struct state_event e;

		if (q->answer != TSDB_ANSWER_DONE)
			continue;
		if (q->kind == TSDB_ASK_STREAM && state_stream_by_id(s, q->id, &st) &&
			st.handle + st.is_default == q->handle + (st.is_default ? st.handle : 0))
			state_retire(s, st.last_submitted);
		if (q->kind == TSDB_ASK_EVENT && state_event_by_id(s, q->id, &e) &&
			e.handle == q->handle && e.recorded)
			state_retire(s, e.record_seq);
	}
}

static bool has_time(const struct sbt_cmd *c)
{
	return c->kind == SBT_LAUNCH || c->kind == SBT_COPY || c->kind == SBT_FILL;
}

/* Commands whose end the device has reported. */
static void take_times(struct state *s, const struct recorder *r)
{
	struct state_stream st;

	for (unsigned i = 0; state_stream(s, i, &st); i++) {
		enum state_status status;
		uint64_t last = 0;
		struct sbt_cmd c;

		for (unsigned k = 0; state_queue(s, st.id, k, &c, &status); k++)
			if (has_time(&c) && recorder_finished(r, c.seq))
				last = c.seq;
		if (last)
			state_retire(s, last);
	}
}

/* The stream that has the command in its queue; *ret_before: the command in front of it, or 0. */
static bool find_queued(const struct state *s, uint64_t seq, uint32_t *ret, uint64_t *ret_before)
{
	struct state_stream st;

	for (unsigned i = 0; state_stream(s, i, &st); i++) {
		enum state_status status;
		struct sbt_cmd c;

		*ret_before = 0;
		if (st.head > seq || st.last_submitted < seq)
			continue;
		for (unsigned k = 0; state_queue(s, st.id, k, &c, &status) && c.seq <= seq; k++) {
			*ret = st.id;
			if (c.seq == seq)
				return true;
			*ret_before = c.seq;
		}
	}
	return false;
}

static bool is_stream(
	const struct state *s, const struct state_stream *st, const struct soft_look_stream *l)
{
	if (st->destroyed || context_handle(s, st->ctx) != l->ctx)
		return false;
	return l->handle ? st->handle == l->handle && !st->is_default
			 : st->is_default && !st->per_thread;
}

static void take_soft(struct state *s, const struct inferior *inf, const struct soft_look *l)
{
	for (uint32_t i = 0; l->known && i < l->nstreams; i++) {
		const struct soft_look_stream *at = &l->stream[i];
		const uint64_t seq = inferior_seq_of(inf, at->corr);
		struct state_stream st;
		uint64_t before;
		uint32_t id;

		for (unsigned k = 0; !at->corr && state_stream(s, k, &st); k++)
			if (st.pending && is_stream(s, &st, at))
				state_retire(s, st.last_submitted);
		if (!seq || !find_queued(s, seq, &id, &before))
			continue;
		if (before)
			state_retire(s, before);
		if (!at->waits)
			state_begin(s, seq);
	}
}

/* --- looks --- */

static char *name_question(const struct tsdb_look *l)
{
	const uint32_t at = l->at;
	const struct tsdb_question *q = at < l->nquestions ? &l->question[at] : NULL;

	if (!q)
		return xstrdup("the driver did not answer in time");
	return xasprintf("the driver did not answer within %d s whether %s %" PRIu32
			 " has finished: a call that waits may hold its lock",
		LIMIT_MS / 1000, q->kind == TSDB_ASK_EVENT ? "event" : "stream", q->id);
}

static void take_look(struct engine *en, struct live_look *l)
{
	const struct tsdb_look *last = &l->look[l->two];

	l->state = state_clone(recorder_state(en->live.recorder));
	take_times(l->state, en->live.recorder);
	if (!l->answered)
		return;
	take_answers(l->state, last);
	if (last->is_soft)
		take_soft(l->state, en->live.inf, &last->soft);
}

/* 0 would be one look. */
static unsigned apart_of(const struct settings *set)
{
	const uint64_t ms = set->number[SET_LOOK_APART];

	return ms < 1 ? 1 : ms > APART_MOST_MS ? APART_MOST_MS : (unsigned)ms;
}

/* A look that has no questions yet, as the settings want it. */
static struct live_look *new_look(const struct settings *set)
{
	struct live_look *l = xcalloc(1, sizeof *l);

	l->inside = settings_on(set, SET_LOOK_INSIDE);
	l->look[0].soft_ms = l->inside ? SOFT_MS : 0;
	return l;
}

/* Asks the process; apart: between two looks, 0: one. */
static void ask_driver(struct inferior *inf, struct live_look *l, unsigned apart)
{
	l->answered = inferior_look(inf, l->look, apart, LIMIT_MS);
	l->two = l->answered && apart;
	l->apart_ms = l->two ? apart : 0;
	l->taken_ns = monotonic_ns();
	if (!l->answered)
		l->unanswered = name_question(&l->look[0]);
}

const struct live_look *live_look(struct engine *en, bool twice)
{
	struct live *live = &en->live;
	struct live_look *l = live->look;
	struct tsdb_control *ctl = live->inf ? inferior_control(live->inf) : NULL;
	const unsigned apart = apart_of(&en->set);

	if (!ctl || !live->recorder || inferior_running(live->inf) ||
		!atomic_load(&ctl->look.there))
		return NULL;
	if (l && l->runs == live->runs && l->inside == settings_on(&en->set, SET_LOOK_INSIDE) &&
		(!twice || !l->answered || (l->two && l->apart_ms == apart)))
		return l;
	live_look_free(l);
	live->look = l = new_look(&en->set);
	l->runs = live->runs;
	ask_streams(&l->look[0], recorder_state(live->recorder));
	ask_events(&l->look[0], recorder_state(live->recorder));
	if (twice && !(l->inside && live->soft)) {
		why_code_questions(&l->look[0], live->recorder, recorder_state(live->recorder));
		why_sum_questions(&l->look[0], live->recorder, recorder_state(live->recorder));
	}
	ask_driver(live->inf, l, twice ? apart : 0);
	take_look(en, l);
	return l;
}

struct live_look *live_look_at(const struct engine *en, struct inferior *inf)
{
	struct tsdb_control *ctl = inferior_control(inf);
	struct live_look *l = new_look(&en->set);

	l->state = state_new();
	if (ctl && atomic_load(&ctl->look.there))
		ask_driver(inf, l, apart_of(&en->set));
	return l;
}

void live_look_free(struct live_look *l)
{
	if (!l)
		return;
	state_free(l->state);
	free(l->unanswered);
	free(l);
}

const struct state *live_device_state(struct engine *en)
{
	const struct live *live = &en->live;
	const struct live_look *l;

	if (!live->inf || live->last_stop != STOP_NONE || live->doing != LIVE_STANDS)
		return NULL;
	l = live_look(en, false);
	return l ? l->state : NULL;
}
