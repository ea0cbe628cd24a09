/* SPDX-License-Identifier: Apache-2.0
 *
 * When a debugger leaves, the agent goes back to its state when it was loaded, so that the next
 * debugger finds nothing old: all its variables, except those marked AGENT_KEPT, get their first
 * values, and all its memory is freed.
 */
#ifndef CAPTURE_FORGET_H
#define CAPTURE_FORGET_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers the first values; called before any other variable is written. */
void forget_prepare(void);
/* Resets everything; called when no thread but the caller's is in agent code. What the caller still
 * needs must be on its stack or kept. */
void forget_all(void);

/* Notes that agent_map() made p, or that it was unmapped. Returns false if there is no memory. */
bool forget_note(void *p, size_t bytes);
void forget_drop(void *p);

#endif
