/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace, or the traces of a job's ranks, in formats that other programs read: profilers,
 * timelines, flame graphs, tables. One pass over the commands, rank after rank; memory grows with
 * the number of kernels, host stacks and streams, not with that of commands. Durations are those
 * that were recorded on the GPU; none is invented.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>
#include "sbt/sbt.h"
#include "symbols/symbols.h"

enum export_weight { EXPORT_BY_GPU, EXPORT_BY_COUNT, EXPORT_BY_BYTES };

struct export_job;

struct export_format {
	const char *name;
	const char *suffix; /* of the file that is written when none is named */
	const char *doc;    /* one line: what it is, and what reads it */
	bool weighted;	  /* has one weight: --weight chooses; without GPU times "gpu" is refused */
	bool needs_times; /* refused when the trace has no GPU times */
	bool one_rank;	  /* its readers want a file for each rank */
	bool states;	  /* says what streams did, piece by piece */
	bool memory;	  /* says how much is allocated */
	bool races;	  /* draws the races that it is given, and compares two runs */
	bool archive;	  /* a set may be a ZIP file, with a file for each rank */
	struct err *(*write)(struct export_job *j);
};
/* Ends with name NULL. */
extern const struct export_format export_formats[];
/* The format called name, or NULL. */
const struct export_format *export_format(const char *name);
/* "gpu", "count" or "bytes"; false: it is another word. */
bool export_weight_parse(const char *word, enum export_weight *ret);
const char *export_weight_name(enum export_weight w);

/* A trace of those that are written. */
struct export_source {
	struct sbt_reader *r;
	uint64_t rank; /* of a set; otherwise not used */
	/* From the trace's clock to the set's; NULL: it is the same. */
	uint64_t (*time)(const void *arg, uint64_t ns);
	const void *arg;
	/* Of an archive: the machine's name, and what has to be added to what time() gives for the
	 * set's clock, which the archive says of this file. */
	const char *host;
	int64_t offset_ns;
};
/* Two commands that nothing orders. */
struct export_race {
	uint64_t a, b; /* seqs */
	char *what;    /* in words */
};
/* A command of the first source and the one of the second that it is. */
struct export_pair {
	uint64_t a, b; /* seqs */
};
struct export_ask {
	const struct export_format *format;
	const struct export_source *sources;
	unsigned nsources; /* 1 if format->one_rank */
	bool set;	   /* they are ranks of a set */
	bool archive;	   /* in a file each, in one ZIP file; if format->archive */
	struct symbols *symbols;
	uint64_t first, last; /* seq: the commands that are written, of each source */
	uint32_t stream;      /* SBT_NO_ID: all */
	enum export_weight weight;
	const struct export_race *races; /* of the one source, if format->races */
	size_t nraces;
	bool compared; /* the two sources are runs, A and B, which pairs relate */
	const struct export_pair *pairs;
	size_t npairs;
	/* Called now and then; true ends the pass, and what was read so far is written whole. May
	 * be NULL. */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
struct export_result {
	uint64_t commands;	/* written */
	uint64_t launches;	/* of those: kernels and graphs */
	uint64_t stacks, timed; /* launches with a host stack; with GPU times */
	uint64_t not_kept;	/* commands in no sum: there are too many different ones */
	bool interrupted;	/* cancelled() ended it */
};
/* ERR_INCOMPLETE when the format needs GPU times and a trace has none; reads no command. For what
 * has much to do before it exports. */
struct err *export_check(const struct export_ask *ask) TS_CHECK;
/* Writes to f. ERR_INCOMPLETE when the format needs GPU times and the trace has none; ERR_SYSTEM
 * when f takes no more. */
struct err *export_run(const struct export_ask *ask, FILE *f, struct export_result *ret) TS_CHECK;

#endif
