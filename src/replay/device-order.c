/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of replayer-order.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/device-private.h"

struct err *device_order(struct device *d, const uint64_t *seqs, size_t n, struct device_ordered *ret)
{
	const struct replayer_order head = {.n = (uint32_t)n};
	struct buf request = BUF_INIT;
	struct err *e;

	*ret = (struct device_ordered){0};
	if (n > (REPLAYER_MESSAGE_MAX - 4096) / sizeof *seqs)
		return err_new(ERR_LIMIT, "%zu commands are too many for another order", n);
	buf_add(&request, &head, sizeof head);
	buf_add(&request, seqs, n * sizeof *seqs);
	e = device_ask_run(d, REPLAYER_ORDER, request.data, request.len, sizeof ret->sums, d->last);
	buf_free(&request);
	TRY(e);
	memcpy(&ret->sums, d->in.data, sizeof ret->sums);
	if ((d->in.len - sizeof ret->sums) / sizeof *ret->places < ret->sums.n) {
		device_bury(d);
		return err_new(ERR_INFERIOR, "the replayer answers with %" PRIu64 " places and sends less; it was ended", ret->sums.n);
	}
	ret->places = xmalloc((ret->sums.n + 1) * sizeof *ret->places);
	memcpy(ret->places, d->in.data + sizeof ret->sums, ret->sums.n * sizeof *ret->places);
	return NULL;
}

void device_ordered_free(struct device_ordered *o)
{
	free(o->places);
	*o = (struct device_ordered){0};
}

bool device_ordered_same(const struct device_ordered *a, const struct device_ordered *b)
{
	return a->sums.n == b->sums.n && a->sums.outputs == b->sums.outputs && a->sums.output_sum == b->sums.output_sum &&
	       !memcmp(a->places, b->places, a->sums.n * sizeof *a->places);
}
