/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside tsdb-replayer: what the files of CHECK share: replayer-check.c, replayer-batch.c (many launches without waiting), replayer-reach.c
 * (what a command can have changed), replayer-fresh.c (reads of what nothing has written), replayer-check-steps.c (nodes of a graph launch).
 */
#ifndef REPLAY_REPLAYER_CHECK_H
#define REPLAY_REPLAYER_CHECK_H

#include "gpucode/ptx-stores.h"
#include "replayer/execute/replayer-int.h"

/* Memory that is compared: a range of the window, or a module's global. */
struct area {
	uint64_t here, recorded, size; /* bytes */
	uint64_t at;		       /* in the copy */
	size_t page;		       /* number of its first page */
};

struct pages { /* consecutive ones of one area */
	const struct area *area;
	size_t first, n; /* numbers within the area */
};

/* Pages, as runs; all: every one. */
struct reach {
	bool all;
	unsigned n;
	struct {
		uint32_t first, last;
	} run[HASH_KERNEL_ROWS];
};

#define CHECK_GROUP 256u /* launches that are checked without waiting */

struct batch {
	uint64_t seq[CHECK_GROUP]; /* the launches of the group */
	unsigned n;
	unsigned most;	    /* in the next group; 0: it is the first one */
	bool partial;	    /* of one of them not all memory was compared */
	struct reach dirty; /* changed by other commands since the copy was made */
	struct hash_kernel_rows settled; /* what the last launch was compared in: nothing has happened there since. n 0: nothing */
	uint32_t marks[CHECK_GROUP + 1][2]; /* a launch each; what is different at the group's end */
	bool distrust;	    /* something was changed that should not have been reached: compare everything */
};

struct checking {
	struct hash_kernel_settle on; /* on the device: a row for each page; marks[] */
	uint64_t took;
	struct batch batch;
	struct alloc_rows allocs;
	struct ptx_stores *stores;	  /* by index of the kernel */
	bool *stores_known;
	uint8_t *heap; /* by index of the kernel: 0: not looked at; 1: it does not use the device's heap; 2: it may */
	struct buf ptx;			  /* the text looked at last */
	uint64_t ptx_hash;
	struct area *areas;
	size_t nareas, npages;
	uint64_t bytes;		/* of a copy */
	uint64_t before;	/* the copy */
	uint64_t sums[3];	/* page hashes: of the copy, after the first execution, after the one at hand */
	uint64_t flags;	/* a byte for each page and execution */
	uint8_t *host_flags;
	unsigned runs;		/* flags are for so many */
	uint64_t first;	/* pages that the first execution changed, one list entry after the other */
	uint64_t first_bytes;
	uint64_t noise;
	struct gpu_stream *noise_stream;
	uint64_t position;	/* that the copy is of; UINT64_MAX: none */
	struct pages *list;	/* pages that the launch changes */
	size_t nlist, cap_list;
	struct replayer_difference *rows; /* of the launch at hand */
	size_t nrows, cap_rows;
	const struct replayer_check *how;
	struct buf graphs; /* u32: ids of the executable graphs whose nodes were looked at */
	uint32_t step; /* what is executed is this step of a graph launch; 0: a command */
};

enum between { MEMORY_TO_COPY, COPY_TO_MEMORY, MEMORY_TO_FIRST, FIRST_TO_MEMORY };

/* Page hashes of all memory, in order with s, to k->sums[to]. */
struct err *check_hash_all(struct rp *rp, const struct checking *k, unsigned to, struct gpu_stream *s) TS_CHECK;
/* Flags of `run`: the pages whose hashes differ between sums a and b. */
struct err *check_compare(struct rp *rp, const struct checking *k, unsigned a, unsigned b, unsigned run, struct gpu_stream *s) TS_CHECK;
/* To k->host_flags; waits. */
struct err *check_fetch_flags(struct rp *rp, const struct checking *k, unsigned first, unsigned n, struct gpu_stream *s) TS_CHECK;
/* The pages that are marked, as runs within their areas, to k->list. */
void check_make_list(struct checking *k, const uint8_t *flags);
uint64_t check_list_bytes(const struct pages *l);
struct err *check_move_list(struct rp *rp, const struct checking *k, enum between way, struct gpu_stream *s) TS_CHECK;
struct replayer_difference *check_row(struct checking *k, uint64_t seq, uint64_t addr, uint64_t size);
/* A row for what was not the same in one execution, there, and then was. */
void check_seen_once(struct checking *k, uint64_t seq, size_t page);

/* Settles the rows' pages against the copy, see hash-kernel.h; mark: index of batch.marks. */
struct err *check_settle(struct rp *rp, const struct checking *k, const struct hash_kernel_rows *rows, unsigned todo, unsigned mark, struct gpu_stream *s) TS_CHECK;
#define CHECK_LONG_NS 200000000u /* of one reply */

/* Makes rp->checking. */
struct err *check_open(struct rp *rp) TS_CHECK;
/* Flags for so many executions. */
struct err *check_room_for_runs(struct rp *rp, struct checking *k, unsigned runs) TS_CHECK;
/* The pages that differ from the copy, to k->list and the first flags; all hashes to sums[1]. Waits. */
struct err *check_find_changes(struct rp *rp, struct checking *k, struct gpu_stream *s) TS_CHECK;
/* The copy becomes like memory on k->list's pages, and sums[1] its hashes: it is of the position. Waits. */
struct err *check_take_over(struct rp *rp, struct checking *k, uint64_t position) TS_CHECK;
/* The copy is of the position; sums[0] are its hashes. */
struct err *check_refresh(struct rp *rp, struct checking *k) TS_CHECK;
/* Whether q wants c compared. kernels: ids, n of them; none: all. */
bool check_wants(const struct rp *rp, const struct replayer_check *q, const struct sbt_cmd *c, const uint32_t *kernels, size_t n);
/* The launch c, behind the position, compared everywhere; waits. */
struct err *check_one(struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct replayer_check_done *sum) TS_CHECK;

/* From the copy's memory: c (with k->step: a step's command) is executed k->how->runs times, rows tell what differs. Memory is as the first
 * execution left it; the copy stays. */
struct err *check_same(struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s, struct replayer_check_done *sum, bool *ret_differs) TS_CHECK;

/* ---- replayer-heap.c ---- */

/* Whether the launch may take memory from the device's heap or give it back. */
struct err *heap_uses(struct rp *rp, struct checking *k, const struct sbt_cmd *c, bool *ret) TS_CHECK;

/* ---- replayer-check-steps.c ---- */

/* The graph launch c differs: which of its nodes does. Once for each graph: a training loop launches the same one again and again, and this costs
 * executions of each node and hashes of all memory. The copy is of before it, memory of behind it, and so again afterwards (as nodes one by one leave
 * it), with what changed in k->list and sums[1]. first: its first row. */
struct err *check_steps(struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s, size_t first, struct replayer_check_done *sum) TS_CHECK;

/* ---- replayer-reach.c ---- */

void reach_all(struct reach *r);
/* Memory of the recording, by address; what is no memory of the window adds nothing. */
void reach_add(struct reach *r, const struct checking *k, uint64_t addr, uint64_t size);
/* What the command can have changed, when executed with success. */
struct err *reach_command(struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct reach *r) TS_CHECK;
/* For a launch on the device. */
void reach_rows(struct reach *r, const struct checking *k, struct hash_kernel_rows *ret);
void reach_close(struct rp *rp, struct checking *k);

/* ---- replayer-batch.c ---- */

/* Commands behind the position, up to q->to: launches are compared without waiting for each, and those that differ once more by check_one(). */
struct err *batch_run(struct rp *rp, struct checking *k, const struct replayer_check *q, const uint32_t *kernels, size_t n,
	struct replayer_check_done *sum) TS_CHECK;

/* ---- replayer-fresh.c ---- */

/* From now on fresh memory is filled with a pattern. */
void fresh_begin(struct rp *rp);
void fresh_end(struct rp *rp);
/* The launch c was executed, k->host_flags and k->first tell what it changed; memory is as any execution left it, and so again afterwards: as the first
 * one left it. Adds rows to k. */
struct err *fresh_check(struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s) TS_CHECK;

#endif
