/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside tsdb-replayer: what replayer-check.c shares with replayer-fresh.c, which looks for reads of what nothing has written.
 */
#ifndef REPLAY_REPLAYER_CHECK_H
#define REPLAY_REPLAYER_CHECK_H

#include "replay/replayer-int.h"

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

struct checking {
	struct area *areas;
	size_t nareas, npages;
	uint64_t bytes;		/* of a copy */
	CUdeviceptr before;	/* the copy */
	CUdeviceptr sums[3];	/* page hashes: of the copy, after the first execution, after the one at hand */
	CUdeviceptr flags;	/* a byte for each page and execution */
	uint8_t *host_flags;
	unsigned runs;		/* flags are for so many */
	CUdeviceptr first;	/* pages that the first execution changed, one list entry after the other */
	uint64_t first_bytes;
	CUdeviceptr noise;
	CUstream noise_stream;
	uint64_t position;	/* that the copy is of; UINT64_MAX: none */
	struct pages *list;	/* pages that the launch changes */
	size_t nlist, cap_list;
	struct replayer_difference *rows; /* of the launch at hand */
	size_t nrows, cap_rows;
	const struct replayer_check *how;
};

enum between { MEMORY_TO_COPY, COPY_TO_MEMORY, MEMORY_TO_FIRST, FIRST_TO_MEMORY };

/* Page hashes of all memory, in order with s, to k->sums[to]. */
struct err *check_hash_all(struct rp *rp, const struct checking *k, unsigned to, CUstream s) TS_CHECK;
/* Flags of `run`: the pages whose hashes differ between sums a and b. */
struct err *check_compare(struct rp *rp, const struct checking *k, unsigned a, unsigned b, unsigned run, CUstream s) TS_CHECK;
/* To k->host_flags; waits. */
struct err *check_fetch_flags(struct rp *rp, const struct checking *k, unsigned first, unsigned n, CUstream s) TS_CHECK;
/* The pages that are marked, as runs within their areas, to k->list. */
void check_make_list(struct checking *k, const uint8_t *flags);
uint64_t check_list_bytes(const struct pages *l);
struct err *check_move_list(struct rp *rp, const struct checking *k, enum between way, CUstream s) TS_CHECK;
struct replayer_difference *check_row(struct checking *k, uint64_t seq, uint64_t addr, uint64_t size);

/* ---- replayer-fresh.c ---- */

/* From now on fresh memory is filled with a pattern. */
void fresh_begin(struct rp *rp);
void fresh_end(struct rp *rp);
/* The launch c was executed, k->host_flags and k->first tell what it changed; memory is as any execution left it, and so again afterwards: as the first
 * one left it. Adds rows to k. */
struct err *fresh_check(struct rp *rp, struct checking *k, const struct sbt_cmd *c, CUstream s) TS_CHECK;

#endif
