/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables that begin with functions' addresses, in code that was loaded within a window. For
 * other variables hashes of their contents at the window's end are enough; for these the replay
 * needs the bytes, for only they show where functions were. All but cells_send() are called with
 * the gate shut.
 */
#ifndef CAPTURE_WINDOW_CELLS_H
#define CAPTURE_WINDOW_CELLS_H

#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* Called when a window begins. */
void cells_begin(void);
/* Notes that the contents of such a variable at the window's beginning were recorded. */
void cells_at_start(const struct piece *p);
/* Within device_enter(d), with the work on it done: keeps the variable's present contents for
 * cells_send(). Returns false if that is not needed, or there is no room. */
bool cells_at_end(struct device_ctx *d, const struct piece *p);
/* Called by the sending thread. */
void cells_send(void);

#endif
