/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds races between the nodes of one graph: two nodes that touch the same bytes, one of them
 * writing, with no path of dependencies between them.
 */
#ifndef ORDER_NODES_H
#define ORDER_NODES_H

#include "order/order.h"

#define NODES_MAX 1024 /* of a graph; larger ones are not judged */

struct nodes_party {
	uint32_t node, kernel; /* kernel: SBT_NO_ID none */
	uint16_t kind;	       /* enum sbt_kind */
	enum order_how how;
};
struct nodes_race {
	struct nodes_party a, b;
	enum order_tier tier;
	bool early; /* only a programmatic edge is between them: whether the kernel behind it waits
		       is not known */
	uint64_t addr, end; /* the first bytes that both touch */
};

/* Calls fn once for each such pair of nodes of executable graph exec, with the strongest of what
 * they share. all: what a launch of the graph touches as a whole if that is known exactly, else
 * NULL. With it, what only one kernel's arguments explain counts as that kernel's; such findings
 * are likely, since another kernel may have got there through a pointer in memory. False when the
 * graph could not be judged: its nodes are not known, or too many. */
bool nodes_races(const struct state *s, uint32_t exec, const struct order_accesses *all,
	void (*fn)(void *arg, const struct nodes_race *r), void *arg);

#endif
