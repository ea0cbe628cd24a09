/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a set went: its ranks one after the other, and what is the same in several
 * together.
 */
#ifndef SHELL_STATS_SET_H
#define SHELL_STATS_SET_H

#include "engine/ranks.h"
#include "shell/line/session.h"
#include "state/set-stats.h"

struct set_view {
	const struct ranks *set;
	struct set_stats all; /* its ranks are the set's, one by one */
	struct buf *own;      /* by rank: the object `stats`, if it was asked for */
};
struct set_ask {
	bool json;    /* with each rank's own figures */
	uint64_t top; /* rows of a rank's tables in JSON */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
struct err *set_view_make(struct set_view *ret, struct session *s, const struct ranks *set,
	const struct set_ask *ask) TS_CHECK;
void set_view_free(struct set_view *v);
void set_view_print(struct session *s, const struct set_view *v, uint64_t top);
void set_view_json(struct session *s, const struct set_view *v);

#endif
