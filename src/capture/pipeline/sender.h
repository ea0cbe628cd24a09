/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread tsdb-memory, which does what nobody has to wait for: sends a span's memory to tsdb while the program goes on, tells the span's end when
 * all is there, prepares the device for a window that is armed. One thread does it all, so jobs of one kind never overlap; all signals are
 * blocked in it, so the program's handlers never find themselves on it. Where no thread can be made, who asks does the job.
 */
#ifndef CAPTURE_SENDER_H
#define CAPTURE_SENDER_H

#include "capture/core/agent.h"
#include "capture/pipeline/bulk.h"
#include "sbt/pagehash.h"

struct thread;

enum sender_job {
	SENDER_PREPARE = 1, /* what the caller gave to sender_prepare() */
	SENDER_START = 2,   /* shadow_send(): the copies of what the span began with */
	SENDER_STOP = 8,    /* the agent is not live any more */
	SENDER_END = 4,	    /* the span's end is to be told, behind everything that is sent */
};
extern _Atomic uint32_t sender_jobs; /* under way or waiting */

/* Asks for fn(thread), in the background. Nothing while anything else is under way, or the program leaves. */
void sender_prepare(void (*fn)(struct thread *t));
void sender_start(void);
/* Ahead of time: that many hashes will come at once. */
void sender_touch(uint64_t hashes);
/* A hash, which costs the caller no waiting for a bulk slot while contents are being sent. p is copied. False: nobody listens. */
bool sender_hash(const struct piece *p, struct sbt_hash hash);
/* The same for who calls sender_end() next: never waits, while there is memory. */
bool sender_end_hash(const struct piece *p, struct sbt_hash hash);
/* tell(thread) goes out when everything has been sent. */
void sender_end(void (*tell)(struct thread *t));
#define SENDER_FOR_EVER UINT32_MAX
/* Waits for some jobs, at most so many tenths of a second: the driver may hold SENDER_PREPARE up for ever when the program leaves. */
void sender_wait(uint32_t jobs, unsigned tenths);
/* The debugger leaves, nothing is live: the thread ends. */
void sender_stop(void);
/* The program leaves: nothing is prepared any more, and what was recorded is sent. */
void sender_leave(void);

#endif
