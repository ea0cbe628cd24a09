/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the mapping that an address lies in. It is a macro because each reader of /proc/PID/maps
 * keeps mappings in a structure of its own; all have the members `start` and `end`.
 */
#ifndef TSDB_MAPS_AT_H
#define TSDB_MAPS_AT_H

#include <stddef.h>
#include <stdint.h>

/* list: n structures with uint64_t start and end (the first address behind it), in rising order and
 * apart, as the file lists them. A pointer to the one that holds addr, or NULL. Calls nothing. */
#define MAPS_AT(list, n, addr)                                                                     \
	({                                                                                         \
		__typeof__((list)[0]) *list_ = (list), *found_ = NULL;                             \
		const uint64_t addr_ = (addr);                                                     \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_ && !found_) {                                                  \
			const size_t middle_ = low_ + (high_ - low_) / 2;                          \
			if (addr_ < list_[middle_].start)                                          \
				high_ = middle_;                                                   \
			else if (addr_ >= list_[middle_].end)                                      \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				found_ = &list_[middle_];                                          \
		}                                                                                  \
		found_;                                                                            \
	})

#endif
