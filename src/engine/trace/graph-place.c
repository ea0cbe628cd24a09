/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a replay is inside a graph launch, see graph-steps.h.
 */
#include "engine/graph-steps.h"

#include <stdlib.h>
#include "engine/replay-device.h"
#include "replay/device-node.h"
#include "replay/replay.h"

const struct graph_place *graph_place_of(const struct engine *en)
{
	const struct graph_place *p = en->trace.graph;

	if (!en->trace.replay || !p || replay_seq(en->trace.replay) != p->seq)
		return NULL;
	return p;
}

void graph_forget(struct engine *en)
{
	struct graph_place *p = en->trace.graph;

	en->trace.graph = NULL;
	if (p)
		state_steps_free(&p->steps);
	free(p);
}

struct err *graph_return(struct engine *en)
{
	const struct graph_place *p = graph_place_of(en);
	struct device *d = en->trace.device ? en->trace.device->d : NULL;
	uint64_t seq;
	uint32_t step, steps;

	if (!p || !d || (device_in_graph(d, &seq, &step) && seq == p->seq && step == p->step))
		return NULL;
	return device_node(d, p->seq, p->step, &steps);
}
