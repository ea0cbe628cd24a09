/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a NaN was born, see nan.h: the symptoms (what copies gave to the program, what is left at
 * the end), each followed to its cause; several that come from one place are one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/nan/nan-private.h"
#include "engine/soft-settings.h"
#include "replay/values.h"

const char *nan_end_name(enum nan_end end)
{
	static const char *const names[NAN_ENDS] = {"born", "fill", "copied", "host", "recorded",
		"start", "unwritten", "unsteady", "unknown"};

	return end < NAN_ENDS ? names[end] : "unknown";
}

const char *nan_typed_name(enum nan_typed typed)
{
	static const char *const names[] = {
		"unknown", "asked", "declared", "code", "reader", "values"};

	return names[typed <= NAN_TYPE_VALUES ? typed : 0];
}

static void cause_free(struct nan_cause *c)
{
	for (size_t i = 0; i < c->nsteps; i++)
		free(c->steps[i].inputs);
	free(c->steps);
	free(c->site.file);
	free(c->site.function);
	free(c->site.text);
	free(c->site.operands);
	free(c->why);
}

void nan_free(struct nan_result *r)
{
	for (size_t i = 0; i < r->ncauses; i++)
		cause_free(&r->causes[i]);
	free(r->causes);
	free(r->writers);
	*r = (struct nan_result){0};
}

/* --- causes --- */

static bool same_end(const struct nan_cause *a, const struct nan_cause *b)
{
	return a->end == b->end && a->seq == b->seq && a->node == b->node &&
	       (a->seq || a->at.addr == b->at.addr);
}

/* Whether an answer has this command already. */
static bool is_explained(const struct nan_result *r, uint64_t seq)
{
	for (size_t i = 0; i < r->ncauses; i++)
		for (size_t k = 0; k < r->causes[i].nsteps; k++)
			if (r->causes[i].steps[k].seq == seq)
				return true;
	return false;
}

static struct err *add_cause(
	struct nan_job *j, const struct nan_element *x, uint64_t before, uint64_t symptom)
{
	struct nan_result *r = j->ret;
	struct nan_cause c;
	struct err *e;

	if (r->ncauses == NAN_CAUSES) {
		r->left++;
		return NULL;
	}
	e = nan_walk(j, x, before, &c);
	if (e) {
		cause_free(&c);
		return e;
	}
	c.symptom = symptom;
	for (size_t i = 0; i < r->ncauses; i++) {
		if (!same_end(&r->causes[i], &c))
			continue;
		r->causes[i].alike++;
		cause_free(&c);
		return NULL;
	}
	r->causes = xrealloc(r->causes, (r->ncauses + 1) * sizeof *r->causes);
	r->causes[r->ncauses++] = c;
	return c.end == NAN_BORN ? nan_find_site(j, &r->causes[r->ncauses - 1]) : NULL;
}

/* --- symptoms --- */

static bool counts(const struct nan_job *j, const struct nan_element *x)
{
	return nan_is_nan(x->bits, x->as) || (j->ask->inf && nan_is_inf(x->bits, x->as));
}

/* The first element that w wrote, that is not finite and that nothing overwrites before `before`;
 * of rows, if they are given. */
static const struct nan_element *surviving(const struct nan_job *j, const struct nan_work *w,
	uint64_t before, const struct sbt_rows *of)
{
	for (size_t i = 0; i < w->nbad; i++) {
		const struct nan_element *x = &w->bad[i];
		const unsigned size = value_types[x->as].bytes;

		if (counts(j, x) && (!of || sbt_rows_meet(of, x->addr, size)) &&
			nan_last_writer(j, x->addr, size, before) == w)
			return x;
	}
	return NULL;
}

/* What copies gave to the program. */
static struct err *find_delivered(struct nan_job *j, bool *seen)
{
	for (size_t i = 0; i < j->nwork; i++) {
		const struct nan_work *copy = &j->work[i];
		/* those that were let go with it count as before it: they are not accused */
		const uint64_t before = copy->wait ? nan_ran(copy) + 1 : copy->seq;

		for (size_t k = i; copy->to_host && k--;) {
			const struct nan_element *x =
				j->work[k].nbad ? surviving(j, &j->work[k], before, &copy->src)
						: NULL;
			if (!x)
				continue;
			seen[k] = true;
			if (!is_explained(j->ret, j->work[k].seq))
				TRY(add_cause(j, x, before, copy->seq));
		}
	}
	return NULL;
}

/* What is in memory that lives at the end. */
static struct err *find_left(struct nan_job *j, bool *seen)
{
	struct state_alloc a;
	struct state *st;
	struct err *e = NULL;

	TRY(state_at(&st, j->en->trace.reader, j->last));
	for (size_t k = j->nwork; !e && k--;) {
		const struct nan_work *w = &j->work[k];
		const struct nan_element *x = w->nbad ? surviving(j, w, j->last + 1, NULL) : NULL;

		if (!x || (state_alloc_at(st, x->addr, &a) && a.alloc_seq > w->seq) ||
			!state_alloc_at(st, x->addr, &a))
			continue;
		seen[k] = true;
		if (!is_explained(j->ret, w->seq))
			e = add_cause(j, x, j->last + 1, 0);
	}
	state_free(st);
	return e;
}

static void list_writers(struct nan_job *j, const bool *seen)
{
	struct nan_result *r = j->ret;
	bool first = true;

	for (size_t i = 0; i < j->nwork; i++) {
		const struct nan_work *w = &j->work[i];

		if (!w->nans && !w->infs)
			continue;
		r->writers = xrealloc(r->writers, (r->nwriters + 1) * sizeof *r->writers);
		r->writers[r->nwriters++] = (struct nan_writer){.seq = w->seq,
			.nans = w->nans,
			.infs = w->infs,
			.first = first && w->nans,
			.expired = w->nans && !seen[i] && !is_explained(r, w->seq)};
		first = first && !w->nans;
	}
}

/* --- all of it --- */

static struct err *verify(struct nan_job *j)
{
	struct device_verified v;

	if (j->last != j->rd->last)
		return NULL;
	TRY(device_seek(j->d, j->last));
	TRY(device_verify(j->d, &v));
	j->ret->differs = !device_verified_ok(&v);
	device_verified_free(&v);
	return NULL;
}

static struct err *find(struct nan_job *j)
{
	bool *seen;
	struct err *e;

	TRY(nan_learn(j));
	TRY(nan_scan(j));
	TRY(verify(j));
	seen = xcalloc(j->nwork + 1, sizeof *seen);
	e = find_delivered(j, seen);
	if (!e)
		e = find_left(j, seen);
	if (!e)
		list_writers(j, seen);
	free(seen);
	return e;
}

void nan_job_free(struct nan_job *j)
{
	for (size_t i = 0; i < j->nwork; i++)
		free(j->work[i].bad);
	free(j->work);
	free(j->spans);
	free(j->changes);
	nan_kernels_free(j);
}

static struct err *prepare(struct nan_job *j)
{
	const struct device_fault f = device_info(j->rd->d).fault;
	const struct nan_ask *ask = j->ask;

	j->d = j->rd->d;
	if (j->rd->what_if || j->rd->partial)
		return err_cure(
			err_new(ERR_STATE,
				"the run was changed: where a NaN comes from is asked of the recorded one"),
			"\"replay restart\" forgets the changes");
	j->first = j->rd->first;
	j->last = ask->last && ask->last < j->rd->last ? ask->last : j->rd->last;
	if (f.told && f.first && f.first <= j->last) /* no command behind it can be executed */
		j->last = f.first > j->first ? f.first - 1 : j->first;
	if (j->last < j->first)
		return err_new(ERR_USAGE, "the window begins at #%" PRIu64, j->first);
	return NULL;
}

struct err *nan_job_open(struct nan_job *j, const char *what)
{
	*j->ret = (struct nan_result){.inf = j->ask->inf};
	TRY(replay_device_need(j->en, what, &j->rd));
	TRY(prepare(j));
	j->ret->first = j->first;
	j->ret->last = j->last;
	j->ret->device = replay_device_name(j->rd);
	return NULL;
}

struct err *nan_job_close(struct nan_job *j, struct err *e)
{
	j->ret->exact = j->exact;
	engine_progress_end(j->en);
	return replay_device_back(j->en, err_first(e, soft_settings_apply(j->en)));
}

struct err *nan_find(struct engine *en, const struct nan_ask *ask, struct nan_result *ret)
{
	struct nan_job j = {.en = en, .ask = ask, .ret = ret};
	struct err *e;

	TRY(nan_job_open(&j, "nan"));
	e = nan_job_close(&j, find(&j));
	nan_job_free(&j);
	if (e)
		nan_free(ret);
	return e;
}
