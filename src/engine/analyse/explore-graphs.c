/* SPDX-License-Identifier: Apache-2.0
 *
 * Explores windows with graphs that have branches: their steps have other orders, too. The window
 * is written with its graph launches taken apart (order/expand.h), that trace is explored instead,
 * and the findings are reported with the recorded trace's numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/first-where.h"
#include "order/expand.h"
#include "engine/analyse/explore-private.h"
#include "engine/trace-file.h"

struct err *explore_temp_file(char **ret)
{
	const char *dir = getenv("TMPDIR");
	char *path = xasprintf("%s/tsdb-XXXXXX.sbt", dir && *dir ? dir : "/tmp");
	const int fd = mkstemps(path, 4);
	struct err *e = fd < 0 ? err_sys(errno, "cannot make %s", path) : NULL;

	if (fd >= 0)
		close(fd);
	if (e)
		free(path);
	else
		*ret = path;
	return e;
}

/* --- the recorded numbers, and those of the trace that is explored --- */

static uint64_t recorded_entry(const struct expanded *t, uint64_t entry)
{
	const uint64_t i = order_seq(entry) - t->first;

	if (i >= t->n || t->seq[i] >= ORDER_STEP_SEQS)
		return entry;
	return (entry & (ORDER_HOST | ORDER_POISON)) | t->seq[i] | t->step[i] * ORDER_STEP_SEQS;
}

/* Where each command of the explored trace was recorded, to look it up the other way round. */
struct origin {
	uint64_t entry, now;
};
struct origins {
	struct origin *o; /* by entry; heap */
	size_t n;
};

static int by_entry(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;

	return (x->entry > y->entry) - (x->entry < y->entry);
}

static struct origins origins_of(const struct expanded *t)
{
	struct origins r = {.o = xcalloc(t->n + 1, sizeof *r.o)};

	for (uint64_t i = 0; i < t->n; i++)
		if (t->seq[i] < ORDER_STEP_SEQS)
			r.o[r.n++] = (struct origin){
				t->seq[i] | t->step[i] * ORDER_STEP_SEQS, t->first + i};
	if (r.n)
		qsort(r.o, r.n, sizeof *r.o, by_entry);
	return r;
}

static uint64_t explored_entry(const struct origins *t, uint64_t entry)
{
	const uint64_t marks = entry & (ORDER_HOST | ORDER_POISON), plain = entry & ~marks;
	const size_t at = FIRST_WHERE(t->n, i, t->o[i].entry >= plain);

	return at < t->n && t->o[at].entry == plain ? marks | t->o[at].now : entry;
}

/* One of the two, for all entries of a finding. */
struct renumber {
	const struct expanded *to_recorded;
	const struct origins *to_explored;
};

static uint64_t renumbered(const struct renumber *t, uint64_t entry)
{
	return t->to_recorded ? recorded_entry(t->to_recorded, entry)
			      : explored_entry(t->to_explored, entry);
}

static void renumber_found(const struct renumber *t, struct explore_found *f)
{
	for (size_t i = 0; i < f->nflipped; i++) {
		f->flipped[i].before = renumbered(t, f->flipped[i].before);
		f->flipped[i].after = renumbered(t, f->flipped[i].after);
		f->as_recorded[i].before = renumbered(t, f->as_recorded[i].before);
		f->as_recorded[i].after = renumbered(t, f->as_recorded[i].after);
	}
	for (size_t i = 0; i < f->nseqs; i++)
		f->seqs[i] = renumbered(t, f->seqs[i]);
	if (f->poison)
		f->poison = renumbered(t, f->poison);
	if (f->held)
		f->held = renumbered(t, f->held);
}

/* What is explored, and what it was made of. */
struct apart {
	struct expanded t;
	const struct explore_options *o; /* the caller's */
	const char *path;
	uint64_t first, last;
	unsigned window; /* from 0 */
};

static void recorded_result(const struct apart *a, struct explore_result *r)
{
	const struct renumber to = {.to_recorded = &a->t};

	for (size_t i = 0; i < r->nfound; i++)
		renumber_found(&to, &r->found[i]);
	r->left_early |= a->t.nlost;
	r->went_through &= !r->left_early;
	r->first = a->first;
	r->last = a->last;
	r->window = a->window + 1;
	free(r->trace);
	r->trace = xstrdup(a->path);
}

static struct explore_result copy_result(const struct explore_result *r)
{
	struct explore_result c = *r;

	c.trace = r->trace ? xstrdup(r->trace) : NULL;
	c.have = xcalloc(r->shards, sizeof *c.have);
	memcpy(c.have, r->have, r->shards * sizeof *c.have);
	c.shown = xcalloc(r->nshown + 1, sizeof *c.shown);
	for (size_t i = 0; i < r->nshown; i++)
		c.shown[i] = r->shown[i];
	c.found = xcalloc(r->nfound + 1, sizeof *c.found);
	for (size_t i = 0; i < r->nfound; i++)
		c.found[i] = explore_found_copy(&r->found[i]);
	return c;
}

static struct err *checkpoint(void *arg, const struct explore_result *r)
{
	const struct apart *a = arg;
	struct explore_result c = copy_result(r);
	struct err *e;

	recorded_result(a, &c);
	e = a->o->checkpoint(a->o->checkpoint_arg, &c);
	explore_free(&c);
	return e;
}

/* The caller's earlier result in the numbers of the trace that is explored. */
static struct explore_result explored_result(
	const struct expanded *t, const struct explore_result *from)
{
	struct origins o = origins_of(t);
	const struct renumber to = {.to_explored = &o};
	struct explore_result r = copy_result(from);

	for (size_t i = 0; i < r.nfound; i++)
		renumber_found(&to, &r.found[i]);
	free(o.o);
	return r;
}

/* ---- in the engine's place
 * --------------------------------------------------------------------------------------------------------------
 */

static struct err *explore_file(struct engine *en, const char *path, const struct replay_choice *c,
	const struct explore_options *o, struct explore_result *ret)
{
	struct err *e = engine_open(en, path);

	if (!e)
		e = engine_replay(en, c);
	if (!e)
		e = explore_plain(en, o, ret);
	engine_close(en);
	return e;
}

static struct err *explore_apart(struct engine *en, const char *path, const struct replay_choice *c,
	struct apart *a, const struct explore_result *from, struct explore_result *ret)
{
	struct explore_options mine = *a->o;

	mine.save = a->o->save ? a->o->save : a->path;
	mine.from = from;
	mine.checkpoint = a->o->checkpoint ? checkpoint : NULL;
	mine.checkpoint_arg = a;
	TRY(explore_file(en, path, c, &mine, ret));
	recorded_result(a, ret);
	return NULL;
}

/* Opens the recorded trace again, with its replay where it was. */
static struct err *come_back(struct engine *en, const struct trace *was, struct replay_choice *c,
	uint64_t seq, struct err *e)
{
	struct replay_stop stop;
	struct err *back;

	en->trace = *was;
	back = engine_replay(en, c);
	if (!back)
		back = replay_goto(en->trace.replay, seq, &stop);
	if (!e)
		return back;
	err_free(back);
	return e;
}

struct err *explore_expanded(
	struct engine *en, const struct explore_options *o, struct explore_result *ret)
{
	const struct replay_device *rd = en->trace.device;
	const uint64_t first = rd->first, last = rd->last, seq = replay_seq(en->trace.replay);
	struct replay_choice c = {.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL,
				     .strict = true,
				     .any_device = true,
				     .quiet = true},
			     recorded = c;
	struct apart a = {.o = o, .first = first, .last = last};
	struct explore_result from = {0};
	struct trace was;
	char *path;
	struct err *e;

	recorded.window = a.window = explore_window_of(en, first);
	TRY(explore_temp_file(&path));
	e = expand_write(en->trace.reader, first, last, path, &a.t);
	if (!e) {
		if (o->from)
			from = explored_result(&a.t, o->from);
		engine_replay_end(en);
		was = en->trace;
		a.path = was.path;
		en->trace = (struct trace){0};
		e = explore_apart(en, path, &c, &a, o->from ? &from : NULL, ret);
		e = come_back(en, &was, &recorded, seq, e);
		explore_free(&from);
		expanded_free(&a.t);
	}
	unlink(path);
	free(path);
	return e;
}
