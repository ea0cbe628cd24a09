/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: the table of entry points, and the functions that decode their
 * records. The files see-*.c have one function for each way of passing arguments; the decoder's
 * helpers that they use are at the end.
 */
#ifndef OBSERVE_CALLS_H
#define OBSERVE_CALLS_H

#include "observe/decode/observe-decode.h"
#include "observe/decode/handles.h"
#include "gpucode/memory-calls.h"
#include "gpucode/object-calls.h"

struct seen;

struct obs_call {
	const char *name;
	struct err *(*see)(struct seen *x); /* NULL: the runtime's, which sends no record */
	uint64_t cookie;
	bool own_stream; /* stream 0 is the thread's own default stream */
};
/* Ends with name NULL. Its indices are OBS_CALL() of the cookies. */
extern const struct obs_call obs_calls[];
extern const unsigned obs_ncalls;

/* One record being decoded. */
struct seen {
	struct observe_decoder *d;
	const struct obs_event *e;
	const void *data; /* n bytes that follow the event */
	size_t n;
	bool own_stream;
	struct sbt_cmd cmd; /* common fields are filled in, but for ctx */
	struct obs_thread *thread;
};

struct obs_thread {
	uint32_t tid, number;
	uint32_t ctx;	    /* SBT_NO_ID: not known */
	uint64_t sync;	    /* seq of the sync that it is in; 0 */
	uint16_t sync_call; /* ... and which call that is */
	struct {
		uint32_t ctx, stream;
	} * own; /* its default streams */
	unsigned nown;
	uint32_t *below; /* the contexts under the current one on its stack */
	unsigned nbelow;
};

struct observe_decoder {
	const struct observe_decoder_ops *ops;
	void *arg;
	uint64_t clock_offset, seq, bad, nameless, captures;
	uint32_t next_ctx, next_stream, next_event, next_module, next_kernel, next_graph;
	struct handles handles; /* (kind, handle) -> id + 1 */
	struct handles memory;	/* address -> enum sbt_mem + 1 */
	struct handles named;	/* kernel handles -> 1 when the name is known */
	struct handles
		capturing; /* streams' ids, and events' ids + 2^32 -> number of the capture */
	struct pinned {
		uint64_t addr, size;
	} * pinned; /* host memory that copies need not stage */
	unsigned npinned;
	struct obs_thread **threads;
	unsigned nthreads;
	uint32_t
		*ctx_stream; /* by context id: its default stream; SBT_NO_ID once it is destroyed */
	uint32_t *ctx_device; /* its device; 0 when that is not known */
	bool from_start;
};

enum obs_kind { OBS_CTX = 1, OBS_STREAM, OBS_EVENT, OBS_MODULE, OBS_KERNEL, OBS_GRAPH };

/* ---- observe-decode.c: helpers for the see_* functions. They introduce missing ids by synthetic
 * commands. ---- */

/* Argument i, 0 for the first one. */
uint64_t seen_arg(const struct seen *x, unsigned i);
/* memory_call() with the record's arguments, into x->cmd. */
void seen_memory_call(
	struct seen *x, enum memory_call which, const uint64_t *words, struct memory_asked *ret);
/* The same for object_call(), with the ids of the objects. Of those without one, only an executable
 * graph stays without. */
struct err *seen_object_call(struct seen *x, enum object_call which);
/* Sends x->cmd as a command of the program, with the thread's context. */
struct err *seen_send(struct seen *x, enum sbt_kind kind);
/* Sends c, which the program did earlier and not in this call. */
struct err *seen_introduce(struct seen *x, struct sbt_cmd *c, enum sbt_kind kind);
/* The id of a handle, or SBT_NO_ID. */
uint32_t seen_id(const struct seen *x, enum obs_kind kind, uint64_t handle);
/* A new id for a handle. */
uint32_t seen_new_id(struct seen *x, enum obs_kind kind, uint64_t handle);
/* The handle was destroyed: removes its id and returns it, or SBT_NO_ID. */
uint32_t seen_drop_id(struct seen *x, enum obs_kind kind, uint64_t handle);
/* Makes sure that the thread's context is known. */
struct err *seen_ctx(struct seen *x);
/* Ids for a new context and its default stream. */
uint32_t seen_new_ctx(struct seen *x, uint64_t handle, uint32_t device, uint32_t *ret_stream);
struct err *seen_stream(struct seen *x, uint64_t handle, uint64_t *ret);
struct err *seen_event(struct seen *x, uint64_t handle, uint64_t *ret);
struct err *seen_kernel(struct seen *x, uint64_t handle, uint64_t *ret);
/* Defines a kernel under a new id; name NULL: not known. */
struct err *seen_kernel_def(struct seen *x, uint64_t handle, uint32_t module, const char *name);
/* Notes that work on a stream that is being captured becomes part of a graph. */
void seen_captured(struct seen *x, uint64_t stream);
/* see-memory.c: whether the driver may copy host memory at addr without staging it; true when in
 * doubt. */
bool seen_pinned(const struct seen *x, uint64_t addr);
#define SEEN_EVENT_KEY(event) ((event) | 1ull << 32)

#define CALL(name, fn, bits) struct err *fn(struct seen *x);
#define BOTH(name, suffix, fn, bits) struct err *fn(struct seen *x);
#define RUNTIME(name, host_fn)
#include "observe/decode/observe-calls.def"
#undef CALL
#undef BOTH
#undef RUNTIME

#endif
