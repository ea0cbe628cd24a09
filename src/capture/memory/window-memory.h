/* SPDX-License-Identifier: Apache-2.0
 *
 * Records a window's memory at its beginning and its end: all allocations and all modules' globals,
 * with the gate shut and the devices idle. The devices copy and hash what has been listed while the
 * rest is being listed.
 */
#ifndef CAPTURE_WINDOW_MEMORY_H
#define CAPTURE_WINDOW_MEMORY_H

#include "capture/memory/contexts.h"

struct window_times;
struct thread;

/* Called before the gate is shut: prepares tables, and asks which memory may be read. */
void window_memory_touch(struct device_set *s);
/* seq: the window's first command. Returns the bytes copied on devices; all copies are done when it
 * returns. */
uint64_t window_memory_start(struct device_set *s, uint64_t seq, struct window_times *times);
/* seq: the window's last command. The memory is read when window_memory_end() returns;
 * window_memory_send(), called by the sending thread, sends it. */
void window_memory_end(
	struct thread *t, struct device_set *s, uint64_t seq, struct window_times *times);
void window_memory_send(void);

#endif
