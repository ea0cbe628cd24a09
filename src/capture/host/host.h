/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the host that kernels can read (pinned, registered, managed): the program writes to it
 * without a call. Before a command that may read it, its pages are compared with what was last
 * recorded, and those that changed are sent.
 */
#ifndef CAPTURE_HOST_H
#define CAPTURE_HOST_H

#include "capture/core/agent.h"

struct call;
struct live;

/* The allocation's contents have been recorded: those in copy, or NULL: the present ones. */
void host_begin(struct live *l, const uint8_t *copy);
void host_end(struct live *l);
/* The window is over. */
void host_over(void);
/* Called when the command is about to get its seq. Returns false if another command that is to be
 * compared for, or that writes there itself, has a seq or is about to get one; the caller then
 * leaves the gate, waits by host_await_turn() and asks again. After true, host_turn_over() must
 * follow. */
bool host_turn(struct call *c);
void host_await_turn(void);
void host_turn_over(struct call *c);
/* Called when the command has its seq and has not reached the driver. */
void host_enter(struct call *c);

#endif
