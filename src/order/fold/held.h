/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps what was so when a command was submitted that runs later than its number says (feed.h):
 * what the host knew, and which record of its event it waits for.
 */
#ifndef ORDER_HELD_H
#define ORDER_HELD_H

#include <stddef.h>
#include "order/fold/written-values.h"

struct held_cmd {
	uint64_t seq;
	uint64_t records; /* id of the event that it records; SBT_NO_ID: none */
	struct moment host;
	bool waits;	     /* for an event */
	uint64_t wants;	     /* then: for what this command records, which is held, too; 0: */
	struct moment event; /* for this moment; index 0: nothing */
};
struct held {		    /* all zeros: nothing */
	struct held_cmd *c; /* in order of seq; heap */
	size_t n, cap;
};

/* Takes x; its seq is above those before. */
void held_put(struct held *h, struct held_cmd x);
/* NULL: it is not held. */
struct held_cmd *held_find(const struct held *h, uint64_t seq);
/* The last held command that records the event, if it was submitted after `since`; 0: none. */
uint64_t held_record(const struct held *h, uint64_t event, uint64_t since);
/* Held command seq has recorded m: those that want it have it. */
void held_recorded(struct held *h, uint64_t seq, const struct moment *m);
void held_done(struct held *h, struct held_cmd *x);
void held_free(struct held *h);

#endif
