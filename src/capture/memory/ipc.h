/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that other processes see: exported by this one, or opened. What they do to it passes no call of ours. Within a span it is looked
 * at before the first command that could read it after each wait of the host, for that is when a program knows that the other one is done; pages
 * that changed are recorded as the host's doing. That needs hashes only, and happens only where such memory is.
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
/* Shared from now on; opened: by us. False: that was known (opened again: the last close counts). */
bool ipc_share(uint64_t addr, uint64_t size, uint32_t ctx, bool opened);
/* A close: true when it is the last one. */
bool ipc_close(uint64_t addr);
/* Freed. */
void ipc_gone(uint64_t addr);
/* The host has waited for something. */
void ipc_waited(void);
/* A span begins: its memory is recorded as it is. */
void ipc_span(void);
/* Within a span: c has its number, the driver does not have it yet. */
void ipc_before(struct call *c);

#endif
