/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program of a session: start it, let it go on, wait, say why it stopped. process_wait() is the one place of tsdb that
 * waits for the program; what it learns is acted on there.
 */
#ifndef SHELL_PROCESS_H
#define SHELL_PROCESS_H

#include "shell/line/session.h"

/* Where the program's standard streams go; strings are the caller's. */
struct redirect {
	const char *in, *out, *err;
	bool out_append, err_append;
};

/* Chooses the program (and forgets the old one's arguments with args: a NULL-terminated list; NULL keeps them). */
struct err *process_file(struct session *s, const char *program, char *const *args) TS_CHECK;
/* Starts the program, stopped before its first instruction, with capture and breakpoints armed. */
struct err *process_launch(struct session *s, const struct redirect *r) TS_CHECK;
/* Attaches to a process by number or name, or to the next one of that name. */
struct err *process_attach(struct session *s, const char *who, bool wait) TS_CHECK;
/* Makes a process that was attached to the session's program, with capture and breakpoints armed; inf is the session's, whatever happens. line: its command line. */
struct err *process_take(struct session *s, struct inferior *inf, const char *line, const char *cwd, bool soft) TS_CHECK;
/* Lets it go on without us, whether it was launched or attached to. */
struct err *process_detach(struct session *s) TS_CHECK;
/* Lets it go on until something stops it, and says what. */
struct err *process_continue(struct session *s) TS_CHECK;
/* The same up to the next GPU command. */
struct err *process_next(struct session *s) TS_CHECK;
/* At a stop at a GPU command: the agent ends the span of captured commands and sends the rest of its memory. The program stays where it is, but for
 * code of its other threads that makes no GPU calls. It may be gone after that, or stopped by a signal. */
struct err *process_end_span(struct session *s) TS_CHECK;
/* For whoever waits for several processes (follow.h). Makes inf, a child that has come up by itself, the session's program: it is recorded as
 * the session's plan says. The session owns it from now on. */
struct err *process_adopt(struct session *s, struct inferior *inf, const char *program) TS_CHECK;
/* Takes what the rings hold; true when there may be more. Acts on an event: true when the program is to stay stopped, or is gone. */
bool process_drain(struct session *s);
bool process_act(struct session *s, const struct inferior_event *ev);
/* Kills it. Nothing happens without one. */
struct err *process_kill(struct session *s) TS_CHECK;
/* Writes the settings into the control block, when there is one. */
void process_configure(struct session *s);
/* The breakpoints or the window changed. */
struct err *process_rearm(struct session *s) TS_CHECK;
/* The control block of the live program; NULL: no process, or no agent in it. */
struct tsdb_control *process_control(struct session *s);
/* The ignore count of bp was set: into the control block, when there is one. */
struct breakpoint;
struct err *process_set_ignore(struct session *s, struct breakpoint *bp) TS_CHECK;
void process_deinit(struct session *s);

/* NAME=value or NAME for launch_options. */
void process_env(struct session *s, const char *change);

/* How a signal is treated: the table of `handle`. */
enum { PROCESS_SIGNALS = 65 };
enum process_signal { SIGNAL_DEFAULT, SIGNAL_SET = 4, SIGNAL_STOP = 1, SIGNAL_PASS = 2 };
bool process_signal_stops(const struct session *s, int sig);
bool process_signal_passes(const struct session *s, int sig);
void process_set_signal(struct session *s, int sig, bool stop, bool pass);
/* "SIGSEGV", NULL for a number that has no name; "Segmentation fault". */
const char *process_signal_name(int sig);
const char *process_signal_text(int sig);

#endif
