/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the values that streams wrote to memory (cuStreamWriteValue) and finds the write that ended
 * a wait for one.
 */
#ifndef ORDER_VALUES_H
#define ORDER_VALUES_H

#include "order/fold/vector-clock.h"
#include "sbt/cmd.h"

/* A moment on a lane that other lanes may wait for. */
struct moment {
	struct clock *clock; /* knows the moment itself, too */
	uint32_t lane, index;
	uint64_t seq, doubt; /* doubt: the last wait for a value before it that an unknown write
			      * may have ended; 0: none */
	/* Whether this is the end of a launch that records an event when it lets others begin, or
	 * has begun. Work that waits for that event only knows `begun` (NULL: nothing). */
	bool is_early;
	struct clock *begun;
	uint64_t kernel;
	bool by_trigger, at_start; /* which kind */
	bool unsure; /* behind a wait for such an event, so that it may tell less than it knows */
};
void moment_drop(struct moment *m);
/* The same moment, with references of its own. */
struct moment moment_again(const struct moment *m);

#define VALUES_KEPT 256 /* the newest */
struct values {
	struct value {
		uint64_t addr, value;
		struct moment at;
	} v[VALUES_KEPT];
	uint32_t n; /* of all */
};

/* Takes the moment. */
void values_note(struct values *s, const struct sbt_cmd_batch *u, struct moment at);
/* The write that had certainly come when the wait ended: of those that may have ended it, the one
 * that is ordered before all the others. lane and knows: the wait's lane and clock. NULL: no write
 * is before all the others, so it is not known which ended the wait. */
const struct moment *values_first(const struct values *s, const struct sbt_cmd_batch *wait,
	uint32_t lane, const struct clock *knows);
void values_free(struct values *s);

#endif
