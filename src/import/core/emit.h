/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the trace from what is in the stage, in order of time. Private to the room.
 */
#ifndef IMPORT_EMIT_H
#define IMPORT_EMIT_H

#include "base/id-table.h"
#include "import/core/key-table.h"
#include "import/core/stage.h"
#include "sbt/sbt.h"
#include "state/state.h"

enum { EMIT_OPEN_MAX = 512 };

/* What a host thread is in the middle of. */
struct emit_thread {
	struct {
		uint32_t frame;
		int64_t start, end;
	} frames[EMIT_OPEN_MAX];
	unsigned nframes;
	struct {
		int64_t row, end;
	} ranges[EMIT_OPEN_MAX];
	unsigned nranges;
	int64_t wait_row; /* 0: it does not wait */
	uint64_t wait_seq;
};

struct emit {
	struct stage *s;
	struct import_result *r;
	struct sbt_writer *w;
	struct state *state;
	uint64_t seq;
	struct key_table threads, contexts, streams, kernels, events, graphs, frames, stacks,
		chains;
	struct id_table thread_now;		     /* struct emit_thread *, by number */
	struct id_table stream_ids, context_ids;     /* uint32_t: by number in the table */
	struct id_table streams_used, contexts_used; /* bool: by id */
	uint32_t streams_free, contexts_free; /* ids below are used, above the preferred ones */
	struct sbt_frame *frame;	      /* by number */
	uint32_t nframe, frame_cap;
	uint32_t *chain_stack; /* by number */
	uint32_t nchain, chain_cap;
	bool one_context; /* all work is of this one */
	int64_t one_device, one_ctx;
	uint32_t python, named; /* modules, plus 1; 0: not written yet */
	sqlite3_stmt *works, *sync, *record, *host, *orphan, *chain;
};

/* emit-objects.c: ids, each introduced by a command the first time. */
struct err *emit_cmd(struct emit *e, struct sbt_cmd *c) TS_CHECK;
struct sbt_cmd emit_new(const struct emit *e, enum sbt_kind kind, uint32_t thread, int64_t at);
struct err *emit_thread_id(struct emit *e, int64_t tid, int64_t at, uint32_t *ret) TS_CHECK;
struct emit_thread *emit_thread_now(struct emit *e, uint32_t thread);
struct err *emit_context(struct emit *e, int64_t device, int64_t ctx, const struct sbt_cmd *for_cmd,
	uint32_t *ret) TS_CHECK;
struct err *emit_stream(struct emit *e, int64_t device, int64_t ctx, int64_t stream,
	struct sbt_cmd *for_cmd, uint64_t *ret) TS_CHECK;
struct err *emit_kernel(struct emit *e, const char *name, int64_t regs, int64_t shared,
	const struct sbt_cmd *for_cmd, uint64_t *ret) TS_CHECK;
struct err *emit_event(
	struct emit *e, int64_t event, const struct sbt_cmd *for_cmd, uint64_t *ret) TS_CHECK;
struct err *emit_graph(
	struct emit *e, int64_t graph, const struct sbt_cmd *for_cmd, uint64_t *ret) TS_CHECK;
struct err *emit_devices(struct emit *e) TS_CHECK;

/* emit-stacks.c */
/* The function begins; its name may hold file and line as PyTorch's profiler writes them. */
struct err *emit_enter(
	struct emit *e, uint32_t thread, const char *name, int64_t start, int64_t end) TS_CHECK;
/* The stack of a call: that of its chain, or of the functions that the thread is in. 0: none. */
struct err *emit_stack(
	struct emit *e, uint32_t thread, int64_t chain, int64_t at, uint32_t *ret) TS_CHECK;

/* emit.c: the whole trace. */
struct err *emit_trace(struct stage *s, const char *path) TS_CHECK;

#endif
