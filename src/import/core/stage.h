/* SPDX-License-Identifier: Apache-2.0
 *
 * What a profile says, put down in a database of its own on disk, which sorts and joins it: readers
 * of formats fill it, emit.c reads it. Times are nanoseconds from any moment, at most FIGURE_MAX
 * away; an id of -1 is not known.
 */
#ifndef IMPORT_STAGE_H
#define IMPORT_STAGE_H

#include <sqlite3.h>
#include "base/buf.h"
#include "import/import.h"

enum stage_host_kind {
	STAGE_CALL,
	STAGE_WAIT,  /* the host waited from begin to end */
	STAGE_RANGE, /* a user's */
	STAGE_MARK,
	STAGE_FRAME, /* a function that ran: a frame of the stacks of calls within it */
};
struct stage_host {
	enum stage_host_kind kind;
	int64_t start, length, tid, corr;
	const char *name;
	int64_t chain; /* of stage_frame(); -1: none */
};
enum stage_work_kind { STAGE_KERNEL, STAGE_COPY, STAGE_FILL, STAGE_GRAPH /* all of a launch */ };
struct stage_work {
	enum stage_work_kind kind;
	int64_t start, end, corr, device, ctx, stream;
	int64_t graph; /* -1: it is in none, or that is not known */
	const char *name;
	int64_t grid[3], block[3], shared, static_shared, regs;
	int64_t bytes, value;
	int64_t dir; /* enum sbt_copy */
};
enum stage_sync_kind { STAGE_SYNC_EVENT = 1, STAGE_SYNC_WAIT, STAGE_SYNC_STREAM, STAGE_SYNC_CTX };
/* What a call that waits, or has a stream wait, waits for. */
struct stage_sync {
	enum stage_sync_kind kind;
	int64_t corr, device, ctx, stream, event;
};

struct stage {
	const struct import_ask *ask;
	struct import_result *result;
	sqlite3 *db;
	struct err *failed; /* the first; later calls do nothing */
	sqlite3_stmt *host, *work, *sync, *record, *frame, *thread, *device;
	uint64_t rows;
	/* what the profile says of itself; heap or NULL */
	char *program, *gpu;
	int64_t base; /* nanoseconds since 1970 at time 0 */
	bool dated;   /* base, or the times themselves, count from 1970 */
	bool hip;
	int64_t pid, rank, ranks; /* -1: not known */
};

void stage_open(struct stage *s, const struct import_ask *ask, struct import_result *result);
void stage_host(struct stage *s, const struct stage_host *h);
void stage_work(struct stage *s, const struct stage_work *w);
void stage_sync(struct stage *s, const struct stage_sync *y);
/* The event was recorded on the stream by the call with this correlation. */
void stage_record(
	struct stage *s, int64_t corr, int64_t device, int64_t ctx, int64_t stream, int64_t event);
/* Frame number `depth` of chain, innermost first. file NULL: not known; python: it is a place. */
void stage_frame(struct stage *s, int64_t chain, int64_t depth, const char *function,
	const char *file, int64_t line);
void stage_thread(struct stage *s, int64_t tid, const char *name);
void stage_device(struct stage *s, int64_t device, const char *name, int64_t memory,
	int64_t processors, int64_t major, int64_t minor);
/* Counts a row that is left out. */
void stage_bad(struct stage *s);
/* All is there: makes the joins. Returns the first error, which it forgets. */
struct err *stage_end(struct stage *s) TS_CHECK;
void stage_close(struct stage *s);

/* A statement with `?`; NULL once something failed. */
sqlite3_stmt *stage_prepare(struct stage *s, const char *sql);
/* Steps to the next row; false at the end, or when it failed. */
bool stage_step(struct stage *s, sqlite3_stmt *q);
void stage_run(struct stage *s, const char *sql);
/* Takes e as what failed. */
void stage_fail(struct stage *s, struct err *e);

#endif
