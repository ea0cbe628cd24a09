/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that are unlike the others, found while set-stats.c has the rows of each.
 */
#ifndef STATE_SET_OUTLIERS_H
#define STATE_SET_OUTLIERS_H

#include "state/set-stats.h"

/* Adds those of n rows of one name, a rank each (least_rank). */
void set_outliers_find(struct set_outliers *to, const struct set_row *rows, size_t n);
/* The farthest first. */
void set_outliers_sort(struct set_outliers *o);
void set_outliers_free(struct set_outliers *o);

#endif
