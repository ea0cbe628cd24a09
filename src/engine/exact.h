/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes launches touch, found by executing the trace's windows on the software GPU: the exact source of access sets for
 * order_races().
 */
#ifndef ENGINE_EXACT_H
#define ENGINE_EXACT_H

#include "order/order.h"
#include "engine/engine.h"

enum exact_want {
	EXACT_AUTO, /* when it can be had, within EXACT_AUTO_COMMANDS and EXACT_AUTO_SECONDS */
	EXACT_MUST, /* it is an error when it cannot */
	EXACT_SETS, /* the same, but what the host changed is not found out */
	EXACT_NEVER,
};
#define EXACT_AUTO_COMMANDS 20000u
#define EXACT_AUTO_SECONDS 30

struct exact;

struct exact_ask {
	enum exact_want want;
	uint64_t first, last; /* 0, 0: all */
	const struct order_suspects *only; /* these launches; NULL: all */
	uint64_t budget_ns; /* of the replayer's time (patience.h), but for EXACT_MUST; 0: EXACT_AUTO_SECONDS */
	bool rest; /* Ctrl-C leaves what is not known by then */
};

/* Executes the windows of the open trace that hold those commands. A replay on the software GPU that runs the recorded
 * commands is used, and stays where it is; else a device of its own is opened for the time. ERR_INTERRUPTED but with `rest`; other errors for
 * EXACT_MUST alone. */
struct err *exact_open_for(
	struct exact **ret, struct engine *en, const struct exact_ask *ask) TS_CHECK;
/* All launches of commands first..last. */
struct err *exact_open(struct exact **ret, struct engine *en, enum exact_want want, uint64_t first,
	uint64_t last) TS_CHECK;
/* NULL is fine. */
void exact_free(struct exact *x);
/* For struct order_options; NULL when nothing is known. Belongs to x. */
const struct order_source *exact_source(const struct exact *x);
/* A sentence: that it is exact, or why not; "" when there is nothing to say. */
const char *exact_note(const struct exact *x);

#endif
