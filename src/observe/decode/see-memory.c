/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of allocations and frees mean. Records of allocations come at the return: failed ones are sent too, with their result.
 */
#include <stdlib.h>
#include "observe/decode/observe-calls.h"

/* ---- pinned host memory ------------------------------------------------------------------------------------------- */

static bool is_host(enum sbt_mem mem)
{
	return mem == SBT_MEM_PINNED || mem == SBT_MEM_REGISTERED || mem == SBT_MEM_MANAGED;
}

static void pin(struct observe_decoder *d, uint64_t addr, uint64_t size)
{
	d->pinned = xrealloc(d->pinned, (d->npinned + 1) * sizeof *d->pinned);
	d->pinned[d->npinned++] = (struct pinned){addr, size};
}

static void unpin(struct observe_decoder *d, uint64_t addr)
{
	for (unsigned i = 0; i < d->npinned; i++) {
		if (d->pinned[i].addr == addr) {
			d->pinned[i] = d->pinned[--d->npinned];
			return;
		}
	}
}

bool seen_pinned(const struct seen *x, uint64_t addr)
{
	if (!x->d->from_start)
		return true;
	for (unsigned i = 0; i < x->d->npinned; i++) {
		if (addr - x->d->pinned[i].addr < x->d->pinned[i].size)
			return true;
	}
	return false;
}

/* ---- allocations -------------------------------------------------------------------------------------------------- */

static struct err *alloc(struct seen *x, enum sbt_mem mem, uint64_t addr, uint64_t size, uint64_t flags)
{
	struct sbt_cmd_alloc *a = &x->cmd.u.alloc;

	if (x->e->phase != OBS_RETURNS) {
		x->d->bad++;
		return NULL;
	}
	TRY(seen_ctx(x));
	a->addr = addr;
	a->size = size;
	a->mem = mem;
	a->device = x->d->ctx_device[x->thread->ctx];
	a->alloc_flags = flags;
	if (mem != SBT_MEM_ASYNC)
		a->stream = SBT_NO_ID;
	if (!x->cmd.result && addr) {
		handles_put(&x->d->memory, addr, (uint64_t)mem + 1);
		if (is_host(mem))
			pin(x->d, addr, size);
	}
	return seen_send(x, SBT_ALLOC);
}

/* cuMemAlloc(&addr, size), and the others in their order */
struct err *see_alloc(struct seen *x)
{
	return alloc(x, SBT_MEM_DEVICE, x->e->out[0], seen_arg(x, 1), 0);
}

/* cuMemAllocPitch(&addr, &pitch, width, height, element) */
struct err *see_alloc_pitch(struct seen *x)
{
	x->cmd.u.alloc.pitch = x->e->out[1];
	return alloc(x, SBT_MEM_DEVICE, x->e->out[0], x->e->out[1] * seen_arg(x, 3), 0);
}

struct err *see_alloc_managed(struct seen *x)
{
	return alloc(x, SBT_MEM_MANAGED, x->e->out[0], seen_arg(x, 1), (uint32_t)seen_arg(x, 2));
}

/* cuMemAllocHost(&addr, size) has no flags: what is in the third register is nobody's. */
struct err *see_alloc_pinned(struct seen *x)
{
	return alloc(x, SBT_MEM_PINNED, x->e->out[0], seen_arg(x, 1), 0);
}

/* cuMemHostRegister(addr, size, flags) */
struct err *see_register(struct seen *x)
{
	return alloc(x, SBT_MEM_REGISTERED, seen_arg(x, 0), seen_arg(x, 1), (uint32_t)seen_arg(x, 2));
}

/* cuMemAllocAsync(&addr, size, stream) */
struct err *see_alloc_async(struct seen *x)
{
	TRY(seen_stream(x, seen_arg(x, 2), &x->cmd.u.alloc.stream));
	seen_captured(x, x->cmd.u.alloc.stream);
	return alloc(x, SBT_MEM_ASYNC, x->e->out[0], seen_arg(x, 1), 0);
}

/* cuMemAllocFromPoolAsync(&addr, size, pool, stream) */
struct err *see_alloc_pool(struct seen *x)
{
	TRY(seen_stream(x, seen_arg(x, 3), &x->cmd.u.alloc.stream));
	seen_captured(x, x->cmd.u.alloc.stream);
	return alloc(x, SBT_MEM_ASYNC, x->e->out[0], seen_arg(x, 1), 0);
}

/* cuMemMap(addr, size, offset, handle, flags) */
struct err *see_map(struct seen *x)
{
	return alloc(x, SBT_MEM_VMM, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 4));
}

/* ---- frees -------------------------------------------------------------------------------------------------------- */

/* Memory that came before tsdb is not in the table: mem is what such a call usually frees. */
static struct err *free_it(struct seen *x, enum sbt_mem mem)
{
	struct sbt_cmd_free *f = &x->cmd.u.free;
	uint64_t was = handles_remove(&x->d->memory, seen_arg(x, 0));

	if (!seen_arg(x, 0))
		return NULL; /* freeing nothing is no command */
	TRY(seen_ctx(x));
	f->addr = seen_arg(x, 0);
	f->mem = was ? was - 1 : mem;
	if (is_host((enum sbt_mem)f->mem))
		unpin(x->d, f->addr);
	if (mem != SBT_MEM_ASYNC)
		f->stream = SBT_NO_ID;
	return seen_send(x, SBT_FREE);
}

struct err *see_free(struct seen *x)
{
	return free_it(x, SBT_MEM_DEVICE);
}

struct err *see_free_pinned(struct seen *x)
{
	return free_it(x, SBT_MEM_PINNED);
}

struct err *see_unregister(struct seen *x)
{
	return free_it(x, SBT_MEM_REGISTERED);
}

/* cuMemFreeAsync(addr, stream) */
struct err *see_free_async(struct seen *x)
{
	TRY(seen_stream(x, seen_arg(x, 1), &x->cmd.u.free.stream));
	seen_captured(x, x->cmd.u.free.stream);
	return free_it(x, SBT_MEM_ASYNC);
}

/* cuMemUnmap(addr, size) */
struct err *see_unmap(struct seen *x)
{
	return free_it(x, SBT_MEM_VMM);
}
