/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program at the prompt: starts it and lets it run by the engine, waits for it, and prints
 * why it stopped.
 */
#ifndef SHELL_PROCESS_H
#define SHELL_PROCESS_H

#include "shell/line/session.h"

/* Sets the engine's hooks about the live program. */
void process_hooks(struct session *s);
/* Starts the program and stops it before its first instruction, see live_launch(). */
struct err *process_launch(struct session *s, const struct redirect *r) TS_CHECK;
/* Attaches to a process by number or name, or to the next one of that name; asks first if there is
 * a program already. */
struct err *process_attach(struct session *s, const char *who, bool wait) TS_CHECK;
/* Lets it run until something stops it, and prints the stop. */
struct err *process_continue(struct session *s) TS_CHECK;
/* Does so up to the next GPU command. */
struct err *process_next(struct session *s) TS_CHECK;
/* Waits for a program that runs already, and prints the stop. */
struct err *process_await(struct session *s) TS_CHECK;

#endif
