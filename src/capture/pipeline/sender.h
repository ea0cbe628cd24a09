/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread tsdb-memory: does work off the program's critical path. It sends a window's memory to
 * tsdb while the program goes on, reports the window's end when everything has been sent, and
 * prepares the device for an armed window. One thread does all of it, so jobs of one kind never
 * overlap. All signals are blocked in it, so the program's handlers never run on it. If no thread
 * can be made, the caller does the job.
 */
#ifndef CAPTURE_SENDER_H
#define CAPTURE_SENDER_H

#include "capture/core/agent.h"
#include "capture/pipeline/bulk.h"
#include "sbt/pagehash.h"

struct thread;

enum sender_job {
	SENDER_PREPARE = 1, /* the function given to sender_prepare() */
	SENDER_START = 2,   /* shadow_send(): the copies of what the window began with */
	SENDER_STOP = 8,    /* the agent is not live any more */
	SENDER_END = 4,	    /* reports the window's end, after everything has been sent */
};
extern _Atomic uint32_t sender_jobs; /* jobs under way or waiting */

/* Asks for fn(thread) in the background. Does nothing while another job is under way, or while the
 * program exits. */
void sender_prepare(void (*fn)(struct thread *t));
void sender_start(void);
/* Makes room beforehand for that many hashes. */
void sender_touch(uint64_t hashes);
/* Sends a hash; the caller does not wait for a bulk slot while contents are being sent. p is
 * copied. Returns false if tsdb does not listen. */
bool sender_hash(const struct piece *p, struct sbt_hash hash);
/* The same for a caller that calls sender_end() next: never waits while there is memory. */
bool sender_end_hash(const struct piece *p, struct sbt_hash hash);
/* Calls tell(thread) when everything has been sent. */
void sender_end(void (*tell)(struct thread *t));
#define SENDER_FOR_EVER UINT32_MAX
/* Waits for some jobs, for at most `tenths` tenths of a second: when the program exits, the driver
 * may block SENDER_PREPARE for ever. */
void sender_wait(uint32_t jobs, unsigned tenths);
/* The debugger leaves and the agent is not live: ends the thread. */
void sender_stop(void);
/* The program exits: nothing more is prepared, and what was recorded is sent. */
void sender_leave(void);

#endif
