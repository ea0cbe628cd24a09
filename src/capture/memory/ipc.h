/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that other processes see: exported by this process, or opened. Their changes are in no
 * call of this process. Within a window such memory is looked at before the first command that
 * could read it after each wait of the host, for after a wait a program knows that the other
 * process is done. Changed pages are recorded as changed by the host. This needs only hashes, and
 * only where such memory exists.
 */
#ifndef CAPTURE_IPC_H
#define CAPTURE_IPC_H

#include "capture/core/agent.h"

struct call;

extern _Atomic uint32_t ipc_ranges;
static inline bool ipc_watched(void)
{
	return atomic_load_explicit(&ipc_ranges, memory_order_relaxed);
}
/* Notes shared memory; opened: by this process. Returns false if it is known (opened again: the
 * last close counts). */
bool ipc_share(uint64_t addr, uint64_t size, uint32_t ctx, bool opened);
/* Notes a close; returns true if it is the last one. */
bool ipc_close(uint64_t addr);
/* Notes that it was freed. */
void ipc_gone(uint64_t addr);
/* The host has waited for something. */
void ipc_waited(void);
/* A window begins, which records this memory in its present state. */
void ipc_window(void);
/* Within a window: c has its number and has not reached the driver. */
void ipc_before(struct call *c);

#endif
