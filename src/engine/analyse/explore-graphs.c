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

/* --- back to the recorded numbers --- */

static uint64_t recorded_entry(const struct expanded *t, uint64_t entry)
{
	const uint64_t i = order_seq(entry) - t->first;

	if (i >= t->n || t->seq[i] >= ORDER_STEP_SEQS)
		return entry;
	return (entry & (ORDER_HOST | ORDER_POISON)) | t->seq[i] | t->step[i] * ORDER_STEP_SEQS;
}

static void recorded_found(const struct expanded *t, struct explore_found *f)
{
	for (size_t i = 0; i < f->nflipped; i++) {
		f->flipped[i].before = recorded_entry(t, f->flipped[i].before);
		f->flipped[i].after = recorded_entry(t, f->flipped[i].after);
		f->as_recorded[i].before = recorded_entry(t, f->as_recorded[i].before);
		f->as_recorded[i].after = recorded_entry(t, f->as_recorded[i].after);
	}
	for (size_t i = 0; i < f->nseqs; i++)
		f->seqs[i] = recorded_entry(t, f->seqs[i]);
	if (f->poison)
		f->poison = recorded_entry(t, f->poison);
	if (f->held)
		f->held = recorded_entry(t, f->held);
}

static void recorded_result(const struct expanded *t, const char *path, uint64_t first,
	uint64_t last, struct explore_result *r)
{
	for (size_t i = 0; i < r->nfound; i++)
		recorded_found(t, &r->found[i]);
	r->left_early |= t->nlost;
	r->went_through &= !r->left_early;
	r->first = first;
	r->last = last;
	free(r->trace);
	r->trace = xstrdup(path);
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
	struct explore_options mine = *o;
	struct expanded t;
	struct trace was;
	uint64_t begins, ends;
	char *path;
	struct err *e;

	while (sbt_reader_window(en->trace.reader, recorded.window, &begins, &ends) &&
		begins != first)
		recorded.window++;
	TRY(explore_temp_file(&path));
	e = expand_write(en->trace.reader, first, last, path, &t);
	if (!e) {
		mine.save = o->save ? o->save : en->trace.path;
		engine_replay_end(en);
		was = en->trace;
		en->trace = (struct trace){0};
		e = explore_file(en, path, &c, &mine, ret);
		if (!e)
			recorded_result(&t, was.path, first, last, ret);
		e = come_back(en, &was, &recorded, seq, e);
		expanded_free(&t);
	}
	unlink(path);
	free(path);
	return e;
}
