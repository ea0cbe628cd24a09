/* SPDX-License-Identifier: Apache-2.0
 *
 * Another order of a window, see replay-order.h.
 */
#include "engine/replay-order.h"

#include <stdlib.h>
#include "order/order.h"

struct starts {
	struct order_start *s; /* in order of seq */
	size_t n, cap;
};

/* Reads starts; stops when there are `most`. */
static struct err *read_starts(struct engine *en, size_t most, struct starts *ret)
{
	const struct replay_device *rd = en->trace.device;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	TRY(sbt_cursor_open(&cursor, en->trace.reader));
	struct err *e = sbt_cursor_seek(cursor, rd->first);
	while (!e && ret->n < most && !(e = sbt_cursor_next(cursor, &c)) && c &&
		c->seq <= rd->last) {
		if (!c->gpu_start_ns)
			continue;
		MAKE_ROOM(ret->s, ret->n, ret->cap);
		ret->s[ret->n++] = (struct order_start){c->seq, c->gpu_start_ns};
	}
	sbt_cursor_close(cursor);
	return e;
}

bool replay_order_has_times(struct engine *en)
{
	struct starts x = {0};

	err_free(read_starts(en, 1, &x));
	free(x.s);
	return x.n;
}

static struct err *by_starts(
	struct engine *en, const struct order *order, uint64_t **ret, size_t *ret_n)
{
	struct starts x = {0};
	struct err *e = read_starts(en, SIZE_MAX, &x);

	if (!e && !x.n)
		e = err_cure(
			err_new(ERR_INCOMPLETE,
				"no GPU times were recorded, so the order of starts is not known"),
			"`tsdb record --timestamps` records them");
	if (!e)
		e = order_started(order, x.s, x.n, ret, ret_n);
	free(x.s);
	return e;
}

struct err *replay_order_verify(
	struct engine *en, const struct order_pair *turned, struct device_verified *ret)
{
	const struct replay_device *rd = en->trace.device;
	const struct order_options o = {
		.first = rd->first, .last = rd->last, .interrupt = en->cancel};
	struct device_ordered done = {0};
	struct device_order how = {0};
	uint64_t *entries = NULL;
	struct order *order;

	TRY(order_open(&order, en->trace.reader, &o));
	struct err *e = turned ? order_flip(order, turned->after, turned->before, &entries, &how.n)
			       : by_starts(en, order, &entries, &how.n);
	how.entries = entries;
	if (!e)
		e = device_order(rd->d, &how, &done);
	if (!e)
		e = device_verify(rd->d, ret);
	device_ordered_free(&done);
	free(entries);
	order_close(order);
	return e;
}
