/* SPDX-License-Identifier: Apache-2.0
 *
 * TSDB_MEMORY_TOUCHED: of the memory that existed when the window began, only what a command names
 * is recorded, when it is first named.
 */
#ifndef CAPTURE_TOUCHED_H
#define CAPTURE_TOUCHED_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

struct call;

/* Called with the gate shut and the devices idle. */
void touched_begin(struct device_set *s);
void touched_end(void);
/* Called when the command has its seq: records memory that it names and that was not named
 * before. */
void touched_enter(struct call *c, struct device_set *s);
/* Called when the driver has answered: the same for the memory of a new texture. */
void touched_exit(const struct call *c, struct device_set *s);

#endif
