/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps handles to ids; see ids.h. One lock serialises first sights; it is held while the
 * introducing record is published, so no other thread's command can have an id with an earlier seq
 * than the record that introduces it.
 */
#include "capture/objects/arrays.h"
#include "capture/objects/ids.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/objects/kernel.h"
#include "capture/objects/live.h"
#include "capture/pipeline/payload.h"
#include "capture/core/thread.h"

#define KEEP_CHUNK (1u << 20)

struct ids ids;

void *ids_keep(size_t bytes)
{
	static struct spin lock;
	static uint8_t *chunk;
	static size_t left;
	void *p = NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > KEEP_CHUNK)
		return NULL;
	spin_lock(&lock);
	if (left < bytes) {
		chunk = agent_map(KEEP_CHUNK);
		left = chunk ? KEEP_CHUNK : 0;
	}
	if (left >= bytes) {
		p = chunk;
		chunk += bytes;
		left -= bytes;
	}
	spin_unlock(&lock);
	return p;
}

struct object *ids_object(struct map *m, uint64_t handle)
{
	return (struct object *)(uintptr_t)map_get(m, handle);
}

static struct object *new_object(
	struct map *m, _Atomic uint32_t *next, uint64_t handle, uint32_t ctx)
{
	struct object *o = ids_keep(sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct object){.handle = handle,
		.id = atomic_fetch_add(next, 1),
		.ctx = ctx,
		.default_stream = SBT_NO_ID};
	return map_put(m, handle, (uint64_t)(uintptr_t)o) ? NULL : o;
}

/* --- contexts --- */

struct object *ids_new_ctx(uint64_t handle, int device, bool primary)
{
	struct object *o = ids_keep(sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct object){.handle = handle,
		.id = atomic_fetch_add(&ids.next_ctx, 1),
		.default_stream = atomic_fetch_add(&ids.next_stream, 1),
		.device = device,
		.primary = primary};
	o->ctx = o->id;
	return map_put(&ids.ctxs, o->handle, (uint64_t)(uintptr_t)o) ? NULL : o;
}

struct object *ids_introduce_ctx(struct thread *t, uint64_t handle)
{
	int device = 0;
	bool primary = false;
	driver->context_facts(handle, &device, &primary);
	spin_lock(&ids.first_sight);
	struct object *o = ids_object(&ids.ctxs, handle);
	if (!o && (o = ids_new_ctx(handle, device, primary))) {
		struct sbt_cmd cmd = {.kind = SBT_CTX_CREATE};
		cmd.u.ctx_create.new_ctx = o->id;
		cmd.u.ctx_create.device = (uint64_t)device;
		cmd.u.ctx_create.primary = primary;
		cmd.u.ctx_create.default_stream = o->default_stream;
		cmd.u.ctx_create.handle = o->handle;
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	return o;
}

struct object *ids_ctx(struct thread *t, uint64_t handle)
{
	if (!handle)
		return NULL;
	uint32_t generation = atomic_load_explicit(&ids.generation, memory_order_acquire);
	if (t->generation != generation) {
		t->ctx_handle = 0;
		t->stream = NULL;
		t->kernel = NULL;
		t->generation = generation;
	}
	if (__builtin_expect(t->ctx_handle == handle, 1))
		return t->ctx;
	struct object *o = ids_object(&ids.ctxs, handle);
	if (!o)
		o = ids_introduce_ctx(t, handle);
	if (o) {
		t->ctx = o;
		t->ctx_handle = handle;
	}
	return o;
}

static bool all(void *arg, uint64_t key, uint64_t value)
{
	return true;
}

struct of_ctx {
	uint32_t ctx;
	bool kernels;
};

static bool dies_with(void *arg, uint64_t key, uint64_t value)
{
	const struct of_ctx *a = arg;
	if (a->kernels)
		return ((const struct kernel *)(uintptr_t)value)->ctx == a->ctx;
	return ((const struct object *)(uintptr_t)value)->ctx == a->ctx;
}

void ids_drop_ctx(struct object *ctx)
{
	struct of_ctx objects = {ctx->id, false}, kernels = {ctx->id, true};
	map_remove(&ids.ctxs, ctx->handle);
	live_drop_ctx(ctx->id);
	arrays_drop_ctx(ctx->id);
	payload_drop_ctx(ctx->handle);
	map_sweep(&ids.streams, dies_with, &objects);
	map_sweep(&ids.modules, dies_with, &objects);
	map_sweep(&ids.inside, all, NULL);
	map_sweep(&ids.kernels, dies_with, &kernels);
	atomic_fetch_add(&ids.generation, 1);
}

/* --- streams --- */

struct object *ids_new_stream(uint64_t handle, uint32_t ctx)
{
	return new_object(&ids.streams, &ids.next_stream, handle, ctx);
}

static struct map captures; /* a capture's number + 1 -> 1 */

void ids_capture_begun(uint64_t stream)
{
	uint64_t number;
	if (driver->stream_capture(stream, &number))
		(void)map_put(&captures, number + 1, 1);
}

/* A capture may have begun before the agent came. The streams that joined it have its number; the
 * first one seen is assumed to be the one that it began on. */
static void find_capture(struct thread *t, const struct object *stream)
{
	uint64_t number;
	struct sbt_cmd cmd = {.kind = SBT_CAPTURE_BEGIN};
	if (!driver->stream_capture(stream->handle, &number))
		return;
	spin_lock(&ids.first_sight);
	if (!map_get(&captures, number + 1)) {
		(void)map_put(&captures, number + 1, 1);
		atomic_fetch_add(&calls_captures, 1);
		cmd.u.capture_begin.stream = stream->id;
		cmd.u.capture_begin.mode = SBT_CAPTURE_RELAXED;
		record_now(t, &cmd, SBT_F_SYNTHETIC | SBT_F_BEFORE);
	}
	spin_unlock(&ids.first_sight);
}

static struct object *introduce_stream(struct thread *t, struct object *ctx, uint64_t handle)
{
	unsigned int flags = 0;
	int priority = 0;
	driver->stream_facts(handle, &flags, &priority);
	spin_lock(&ids.first_sight);
	struct object *o = ids_object(&ids.streams, handle);
	if (!o && (o = ids_new_stream(handle, ctx ? ctx->id : SBT_NO_ID))) {
		struct sbt_cmd cmd = {.kind = SBT_STREAM_CREATE};
		cmd.u.stream_create.new_stream = o->id;
		cmd.u.stream_create.handle = o->handle;
		cmd.u.stream_create.stream_flags = flags;
		cmd.u.stream_create.priority = (uint64_t)(int64_t)priority;
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	if (o && discover_watched())
		find_capture(t, o);
	return o;
}

/* The calling thread's own default stream in ctx. */
static uint32_t per_thread_stream(struct thread *t, struct object *ctx)
{
	for (unsigned i = 0; i < t->nptds; i++)
		if (t->ptds[i].ctx == ctx->id)
			return t->ptds[i].stream;
	if (t->nptds == THREAD_PTDS)
		/* more contexts than slots: the oldest gets a new id if it is used again */
		t->nptds = 0;
	uint32_t id = atomic_fetch_add(&ids.next_stream, 1);
	t->ptds[t->nptds].ctx = ctx->id;
	t->ptds[t->nptds++].stream = id;
	struct sbt_cmd cmd = {.kind = SBT_STREAM_CREATE};
	cmd.u.stream_create.new_stream = id;
	cmd.u.stream_create.handle = STREAM_PER_THREAD;
	cmd.u.stream_create.per_thread = 1;
	record_now(t, &cmd, SBT_F_SYNTHETIC | SBT_F_PTDS);
	return id;
}

uint32_t ids_stream(struct thread *t, struct object *ctx, uint64_t handle, bool ptsz)
{
	if (handle == STREAM_PER_THREAD || (!handle && ptsz))
		return ctx ? per_thread_stream(t, ctx) : SBT_NO_ID;
	if (!handle || handle == STREAM_LEGACY)
		return ctx ? ctx->default_stream : SBT_NO_ID;
	if (t->stream && t->stream_handle == handle)
		return t->stream->id;
	struct object *o = ids_object(&ids.streams, handle);
	if (!o)
		o = introduce_stream(t, ctx, handle);
	if (!o)
		return SBT_NO_ID;
	t->stream = o;
	t->stream_handle = handle;
	return o->id;
}

/* --- the others --- */

struct object *ids_new_module(uint64_t handle, bool is_library, uint32_t ctx)
{
	struct object *o =
		new_object(&ids.modules, &ids.next_module, handle, is_library ? SBT_NO_ID : ctx);
	if (o)
		o->is_library = is_library;
	return o;
}

void ids_module_of_library(uint64_t module, uint64_t library)
{
	struct object *o = ids_object(&ids.modules, library);
	if (o && module && !map_get(&ids.modules, module) && ids_object(&ids.inside, module) != o)
		(void)map_put(&ids.inside, module, (uint64_t)(uintptr_t)o);
}

uint32_t ids_number(struct map *m, uint64_t handle)
{
	uint64_t v = map_get(m, handle);
	return v ? (uint32_t)(v - 1) : SBT_NO_ID;
}

uint32_t ids_new_number(struct map *m, _Atomic uint32_t *next, uint64_t handle)
{
	uint32_t id = atomic_fetch_add(next, 1);
	if (map_put(m, handle, (uint64_t)id + 1))
		agent_count_lost();
	return id;
}

uint32_t ids_at_first_sight(struct thread *t, struct map *m, _Atomic uint32_t *next,
	uint64_t handle, void (*fill)(struct sbt_cmd *cmd, uint32_t id, uint64_t handle))
{
	uint32_t id = ids_number(m, handle);
	if (id != SBT_NO_ID || !handle)
		return id;
	spin_lock(&ids.first_sight);
	id = ids_number(m, handle);
	if (id == SBT_NO_ID) {
		struct sbt_cmd cmd = {0};
		id = ids_new_number(m, next, handle);
		fill(&cmd, id, handle);
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	return id;
}

static void event_seen(struct sbt_cmd *cmd, uint32_t id, uint64_t handle)
{
	cmd->kind = SBT_EVENT_CREATE;
	cmd->u.event_create.new_event = id;
	cmd->u.event_create.handle = handle;
}

uint32_t ids_event(struct thread *t, uint64_t handle)
{
	return ids_at_first_sight(t, &ids.events, &ids.next_event, handle, event_seen);
}

uint32_t ids_drop(struct map *m, uint64_t handle)
{
	uint64_t v = map_remove(m, handle);
	return v ? (uint32_t)(v - 1) : SBT_NO_ID;
}

void ids_forget(void)
{
	struct map *const maps[] = {&ids.ctxs, &ids.streams, &ids.modules, &ids.inside, &ids.events,
		&ids.graphs, &ids.kernels, &ids.memory, &ids.textures, &ids.surfaces,
		&ids.texture_memory};
	for (unsigned i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_sweep(maps[i], all, NULL);
	live_forget();
	arrays_forget();
	atomic_fetch_add(&ids.generation, 1);
}
