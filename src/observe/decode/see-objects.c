/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of contexts, streams, events, modules, kernels and graphs mean. A call that
 * failed created nothing, so it is no command. gpucode/object-calls.def says which argument is
 * which.
 */
#include <stdlib.h>
#include <string.h>
#include "observe/decode/observe-calls.h"

/* --- contexts --- */

/* The context with this handle, introduced if needed. */
static struct err *known_ctx(struct seen *x, uint64_t handle, uint32_t *ret)
{
	struct sbt_cmd c = {0};
	uint32_t stream;

	*ret = handle ? seen_id(x, OBS_CTX, handle) : SBT_NO_ID;
	if (!handle || *ret != SBT_NO_ID)
		return NULL;
	c.flags = SBT_F_BEFORE;
	*ret = seen_new_ctx(x, handle, 0, &stream);
	c.u.ctx_create.new_ctx = *ret;
	c.u.ctx_create.default_stream = stream;
	c.u.ctx_create.handle = handle;
	return seen_introduce(x, &c, SBT_CTX_CREATE);
}

static void push(struct obs_thread *t, uint32_t ctx)
{
	if (t->nbelow < 64) {
		t->below = xrealloc(t->below, (t->nbelow + 1) * sizeof *t->below);
		t->below[t->nbelow++] = t->ctx;
	}
	t->ctx = ctx;
}

static struct err *created(struct seen *x, uint64_t device, uint64_t flags, bool primary)
{
	struct sbt_cmd_ctx_create *u = &x->cmd.u.ctx_create;
	uint32_t stream = SBT_NO_ID;

	u->new_ctx = u->default_stream = SBT_NO_ID;
	if (!x->cmd.result && x->e->out[0]) {
		if (primary && seen_id(x, OBS_CTX, x->e->out[0]) != SBT_NO_ID)
			return NULL; /* retained once more */
		u->new_ctx = seen_new_ctx(x, x->e->out[0], (uint32_t)device, &stream);
		u->default_stream = stream;
		u->handle = x->e->out[0];
		if (!primary)
			push(x->thread, (uint32_t)u->new_ctx);
	}
	if (u->new_ctx == SBT_NO_ID) {
		x->d->bad += !x->cmd.result; /* the call's result could not be read */
		return NULL;
	}
	u->device = (uint32_t)device;
	u->primary = primary;
	u->ctx_flags = (uint32_t)flags;
	return seen_send(x, SBT_CTX_CREATE);
}

/* (&ctx, flags, device) */
struct err *see_ctx_create_v2(struct seen *x)
{
	return created(x, seen_arg(x, 2), seen_arg(x, 1), false);
}

/* (&ctx, affinity, n, flags, device) */
struct err *see_ctx_create_v3(struct seen *x)
{
	return created(x, seen_arg(x, 4), seen_arg(x, 3), false);
}

/* (&ctx, params, flags, device) */
struct err *see_ctx_create_v4(struct seen *x)
{
	return created(x, seen_arg(x, 3), seen_arg(x, 2), false);
}

/* (&ctx, device) */
struct err *see_primary_retain(struct seen *x)
{
	return created(x, seen_arg(x, 1), 0, true);
}

struct err *see_ctx_destroy(struct seen *x)
{
	uint32_t id = seen_drop_id(x, OBS_CTX, seen_arg(x, 0));

	if (id == SBT_NO_ID)
		return NULL; /* it was made before tsdb came, and was not used */
	x->d->ctx_stream[id] = SBT_NO_ID;
	for (unsigned i = 0; i < x->d->nthreads; i++) {
		if (x->d->threads[i]->ctx == id)
			x->d->threads[i]->ctx = SBT_NO_ID;
	}
	x->cmd.u.ctx_destroy.dead_ctx = id;
	return seen_send(x, SBT_CTX_DESTROY);
}

static struct err *tell_ctx(struct seen *x)
{
	x->cmd.u.ctx_set.new_ctx = x->thread->ctx;
	return seen_send(x, SBT_CTX_SET);
}

/* Programs often set the context that is current already: that is no command. */
struct err *see_ctx_set(struct seen *x)
{
	uint32_t id;

	TRY(known_ctx(x, seen_arg(x, 0), &id));
	if (x->thread->ctx == id)
		return NULL;
	x->thread->ctx = id;
	return tell_ctx(x);
}

struct err *see_ctx_push(struct seen *x)
{
	uint32_t id;

	TRY(known_ctx(x, seen_arg(x, 0), &id));
	push(x->thread, id);
	return tell_ctx(x);
}

struct err *see_ctx_pop(struct seen *x)
{
	struct obs_thread *t = x->thread;

	t->ctx = t->nbelow ? t->below[--t->nbelow] : SBT_NO_ID;
	if (t->ctx != SBT_NO_ID && x->d->ctx_stream[t->ctx] == SBT_NO_ID)
		t->ctx = SBT_NO_ID;
	return tell_ctx(x);
}

/* --- streams and events --- */

/* A handle that the driver returns again names a new object. */
static uint64_t made(struct seen *x, enum obs_kind kind, uint64_t handle)
{
	return x->cmd.result || !handle ? SBT_NO_ID : seen_new_id(x, kind, handle);
}

static struct err *stream_create(struct seen *x, enum object_call which)
{
	struct sbt_cmd_stream_create *u = &x->cmd.u.stream_create;

	TRY(seen_ctx(x));
	TRY(seen_object_call(x, which));
	u->new_stream = made(x, OBS_STREAM, x->e->out[0]);
	u->handle = x->e->out[0];
	return u->new_stream == SBT_NO_ID ? NULL : seen_send(x, SBT_STREAM_CREATE);
}

struct err *see_stream_create(struct seen *x)
{
	return stream_create(x, OBJECT_CALL_stream_create);
}

struct err *see_stream_create_priority(struct seen *x)
{
	return stream_create(x, OBJECT_CALL_stream_create_priority);
}

struct err *see_stream_destroy(struct seen *x)
{
	TRY(seen_object_call(x, OBJECT_CALL_stream_destroy));
	seen_drop_id(x, OBS_STREAM, seen_arg(x, 0));
	handles_remove(&x->d->capturing, x->cmd.u.stream_destroy.dead_stream + 1);
	return seen_send(x, SBT_STREAM_DESTROY);
}

struct err *see_event_create(struct seen *x)
{
	struct sbt_cmd_event_create *u = &x->cmd.u.event_create;

	TRY(seen_ctx(x));
	TRY(seen_object_call(x, OBJECT_CALL_event_create));
	u->new_event = made(x, OBS_EVENT, x->e->out[0]);
	u->handle = x->e->out[0];
	return u->new_event == SBT_NO_ID ? NULL : seen_send(x, SBT_EVENT_CREATE);
}

struct err *see_event_destroy(struct seen *x)
{
	TRY(seen_object_call(x, OBJECT_CALL_event_destroy));
	seen_drop_id(x, OBS_EVENT, seen_arg(x, 0));
	handles_remove(&x->d->capturing, SEEN_EVENT_KEY(x->cmd.u.event_destroy.dead_event));
	return seen_send(x, SBT_EVENT_DESTROY);
}

/* Recording an event in a captured stream extends the capture to the streams that wait for the
 * event (CUDA C++ Programming Guide, "Cross-stream dependencies and events"). */
static void carry(struct seen *x, uint64_t from, uint64_t to)
{
	uint64_t capture = handles_get(&x->d->capturing, from);

	if (capture)
		handles_put(&x->d->capturing, to, capture);
}

static struct err *event_record(struct seen *x, enum object_call which)
{
	struct sbt_cmd_event_record *u = &x->cmd.u.event_record;

	TRY(seen_object_call(x, which));
	handles_remove(&x->d->capturing, SEEN_EVENT_KEY(u->event));
	carry(x, u->stream + 1, SEEN_EVENT_KEY(u->event));
	seen_captured(x, u->stream);
	return seen_send(x, SBT_EVENT_RECORD);
}

struct err *see_event_record(struct seen *x)
{
	return event_record(x, OBJECT_CALL_event_record);
}

struct err *see_event_record_flags(struct seen *x)
{
	return event_record(x, OBJECT_CALL_event_record_flags);
}

struct err *see_stream_wait(struct seen *x)
{
	struct sbt_cmd_stream_wait *u = &x->cmd.u.stream_wait;

	TRY(seen_object_call(x, OBJECT_CALL_stream_wait));
	carry(x, SEEN_EVENT_KEY(u->event), u->stream + 1);
	seen_captured(x, u->stream);
	return seen_send(x, SBT_STREAM_WAIT);
}

/* --- the host waits --- */

/* Two records: when the wait begins, and when it has ended. */
static struct err *sync(struct seen *x, enum object_call which)
{
	struct obs_thread *t = x->thread;

	TRY(seen_ctx(x));
	TRY(seen_object_call(x, which));
	if (x->e->phase == OBS_RETURNS) {
		memset(&x->cmd.u, 0, sizeof x->cmd.u);
		if (!t->sync || t->sync_call != x->e->call)
			return NULL; /* its beginning was lost */
		x->cmd.u.sync_end.begin = t->sync;
		t->sync = 0;
		x->cmd.host_ns = x->e->end_ns + x->d->clock_offset;
		return seen_send(x, SBT_SYNC_END);
	}
	TRY(seen_send(x, SBT_SYNC));
	t->sync = x->d->seq;
	t->sync_call = x->e->call;
	return NULL;
}

struct err *see_ctx_sync(struct seen *x)
{
	return sync(x, OBJECT_CALL_ctx_sync);
}

struct err *see_stream_sync(struct seen *x)
{
	return sync(x, OBJECT_CALL_stream_sync);
}

struct err *see_event_sync(struct seen *x)
{
	return sync(x, OBJECT_CALL_event_sync);
}

/* --- modules --- */

/* The name in the record; "" when it could not be read. */
static const char *name_of(const struct seen *x)
{
	return x->n && !((const char *)x->data)[x->n - 1] ? x->data : "";
}

static struct err *module_load(struct seen *x, bool library, const char *file)
{
	struct sbt_cmd_module_load *u = &x->cmd.u.module_load;

	TRY(seen_ctx(x));
	u->new_module = made(x, OBS_MODULE, x->e->out[0]);
	u->handle = x->e->out[0];
	u->is_library = library;
	u->file = (struct sbt_blob){file, strlen(file)};
	return u->new_module == SBT_NO_ID ? NULL : seen_send(x, SBT_MODULE_LOAD);
}

struct err *see_module_load(struct seen *x)
{
	return module_load(x, false, "");
}

struct err *see_module_load_file(struct seen *x)
{
	return module_load(x, false, name_of(x));
}

struct err *see_library_load(struct seen *x)
{
	return module_load(x, true, "");
}

struct err *see_library_load_file(struct seen *x)
{
	return module_load(x, true, name_of(x));
}

struct err *see_module_unload(struct seen *x)
{
	uint32_t id = seen_drop_id(x, OBS_MODULE, seen_arg(x, 0));

	x->cmd.u.module_unload.dead_module = id;
	return id == SBT_NO_ID ? NULL : seen_send(x, SBT_MODULE_UNLOAD);
}

static void kernel_told(struct seen *x, uint64_t handle, const char *name)
{
	if (x->d->ops->kernel_told)
		x->d->ops->kernel_told(x->d->arg, handle, name);
}

/* cuModuleGetFunction(&function, module, name), cuLibraryGetKernel(&kernel, library, name): the
 * driver may return a handle again, with another name if the module is another one. */
struct err *see_get_function(struct seen *x)
{
	const char *name = name_of(x);

	if (x->cmd.result || !x->e->out[0] || !*name)
		return NULL;
	kernel_told(x, x->e->out[0], name);
	return seen_kernel_def(x, x->e->out[0], seen_id(x, OBS_MODULE, seen_arg(x, 1)), name);
}

/* cuKernelGetFunction(&function, kernel): the function is the same kernel. */
struct err *see_kernel_function(struct seen *x)
{
	uint32_t id = seen_id(x, OBS_KERNEL, seen_arg(x, 1));

	if (x->cmd.result || !x->e->out[0] || id == SBT_NO_ID)
		return NULL;
	handles_put(&x->d->handles, handles_key(OBS_KERNEL, x->e->out[0]), (uint64_t)id + 1);
	if (handles_get(&x->d->named, seen_arg(x, 1)))
		handles_put(&x->d->named, x->e->out[0], 1);
	return NULL;
}

/* cuKernelGetName(&name, kernel), cuFuncGetName(&name, function) */
struct err *see_kernel_name(struct seen *x)
{
	uint64_t handle = seen_arg(x, 1);
	const char *name = name_of(x);

	if (x->cmd.result || !handle || !*name || handles_get(&x->d->named, handle))
		return NULL;
	kernel_told(x, handle, name);
	return seen_kernel_def(x, handle, SBT_NO_ID, name);
}

/* --- capture and graphs --- */

static struct err *begin_capture(struct seen *x, enum object_call which)
{
	struct sbt_cmd_capture_begin *u = &x->cmd.u.capture_begin;

	TRY(seen_object_call(x, which));
	handles_put(&x->d->capturing, u->stream + 1, ++x->d->captures);
	seen_captured(x, u->stream);
	return seen_send(x, SBT_CAPTURE_BEGIN);
}

struct err *see_begin_capture_v1(struct seen *x)
{
	return begin_capture(x, OBJECT_CALL_begin_capture_v1);
}

struct err *see_begin_capture(struct seen *x)
{
	return begin_capture(x, OBJECT_CALL_begin_capture);
}

/* Ends the capture of its streams and events. */
static void end_capture(struct observe_decoder *d, uint64_t capture)
{
	for (size_t i = 0; capture && i < d->capturing.cap;) {
		if (d->capturing.slot[i][0] && d->capturing.slot[i][1] == capture)
			handles_remove(&d->capturing,
				d->capturing.slot[i][0]); /* another may have moved here */
		else
			i++;
	}
}

struct err *see_end_capture(struct seen *x)
{
	struct sbt_cmd_capture_end *u = &x->cmd.u.capture_end;

	TRY(seen_object_call(x, OBJECT_CALL_end_capture));
	end_capture(x->d, handles_get(&x->d->capturing, u->stream + 1));
	u->handle = x->e->out[0];
	u->new_graph = made(x, OBS_GRAPH, u->handle);
	return seen_send(x, SBT_CAPTURE_END);
}

/* cuGraphCreate(&graph, flags) */
struct err *see_graph_create(struct seen *x)
{
	struct sbt_cmd_graph_create *u = &x->cmd.u.graph_create;

	TRY(seen_ctx(x));
	u->handle = x->e->out[0];
	u->new_graph = made(x, OBS_GRAPH, u->handle);
	u->clone_of = SBT_NO_ID;
	return u->new_graph == SBT_NO_ID ? NULL : seen_send(x, SBT_GRAPH_CREATE);
}

/* cuGraphInstantiate(&exec, graph, ...) */
struct err *see_graph_instantiate(struct seen *x)
{
	struct sbt_cmd_graph_instantiate *u = &x->cmd.u.graph_instantiate;

	TRY(seen_ctx(x));
	u->graph = seen_id(x, OBS_GRAPH, seen_arg(x, 1));
	u->handle = x->e->out[0];
	u->new_exec = made(x, OBS_GRAPH, u->handle);
	return u->new_exec == SBT_NO_ID ? NULL : seen_send(x, SBT_GRAPH_INSTANTIATE);
}

struct err *see_graph_destroy(struct seen *x)
{
	uint32_t id = seen_drop_id(x, OBS_GRAPH, seen_arg(x, 0));

	x->cmd.u.graph_destroy.dead_graph = id;
	return id == SBT_NO_ID ? NULL : seen_send(x, SBT_GRAPH_DESTROY);
}
