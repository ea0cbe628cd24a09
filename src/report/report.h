/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace, two, or the ranks of a set, as one HTML file that shows them in a browser without a
 * network: lanes, a cursor with the GPU's state at every command, and the facts that analyses have
 * found (facts.h). The commands lie in it as columns of numbers, compressed; docs/report.md
 * describes them.
 *
 * The trace is read once for the columns and once for what waits for what. Memory: the compressed
 * columns, about 10 to 20 bytes a command, and some 60 bytes a command for the order.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>
#include "report/facts.h"
#include "sbt/sbt.h"
#include "symbols/symbols.h"

/* Commands of all traces; a browser has to hold them all. */
enum { REPORT_COMMANDS_MAX = 10000000 };

struct report_trace {
	const char *path;
	struct sbt_reader *r;
	const struct facts *facts; /* NULL: none */
	/* Called with arg before they are looked at, for what is found out meanwhile, with what was
	 * counted of the commands that are shown; or NULL. */
	struct err *(*know)(void *arg, const struct fact_counts *counts);
	/* A kernel's name as it is shown, of the mangled one; NULL: that. */
	const char *(*kernel)(void *arg, const char *mangled);
	void *arg;	      /* of know() and kernel() */
	uint64_t first, last; /* seqs that are shown */
	uint64_t rank;	      /* of a set */
	/* From the trace's clock to the set's; NULL: it is the same. */
	uint64_t (*time)(const void *clock, uint64_t ns);
	const void *clock;
};
/* Pairs of commands that are the same in both traces; heap, owned by the caller. */
struct report_pairs {
	uint64_t *a, *b; /* seqs, n of each, ascending in b */
	size_t n;
};
struct report_ask {
	const struct report_trace *t;
	unsigned n;
	const struct report_pairs *pairs; /* of two traces that are compared; else NULL */
	const char *set;		  /* its path, if they are its ranks; else NULL */
	const struct facts *together;	  /* of the set; NULL: none */
	struct symbols *symbols;
	/* Called now and then; true ends the pass. May be NULL. */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
	volatile bool *interrupt; /* may be NULL */
};
struct report_result {
	uint64_t commands, bytes; /* shown, of all traces; written */
};
/* ERR_LIMIT above REPORT_COMMANDS_MAX, ERR_INTERRUPTED if it was cancelled, ERR_SYSTEM when f takes
 * no more. */
struct err *report_write(const struct report_ask *ask, FILE *f, struct report_result *ret) TS_CHECK;

#endif
