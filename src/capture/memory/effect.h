/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded effects: of a command within a span that no replay can execute (a call that no kind of command describes, a kernel that waits for other
 * processes' GPUs) the pages of device memory that it changed are recorded, by hashes of all memory before and after it. That costs two waits for
 * the device; such commands are few.
 */
#ifndef CAPTURE_EFFECT_H
#define CAPTURE_EFFECT_H

#include "capture/core/agent.h"

struct call;
struct kernel;

/* Whether launches of it are such commands. */
bool effect_of_kernel(const struct kernel *k);
/* In a span: the command has its number, the driver does not have it yet; the driver is done with it. */
void effect_enter(struct call *c);
void effect_exit(struct call *c);

#endif
