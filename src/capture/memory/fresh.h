/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is allocated in a span: what the driver hands out holds something, and a program may read it.
 */
#ifndef CAPTURE_FRESH_H
#define CAPTURE_FRESH_H

#include "capture/core/agent.h"

struct call;

/* An ALLOC of an open span is over: its contents are sent as its effect, unless they are zeros where nothing was before. */
void fresh_alloc(struct call *c);
/* Memory is freed in a span, or was there when it began: what comes there later is not what a replay finds there by itself. */
void fresh_used(uint64_t addr, uint64_t size);

#endif
