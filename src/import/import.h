/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a trace of what another profiler recorded, so that tsdb can list it, add it up and compare
 * it. The trace is marked observed: it has commands, times, names and stacks, and neither memory
 * nor code. Nothing is invented: what a profile does not say (an address, a stream) is left out,
 * and the result says how often.
 *
 * One pass over the file goes into a database in TMPDIR, which sorts and joins; a second pass reads
 * it in order of time and writes the trace. Memory grows with the number of different names,
 * stacks, threads and streams, not with that of events.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct import_format {
	const char *name;
	const char *doc; /* one line: what it is */
};
/* Ends with name NULL. */
extern const struct import_format import_formats[];

struct import_ask {
	const char *file;
	const char *output; /* the trace */
	const char *format; /* one of import_formats; NULL: the file says it */
	uint64_t pid;	    /* the process that is wanted; 0: the only one */
	bool graph_nodes;   /* each kernel of a graph launch as a launch of its own */
	const char *map;    /* XRay: the program, whose map names functions; NULL: by number */
	/* Called now and then; true ends the import with ERR_INTERRUPTED. May be NULL. */
	bool (*cancelled)(void *arg, uint64_t done);
	void *arg;
};
struct import_result {
	const char *format;
	uint64_t launches, copies, fills, graphs; /* commands with work on the GPU */
	uint64_t waits, ranges, stacks;		  /* of the host; launches with a stack */
	uint64_t no_call;     /* work without a call: when it was submitted is not known */
	uint64_t no_work;     /* calls that launch, copy or fill, without work: left out */
	uint64_t no_stream;   /* records of events whose stream is not known: left out */
	uint64_t graph_nodes; /* kernels, copies and fills within graph launches, which have one
				 time together */
	uint64_t bad;	      /* rows left out: a time, an id or a type that cannot be */
	uint64_t unclosed;    /* ranges left out: they do not nest, or have no end */
	bool no_date;	      /* times count from the profile's first */
};
/* ERR_BAD_TRACE: the file is damaged, or none of the formats; ERR_USAGE: it is of several processes
 * and ask->pid is 0. The output is complete or is not there. */
struct err *import_run(const struct import_ask *ask, struct import_result *ret) TS_CHECK;

#endif
