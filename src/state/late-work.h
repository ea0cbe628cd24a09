/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that comes later than its number says: what stands behind a wait for a value in memory
 * (cuStreamWaitValue) that was submitted before the write which satisfies it. A replay, and
 * happens-before, go through commands in order of seq; such a wait, and what its stream has behind
 * it, are kept here until the value is there. Then they go, in order of seq, before anything else
 * does.
 *
 * The surprise: nobody here knows values. Whoever goes through the commands says whether a wait is
 * satisfied: a replay looks at memory.
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

/* Whether c has to be kept: it waits for what is not there, or stands behind a command that is
 * kept. Nothing changes. */
struct err *late_takes(const struct late *l, const struct late_user *u, const struct sbt_cmd *c,
	bool *ret) TS_CHECK;
void late_put(struct late **l, const struct late_user *u, const struct sbt_cmd *c);
/* The next command that may go, no longer kept; *ret_any false: none. To be asked until there is
 * none: whenever a command has run that may have written. Its blobs are valid until the next
 * late_put() or late_next(). */
struct err *late_next(
	struct late *l, const struct late_user *u, struct sbt_cmd *ret, bool *ret_any) TS_CHECK;
/* c tells that the host had learned that something was finished: waits that this takes for granted
 * may go, whatever memory holds. */
void late_host_knows(struct late *l, const struct sbt_cmd *c);
/* All may go. */
void late_give_up(struct late *l);
/* How many are kept; how many waits went without their value since late_new, and the first of these
 * (0: none). */
size_t late_count(const struct late *l);
uint64_t late_forced(const struct late *l);
/* The i-th, its seq and whether it is a wait. False: there are fewer. */
bool late_at(const struct late *l, size_t i, uint64_t *ret_seq, bool *ret_wait);
/* The wait that keeps command seq; itself, when it is one. 0: it is not kept. */
uint64_t late_holds(const struct late *l, uint64_t seq);
void late_clear(struct late *l); /* nothing is kept */
void late_free(struct late *l);

#endif
