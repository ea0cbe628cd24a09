/* SPDX-License-Identifier: Apache-2.0
 *
 * TSDB_MEMORY_TOUCHED: of the memory that was there when the span began, only what a command names is recorded, when it is first named.
 */
#ifndef CAPTURE_TOUCHED_H
#define CAPTURE_TOUCHED_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

struct call;

/* With the gate shut and the devices idle. */
void touched_begin(void);
void touched_end(void);
/* The command has its seq: what it names, and was not named before, is recorded. */
void touched_enter(struct call *c, struct device_set *s);

#endif
