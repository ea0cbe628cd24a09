/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory of our own that copies of the program's memory go to. Taking gigabytes of it takes milliseconds, so it is taken while a window is
 * armed, of what nobody needs then; what is lacking when the window opens is taken then. All functions: any thread.
 */
#ifndef CAPTURE_ROOM_H
#define CAPTURE_ROOM_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

/* Bytes held; while not 0 room_make_way() is for calls that allocate. */
extern _Atomic uint64_t room_held;
/* Rises when something was given back. */
extern _Atomic uint32_t room_epoch;

/* Room for all live memory of each context and its modules' globals (globals_find()). ahead: the window is not open yet; at most half of what is free is taken, or nothing. */
void room_reserve(struct device_set *s, bool ahead);
/* Room for copies in a context: bytes that are left, about; a part of them, up to `bytes` long, or of whole pages (0: none is left). */
uint64_t room_left(uint32_t ctx);
uint64_t room_take(uint32_t ctx, uint64_t bytes, uint64_t *ret_addr);
/* What lies at an address of the keeper's memory (keep.h), also when the device has faulted. False:
 * it is not there, or not the keeper's. */
bool room_read(uint64_t addr, void *dst, size_t n);
/* The copies have been sent: their room may be taken again, but it is held, with what is in it,
 * while nobody needs it. False: it is not the keeper's, or too much; the caller releases it. */
bool room_keep(void);
/* Gives all of it back to the driver. */
void room_release(void);
/* The program is about to allocate this much: should it need what we hold, that goes back first. */
void room_make_way(uint64_t bytes);

#endif
