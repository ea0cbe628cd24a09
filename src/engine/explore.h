/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring: executes the window's work in other orders that the program allows, and reports those
 * that give another result. Two orders count as the same when every two commands that touch the
 * same bytes, and that nothing orders, come in the same sequence in both.
 *
 * The course of trials depends on the recording and the options alone, never on what a trial gave:
 * so shards that know nothing of one another execute together what one process executes, and a run
 * that was ended goes on where it was. A limit of time is the exception.
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
	uint64_t budget; /* trials of all shards together; 0: 200 */
	double seconds;	 /* 0: no limit */
	uint64_t seed;
	uint32_t shard, shards; /* which shard of how many, from 1; 0, 0: all */
	uint32_t jobs;		/* the number of processes, one shard each; 0: no other process */
	uint64_t most;		/* results to find; 0: 4 */
	/* names saved schedules: NAME of NAME.schedule-N.sbt; NULL: the trace's name */
	const char *save;
	bool no_save;
	bool strict; /* by the letter, as for races */
	/* An earlier result of the same shard that is not whole: its trials are not executed again.
	 * NULL: none. ERR_USAGE when it is of another recording, window or other options. */
	const struct explore_result *from;
	/* Called every so many seconds with what was done until then; may be NULL. */
	struct err *(*checkpoint)(void *arg, const struct explore_result *r);
	void *checkpoint_arg;
	double every;
	/* With jobs: what is executed as `tsdb explore TRACE --shard I/N --json`, and what reads
	 * its output, n bytes: the result, or an error that calls it `name`. */
	const char *program;
	struct err *(*read)(
		const char *line, size_t n, const char *name, struct explore_result *ret);
};

/* A result that differs from the recorded order's. */
struct explore_found {
	struct order_pair *flipped;	/* the fewest pairs, in the order that gives it; heap. None:
					 * what differs is in none of the pairs. With ORDER_HOST:     what
					 * the host changed before that command */
	struct order_pair *as_recorded; /* the same the other way round */
	/* An allocation or a free in stream order, one of the two commands of the only pair: right
	 * after it its memory is filled with ORDER_POISON_BYTE, in both orders, and as_recorded
	 * gives the recorded result. If no such order exists (always), both orders are the same,
	 * and `was` is without the filling. 0: none */
	uint64_t poison;
	bool always; /* with poison: every order gives another result */
	/* the launch that is held while programmatic dependent launches behind it go on: the first
	 * command of the only pair; 0: none */
	uint64_t held;
	uint64_t *places; /* for each pair a hash of its two places in the program */
	size_t nflipped;
	uint64_t again; /* how many other pairs have the same two places; with several pairs 0 */
	uint64_t *seqs; /* the schedule, entries as order/order.h has them; heap */
	size_t nseqs;
	/* the allocation that differs; 0: only data copied to the host differs */
	uint64_t place, place_size;
	uint64_t at;	       /* the first differing byte */
	uint8_t was[8], is[8]; /* bytes there, after the recorded order and after this one */
	uint64_t bytes;	       /* that differ there */
	uint64_t number;       /* of the trial that found it, in the course of all shards */
	char *path;	       /* of the schedule as a trace; NULL: not saved */
};

enum explore_have { EXPLORE_NOTHING, EXPLORE_BEGUN, EXPLORE_WHOLE };

struct explore_result {
	char *trace; /* its path; heap */
	uint64_t id; /* identifies recording and window: results with another id cannot be merged */
	uint64_t first, last;
	unsigned window; /* from 1 */
	uint32_t shards; /* 1: not split */
	uint8_t *have;	 /* enum explore_have of each shard; heap */
	uint64_t at;	 /* trials of the course that were done or left to other shards */
	/* the options that decide the course; limit: in seconds */
	uint64_t budget, seed, most;
	double limit;
	bool strict;
	uint64_t pairs; /* that touch the same bytes without an order */
	/* schedules: executed, without those that reduce a finding; left out because an equal one
	 * was executed */
	uint64_t executed, alike;
	/* how many allocations (the outputs count as one) differ from run to run in the recorded
	 * order: they are not compared */
	uint64_t unstable;
	/* launches that may overlap did not: the first one never triggers, its behaviour is
	 * unknown, or a graph branches there */
	bool left_early;
	bool went_through; /* each of those shards executed all orders of its pairs */
	bool interrupted;  /* the cancel flag ended it: there may be more to find */
	double seconds;
	struct explore_found *found;
	size_t nfound;
	/* explore_class() of findings that one process left out because another finding shows the
	 * same; heap. A shard leaves out none. */
	uint64_t *shown;
	size_t nshown;
};
/* Whether every order of the pairs was executed, or is not allowed by the program. */
bool explore_is_complete(const struct explore_result *r);

/* Explores on the replay's device; with o->jobs, in that many other processes. Afterwards the
 * replay is where it was. If the cancel flag ends it, what was found before is the result
 * (interrupted), and the flag is cleared; with o->jobs it is ERR_INTERRUPTED. */
struct err *explore_run(
	struct engine *en, const struct explore_options *o, struct explore_result *ret) TS_CHECK;
void explore_free(struct explore_result *r);
void explore_found_free(struct explore_found *f);

/* ---- explore-merge.c ---- */

/* Takes all of from into r. ERR_USAGE when they are of different recordings, windows or options, or
 * a shard is there twice. */
struct err *explore_merge(struct explore_result *r, struct explore_result *from) TS_CHECK;
/* Leaves the findings that one process would have kept. A shard keeps more: it does not know what
 * the others found before. */
void explore_finish(struct explore_result *r);
/* Whether a finding is left out of r, the result of one process so far: it is of the kind and the
 * places of one that r has or left out; or one of r's has the same cause, which is noted in r. */
bool explore_leaves_out(struct explore_result *r, const struct explore_found *f);
/* Whether both are of one kind and of the same places in the program. */
bool explore_is_same(const struct explore_found *a, const struct explore_found *b);
/* The same as a number. */
uint64_t explore_class(const struct explore_found *f);
bool explore_has_all(const struct explore_result *r);
struct explore_found explore_found_copy(const struct explore_found *f);

/* ---- explore-jobs.c ---- */

/* o->jobs processes of o->program, merged; saved schedules get the names that one process would
 * have given. */
struct err *explore_jobs(struct engine *en, const struct explore_options *o,
	const struct replay_choice *c, struct explore_result *ret) TS_CHECK;
/* The name of schedule number n. Heap. */
char *explore_schedule_name(const char *trace, uint32_t shard, size_t n);

#endif
