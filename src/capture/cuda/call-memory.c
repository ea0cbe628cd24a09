/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: memory comes and goes. An address leaves the table when the free begins: the driver may give it to another thread
 * before we hear that the free has ended.
 */
#include <cupti.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"
#include "capture/objects/ids.h"
#include "capture/memory/ipc.h"
#include "capture/core/thread.h"

static void alloc(struct call *c, enum sbt_mem mem, uint64_t size, uint64_t flags)
{
	struct sbt_cmd_alloc *a = &c->cmd.u.alloc;
	a->mem = mem;
	a->size = size;
	a->device = call_device(c);
	a->alloc_flags = flags;
	a->stream = SBT_NO_ID;
}

static void allocated(struct call *c, uint64_t addr)
{
	if (c->cmd.result)
		return;
	c->cmd.u.alloc.addr = addr;
	if (addr && map_put(&ids.memory, addr, c->cmd.u.alloc.mem + 1))
		agent_count_lost();
}

void enter_alloc(struct call *c)
{
	const cuMemAlloc_v2_params *p = c->params;
	alloc(c, SBT_MEM_DEVICE, p->bytesize, 0);
}

void exit_alloc(struct call *c) /* cuMemAlloc_v2, cuMemAllocManaged, cuMemAlloc*Async, cuMemAllocPitch: dptr comes first */
{
	const cuMemAlloc_v2_params *p = c->params;
	allocated(c, p->dptr ? *p->dptr : 0);
}

void enter_alloc_managed(struct call *c)
{
	const cuMemAllocManaged_params *p = c->params;
	alloc(c, SBT_MEM_MANAGED, p->bytesize, p->flags);
}

void enter_alloc_pitch(struct call *c)
{
	const cuMemAllocPitch_v2_params *p = c->params;
	alloc(c, SBT_MEM_DEVICE, p->WidthInBytes * p->Height, 0);
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

void enter_alloc_host(struct call *c) /* cuMemAllocHost_v2 */
{
	const cuMemAllocHost_v2_params *p = c->params;
	alloc(c, SBT_MEM_PINNED, p->bytesize, 0);
}

void enter_host_alloc(struct call *c) /* cuMemHostAlloc */
{
	const cuMemHostAlloc_params *p = c->params;
	alloc(c, SBT_MEM_PINNED, p->bytesize, p->Flags);
}

void exit_host_alloc(struct call *c) /* both: pp comes first */
{
	const cuMemHostAlloc_params *p = c->params;
	allocated(c, p->pp ? (uint64_t)(uintptr_t)*p->pp : 0);
}

void enter_register(struct call *c)
{
	const cuMemHostRegister_v2_params *p = c->params;
	alloc(c, SBT_MEM_REGISTERED, p->bytesize, p->Flags);
}

void exit_register(struct call *c)
{
	const cuMemHostRegister_v2_params *p = c->params;
	allocated(c, (uint64_t)(uintptr_t)p->p);
}

void enter_alloc_async(struct call *c)
{
	const cuMemAllocAsync_params *p = c->params;
	alloc(c, SBT_MEM_ASYNC, p->bytesize, 0);
	c->cmd.u.alloc.stream = call_stream(c, H(p->hStream));
}

void enter_alloc_pool(struct call *c)
{
	const cuMemAllocFromPoolAsync_params *p = c->params;
	alloc(c, SBT_MEM_ASYNC, p->bytesize, 0);
	c->cmd.u.alloc.stream = call_stream(c, H(p->hStream));
}

/* Physical memory mapped at a reserved address. */
void enter_map(struct call *c)
{
	const cuMemMap_params *p = c->params;
	alloc(c, SBT_MEM_VMM, p->size, p->flags);
	c->cmd.u.alloc.addr = p->ptr;
}

void exit_map(struct call *c)
{
	const cuMemMap_params *p = c->params;
	allocated(c, p->ptr);
}

static void release(struct call *c, uint64_t addr, enum sbt_mem otherwise)
{
	struct sbt_cmd_free *f = &c->cmd.u.free;
	const uint64_t known = map_remove(&ids.memory, addr);
	if (ipc_watched())
		ipc_gone(addr);
	f->addr = addr;
	f->mem = known ? known - 1 : otherwise;
	f->stream = SBT_NO_ID;
	c->note = known;
}

/* Memory of another process. Its size is the driver's to say. */
void enter_ipc_open(struct call *c)
{
	alloc(c, SBT_MEM_IPC, 0, 0);
}

static uint64_t range_size(uint64_t addr)
{
	uint64_t size = 0;
	return OWN(cuda.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, addr)) ? 0 : size;
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
		c->skip = true; /* it is open already */
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
	c->skip = true; /* changes nothing; but what others do from now on does */
}

void exit_ipc_get(struct call *c)
{
	const cuIpcGetMemHandle_params *p = c->params;
	uint64_t start = 0;
	if (!c->cmd.result && !OWN(cuda.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p->dptr)) && start)
		(void)ipc_share(start, range_size(start), c->cmd.ctx, false);
}

/* A free that failed has freed nothing. */
void exit_free(struct call *c)
{
	if (c->cmd.result && c->note)
		(void)map_put(&ids.memory, c->cmd.u.free.addr, c->note);
}

void enter_free(struct call *c)
{
	const cuMemFree_v2_params *p = c->params;
	c->skip = !p->dptr; /* allowed, and does nothing */
	release(c, p->dptr, SBT_MEM_DEVICE);
}

void enter_free_host(struct call *c)
{
	const cuMemFreeHost_params *p = c->params;
	release(c, (uint64_t)(uintptr_t)p->p, SBT_MEM_PINNED);
}

void enter_unregister(struct call *c)
{
	const cuMemHostUnregister_params *p = c->params;
	release(c, (uint64_t)(uintptr_t)p->p, SBT_MEM_REGISTERED);
}

void enter_free_async(struct call *c)
{
	const cuMemFreeAsync_params *p = c->params;
	release(c, p->dptr, SBT_MEM_ASYNC);
	c->cmd.u.free.stream = call_stream(c, H(p->hStream));
}

void enter_unmap(struct call *c)
{
	const cuMemUnmap_params *p = c->params;
	release(c, p->ptr, SBT_MEM_VMM);
}
