/* SPDX-License-Identifier: Apache-2.0
 *
 * When a debugger leaves, the agent becomes what it was when it was loaded, so that the next one finds nothing old: all its variables, but those marked
 * AGENT_KEPT, get their first values, and all its memory goes back.
 */
#ifndef CAPTURE_FORGET_H
#define CAPTURE_FORGET_H

#include <stdbool.h>
#include <stddef.h>

/* Before any other variable is written: remembers the first values. */
void forget_prepare(void);
/* With no thread but the caller's in agent code. What the caller still wants must be on its stack or kept. */
void forget_all(void);

/* agent_map() made p, or gives it back. False: no memory. */
bool forget_note(void *p, size_t bytes);
void forget_drop(void *p);

#endif
