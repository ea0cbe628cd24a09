/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate: one thread stops all others before their next GPU call, and waits for the calls under
 * way, so that device memory can be looked at. An open gate costs a call one store, one load and a
 * branch that is never taken: the fence between them is made by the thread that shuts the gate
 * (membarrier(2)).
 */
#ifndef CAPTURE_GATE_H
#define CAPTURE_GATE_H

#include "capture/core/agent.h"
#include "capture/core/thread.h"

extern _Atomic uint32_t gate_shut_by; /* os_tid; 0: open */

void gate_wait(struct thread *t);

/* The thread is about to pass a command to the driver: waits while the gate is shut. */
static inline void gate_enter(struct thread *t)
{
	atomic_store_explicit(&t->at, THREAD_IN, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&gate_shut_by, memory_order_relaxed), 0))
		gate_wait(t);
}
/* Its call has ended, or only waits from here on (THREAD_SYNCING, THREAD_STOPPING). */
static inline void gate_leave(struct thread *t, enum thread_at at)
{
	atomic_store_explicit(&t->at, at, memory_order_release);
}
/* Reserves the gate: one thread at a time may shut it, and can prepare before it does. Returns
 * false if another thread had the right and has given it back. */
bool gate_claim(struct thread *self);
/* The same without waiting; returns false if another thread has the right. */
bool gate_try_claim(struct thread *self);
void gate_release(void);
/* Does what the first shutting in a process needs, which takes the kernel milliseconds. */
void gate_prepare(void);
/* Makes every thread of the process pass a barrier. */
void gate_barrier(void);
/* Shuts the gate; self's own call does not count. */
void gate_shut(struct thread *self);
/* With the gate shut: waits until no other thread is in a call. Returns false if that takes more
 * than `tenths` tenths of a second. */
bool gate_quiet(struct thread *self, bool stopping_too, unsigned tenths);
void gate_open(void);

#endif
