/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that streams wrote to memory (cuStreamWriteValue), for those that wait for them: which
 * write ended a wait.
 */
#ifndef ORDER_VALUES_H
#define ORDER_VALUES_H

#include "order/fold/vector-clock.h"
#include "sbt/cmd.h"

/* A moment on a lane that others may wait for. */
struct moment {
	struct clock *clock; /* knows the moment itself, too */
	uint32_t lane, index;
	uint64_t seq, doubt; /* doubt: the last wait for a value before it of which nobody knows who
				ended it; 0: none */
	/* The end of a launch that records an event when it lets others begin, or has begun: whoever waits for the event knows `begun` alone (NULL:
	 * nothing). */
	bool is_early;
	struct clock *begun;
	uint64_t kernel;
	bool by_trigger, at_start; /* which kind */
	bool unsure; /* behind a wait for such an event, so that it may tell less than it knows */
};
void moment_drop(struct moment *m);

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
/* The write that had come in any case when the wait, on lane with what that knows, ended: of those
 * that may have ended it, the one before all the others. NULL: there is none, so nobody knows. */
const struct moment *values_first(const struct values *s, const struct sbt_cmd_batch *wait,
	uint32_t lane, const struct clock *knows);
void values_free(struct values *s);

#endif
