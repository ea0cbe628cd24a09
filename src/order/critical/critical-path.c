/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest way through the graph, how much everything beside it could grow, and what would be
 * longest if something took no time.
 */
#include "order/critical-path.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/id-table.h"
#include "order/critical/critical-graph.h"

/* A part as a number: what << 32 | id. */
#define KEY(what, id) ((uint64_t)(what) << 32 | (id))
#define NO_KEY UINT64_MAX

struct finder {
	struct critical_graph g;
	struct critical_path *path;
	uint64_t *ends; /* of nodes, in the model */
	uint64_t *late; /* the latest end that leaves the run as long as it is */
	bool *on;
	struct id_table numbers[CRITICAL_WHATS]; /* of parts, plus 1 */
	uint64_t *sums;				 /* by part: scratch */
	size_t cap_steps, cap_parts;
	volatile bool *interrupt;
};

static uint64_t node_key(const struct critical_node *x)
{
	return KEY(x->what, x->id);
}

/* --- parts --- */

/* The part of a key; NULL: its id is beyond what is kept. */
static struct critical_part *part_of(struct finder *f, uint64_t key)
{
	struct critical_path *p = f->path;
	uint32_t *number = id_table_row(&f->numbers[key >> 32], key & UINT32_MAX, true);

	if (!number)
		return NULL;
	if (!*number) {
		MAKE_ROOM(p->parts, p->nparts, f->cap_parts);
		p->parts[p->nparts++] =
			(struct critical_part){.what = (enum critical_what)(key >> 32),
				.id = (uint32_t)key,
				.stream = SBT_NO_ID,
				.next = CRITICAL_WHATS};
		*number = (uint32_t)p->nparts;
	}
	return &p->parts[*number - 1];
}

/* --- the model --- */

/* What a node costs if everything of that key took no time. */
static uint64_t cost_without(const struct critical_node *x, uint64_t key)
{
	if (key == KEY(CRITICAL_STARTING, 0) && x->what != CRITICAL_HOST)
		return x->busy;
	if (node_key(x) != key)
		return x->cost;
	return x->what == CRITICAL_HOST ? 0 : x->cost - x->busy;
}

static uint64_t busy_without(const struct critical_node *x, uint64_t key)
{
	return x->what == CRITICAL_HOST || node_key(x) == key ? 0 : x->busy;
}

/* The pred that ends last, by f->ends; CRITICAL_NONE: there is none. */
static uint32_t last_pred(const struct finder *f, const struct critical_node *x)
{
	uint32_t last = x->tight;

	for (uint32_t i = 0; i < x->npreds; i++) {
		const uint32_t p = f->g.preds[x->pred + i];

		if (f->ends[p] > f->ends[last])
			last = p;
	}
	return last;
}

/* Fills f->ends; returns the node that ends last. */
static size_t run_model(struct finder *f, uint64_t key)
{
	size_t last = 0;

	for (size_t i = 0; i < f->g.n; i++) {
		const struct critical_node *x = &f->g.nodes[i];
		const uint32_t p = last_pred(f, x);

		f->ends[i] = (p == CRITICAL_NONE ? f->g.begin : f->ends[p]) + cost_without(x, key);
		if (f->ends[i] >= f->ends[last])
			last = i;
	}
	return last;
}

static void find_slack(struct finder *f, uint64_t end)
{
	for (size_t i = 0; i < f->g.n; i++)
		f->late[i] = end;
	for (size_t i = f->g.n; i-- > 0;) {
		const struct critical_node *x = &f->g.nodes[i];

		for (uint32_t k = 0; k < x->npreds; k++) {
			uint64_t *late = &f->late[f->g.preds[x->pred + k]];

			if (f->late[i] - x->cost < *late)
				*late = f->late[i] - x->cost;
		}
	}
}

/* --- the path --- */

static void add_step(struct finder *f, const struct critical_node *x, enum critical_what what,
	uint64_t from, uint64_t to)
{
	struct critical_path *p = f->path;

	p->by_what[what] += to - from;
	if (from == to)
		return;
	MAKE_ROOM(p->steps, p->nsteps, f->cap_steps);
	p->steps[p->nsteps++] = (struct critical_step){.what = what,
		.id = what == CRITICAL_STARTING ? 0 : x->id,
		.seq = x->seq,
		.stream = x->stream,
		.thread = x->thread,
		.stack = x->stack,
		.from_ns = from,
		.to_ns = to};
}

static void add_to_part(struct finder *f, const struct critical_step *s)
{
	struct critical_part *part = part_of(f, KEY(s->what, s->id));
	const uint64_t ns = s->to_ns - s->from_ns;

	if (!part)
		return;
	part->on_ns += ns;
	part->on_count++;
	if (ns <= part->longest_ns)
		return;
	part->longest_ns = ns;
	part->longest_seq = s->seq;
	part->stack = s->stack;
	part->stream = s->stream;
}

/* From the node that ends last back to the beginning. */
static void walk_back(struct finder *f, size_t last)
{
	struct critical_path *p = f->path;

	for (uint32_t i = (uint32_t)last; i != CRITICAL_NONE; i = f->g.nodes[i].tight) {
		const struct critical_node *x = &f->g.nodes[i];
		const uint64_t work = x->at - x->busy;

		f->on[i] = true;
		if (x->what != CRITICAL_HOST)
			add_step(f, x, x->what, work, x->at);
		add_step(f, x, x->what == CRITICAL_HOST ? CRITICAL_HOST : CRITICAL_STARTING,
			x->at - x->cost, work);
	}
	for (size_t i = 0; i < p->nsteps / 2; i++) {
		const struct critical_step s = p->steps[i];

		p->steps[i] = p->steps[p->nsteps - 1 - i];
		p->steps[p->nsteps - 1 - i] = s;
	}
	for (size_t i = 0; i < p->nsteps; i++)
		add_to_part(f, &p->steps[i]);
}

static void count_beside(struct finder *f)
{
	for (size_t i = 0; i < f->g.n; i++) {
		const struct critical_node *x = &f->g.nodes[i];
		struct critical_part *part =
			x->what != CRITICAL_HOST && !f->on[i] ? part_of(f, node_key(x)) : NULL;
		const uint64_t slack = f->late[i] - x->at;

		if (!part)
			continue;
		if (!part->beside++ || slack < part->slack_ns) {
			part->slack_ns = slack;
			part->slack_seq = x->seq;
			if (!part->on_ns) {
				part->stack = x->stack;
				part->stream = x->stream;
			}
		}
	}
}

/* --- what if --- */

static void add_sum(struct finder *f, uint64_t key, uint64_t ns)
{
	const uint32_t *number = id_table_row(&f->numbers[key >> 32], key & UINT32_MAX, false);

	if (number && *number)
		f->sums[*number - 1] += ns;
}

/* What the model's path is mostly made of, behind node last. */
static void find_next(struct finder *f, struct critical_part *part, size_t last, uint64_t key)
{
	const struct critical_path *p = f->path;
	size_t most = 0;

	for (size_t i = 0; i < p->nparts; i++)
		f->sums[i] = 0;
	for (uint32_t i = (uint32_t)last; i != CRITICAL_NONE; i = last_pred(f, &f->g.nodes[i])) {
		const struct critical_node *x = &f->g.nodes[i];
		const uint64_t busy = busy_without(x, key), rest = cost_without(x, key) - busy;

		add_sum(f, node_key(x), x->what == CRITICAL_HOST ? rest : busy);
		if (x->what != CRITICAL_HOST)
			add_sum(f, KEY(CRITICAL_STARTING, 0), rest);
	}
	for (size_t i = 0; i < p->nparts; i++)
		most = f->sums[i] > f->sums[most] ? i : most;
	if (!p->nparts || !f->sums[most])
		return;
	part->next = p->parts[most].what;
	part->next_id = p->parts[most].id;
}

static struct err *ask_what_if(struct finder *f, struct critical_part *part)
{
	const uint64_t key = KEY(part->what, part->id);
	size_t last;

	if (f->interrupt && *f->interrupt)
		return err_new(ERR_INTERRUPTED, "Interrupted");
	last = run_model(f, key);
	part->gain_ns = f->path->end_ns - f->ends[last];
	find_next(f, part, last, key);
	return NULL;
}

/* --- the result --- */

static int by_rank(const void *x, const void *y)
{
	const struct critical_part *a = x, *b = y;

	if (!a->on_ns != !b->on_ns)
		return a->on_ns ? -1 : 1;
	if (a->on_ns != b->on_ns)
		return a->on_ns < b->on_ns ? 1 : -1;
	if (!a->beside != !b->beside)
		return a->beside ? -1 : 1;
	if (a->slack_ns != b->slack_ns)
		return a->slack_ns < b->slack_ns ? -1 : 1;
	return a->what != b->what ? (int)a->what - (int)b->what : (a->id > b->id) - (a->id < b->id);
}

static void number_parts(struct finder *f)
{
	const struct critical_path *p = f->path;

	for (size_t i = 0; i < p->nparts; i++) {
		uint32_t *number =
			id_table_row(&f->numbers[p->parts[i].what], p->parts[i].id, false);

		if (number)
			*number = (uint32_t)i + 1;
	}
}

static struct err *find(struct finder *f)
{
	struct critical_path *p = f->path;
	const size_t last = run_model(f, NO_KEY);

	(void)part_of(f, KEY(CRITICAL_STARTING, 0));
	for (size_t i = 0; i < f->g.n; i++)
		(void)part_of(f, node_key(&f->g.nodes[i]));
	p->begin_ns = f->g.begin;
	p->end_ns = f->ends[last];
	find_slack(f, p->end_ns);
	walk_back(f, last);
	count_beside(f);
	qsort(p->parts, p->nparts, sizeof *p->parts, by_rank);
	while (p->non < p->nparts && p->parts[p->non].on_ns)
		p->non++;
	number_parts(f);
	f->sums = xcalloc(p->nparts + 1, sizeof *f->sums);
	for (size_t i = 0; i < p->non && i < CRITICAL_ASKED; i++)
		TRY(ask_what_if(f, &p->parts[i]));
	return NULL;
}

static void finder_free(struct finder *f)
{
	critical_graph_free(&f->g);
	free(f->ends);
	free(f->late);
	free(f->on);
	free(f->sums);
	for (unsigned i = 0; i < CRITICAL_WHATS; i++)
		free(f->numbers[i].at);
}

static struct err *no_times(const struct critical_path *p)
{
	if (!p->commands)
		return err_new(
			ERR_INCOMPLETE, "there is no launch, copy or fill to find a path through");
	return err_cure(err_new(ERR_INCOMPLETE,
				"the trace has no GPU times, which the critical path needs"),
		"Record with tsdb record --timestamps, or set capture timestamps on");
}

struct err *critical_path(
	struct critical_path *ret, struct sbt_reader *trace, const struct order_options *o)
{
	struct finder f = {.path = ret, .interrupt = o->interrupt};
	struct err *e;

	*ret = (struct critical_path){0};
	for (unsigned i = 0; i < CRITICAL_WHATS; i++)
		f.numbers[i].size = sizeof(uint32_t);
	e = critical_graph_make(&f.g, trace, o);
	ret->commands = f.g.commands;
	ret->untimed = f.g.untimed;
	ret->contradictions = f.g.contradictions;
	if (!e && ret->commands == ret->untimed)
		e = no_times(ret);
	if (!e) {
		f.ends = xcalloc(f.g.n, sizeof *f.ends);
		f.late = xcalloc(f.g.n, sizeof *f.late);
		f.on = xcalloc(f.g.n, sizeof *f.on);
		e = find(&f);
	}
	finder_free(&f);
	if (e)
		critical_path_free(ret);
	return e;
}

void critical_path_free(struct critical_path *p)
{
	free(p->steps);
	free(p->parts);
	*p = (struct critical_path){0};
}
