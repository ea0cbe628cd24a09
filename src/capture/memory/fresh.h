/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the contents of memory that is allocated in a window: the driver returns it with some
 * contents, and a program may read them.
 */
#ifndef CAPTURE_FRESH_H
#define CAPTURE_FRESH_H

#include "capture/core/agent.h"

struct call;

/* Called when an ALLOC of an open window has ended: its contents are sent as its effect, unless
 * they are zeros and the addresses were not used before. */
void fresh_alloc(struct call *c);
/* The same for memory that a command has allocated and written to: always sent, by the software
 * GPU, too. */
void fresh_written(struct call *alloc);
/* Notes memory that is freed in a window, or existed when it began: memory allocated there later
 * does not have the contents that a replay would give it. */
void fresh_used(uint64_t addr, uint64_t size);

#endif
