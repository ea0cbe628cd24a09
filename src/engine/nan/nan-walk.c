/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows a NaN backwards, from the place where it was seen to its cause: who wrote these bytes
 * last, why did that write them (nan-test.c), who wrote the input that made it ... Each claim that
 * a command wrote the NaN is looked at: behind the command it is there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/graph-steps.h"
#include "engine/nan/nan-private.h"
#include "replay/device-node.h"
#include "replay/values.h"

struct walk {
	struct nan_job *j;
	struct nan_cause *c;
	struct nan_element at;
	uint64_t before;
	bool over;
};

static bool is_bad(const struct nan_element *x)
{
	return nan_is_nan(x->bits, x->as) || nan_is_inf(x->bits, x->as);
}

static void end(struct walk *k, enum nan_end how, uint64_t seq, char *why)
{
	k->c->end = how;
	k->c->seq = seq;
	k->c->at = k->at;
	k->c->is_inf = nan_is_inf(k->at.bits, k->at.as);
	k->c->why = why;
	k->over = true;
}

static struct nan_step *add_step(struct walk *k, uint64_t seq)
{
	struct nan_cause *c = k->c;

	c->steps = xrealloc(c->steps, (c->nsteps + 1) * sizeof *c->steps);
	c->steps[c->nsteps] = (struct nan_step){.seq = seq, .out = k->at};
	return &c->steps[c->nsteps++];
}

static bool host_may_write(const struct state_alloc *a)
{
	return a->mem != SBT_MEM_DEVICE && a->mem != SBT_MEM_ASYNC && a->mem != SBT_MEM_ARRAY;
}

/* --- where nothing of the window wrote --- */

static struct err *no_writer(struct walk *k, const struct state_alloc *a)
{
	struct nan_element x = k->at;

	if (a && !host_may_write(a) && a->alloc_seq >= k->j->first) {
		end(k, NAN_UNWRITTEN, a->alloc_seq, NULL);
		return NULL;
	}
	if (!a || a->alloc_seq < k->j->first) {
		TRY(device_seek(k->j->d, k->j->first - 1));
		TRY(nan_read(k->j, &x));
		if (is_bad(&x)) {
			end(k, NAN_START, 0, NULL);
			return NULL;
		}
	}
	if (a && host_may_write(a))
		end(k, NAN_HOST, 0, NULL);
	else
		end(k, NAN_UNKNOWN, 0,
			xasprintf("no command of the window is known to have written it"));
	return NULL;
}

/* Behind the command that is said to have written it, it is not there. */
static void not_there(struct walk *k, const struct nan_work *w, const struct state_alloc *a)
{
	if (a && host_may_write(a))
		end(k, NAN_HOST, 0, NULL);
	else
		end(k, NAN_UNKNOWN, 0,
			xasprintf("it came after #%" PRIu64
				  ", the last command that is known to write there",
				w->seq));
}

/* --- copies --- */

/* The byte of the source that byte addr of the destination comes from. */
static uint64_t source_of(const struct nan_work *w, uint64_t addr)
{
	const uint64_t off = addr - w->dst.addr, z = w->dst.slice ? off / w->dst.slice : 0,
		       in_slice = w->dst.slice ? off % w->dst.slice : off,
		       y = w->dst.pitch ? in_slice / w->dst.pitch : 0,
		       x = w->dst.pitch ? in_slice % w->dst.pitch : in_slice;

	return w->src.addr + z * w->src.slice + y * w->src.pitch + x;
}

static struct err *follow_copy(struct walk *k, const struct nan_work *w)
{
	struct nan_element from = k->at;
	struct nan_step *s;

	from.addr = source_of(w, k->at.addr);
	if (w->from_host && !nan_last_writer(k->j, from.addr, 1, w->seq)) {
		end(k, NAN_COPIED, w->seq, NULL);
		return NULL;
	}
	TRY(device_seek(k->j->d, w->seq - 1));
	TRY(nan_read(k->j, &from));
	if (!is_bad(&from)) {
		if (w->from_host)
			end(k, NAN_COPIED, w->seq, NULL);
		else
			end(k, NAN_UNKNOWN, w->seq,
				xasprintf("what the copy reads is finite before it"));
		return NULL;
	}
	s = add_step(k, w->seq);
	s->in = from;
	s->has_in = true;
	k->at = from;
	k->before = w->seq;
	return NULL;
}

/* --- nodes of a graph launch --- */

static struct err *node_of(struct walk *k, const struct nan_work *w, uint32_t *ret)
{
	*ret = 0;
	if (w->kind != SBT_GRAPH_LAUNCH)
		return NULL;
	return graph_last_change(
		k->j->en, w->seq, k->at.addr, value_types[k->at.as].bytes, UINT32_MAX, ret);
}

/* --- launches --- */

static struct err *follow_launch(struct walk *k, const struct nan_work *w)
{
	struct nan_step *s = add_step(k, w->seq);
	struct nan_verdict v;
	const uint64_t seq = w->seq;
	uint32_t node;

	TRY(nan_test(k->j, w, s, &v));
	TRY(node_of(k, w, &node));
	s->node = node;
	switch (v.is) {
	case NAN_NOT_STEADY:
		end(k, NAN_UNSTEADY, seq, v.why);
		break;
	case NAN_NOT_TOLD:
		end(k, NAN_UNKNOWN, seq, v.why);
		break;
	case NAN_MADE_HERE:
		end(k, NAN_BORN, seq, NULL);
		break;
	case NAN_MADE_OF_UNWRITTEN:
		k->at = s->in;
		end(k, NAN_UNWRITTEN, s->in.alloc_seq, NULL);
		break;
	case NAN_MADE_BY_HOST:
		k->at = s->in;
		end(k, NAN_HOST, 0,
			xasprintf("right before #%" PRIu64
				  "; whether the launch makes it without that was not tested",
				seq));
		break;
	case NAN_MADE_OF_INPUT:
		s->was_inf = v.by_inf && nan_is_nan(k->at.bits, k->at.as);
		k->at = s->in;
		k->before = seq;
		break;
	}
	k->c->node = k->over ? node : 0;
	return v.is == NAN_MADE_HERE && node ? nan_find_node(k->j, w, k->c) : NULL;
}

/* --- the way --- */

static struct err *follow(struct walk *k, const struct nan_work *w)
{
	if (w->wait) {
		end(k, NAN_UNKNOWN, w->seq,
			xasprintf("it was kept back behind #%" PRIu64
				  ", a wait for a value, until #%" PRIu64
				  ": a command that runs later than its number says is not tested",
				w->wait, w->ran));
		return NULL;
	}
	if (w->recorded) {
		end(k, NAN_RECORDED, w->seq, NULL);
		return NULL;
	}
	switch (w->kind) {
	case SBT_LAUNCH:
	case SBT_GRAPH_LAUNCH:
		return follow_launch(k, w);
	case SBT_COPY:
		return follow_copy(k, w);
	default:
		end(k, NAN_FILLED, w->seq, NULL);
		return NULL;
	}
}

/* Fills in where the element lies for the launch that wrote it. */
static struct err *place(struct walk *k, const struct nan_work *w)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state *st;

	TRY(nan_before(k->j, w->seq, &st, &cursor, &c));
	nan_place(st, c, nan_span_at(k->j, w->writes, w->nwrites, k->at.addr), &k->at);
	sbt_cursor_close(cursor);
	state_free(st);
	return NULL;
}

static struct err *step_back(struct walk *k)
{
	const struct nan_work *w =
		nan_last_writer(k->j, k->at.addr, value_types[k->at.as].bytes, k->before);
	struct state_alloc a;
	struct state *st;
	bool live;

	TRY(nan_before(k->j, k->before, &st, NULL, NULL));
	live = state_alloc_at(st, k->at.addr, &a);
	state_free(st);
	if (!w || (live && w->seq < a.alloc_seq))
		return no_writer(k, live ? &a : NULL);
	TRY(device_seek(k->j->d, nan_ran(w)));
	TRY(nan_read(k->j, &k->at));
	if (!is_bad(&k->at)) {
		not_there(k, w, live ? &a : NULL);
		return NULL;
	}
	TRY(place(k, w));
	return follow(k, w);
}

struct err *nan_walk(
	struct nan_job *j, const struct nan_element *x, uint64_t before, struct nan_cause *ret)
{
	struct walk k = {.j = j, .c = ret, .at = *x, .before = before};

	*ret = (struct nan_cause){.seen = *x};
	while (!k.over) {
		engine_progress(j->en, "following a NaN backwards, step", ret->nsteps + 1, 0);
		if (ret->nsteps == NAN_STEPS)
			end(&k, NAN_UNKNOWN, 0,
				xasprintf("it goes back further than %u commands", NAN_STEPS));
		else
			TRY(step_back(&k));
	}
	return NULL;
}
