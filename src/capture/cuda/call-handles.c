/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: calls whose parameters name streams, events, kernels and graphs.
 * gpucode/object-calls.def says which parameter is which, and has a row for each of these handlers;
 * those that do more lie with their subject.
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

/* enter_NAME of every call whose row says all. */
#define HANDLER(name, bits)                                                                        \
	void enter_##name(struct call *c)                                                          \
	{                                                                                          \
		c->cmd.flags |= bits;                                                              \
		call_objects(c, OBJECT_CALL_##name);                                               \
	}
#define CALL(name, ...) HANDLER(name, 0)
#define CALL_GRAPH(name, ...) HANDLER(name, SBT_F_GRAPH)
#define CALL_MORE(name, ...)
#include "gpucode/object-calls.def"
