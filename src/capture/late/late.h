/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that came late: what the agent's own thread does besides waiting for the debugger to leave. All functions but late_settle() and late_wake() are for
 * that thread.
 */
#ifndef CAPTURE_LATE_H
#define CAPTURE_LATE_H

#include "capture/core/agent.h"

struct thread;

/* Before the source is started: tells of the attach; from then on nothing is missed. The driver's library is loaded. */
void late_before(void);
/* Writes down in control.busy what the device is doing, without waiting for it. */
void late_look(void);
/* The source has started: introduces contexts. */
void late_contexts(void);
/* Looks for memory, once; for the code of modules that were loaded before, if somebody asked. */
void late_work(void);
/* The last span has ended, and tsdb still listens: the code of kernels that were first met in its last moments. */
void late_last(void);
/* The debugger leaves: nothing is known any more. */
void late_over(void);
/* Somebody has given the agent's thread something to do. */
void late_wake(void);
/* Whether memory is being looked for: memory that the agent allocates now would be taken for the program's. */
bool late_is_finding(void);
/* A window is about to open on this thread, with a context current: waits, some seconds at most, until what is being looked for has been found. False: something has not. */
bool late_settle(struct thread *t);

#endif
