/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path of a trace with GPU times: the chain of work and of the host's own time, each
 * link of which waited for the one before, that leads from the beginning to what ended last. To
 * make the run shorter, something on it has to become shorter.
 *
 * The model: a command's work begins when it has been submitted, and when what happens-before
 * orders in front of it has ended, then takes as long as it took from there. The host reaches a
 * call as long after its thread's call before as it did, a call that waits for the device when what
 * it waits for has ended, too. With the recorded durations this gives the recorded times, exactly.
 * "What if" asks the model with other durations; it does not know what the device would do with
 * work that begins earlier.
 */
#ifndef ORDER_CRITICAL_PATH_H
#define ORDER_CRITICAL_PATH_H

#include "order/order.h"

enum critical_what {
	CRITICAL_KERNEL, /* id: the kernel */
	CRITICAL_GRAPH,	 /* id: the executable graph */
	CRITICAL_COPY,	 /* id: enum sbt_copy */
	CRITICAL_FILL,	 /* id 0 */
	CRITICAL_HOST,	 /* the host on its way to a call with this stack. id: the stack; 0: none */
	CRITICAL_STARTING, /* work was submitted, waited for nothing known, and had not begun. id 0
			    */
	CRITICAL_WHATS
};

/* A link of the path. */
struct critical_step {
	enum critical_what what;
	uint32_t id;
	uint64_t seq;			/* the command; of HOST: the call that it ends at */
	uint32_t stream, thread, stack; /* stream SBT_NO_ID: the host */
	uint64_t from_ns, to_ns;
};

/* All commands that are the same: one kernel, one direction of copies, one host stack. */
struct critical_part {
	enum critical_what what;
	uint32_t id;
	uint64_t on_ns, on_count; /* on the path */
	uint64_t longest_seq, longest_ns;
	uint32_t stack, stream; /* of the longest; of a part beside the path: of slack_seq */
	uint64_t gain_ns;	/* the run would be so much shorter if all of it took no time */
	/* what the path would then mostly be; CRITICAL_WHATS: nothing is left */
	enum critical_what next;
	uint32_t next_id;
	/* of those beside the path: how much longer the nearest could be before it is on it */
	uint64_t beside, slack_ns, slack_seq;
};

struct critical_path {
	uint64_t begin_ns, end_ns;
	uint64_t by_what[CRITICAL_WHATS]; /* ns on the path; they add up to end - begin */
	struct critical_step *steps;	  /* in order of time */
	size_t nsteps;
	/* Those on the path, the largest first; then those beside it, the least slack first; then
	 * calls of the host that are not on it. */
	struct critical_part *parts;
	size_t nparts, non;	    /* of them on the path */
	uint64_t commands, untimed; /* launches, copies and fills; without GPU times */
	uint64_t contradictions;    /* times that say that something began before what it waited for
				     * had ended: the wait is left out */
};

/* What-ifs are computed for so many parts on the path. */
enum { CRITICAL_ASKED = 16 };
/* Commands first..last of o; threads are always apart. ERR_INCOMPLETE: no work has GPU times;
 * ERR_LIMIT as order_open(). */
struct err *critical_path(struct critical_path *ret, struct sbt_reader *trace,
	const struct order_options *o) TS_CHECK;
void critical_path_free(struct critical_path *p);

#endif
