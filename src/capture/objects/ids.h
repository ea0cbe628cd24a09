/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles to ids. Every object gets its id when it is first seen; an object that no call of the program introduced gets a
 * synthetic record. Ids are dense from 0 and never reused; handles are.
 */
#ifndef CAPTURE_IDS_H
#define CAPTURE_IDS_H

#include "capture/core/agent.h"
#include "capture/objects/map.h"

struct thread;

/* A context, stream, module or library. Lives for ever: ids.c hands out pointers. */
struct object {
	uint64_t handle;
	uint32_t id;
	uint32_t ctx;		 /* id of its context; SBT_NO_ID */
	uint32_t default_stream; /* a context's */
	int32_t device;		 /* a context's */
	bool primary;		 /* a context's */
	bool is_library;
	bool sought;	     /* a module's code: by old-code.c */
	uint64_t hash, size; /* a module's code; 0 while not known */
	struct places *globals; /* a module's, as far as they were looked for (globals.c) */
};

struct ids {
	struct map ctxs, streams, modules; /* -> struct object * */
	struct map inside; /* what a library is in a context, a module's handle -> the library's struct object * */
	struct map events, graphs;	   /* -> id + 1 */
	struct map kernels;		   /* -> struct kernel * */
	struct map memory;		   /* address -> enum sbt_mem + 1 */
	_Atomic uint32_t next_ctx, next_stream, next_event, next_module, next_kernel, next_graph;
	/* Rises when a handle may have come to mean something else: threads' caches are void. */
	_Atomic uint32_t generation;
	struct spin first_sight;
};
extern struct ids ids;

/* Lasting memory in small pieces; NULL when there is none. */
void *ids_keep(size_t bytes);
struct object *ids_object(struct map *m, uint64_t handle);

/* The context, introduced if need be. NULL for handle 0. */
struct object *ids_ctx(struct thread *t, uint64_t handle);
/* The context that is current to this thread, introduced if need be. NULL: no memory. */
struct object *ids_introduce_ctx(struct thread *t, uint64_t handle);
/* The object for a context that was just created, without a record: the caller's command is it. NULL: no memory. */
struct object *ids_new_ctx(uint64_t handle, int device, bool primary);
/* The stream's id for real handles; 0, STREAM_LEGACY and STREAM_PER_THREAD (driver.h) need ctx. Introduced if need be. NULL: cannot be told. */
uint32_t ids_stream(struct thread *t, struct object *ctx, uint64_t handle, bool ptsz);
/* A capture that the program has just begun: what joins it is no capture from before the agent came. */
void ids_capture_begun(uint64_t stream);
struct object *ids_new_stream(uint64_t handle, uint32_t ctx);
struct object *ids_new_module(uint64_t handle, bool is_library, uint32_t ctx);
/* module is what library is in one context; either may be unknown. */
void ids_module_of_library(uint64_t module, uint64_t library);
uint32_t ids_event(struct thread *t, uint64_t handle);
uint32_t ids_new_number(struct map *m, _Atomic uint32_t *next, uint64_t handle);
uint32_t ids_number(struct map *m, uint64_t handle); /* SBT_NO_ID when not known */
/* A handle is gone; its id, or SBT_NO_ID. */
uint32_t ids_drop(struct map *m, uint64_t handle);
/* A context is gone and its streams, modules and functions with it. */
void ids_drop_ctx(struct object *ctx);
/* Nothing is known any more (capture was off): everything is introduced again when it is seen. */
void ids_forget(void);

#endif
