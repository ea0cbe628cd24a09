/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds nondeterministic launches: sorts the answers of device_check() by launch and allocation,
 * and tells launches that only pass a difference on.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "replay/device.h"
#include "engine/engine.h"
#include "engine/analyse/unwritten.h"

struct check_options {
	uint64_t first, last; /* launches; 0, 0: the window's */
	const char *kernel;   /* glob; NULL: any */
	uint32_t runs;	      /* executions of each */
	enum replayer_as as;
	bool perturb, thorough;
	uint64_t budget_ns; /* of the replayer's time (patience.h), for all windows;
			       CHECK_NO_BUDGET: as long as it takes */
};

#define CHECK_NO_BUDGET 0

/* What one launch did to one allocation. */
struct check_place {
	uint64_t addr, size; /* the allocation; size 0: none, for instance a module's global */
	uint64_t bytes, elements, close;
	uint64_t first_differs; /* address of the first element seen to differ */
	uint64_t was, is;	/* that element's bits */
	enum replayer_as as;
	double largest, steps;
};

enum check_looks { CHECK_LIKE_ATOMICS, CHECK_LIKE_A_RACE, CHECK_LIKE_NEITHER };

struct check_launch {
	uint64_t seq;
	/* the step of the graph launch listed before it, which differs as a whole; 0: a launch */
	uint32_t step;
	uint32_t nodes;	    /* of a graph launch: nodes looked at */
	bool shared;	    /* it reads shared memory that its block has not written */
	uint32_t differing; /* how many of the further executions differed */
	enum check_looks looks;
	const char *clock; /* the clock that the kernel reads ("%globaltimer"); NULL: none found */
	struct check_place *places; /* heap */
	size_t nplaces;
};

struct check_result {
	uint64_t first, last, checked, left_out, heap, late, outside; /* see replayer_check_done */
	/* why some launches up to last were not checked: the first `missed` behind reached */
	enum device_checked_end end;
	uint64_t reached, missed;
	uint64_t spent_ns;			 /* of the budget */
	bool passing_unknown, unwritten_unknown; /* there was no time to look for them */
	/* the recording's fault, if it ends the range that can be checked: last is before it */
	struct device_fault fault;
	uint32_t runs;
	struct check_launch
		*launches; /* nondeterministic ones, in order of seq, each before its steps */
	size_t nlaunches, nsteps; /* of all; of steps */
	uint64_t *passing;	  /* launches that differ only because their input does */
	size_t npassing;
	/* with o->perturb; for those that the replayer found by trying, `bytes` is 0 and `read` is
	 * the first address that matters */
	struct unwritten_rows unwritten;
};

/* On the replay's device. The replay is where it was. */
struct err *check_run(
	struct engine *en, const struct check_options *o, struct check_result *ret) TS_CHECK;
/* Makes the result of a window for which there was no time, after another window ended so. */
struct err *check_missed(struct engine *en, const struct check_options *o, uint64_t first,
	uint64_t last, enum device_checked_end end, struct check_result *ret) TS_CHECK;
void check_free(struct check_result *r);
/* Whether part of the check was not done, so that finding nothing proves little. */
bool check_cut_short(const struct check_result *r);
/* Whether the result has any finding. */
bool check_found(const struct check_result *r);

/* What a kernel, given by its mangled name, reads the time with ("%globaltimer", "s_memtime");
 * NULL: with nothing, or the trace has no code of it that can be read (gpucode/code-traits.h).
 * Functions that it calls and that are not inlined are not searched. */
const char *reads_clock(struct sbt_reader *r, const char *kernel);

#endif
