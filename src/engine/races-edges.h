/* SPDX-License-Identifier: Apache-2.0
 *
 * Races between nodes of a graph that only programmatic edges order: order_races() does not know whether the later one waits. Here the windows that have
 * such pairs are written with their graph launches taken apart (order/expand.h), where each node is a launch of its own, and executed on the software GPU.
 */
#ifndef ENGINE_RACES_EDGES_H
#define ENGINE_RACES_EDGES_H

#include "order/order.h"
#include "engine/exact.h"
#include "engine/engine.h"

/* Pairs that are ordered go from r, those that are not get their tier; what cannot be found out stays as it is. ERR_INTERRUPTED; another error when *ask
 * must have exact sets. */
struct err *races_edges(
	struct engine *en, const struct exact_ask *ask, struct order_races *r) TS_CHECK;

#endif
