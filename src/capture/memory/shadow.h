/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy of memory at a span's begin. Device memory is first copied to device memory of ours, memory of the host to memory of the host,
 * so that the program can go on; a thread of the agent (sender.h) then sends it to tsdb.
 */
#ifndef CAPTURE_SHADOW_H
#define CAPTURE_SHADOW_H

#include "capture/core/agent.h"
#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* With the gate shut and the devices idle, in room that room_reserve() made: copies, or sends, the memory of p; shadow_settle() waits for it. mapped: the
 * device may read all of it. Within no device_enter(). */
void shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p, bool mapped);
/* Ahead of time: so much will be copied. host_bytes: of small memory of the host. */
void shadow_touch(uint64_t pieces, uint64_t host_bytes);
/* The copy, until the sending thread is done with it; NULL: none was made, it was sent. */
const uint8_t *shadow_host(const struct piece *p);
/* The devices begin with what they have been given. */
void shadow_go(void);
/* The copies have been made; the gate may open after it. Bytes that were copied on devices. */
uint64_t shadow_settle(struct device_set *s);
/* What n bytes of device memory were when the span began, while their copies lie with the keeper
 * (keep.h): true after a fault, too. At a stop; takes no lock. */
bool shadow_kept_read(uint64_t addr, void *dst, size_t n);
/* Bytes of the last span's beginning that were sent; that tsdb had, so that only their hashes were. */
extern _Atomic uint64_t shadow_sent, shadow_same;
/* The sending thread's: makes ready to send, ahead of time; sends it all. */
void shadow_prepare(void);
void shadow_send(void);

#endif
