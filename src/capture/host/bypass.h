/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways by which the program's memory can change without a write that its page tables see: a device
 * other than the GPU writes there (files read with O_DIRECT, io_uring with buffers that it was
 * given, network cards, other drivers), or a forked child that shares the memory.
 */
#ifndef CAPTURE_BYPASS_H
#define CAPTURE_BYPASS_H

#include <stdbool.h>

/* Whether a device may write. Looks at the program's descriptors, at most every BYPASS_EVERY_MS;
 * once true, it stays so. One thread at a time. */
#define BYPASS_EVERY_MS 50u
bool bypass_by_devices(void);
/* Whether a forked child may have shared memory of this process. Any thread. */
bool bypass_by_children(void);
/* A child was forked, or may have been. */
void bypass_forked(void);

#endif
