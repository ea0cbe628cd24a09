/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which bytes launches touch, by executing the trace's windows on the software GPU: the exact
 * source of access sets for order_races().
 */
#ifndef ENGINE_EXACT_H
#define ENGINE_EXACT_H

#include "order/order.h"
#include "engine/engine.h"

enum exact_want {
	EXACT_AUTO, /* if possible, within EXACT_AUTO_COMMANDS and EXACT_AUTO_SECONDS */
	EXACT_MUST, /* failure is an error */
	EXACT_SETS, /* the same, but the host's changes are not looked for */
	EXACT_NEVER,
};
#define EXACT_AUTO_COMMANDS 20000u
#define EXACT_AUTO_SECONDS 30

struct exact;

struct exact_ask {
	enum exact_want want;
	uint64_t first, last;		   /* 0, 0: all */
	const struct order_suspects *only; /* these launches; NULL: all */
	/* of the replayer's time (patience.h), not with EXACT_MUST; 0: EXACT_AUTO_SECONDS */
	uint64_t budget_ns;
	bool rest; /* after Ctrl-C the sets known so far are used */
};

/* Executes the windows of the open trace that contain those commands. If a replay on the software
 * GPU runs the recorded commands, it is used, and its position stays; else a device is opened for
 * the time of the call. ERR_INTERRUPTED unless `rest` is set; other errors only with EXACT_MUST. */
struct err *exact_open_for(
	struct exact **ret, struct engine *en, const struct exact_ask *ask) TS_CHECK;
/* The same for all launches of commands first..last. */
struct err *exact_open(struct exact **ret, struct engine *en, enum exact_want want, uint64_t first,
	uint64_t last) TS_CHECK;
/* NULL is fine. */
void exact_free(struct exact *x);
/* For struct order_options; NULL when nothing is known. Belongs to x. */
const struct order_source *exact_source(const struct exact *x);
/* A sentence that says whether it is exact, or why not; "" when there is nothing to say. */
const char *exact_note(const struct exact *x);

#endif
