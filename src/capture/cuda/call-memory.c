/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: memory comes and goes. gpucode/memory-calls.def says what the calls' arguments mean. An
 * address leaves the table when the free begins: the driver may give it to another thread before we
 * hear that the free has ended.
 */
#include <cupti.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"
#include "capture/objects/ids.h"
#include "capture/memory/ipc.h"
#include "capture/core/thread.h"

static void asked(struct call *c, enum memory_call which, struct memory_asked *ret)
{
	uint64_t args[MEMORY_CALL_ARGS];
	memory_args(which, c->params, args);
	memory_call(which, args, NULL, &c->cmd, ret);
}

static void alloc(struct call *c, enum memory_call which)
{
	struct memory_asked a;
	asked(c, which, &a);
	c->cmd.u.alloc.device = call_device(c);
	if (a.on_stream)
		c->cmd.u.alloc.stream = call_stream(c, a.stream);
}

/* An allocation that memory-calls.def does not describe. */
static void alloc_other(struct call *c, enum sbt_mem mem, uint64_t size)
{
	c->cmd.u.alloc = (struct sbt_cmd_alloc){
		.mem = mem, .size = size, .device = call_device(c), .stream = SBT_NO_ID};
}

static void allocated(struct call *c, uint64_t addr)
{
	if (c->cmd.result)
		return;
	c->cmd.u.alloc.addr = addr;
	if (addr && map_put(&ids.memory, addr, c->cmd.u.alloc.mem + 1))
		agent_count_lost();
}

void exit_alloc(struct call *c) /* cuMemAlloc_v2, cuMemAllocManaged, cuMemAlloc*Async,
				   cuMemAllocPitch: dptr comes first */
{
	const cuMemAlloc_v2_params *p = c->params;
	allocated(c, p->dptr ? *p->dptr : 0);
}

void enter_alloc_pitch(struct call *c)
{
	const cuMemAllocPitch_v2_params *p = c->params;
	alloc_other(c, SBT_MEM_DEVICE, p->WidthInBytes * p->Height);
}

void exit_alloc_pitch(struct call *c)
{
	const cuMemAllocPitch_v2_params *p = c->params;
	if (!c->cmd.result && p->pPitch) {
		c->cmd.u.alloc.pitch = *p->pPitch;
		c->cmd.u.alloc.size = *p->pPitch * p->Height;
	}
	exit_alloc(c);
}

void exit_host_alloc(struct call *c) /* both: pp comes first */
{
	const cuMemHostAlloc_params *p = c->params;
	allocated(c, p->pp ? (uint64_t)(uintptr_t)*p->pp : 0);
}

void exit_register(struct call *c)
{
	const cuMemHostRegister_v2_params *p = c->params;
	allocated(c, (uint64_t)(uintptr_t)p->p);
}

void exit_map(struct call *c)
{
	const cuMemMap_params *p = c->params;
	allocated(c, p->ptr);
}

static void release(struct call *c, uint64_t addr, enum sbt_mem otherwise)
{
	const uint64_t known = map_remove(&ids.memory, addr);
	if (ipc_watched())
		ipc_gone(addr);
	c->cmd.u.free = (struct sbt_cmd_free){
		.addr = addr, .mem = known ? known - 1 : otherwise, .stream = SBT_NO_ID};
	c->note = known;
}

static void free_it(struct call *c, enum memory_call which)
{
	struct memory_asked a;
	asked(c, which, &a);
	release(c, c->cmd.u.free.addr, c->cmd.u.free.mem);
	if (a.on_stream)
		c->cmd.u.free.stream = call_stream(c, a.stream);
	if (which == MEMORY_free)
		c->skip = !c->cmd.u.free.addr; /* allowed, and does nothing */
}

/* Opens memory of another process. The driver gives its size. */
void enter_ipc_open(struct call *c)
{
	alloc_other(c, SBT_MEM_IPC, 0);
}

static uint64_t range_size(uint64_t addr)
{
	uint64_t size = 0;
	return OWN(cuda.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, addr)) ? 0
											     : size;
}

void exit_ipc_open(struct call *c) /* both: pdptr comes first */
{
	const cuIpcOpenMemHandle_v2_params *p = c->params;
	if (c->cmd.result || !p->pdptr)
		return;
	c->cmd.u.alloc.size = range_size(*p->pdptr);
	if (ipc_share(*p->pdptr, c->cmd.u.alloc.size, c->cmd.ctx, true))
		allocated(c, *p->pdptr);
	else
		c->skip = true; /* it was open before */
}

void enter_ipc_close(struct call *c)
{
	const cuIpcCloseMemHandle_params *p = c->params;
	c->skip = !ipc_close(p->dptr);
	if (!c->skip)
		release(c, p->dptr, SBT_MEM_IPC);
}

void enter_ipc_get(struct call *c)
{
	c->skip = true; /* changes nothing; but later changes by other processes do */
}

void exit_ipc_get(struct call *c)
{
	const cuIpcGetMemHandle_params *p = c->params;
	uint64_t start = 0;
	if (!c->cmd.result)
		atomic_store(&agent.control->shares, 1);
	if (!c->cmd.result &&
		!OWN(cuda.cuPointerGetAttribute(
			&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p->dptr)) &&
		start)
		(void)ipc_share(start, range_size(start), c->cmd.ctx, false);
}

/* A free that failed has freed nothing. */
void exit_free(struct call *c)
{
	if (c->cmd.result && c->note)
		(void)map_put(&ids.memory, c->cmd.u.free.addr, c->note);
}

/* --- the handlers --- */

#define HANDLER(name, body)                                                                        \
	void enter_##name(struct call *c)                                                          \
	{                                                                                          \
		body;                                                                              \
	}
#define COPY(name, ...)
#define COPY_2D(name, ...)
#define COPY_3D(name, ...)
#define FILL(name, ...)
#define FILL_2D(name, ...)
#define ALLOC(name, ...) HANDLER(name, alloc(c, MEMORY_##name))
#define FREE(name, ...) HANDLER(name, free_it(c, MEMORY_##name))
#include "gpucode/memory-calls.def"
