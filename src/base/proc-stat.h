/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc/PID/stat says of a process or of one of its threads. Reading it never waits for the
 * process. Any thread.
 */
#ifndef TS_PROC_STAT_H
#define TS_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state;	      /* R, S, D, T, t, Z, X ... as in proc(5) */
	char name[65];	      /* the thread's; any bytes but NUL */
	uint64_t start_ticks; /* when it was started: clock ticks (_SC_CLK_TCK) since the machine's
				 start */
};

/* Of thread tid of process pid; tid 0: of the process. False: there is none, or it is not as
 * proc(5) has it; *ret is zero then. */
bool proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *ret);
/* Of the text of such a file. */
bool proc_stat_parse(const char *text, struct proc_stat *ret);
/* Whether it has ended: a zombie, or not even that. */
static inline bool proc_stat_ended(const struct proc_stat *s)
{
	return !s->state || s->state == 'Z' || s->state == 'X' || s->state == 'x';
}

#endif
