/* SPDX-License-Identifier: Apache-2.0
 *
 * Which node of a graph launch made a NaN. Memory cannot be changed between nodes, so there are no
 * causal tests: a node before which nothing that it was given is NaN or infinite made it; else the
 * way goes on to the node that wrote such an element last, and the answer says that this was not
 * tested.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/graph-steps.h"
#include "engine/nan/nan-private.h"
#include "engine/trace-file.h"
#include "replay/device-node.h"
#include "replay/values.h"

enum { BYTES_MOST = 64 << 20 };

struct nodes {
	struct nan_job *j;
	const struct nan_work *w;
	struct state *st; /* before the launch */
	struct sbt_cmd launch;
	struct state_steps steps;
	size_t at, n;  /* spans of memory that the launch touches */
	uint64_t same; /* the number of the element that is looked for */
	struct nan_element found;
	bool any;
};

static void look_at(struct nodes *x, const struct nan_span *s, const uint8_t *bytes)
{
	const unsigned size = value_types[s->as].bytes;

	for (uint64_t i = -s->addr & (size - 1); i + size <= s->size; i += size) {
		struct nan_element e = {
			.addr = s->addr + i, .as = s->as, .typed = s->typed, .param = NAN_NO_PARAM};

		memcpy(&e.bits, bytes + i, size);
		if (!nan_is_nan(e.bits, e.as) && !nan_is_inf(e.bits, e.as))
			continue;
		nan_place(x->st, NULL, NULL, &e);
		/* the first, or rather the one with the same number */
		if (!x->any || e.index == x->same)
			x->found = e;
		x->any = true;
		if (e.index == x->same)
			return;
	}
}

static struct err *look_at_span(struct nodes *x, const struct nan_span *span)
{
	struct nan_span s = *span;
	uint8_t *bytes;
	struct err *e;

	if (s.size > BYTES_MOST)
		return err_new(ERR_LIMIT, "the graph's nodes touch more memory than is looked at");
	bytes = xmalloc(s.size + 1);
	e = device_read(x->j->d, s.addr, bytes, s.size);
	if (!e) {
		nan_type_span(x->j, x->st, &x->launch, &s, true, bytes, s.size);
		if (s.as != REPLAYER_AS_AUTO)
			look_at(x, &s, bytes);
	}
	free(bytes);
	return e;
}

/* Looks before a step for what is not finite in what its node was given. */
static struct err *look_before(struct nodes *x, uint32_t step)
{
	struct sbt_cmd node;
	uint32_t steps;

	x->any = false;
	if (!step_cmd(&x->steps.step[step - 1], &node))
		return err_new(ERR_UNSUPPORTED, "what the node does is not recorded");
	TRY(device_node(x->j->d, x->w->seq, step - 1, &steps));
	for (size_t i = x->at; i < x->at + x->n; i++) {
		const struct nan_span *s = &x->j->spans[i];
		bool given = nan_reaches(x->st, &node, s->addr);

		if (node.kind == SBT_COPY)
			given = s->addr < node.u.copy.src + node.u.copy.size &&
				node.u.copy.src < s->addr + s->size;
		if (given)
			TRY(look_at_span(x, s));
	}
	return NULL;
}

static struct err *go_back(struct nodes *x, struct nan_cause *c)
{
	uint32_t step = c->node, before;
	bool guessed = false;

	for (;;) {
		if (engine_cancelled(x->j->en))
			return err_new(ERR_INTERRUPTED, "interrupted in #%" PRIu64, x->w->seq);
		nan_place(x->st, NULL, NULL, &c->at);
		x->same = c->at.index;
		TRY(look_before(x, step));
		c->node = step;
		if (!x->any)
			break;
		TRY(graph_last_change(x->j->en, x->w->seq, x->found.addr,
			value_types[x->found.as].bytes, step - 1, &before));
		if (!before)
			break;
		c->at = x->found;
		c->is_inf = nan_is_inf(c->at.bits, c->at.as);
		step = before;
		guessed = true;
		c->steps = xrealloc(c->steps, (c->nsteps + 1) * sizeof *c->steps);
		c->steps[c->nsteps++] =
			(struct nan_step){.seq = x->w->seq, .node = step, .out = c->at};
	}
	if (guessed)
		c->why = xasprintf(
			"from node to node the way goes by what they wrote, and is not tested");
	return NULL;
}

/* All that the launch reads and writes, split; where reads are not known, all memory. */
static struct err *find_spans(struct nodes *x)
{
	struct nan_job *j = x->j;
	size_t read_at = x->w->reads, nread = x->w->nreads;
	struct state_alloc a;

	if (!j->exact) {
		read_at = j->nspans;
		for (unsigned i = 0; state_alloc(x->st, i, &a); i++) {
			MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
			j->spans[j->nspans++] = (struct nan_span){
				.addr = a.addr, .size = a.size, .param = NAN_NO_PARAM};
		}
		nread = j->nspans - read_at;
	}
	TRY(nan_split(j, x->st, NULL, &read_at, &nread));
	x->at = read_at;
	for (size_t i = 0; i < x->w->nwrites; i++) {
		MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
		j->spans[j->nspans] = j->spans[x->w->writes + i];
		j->nspans++;
	}
	x->n = j->nspans - x->at;
	return NULL;
}

struct err *nan_find_node(struct nan_job *j, const struct nan_work *w, struct nan_cause *c)
{
	struct nodes x = {.j = j, .w = w};
	struct err *e;

	TRY(graph_launched(j->en, w->seq, &x.st, &x.launch));
	e = state_steps(&x.steps, x.st, (uint32_t)x.launch.u.graph_launch.exec);
	if (!e && c->node && c->node <= x.steps.n)
		e = find_spans(&x);
	if (!e && x.n)
		e = go_back(&x, c);
	state_steps_free(&x.steps);
	state_free(x.st);
	return err_first(e, device_seek(j->d, w->seq));
}
