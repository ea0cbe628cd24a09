/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of profiles, as they are written: without a detour over double, which holds no time since
 * 1970 in nanoseconds.
 */
#ifndef IMPORT_FIGURE_H
#define IMPORT_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

/* What times, lengths and ids may be at most: sums of two of them stay numbers. */
#define FIGURE_MAX (INT64_C(1) << 61)

/* The decimal number times ten to the power of `shift`, rounded: "1.5e3", 3 is 1500000. False: it
 * is no number, or beyond FIGURE_MAX. */
bool figure_scaled(const char *text, int shift, int64_t *ret);
/* A whole number: an id, a count. */
bool figure_whole(const char *text, int64_t *ret);

#endif
