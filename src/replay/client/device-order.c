/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of replayer-order.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/client/device-private.h"

/* The reply's parts, which come from another process. */
static bool take(struct device *d, struct device_ordered *ret)
{
	const uint8_t *at = d->in.data + sizeof ret->sums;
	const size_t n = d->in.len - sizeof ret->sums;

	memcpy(&ret->sums, d->in.data, sizeof ret->sums);
	if (ret->sums.seq != d->last || n / sizeof *ret->places < ret->sums.n ||
		(n - ret->sums.n * sizeof *ret->places) / sizeof *ret->changes < ret->sums.changes)
		return false;
	ret->places = xmalloc((ret->sums.n + 1) * sizeof *ret->places);
	memcpy(ret->places, at, ret->sums.n * sizeof *ret->places);
	ret->changes = xmalloc((ret->sums.changes + 1) * sizeof *ret->changes);
	memcpy(ret->changes, at + ret->sums.n * sizeof *ret->places,
		ret->sums.changes * sizeof *ret->changes);
	return true;
}

struct err *device_order(struct device *d, const struct device_order *o, struct device_ordered *ret)
{
	const struct replayer_order head = {
		.n = (uint32_t)o->n, .nchanges = (uint32_t)o->nchanges, .flags = o->flags};
	const size_t most = REPLAYER_MESSAGE_MAX - 4096;
	struct buf request = BUF_INIT;
	struct err *e;

	*ret = (struct device_ordered){0};
	if (o->n > most / sizeof *o->entries ||
		o->nchanges > (most - o->n * sizeof *o->entries) / sizeof *o->changes)
		return err_new(ERR_LIMIT, "%zu commands are too many for another order", o->n);
	buf_add(&request, &head, sizeof head);
	buf_add(&request, o->entries, o->n * sizeof *o->entries);
	if (o->nchanges)
		buf_add(&request, o->changes, o->nchanges * sizeof *o->changes);
	e = device_ask_run(d, REPLAYER_ORDER, request.data, request.len, sizeof ret->sums, d->last);
	buf_free(&request);
	TRY(e);
	if (take(d, ret))
		return NULL;
	device_bury(d);
	return err_new(ERR_INFERIOR,
		"the replayer is at #%" PRIu64 " of an order up to #%" PRIu64
		", or sends less than %" PRIu64 " places; it was ended",
		ret->sums.seq, d->last, ret->sums.n);
}

void device_ordered_free(struct device_ordered *o)
{
	free(o->places);
	free(o->changes);
	*o = (struct device_ordered){0};
}
