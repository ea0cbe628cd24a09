/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the host that kernels can read (pinned, registered, managed): the program writes to it without a call. Before a command that
 * may read it, its pages are compared with what was last recorded, and those that changed are sent.
 */
#ifndef CAPTURE_HOST_H
#define CAPTURE_HOST_H

#include "capture/core/agent.h"

struct call;
struct live;

/* The allocation's contents have been recorded: as in copy, or NULL: as they are now. */
void host_begin(struct live *l, const uint8_t *copy);
void host_end(struct live *l);
/* The command is about to get its seq. False: another one that is to be compared for, or writes
 * there itself, has one, or is about to; the caller leaves the gate, waits by host_await_turn() and
 * asks again. After true, host_turn_over() follows in any case. */
bool host_turn(struct call *c);
void host_await_turn(void);
void host_turn_over(struct call *c);
/* The command has its seq, and the driver does not have it yet. */
void host_enter(struct call *c);

#endif
