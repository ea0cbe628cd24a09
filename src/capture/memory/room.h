/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's device memory for copies of the program's memory. Reserving gigabytes takes
 * milliseconds, so it is reserved from free device memory while a window is armed; what is missing
 * is reserved when the window opens. All functions: any thread.
 */
#ifndef CAPTURE_ROOM_H
#define CAPTURE_ROOM_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

/* Bytes held; while this is not 0, calls that allocate call room_make_way(). */
extern _Atomic uint64_t room_held;
/* Rises when room was freed. */
extern _Atomic uint32_t room_epoch;

/* Reserves room for all live memory of each context and its modules' globals (globals_find()).
 * ahead: the window is not open yet; then at most half of the free memory is used, or none. */
void room_reserve(struct device_set *s, bool ahead);
/* Room for copies in a context. room_left(): about how many bytes are left. room_take(): takes a
 * part of them, up to `bytes` long, or of whole pages; returns its size, 0 if none is left. */
uint64_t room_left(uint32_t ctx);
uint64_t room_take(uint32_t ctx, uint64_t bytes, uint64_t *ret_addr);
/* Reads an address of the keeper's memory (keep.h), also after a fault of the device. Returns false
 * if it is not there, or not the keeper's. */
bool room_read(uint64_t addr, void *dst, size_t n);
/* Called when the copies have been sent: their room may be used again, but is kept with its
 * contents until it is needed. Returns false if it is not the keeper's, or too large; the caller
 * then releases it. */
bool room_keep(void);
/* Frees all of it. */
void room_release(void);
/* The program is about to allocate this much: frees the room first if the program may need it. */
void room_make_way(uint64_t bytes);

#endif
