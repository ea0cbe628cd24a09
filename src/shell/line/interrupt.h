/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C: the shell's only global. A handler sets the flag; whoever works for long looks at it.
 */
#ifndef SHELL_INTERRUPT_H
#define SHELL_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

extern volatile bool interrupt_flag;

/* Catches SIGINT and SIGPIPE. Handlers, not SIG_IGN: a program that we start gets the default dispositions back. */
void interrupt_install(void);
/* From now on SIGTERM, SIGHUP, SIGQUIT and SIGINT sent to us go on to pid; typed ones (the terminal sends those to the whole group)
 * do not. 0 ends that. */
void interrupt_forward(pid_t pid);
/* From now on those four set the flag, as Ctrl-C does: nobody is left to send them to. */
void interrupt_all(void);
/* Reads and clears the flag. */
bool interrupt_take(void);

#endif
