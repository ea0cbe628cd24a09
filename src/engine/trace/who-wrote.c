/* SPDX-License-Identifier: Apache-2.0
 *
 * Who wrote, see who-wrote.h.
 */
#include "engine/who-wrote.h"

#include <stdlib.h>
#include <string.h>
#include "engine/graph-steps.h"
#include "engine/replay-device.h"
#include "sbt/sbt.h"
#include "state/state.h"

/* Inside a graph launch: finds the writer among the steps done, else before the launch. */
static struct err *who_wrote_inside(struct engine *en, uint64_t addr, uint64_t size,
	struct replay_writer *ret, uint32_t *ret_step)
{
	const struct graph_place at = *graph_place_of(en);
	struct replay_stop stop;
	struct err *e, *back;

	TRY(replay_device_back(en, graph_last_change(en, at.seq, addr, size, at.step, ret_step)));
	*ret = (struct replay_writer){.seq = at.seq, .certain = true, .changed = true};
	if (*ret_step)
		return NULL;
	TRY(replay_reverse_step(en->trace.replay, 1, &stop));
	e = replay_who_wrote(en->trace.replay, addr, size, en->cancel, ret);
	back = graph_go(en, at.seq, at.step, at.before);
	if (!e)
		return back;
	err_free(back);
	return e;
}

/* The writer is a graph launch that changed the bytes: finds the step. */
static struct err *which_step(struct engine *en, uint64_t addr, uint64_t size,
	const struct replay_writer *w, uint32_t *ret_step)
{
	struct state *st;
	struct sbt_cmd launch;

	*ret_step = 0;
	if (!en->trace.device || !w->changed || !settings_on(&en->set, SET_REPLAY_NODES))
		return NULL;
	TRY(graph_launched(en, w->seq, &st, &launch));
	state_free(st);
	if (launch.kind != SBT_GRAPH_LAUNCH)
		return NULL;
	return replay_device_back(
		en, graph_last_change(en, w->seq, addr, size, UINT32_MAX, ret_step));
}

enum { RECENT_MAX = 16 };

/* The newest graph launches behind `after`, newest last. */
static struct err *recent_launches(
	struct engine *en, uint64_t after, uint64_t seqs[RECENT_MAX], unsigned *ret_n)
{
	const uint64_t at = replay_seq(en->trace.replay);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret_n = 0;
	TRY(sbt_cursor_open(&cur, en->trace.reader));
	e = sbt_cursor_seek(cur, after + 1);
	while (!e) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c || c->seq > at)
			break;
		if (c->kind != SBT_GRAPH_LAUNCH || !sbt_cmd_is_work(c))
			continue;
		if (*ret_n == RECENT_MAX)
			memmove(seqs, seqs + 1, --*ret_n * sizeof *seqs);
		seqs[(*ret_n)++] = c->seq;
	}
	sbt_cursor_close(cur);
	return e;
}

/* Finds a launch that changed the bytes and changed them back: its end does not show that. */
static struct err *changed_and_back(struct engine *en, uint64_t addr, uint64_t size,
	struct replay_writer *w, uint32_t *ret_step)
{
	uint64_t seqs[RECENT_MAX];
	unsigned n;
	struct err *e = NULL;

	if (!en->trace.device || !settings_on(&en->set, SET_REPLAY_NODES))
		return NULL;
	TRY(recent_launches(en, w->seq, seqs, &n));
	for (; !e && !*ret_step && n; n--) {
		e = graph_last_change(en, seqs[n - 1], addr, size, UINT32_MAX, ret_step);
		if (!e && *ret_step)
			*w = (struct replay_writer){
				.seq = seqs[n - 1], .certain = true, .changed = true};
	}
	return replay_device_back(en, e);
}

struct err *who_wrote(struct engine *en, uint64_t addr, uint64_t size, struct who_wrote *ret)
{
	struct replay_writer *w = &ret->writer;

	ret->step = 0;
	TRY(graph_place_of(en) ? who_wrote_inside(en, addr, size, w, &ret->step)
			       : replay_who_wrote(en->trace.replay, addr, size, en->cancel, w));
	if (!ret->step && !graph_place_of(en))
		TRY(changed_and_back(en, addr, size, w, &ret->step));
	return ret->step ? NULL : which_step(en, addr, size, w, &ret->step);
}

static bool listed(const struct who_wrote *w, unsigned n, uint64_t seq)
{
	for (unsigned i = 0; i < n; i++) {
		if (w[i].writer.seq == seq)
			return true;
	}
	return false;
}

/* Adds the next one in front of *upto, which moves there; *ret_over: there is none. */
static struct err *add_writer(struct engine *en, uint64_t addr, uint64_t size, uint64_t *upto,
	struct who_wrote *w, unsigned *n, bool *ret_over)
{
	struct who_wrote *next = &w[*n];
	struct err *e =
		replay_wrote_upto(en->trace.replay, *upto, addr, size, en->cancel, &next->writer);

	*ret_over = e && e->code == ERR_NOT_FOUND && *n;
	if (*ret_over) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	*upto = next->writer.at - 1;
	if (listed(w, *n, next->writer.seq)) /* it was kept back, and is seen again by its record */
		return NULL;
	TRY(which_step(en, addr, size, &next->writer, &next->step));
	++*n;
	return NULL;
}

struct err *who_wrote_last(struct engine *en, uint64_t addr, uint64_t size, unsigned most,
	struct who_wrote **ret, unsigned *ret_n)
{
	uint64_t upto = replay_seq(en->trace.replay);
	struct who_wrote *w;
	unsigned n = 0;
	bool over = false;
	struct err *e = NULL;

	if (graph_place_of(en))
		return err_cure(err_new(ERR_UNSUPPORTED,
					"inside a graph launch only the last writer is found"),
			"\"finish\" ends the launch");
	w = xcalloc((size_t)most + 1, sizeof *w);
	while (!e && !over && n < most && upto)
		e = add_writer(en, addr, size, &upto, w, &n, &over);
	if (e) {
		free(w);
		return e;
	}
	*ret = w;
	*ret_n = n;
	return NULL;
}
