/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace's work comes to: by kernel (copies and fills by what they are), by call site, by
 * NVTX range. One pass over the commands; memory grows with the number of kernels, host stacks and
 * ranges, not with that of commands.
 */
#ifndef STATE_SUMMARY_H
#define STATE_SUMMARY_H

#include "sbt/sbt.h"

struct state;

/* What commands that have something in common come to. */
struct summary_row {
	char *name;  /* heap: a kernel's mangled name, "copy h2d", a range's name; NULL: a site */
	uint32_t id; /* of the kernel or the stack; SBT_NO_ID: of neither */
	uint64_t count;		      /* commands */
	uint64_t in_graphs;	      /* of a kernel: nodes that graph launches executed, besides */
	uint64_t timed;		      /* of count, those with GPU times */
	uint64_t time_ns, longest_ns; /* of those */
	uint64_t bytes;		      /* that copies and fills move and set */
	uint64_t first_seq, last_seq;
};
struct summary_rows {
	struct summary_row *v;
	size_t n;
};
struct summary {
	struct summary_rows kernels, sites, ranges;
	struct summary_row all;	 /* of all work */
	uint64_t graphs_unknown; /* graph launches whose nodes are not known */
	uint64_t not_kept;	 /* commands that are in no row of sites or ranges: too many */
};
struct summary_ask {
	uint64_t first, last; /* seq */
	bool kernels_only;
	bool allocations; /* the pass's state has memory, too */
	/* Called now and then; true ends the pass. May be NULL. */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
/* ERR_INTERRUPTED if it was cancelled; *ret is empty after an error. */
struct err *summary_make(
	struct summary *ret, struct sbt_reader *r, const struct summary_ask *ask) TS_CHECK;

/* The same for a caller that reads the commands itself, all of them in order from the trace's
 * first. */
struct summary_pass;
struct err *summary_begin(
	struct summary_pass **ret, struct sbt_reader *r, const struct summary_ask *ask) TS_CHECK;
struct err *summary_take(struct summary_pass *p, const struct sbt_cmd *c) TS_CHECK;
/* The state that the pass keeps: kernels and graphs, and with ask->allocations memory. */
const struct state *summary_state(const struct summary_pass *p);
/* Gives the sums in *ret and frees p. ret NULL: frees p alone. */
void summary_end(struct summary_pass *p, struct summary *ret);
void summary_free(struct summary *s);
void summary_rows_free(struct summary_rows *rows);
/* Whether c is a launch, a copy or a fill that ran on a stream: what sums are of. */
bool summary_counts(const struct sbt_cmd *c);
/* Adds b's figures to a's. */
void summary_add(struct summary_row *a, const struct summary_row *b);

enum summary_sort { SUMMARY_BY_TIME, SUMMARY_BY_COUNT, SUMMARY_BY_BYTES };
/* The largest first; equal ones in the order in which they first came. */
void summary_sort(struct summary_rows *rows, enum summary_sort by);

#endif
