/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person sees of a large set: a line for each rank that differs, and one for the others.
 */
#ifndef SHELL_RANKS_ODD_H
#define SHELL_RANKS_ODD_H

#include "base/buf.h"
#include "engine/ranks.h"

struct ranks_odd {
	bool *line; /* which of set->r get a line of their own */
	/* the others: how many, of them fitted, and on other hosts with clocks that are not known
	 */
	unsigned others, fitted, unknown;
	int64_t low, high; /* of the fitted ones' offsets, in nanoseconds */
	double error;	   /* the worst of theirs */
};

/* Up to 32 ranks all have a line. Above, these have: the first, to whose clock the others are
 * fitted; those with another number of commands than nearly all have; those whose clock is not
 * known, unless it is not known of many. Free with ranks_odd_free(). */
void ranks_odd_find(const struct ranks *set, struct ranks_odd *ret);
/* A line about the others, or nothing if there are none. */
void ranks_odd_others(struct buf *out, const struct ranks_odd *odd);
void ranks_odd_free(struct ranks_odd *odd);

#endif
