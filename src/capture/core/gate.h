/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate: one thread holds all the others up before their next GPU call, and waits for the calls that are on their way, so that
 * device memory can be looked at. Open, it costs a call one store, one load and a branch that is never taken: the fence between
 * them is paid by who shuts the gate (membarrier(2)).
 */
#ifndef CAPTURE_GATE_H
#define CAPTURE_GATE_H

#include "capture/core/agent.h"
#include "capture/core/thread.h"

extern _Atomic uint32_t gate_shut_by; /* os_tid; 0: open */

void gate_wait(struct thread *t);

/* The thread is about to give the driver a command: waits while the gate is shut. */
static inline void gate_enter(struct thread *t)
{
	atomic_store_explicit(&t->at, THREAD_IN, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&gate_shut_by, memory_order_relaxed), 0))
		gate_wait(t);
}
/* Its call is over; or only waits from here on (THREAD_SYNCING, THREAD_STOPPING). */
static inline void gate_leave(struct thread *t, enum thread_at at)
{
	atomic_store_explicit(&t->at, at, memory_order_release);
}
/* One thread at a time may shut the gate, and has time to prepare before it does. False: another one had this right, and has given it back. */
bool gate_claim(struct thread *self);
/* The same without waiting: false, another one has it. */
bool gate_try_claim(struct thread *self);
void gate_release(void);
/* What shutting it needs once in a process, and takes the kernel milliseconds. */
void gate_prepare(void);
/* Every thread of the process passes a barrier. */
void gate_barrier(void);
/* Shuts the gate; self's own call does not count. */
void gate_shut(struct thread *self);
/* Waits until no other thread is in a call, or until what makes sense is over: false. With the gate shut. */
bool gate_quiet(struct thread *self, bool stopping_too, unsigned tenths);
void gate_open(void);

#endif
