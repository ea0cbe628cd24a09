/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph that critical-path.h walks: calls of the host and work, each with what it waits for.
 */
#ifndef ORDER_CRITICAL_GRAPH_H
#define ORDER_CRITICAL_GRAPH_H

#include "order/critical-path.h"

#define CRITICAL_NONE UINT32_MAX

/* A call of the host, or work on a stream. It ends at `at`: `cost` after the last of what it waits
 * for, of which the last `busy` are the work itself. */
struct critical_node {
	uint64_t seq, at, cost, busy;
	uint32_t tight; /* the one it waited for last; CRITICAL_NONE: the beginning */
	uint32_t pred;	/* the first of its npreds in graph.preds */
	uint16_t npreds;
	uint8_t what; /* enum critical_what: HOST for calls */
	bool waits;   /* a call that waited for the device */
	uint32_t id, stream, thread, stack;
};
struct critical_graph {
	struct critical_node *nodes; /* what one waits for comes before it */
	size_t n, cap;
	uint32_t *preds;
	size_t npreds, cap_preds;
	uint64_t begin;
	uint64_t commands, untimed, contradictions;
};

/* o: as critical_path() takes it. */
struct err *critical_graph_make(struct critical_graph *ret, struct sbt_reader *trace,
	const struct order_options *o) TS_CHECK;
void critical_graph_free(struct critical_graph *g);

#endif
