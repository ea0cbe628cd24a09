/* SPDX-License-Identifier: Apache-2.0
 *
 * What a span's memory is at its begin and at its end: all allocations and all modules' globals, gone through with the gate shut and the devices
 * idle. The devices copy and hash what was listed while the rest is being listed.
 */
#ifndef CAPTURE_SPAN_MEMORY_H
#define CAPTURE_SPAN_MEMORY_H

#include "capture/memory/contexts.h"

struct span_times;
struct thread;

/* Before the gate is shut: tables are made ready, and what may be read is asked. */
void span_memory_touch(struct device_set *s);
/* seq: the span's first command. Bytes that were copied on devices; all of it has been when this returns. */
uint64_t span_memory_start(struct device_set *s, uint64_t seq, struct span_times *times);
/* seq: its last. What it is then is known when this returns, and is sent by the second, which is the sending thread's. */
void span_memory_end(struct thread *t, struct device_set *s, uint64_t seq, struct span_times *times);
void span_memory_send(void);

#endif
