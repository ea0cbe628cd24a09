/* SPDX-License-Identifier: Apache-2.0
 *
 * What drawer inspect/ offers: looking inside a launch. Instructions and access sets (on the
 * software GPU only), and the nodes of a graph launch.
 */
#ifndef REPLAYER_INSPECT_H
#define REPLAYER_INSPECT_H

#include "base/buf.h"
#include "gpucode/ptx-probe.h"
#include "replay/protocol.h"
#include "replayer/soft-probe.h"
#include "sbt/cmd.h"

struct gpu_module;
struct rkernel;
struct rmodule;
struct rp;

/* What those that print have logged. */
struct printing {
	size_t stride;		  /* of a record; 0: none prints */
	uint64_t at, room;	  /* the log's offset in the area; records */
	unsigned of, nvalues;	  /* the probe with the cursor; values of a record */
	struct soft_print *said;  /* so far, launch after launch */
	size_t nsaid, cap, taken; /* taken: of those, by print_take() */
};

/* Probes by changed code. */
struct counting {
	struct soft_probe *p;
	unsigned n; /* 0: none */
	uint64_t area;
	struct ptx_probe_table table;
	/* by probe: offset of its log; in how many places its code is; whether in functions that
	 * are no kernels; launches in which lanes were counted; how many lanes after the last */
	uint64_t log_at[SOFT_PROBES_MAX];
	unsigned places[SOFT_PROBES_MAX];
	bool in_function[SOFT_PROBES_MAX], is_float[SOFT_PROBES_MAX];
	uint64_t launches[SOFT_PROBES_MAX], seen[SOFT_PROBES_MAX];
	struct printing printing;
};

/* The launch under the microscope. */
struct microscope {
	const struct soft_debug *soft; /* NULL: not the software GPU */
	struct soft_session *session;  /* NULL: none */
	uint64_t seq, first_block;
	struct soft_turn *turns; /* for the next start */
	unsigned nturns;
	struct soft_point points[SOFT_POINTS_MAX];
	unsigned npoints;
	struct soft_stop stop; /* the last one */
	bool ended;
	bool changed; /* something was set in it since it began */
	/* on the way back */
	enum micro_stage { MICRO_FORWARDS, MICRO_BACK_STEP, MICRO_SCAN, MICRO_BACK_TO } stage;
	uint32_t thread[3]; /* to look at again */
};

/* --- replayer-micro.c --- */

struct err *micro_enter(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *micro_go(struct rp *rp, const struct soft_go *g) TS_CHECK;
struct err *micro_focus(struct rp *rp, const struct replayer_kernel_focus *f) TS_CHECK;
/* p: n of them, from the wire. */
struct err *micro_points(struct rp *rp, const void *p, size_t n, struct buf *out) TS_CHECK;
struct err *micro_ask(struct rp *rp, const struct soft_ask *q, struct buf *out) TS_CHECK;
/* Sets something in the launch. It belongs to this run of the launch alone: one that is begun again
 * does not have it, and one that ends with it has not been executed as far as the replay is
 * concerned. */
struct err *micro_put(struct rp *rp, const struct soft_put *p) TS_CHECK;
/* Leaves the launch because something else is requested; does nothing if the launch has ended. */
void micro_leave(struct rp *rp);

/* --- replayer-node.c --- */

/* Goes to right behind step `step` of graph launch seq (0: before its first); after the last step
 * it is behind the launch. */
struct err *node_go(struct rp *rp, uint64_t seq, uint32_t step, uint32_t *ret_steps) TS_CHECK;
/* Leaves the graph launch because something else is requested. */
void node_leave(struct rp *rp);

/* --- replayer-probe.c --- */

/* Called before the window is opened: keeps n bytes of struct soft_probe from the wire. */
struct err *probe_keep(struct rp *rp, const void *p, size_t n) TS_CHECK;
/* Called after everything is placed, before code is loaded. */
struct err *probe_open(struct rp *rp) TS_CHECK;
/* Loads the changed code of a module; *ret stays as it is if no probe is in it.
 * REPLAYER_E_REFUSED: a probe is, and the code cannot be changed. */
struct err *probe_load(struct rp *rp, const struct rmodule *m, struct gpu_module **ret) TS_CHECK;
/* Called around a launch of k. */
struct err *probe_before(struct rp *rp, const struct rkernel *k) TS_CHECK;
struct err *probe_after(struct rp *rp, const struct rkernel *k) TS_CHECK;
/* Appends a struct soft_probe_result for each. */
struct err *probe_results(struct rp *rp, struct buf *out) TS_CHECK;

/* --- replayer-print.c --- */

/* Bytes of the log, which is at this offset in the area; 0: no probe prints. */
uint64_t print_log(struct rp *rp, uint64_t at);
/* Called behind a launch that probes are in, when it has ended: reads what it logged. */
struct err *print_after(struct rp *rp) TS_CHECK;
/* Appends a struct replayer_printed, and records that were not taken yet. */
void print_take(struct rp *rp, struct buf *out);

/* --- replayer-watch.c: what only the software GPU can do --- */

/* Called after the driver was opened. */
void watch_open(struct rp *rp);
/* Called after everything is placed: passes the recording's allocations to the software GPU, so
 * that an access that faulted in the recording faults here. */
void watch_bounds(struct rp *rp);
/* Sets all probes; p: n bytes of struct soft_probe. */
struct err *watch_probes(struct rp *rp, const void *p, size_t n) TS_CHECK;
/* Appends what each has counted. */
struct err *watch_probed(struct rp *rp, struct buf *out) TS_CHECK;
struct err *watch_soft(struct rp *rp, const struct replayer_soft *s) TS_CHECK;
struct err *watch_accesses(
	struct rp *rp, const struct replayer_accesses *a, struct buf *out) TS_CHECK;
/* Answers "not known" for a kernel that the trace does not name. */
struct err *watch_addressing(struct rp *rp, uint64_t kernel, struct soft_addressing *ret) TS_CHECK;
struct err *watch_races(struct rp *rp, struct buf *out) TS_CHECK;
/* Called before and after the execution of a command. */
struct err *watch_before(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *watch_after(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;

#endif
