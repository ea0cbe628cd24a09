/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rank of a job the others wait for, by the traces of all of them, finished or still being
 * written: collectives are compared in the order in which each rank launched them. The k-th kernel
 * on one rank meets the k-th on the others; a communicator is known by its pointer, the kernel's
 * first argument, and numbered by first use. So ranks that use communicators which others do not
 * have are taken for ranks that launch other collectives.
 */
#ifndef ENGINE_WHY_RANKS_H
#define ENGINE_WHY_RANKS_H

#include "engine/why.h"

/* One launch of a collective. */
struct why_meeting {
	char *name;    /* short: "ncclDevKernel_AllReduce_Sum_f32_RING_LL" */
	uint32_t comm; /* communicator, by first use on this rank */
	uint32_t nth;  /* in the communicator, from 1 */
	uint32_t stream;
	uint64_t seq;
};

struct why_rank {
	int64_t rank; /* of the trace; the caller may number ranks anew */
	pid_t pid;
	char *file;
	bool here;  /* its process is one of this machine, and lives */
	bool ended; /* its process was one of this machine, and has ended */
	uint64_t commands;
	struct why_meeting *m; /* in the order of launches */
	unsigned n, cap;
};

/* Reads a trace; match: a glob for the names of collectives, NULL: NCCL's AllReduce, AllGather and
 * ReduceScatter, which no rank leaves before all have come. The caller frees *ret, also after an
 * error. */
struct err *why_rank_read(struct why_rank *ret, const char *file, const char *match) TS_CHECK;
void why_rank_free(struct why_rank *r);
/* Adds ranks, what they wait in, and the rank's process that has not come. The caller then gives
 * the processes that live here to why_host(), without threads: they are looked at from outside. */
void why_ranks(struct why *w, const struct why_rank *r, unsigned n);

/* The graph of a job whose traces, finished or being written, fit the pattern (glob(7)). Reads them
 * twice, a second apart. The caller frees *ret and calls why_judge(). ERR_NOT_FOUND: there are
 * fewer than two. */
struct err *why_ask_ranks(const char *pattern, const char *match, struct why **ret) TS_CHECK;

#endif
