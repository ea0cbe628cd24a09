/* SPDX-License-Identifier: Apache-2.0
 *
 * Races between nodes of a graph that only programmatic edges order. order_races() does not know
 * whether the later node waits. Here the windows with such pairs are written with their graph
 * launches taken apart (order/expand.h), so that each node is a launch of its own, and are executed
 * on the software GPU.
 */
#ifndef ENGINE_RACES_EDGES_H
#define ENGINE_RACES_EDGES_H

#include "order/order.h"
#include "engine/exact.h"
#include "engine/engine.h"

/* Removes pairs that are ordered from r, and sets the tier of those that are not; a pair that
 * cannot be checked stays as it is. ERR_INTERRUPTED; other errors only if *ask must have exact
 * sets. */
struct err *races_edges(
	struct engine *en, const struct exact_ask *ask, struct order_races *r) TS_CHECK;

#endif
