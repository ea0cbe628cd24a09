/* SPDX-License-Identifier: Apache-2.0
 *
 * The data that commands of a window carry between host and device: the bytes that copies to the
 * device read, and those that copies to the host delivered.
 */
#ifndef CAPTURE_PAYLOAD_H
#define CAPTURE_PAYLOAD_H

#include "capture/core/agent.h"

struct call;
struct thread;

/* The command has its seq and has not reached the driver: sends what it will read from the host. */
void payload_enter(struct call *c);
/* The driver has done or queued the command. */
void payload_exit(struct call *c);
/* The program has waited for something: looks at the data of copies to the host that have finished.
 * all: the device is idle. */
void payload_poll(struct thread *t, bool all);
/* The context, and its events, are being destroyed. */
void payload_drop_ctx(uint64_t handle);

#endif
