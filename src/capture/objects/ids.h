/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps handles to ids. Every object gets its id when it is first seen; an object that no call of
 * the program introduced gets a synthetic record. Ids are dense from 0 and never reused; handles
 * are.
 */
#ifndef CAPTURE_IDS_H
#define CAPTURE_IDS_H

#include "capture/core/agent.h"
#include "capture/objects/map.h"

struct thread;

/* A context, stream, module or library. Never freed, since ids.c returns pointers to it. */
struct object {
	uint64_t handle;
	uint32_t id;
	uint32_t ctx;		 /* id of its context; SBT_NO_ID */
	uint32_t default_stream; /* a context's */
	int32_t device;		 /* a context's */
	bool primary;		 /* a context's */
	bool is_library;
	bool sought;		/* a module's code has been looked for by old-code.c */
	uint64_t hash, size;	/* a module's code; 0 while not known */
	struct places *globals; /* a module's, once they were looked for (globals.c) */
};

struct ids {
	struct map ctxs, streams, modules; /* -> struct object * */
	/* a module's handle -> the struct object * of the library that it belongs to */
	struct map inside;
	struct map events, graphs;     /* -> id + 1 */
	struct map kernels;	       /* -> struct kernel * */
	struct map memory;	       /* address -> enum sbt_mem + 1 */
	struct map textures, surfaces; /* -> id + 1; both have ids of one sequence */
	/* the address that a texture, or a surface, is of; by ids_texture_key() */
	struct map texture_memory;
	_Atomic uint32_t next_ctx, next_stream, next_event, next_module, next_kernel, next_graph,
		next_texture;
	/* Rises when a handle may refer to another object: threads' caches are then invalid. */
	_Atomic uint32_t generation;
	struct spin first_sight;
};
extern struct ids ids;

static inline uint64_t ids_texture_key(uint64_t handle, bool surface)
{
	return handle << 1 | surface;
}

/* Small pieces of memory that are never freed; NULL if there is none. */
void *ids_keep(size_t bytes);
struct object *ids_object(struct map *m, uint64_t handle);

/* The context, introduced if needed. NULL for handle 0. */
struct object *ids_ctx(struct thread *t, uint64_t handle);
/* Introduces the context that is current to this thread. NULL: no memory. */
struct object *ids_introduce_ctx(struct thread *t, uint64_t handle);
/* The object for a context that was just created. No record is made: the caller's command is the
 * record. NULL: no memory. */
struct object *ids_new_ctx(uint64_t handle, int device, bool primary);
/* The stream's id for real handles; 0, STREAM_LEGACY and STREAM_PER_THREAD (driver.h) need ctx.
 * Introduced if needed. SBT_NO_ID: not known. */
uint32_t ids_stream(struct thread *t, struct object *ctx, uint64_t handle, bool ptsz);
/* The program has just begun a capture: streams that join it are not in a capture from before the
 * agent came. */
void ids_capture_begun(uint64_t stream);
struct object *ids_new_stream(uint64_t handle, uint32_t ctx);
struct object *ids_new_module(uint64_t handle, bool is_library, uint32_t ctx);
/* Notes that module is library's module in one context; either may be unknown. */
void ids_module_of_library(uint64_t module, uint64_t library);
/* The number of handle in m. One that is new gets the next number, and a synthetic command, which
 * fill() fills in, introduces it; two threads that see it first introduce it once. SBT_NO_ID for a
 * handle of 0. */
uint32_t ids_at_first_sight(struct thread *t, struct map *m, _Atomic uint32_t *next,
	uint64_t handle, void (*fill)(struct sbt_cmd *cmd, uint32_t id, uint64_t handle));
uint32_t ids_event(struct thread *t, uint64_t handle);
uint32_t ids_new_number(struct map *m, _Atomic uint32_t *next, uint64_t handle);
uint32_t ids_number(struct map *m, uint64_t handle); /* SBT_NO_ID if not known */
/* A handle was destroyed: removes it and returns its id, or SBT_NO_ID. */
uint32_t ids_drop(struct map *m, uint64_t handle);
/* A context was destroyed: removes it and its streams, modules and functions. */
void ids_drop_ctx(struct object *ctx);
/* Forgets everything (capture was off): every object is introduced again when it is seen. */
void ids_forget(void);

#endif
