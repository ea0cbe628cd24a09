// SPDX-License-Identifier: Apache-2.0
//
// Handlers: memory comes and goes. An address leaves the table when the free begins: HIP may give
// it to another thread before we hear that the free has ended.
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/objects/ids.h"

static void alloc(struct call *c, enum sbt_mem mem, uint64_t size, uint64_t flags)
{
	c->cmd.u.alloc = (struct sbt_cmd_alloc){.mem = mem,
		.size = size,
		.device = call_device(c),
		.alloc_flags = flags,
		.stream = SBT_NO_ID};
}

static void allocated(struct call *c, uint64_t addr)
{
	if (c->cmd.result)
		return;
	c->cmd.u.alloc.addr = addr;
	if (addr && map_put(&ids.memory, addr, c->cmd.u.alloc.mem + 1))
		agent_count_lost();
}

/* All of them whose first argument points to where the address goes. */
void hip_alloc_exit(struct call *c)
{
	void **const to = HIP_ARGS(c, hipMalloc)->ptr;

	allocated(c, to ? H(*to) : 0);
}

#define ALLOC(handler, name, mem, size_of, flags_of)                                               \
	void handler(struct call *c)                                                               \
	{                                                                                          \
		const __typeof__(*HIP_ARGS(c, name)) *p = HIP_ARGS(c, name);                       \
		alloc(c, mem, size_of, flags_of);                                                  \
	}
ALLOC(hip_alloc, hipMalloc, SBT_MEM_DEVICE, p->size, 0)
ALLOC(hip_alloc_ext, hipExtMallocWithFlags, SBT_MEM_DEVICE, p->sizeBytes, p->flags)
ALLOC(hip_alloc_managed, hipMallocManaged, SBT_MEM_MANAGED, p->size, p->flags)
ALLOC(hip_alloc_host, hipHostMalloc, SBT_MEM_PINNED, p->size, p->flags)
ALLOC(hip_alloc_host_alloc, hipHostAlloc, SBT_MEM_PINNED, p->size, p->flags)
ALLOC(hip_alloc_malloc_host, hipMallocHost, SBT_MEM_PINNED, p->size, 0)
ALLOC(hip_alloc_mem_host, hipMemAllocHost, SBT_MEM_PINNED, p->size, 0)
ALLOC(hip_alloc_pitch, hipMallocPitch, SBT_MEM_DEVICE, p->width * p->height, 0)
ALLOC(hip_alloc_mem_pitch, hipMemAllocPitch, SBT_MEM_DEVICE, p->widthInBytes * p->height, 0)
ALLOC(hip_alloc_3d, hipMalloc3D, SBT_MEM_DEVICE,
	p->extent.width * p->extent.height * p->extent.depth, 0)
ALLOC(hip_register, hipHostRegister, SBT_MEM_REGISTERED, p->sizeBytes, p->flags)
#undef ALLOC

#define FIRST(name)                                                                                \
	_Static_assert(offsetof(hip_api_data_t, args.name) == offsetof(hip_api_data_t, args),      \
		"hip_alloc_exit() reads it as hipMalloc's")
FIRST(hipExtMallocWithFlags.ptr);
FIRST(hipMallocManaged.dev_ptr);
FIRST(hipHostMalloc.ptr);
FIRST(hipHostAlloc.ptr);
FIRST(hipMallocHost.ptr);
FIRST(hipMemAllocHost.ptr);
FIRST(hipMallocAsync.dev_ptr);
FIRST(hipMallocFromPoolAsync.dev_ptr);
#undef FIRST

void hip_alloc_async(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMallocAsync)) *p = HIP_ARGS(c, hipMallocAsync);

	alloc(c, SBT_MEM_ASYNC, p->size, 0);
	c->cmd.u.alloc.stream = call_stream(c, H(p->stream));
}

void hip_alloc_pool(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMallocFromPoolAsync)) *p =
		HIP_ARGS(c, hipMallocFromPoolAsync);

	alloc(c, SBT_MEM_ASYNC, p->size, 0);
	c->cmd.u.alloc.stream = call_stream(c, H(p->stream));
}

static void pitched(struct call *c, const size_t *pitch, uint64_t rows, uint64_t addr)
{
	if (!c->cmd.result && pitch) {
		c->cmd.u.alloc.pitch = *pitch;
		c->cmd.u.alloc.size = *pitch * rows;
	}
	allocated(c, addr);
}

void hip_alloc_pitch_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMallocPitch)) *p = HIP_ARGS(c, hipMallocPitch);

	pitched(c, p->pitch, p->height, p->ptr ? H(*p->ptr) : 0);
}

void hip_alloc_mem_pitch_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMemAllocPitch)) *p = HIP_ARGS(c, hipMemAllocPitch);

	pitched(c, p->pitch, p->height, p->dptr ? H(*p->dptr) : 0);
}

void hip_alloc_3d_exit(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipMalloc3D)) *p = HIP_ARGS(c, hipMalloc3D);
	const hipPitchedPtr *to = p->pitchedDevPtr;

	pitched(c, to ? &to->pitch : NULL, p->extent.height * p->extent.depth, to ? H(to->ptr) : 0);
}

void hip_register_exit(struct call *c)
{
	allocated(c, H(HIP_ARGS(c, hipHostRegister)->hostPtr));
}

/* --- frees --- */

static void release(struct call *c, uint64_t addr, enum sbt_mem otherwise)
{
	const uint64_t known = map_remove(&ids.memory, addr);

	c->cmd.u.free = (struct sbt_cmd_free){
		.addr = addr, .mem = known ? known - 1 : otherwise, .stream = SBT_NO_ID};
	c->note = known;
	c->skip = !addr; /* allowed, and does nothing */
}

void hip_free(struct call *c)
{
	release(c, H(HIP_ARGS(c, hipFree)->ptr), SBT_MEM_DEVICE);
}

void hip_free_host(struct call *c)
{
	release(c, H(HIP_ARGS(c, hipHostFree)->ptr), SBT_MEM_PINNED);
}

void hip_free_free_host(struct call *c)
{
	release(c, H(HIP_ARGS(c, hipFreeHost)->ptr), SBT_MEM_PINNED);
}

void hip_unregister(struct call *c)
{
	release(c, H(HIP_ARGS(c, hipHostUnregister)->hostPtr), SBT_MEM_REGISTERED);
}

void hip_free_async(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipFreeAsync)) *p = HIP_ARGS(c, hipFreeAsync);

	release(c, H(p->dev_ptr), SBT_MEM_ASYNC);
	c->cmd.u.free.stream = call_stream(c, H(p->stream));
}

/* A free that failed has freed nothing. */
void hip_free_exit(struct call *c)
{
	if (c->cmd.result && c->note)
		(void)map_put(&ids.memory, c->cmd.u.free.addr, c->note);
}
