/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the request CHECK: replayer-check.c, replayer-batch.c (many launches
 * without waiting), replayer-reach.c (what a command can have changed), replayer-fresh.c (reads of
 * unwritten memory), replayer-check-steps.c (nodes of a graph launch).
 */
#ifndef REPLAY_REPLAYER_CHECK_H
#define REPLAY_REPLAYER_CHECK_H

#include "gpucode/ptx-stores.h"
#include "replayer/execute/replayer-rp.h"

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
	unsigned most;			 /* in the next group; 0: it is the first one */
	bool partial;			 /* of one of them not all memory was compared */
	struct reach dirty;		 /* changed by other commands since the copy was made */
	struct hash_kernel_rows settled; /* what the last launch was compared in: nothing has
					    happened there since. n 0: nothing */
	uint32_t marks[CHECK_GROUP + 1]
		      [2]; /* a launch each; what is different at the group's end */
	bool distrust;	   /* something was changed that should not have been reached: compare
			      everything */
};

struct checking {
	bool is_late; /* the launch at hand was kept back, and is executed at a later position */
	struct replayer_check_done *late_sum; /* of the request: for launches that were kept back */
	const uint32_t *late_kernels;
	size_t nlate_kernels;
	struct hash_kernel_settle on; /* on the device: a row for each page; marks[] */
	uint64_t took;
	struct batch batch;
	struct alloc_rows allocs;
	struct ptx_stores *stores; /* by index of the kernel */
	bool *stores_known;
	struct buf ptx; /* the text looked at last */
	uint64_t ptx_hash;
	struct area *areas;
	size_t nareas, npages;
	uint64_t bytes;	  /* of a copy */
	uint64_t before;  /* the copy */
	uint64_t sums[3]; /* page hashes: of the copy, after the first execution, after the one at
			     hand */
	uint64_t flags;	  /* a byte for each page and execution */
	uint8_t *host_flags;
	unsigned runs;	/* flags are for so many */
	uint64_t first; /* pages that the first execution changed, one list entry after the other */
	uint64_t first_bytes;
	uint64_t noise;
	struct gpu_stream *noise_stream;
	uint64_t position;  /* that the copy is of; UINT64_MAX: none */
	struct pages *list; /* pages that the launch changes */
	size_t nlist, cap_list;
	struct replayer_difference *rows; /* of the launch at hand */
	size_t nrows, cap_rows;
	const struct replayer_check *how;
	struct buf graphs; /* u32: ids of the executable graphs whose nodes were looked at */
	uint32_t step;	   /* what is executed is this step of a graph launch; 0: a command */
};

enum between { MEMORY_TO_COPY, COPY_TO_MEMORY, MEMORY_TO_FIRST, FIRST_TO_MEMORY };

/* Page hashes of all memory, in order with s, to k->sums[to]. */
struct err *check_hash_all(
	struct rp *rp, const struct checking *k, unsigned to, struct gpu_stream *s) TS_CHECK;
/* Flags of `run`: the pages whose hashes differ between sums a and b. */
struct err *check_compare(struct rp *rp, const struct checking *k, unsigned a, unsigned b,
	unsigned run, struct gpu_stream *s) TS_CHECK;
/* To k->host_flags; waits. */
struct err *check_fetch_flags(struct rp *rp, const struct checking *k, unsigned first, unsigned n,
	struct gpu_stream *s) TS_CHECK;
/* The pages that are marked, as runs within their areas, to k->list. */
void check_make_list(struct checking *k, const uint8_t *flags);
uint64_t check_list_bytes(const struct pages *l);
struct err *check_move_list(
	struct rp *rp, const struct checking *k, enum between way, struct gpu_stream *s) TS_CHECK;
struct replayer_difference *check_row(
	struct checking *k, uint64_t seq, uint64_t addr, uint64_t size);
/* Adds a row for a page that differed in one execution and in no later one. */
void check_seen_once(struct checking *k, uint64_t seq, size_t page);

/* Compares the rows' pages with the copy and puts them back, see hash-kernel.h; mark: index of
 * batch.marks. */
struct err *check_settle(struct rp *rp, const struct checking *k,
	const struct hash_kernel_rows *rows, unsigned todo, unsigned mark,
	struct gpu_stream *s) TS_CHECK;
#define CHECK_LONG_NS 200000000u /* of one reply */

/* Makes rp->checking. */
struct err *check_open(struct rp *rp) TS_CHECK;
/* Makes room for the flags of `runs` executions. */
struct err *check_room_for_runs(struct rp *rp, struct checking *k, unsigned runs) TS_CHECK;
/* Puts the pages that differ from the copy into k->list and the first flags, and all hashes into
 * sums[1]. Waits. */
struct err *check_find_changes(struct rp *rp, struct checking *k, struct gpu_stream *s) TS_CHECK;
/* Updates the copy from memory on k->list's pages; its hashes are those of sums[1], and it is then
 * of `position`. Waits. */
struct err *check_take_over(struct rp *rp, struct checking *k, uint64_t position) TS_CHECK;
/* Makes the copy anew, of the present position; sums[0] are its hashes. */
struct err *check_refresh(struct rp *rp, struct checking *k) TS_CHECK;
/* Whether q asks for launch c to be compared. kernels: n ids; none: all. */
bool check_wants(const struct rp *rp, const struct replayer_check *q, const struct sbt_cmd *c,
	const uint32_t *kernels, size_t n);
/* Checks launch c, which follows the position, and compares all memory; waits. */
struct err *check_one(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct replayer_check_done *sum) TS_CHECK;

/* Executes c (with k->step: the command of a step) k->how->runs times from the copy's memory, and
 * adds rows for what differs. Afterwards memory is as the first execution left it; the copy is
 * unchanged. */
struct err *check_same(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct gpu_stream *s, struct replayer_check_done *sum, bool *ret_differs) TS_CHECK;

/* ---- replayer-check-steps.c ---- */

/* Finds which nodes of graph launch c differ. Done once for each graph: a training loop launches
 * the same graph again and again, and this costs executions of each node and hashes of all memory.
 * Before and after the call the copy is of before the launch, and memory of behind it (afterwards
 * as nodes one by one leave it); k->list and sums[1] have what changed. first: the launch's first
 * row. */
struct err *check_steps(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct gpu_stream *s, size_t first, struct replayer_check_done *sum) TS_CHECK;

/* ---- replayer-reach.c ---- */

void reach_all(struct reach *r);
/* Adds memory by its recorded address; memory outside the window adds nothing. */
void reach_add(struct reach *r, const struct checking *k, uint64_t addr, uint64_t size);
/* Adds what the command can have changed, if its execution succeeded. */
struct err *reach_command(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct reach *r) TS_CHECK;
/* The same as rows, for a launch on the device. */
void reach_rows(struct reach *r, const struct checking *k, struct hash_kernel_rows *ret);
void reach_close(struct rp *rp, struct checking *k);

/* ---- replayer-batch.c ---- */

/* Checks the commands behind the position, up to q->to: launches are compared without waiting for
 * each, and those that differ are checked again by check_one(). */
struct err *batch_run(struct rp *rp, struct checking *k, const struct replayer_check *q,
	const uint32_t *kernels, size_t n, struct replayer_check_done *sum) TS_CHECK;

/* ---- replayer-fresh.c ---- */

/* From now on fresh memory is filled with a pattern. */
void fresh_begin(struct rp *rp);
void fresh_end(struct rp *rp);
/* Called when launch c was executed and k->host_flags and k->first have what it changed. Memory is
 * as any execution left it, and afterwards as the first one left it. Adds rows to k. */
struct err *fresh_check(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s) TS_CHECK;

/* --- the requests --- */

/* kernels: u32 ids, n bytes of them; none: all. */
struct err *check_run(struct rp *rp, const struct replayer_check *q, const void *kernels, size_t n,
	struct buf *out) TS_CHECK;
/* Finds what each launch changes while it is executed on the way. */
struct err *check_changed(
	struct rp *rp, const struct replayer_accesses *a, struct buf *out) TS_CHECK;
/* Frees what those functions took. */
void check_close(struct rp *rp);

/* --- replayer-fresh.c --- */

/* Called for each allocation and free while a check with perturbations is on. */
struct err *fresh_alloc(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
void fresh_free(struct rp *rp, const struct sbt_cmd *c);

#endif
