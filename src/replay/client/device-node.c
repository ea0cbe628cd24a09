/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb's end of stepping through a graph's nodes, see device-node.h.
 */
#include "replay/device-node.h"

#include <inttypes.h>
#include <string.h>
#include "replay/client/device-private.h"

bool device_in_graph(const struct device *d, uint64_t *ret_seq, uint32_t *ret_step)
{
	*ret_seq = d->graph;
	*ret_step = d->step;
	return d->graph != 0;
}

struct err *device_node(struct device *d, uint64_t seq, uint32_t step, uint32_t *ret_steps)
{
	const struct replayer_node n = {.seq = seq, .step = step};
	const bool inside = d->graph == seq && d->pid;
	struct replayer_at_node at;
	struct err *e;

	*ret_steps = 0;
	if (!inside)
		TRY(device_ready(d));
	d->pos = seq; /* a crash is blamed on this command */
	d->done = seq - 1;
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	e = device_post(d, REPLAYER_NODE, &n, sizeof n, NULL, 0);
	if (!e)
		e = device_reply(d, sizeof at);
	if (e) {
		d->graph = 0;
		return device_failed(d, e);
	}
	memcpy(&at, d->in.data, sizeof at);
	/* the position is before the launch, unless all steps are done */
	const bool over = step && step >= at.steps;
	if (at.step != step || at.seq != seq - !over) {
		d->graph = 0;
		device_bury(d);
		return device_failed(d, err_new(ERR_INFERIOR,
						"the replayer was to go to step %" PRIu32
						" of #%" PRIu64 " and did not; it was ended",
						step, seq));
	}
	*ret_steps = at.steps;
	d->want = d->pos = d->done = seq;
	d->graph = over ? 0 : seq;
	d->step = step;
	d->astray = d->graph != 0;
	return NULL;
}
