/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of traces, one for each rank of a job: `tsdb merge` writes a small file that names them and says how their clocks go together; view, info and
 * the shell open it. The traces stay where they are, and each opens alone.
 */
#ifndef ENGINE_RANKS_H
#define ENGINE_RANKS_H

#include "engine/clocks.h"
#include "engine/engine.h"
#include "sbt/sbt.h"

struct rank {
	char *file;   /* as it can be opened */
	char *host;
	uint64_t rank;
	uint64_t pid, start_ns, commands; /* as in the trace: a file that was recorded anew is noticed */
	struct clock_fit fit;
	bool fitted; /* fit was made by meetings and is applied; else the host's clock is taken as it is */
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
/* A time of the rank's trace on the set's clock. */
uint64_t ranks_time(const struct rank *r, uint64_t ns);
/* The other way round; and the earliest start of all, on the set's clock. */
uint64_t ranks_local(const struct rank *r, uint64_t ns);
uint64_t ranks_start(const struct ranks *set);
/* The name of the machine in a trace's meta; heap. */
char *ranks_host(const struct sbt_meta *m);

/* Another trace is being opened: the set is closed, unless it is one of its own. */
void ranks_leave(struct engine *en, const char *path);

#endif
