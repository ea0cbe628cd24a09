/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches are nondeterministic: the answers of device_check() by launch and allocation, and which launches only pass a
 * difference on.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "replay/device.h"
#include "engine/engine.h"
#include "engine/unwritten.h"

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
	uint64_t addr, size;	   /* the allocation; size 0: none, a module's global say */
	uint64_t bytes, elements, close;
	uint64_t first_differs;	   /* address of the first element seen to differ */
	uint64_t was, is;	   /* its bits */
	enum replayer_as as;
	double largest, steps;
};

enum check_looks { CHECK_LIKE_ATOMICS, CHECK_LIKE_A_RACE, CHECK_LIKE_NEITHER };

struct check_launch {
	uint64_t seq;
	uint32_t step;		   /* of the graph launch before it in the list, which is not the same as a whole; 0: a launch */
	uint32_t nodes;		   /* a graph launch's: so many were looked at */
	bool shared;		   /* it reads shared memory that nothing in the block has written */
	uint32_t differing;	   /* of the further executions */
	enum check_looks looks;
	const char *clock;	   /* the clock that the kernel reads ("%globaltimer"); NULL: none that is known */
	struct check_place *places; /* heap */
	size_t nplaces;
};

struct check_result {
	uint64_t first, last, checked, left_out, heap, late, outside; /* see replayer_check_done */
	enum device_checked_end end; /* why launches up to last were not checked: the first `missed`
					ones behind reached */
	uint64_t reached, missed;
	uint64_t spent_ns;			 /* of the budget */
	bool passing_unknown, unwritten_unknown; /* there was no time to look for them */
	struct device_fault fault; /* of the recording, when it ends what can be checked: last is before it */
	uint32_t runs;
	struct check_launch *launches; /* nondeterministic ones, in order of seq, each before its steps */
	size_t nlaunches, nsteps;      /* of them all; of those, steps */
	uint64_t *passing; /* launches that only differ because what they read does */
	size_t npassing;
	struct unwritten_rows unwritten; /* with o->perturb; of what the replayer found by trying, `bytes` is 0 and `read` the first address that
					  * matters */
};

/* On the replay's device. The replay is where it was. */
struct err *check_run(
	struct engine *en, const struct check_options *o, struct check_result *ret) TS_CHECK;
/* Of a window that there was no time for, after another one that ended so. */
struct err *check_missed(struct engine *en, const struct check_options *o, uint64_t first,
	uint64_t last, enum device_checked_end end, struct check_result *ret) TS_CHECK;
void check_free(struct check_result *r);
/* Whether something that was asked for was not looked at: that nothing was found says little then.
 */
bool check_cut_short(const struct check_result *r);
/* Whether there is anything in it. */
bool check_found(const struct check_result *r);

#endif
