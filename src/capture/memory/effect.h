/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded effects. For commands within a window that replay cannot execute (a call that no kind of
 * command describes, a kernel that waits for other processes' GPUs), the agent records the pages of
 * device memory that they changed, found by hashes of all memory before and after. That costs two
 * waits for the device; such commands are rare.
 */
#ifndef CAPTURE_EFFECT_H
#define CAPTURE_EFFECT_H

#include "capture/core/agent.h"

struct call;
struct kernel;

/* Whether launches of the kernel are such commands. */
bool effect_of_kernel(const struct kernel *k);
/* In a window: the command has its number and has not reached the driver; the driver has done it.
 */
void effect_enter(struct call *c);
void effect_exit(struct call *c);

#endif
