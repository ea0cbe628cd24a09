/* SPDX-License-Identifier: Apache-2.0
 *
 * Which NVTX ranges are open on each host thread while a trace's commands go by. Ranges that were
 * pushed before the first command seen are not known, and their ends are passed over.
 */
#ifndef STATE_MARKS_H
#define STATE_MARKS_H

#include <stdbool.h>
#include <stdint.h>
#include "sbt/cmd.h"

struct marks;
struct marks *marks_new(void);
void marks_free(struct marks *n);
/* Takes in a command; others than marks change nothing. */
void marks_see(struct marks *n, const struct sbt_cmd *c);
/* The names of the open ranges of a thread, outermost first, as indices for marks_name(); *ret_n is
 * how many. Valid until the next marks_see(). */
const uint32_t *marks_open(struct marks *n, uint32_t thread, unsigned *ret_n);
/* How many different names there were so far, and each. */
uint32_t marks_names(const struct marks *n);
const char *marks_name(const struct marks *n, uint32_t index);
/* Ranges that were not kept, because there are too many names, threads or ranges in ranges. */
uint64_t marks_dropped(const struct marks *n);

#endif
