/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages of memory that tsdb has, by their hashes: those sent for the trace that is being written and for the one before it. What is found here
 * again, changed or moved or not, need not be sent. For one thread at a time: the sending thread,
 * or who begins a span while that rests.
 */
#ifndef CAPTURE_KNOWN_H
#define CAPTURE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include "sbt/pagehash.h"

/* A span begins: forgets what tsdb no longer has. */
void known_begin(void);
/* Something else was sent than what the hashes tell. */
void known_forget(void);
/* Whether tsdb has a page of n bytes with this hash; pages of zeros it always has. */
bool known_has(struct sbt_hash page, uint32_t n);
/* tsdb has it, in the trace that is being written. */
void known_add(struct sbt_hash page, uint32_t n);

#endif
