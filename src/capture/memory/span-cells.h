/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables that begin with functions' addresses, of code that was loaded within a span: other variables' contents at its end are told by
 * hashes, of these the replay needs the bytes, for they alone say where functions were. With the gate shut, but for cells_send().
 */
#ifndef CAPTURE_SPAN_CELLS_H
#define CAPTURE_SPAN_CELLS_H

#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* A span begins. */
void cells_begin(void);
/* It begins with the contents of such a variable. */
void cells_at_start(const struct piece *p);
/* Within device_enter(d), with the work on it done: keeps what is in it now, for cells_send(). False: that is not needed, or there is no room. */
bool cells_at_end(struct device_ctx *d, const struct piece *p);
/* The sending thread's. */
void cells_send(void);

#endif
