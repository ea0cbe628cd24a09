/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that wrote NaN to a place, see nan.h.
 */
#include <stdlib.h>
#include "base/first-where.h"
#include "engine/nan.h"
#include "engine/nan/nan-private.h"

static int by_position(const void *a, const void *b)
{
	const struct nan_written *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
			      : (x->by > y->by) - (x->by < y->by);
}

struct err *nan_list_make(struct engine *en, const struct nan_ask *ask, uint64_t addr,
	uint64_t size, struct nan_list **ret)
{
	struct nan_result r;
	struct nan_job j = {.en = en, .ask = ask, .ret = &r, .addr = addr, .size = size};
	struct nan_list *l;
	struct err *e;

	*ret = NULL;
	TRY(nan_job_open(&j, "watching for NaN"));
	e = nan_learn(&j);
	if (!e)
		e = nan_scan(&j);
	e = nan_job_close(&j, e);
	if (!e) {
		l = xcalloc(1, sizeof *l + j.nwork * sizeof l->v[0]);
		l->device = j.rd->number;
		l->exact = j.exact;
		l->launches = r.launches;
		l->untyped = r.untyped;
		for (size_t i = 0; i < j.nwork; i++) {
			const struct nan_work *w = &j.work[i];

			if (w->nans)
				l->v[l->n++] = (struct nan_written){
					nan_ran(w), w->seq, w->nans, w->bad[0]};
		}
		qsort(l->v, l->n, sizeof l->v[0], by_position);
		*ret = l;
	}
	nan_job_free(&j);
	nan_free(&r);
	return e;
}

const struct nan_written *nan_list_next(const struct nan_list *l, uint64_t from, bool backwards)
{
	const size_t at = backwards ? FIRST_WHERE(l->n, i, l->v[i].at >= from)
				    : FIRST_WHERE(l->n, i, l->v[i].at > from);

	if (!backwards)
		return at < l->n ? &l->v[at] : NULL;
	return at ? &l->v[at - 1] : NULL;
}
