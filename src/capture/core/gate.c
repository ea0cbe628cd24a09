/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate; see gate.h. A thread stores where it is, then looks at the gate. The thread that shuts
 * the gate stores that, makes every thread of the process pass a barrier, then looks where they
 * are. So one of the two sees the other.
 */
#include "capture/core/gate.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Atomic uint32_t gate_shut_by;
static _Atomic uint32_t claimed_by;

void gate_prepare(void)
{
	static _Atomic uint32_t registered;
	if (!atomic_exchange(&registered, 1))
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void gate_barrier(void)
{
	gate_prepare();
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return;
	/* Before Linux 4.14, or forbidden: a store leaves a processor's buffer in far less than
	 * this. */
	atomic_thread_fence(memory_order_seq_cst);
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void wait_for_zero(_Atomic uint32_t *word)
{
	/* Limited, so that a lost wake-up does little harm. */
	const struct timespec most = {.tv_nsec = 50000000};
	uint32_t value;
	while ((value = atomic_load(word)) && agent_live())
		(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
}

static void make_zero(_Atomic uint32_t *word)
{
	atomic_store(word, 0);
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

void gate_wait(struct thread *t)
{
	for (;;) {
		gate_leave(t, THREAD_OUT);
		wait_for_zero(&gate_shut_by);
		atomic_store(&t->at, THREAD_IN);
		if (!atomic_load(&gate_shut_by) || !agent_live())
			return;
	}
}

bool gate_try_claim(struct thread *self)
{
	uint32_t nobody = 0;
	return atomic_compare_exchange_strong(&claimed_by, &nobody, self->os_tid);
}

bool gate_claim(struct thread *self)
{
	const uint32_t was = atomic_load(&self->at);
	if (gate_try_claim(self))
		return true;
	gate_leave(self, THREAD_OUT); /* the thread that has it may be waiting for this one */
	wait_for_zero(&claimed_by);
	if (was == THREAD_IN)
		gate_wait(self);
	else
		gate_leave(self, was);
	return false;
}

void gate_release(void)
{
	make_zero(&claimed_by);
}

void gate_shut(struct thread *self)
{
	atomic_store(&gate_shut_by, self->os_tid);
	gate_barrier();
}

bool gate_quiet(struct thread *self, bool stopping_too, unsigned tenths)
{
	/* Counts sleeps, not time: the debugger may stop the process meanwhile. */
	for (unsigned tries = 0; tries < 100 + tenths * 1000; tries++) {
		if (!thread_any_in(self, stopping_too))
			return true;
		if (!agent_live())
			return false;
		if (tries < 100)
			__builtin_ia32_pause();
		else
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return false;
}

void gate_open(void)
{
	make_zero(&gate_shut_by);
}
