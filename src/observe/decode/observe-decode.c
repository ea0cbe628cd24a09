/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes records, see observe-decode.h: ids, threads, sending. What each call means is in
 * see-work.c, see-memory.c and see-objects.c.
 */
#include "observe/decode/observe-decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "observe/decode/observe-calls.h"

enum { THREADS_MAX = 1 << 16 };

struct observe_decoder *observe_decoder_new(
	const struct observe_decoder_ops *ops, void *arg, uint64_t clock_offset, bool from_start)
{
	struct observe_decoder *d = xcalloc(1, sizeof *d);

	d->ops = ops;
	d->arg = arg;
	d->clock_offset = clock_offset;
	d->from_start = from_start;
	return d;
}

void observe_decoder_free(struct observe_decoder *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->nthreads; i++) {
		free(d->threads[i]->own);
		free(d->threads[i]->below);
		free(d->threads[i]);
	}
	free(d->threads);
	free(d->ctx_stream);
	free(d->ctx_device);
	free(d->pinned);
	handles_free(&d->handles);
	handles_free(&d->memory);
	handles_free(&d->named);
	handles_free(&d->capturing);
	free(d);
}

uint64_t observe_decoder_bad(const struct observe_decoder *d)
{
	return d->bad;
}

uint64_t observe_decoder_nameless(const struct observe_decoder *d)
{
	return d->nameless;
}

/* --- sending --- */

uint64_t seen_arg(const struct seen *x, unsigned i)
{
	return i < OBS_REGS ? x->e->reg[i] : x->e->stacked[i - OBS_REGS];
}

void seen_memory_call(
	struct seen *x, enum memory_call which, const uint64_t *words, struct memory_asked *ret)
{
	uint64_t args[MEMORY_CALL_ARGS];

	for (unsigned i = 0; i < MEMORY_CALL_ARGS; i++)
		args[i] = seen_arg(x, i);
	memory_call(which, args, words, &x->cmd, ret);
}

static struct err *send(struct seen *x, struct sbt_cmd *c, enum sbt_kind kind)
{
	c->kind = (uint16_t)kind;
	c->seq = ++x->d->seq;
	c->thread = x->thread->number;
	c->ctx = x->thread->ctx;
	return x->d->ops->command(x->d->arg, c);
}

struct err *seen_send(struct seen *x, enum sbt_kind kind)
{
	return send(x, &x->cmd, kind);
}

struct err *seen_introduce(struct seen *x, struct sbt_cmd *c, enum sbt_kind kind)
{
	c->flags |= SBT_F_SYNTHETIC;
	c->host_ns = x->cmd.host_ns;
	return send(x, c, kind);
}

/* --- handles and ids --- */

uint32_t seen_id(const struct seen *x, enum obs_kind kind, uint64_t handle)
{
	uint64_t v = handles_get(&x->d->handles, handles_key(kind, handle));

	return v ? (uint32_t)(v - 1) : SBT_NO_ID;
}

uint32_t seen_new_id(struct seen *x, enum obs_kind kind, uint64_t handle)
{
	uint32_t *const next[] = {[OBS_CTX] = &x->d->next_ctx,
		[OBS_STREAM] = &x->d->next_stream,
		[OBS_EVENT] = &x->d->next_event,
		[OBS_MODULE] = &x->d->next_module,
		[OBS_KERNEL] = &x->d->next_kernel,
		[OBS_GRAPH] = &x->d->next_graph};
	uint32_t id = (*next[kind])++;

	handles_put(&x->d->handles, handles_key(kind, handle), (uint64_t)id + 1);
	return id;
}

uint32_t seen_drop_id(struct seen *x, enum obs_kind kind, uint64_t handle)
{
	uint64_t v = handles_remove(&x->d->handles, handles_key(kind, handle));

	return v ? (uint32_t)(v - 1) : SBT_NO_ID;
}

/* --- contexts --- */

uint32_t seen_new_ctx(struct seen *x, uint64_t handle, uint32_t device, uint32_t *ret_stream)
{
	struct observe_decoder *d = x->d;
	uint32_t id = seen_new_id(x, OBS_CTX, handle);

	d->ctx_stream = xrealloc(d->ctx_stream, d->next_ctx * sizeof *d->ctx_stream);
	d->ctx_device = xrealloc(d->ctx_device, d->next_ctx * sizeof *d->ctx_device);
	d->ctx_device[id] = device;
	d->ctx_stream[id] = *ret_stream = d->next_stream++;
	return id;
}

/* The only live context; SBT_NO_ID when there are none or several. */
static uint32_t only_ctx(const struct observe_decoder *d)
{
	uint32_t found = SBT_NO_ID;

	for (uint32_t i = 0; i < d->next_ctx; i++) {
		if (d->ctx_stream[i] == SBT_NO_ID)
			continue;
		if (found != SBT_NO_ID)
			return SBT_NO_ID;
		found = i;
	}
	return found;
}

/* The context that was current before tsdb came is not known: it is the only one there is, or one
 * without a handle. */
struct err *seen_ctx(struct seen *x)
{
	struct sbt_cmd c = {0};
	uint32_t stream;

	if (x->thread->ctx == SBT_NO_ID)
		x->thread->ctx = only_ctx(x->d);
	if (x->thread->ctx == SBT_NO_ID)
		x->thread->ctx = seen_id(x, OBS_CTX, 0);
	if (x->thread->ctx != SBT_NO_ID)
		return NULL;
	c.flags = SBT_F_BEFORE;
	c.u.ctx_create.new_ctx = seen_new_ctx(x, 0, 0, &stream);
	c.u.ctx_create.default_stream = stream;
	TRY(seen_introduce(x, &c, SBT_CTX_CREATE));
	x->thread->ctx = (uint32_t)c.u.ctx_create.new_ctx;
	return NULL;
}

/* --- streams and events --- */

/* The thread's own default stream in its context. */
static struct err *own_stream(struct seen *x, uint64_t *ret)
{
	struct obs_thread *t = x->thread;
	struct sbt_cmd c = {0};

	for (unsigned i = 0; i < t->nown; i++) {
		if (t->own[i].ctx == t->ctx) {
			*ret = t->own[i].stream;
			return NULL;
		}
	}
	*ret = x->d->next_stream++;
	t->own = xrealloc(t->own, (t->nown + 1) * sizeof *t->own);
	t->own[t->nown].ctx = t->ctx;
	t->own[t->nown++].stream = (uint32_t)*ret;
	c.u.stream_create.new_stream = *ret;
	c.u.stream_create.handle = 2;
	c.u.stream_create.per_thread = 1;
	return seen_introduce(x, &c, SBT_STREAM_CREATE);
}

/* 0 is the default stream of the call's kind, 1 CU_STREAM_LEGACY, 2 CU_STREAM_PER_THREAD (cuda.h).
 */
struct err *seen_stream(struct seen *x, uint64_t handle, uint64_t *ret)
{
	struct sbt_cmd c = {0};

	TRY(seen_ctx(x));
	if (handle == 2 || (!handle && x->own_stream)) {
		x->cmd.flags |= SBT_F_PTDS;
		return own_stream(x, ret);
	}
	if (handle <= 1) {
		*ret = x->d->ctx_stream[x->thread->ctx];
		return NULL;
	}
	*ret = seen_id(x, OBS_STREAM, handle);
	if (*ret != SBT_NO_ID)
		return NULL;
	c.flags = SBT_F_BEFORE;
	c.u.stream_create.stream_flags = SBT_STREAM_UNKNOWN;
	*ret = c.u.stream_create.new_stream = seen_new_id(x, OBS_STREAM, handle);
	c.u.stream_create.handle = handle;
	return seen_introduce(x, &c, SBT_STREAM_CREATE);
}

struct err *seen_event(struct seen *x, uint64_t handle, uint64_t *ret)
{
	struct sbt_cmd c = {0};

	TRY(seen_ctx(x));
	*ret = seen_id(x, OBS_EVENT, handle);
	if (*ret != SBT_NO_ID)
		return NULL;
	c.flags = SBT_F_BEFORE;
	*ret = c.u.event_create.new_event = seen_new_id(x, OBS_EVENT, handle);
	c.u.event_create.handle = handle;
	return seen_introduce(x, &c, SBT_EVENT_CREATE);
}

void seen_captured(struct seen *x, uint64_t stream)
{
	if (x->d->capturing.n && handles_get(&x->d->capturing, stream + 1))
		x->cmd.flags |= SBT_F_GRAPH;
}

/* --- kernels --- */

struct err *seen_kernel_def(struct seen *x, uint64_t handle, uint32_t module, const char *name)
{
	struct sbt_cmd c = {.flags = 0};
	char unknown[40];

	c.u.kernel_def.new_kernel = seen_new_id(x, OBS_KERNEL, handle);
	c.u.kernel_def.module = module;
	c.u.kernel_def.handle = handle;
	if (name)
		handles_put(&x->d->named, handle, 1);
	else
		snprintf(unknown, sizeof unknown, "unknown kernel 0x%llx",
			(unsigned long long)handle);
	c.u.kernel_def.kernel_name.p = name ? name : unknown;
	c.u.kernel_def.kernel_name.len = strlen(name ? name : unknown);
	return seen_introduce(x, &c, SBT_KERNEL_DEF);
}

/* A record of a runtime launch has the host function of the kernel, whose name is the kernel's
 * (CUDA C++ Programming Guide: a __global__ function can be referred to from host code by its
 * name). */
struct err *seen_kernel(struct seen *x, uint64_t handle, uint64_t *ret)
{
	bool named = handle && handles_get(&x->d->named, handle);
	const char *name = NULL;

	*ret = seen_id(x, OBS_KERNEL, handle);
	if (named && *ret != SBT_NO_ID)
		return NULL;
	if (x->e->host_fn && x->d->ops->host_fn && handle)
		name = x->d->ops->host_fn(x->d->arg, x->e->host_fn);
	if (!name && *ret == SBT_NO_ID && x->d->ops->kernel_name && handle)
		name = x->d->ops->kernel_name(x->d->arg, handle);
	if (name || *ret == SBT_NO_ID)
		TRY(seen_kernel_def(x, handle, SBT_NO_ID, name));
	x->d->nameless += !name;
	*ret = seen_id(x, OBS_KERNEL, handle);
	return NULL;
}

/* --- calls that name objects --- */

static struct err *object_id(struct seen *x, const struct object_asked *o)
{
	switch (o->kind) {
	case OBJECT_STREAM:
		return seen_stream(x, o->handle, o->id);
	case OBJECT_EVENT:
		return seen_event(x, o->handle, o->id);
	case OBJECT_KERNEL:
		return seen_kernel(x, o->handle, o->id);
	case OBJECT_EXEC:
		*o->id = seen_id(x, OBS_GRAPH, o->handle);
		break;
	}
	return NULL;
}

struct err *seen_object_call(struct seen *x, enum object_call which)
{
	uint64_t args[OBJECT_CALL_ARGS];
	struct object_asked asked[OBJECT_CALL_ASKED];

	for (unsigned i = 0; i < OBJECT_CALL_ARGS; i++)
		args[i] = seen_arg(x, i);
	const unsigned n = object_call(which, args, &x->cmd, asked);
	for (unsigned i = 0; i < n; i++)
		TRY(object_id(x, &asked[i]));
	return NULL;
}

/* --- records --- */

const struct obs_event *observe_event(
	const void *record, size_t n, const void **ret_data, size_t *ret_n)
{
	const struct obs_event *e = record;

	if (n < sizeof *e || e->call >= obs_ncalls || !obs_calls[e->call].see ||
		e->size > n - sizeof *e || e->phase > OBS_HELLO || !e->pid || !e->tid)
		return NULL;
	*ret_data = e + 1;
	*ret_n = e->size;
	return e;
}

static struct obs_thread *thread_find(const struct observe_decoder *d, uint32_t tid)
{
	/* a thread id that is used again belongs to the later thread */
	for (unsigned i = d->nthreads; i--;) {
		if (d->threads[i]->tid == tid)
			return d->threads[i];
	}
	return NULL;
}

static struct err *thread_of(struct seen *x)
{
	struct observe_decoder *d = x->d;
	struct sbt_cmd c = {0};

	x->thread = thread_find(d, x->e->tid);
	if (x->thread)
		return NULL;
	x->thread = xcalloc(1, sizeof *x->thread);
	x->thread->tid = x->e->tid;
	x->thread->number = d->nthreads + 1;
	x->thread->ctx = SBT_NO_ID;
	d->threads = xrealloc(d->threads, (d->nthreads + 1) * sizeof *d->threads);
	d->threads[d->nthreads++] = x->thread;
	c.u.thread.os_tid = x->e->tid;
	c.u.thread.thread_name = (struct sbt_blob){"", 0};
	return seen_introduce(x, &c, SBT_THREAD);
}

struct err *observe_decoder_take(
	struct observe_decoder *d, const void *record, size_t n, uint32_t stack)
{
	struct seen x = {.d = d};

	x.e = observe_event(record, n, &x.data, &x.n);
	if (!x.e || (!thread_find(d, x.e->tid) && d->nthreads >= THREADS_MAX)) {
		d->bad++;
		return NULL;
	}
	if (x.e->phase == OBS_HELLO)
		return NULL;
	x.own_stream = obs_calls[x.e->call].own_stream;
	x.cmd.host_ns = x.e->ns + d->clock_offset;
	x.cmd.stack = stack;
	x.cmd.result = x.e->result;
	TRY(thread_of(&x));
	return obs_calls[x.e->call].see(&x);
}
