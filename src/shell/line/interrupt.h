/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C: the shell's only global state. A handler sets a flag, which long work checks.
 */
#ifndef SHELL_INTERRUPT_H
#define SHELL_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

extern volatile bool interrupt_flag;

/* Catches SIGINT and SIGPIPE. Uses handlers, not SIG_IGN, so that programs started by tsdb get the
 * default dispositions. */
void interrupt_install(void);
/* From now on SIGTERM, SIGHUP, SIGQUIT and SIGINT sent to tsdb are passed on to pid; typed ones are
 * not (the terminal sends those to the whole group). 0 ends this. */
void interrupt_forward(pid_t pid);
/* From now on these four signals set the flag, as Ctrl-C does: there is no process to pass them on
 * to. */
void interrupt_all(void);
/* The same, and SIGUSR1 and SIGUSR2, by which job engines announce the end. */
void interrupt_ends(void);
/* From now on SIGCONT (the user stopped tsdb and goes on) and SIGWINCH (the terminal has another
 * size) set flags, for whoever waits for input. */
void interrupt_screen(void);
extern volatile bool interrupt_continued, interrupt_resized;
/* Reads and clears the flag. */
bool interrupt_take(void);

#endif
