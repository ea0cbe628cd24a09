/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring: the window's work in other orders that the program allows, and the few that give another result. An order is judged by what it
 * does to the pairs that touch the same bytes without an order between them; two that treat all pairs alike are the same.
 */
#ifndef ENGINE_EXPLORE_H
#define ENGINE_EXPLORE_H

#include "order/order.h"
#include "replay/device.h"
#include "engine/replay-device.h"
#include "engine/engine.h"

#define EXPLORE_BUDGET 200
#define EXPLORE_MOST 4
#define EXPLORE_JOBS_MAX 1024

struct explore_result;
struct explore_options {
	uint64_t budget;     /* schedules; 0: 200 */
	double seconds;	     /* 0: no limit */
	uint64_t seed;
	uint32_t shard, shards; /* this one of so many, from 1; 0, 0: all */
	uint32_t jobs;	     /* so many processes, a shard each; 0: this one alone */
	uint64_t most;	     /* results to find; 0: 4 */
	const char *save;    /* NAME.schedule-N.sbt are written with this as NAME(.sbt); NULL: beside the trace */
	bool no_save;
	bool strict;	     /* by the letter, as for races */
	/* With jobs: what is executed as `tsdb explore TRACE --shard I/N --json`, and what reads
	 * its output, n bytes: the result, or an error that calls it `name`. */
	const char *program;
	struct err *(*read)(
		const char *line, size_t n, const char *name, struct explore_result *ret);
};

/* A result that the recorded order does not give. */
struct explore_found {
	struct order_pair *flipped; /* the fewest pairs, in the order that gives it; heap. None: what differs is in none of the pairs. With ORDER_HOST:
				     * what the host changed before that command */
	struct order_pair *as_recorded; /* the same the other way round */
	/* An allocation or a free in stream order, one of the one pair: its memory is filled with ORDER_POISON_BYTE right after it, in both orders, and
	 * as_recorded is the harmless one; when there is no such order (always), both are the same, and was is
	 * without the filling. 0: none */
	uint64_t poison;
	bool always; /* with poison: there is no harmless order */
	uint64_t held; /* the launch that is held while programmatic dependent launches behind it go on: the first of the one pair; 0: none */
	uint64_t *places;	    /* of each: a hash of the two places in the program */
	size_t nflipped;
	uint64_t again;		    /* other pairs of the same two places; of several pairs 0 */
	uint64_t *seqs;		    /* the schedule, entries as order/order.h has them; heap */
	size_t nseqs;
	uint64_t place, place_size; /* an allocation that is different; 0: only what was copied to the host */
	uint64_t at;		    /* the first byte of it */
	uint8_t was[8], is[8];	    /* bytes there, after the recorded order and after this one */
	uint64_t bytes;		    /* that are different there */
	char *path;		    /* of the schedule as a trace; NULL: not saved */
};

struct explore_result {
	char *trace;	     /* its path; heap */
	uint64_t id;	     /* of recording and window: results of other ones cannot be merged */
	uint64_t first, last;
	uint32_t shards;     /* 1: not split */
	bool *have;	     /* which shards this is the result of; heap, shards of them */
	uint64_t pairs;	     /* that touch the same bytes without an order */
	uint64_t executed, alike; /* schedules; left out because an equal one was executed */
	uint64_t unstable;   /* allocations, and the outputs as one, that differ from run to run in the recorded order: not compared */
	bool left_early;     /* launches that may overlap did not: the one in front never triggers, nobody knows what it does, or a graph branches there */
	bool went_through;   /* each of those shards executed all its orders of the pairs */
	double seconds;
	struct explore_found *found;
	size_t nfound;
};
/* Every order of the pairs was executed, or is none that the program allows. */
bool explore_is_complete(const struct explore_result *r);

/* On the replay's device ; with o->jobs, by that many other processes; the replay is where it was.
 */
struct err *explore_run(
	struct engine *en, const struct explore_options *o, struct explore_result *ret) TS_CHECK;
void explore_free(struct explore_result *r);
void explore_found_free(struct explore_found *f);

/* ---- explore-merge.c ---- */

/* Takes all of from into r. ERR_USAGE when they are of different recordings or windows, or a shard is there twice. */
struct err *explore_merge(struct explore_result *r, struct explore_result *from) TS_CHECK;

/* ---- explore-jobs.c ---- */

/* o->jobs processes of o->program, merged; saved schedules get the names that one process would
 * have given. */
struct err *explore_jobs(struct engine *en, const struct explore_options *o,
	const struct replay_choice *c, struct explore_result *ret) TS_CHECK;
/* The name of schedule number n. Heap. */
char *explore_schedule_name(const char *trace, uint32_t shard, size_t n);

#endif
