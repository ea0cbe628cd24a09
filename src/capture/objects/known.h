/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages of memory that tsdb has, by their hashes: those sent for the trace that is being
 * written and for the one before it. What is found here again, changed or moved or not, need not be
 * sent. There are two sets, because a page is known to those only that send behind it: what spans
 * begin with, for the sending thread or who begins a span while that rests; and what host.c sends,
 * for the thread that compares.
 */
#ifndef CAPTURE_KNOWN_H
#define CAPTURE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include "sbt/pagehash.h"

enum known_set { KNOWN_MEMORY, KNOWN_HOST };

/* Before a span's first question: forgets what tsdb no longer has. */
void known_begin(enum known_set s);
/* Something else was sent than what the hashes tell. */
void known_forget(enum known_set s);
/* Whether tsdb has a page of n bytes with this hash; pages of zeros it always has. */
bool known_has(enum known_set s, struct sbt_hash page, uint32_t n);
/* tsdb has it, in the trace that is being written. */
void known_add(enum known_set s, struct sbt_hash page, uint32_t n);

#endif
