/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the steps of a trace, see compare.h. One pass keeps what may begin or end a step: marks,
 * graph launches, host waits, each with the work before it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "compare/compare.h"

enum {
	TELL_EVERY = 1 << 16,
	DEPTH_MAX = 64,
	NAME_BYTES = 256,
	THREADS_MAX = 256,
	NAMES_MAX = 4096
};
enum { MARK_PUSH = 1, MARK_POP = 2 };

/* A place where a step may begin or end. */
struct cut {
	uint64_t seq, work; /* commands of work in front of it, of all threads */
	uint64_t id;	    /* of a graph; of a range: number of its name */
	uint64_t number;    /* in the name of a range; UINT64_MAX: none, or several */
	uint32_t thread;
	uint8_t kind; /* enum sbt_kind */
	bool push;
};
struct reading {
	struct cut *cuts;
	size_t n, cap;
	char **names; /* heap; numbers in them are '*' */
	unsigned nnames;
	uint64_t work, last;
	struct {
		uint32_t thread;
		uint64_t work;
	} threads[THREADS_MAX];
	unsigned nthreads;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

char *compare_range_name(const char *p, size_t len, uint64_t *ret_number)
{
	const size_t n = len < NAME_BYTES ? len : NAME_BYTES;
	struct buf b = BUF_INIT;
	unsigned numbers = 0;

	*ret_number = 0;
	for (size_t i = 0; i < n;) {
		if (!is_digit(p[i])) {
			buf_byte(&b, (uint8_t)p[i++]);
			continue;
		}
		buf_byte(&b, '*');
		numbers++;
		for (; i < n && is_digit(p[i]); i++)
			*ret_number = *ret_number < UINT64_MAX / 16
					      ? 10 * *ret_number + (uint64_t)(p[i] - '0')
					      : UINT64_MAX;
	}
	if (numbers != 1)
		*ret_number = UINT64_MAX;
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

/* NAMES_MAX: there are too many names. */
static unsigned intern(struct reading *r, char *name)
{
	unsigned i = 0;

	while (i < r->nnames && strcmp(r->names[i], name) != 0)
		i++;
	if (i < r->nnames || i == NAMES_MAX) {
		free(name);
		return i;
	}
	r->names = xrealloc(r->names, (r->nnames + 1) * sizeof *r->names);
	r->names[r->nnames] = name;
	return r->nnames++;
}

static void count_work(struct reading *r, uint32_t thread)
{
	unsigned i = 0;

	r->work++;
	while (i < r->nthreads && r->threads[i].thread != thread)
		i++;
	if (i == THREADS_MAX)
		return;
	if (i == r->nthreads)
		r->threads[r->nthreads++].thread = thread;
	r->threads[i].work++;
}

/* The thread that submits the most. */
static uint32_t busiest(const struct reading *r)
{
	unsigned best = 0;

	for (unsigned i = 1; i < r->nthreads; i++)
		if (r->threads[i].work > r->threads[best].work)
			best = i;
	return r->threads[best].thread;
}

static void take(struct reading *r, const struct sbt_cmd *c)
{
	struct cut cut = {.seq = c->seq,
		.work = r->work,
		.thread = c->thread,
		.kind = (uint8_t)c->kind,
		.number = UINT64_MAX};

	r->last = c->seq;
	if (sbt_cmd_is_work(c))
		count_work(r, c->thread);
	if (c->kind == SBT_GRAPH_LAUNCH) {
		cut.id = c->u.graph_launch.exec;
	} else if (c->kind == SBT_MARK && c->u.mark.mark_kind == MARK_PUSH) {
		cut.push = true;
		cut.id = intern(r, compare_range_name(c->u.mark.text.p, (size_t)c->u.mark.text.len,
					   &cut.number));
	} else if (c->kind != SBT_SYNC &&
		   !(c->kind == SBT_MARK && c->u.mark.mark_kind == MARK_POP)) {
		return;
	}
	MAKE_ROOM(r->cuts, r->n, r->cap);
	r->cuts[r->n++] = cut;
}

static struct err *read_cuts(struct reading *r, const struct compare_step_ask *ask)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;
	uint64_t done = 0;

	TRY(sbt_cursor_open(&cursor, ask->r));
	for (;;) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c)
			break;
		take(r, c);
		if (!(++done % TELL_EVERY) && ask->cancelled &&
			ask->cancelled(ask->arg, done, sbt_reader_count(ask->r))) {
			e = err_new(ERR_INTERRUPTED, "interrupted");
			break;
		}
	}
	sbt_cursor_close(cursor);
	return e;
}

static void add_step(struct compare_steps *s, struct compare_step step)
{
	if (!step.work)
		return;
	MAKE_ROOM(s->v, s->n, s->cap);
	s->counted |= step.number == UINT64_MAX;
	s->v[s->n++] = step;
}

/* --- ranges --- */

/* Ranges of one name at one depth of one thread. */
struct kind_of_range {
	uint64_t id;
	uint32_t thread;
	unsigned depth;
	uint64_t count; /* that have work */
	uint64_t first; /* seq */
};
struct range_walk {
	struct compare_steps *ret;	/* NULL: they are counted */
	const struct kind_of_range *of; /* only those are steps */
	struct kind_of_range *kinds;
	size_t nkinds, cap;
};

static void count_range(struct range_walk *w, const struct cut *push, unsigned depth)
{
	size_t i = 0;

	while (i < w->nkinds && (w->kinds[i].id != push->id || w->kinds[i].depth != depth ||
					w->kinds[i].thread != push->thread))
		i++;
	if (i == w->nkinds) {
		MAKE_ROOM(w->kinds, w->nkinds, w->cap);
		w->kinds[w->nkinds++] = (struct kind_of_range){
			.id = push->id, .thread = push->thread, .depth = depth, .first = push->seq};
	}
	w->kinds[i].count++;
}

static void end_range(
	struct range_walk *w, const struct cut *push, const struct cut *pop, unsigned depth)
{
	if (push->work == pop->work)
		return;
	if (!w->ret)
		count_range(w, push, depth);
	else if (push->id == w->of->id && depth == w->of->depth)
		add_step(w->ret, (struct compare_step){.first = push->seq,
					 .last = pop->seq,
					 .work = pop->work - push->work,
					 .number = push->number});
}

/* One thread's ranges; those that are never popped end nowhere. */
static void walk_thread(const struct reading *r, uint32_t thread, struct range_walk *w)
{
	const struct cut *open[DEPTH_MAX];
	unsigned depth = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct cut *c = &r->cuts[i];

		if (c->kind != SBT_MARK || c->thread != thread)
			continue;
		if (c->push) {
			if (depth < DEPTH_MAX)
				open[depth] = c;
			depth++;
		} else if (depth) {
			depth--;
			if (depth < DEPTH_MAX && open[depth]->id < NAMES_MAX)
				end_range(w, open[depth], c, depth);
		}
	}
}

/* Those furthest outside that repeat; of several names at one depth those that come first. */
static const struct kind_of_range *choose(
	const struct reading *r, const struct range_walk *w, const char *name)
{
	const struct kind_of_range *best = NULL;

	for (size_t i = 0; i < w->nkinds; i++) {
		const struct kind_of_range *k = &w->kinds[i];

		if (name ? strcmp(r->names[k->id], name) != 0 : k->count < 2)
			continue;
		if (!best || k->depth < best->depth ||
			(k->depth == best->depth && k->first < best->first))
			best = k;
	}
	return best;
}

/* Numbers in names are those of the steps if each has one of its own. */
static void number_ranges(struct compare_steps *s)
{
	for (size_t i = 1; !s->counted && i < s->n; i++)
		s->counted = s->v[i].number <= s->v[i - 1].number;
	for (size_t i = 0; i < s->n; i++)
		s->v[i].number = s->counted ? i + 1 : s->v[i].number;
}

static void by_range(const struct reading *r, const char *name, struct compare_steps *ret)
{
	struct range_walk w = {.ret = NULL};
	char *plain = NULL;

	if (name) {
		uint64_t number;

		plain = compare_range_name(name, strlen(name), &number);
	}
	for (unsigned i = 0; i < r->nthreads; i++)
		walk_thread(r, r->threads[i].thread, &w);
	w.of = choose(r, &w, plain);
	free(plain);
	if (w.of) {
		w.ret = ret;
		ret->name = xstrdup(r->names[w.of->id]);
		walk_thread(r, w.of->thread, &w);
		number_ranges(ret);
	}
	free(w.kinds);
}

/* --- graphs --- */

/* The graph that is launched most often; false: none is launched twice. */
static bool repeated_graph(const struct reading *r, uint64_t *ret)
{
	struct {
		uint64_t id, count;
	} g[NAMES_MAX / 4];
	unsigned n = 0, best = 0;

	for (size_t i = 0; i < r->n; i++) {
		unsigned k = 0;

		if (r->cuts[i].kind != SBT_GRAPH_LAUNCH)
			continue;
		while (k < n && g[k].id != r->cuts[i].id)
			k++;
		if (k == sizeof g / sizeof *g)
			continue;
		if (k == n) {
			g[n].id = r->cuts[i].id;
			g[n++].count = 0;
		}
		g[k].count++;
	}
	for (unsigned k = 1; k < n; k++)
		best = g[k].count > g[best].count ? k : best;
	if (!n || g[best].count < 2)
		return false;
	*ret = g[best].id;
	return true;
}

/* From each launch to the one behind. */
static void by_graph(const struct reading *r, struct compare_steps *ret)
{
	const struct cut *from = NULL;
	uint64_t graph;

	if (!repeated_graph(r, &graph))
		return;
	for (size_t i = 0; i < r->n; i++) {
		const struct cut *c = &r->cuts[i];

		if (c->kind != SBT_GRAPH_LAUNCH || c->id != graph)
			continue;
		if (from)
			add_step(ret, (struct compare_step){.first = from->seq,
					      .last = c->seq - 1,
					      .work = c->work - from->work,
					      .number = ret->n + 1});
		from = c;
	}
	add_step(ret, (struct compare_step){.first = from->seq,
			      .last = r->last,
			      .work = r->work - from->work,
			      .number = ret->n + 1});
}

/* --- host waits --- */

/* Up to each wait of the thread that submits the most; a wait with nothing in front of it belongs
 * to the step before. */
static void by_wait(const struct reading *r, struct compare_steps *ret)
{
	const uint32_t thread = r->nthreads ? busiest(r) : 0;
	uint64_t from = 0, work = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct cut *c = &r->cuts[i];

		if (c->kind != SBT_SYNC || c->thread != thread)
			continue;
		if (c->work == work && ret->n)
			ret->v[ret->n - 1].last = c->seq;
		add_step(ret, (struct compare_step){.first = from,
				      .last = c->seq,
				      .work = c->work - work,
				      .number = ret->n + 1});
		from = c->seq + 1;
		work = c->work;
	}
}

const char *compare_steps_name(enum compare_steps_by by)
{
	static const char *const names[COMPARE_STEPS_BYS] = {"range", "graph", "wait"};

	return (unsigned)by < COMPARE_STEPS_BYS ? names[by] : "?";
}

static void find(
	const struct reading *r, const struct compare_step_ask *ask, struct compare_steps *ret)
{
	if (ask->by == COMPARE_STEPS_RANGE)
		by_range(r, ask->name, ret);
	else if (ask->by == COMPARE_STEPS_GRAPH)
		by_graph(r, ret);
	else
		by_wait(r, ret);
}

struct err *compare_steps_find(struct compare_steps *ret, const struct compare_step_ask *ask)
{
	struct reading *r = xcalloc(1, sizeof *r);
	struct err *e = read_cuts(r, ask);

	*ret = (struct compare_steps){.by = ask->by, .counted = ask->by != COMPARE_STEPS_RANGE};
	if (!e)
		find(r, ask, ret);
	for (unsigned i = 0; i < r->nnames; i++)
		free(r->names[i]);
	free(r->names);
	free(r->cuts);
	free(r);
	return e;
}

const struct compare_step *compare_step_numbered(const struct compare_steps *s, uint64_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].number == number)
			return &s->v[i];
	return NULL;
}

void compare_steps_free(struct compare_steps *s)
{
	free(s->v);
	free(s->name);
	*s = (struct compare_steps){0};
}
