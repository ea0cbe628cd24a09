/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands of a span carry between host and device: the bytes that copies to the device took, what copies to the
 * host delivered.
 */
#ifndef CAPTURE_PAYLOAD_H
#define CAPTURE_PAYLOAD_H

#include "capture/core/agent.h"

struct call;
struct thread;

/* The command has its seq, the driver does not have it yet: sends what it will read of the host. */
void payload_enter(struct call *c);
/* The driver has done it, or has queued it. */
void payload_exit(struct call *c);
/* Something the program waited for is over: copies to the host that have finished are looked at. all: the device is idle. */
void payload_poll(struct thread *t, bool all);
/* The context is going, and its events with it. */
void payload_drop_ctx(uint64_t handle);

#endif
