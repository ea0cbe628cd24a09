/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of traces, one trace for each rank of a job. `tsdb merge` writes a small file that names
 * them and says how their clocks relate; view, info and the shell open it. The traces stay where
 * they are, and each can be opened alone.
 */
#ifndef ENGINE_RANKS_H
#define ENGINE_RANKS_H

#include "engine/trace/clocks.h"
#include "engine/engine.h"
#include "sbt/sbt.h"

struct rank {
	char *file; /* its path, ready to open */
	char *host;
	uint64_t rank;
	/* from the trace: they show when a file was recorded anew */
	uint64_t pid, start_ns, commands;
	struct clock_fit fit;
	/* fit was computed from meetings and is applied; false: the host's clock is used */
	bool fitted;
};
struct ranks {
	char *path;
	struct rank *r; /* by rank */
	unsigned n;
};

/* Whether the file begins like a set. */
bool ranks_is(const char *path);
/* Reads a set: every field is checked, traces are not opened. */
struct err *ranks_load(struct ranks **ret, const char *path) TS_CHECK;
/* Writes it to set->path; an existing file that is no set is refused. */
struct err *ranks_save(const struct ranks *set) TS_CHECK;
/* An array of them. */
void ranks_json(struct buf *out, const struct ranks *set);
void ranks_free(struct ranks *set);
/* The one with that number; NULL: none. */
struct rank *ranks_find(struct ranks *set, uint64_t rank);
/* Opens a trace of the set; ERR_STATE when it is another one than was merged. */
struct err *ranks_open(const struct rank *r, struct sbt_reader **ret) TS_CHECK;
/* The trace of the rank with that number, in the set's memory; ERR_NOT_FOUND: there is none,
 * ERR_STATE as ranks_open(). */
struct err *ranks_choose(struct ranks *set, uint64_t rank, const char **ret) TS_CHECK;
/* Converts a time of the rank's trace to the set's clock. */
uint64_t ranks_time(const struct rank *r, uint64_t ns);
/* The two steps of ranks_time(): to a clock that goes as fast as the set's, and what is then added.
 */
uint64_t ranks_steady(const struct rank *r, uint64_t ns);
int64_t ranks_offset(const struct rank *r);
/* Converts a time of the set's clock to the rank's trace; and the earliest start of all ranks, on
 * the set's clock. */
uint64_t ranks_local(const struct rank *r, uint64_t ns);
uint64_t ranks_start(const struct ranks *set);
/* The name of the machine in a trace's meta; heap. */
char *ranks_host(const struct sbt_meta *m);

/* Called when another trace is being opened: closes the set, unless the trace belongs to it. */
void ranks_leave(struct engine *en, const char *path);

#endif
