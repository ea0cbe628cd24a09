/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy of memory at a window's beginning. Device memory is first copied to device memory of the
 * agent, host memory to host memory, so that the program can go on; the thread of sender.h then
 * sends the copies to tsdb.
 */
#ifndef CAPTURE_SHADOW_H
#define CAPTURE_SHADOW_H

#include "capture/core/agent.h"
#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* Copies, or sends, the memory of p; shadow_settle() waits for it. Called with the gate shut and
 * the devices idle, in room that room_reserve() made, and not within device_enter(). mapped: the
 * device may read all of it. */
void shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p, bool mapped);
/* Prepares for so many copies. host_bytes: of small memory of the host. */
void shadow_touch(uint64_t pieces, uint64_t host_bytes);
/* The copy, valid until the sending thread has sent it; NULL: there is none, because the memory was
 * sent. */
const uint8_t *shadow_host(const struct piece *p);
/* Lets the devices begin with the copies given to them. */
void shadow_go(void);
/* Waits for the copies; the gate may open after it. Returns the bytes copied on devices. */
uint64_t shadow_settle(struct device_set *s);
/* Reads n bytes of device memory as it was when the window began, if the keeper has the copies
 * (keep.h); works after a fault, too. Called at a stop; takes no lock. */
bool shadow_kept_read(uint64_t addr, void *dst, size_t n);
/* Bytes of the last window's beginning: sent; not sent but by hash, because tsdb had them. */
extern _Atomic uint64_t shadow_sent, shadow_same;
/* Called by the sending thread: prepares for sending; sends everything. */
void shadow_prepare(void);
void shadow_send(void);

#endif
