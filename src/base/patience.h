/* SPDX-License-Identifier: Apache-2.0
 *
 * How long to wait for another process, or for threads of this one, that may never answer. Not by the wall clock alone: on a busy machine
 * a process that works gets little of it, and one that was stopped gets none. So what is charged against the limit is
 *
 *   the processor time that the process spent, when it works (it got a fiftieth of the time or more);
 *   the time that passed, when it does not: then it waits for something that may never come.
 *
 * Time in which nobody looked counts as two windows at most: who looks was then stopped or starved himself.
 */
#ifndef TS_PATIENCE_H
#define TS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct patience {
	pid_t pid; /* 0: this process */
	uint64_t limit_ns, spent_ns;
	uint64_t wall_ns, cpu_ns; /* when the window that is not yet charged began */
};

/* From now on; also when what is waited for has made progress. */
void patience_begin(struct patience *p, pid_t pid, uint64_t limit_ns);
/* True when the limit has been spent. To be asked a few times a second while waiting: charging is done here. */
bool patience_over(struct patience *p);
/* Of a window of `wall` in which the process spent `cpu`, what counts (ns); pure. longest: the longest that a window counts as. */
uint64_t patience_charge(uint64_t wall, uint64_t cpu, uint64_t longest);

#endif
