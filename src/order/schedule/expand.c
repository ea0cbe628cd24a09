/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph launches taken apart, see expand.h. A step goes on the stream of a step that it waits for,
 * if that was the last one there; the first chain goes on the launch's own stream. The others begin
 * behind an event recorded there and are waited for at the end, so that for everything else the
 * launch is one thing on one stream.
 */
#include "order/expand.h"

#include <stdlib.h>
#include <string.h>
#include "order/schedule/copied.h"
#include "order/kept.h"
#include "order/order.h"
#include "sbt/memory.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"
#include "state/steps.h"

/* Streams and events for launches on one stream, used again by the next: that one comes behind all
 * of them anyway. */
struct pool {
	uint32_t stream;		  /* the launches' */
	uint32_t lanes[EXPAND_LANES_MAX]; /* ids; [0]: that stream */
	unsigned nlanes;
	uint32_t *events;
	size_t nevents, cap;
};

/* What has become of a command of the window. */
struct became {
	uint64_t first, last; /* new numbers; 0: none */
	size_t copies;	      /* of expander.copies */
	unsigned ncopies;
};
struct copy_step {
	uint64_t seq, src, dst;
};

struct expander {
	struct copied copied;
	struct kept_window window;
	uint64_t first, last;
	struct state *s; /* before the command at hand */
	struct became *became;
	struct expanded *to;
	size_t cap;
	uint64_t next;
	uint32_t next_stream, next_event;
	struct pool *pools;
	size_t npools, cap_pools;
	struct copy_step *copies;
	size_t ncopies, cap_copies;
};

/* --- writing --- */

static struct err *put(struct expander *x, struct sbt_cmd *c, uint64_t seq, uint32_t step)
{
	struct expanded *t = x->to;

	if (t->n == x->cap) {
		x->cap = x->cap ? 2 * x->cap : 1024;
		t->seq = xrealloc(t->seq, x->cap * sizeof *t->seq);
		t->step = xrealloc(t->step, x->cap * sizeof *t->step);
	}
	t->seq[t->n] = seq;
	t->step[t->n++] = step;
	c->seq = x->next++;
	c->gpu_start_ns = c->gpu_end_ns = 0;
	return sbt_writer_cmd(x->copied.to, c);
}

/* An added command, with the launch's thread, context and stack. */
static struct sbt_cmd ours(const struct sbt_cmd *launch, enum sbt_kind kind)
{
	return (struct sbt_cmd){.kind = (uint16_t)kind,
		.flags = SBT_F_SYNTHETIC,
		.thread = launch->thread,
		.ctx = launch->ctx,
		.stack = launch->stack,
		.host_ns = launch->host_ns};
}

static struct err *put_record(
	struct expander *x, const struct sbt_cmd *launch, uint32_t stream, uint32_t event)
{
	struct sbt_cmd c = ours(launch, SBT_EVENT_RECORD);

	c.u.event_record.stream = stream;
	c.u.event_record.event = event;
	return put(x, &c, launch->seq, 0);
}

static struct err *put_wait(
	struct expander *x, const struct sbt_cmd *launch, uint32_t stream, uint32_t event)
{
	struct sbt_cmd c = ours(launch, SBT_STREAM_WAIT);

	c.u.stream_wait.stream = stream;
	c.u.stream_wait.event = event;
	return put(x, &c, launch->seq, 0);
}

/* --- streams and events --- */

static struct pool *pool_of(struct expander *x, uint32_t stream)
{
	for (size_t i = 0; i < x->npools; i++)
		if (x->pools[i].stream == stream)
			return &x->pools[i];
	MAKE_ROOM(x->pools, x->npools, x->cap_pools);
	x->pools[x->npools] = (struct pool){.stream = stream, .lanes = {stream}, .nlanes = 1};
	return &x->pools[x->npools++];
}

static struct err *need_lanes(
	struct expander *x, struct pool *p, const struct sbt_cmd *launch, unsigned n)
{
	for (; p->nlanes < n; p->nlanes++) {
		struct sbt_cmd c = ours(launch, SBT_STREAM_CREATE);

		p->lanes[p->nlanes] = x->next_stream++;
		c.u.stream_create.new_stream = p->lanes[p->nlanes];
		c.u.stream_create.stream_flags =
			1; /* the default stream waits for the launch's stream, which is enough */
		TRY(put(x, &c, launch->seq, 0));
	}
	return NULL;
}

static struct err *need_events(
	struct expander *x, struct pool *p, const struct sbt_cmd *launch, size_t n)
{
	while (p->nevents < n) {
		struct sbt_cmd c = ours(launch, SBT_EVENT_CREATE);

		MAKE_ROOM(p->events, p->nevents, p->cap);
		p->events[p->nevents++] = x->next_event;
		c.u.event_create.new_event = x->next_event++;
		TRY(put(x, &c, launch->seq, 0));
	}
	return NULL;
}

/* --- one launch --- */

struct layout {
	unsigned *lane;	 /* of each step */
	uint32_t *tail;	 /* of each lane, its last step + 1; 0: none */
	uint32_t *event; /* of each step, the pool's event that is recorded behind it, + 1; 0: none
			    is needed. Event 0 is the launch's beginning */
	unsigned nlanes;
	uint32_t nevents;
};

static void layout_free(struct layout *l)
{
	free(l->lane);
	free(l->tail);
	free(l->event);
}

static unsigned choose_lane(const struct layout *l, const struct state_step *step)
{
	for (unsigned k = 0; k < step->ndeps; k++) {
		const unsigned lane = l->lane[step->deps[k]];

		if (l->tail[lane] == step->deps[k] + 1)
			return lane;
	}
	return !step->ndeps && !l->tail[0] ? 0 : l->nlanes;
}

/* False: more lanes than there may be. */
static bool lay_out(struct layout *l, const struct state_steps *steps)
{
	*l = (struct layout){.nlanes = 1,
		.nevents = 1,
		.lane = xcalloc((size_t)steps->n + 1, sizeof *l->lane),
		.tail = xcalloc(EXPAND_LANES_MAX + 1, sizeof *l->tail),
		.event = xcalloc((size_t)steps->n + 1, sizeof *l->event)};
	for (uint32_t i = 0; i < steps->n; i++) {
		const struct state_step *step = &steps->step[i];
		const unsigned lane = choose_lane(l, step);

		if (lane == EXPAND_LANES_MAX)
			return false;
		l->nlanes += lane == l->nlanes;
		l->lane[i] = lane;
		l->tail[lane] = i + 1;
		for (unsigned k = 0; k < step->ndeps; k++)
			if (l->lane[step->deps[k]] != lane && !l->event[step->deps[k]])
				l->event[step->deps[k]] = ++l->nevents;
	}
	for (unsigned lane = 1; lane < l->nlanes; lane++)
		if (!l->event[l->tail[lane] - 1])
			l->event[l->tail[lane] - 1] = ++l->nevents;
	return true;
}

static void note_copy(struct expander *x, struct became *b, const struct sbt_cmd *c)
{
	if (c->kind != SBT_COPY)
		return;
	MAKE_ROOM(x->copies, x->ncopies, x->cap_copies);
	x->copies[x->ncopies++] = (struct copy_step){x->next, c->u.copy.src, c->u.copy.dst};
	b->ncopies++;
}

/* A kernel behind one other, by a programmatic edge: it may begin before that one has finished, as
 * a launch of a stream may. */
static bool begins_early(const struct state_steps *steps, uint32_t i)
{
	const struct state_step *step = &steps->step[i],
				*front = step->ndeps == 1 ? &steps->step[step->deps[0]] : NULL;
	struct sbt_cmd c;

	return front && step_works(front) && step_works(step) &&
	       front->node.type == SBT_NODE_KERNEL && step->node.type == SBT_NODE_KERNEL &&
	       sbt_unpack(&c, step->node.payload.p, step->node.payload.len) && early_is(&c);
}

static struct err *put_step(struct expander *x, struct became *b, const struct sbt_cmd *launch,
	const struct pool *p, const struct layout *l, const struct state_steps *steps, uint32_t i)
{
	const struct state_step *step = &steps->step[i];
	const uint32_t stream = p->lanes[l->lane[i]];
	struct sbt_cmd c;

	if (!step->ndeps && l->lane[i])
		TRY(put_wait(x, launch, stream, p->events[0]));
	for (unsigned k = 0; k < step->ndeps; k++)
		if (l->lane[step->deps[k]] != l->lane[i])
			TRY(put_wait(x, launch, stream, p->events[l->event[step->deps[k]] - 1]));
	if (step_works(step)) {
		TRY(step_as_command(step, launch, &c));
		sbt_set(&c, sbt_field(c.kind, "stream"), stream);
		if (early_is(&c) &&
			!(begins_early(steps, i) &&
				l->lane[step->deps[0]] == l->lane[i])) { /* else that is in front of
									    it on its stream */
			c.u.launch.launch_attrs &= ~(UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_STREAM);
			x->to->nlost++;
		}
		c.stack = step->node.stack ? step->node.stack : launch->stack;
		if (step->node.stack)
			TRY(copied_stack(&x->copied, step->node.stack));
		note_copy(x, b, &c);
		TRY(put(x, &c, launch->seq, i + 1));
	}
	return l->event[i] ? put_record(x, launch, stream, p->events[l->event[i] - 1]) : NULL;
}

static struct err *put_steps(struct expander *x, struct became *b, const struct sbt_cmd *launch,
	const struct state_steps *steps, const struct layout *l)
{
	struct pool *p = pool_of(x, (uint32_t)launch->u.graph_launch.stream);

	TRY(need_lanes(x, p, launch, l->nlanes));
	TRY(need_events(x, p, launch, l->nevents));
	b->first = x->next;
	b->copies = x->ncopies;
	/* Also where nothing waits for it: what the host did before the launch needs a place. */
	TRY(put_record(x, launch, p->lanes[0], p->events[0]));
	for (uint32_t i = 0; i < steps->n; i++)
		TRY(put_step(x, b, launch, p, l, steps, i));
	for (unsigned lane = 1; lane < l->nlanes; lane++)
		TRY(put_wait(x, launch, p->lanes[0], p->events[l->event[l->tail[lane] - 1] - 1]));
	b->last = x->next - 1;
	return NULL;
}

/* Whether every step can be a command. */
static bool are_commands(const struct state_steps *steps, const struct sbt_cmd *launch)
{
	struct sbt_cmd c;

	for (uint32_t i = 0; i < steps->n; i++) {
		struct err *e = step_works(&steps->step[i])
					? step_as_command(&steps->step[i], launch, &c)
					: NULL;
		const bool bad = e != NULL;

		err_free(e);
		if (bad)
			return false;
	}
	return steps->n;
}

static struct err *put_launch(
	struct expander *x, struct became *b, const struct sbt_cmd *launch, bool *ret_done)
{
	struct state_steps steps;
	struct layout l = {0};
	struct err *e = state_steps(&steps, x->s, (uint32_t)launch->u.graph_launch.exec);

	*ret_done = !e && are_commands(&steps, launch) && lay_out(&l, &steps);
	err_free(e); /* a graph that cannot be: executing it will tell */
	e = *ret_done ? put_steps(x, b, launch, &steps, &l) : NULL;
	layout_free(&l);
	state_steps_free(&steps);
	return e;
}

/* --- the window --- */

/* Numbers of commands in its fields are new ones. */
static void renumber(const struct expander *x, struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	for (const struct sbt_field *f = d ? d->fields : NULL; f && f->name; f++) {
		const size_t i =
			f->type == SBT_T_SEQ ? kept_find(&x->window, sbt_get(c, f)) : SIZE_MAX;

		if (i != SIZE_MAX && x->became[i].first)
			sbt_set(c, f, x->became[i].first);
	}
}

static struct err *put_all(struct expander *x)
{
	for (size_t i = 0; i < x->window.n; i++) {
		struct became *b = &x->became[i];
		struct sbt_cmd c;
		bool done = false;

		TRY(kept_get(&x->window, i, &c));
		if (c.kind == SBT_GRAPH_LAUNCH && x->window.c[i].is_work)
			TRY(put_launch(x, b, &c, &done));
		if (!done) {
			const uint64_t seq = c.seq;

			b->first = b->last = x->next;
			renumber(x, &c);
			TRY(put(x, &c, seq, 0));
		}
		TRY(kept_get(&x->window, i, &c));
		TRY(state_apply(x->s, &c));
	}
	return NULL;
}

static uint64_t of_copy(
	const struct expander *x, const struct became *b, const struct sbt_memory *m)
{
	for (unsigned k = 0; k < b->ncopies; k++) {
		const struct copy_step *p = &x->copies[b->copies + k];

		if ((m->role == SBT_MEMORY_INPUT ? p->src : p->dst) == m->addr)
			return p->seq;
	}
	return b->first;
}

static struct err *copy_piece(void *arg, const struct sbt_memory *m)
{
	struct expander *x = arg;
	struct sbt_memory as = *m;
	size_t i = kept_find(&x->window, m->seq);

	if (m->missing)
		return NULL;
	if (i == SIZE_MAX)
		i = kept_from(&x->window, m->seq);
	const struct became *b = i < x->window.n ? &x->became[i] : NULL;
	if (m->role == SBT_MEMORY_START)
		as.seq = x->first;
	else if (m->role == SBT_MEMORY_END || !b)
		as.seq = x->next - 1;
	else if (m->role == SBT_MEMORY_EFFECT)
		as.seq = b->last;
	else
		as.seq = m->role == SBT_MEMORY_HOST ? b->first : of_copy(x, b, m);
	return copied_part(&x->copied, m, 0, m->size, as);
}

static struct err *put_state(struct expander *x)
{
	struct buf b = BUF_INIT;
	struct err *e;

	if (x->first <= 1)
		return NULL;
	state_encode(x->s, &b);
	e = sbt_writer_keyframe(x->copied.to, x->first - 1, b.data, b.len);
	buf_free(&b);
	return e;
}

/* Ids that nothing of the trace has. */
static struct err *choose_ids(struct expander *x)
{
	struct state_stream st;
	struct state_event ev;

	for (unsigned i = 0; state_stream(x->s, i, &st); i++)
		x->next_stream = st.id >= x->next_stream ? st.id + 1 : x->next_stream;
	for (unsigned i = 0; state_event(x->s, i, &ev); i++)
		x->next_event = ev.id >= x->next_event ? ev.id + 1 : x->next_event;
	for (size_t i = 0; i < x->window.n; i++) {
		struct sbt_cmd c;
		const struct sbt_kind_desc *d;

		TRY(kept_get(&x->window, i, &c));
		d = sbt_kind(c.kind);
		for (const struct sbt_field *f = d ? d->fields : NULL; f && f->name; f++) {
			const uint64_t id = f->type == SBT_T_STREAM || f->type == SBT_T_EVENT
						    ? sbt_get(&c, f)
						    : SBT_NO_ID;

			if (f->type == SBT_T_STREAM && id < SBT_NO_ID && id >= x->next_stream)
				x->next_stream = (uint32_t)id + 1;
			if (f->type == SBT_T_EVENT && id < SBT_NO_ID && id >= x->next_event)
				x->next_event = (uint32_t)id + 1;
		}
	}
	return NULL;
}

static struct err *expand(struct expander *x)
{
	struct sbt_reader *from = x->copied.from;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, from));
	e = kept_read(&x->window, cursor, x->first, x->last);
	sbt_cursor_close(cursor);
	TRY(e);
	x->became = xcalloc(x->window.n + 1, sizeof *x->became);
	TRY(state_at(&x->s, from, x->first - 1));
	TRY(choose_ids(x));
	TRY(copied_all(&x->copied, &x->window));
	TRY(put_state(x));
	TRY(put_all(x));
	TRY(sbt_reader_memory(from, x->first, x->last, copy_piece, x));
	return sbt_writer_window(x->copied.to, x->first, x->next - 1);
}

struct err *expand_write(struct sbt_reader *trace, uint64_t first, uint64_t last, const char *path,
	struct expanded *ret)
{
	struct expander x = {
		.copied = {.from = trace}, .first = first, .last = last, .next = first, .to = ret};
	struct err *e, *closed;

	*ret = (struct expanded){.first = first};
	TRY(sbt_writer_open(&x.copied.to, path, sbt_reader_meta(trace)));
	e = expand(&x);
	closed = sbt_writer_close(x.copied.to);
	if (e)
		err_free(closed);
	else
		e = closed;
	ret->last = x.next - 1;
	copied_free(&x.copied);
	kept_free(&x.window);
	state_free(x.s);
	free(x.became);
	for (size_t i = 0; i < x.npools; i++)
		free(x.pools[i].events);
	free(x.pools);
	free(x.copies);
	if (e)
		expanded_free(ret);
	return e;
}

void expanded_free(struct expanded *x)
{
	free(x->seq);
	free(x->step);
	*x = (struct expanded){0};
}

/* --- whether --- */

/* What is known of the graph that was looked at last. */
struct look {
	uint32_t graph; /* SBT_NO_ID: none */
	uint32_t steps;
	bool branches; /* or has programmatic edges */
};

static bool have_early(const struct state_steps *steps)
{
	for (uint32_t i = 0; i < steps->n; i++)
		if (begins_early(steps, i))
			return true;
	return false;
}

static void look_at(struct look *l, const struct state *s, uint32_t graph)
{
	struct state_steps steps;
	struct err *e;

	if (l->graph == graph)
		return;
	e = state_steps(&steps, s, graph);
	*l = (struct look){.graph = graph,
		.steps = steps.n,
		.branches = !e && (steps_branch(&steps) || have_early(&steps))};
	state_steps_free(&steps);
	err_free(e); /* it stays a launch */
}

struct err *expand_wanted(struct sbt_reader *trace, uint64_t first, uint64_t last, bool *ret)
{
	struct look at = {.graph = SBT_NO_ID};
	bool changes = false, branches = false;
	uint64_t steps = 0;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state *s;
	struct err *e;

	*ret = false;
	TRY(sbt_cursor_open(&cursor, trace));
	e = sbt_cursor_seek(cursor, first);
	if (!e)
		e = state_at(&s, trace, first - 1);
	if (e) {
		sbt_cursor_close(cursor);
		return e;
	}
	while (!e && !changes) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > last)
			break;
		changes = c->kind == SBT_GRAPH_UPDATE && !c->result;
		if (c->kind == SBT_GRAPH_LAUNCH && sbt_cmd_is_work(c)) {
			look_at(&at, s, (uint32_t)c->u.graph_launch.exec);
			branches |= at.branches;
			steps += at.steps;
		}
		e = state_apply(s, c);
	}
	*ret = changes || (branches && steps <= ORDER_CONFLICTS_MAX);
	state_free(s);
	sbt_cursor_close(cursor);
	return e;
}
