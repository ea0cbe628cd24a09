// SPDX-License-Identifier: Apache-2.0
//
// Handlers: devices, streams, events, waits, modules. A handle leaves the tables when its
// destruction begins, and enters them when its creation has ended, before anybody else can know it.
#include "capture/core/thread.h"
#include "capture/hip/driver-hip.h"
#include "capture/hip/hip-calls.h"
#include "capture/objects/code.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "gpucode/amd-object.h"

/* --- devices --- */

void hip_set_device(struct call *c)
{
	(void)c;
}

/* Often called with the same device: only changes are recorded. */
void hip_set_device_exit(struct call *c)
{
	struct object *o = NULL;

	if (!c->cmd.result)
		o = ids_ctx(c->t, hip_context(HIP_ARGS(c, hipSetDevice)->deviceId));
	c->skip = !o || (c->t->ctx_known && c->t->current_ctx == o->id);
	if (c->skip)
		return;
	c->t->ctx_known = true;
	c->t->current_ctx = o->id;
	c->cmd.u.ctx_set.new_ctx = o->id;
}

/* --- streams --- */

static void stream_create(struct call *c, uint64_t flags, int priority)
{
	c->cmd.u.stream_create.new_stream = SBT_NO_ID;
	c->cmd.u.stream_create.stream_flags = flags;
	c->cmd.u.stream_create.priority = priority;
}

void hip_stream_create(struct call *c) /* with a mask of compute units, too */
{
	stream_create(c, 0, 0);
}

void hip_stream_create_flags(struct call *c)
{
	stream_create(c, HIP_ARGS(c, hipStreamCreateWithFlags)->flags, 0);
}

void hip_stream_create_priority(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamCreateWithPriority)) *p =
		HIP_ARGS(c, hipStreamCreateWithPriority);

	stream_create(c, p->flags, p->priority);
}

void hip_stream_create_exit(struct call *c) /* all: the stream comes first */
{
	const hipStream_t *to = HIP_ARGS(c, hipStreamCreate)->stream;
	struct object *o = NULL;

	if (!c->cmd.result && to)
		o = ids_new_stream(H(*to), call_ctx_id(c));
	if (!o)
		return;
	c->cmd.u.stream_create.new_stream = o->id;
	c->cmd.u.stream_create.handle = o->handle;
}

void hip_stream_destroy(struct call *c)
{
	const uint64_t handle = H(HIP_ARGS(c, hipStreamDestroy)->stream);

	c->cmd.u.stream_destroy.dead_stream = ids_stream(c->t, c->ctx, handle, false);
	map_remove(&ids.streams, handle);
	atomic_fetch_add(&ids.generation, 1);
}

/* --- events --- */

void hip_event_create(struct call *c)
{
	c->cmd.u.event_create.new_event = SBT_NO_ID;
}

void hip_event_create_flags(struct call *c)
{
	c->cmd.u.event_create.new_event = SBT_NO_ID;
	c->cmd.u.event_create.event_flags = HIP_ARGS(c, hipEventCreateWithFlags)->flags;
}

void hip_event_create_exit(struct call *c) /* both: the event comes first */
{
	const hipEvent_t *to = HIP_ARGS(c, hipEventCreate)->event;

	if (c->cmd.result || !to)
		return;
	c->cmd.u.event_create.new_event = ids_new_number(&ids.events, &ids.next_event, H(*to));
	c->cmd.u.event_create.handle = H(*to);
}

void hip_event_destroy(struct call *c)
{
	const uint64_t handle = H(HIP_ARGS(c, hipEventDestroy)->event);

	c->cmd.u.event_destroy.dead_event = ids_event(c->t, handle);
	ids_drop(&ids.events, handle);
}

void hip_event_record(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipEventRecord)) *p = HIP_ARGS(c, hipEventRecord);

	c->cmd.u.event_record.stream = call_stream(c, H(p->stream));
	c->cmd.u.event_record.event = ids_event(c->t, H(p->event));
}

void hip_stream_wait(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamWaitEvent)) *p = HIP_ARGS(c, hipStreamWaitEvent);

	c->cmd.u.stream_wait.stream = call_stream(c, H(p->stream));
	c->cmd.u.stream_wait.event = ids_event(c->t, H(p->event));
	c->cmd.u.stream_wait.wait_flags = p->flags;
}

/* --- the host waits, or asks --- */

void hip_device_sync(struct call *c)
{
	c->cmd.u.sync.scope = SBT_SYNC_CTX;
	c->cmd.u.sync.stream = c->cmd.u.sync.event = SBT_NO_ID;
}

void hip_stream_sync(struct call *c)
{
	c->cmd.u.sync.scope = SBT_SYNC_STREAM;
	c->cmd.u.sync.stream = call_stream(c, H(HIP_ARGS(c, hipStreamSynchronize)->stream));
	c->cmd.u.sync.event = SBT_NO_ID;
}

void hip_event_sync(struct call *c)
{
	c->cmd.u.sync.scope = SBT_SYNC_EVENT;
	c->cmd.u.sync.stream = SBT_NO_ID;
	c->cmd.u.sync.event = ids_event(c->t, H(HIP_ARGS(c, hipEventSynchronize)->event));
}

void hip_stream_query(struct call *c)
{
	c->cmd.u.query.scope = SBT_SYNC_STREAM;
	c->cmd.u.query.stream = call_stream(c, H(HIP_ARGS(c, hipStreamQuery)->stream));
	c->cmd.u.query.event = SBT_NO_ID;
	c->note = c->cmd.u.query.stream + 1;
}

void hip_event_query(struct call *c)
{
	c->cmd.u.query.scope = SBT_SYNC_EVENT;
	c->cmd.u.query.stream = SBT_NO_ID;
	c->cmd.u.query.event = ids_event(c->t, H(HIP_ARGS(c, hipEventQuery)->event));
	c->note = (c->cmd.u.query.event + 1) << 32;
}

/* Of consecutive "not ready" answers about one object only the first is recorded. */
void hip_query_exit(struct call *c)
{
	if (c->cmd.result != hipErrorNotReady)
		c->t->last_query = 0;
	else if (c->t->last_query == c->note)
		c->skip = true;
	else
		c->t->last_query = c->note;
}

/* --- modules --- */

static struct map module_of; /* hipFunction_t -> hipModule_t */

uint64_t hip_module_of(uint64_t function)
{
	return map_get(&module_of, function);
}

void hip_module_load(struct call *c)
{
	c->cmd.u.module_load.new_module = SBT_NO_ID;
}

void hip_module_load_file(struct call *c)
{
	const char *name = HIP_ARGS(c, hipModuleLoad)->fname;

	hip_module_load(c);
	if (name)
		c->cmd.u.module_load.file = (struct sbt_blob){name, strnlen(name, 4096)};
}

/* Its code is known when one of its functions is launched. */
void hip_module_load_exit(struct call *c) /* all: the module comes first */
{
	const hipModule_t *to = HIP_ARGS(c, hipModuleLoad)->module;
	struct object *o;

	if (c->cmd.result || !to)
		return;
	o = ids_new_module(H(*to), false, call_ctx_id(c));
	if (!o) {
		agent_count_lost();
		c->skip = true;
		return;
	}
	c->cmd.u.module_load.new_module = o->id;
	c->cmd.u.module_load.handle = o->handle;
}

static bool of_module(void *arg, uint64_t key, uint64_t value)
{
	(void)key;
	return value == *(const uint64_t *)arg;
}

void hip_module_unload(struct call *c)
{
	uint64_t handle = H(HIP_ARGS(c, hipModuleUnload)->module);
	struct object *o = (struct object *)(uintptr_t)map_remove(&ids.modules, handle);

	c->cmd.u.module_unload.dead_module = o ? o->id : SBT_NO_ID;
	c->skip = !o;
	map_sweep(&module_of, of_module, &handle);
	hip_module_unloaded(handle);
	if (o)
		kernel_drop_module(o->id);
}

void hip_get_function(struct call *c)
{
	c->skip = true; /* only remembered */
}

void hip_get_function_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipModuleGetFunction)) *p = HIP_ARGS(c, hipModuleGetFunction);

	if (!c->cmd.result && p->function && *p->function)
		(void)map_put(&module_of, H(*p->function), H(p->module));
}

void hip_global(struct call *c)
{
	c->cmd.u.global_def.module = SBT_NO_ID;
}

void hip_module_global_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipModuleGetGlobal)) *p = HIP_ARGS(c, hipModuleGetGlobal);
	struct sbt_cmd_global_def *g = &c->cmd.u.global_def;
	struct object *o = ids_object(&ids.modules, H(p->hmod));

	g->module = o ? o->id : SBT_NO_ID;
	if (p->name)
		g->global_name = (struct sbt_blob){p->name, strnlen(p->name, 32768)};
	if (c->cmd.result || !p->dptr || !p->bytes)
		return;
	g->addr = H(*p->dptr);
	g->size = *p->bytes;
}

struct wanted {
	uint64_t addr; /* as in the file */
	struct sbt_cmd_global_def *def;
};

static bool name_it(void *arg, const struct amd_variable *v)
{
	const struct wanted *w = arg;

	if (v->addr != w->addr)
		return true;
	w->def->global_name = (struct sbt_blob){v->name.p, v->name.n};
	return false;
}

struct object *hip_introduce_code(struct call *c, uint64_t addr, struct hip_code *ret)
{
	return hip_code_around(addr, ret)
		       ? kernel_module(c->t, c->ctx, ret->loaded, ret->object, ret->size)
		       : NULL;
}

/* A variable of the host's code: HIP does not tell its name, its code object does. */
static void describe(struct call *c, struct sbt_cmd_global_def *g)
{
	struct hip_code code;
	const struct object *o = hip_introduce_code(c, g->addr, &code);

	if (!o)
		return;
	g->module = o->id;
	(void)amd_object_variables(
		code.object, code.size, name_it, &(struct wanted){g->addr - code.loaded, g});
}

void hip_symbol_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipGetSymbolAddress)) *p = HIP_ARGS(c, hipGetSymbolAddress);
	size_t size = 0;

	c->skip = c->cmd.result || !p->devPtr || !hip.hipGetSymbolSize ||
		  OWN(hip.hipGetSymbolSize(&size, p->symbol));
	if (c->skip)
		return;
	c->cmd.u.global_def.addr = H(*p->devPtr);
	c->cmd.u.global_def.size = size;
	describe(c, &c->cmd.u.global_def);
}
