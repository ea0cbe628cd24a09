/* SPDX-License-Identifier: Apache-2.0
 *
 * The binary search that every room uses. What it looks for is an expression, so it works on arrays
 * of any structure and by any field.
 */
#ifndef TSDB_FIRST_WHERE_H
#define TSDB_FIRST_WHERE_H

#include <stddef.h>

/* The lowest i of [0, n) where `is` is true, n when it is nowhere. is: an expression of i that is
 * false up to some point and true from there on; it is evaluated about log2(n) times. The last that
 * begins at x or before is the one before FIRST_WHERE(n, i, a[i].begin > x). Calls nothing itself.
 */
#define FIRST_WHERE(n, i, is)                                                                      \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			const size_t i = low_ + (high_ - low_) / 2;                                \
			if (is)                                                                    \
				high_ = i;                                                         \
			else                                                                       \
				low_ = i + 1;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
