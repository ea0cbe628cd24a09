/* SPDX-License-Identifier: Apache-2.0
 *
 * Two experiments with findings. The control: each side executes the command again from the same
 * memory; one that differs from itself proves nothing about the other side. The swap: B's device
 * goes to right before its command, gets A's inputs (bytes and, where they differ, arguments) and
 * executes it; if the result still is not A's, B's code makes the difference, whatever was there
 * before.
 *
 * A's inputs are all bytes that either side read, and what was in the bytes that either wrote.
 * Addresses among them become B's.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "engine/check.h"
#include "numeric/core/numeric-private.h"

enum { PIECE = 1 << 20, PARAM_MOST = 4096 };

static bool is_claim(const struct numeric_finding *f)
{
	return f->kind == NUMERIC_ORIGIN || f->kind == NUMERIC_ARGUMENTS ||
	       f->kind == NUMERIC_UNSURE;
}

/* --- arguments --- */

static const uint8_t *bytes_of(const struct numeric_side *s, size_t at)
{
	return s->args.data + at;
}

/* The bytes of a parameter of both that differ, addresses of the same place aside. */
static bool param_differs(const struct numeric_job *j, const struct work *a, const struct work *b,
	uint32_t off, uint32_t size)
{
	const uint8_t *x = bytes_of(&j->a, a->args), *y = bytes_of(&j->b, b->args);

	for (uint32_t i = 0; i < size;) {
		uint64_t v, w;

		if (!((off + i) & 7) && size - i >= 8) {
			memcpy(&v, x + off + i, 8);
			memcpy(&w, y + off + i, 8);
			if (v != w && !words_same_place(j, v, w))
				return true;
			i += 8;
		} else {
			if (x[off + i] != y[off + i])
				return true;
			i++;
		}
	}
	return false;
}

/* Parameter i of a launch; false: there is none, or it is not in the arguments. */
static bool param_at(const struct numeric_side *s, const struct work *w, size_t i,
	uint32_t *ret_off, uint32_t *ret_size)
{
	if (8 * i + 8 > w->nparams)
		return false;
	memcpy(ret_off, bytes_of(s, w->params) + 8 * i, 4);
	memcpy(ret_size, bytes_of(s, w->params) + 8 * i + 4, 4);
	return *ret_off <= w->nargs && *ret_size <= w->nargs - *ret_off;
}

uint32_t args_differ(const struct numeric_job *j, const struct work *a, const struct work *b)
{
	uint32_t off, size, off_b, size_b, first = UINT32_MAX;

	if (a->kind != SBT_LAUNCH || b->kind != SBT_LAUNCH || a->nparams != b->nparams)
		return UINT32_MAX;
	if (!a->nparams)
		return a->nargs == b->nargs && param_differs(j, a, b, 0, (uint32_t)a->nargs)
			       ? 0
			       : UINT32_MAX;
	for (size_t i = 0; param_at(&j->a, a, i, &off, &size); i++) {
		if (!param_at(&j->b, b, i, &off_b, &size_b) || off != off_b || size != size_b)
			return UINT32_MAX;
		if (first == UINT32_MAX && param_differs(j, a, b, off, size))
			first = off;
	}
	return first;
}

/* --- the control --- */

static struct err *check_one(
	struct numeric_job *j, bool b, uint64_t seq, struct numeric_finding *f, bool *ret)
{
	struct numeric_side *s = b ? &j->b : &j->a;
	const struct check_options o = {.first = seq,
		.last = seq,
		.runs = j->ask->runs,
		.as = j->ask->as,
		.budget_ns = j->ask->budget_ns};
	struct check_result r;

	TRY(check_run(&s->en, &o, &r));
	for (size_t i = 0; i < r.nlaunches; i++) {
		*ret |= r.launches[i].nplaces != 0;
		for (size_t k = 0; k < r.launches[i].nplaces; k++) {
			f->own = fmax(f->own, r.launches[i].places[k].largest);
			f->own_ulp = fmax(f->own_ulp, r.launches[i].places[k].steps);
		}
	}
	check_free(&r);
	return NULL;
}

struct err *numeric_control(struct numeric_job *j)
{
	unsigned checked = 0;

	for (size_t i = 0; i < j->ret->n && checked < NUMERIC_CHECKED; i++) {
		struct numeric_finding *f = &j->ret->f[i];
		const struct work *w = side_work(&j->a, f->a);
		bool unsteady = false;

		if (!is_claim(f) || !w || (w->kind != SBT_LAUNCH && w->kind != SBT_GRAPH_LAUNCH))
			continue;
		checked++;
		engine_progress(&j->a.en, "executing findings again,", i + 1, j->ret->n);
		TRY(check_one(j, false, f->a, f, &unsteady));
		TRY(check_one(j, true, f->b, f, &unsteady));
		if (!unsteady)
			continue;
		j->ret->by_kind[f->kind]--;
		j->ret->by_kind[NUMERIC_UNSTEADY]++;
		f->kind = NUMERIC_UNSTEADY;
	}
	return NULL;
}

/* --- the swap --- */

/* Makes addresses in A's bytes B's. A word that is the same in both stays. */
static void translate(struct numeric_job *j, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t a, b, in_b;

		memcpy(&a, j->buf_a + i, 8);
		memcpy(&b, j->buf_b + i, 8);
		in_b = a == b ? 0 : word_in_b(j, a);
		if (in_b)
			memcpy(j->buf_a + i, &in_b, 8);
	}
}

static struct err *feed_extent(struct numeric_job *j, const struct extent *e)
{
	const struct area *a = &j->a.areas[e->area], *b = &j->b.areas[a->twin];
	const uint64_t both = a->size < b->size ? a->size : b->size;
	const uint64_t from = e->off & ~UINT64_C(7);
	uint64_t end = (e->off + e->size + 7) & ~UINT64_C(7);

	end = end < both ? end : both;
	for (uint64_t at = from; at < end; at += PIECE) {
		const size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

		TRY(device_read(j->a.en.trace.device->d, a->addr + at, j->buf_a, n));
		TRY(device_read(j->b.en.trace.device->d, b->addr + at, j->buf_b, n));
		translate(j, n);
		TRY(device_write(j->b.en.trace.device->d, b->addr + at, j->buf_a, n));
	}
	return NULL;
}

static struct err *feed_args(struct numeric_job *j, const struct work *a, const struct work *b)
{
	uint8_t param[PARAM_MOST];
	uint32_t off, size;

	for (size_t i = 0; param_at(&j->a, a, i, &off, &size); i++) {
		if (size > sizeof param)
			return err_new(ERR_UNSUPPORTED, "a parameter has %u bytes", size);
		memcpy(param, bytes_of(&j->a, a->args) + off, size);
		for (uint32_t k = -off & 7; k + 8 <= size; k += 8) {
			uint64_t word, in_b;

			memcpy(&word, param + k, 8);
			in_b = word_in_b(j, word);
			if (in_b)
				memcpy(param + k, &in_b, 8);
		}
		TRY(device_set_arg(j->b.en.trace.device->d, b->seq, (uint32_t)i, param, size));
	}
	return NULL;
}

static struct err *swap(struct numeric_job *j, struct numeric_finding *f, bool *ret_stays)
{
	struct device *da = j->a.en.trace.device->d, *db = j->b.en.trace.device->d;
	const struct work *a = side_work(&j->a, f->a), *b = side_work(&j->b, f->b);
	struct extents in = extents_of_pair(j, a, b, EXTENTS_READ),
		       out = extents_of_pair(j, a, b, EXTENTS_WRITTEN);
	struct bytes_result r = {0};
	struct err *e = device_seek(da, a->seq - 1);

	if (!e)
		e = device_seek(db, b->seq - 1);
	for (size_t i = 0; !e && i < in.n; i++)
		e = feed_extent(j, &in.e[i]);
	for (size_t i = 0; !e && i < out.n; i++)
		e = feed_extent(j, &out.e[i]);
	if (!e && f->param != UINT32_MAX)
		e = feed_args(j, a, b);
	if (!e)
		e = device_seek(da, a->seq);
	if (!e)
		e = device_seek(db, b->seq);
	if (!e)
		e = bytes_compare(j, &out, false, REPLAYER_AS_AUTO, &r);
	*ret_stays = r.bytes != 0;
	free(in.e);
	free(out.e);
	struct err *back = device_forget(db);

	if (!e)
		return back;
	err_free(back);
	return e;
}

/* What is no reason to end the whole comparison. */
static bool is_bearable(const struct err *e)
{
	return e->code != ERR_INTERRUPTED && e->code != ERR_SYSTEM;
}

static struct err *prove_one(struct numeric_job *j, struct numeric_finding *f)
{
	bool stays = false;
	struct err *e;

	side_live(&j->a, f->a);
	side_live(&j->b, f->b);
	e = swap(j, f, &stays);
	if (e && !is_bearable(e))
		return e;
	f->proof = e ? NUMERIC_CANNOT : stays ? NUMERIC_STAYS : NUMERIC_GOES;
	if (e)
		f->why_not = xstrdup(e->what);
	err_free(e);
	return NULL;
}

/* An heir that differs from A's result even with A's inputs is an origin of its own. */
static void judge(struct numeric_job *j, struct numeric_finding *f)
{
	enum numeric_kind is = f->kind;

	if ((f->kind == NUMERIC_HEIR || f->kind == NUMERIC_START || f->kind == NUMERIC_STRUCTURE) &&
		f->proof == NUMERIC_STAYS && j->ret->exact && f->param == UINT32_MAX)
		is = NUMERIC_ORIGIN;
	else if (f->kind == NUMERIC_ORIGIN && f->proof == NUMERIC_GOES)
		is = NUMERIC_UNSURE; /* it depends on something that is not known to be read */
	j->ret->by_kind[f->kind]--;
	j->ret->by_kind[is]++;
	f->kind = is;
}

static bool can_swap(const struct numeric_job *j, const struct numeric_finding *f)
{
	const struct work *w = f->a ? side_work(&j->a, f->a) : NULL;

	return w && f->nplaces && f->kind != NUMERIC_UNSTEADY && f->kind != NUMERIC_HOST &&
	       (w->kind == SBT_LAUNCH || w->kind == SBT_GRAPH_LAUNCH);
}

struct err *numeric_prove(struct numeric_job *j)
{
	unsigned tried = 0;

	for (unsigned claims = 2; claims--;) /* claims first, then heirs */
		for (size_t i = 0; i < j->ret->n && tried < NUMERIC_CHECKED; i++) {
			struct numeric_finding *f = &j->ret->f[i];

			if (is_claim(f) != (claims == 1) || f->proof || !can_swap(j, f))
				continue;
			tried++;
			engine_progress(&j->a.en, "proving findings,", tried, j->ret->n);
			TRY(prove_one(j, f));
			judge(j, f);
		}
	return NULL;
}
