/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps work back that must run later than its number says. A wait for a value in memory
 * (cuStreamWaitValue) may be submitted before the write that satisfies it. A replay, and
 * happens-before, go through commands in order of seq; such a wait, and what is queued behind it,
 * are kept here until the value is there. Then they go, in order of seq, before anything else does.
 *
 * The surprise: this file knows no values. The caller says whether a wait is satisfied
 * (late_user.ready); a replay looks at memory for that.
 */
#ifndef STATE_LATE_H
#define STATE_LATE_H

#include "base/err.h"
#include "sbt/cmd.h"

enum late_stream {
	LATE_OTHER,
	LATE_BLOCKING,
	LATE_DEFAULT
}; /* LATE_DEFAULT: the legacy default stream, which the blocking ones wait for */
struct late_user {
	void *arg;
	/* Whether memory holds what the wait (a batch with is_wait) waits for. */
	struct err *(*ready)(void *arg, const struct sbt_cmd *wait, bool *ret);
	enum late_stream (*stream)(void *arg, uint64_t id);
};

struct late;	       /* NULL: nothing was ever kept */
#define LATE_MAX 4096u /* commands kept at a time; when there are more, all of them go */

/* Whether c has to be kept: it waits for a value that is not there, or is queued behind a command
 * that is kept. Changes nothing. */
struct err *late_takes(const struct late *l, const struct late_user *u, const struct sbt_cmd *c,
	bool *ret) TS_CHECK;
void late_put(struct late **l, const struct late_user *u, const struct sbt_cmd *c);
/* Takes out the next command that may go; *ret_any false: there is none. Call it until there is
 * none, each time after a command that may have written. The blobs of *ret are valid until the next
 * late_put() or late_next(). */
struct err *late_next(
	struct late *l, const struct late_user *u, struct sbt_cmd *ret, bool *ret_any) TS_CHECK;
/* If c shows that the host knew kept work to be finished, all that was submitted before its wait
 * may go, whatever memory holds. */
void late_host_knows(struct late *l, const struct sbt_cmd *c);
/* Lets all kept commands go. */
void late_give_up(struct late *l);
/* late_count(): how many commands are kept. late_forced(): the first wait that went without its
 * value since late_clear(), its seq; 0: none. */
size_t late_count(const struct late *l);
uint64_t late_forced(const struct late *l);
/* The i-th kept command: its seq, and whether it is a wait. False: there are fewer. */
bool late_at(const struct late *l, size_t i, uint64_t *ret_seq, bool *ret_wait);
/* The wait that keeps command seq back, or seq itself when nothing kept is in front of it. 0: it is
 * not kept. */
uint64_t late_holds(const struct late *l, uint64_t seq);
void late_clear(struct late *l); /* nothing is kept */
void late_free(struct late *l);

#endif
