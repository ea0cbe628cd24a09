/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a stream's commands the device is at, where it does not say. A vendor's driver answers
 * only whether all of a stream has finished, or an event. So every command that is queued there,
 * and not known to have finished, may be the one. A kernel is taken for it if its code says that it
 * waits for values that are the same at both looks, while every other command in question would
 * have ended between the looks. Then the stream is at that kernel, or at another of these.
 */
#include "engine/why/why-device.h"

#include <stdlib.h>
#include <string.h>
#include "engine/why/why-code.h"
#include "engine/why/why-graphs.h"
#include "sbt/kernel-name.h"

#define VALUES_MAX 256u
#define SHORT_BYTES                                                                                \
	(16u << 20)	 /* of a copy that takes less time than there is between the looks         \
			  */
#define SHORT_BLOCKS 32u /* a grid that fits on any device at once */

struct values {
	struct ptx_spin_read first[VALUES_MAX], second[VALUES_MAX];
	unsigned nfirst, nsecond;
};

/* --- what was answered --- */

static bool is_not_done(const struct tsdb_look *l, enum tsdb_ask kind, uint32_t id)
{
	for (uint32_t i = 0; i < l->nquestions; i++)
		if (l->question[i].kind == kind && l->question[i].id == id)
			return l->question[i].answer == TSDB_ANSWER_NOT_DONE;
	return false;
}

/* At both looks. */
static bool not_done(const struct why_device *d, enum tsdb_ask kind, uint32_t id)
{
	return is_not_done(&d->look->look[0], kind, id) && is_not_done(&d->look->look[1], kind, id);
}

/* The legacy default stream is not done, either, while a blocking stream has work. */
static bool others_count(const struct why_device *d, const struct state_stream *st)
{
	struct state_stream other;

	for (unsigned i = 0; st->is_default && !st->per_thread && state_stream(d->state, i, &other);
		i++)
		if (other.id != st->id && other.ctx == st->ctx && other.pending &&
			!other.destroyed && !(other.flags & 1))
			return true;
	return false;
}

/* --- one command --- */

enum verdict {
	SHORT, /* it would have ended between the looks */
	KEPT,  /* a kernel that waits */
	LAST,  /* nothing behind it can have begun */
	OPEN
};

static bool same_reads(const struct ptx_spins *a, const struct ptx_spins *b)
{
	if (a->nreads != b->nreads)
		return false;
	for (unsigned i = 0; i < a->nreads; i++)
		if (a->read[i].addr != b->read[i].addr || a->read[i].bytes != b->read[i].bytes ||
			a->read[i].value != b->read[i].value)
			return false;
	return true;
}

static enum verdict of_launch(const struct why_device *d, const struct values *v,
	const struct sbt_cmd *c, struct why_code *ret)
{
	const struct recorder *r = d->en->live.recorder;
	struct why_code first;

	why_code_of(&first, r, d->state, c, v->first, v->nfirst);
	why_code_of(ret, r, d->state, c, v->second, v->nsecond);
	if (first.is.answer != ret->is.answer || ret->is.answer == PTX_SPINS_OPEN)
		return OPEN;
	if (ret->is.answer == PTX_SPINS_ENDS)
		return SHORT;
	return same_reads(&first.is, &ret->is) ? KEPT : OPEN;
}

static enum verdict of_event(const struct why_device *d, const struct sbt_cmd *c)
{
	const uint32_t id = (uint32_t)c->u.event_record.event;
	struct state_event e;

	return state_event_by_id(d->state, id, &e) && e.record_seq == c->seq &&
			       not_done(d, TSDB_ASK_EVENT, id)
		       ? LAST
		       : SHORT;
}

static enum verdict of_command(const struct why_device *d, const struct values *v,
	const struct sbt_cmd *c, struct why_code *ret)
{
	switch (c->kind) {
	case SBT_LAUNCH:
		return of_launch(d, v, c, ret);
	case SBT_EVENT_RECORD:
		return of_event(d, c);
	case SBT_COPY:
		return c->u.copy.size <= SHORT_BYTES ? SHORT : OPEN;
	case SBT_FILL:
		return c->u.fill.size <= SHORT_BYTES ? SHORT : OPEN;
	case SBT_BATCH:
		return c->u.batch.is_wait ? OPEN : SHORT;
	default:
		return OPEN;
	}
}

/* --- a queue --- */

static void refuse(struct why_queue *q, uint64_t seq, const char *why)
{
	q->open_seq = seq;
	q->why = why ? why : "nothing says how far it is";
}

static void add_kept(struct why_queue *q, const struct sbt_cmd *c, const struct why_code *code)
{
	const struct sbt_cmd_launch *l = &c->u.launch;
	struct why_kept *k;

	if (q->nkept == WHY_KEPT_MAX) {
		q->why = "more kernels may wait there than are looked at";
		return;
	}
	k = &q->kept[q->nkept++];
	k->seq = c->seq;
	k->is = code->is;
	memcpy(k->place, code->place, sizeof(k->place));
	/* all of its blocks have begun, or none has: it writes nothing more */
	k->whole = l->grid_x <= SHORT_BLOCKS && l->grid_y == 1 && l->grid_z == 1;
}

/* A step of a graph. Its events are no others' business until the whole launch has ended. */
static void take_step(struct why_device *d, const struct values *v, const struct state_step *step,
	const struct sbt_cmd *launch, struct why_queue *q)
{
	struct why_code code = {.is = {.why = NULL}};
	struct state_kernel k;
	struct sbt_cmd c;
	const enum why_step is = why_step_of(step, launch, &c);
	enum verdict verdict = SHORT;

	if (is == WHY_STEP_UNKNOWN)
		refuse(q, launch->seq, "what a node of its graph does is not known");
	else if (is == WHY_STEP_COMMAND && c.kind == SBT_HOST_FUNC)
		refuse(q, launch->seq, "a host function of its graph may be running");
	else if (is == WHY_STEP_COMMAND && c.kind != SBT_EVENT_RECORD)
		verdict = of_command(d, v, &c, &code);
	if (verdict == OPEN)
		refuse(q, launch->seq, code.is.why);
	if (verdict != KEPT)
		return;
	add_kept(q, &c, &code);
	if (q->why || !state_kernel_by_id(d->state, (uint32_t)c.u.launch.kernel, &k))
		return;
	q->kept[q->nkept - 1].step = why_step_id(step);
	sbt_kernel_short_name(
		q->kept[q->nkept - 1].name, sizeof(q->kept[q->nkept - 1].name), k.name);
}

/* A launch of a graph: its nodes may run in any order that the edges allow, so each is looked at as
 * if it were the one. */
static void take_graph(struct why_device *d, const struct values *v, const struct sbt_cmd *launch,
	struct why_queue *q)
{
	struct state_steps steps;
	const char *unknown = why_graph_steps(d->state, launch, &steps);

	if (unknown)
		refuse(q, launch->seq, unknown);
	for (uint32_t i = 0; !q->why && i < steps.n; i++)
		take_step(d, v, &steps.step[i], launch, q);
	state_steps_free(&steps);
}

static void look_at(struct why_device *d, const struct values *v, const struct state_stream *st,
	struct why_queue *q)
{
	enum state_status status;
	enum verdict verdict = SHORT;
	struct sbt_cmd brief, c;
	unsigned k = 0;

	*q = (struct why_queue){.stream = st->id};
	if (others_count(d, st) || !not_done(d, TSDB_ASK_STREAM, st->id))
		return;
	for (; !q->why && verdict != LAST && state_queue(d->state, st->id, k, &brief, &status);
		k++) {
		struct why_code code = {.is = {.why = NULL}};

		if (k == WHY_CODE_QUEUE || !why_code_command(d->en->live.recorder, brief.seq, &c)) {
			refuse(q, brief.seq, "too many commands are queued there");
			return;
		}
		if (c.kind == SBT_GRAPH_LAUNCH) {
			take_graph(d, v, &c, q);
			continue;
		}
		verdict = of_command(d, v, &c, &code);
		if (verdict == KEPT)
			add_kept(q, &c, &code);
		else if (verdict == OPEN)
			refuse(q, c.seq, code.is.why);
	}
	/* older ones are not in the queue */
	q->sure = !q->why && q->nkept && (verdict == LAST || k == st->pending);
}

void why_queues(struct why_device *d)
{
	struct state_stream st;
	struct values *v;
	unsigned n = 0, cap = 0;

	if (!d->look->answered || !d->look->two || d->look->look[1].is_soft || !d->p->whole)
		return;
	v = xcalloc(1, sizeof(*v));
	v->nfirst = why_code_values(&d->look->look[0], v->first, VALUES_MAX);
	v->nsecond = why_code_values(&d->look->look[1], v->second, VALUES_MAX);
	for (unsigned i = 0; state_stream(d->state, i, &st); i++) {
		if (!st.pending || st.destroyed || st.wait_event != SBT_NO_ID ||
			st.wait_stream != SBT_NO_ID)
			continue;
		MAKE_ROOM(d->queue, n, cap);
		look_at(d, v, &st, &d->queue[n++]);
	}
	d->nqueues = n;
	free(v);
}

const struct why_queue *why_queue_of(const struct why_device *d, uint32_t stream)
{
	for (unsigned i = 0; i < d->nqueues; i++)
		if (d->queue[i].stream == stream)
			return &d->queue[i];
	return NULL;
}

bool why_is_kept_step(const struct why_device *d, uint64_t seq, uint64_t step)
{
	for (unsigned i = 0; i < d->nqueues; i++)
		for (unsigned k = 0; d->queue[i].sure && k < d->queue[i].nkept; k++)
			if (d->queue[i].kept[k].seq == seq && d->queue[i].kept[k].step == step)
				return true;
	return false;
}

bool why_is_kept(const struct why_device *d, uint64_t seq)
{
	for (unsigned i = 0; i < d->nqueues; i++)
		for (unsigned k = 0; d->queue[i].sure && k < d->queue[i].nkept; k++)
			if (d->queue[i].kept[k].seq == seq)
				return d->queue[i].kept[k].whole;
	return false;
}
