/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a program or a replay stopped: name, number, and the word that stop_reason has in JSON. The
 * one table of it: the library's TS_STOP_*, and what tsdb and its agent say to each other, are made
 * from it. Numbers and words are for ever, since other programs compare them; a new row has the
 * next number.
 */
#ifndef TRACESMITH_STOPS_H
#define TRACESMITH_STOPS_H

#define TS_STOP_REASONS(X)                                                                         \
	X(BREAKPOINT, 1,                                                                           \
		"breakpoint") /* before the command, of a program; behind it, of a replay */       \
	X(END, 2, "end")      /* of a replay */                                                    \
	X(BEGIN, 3, "begin")  /* of a replay */                                                    \
	X(STEP, 5, "step")    /* where it was sent */                                              \
	X(WATCHPOINT, 6, "watchpoint")                                                             \
	X(INTERRUPTED, 7, "interrupted") /* as asked for: Ctrl-C */                                \
	X(FAULT, 8, "fault")		 /* of the device */                                       \
	X(FAILED_CALL, 9, "failed-call")                                                           \
	X(SIGNAL, 10, "signal") /* which is about to be delivered */                               \
	X(EXITED, 11, "exited") /* the program has ended */                                        \
	X(KILLED, 12, "killed") /* so it has, by a signal */                                       \
	X(WINDOW_CLOSED, 13, "window-closed")                                                      \
	X(KERNEL_BEGIN, 14, "kernel-begin") /* inside a launch of a replay: these three */         \
	X(KERNEL_END, 15, "kernel-end")                                                            \
	X(WARP_END, 16, "warp-end")                                                                \
	X(AGENT, 17, "agent")	  /* for another reason of the agent's */                          \
	X(TRIGGER, 18, "trigger") /* the program's own: mark.h */

#endif
