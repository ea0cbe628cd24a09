/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program of a session: starts it, lets it run, waits for it, reports why it stopped.
 * process.c has the one place of tsdb that waits for the program.
 */
#ifndef SHELL_PROCESS_H
#define SHELL_PROCESS_H

#include "shell/line/session.h"

/* Where the program's standard streams go; strings are the caller's. */
struct redirect {
	const char *in, *out, *err;
	bool out_append, err_append;
};

/* Chooses the program, with new arguments if args (a NULL-terminated list) is given; NULL keeps the
 * old ones. */
struct err *process_file(struct session *s, const char *program, char *const *args) TS_CHECK;
/* Starts the program and stops it before its first instruction, with capture and breakpoints
 * armed. */
struct err *process_launch(struct session *s, const struct redirect *r) TS_CHECK;
/* Attaches to a process by number or name, or to the next one of that name. */
struct err *process_attach(struct session *s, const char *who, bool wait) TS_CHECK;
/* Makes an attached process the session's program, with capture and breakpoints armed. The session
 * owns inf in any case. line: its command line. */
struct err *process_take(struct session *s, struct inferior *inf, const char *line, const char *cwd,
	bool soft) TS_CHECK;
/* Lets the process run on without tsdb, whether it was launched or attached to. */
struct err *process_detach(struct session *s) TS_CHECK;
/* Lets it run until something stops it, and reports the stop. */
struct err *process_continue(struct session *s) TS_CHECK;
/* Does so up to the next GPU command. */
struct err *process_next(struct session *s) TS_CHECK;
/* At a stop at a GPU command: the agent ends the span of captured commands and sends the rest of
 * its memory. The stopped thread stays where it is; other threads may run code without GPU calls.
 * Afterwards the program may have ended, or be stopped by a signal. */
struct err *process_end_span(struct session *s) TS_CHECK;
/* For code that waits for several processes (follow.h). Makes inf, a child that started by itself,
 * the session's program, recorded as the session's plan says. The session owns it from now on. */
struct err *process_adopt(struct session *s, struct inferior *inf, const char *program) TS_CHECK;
/* process_drain() takes records from the rings; returns true if there may be more. process_act()
 * acts on an event; returns true if the program is to stay stopped, or has ended. */
bool process_drain(struct session *s);
bool process_act(struct session *s, const struct inferior_event *ev);
/* Kills it. Does nothing without one. */
struct err *process_kill(struct session *s) TS_CHECK;
/* Writes the settings into the control block, if there is one. */
void process_configure(struct session *s);
/* Called when the breakpoints or the window changed. */
struct err *process_rearm(struct session *s) TS_CHECK;
/* The control block of the live program; NULL: there is no process, or no agent in it. */
struct tsdb_control *process_control(struct session *s);
/* Writes the new ignore count of bp into the control block, if there is one. */
struct breakpoint;
struct err *process_set_ignore(struct session *s, struct breakpoint *bp) TS_CHECK;
void process_deinit(struct session *s);

/* Adds a change, NAME=value or NAME, for launch_options. */
void process_env(struct session *s, const char *change);

/* How a signal is treated: the table of `handle`. */
enum { PROCESS_SIGNALS = 65 };
enum process_signal { SIGNAL_DEFAULT, SIGNAL_SET = 4, SIGNAL_STOP = 1, SIGNAL_PASS = 2 };
bool process_signal_stops(const struct session *s, int sig);
bool process_signal_passes(const struct session *s, int sig);
void process_set_signal(struct session *s, int sig, bool stop, bool pass);
/* "SIGSEGV", or NULL for a number without a name; "Segmentation fault". */
const char *process_signal_name(int sig);
const char *process_signal_text(int sig);

#endif
