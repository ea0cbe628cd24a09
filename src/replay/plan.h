/* SPDX-License-Identifier: Apache-2.0
 *
 * Partial replay: chooses the commands of a window to execute so that a part of it gives its
 * original result. It reads a trace and returns a list; it uses no device.
 *
 * Only work that touches memory is ever left out (launches, copies, fills, host functions, graph
 * launches, stream memory operations); commands that make objects, event records and waits are
 * always executed. A plan rather includes too much: a launch is assumed to read and write every
 * allocation that a parameter may point into, and the globals of its module; a command whose
 * accesses are unknown touches everything.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "state/state.h"

#define PLAN_LINES 8

/* Commands left out, of one kind on one stream. */
struct plan_count {
	unsigned kind; /* enum sbt_kind */
	uint32_t stream;
	uint64_t n;
};

struct plan_range {
	uint64_t addr, end;
};

struct plan {
	uint64_t first, last; /* the window */
	uint64_t from, to; /* the part asked for: execution ends at to, what is of interest begins
			      at from */
	uint64_t *skip;	   /* seqs in [first, to] to leave out, sorted: device_skip() */
	size_t nskip;
	bool recorded_inputs; /* for device_skip() */
	uint64_t executed; /* commands in [first, to] of the kinds that could be left out, and are
			      not */
	uint64_t behind;   /* commands of those kinds after to */
	struct plan_count *counts; /* of skip and behind, by stream and kind */
	size_t ncounts;
	char *lines[PLAN_LINES]; /* the first that are left out, as the user sees commands; heap */
	unsigned nlines;
	struct plan_range
		*spoiled; /* memory that a command left out may have written, sorted, apart */
	size_t nspoiled;
	bool all_spoiled;
	bool globals_spoiled; /* modules' globals, and whatever lies in no allocation */
};

/* Streams as a whole. By default with all they depend on: what the program ordered before any of
 * their commands (stream order, event record to wait, the legacy default stream's barriers, what
 * the host had waited for), and whatever wrote memory that a command taken in may read. alone:
 * nothing else but fills; what copies from the host and recorded effects brought comes out of the
 * trace, and anything else that a command of the streams may read is refused with ERR_INCOMPLETE,
 * naming reader and writer. ERR_NOT_FOUND when a stream has no command in the window. */
struct err *plan_stream(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	const uint32_t *streams, unsigned n, bool alone) TS_CHECK;
/* Commands a..b, with all they depend on, as above. */
struct err *plan_range(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	uint64_t a, uint64_t b) TS_CHECK;
/* The nth (from 1) launch in the window whose kernel matches glob: everything before it is
 * executed, so that memory is exactly what it was, then the launch. from == to is its seq. */
struct err *plan_kernel(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	const char *glob, uint64_t nth) TS_CHECK;
void plan_free(struct plan *p);

/* "Left out: 3 launches and 1 copy on stream 2; everything after #90 (12 commands)." and the first
 * of them, a line each. */
void plan_print(struct buf *out, const struct plan *p);
/* Whether this memory, a part of an allocation, is what it would be in the whole replay up to to:
 * only then comparing it with the recording makes sense. */
bool plan_exact(const struct plan *p, uint64_t addr, uint64_t size);

#endif
