/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy of memory at a span's begin. Device memory is first copied to device memory of ours, memory of the host to memory of the host,
 * so that the program can go on; a thread of the agent then sends it to tsdb.
 */
#ifndef CAPTURE_SHADOW_H
#define CAPTURE_SHADOW_H

#include "capture/agent.h"
#include "capture/bulk.h"
#include "capture/device.h"

struct live;

/* Room on the device for `bytes` in each context (device_ctx.shadow); what does not fit is sent straight. Before the gate is shut. */
void shadow_room(struct device_set *s);
/* With the gate shut and the devices idle: copies, or sends, the memory of p. */
void shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p);
void shadow_host(const struct piece *p);
/* The copies have been made; the gate may open after it. */
void shadow_settle(struct device_set *s);
/* Hands it all to the thread, or does its work when there is none. */
void shadow_drain(struct device_set *s);
/* Waits until everything was sent. */
void shadow_wait(void);

#endif
