/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring: the window's work in other orders that the program allows, and the few that give another result. An order is judged by what it
 * does to the pairs that touch the same bytes without an order between them; two that treat all pairs alike are the same.
 */
#ifndef SHELL_EXPLORE_H
#define SHELL_EXPLORE_H

#include "order/order.h"
#include "replay/device.h"
#include "shell/session.h"

struct explore_options {
	uint64_t budget;     /* schedules; 0: 200 */
	double seconds;	     /* 0: no limit */
	uint64_t seed;
	uint32_t shard, shards; /* this one of so many, from 1; 0, 0: all */
	uint64_t most;	     /* results to find; 0: 4 */
	const char *save;    /* FILE.schedule-N.sbt are written with this in the place of FILE; NULL: beside the trace */
	bool no_save;
};

/* A result that the recorded order does not give. */
struct explore_found {
	struct order_pair *flipped; /* the fewest pairs, in the order that gives it; heap */
	struct order_pair *as_recorded; /* the same the other way round */
	size_t nflipped;
	uint64_t again;		    /* times that the same places were met besides */
	uint64_t *seqs;		    /* the schedule; heap */
	size_t nseqs;
	uint64_t place, place_size; /* an allocation that is different; 0: only what was copied to the host */
	uint64_t at;		    /* the first byte of it */
	uint8_t was[8], is[8];	    /* bytes there, after the recorded order and after this one */
	size_t bytes;		    /* that are different there */
	char *path;		    /* of the schedule as a trace; NULL: not saved */
};

struct explore_result {
	uint64_t first, last;
	uint64_t pairs;	     /* that touch the same bytes without an order */
	uint64_t executed, alike; /* schedules; left out because an equal one was executed */
	bool complete;	     /* every order of the pairs was executed, or is none the program allows */
	double seconds;
	struct explore_found *found;
	size_t nfound;
};

/* On the session's device; the replay is where it was. */
struct err *explore_run(struct session *s, const struct explore_options *o, struct explore_result *ret) TS_CHECK;
void explore_free(struct explore_result *r);
void explore_print(struct session *s, const struct explore_result *r, struct buf *out);
void explore_json(struct session *s, const struct explore_result *r, struct buf *out);

#endif
