/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits for waiting for another process, or for threads of this one, that may never answer. The
 * wall clock alone would be unfair: on a busy machine a working process gets little processor time,
 * and a stopped one gets none. So each window of time is charged against the limit as
 *
 *   the processor time that the process spent, when it works (it got a fiftieth of the time or
 * more), but a tenth of the time at least: one that hangs, while other threads of it wake up now
 * and then, is not waited for fifty times as long; the time that passed, when it does not: then it
 * waits for something that may never come.
 *
 * The time between two calls of patience_over() counts as two windows at most: if it is longer, the
 * waiting process itself was stopped or starved.
 */
#ifndef TS_PATIENCE_H
#define TS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct patience {
	pid_t pid; /* 0: this process */
	pid_t tid; /* patience_thread(); 0: the whole process */
	uint64_t limit_ns, spent_ns;
	/* When the window that is not yet charged began; waited_ns: of a thread, the time in which
	 * it was ready and had no processor. */
	uint64_t wall_ns, cpu_ns, waited_ns;
};

/* Starts the limit at the present moment. Call it again when the other side has made progress. */
void patience_begin(struct patience *p, pid_t pid, uint64_t limit_ns);
/* From now on one thread of the process is waited for, by what the kernel's scheduler says of it:
 * all time counts in which it runs or sleeps, none in which it is ready and has no processor. What
 * other threads do does not count: they may spin for ever in what this one waits for. Nothing
 * changes if the kernel does not say it (/proc/PID/task/TID/schedstat). */
void patience_thread(struct patience *p, pid_t tid);
/* True when the limit has been spent. Call it a few times a second while waiting, since it does the
 * charging. */
bool patience_over(struct patience *p);
/* What is charged (ns) for a window of `wall` in which the process spent `cpu`; `longest` is the
 * most that it returns. Pure. */
uint64_t patience_charge(uint64_t wall, uint64_t cpu, uint64_t longest);
/* The same for one thread, which was ready and had no processor for `waited`. */
uint64_t patience_charge_thread(uint64_t wall, uint64_t waited, uint64_t longest);

#endif
