/* SPDX-License-Identifier: Apache-2.0
 *
 * The races of the open trace, with the launches' accesses made exact where they can be executed on
 * the software GPU: what `races` and `report` show.
 */
#ifndef ENGINE_RACES_FIND_H
#define ENGINE_RACES_FIND_H

#include "engine/exact.h"

struct races_ask {
	enum exact_want want;
	uint64_t first, last; /* 0, 0: all */
	uint64_t budget_ns;   /* 0: the usual one */
	bool threads_apart, strict;
};
/* *ret_note: exact_note() as a heap string. ERR_INCOMPLETE for a trace that was observed from
 * outside. The caller frees both with order_races_free() and free(), after an error as well. */
struct err *races_find(struct order_races *ret, char **ret_note, struct engine *en,
	const struct races_ask *ask) TS_CHECK;

#endif
