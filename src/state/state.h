/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU state machine. A state is a fold over commands: state_apply() adds a command,
 * state_retire() and state_begin() say how far the device is; nothing else changes it. Pure: no
 * I/O, no GPU, no process, so the same code runs live, in `tsdb view` and in replay. Objects refer
 * to each other by id, never by pointer. Not thread-safe.
 *
 * Submitted and retired are two things. state_apply(launch) puts the command into its stream's
 * queue. It leaves the queue when it is retired: because the host learned so (sync_end, a query
 * that said yes, a synchronous copy, a context sync, a host wait on an event), or because the
 * caller says so (state_retire: a replay step, or GPU timestamps). Retiring a command retires all
 * it depends on: earlier work of its stream, the records its waits waited for, and across the
 * legacy default stream's barrier.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "sbt/footprint.h"
#include "sbt/sbt.h"

/* Status of a command in a stream's queue; a stream shows that of its head, IDLE with an empty
 * queue. */
enum state_status {
	STATE_IDLE,
	STATE_PENDING, /* queued behind another command ("Dispatch Pending") */
	STATE_RUNNING, /* at the head, nothing holds it back */
	STATE_WAITING, /* at the head, held back by an event, a wait, or another stream's barrier */
};
/* "Idle", "Dispatch Pending", "Running", "Waiting" */
const char *state_status_name(enum state_status s);

struct state;

struct state *state_new(void);
struct state *state_clone(const struct state *s);
void state_free(struct state *s);

/* The fold. A command that contradicts the state (free of an unknown address, double create) is
 * applied as far as it makes sense and counted in state_totals.oddities with the last one's
 * sentence: the program may be wrong, we go on. An error means a command of a kind or with ids that
 * no trace can hold. Failed calls (result != 0) change nothing but counters. */
struct err *state_apply(struct state *s, const struct sbt_cmd *c) TS_CHECK;
/* From now on state_alloc.last_writer is not needed (who wrote an allocation last): launches need
 * not look for what their arguments point to, which is most of what applying them costs. No
 * keyframe is made of such a state. */
void state_without_writers(struct state *s);
/* The check that state_apply() makes: an error when no trace can hold c. Other code that cuts ids
 * to 32 bits calls it first. */
struct err *state_check(const struct sbt_cmd *c) TS_CHECK;
/* The command seq and all it depends on are finished. Nothing happens when it already is. */
void state_retire(struct state *s, uint64_t seq);
/* Command seq has begun on the device, by GPU timestamps. Changes only which status is shown. */
void state_begin(struct state *s, uint64_t seq);

/* CUDA_ERROR_NOT_READY: the answer "not yet" to a query, no failure. */
#define STATE_NOT_READY 600
/* Memory that s takes, in bytes; memory shared by clones is divided equally among them. */
size_t state_bytes(const struct state *s);

/* A recorder writes a keyframe every so many commands ... */
#define STATE_KEYFRAME_EVERY 16384
/* ... and less often while the state is large, so that keyframes stay a small part of the trace: a
 * keyframe is due when sbt_writer_since_keyframe() reaches this. */
uint64_t state_keyframe_every(const struct state *s);

/* For keyframes. Decoding checks everything: hostile input. */
void state_encode(const struct state *s, struct buf *out);
struct err *state_decode(struct state **ret, const void *p, size_t n) TS_CHECK;
/* XXH64 over everything that is shown: equal states have equal hashes. */
uint64_t state_hash(const struct state *s);

/* ---- looking
 * ------------------------------------------------------------------------------------------------------
 * Structures are snapshots filled by the call; strings and blobs in them belong to the state and
 * live until it changes. Iteration: `for (i = 0; state_stream(s, i, &st); i++)`, in order of id.
 * The _by_ calls return false when there is none. */

struct state_stream {
	uint32_t id, ctx, created_by_thread;
	uint64_t handle, flags;
	int64_t priority;
	bool is_default, per_thread, destroyed, capturing;
	bool before; /* here and below: it was there when tsdb was attached to the running program
		      */
	enum state_status status;     /* of the head */
	uint64_t head;		      /* seq of the head; 0 when idle */
	uint64_t pending;	      /* commands in the queue, the head included */
	uint64_t submitted, finished; /* in all */
	uint64_t last_submitted;      /* seq; 0 none */
	/* for WAITING: */
	uint32_t wait_event, wait_stream; /* SBT_NO_ID when not */
	uint64_t wait_seq; /* the record or barrier command that has to finish first */
};
bool state_stream(const struct state *s, unsigned i, struct state_stream *ret);
bool state_stream_by_id(const struct state *s, uint32_t id, struct state_stream *ret);
/* The queue of a stream, head first; the newest STATE_QUEUE_MAX are kept, older ones are counted in
 * pending only. */
#define STATE_QUEUE_MAX 4096
bool state_queue(const struct state *s, uint32_t stream, unsigned i, struct sbt_cmd *ret_brief,
	enum state_status *ret_status);

struct state_event {
	uint32_t id;
	uint64_t handle, flags;
	bool recorded, destroyed,
		before;	     /* before, and not recorded since: whether it ever was is not known */
	bool complete;	     /* known to be finished */
	uint32_t stream;     /* of the last record */
	uint64_t record_seq; /* last record; 0 never */
	uint64_t records, waits; /* in all */
};
bool state_event(const struct state *s, unsigned i, struct state_event *ret);
bool state_event_by_id(const struct state *s, uint32_t id, struct state_event *ret);

struct state_context {
	uint32_t id, device, default_stream;
	uint64_t handle;
	bool primary, destroyed, before;
	unsigned streams;
	uint64_t allocations, bytes;
};
bool state_context(const struct state *s, unsigned i, struct state_context *ret);

struct state_module {
	uint32_t id, ctx;
	uint64_t handle, code_hash, code_size, seq;
	bool is_library, unloaded, before;
	struct sbt_blob file;
	unsigned kernels;
};
bool state_module(const struct state *s, unsigned i, struct state_module *ret);

struct state_kernel {
	uint32_t id, module;
	const char *name, *short_name; /* mangled; qualified without arguments */
	struct sbt_blob params;	       /* packed (offset, size) u32 pairs */
	uint64_t code_hash, regs, static_shared, local_mem, max_threads;
	uint64_t launches, last_launch; /* count; seq */
};
bool state_kernel(const struct state *s, unsigned i, struct state_kernel *ret);
bool state_kernel_by_id(const struct state *s, uint32_t id, struct state_kernel *ret);

struct state_alloc {
	uint64_t addr, size, pitch;
	enum sbt_mem mem;
	uint32_t device, ctx, stack;
	uint64_t alloc_seq;
	uint64_t last_writer; /* seq of the last command whose record says that it writes there,
			       * launch that was given a pointer into it, or command that may
			       * write anywhere: a graph with a node that is not known, rows
			       * that cannot be; 0 none */
	bool before;
	bool writer_certain; /* false when it may only have read, or written elsewhere */
};
/* Live allocations in order of address. */
bool state_alloc(const struct state *s, unsigned i, struct state_alloc *ret);
/* The one that holds addr. */
bool state_alloc_at(const struct state *s, uint64_t addr, struct state_alloc *ret);
/* The first one that has a byte at addr or behind it; false: there is none. */
bool state_alloc_from(const struct state *s, uint64_t addr, struct state_alloc *ret);

/* Texture and surface objects that are alive, in order of id. */
struct state_texture {
	uint32_t id, ctx;
	const struct sbt_cmd_texture_create *is;
};
bool state_texture(const struct state *s, unsigned i, struct state_texture *ret);
/* Limits of contexts as the program set them last, by context and number; of a larger number, or of
 * no context, none is kept. */
#define STATE_LIMITS 16u
struct state_limit {
	uint32_t ctx;
	unsigned limit; /* below STATE_LIMITS */
	uint64_t value, seq;
};
bool state_limit(const struct state *s, unsigned i, struct state_limit *ret);
/* From *i on, the next one with this handle; textures and surfaces may have the same. *i is then
 * behind it. */
bool state_texture_named(
	const struct state *s, uint64_t handle, unsigned *i, struct state_texture *ret);

/* What is finished on its stream when the call of a copy or a fill returns to the host, by the
 * state before it: CUDA driver API, "API synchronization behavior". PRIOR: a copy from pageable
 * memory to the device waits for its stream, then returns once the data is staged. */
enum state_returns { STATE_RETURNS_AT_ONCE, STATE_RETURNS_PRIOR, STATE_RETURNS_DONE };
enum state_returns state_returns(const struct state *s, const struct sbt_cmd *c);

struct state_graph {
	uint32_t id, source; /* source: the graph an executable one came from, or SBT_NO_ID */
	uint64_t handle, launches, last_launch;
	unsigned nodes;
	bool is_exec, destroyed, before; /* before: an executable one, whose nodes are not known */
	uint64_t made;			 /* seq of what created it; 0 not known */
	uint64_t capture_first; /* seq of the capture_begin that it came from (made is the end); 0:
				   none */
	uint32_t capture_stream;
	enum sbt_capture capture_mode;
	uint64_t updates, last_update; /* of an executable one: how often it was changed; seq */
};
struct state_node {
	uint32_t node, kernel;
	enum sbt_node type;
	struct sbt_blob deps, payload;
	uint64_t origin; /* the command that made it, as recorded; 0 not known */
	uint32_t stack;	 /* that command's; 0 none */
	bool disabled;
};
bool state_graph(const struct state *s, unsigned i, struct state_graph *ret);
bool state_graph_by_id(const struct state *s, uint32_t id, struct state_graph *ret);
/* The i-th node, in order of number. */
bool state_graph_node(const struct state *s, uint32_t graph, unsigned i, struct state_node *ret);
/* The same for sbt_footprint_each(): nodes that launches leave out are empty ones. */
bool state_footprint_node(
	const struct state *s, uint64_t graph, unsigned i, struct sbt_footprint_node *ret);

struct state_device {
	uint32_t device;
	struct sbt_blob name;
	uint64_t sm_major, sm_minor, total_mem, sm_count, driver_version;
	bool soft;
	uint64_t launches, copies, copy_bytes, fills, fill_bytes;
	uint64_t alloc_count, alloc_bytes, alloc_peak; /* live, live, most ever */
};
bool state_device(const struct state *s, unsigned i, struct state_device *ret);

struct state_thread {
	uint32_t thread, os_tid, ctx;
	struct sbt_blob name;
	uint64_t commands;
	uint64_t waiting_in; /* seq of the sync it is inside of; 0 */
};
bool state_thread(const struct state *s, unsigned i, struct state_thread *ret);

struct state_totals {
	uint64_t seq; /* of the last command applied */
	uint64_t commands, launches, copies, fills, syncs, failed;
	uint64_t pending; /* commands queued on all streams */
	uint64_t oddities;
	const char *last_oddity; /* NULL or a sentence */
	/* tsdb was attached here; 0: it saw the program from its beginning. What was found by
	 * looking, and what could not be. */
	uint64_t attach_seq, found_allocations, found_bytes, found_missed, found_probed, found_ns,
		unknown;
	const char *last_unknown; /* NULL or a sentence */
};
void state_totals(const struct state *s, struct state_totals *ret);

/* For the printers of room sbt: kernel names and parameters out of this state. */
struct sbt_names state_names(const struct state *s);

/* --- seeking --- */

/* The state of the last sound keyframe at or before seq; an empty one when there is none. Caller
 * frees. */
struct err *state_keyframe(struct state **ret, struct sbt_reader *trace, uint64_t seq) TS_CHECK;
/* The exact state after the last command with seq' <= seq: keyframe, then fold. Caller frees. */
struct err *state_at(struct state **ret, struct sbt_reader *trace, uint64_t seq) TS_CHECK;
/* The state at a host time: commands entered by then, retired if their GPU end is by then, begun if
 * their start is. ERR_INCOMPLETE when the trace has no GPU times. */
struct err *state_at_time(struct state **ret, struct sbt_reader *trace, uint64_t ns) TS_CHECK;

/* --- printing (text and JSON), used by `state show`, `info X` and `tsdb view` --- */

enum state_view { /* rows of the table in state/print/print.c */
	STATE_VIEW_STREAMS,
	STATE_VIEW_EVENTS,
	STATE_VIEW_CONTEXTS,
	STATE_VIEW_MODULES,
	STATE_VIEW_KERNELS,
	STATE_VIEW_ALLOCS,
	STATE_VIEW_GRAPHS,
	STATE_VIEW_DEVICES,
	STATE_VIEW_THREADS,
	STATE_VIEW_ALL
};
/* One table, columns aligned, a header line; an empty one says "No streams." columns: of the
 * screen, 0 for any number. What does not fit comes as another table below, behind an empty line.
 */
void state_print(struct buf *out, const struct state *s, enum state_view view, unsigned columns);
/* An array of objects; for STATE_VIEW_ALL an object of those arrays, with the totals before them.
 */
void state_json(struct buf *out, const struct state *s, enum state_view view);
/* Parameters of a kernel, state_kernel.params, as a JSON list of offsets and sizes. */
void state_json_params(struct buf *out, const void *params);
/* One device in detail: what it is, its contexts, streams and allocations. False when there is no
 * such device. */
bool state_print_device(struct buf *out, const struct state *s, uint32_t device, unsigned columns);
bool state_json_device(struct buf *out, const struct state *s, uint32_t device);
/* One stream in detail: head, why it waits, its queue (in text the first 64). False when there is
 * no such stream. */
bool state_print_stream(struct buf *out, const struct state *s, uint32_t stream);
bool state_json_stream(struct buf *out, const struct state *s, uint32_t stream);

#endif
