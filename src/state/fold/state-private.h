/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the state's tables; private to the room. Every row begins with its id and is plain
 * data; names are places in state.bytes, and objects refer to each other by id. So a clone is a
 * copy of struct state plus one more owner of each array. Only streams (their queues) and graphs
 * (their nodes) have arrays of their own.
 */
#ifndef STATE_PRIVATE_H
#define STATE_PRIVATE_H

#include <string.h>
#include "state/tables/allocs.h"
#include "state/state.h"
#include "state/tables/vec.h"

/* Bytes in state.bytes, followed by a NUL. */
struct str {
	uint32_t off, len;
};

struct device {
	uint32_t id;
	struct str name;
	bool soft;
	uint64_t sm_major, sm_minor, total_mem, sm_count, driver_version;
	uint64_t launches, copies, copy_bytes, fills, fill_bytes;
	uint64_t alloc_count, alloc_bytes, alloc_peak;
};

struct context {
	uint32_t id, device, default_stream;
	bool primary, destroyed, before;
	uint64_t handle, allocations, bytes;
};

/* What a queue keeps of a command; the columns of queue_fields[] say which field goes where. */
struct entry {
	uint64_t seq;
	uint64_t dep_seq;    /* stream_wait: the record it waits for; 0 none */
	uint32_t dep_stream; /* where that record was made */
	uint32_t thread, ctx, stack;
	uint32_t object; /* kernel, event or graph */
	uint16_t kind, flags;
	bool begun; /* state_begin() */
	uint32_t d[8];
	uint64_t a[3];
};

/* An unfinished wait that left the ring for the summary: the newest one for each stream that is
 * waited for. */
struct old_wait {
	uint32_t dep_stream;
	uint64_t seq, dep_seq;
};

/* A stream's queue is the summary of its oldest commands (old_*) followed by the ring. Sequence
 * numbers rise along it. */
struct stream {
	uint32_t id, ctx, thread;
	bool is_default, per_thread, destroyed, capturing, before;
	uint64_t handle, flags, priority;
	uint64_t submitted, finished, last_submitted;
	uint64_t done_to; /* seq: all work submitted here up to this has finished */
	uint64_t old_count, old_first, old_last;
	struct vec old_waits; /* of struct old_wait */
	struct vec ring;      /* of struct entry; n is its capacity, a power of two */
	uint32_t head, len;
	uint64_t capture_seq; /* the capture that goes on began there */
	uint8_t capture_mode;
	uint64_t goal; /* only while retiring: finish up to this seq */
};

struct event {
	uint32_t id, ctx, stream;
	bool destroyed, before;
	uint64_t handle, flags, record_seq, records, waits;
};

struct module {
	uint32_t id, ctx;
	uint64_t handle, code_hash, code_size, seq;
	bool is_library, unloaded, before;
	struct str file;
	uint32_t kernels;
};

struct texture {
	uint32_t id, ctx;
	struct sbt_cmd_texture_create is;
};

/* A limit that the program set. Its number is STATE_LIMITS times the context's, plus the limit's.
 */
struct limit {
	uint32_t id;
	uint64_t seq, value;
};

struct kernel {
	uint32_t id, module;
	struct str name, short_name, params;
	uint64_t code_hash, regs, static_shared, local_mem, max_threads, launches, last_launch;
};

struct node {
	uint32_t node, kernel;
	uint8_t type;
	struct str deps, payload; /* places in graph.bytes */
	uint64_t origin;
	uint32_t stack;
	bool disabled;
};

struct graph {
	uint32_t id, source;
	uint64_t handle, launches, last_launch, queued;
	bool is_exec, destroyed, before;
	uint64_t made, first; /* seqs: it was created; its capture began, 0: none */
	uint32_t stream;      /* that was captured; SBT_NO_ID */
	uint8_t mode;
	uint64_t updates, last_update;
	struct vec nodes; /* of struct node, by number */
	struct vec bytes;
};

/* The sync or the thread's host wait that has begun and not ended: seq 0 when none. */
struct host_wait {
	uint64_t seq, upto; /* finished when it ends: commands up to this seq ... */
	uint32_t ctx,
		stream; /* ... of this stream, or of all of this context when stream is SBT_NO_ID */
};

struct thread {
	uint32_t id, os_tid, ctx;
	struct str name;
	uint64_t commands;
	struct host_wait wait;
};

#define ODDITY_MAX 200

/* Where tsdb was attached to the running program; seq 0: it was not. `before` in the rows: the
 * object was there then. */
struct attach {
	uint64_t seq, allocations, bytes, missed, unknown, probed, took;
	struct str text; /* the last thing that is not known */
};

struct state {
	uint64_t seq, commands, launches, copies, fills, syncs, failed, oddities;
	bool timed;	 /* state_begin() was used: a head that has not begun is pending */
	bool no_writers; /* state_without_writers() */
	char oddity[ODDITY_MAX];
	struct vec devices, contexts, streams, events, modules, kernels, graphs, threads, textures,
		limits;
	struct vec bytes;
	struct allocs allocs;
	struct attach attach;
	struct vec worklist; /* of u32 stream ids; only while retiring */
};

#define ROW(type) sizeof(struct type)
/* Rows of a table as an array. */
#define ROWS(s, table, type) ((struct type *)(s)->table.data)

static inline struct stream *find_stream(const struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_find(&s->streams, ROW(stream), (uint32_t)id) : NULL;
}

static inline struct entry *ring_at(const struct stream *st, uint32_t i)
{
	return (struct entry *)st->ring.data + ((st->head + i) & (st->ring.n - 1));
}

/* A stream that takes part in the legacy default stream's barrier. The per-thread default stream
 * does too (CUDA C++ programming guide, "Per-thread default stream"). */
static inline bool is_blocking(const struct stream *st)
{
	return !(st->flags & 1) && !st->is_default;
}

static inline uint64_t stream_pending(const struct stream *st)
{
	return st->old_count + st->len;
}

/* state.c */
struct str str_put(struct vec *bytes, const void *p, uint64_t n);
static inline const char *str_get(const struct vec *bytes, struct str t)
{
	return t.len ? (const char *)bytes->data + t.off : "";
}
static inline struct sbt_blob str_blob(const struct vec *bytes, struct str t)
{
	return (struct sbt_blob){str_get(bytes, t), t.len};
}
/* Counts something that contradicts the state, with a sentence. */
void oddity(struct state *s, const char *fmt, ...) TS_PRINTF(2, 3);
void stream_drop(struct state *s, struct stream *st);
void graph_drop(struct state *s, struct graph *g);

/* transitions.c */
void transition(struct state *s, const struct sbt_cmd *c);

/* queue.c */
/* Whether commands of this kind can be in a queue. */
bool queue_takes(unsigned kind);
/* Appends c. dep: the record that a stream_wait waits for, 0 for none. */
void queue_push(struct state *s, struct stream *st, const struct sbt_cmd *c, uint32_t object,
	uint32_t dep_stream, uint64_t dep_seq);
/* Finishes the work of stream id up to seq, and all that this work depends on. retire_raise() and
 * retire_run() do the same for several streams at once. */
void queue_retire(struct state *s, uint32_t id, uint64_t seq);
/* Finishes what command seq of st waits for, but not that command. */
void queue_retire_before(struct state *s, struct stream *st, uint64_t seq);
void retire_raise(struct state *s, uint32_t id, uint64_t seq);
void retire_run(struct state *s);
/* Fills *c with what the queue kept of a command. */
void queue_brief(struct sbt_cmd *c, const struct entry *e, uint32_t stream);
/* Index in the ring of the first entry with a seq >= seq. */
uint32_t ring_lower(const struct stream *st, uint64_t seq);
/* Last seq in the queue that is below seq; 0 none. */
uint64_t queue_last_below(const struct stream *st, uint64_t seq);
uint64_t queue_head(const struct stream *st);
bool event_complete(const struct state *s, const struct event *e);
/* Makes room for one more entry. */
void ring_grow(struct stream *st);

/* look.c */
/* What holds the head of a stream back. */
struct hold {
	bool held;
	uint32_t event, stream;
	uint64_t seq;
};
struct hold stream_hold(const struct state *s, const struct stream *st);

#endif
