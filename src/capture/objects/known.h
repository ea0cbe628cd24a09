/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages of memory that tsdb has, by their hashes: those sent for the trace that is being
 * written and for the one before it. A page that is found here, changed or moved or not, need not
 * be sent again. There are two sets, because a page counts as known only for pages sent behind it:
 * one for what windows begin with, used by the sending thread, or by the thread that begins a
 * window while the sender is idle; one for what host.c sends, used by the thread that compares.
 */
#ifndef CAPTURE_KNOWN_H
#define CAPTURE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include "sbt/pagehash.h"

enum known_set { KNOWN_MEMORY, KNOWN_HOST };

/* Called before a window's first question: forgets what tsdb no longer has. */
void known_begin(enum known_set s);
/* Called when other bytes were sent than the hashes say. */
void known_forget(enum known_set s);
/* Whether tsdb has a page of n bytes with this hash. It always has pages of zeros. */
bool known_has(enum known_set s, struct sbt_hash page, uint32_t n);
/* Notes that tsdb has the page in the trace that is being written. */
void known_add(enum known_set s, struct sbt_hash page, uint32_t n);

#endif
