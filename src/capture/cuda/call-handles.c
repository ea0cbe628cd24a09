/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: calls whose parameters name streams, events, kernels and graphs.
 * gpucode/object-calls.def says which parameter is which; handlers that do more lie with their
 * subject.
 */
#include <cupti.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/core/thread.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"

static uint64_t kernel_id(struct call *c, uint64_t handle)
{
	const struct kernel *k = kernel_get(c->t, c->ctx, handle);

	return k ? k->id : SBT_NO_ID;
}

static uint64_t object_id(struct call *c, const struct object_asked *o)
{
	switch (o->kind) {
	case OBJECT_STREAM:
		return call_stream(c, o->handle);
	case OBJECT_EVENT:
		return ids_event(c->t, o->handle);
	case OBJECT_KERNEL:
		return kernel_id(c, o->handle);
	case OBJECT_EXEC:
		return ids_number(&ids.graphs, o->handle);
	}
	return SBT_NO_ID;
}

void call_objects(struct call *c, enum object_call which)
{
	uint64_t args[OBJECT_CALL_ARGS];
	struct object_asked asked[OBJECT_CALL_ASKED];

	object_call_args(which, c->params, args);
	const unsigned n = object_call(which, args, &c->cmd, asked);
	for (unsigned i = 0; i < n; i++)
		*asked[i].id = object_id(c, &asked[i]);
}

#define HANDLER(name, bits)                                                                        \
	void enter_##name(struct call *c)                                                          \
	{                                                                                          \
		c->cmd.flags |= bits;                                                              \
		call_objects(c, OBJECT_CALL_##name);                                               \
	}
HANDLER(host_func, 0)
HANDLER(write32, 0)
HANDLER(write64, 0)
HANDLER(wait32, 0)
HANDLER(wait64, 0)
HANDLER(func_attr, 0)
HANDLER(kernel_attr, 0)
HANDLER(ctx_limit, 0)
HANDLER(stream_create, 0)
HANDLER(stream_create_priority, 0)
HANDLER(event_create, 0)
HANDLER(event_record, 0)
HANDLER(event_record_flags, 0)
HANDLER(stream_wait, 0)
HANDLER(ctx_sync, 0)
HANDLER(stream_sync, 0)
HANDLER(event_sync, 0)
HANDLER(stream_query, 0)
HANDLER(event_query, 0)
HANDLER(begin_capture_v1, SBT_F_GRAPH)
HANDLER(begin_capture, SBT_F_GRAPH)
HANDLER(begin_capture_to, SBT_F_GRAPH)
HANDLER(end_capture, SBT_F_GRAPH)
