/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of replayer-check.c. Answers come in pieces of part of a second, so that Ctrl-C and
 * the progress line work.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/patience.h"
#include "replay/client/device-private.h"

/* Records come from a process that a trace may have taken over, so values that index tables here
 * are checked, and that the command is one that was executed. */
static bool is_row(const struct device *d, const struct replayer_difference *r)
{
	return r->as < REPLAYER_AS_END && r->unwritten <= REPLAYER_UNWRITTEN_SHARED &&
	       r->seq >= d->first && r->seq <= d->want;
}

static struct err *take_rows(
	struct device *d, const struct replayer_check_done *head, struct device_checked *ret)
{
	const size_t have = (d->in.len - sizeof *head) / sizeof *ret->rows;

	if (have < head->n) {
		device_bury(d);
		return err_new(ERR_INFERIOR,
			"the replayer answers with %" PRIu64
			" differences and sends %zu; it was ended",
			head->n, have);
	}
	ret->rows = xrealloc(ret->rows, (ret->n + head->n + 1) * sizeof *ret->rows);
	memcpy(ret->rows + ret->n, d->in.data + sizeof *head, head->n * sizeof *ret->rows);
	for (uint64_t i = 0; i < head->n; i++)
		if (!is_row(d, &ret->rows[ret->n + i])) {
			device_bury(d);
			return err_new(ERR_INFERIOR,
				"the replayer answers with a difference that is none; it was ended");
		}
	ret->n += head->n;
	ret->checked += head->checked;
	ret->left_out += head->left_out;
	ret->heap += head->heap;
	ret->late += head->late;
	ret->outside += head->outside;
	return NULL;
}

static struct err *one_piece(
	struct device *d, const struct buf *request, uint64_t to, struct device_checked *ret)
{
	const uint64_t was = d->want;
	struct replayer_check_done head;

	if (d->interrupt && *d->interrupt)
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, d->want);
	if (d->budget && patience_over(d->budget))
		return err_new(ERR_LIMIT, "the budget is spent");
	TRY(device_ask_run(d, REPLAYER_CHECK, request->data, request->len, sizeof head, to));
	memcpy(&head, d->in.data, sizeof head);
	TRY(take_rows(d, &head, ret));
	ret->reached = d->want;
	if (d->want > was)
		return NULL;
	device_bury(d);
	return err_new(
		ERR_INFERIOR, "the replayer does not get beyond #%" PRIu64 "; it was ended", was);
}

/* Returns true, and frees e, if it only means that there is no more time. */
static bool is_enough(const struct device *d, struct err *e, struct device_checked *ret)
{
	const bool spent =
		e->code == ERR_LIMIT && d->budget && d->budget->spent_ns >= d->budget->limit_ns;

	if (!spent && e->code != ERR_INTERRUPTED)
		return false;
	ret->end = spent ? DEVICE_CHECKED_BUDGET : DEVICE_CHECKED_INTERRUPTED;
	err_free(e);
	return true;
}

struct err *device_check(struct device *d, const struct replayer_check *how,
	const uint32_t *kernels, size_t n, struct device_checked *ret)
{
	const struct replayer_none none = {0};
	struct buf request = BUF_INIT;
	struct err *e;

	*ret = (struct device_checked){.reached = how->from - 1};
	if (how->from < d->first || how->to > d->last || how->from > how->to)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " to #%" PRIu64 " is outside the window #%" PRIu64
			" to #%" PRIu64 " that can be executed",
			how->from, how->to, d->first, d->last);
	buf_add(&request, how, sizeof *how);
	buf_add(&request, kernels, n * sizeof *kernels);
	/* what is allocated on the way there counts as fresh */
	e = device_seek(d, how->perturb ? d->first - 1 : how->from - 1);
	while (!e && d->want < how->to)
		e = one_piece(d, &request, how->to, ret);
	buf_free(&request);
	if (e && is_enough(d, e, ret))
		e = NULL;
	if (!e && d->fd >= 0) /* a process that was ended has nothing to give back */
		e = device_ask(
			d, REPLAYER_CHECK_END, &none, sizeof none, sizeof(struct replayer_done));
	if (e)
		device_checked_free(ret);
	return e;
}

void device_checked_free(struct device_checked *c)
{
	free(c->rows);
	*c = (struct device_checked){0};
}
