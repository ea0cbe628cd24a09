/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks pairs with programmatic edges, see races-edges.h. Only undecided pairs are looked at
 * again: pairs without a programmatic edge were already judged in the recorded trace.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "order/expand.h"
#include "engine/analyse/explore-private.h"
#include "engine/analyse/races-edges.h"
#include "engine/trace-file.h"
#include "state/steps.h"

struct edges {
	struct engine *en;
	const struct exact_ask *ask;
	struct order_races *r;
	struct sbt_reader *reader; /* of the recorded trace */
	uint64_t first, last;	   /* the window at hand */
	struct expanded t;
	struct order_races found; /* in the expanded window */
};

static bool is_open(const struct order_race *r)
{
	return r->a.node != SBT_NO_ID && r->early & ORDER_EARLY_UNKNOWN;
}

/* The command that step `step` of launch seq became; 0: none. */
static uint64_t command_of(const struct edges *x, uint64_t seq, uint32_t step)
{
	for (size_t i = 0; step && i < x->t.n; i++)
		if (x->t.seq[i] == seq && x->t.step[i] == step)
			return x->t.first + i;
	return 0;
}

/* The step of a node that is the graph's own; 0: none. */
static uint32_t step_of(const struct state_steps *steps, uint32_t node)
{
	for (uint32_t i = 0; i < steps->n; i++)
		if (!steps->step[i].depth && steps->step[i].node.node == node)
			return i + 1;
	return 0;
}

/* The commands of both nodes. *ret_known is false if the launch was not taken apart. */
static struct err *commands_of(
	const struct edges *x, const struct order_race *r, struct order_pair *ret, bool *ret_known)
{
	struct state_steps steps;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c = NULL;
	struct state *st = NULL;
	struct err *e;

	*ret_known = false;
	TRY(sbt_cursor_open(&cursor, x->reader));
	e = sbt_cursor_seek(cursor, r->a.seq);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && c && c->kind == SBT_GRAPH_LAUNCH)
		e = state_at(&st, x->reader, r->a.seq - 1);
	if (!e && st)
		e = state_steps(&steps, st, (uint32_t)c->u.graph_launch.exec);
	if (!e && st) {
		*ret = (struct order_pair){command_of(x, r->a.seq, step_of(&steps, r->a.node)),
			command_of(x, r->a.seq, step_of(&steps, r->b.node))};
		*ret_known = ret->before && ret->after;
		state_steps_free(&steps);
	}
	state_free(st);
	sbt_cursor_close(cursor);
	return e;
}

static const struct order_race *race_of(const struct edges *x, const struct order_pair *m)
{
	for (size_t i = 0; i < x->found.n; i++) {
		const struct order_race *f = &x->found.r[i];

		if ((f->a.seq == m->before && f->b.seq == m->after) ||
			(f->a.seq == m->after && f->b.seq == m->before))
			return f;
	}
	return NULL;
}

/* Judges the pair. *ret_stays is false if the pair is ordered. */
static struct err *judge(const struct edges *x, struct order_race *r, bool *ret_stays)
{
	const struct order_race *f;
	struct order_pair m;
	bool known;

	*ret_stays = true;
	TRY(commands_of(x, r, &m, &known));
	if (!known)
		return NULL;
	f = race_of(x, &m);
	*ret_stays = f;
	if (!f)
		return NULL;
	r->tier = f->tier;
	r->early = f->early;
	r->behind = f->behind == f->a.seq ? r->a.seq : 0;
	r->addr = f->addr;
	r->size = f->size;
	r->a.how = m.before == f->a.seq ? f->a.how : f->b.how;
	r->b.how = m.before == f->a.seq ? f->b.how : f->a.how;
	return NULL;
}

static struct err *judge_all(struct edges *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->r->n; i++) {
		struct order_race *r = &x->r->r[i];
		bool stays = true;

		if (is_open(r) && r->a.seq >= x->first && r->a.seq <= x->last)
			TRY(judge(x, r, &stays));
		if (stays)
			x->r->r[n++] = *r;
	}
	x->r->n = n;
	return NULL;
}

/* Looks at the pairs, with the expanded window as the open trace. */
static struct err *look(struct edges *x)
{
	struct exact_ask ask = {.want = x->ask->want, .budget_ns = x->ask->budget_ns};
	struct order_options o = {.pairs_apart = true};
	struct exact *exact;
	struct err *e;

	TRY(exact_open_for(&exact, x->en, &ask));
	o.source = exact_source(exact);
	e = o.source && o.source->early ? order_races(&x->found, x->en->trace.reader, &o) : NULL;
	if (!e && o.source && !x->found.early_unknown && !x->found.more && !x->t.nlost)
		e = judge_all(x);
	order_races_free(&x->found);
	exact_free(exact);
	return e;
}

static struct err *open_and_look(struct edges *x, const char *path)
{
	struct engine *en = x->en;
	const struct trace was = en->trace;
	struct err *e;

	en->trace = (struct trace){0};
	e = engine_open(en, path);
	if (!e)
		e = look(x);
	engine_close(en);
	en->trace = was;
	return e;
}

static struct err *one_window(struct edges *x)
{
	char *path;
	struct err *e;

	TRY(explore_temp_file(&path));
	e = expand_write(x->reader, x->first, x->last, path, &x->t);
	if (!e) {
		e = open_and_look(x, path);
		expanded_free(&x->t);
	}
	unlink(path);
	free(path);
	return e;
}

static bool has_open(const struct order_races *r, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < r->n; i++)
		if (is_open(&r->r[i]) && r->r[i].a.seq >= first && r->r[i].a.seq <= last)
			return true;
	return false;
}

struct err *races_edges(struct engine *en, const struct exact_ask *ask, struct order_races *r)
{
	struct edges x = {.en = en, .ask = ask, .r = r, .reader = en->trace.reader};

	for (unsigned i = 0;
		ask->want != EXACT_NEVER && sbt_reader_window(x.reader, i, &x.first, &x.last);
		i++) {
		struct err *e = has_open(r, x.first, x.last) ? one_window(&x) : NULL;

		if (e && (e->code == ERR_INTERRUPTED || ask->want == EXACT_MUST))
			return e;
		err_free(e); /* the pairs stay undecided, and are reported so */
	}
	r->early_edges = 0;
	for (size_t i = 0; i < r->n; i++)
		r->early_edges += is_open(&r->r[i]);
	order_races_sort(r);
	return NULL;
}
