/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of allocations and frees mean; gpucode/memory-calls.def says what their
 * arguments mean. Records of allocations come at the return: failed ones are sent too, with their
 * result.
 */
#include <stdlib.h>
#include "observe/decode/observe-calls.h"

/* --- pinned host memory --- */

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

/* --- allocations --- */

/* x->cmd says all but where: the driver's answer, when the call's arguments do not. */
static struct err *allocated(struct seen *x)
{
	struct sbt_cmd_alloc *a = &x->cmd.u.alloc;
	const enum sbt_mem mem = (enum sbt_mem)a->mem;

	if (x->e->phase != OBS_RETURNS) {
		x->d->bad++;
		return NULL;
	}
	TRY(seen_ctx(x));
	if (!a->addr)
		a->addr = x->e->out[0];
	a->device = x->d->ctx_device[x->thread->ctx];
	if (!x->cmd.result && a->addr) {
		handles_put(&x->d->memory, a->addr, (uint64_t)mem + 1);
		if (is_host(mem))
			pin(x->d, a->addr, a->size);
	}
	return seen_send(x, SBT_ALLOC);
}

static struct err *alloc(struct seen *x, enum memory_call which)
{
	struct memory_asked a;

	seen_memory_call(x, which, NULL, &a);
	if (a.on_stream) {
		TRY(seen_stream(x, a.stream, &x->cmd.u.alloc.stream));
		seen_captured(x, x->cmd.u.alloc.stream);
	}
	return allocated(x);
}

/* cuMemAllocPitch(&addr, &pitch, width, height, element) */
struct err *see_alloc_pitch(struct seen *x)
{
	x->cmd.u.alloc = (struct sbt_cmd_alloc){.mem = SBT_MEM_DEVICE,
		.pitch = x->e->out[1],
		.size = x->e->out[1] * seen_arg(x, 3),
		.stream = SBT_NO_ID};
	return allocated(x);
}

/* --- frees --- */

/* Memory that came before tsdb is not in the table: mem is what such a call usually frees. */
static struct err *free_it(struct seen *x, enum memory_call which)
{
	struct sbt_cmd_free *f = &x->cmd.u.free;
	struct memory_asked a;

	seen_memory_call(x, which, NULL, &a);
	if (a.on_stream) {
		TRY(seen_stream(x, a.stream, &f->stream));
		seen_captured(x, f->stream);
	}
	uint64_t was = handles_remove(&x->d->memory, f->addr);
	if (!f->addr)
		return NULL; /* freeing nothing is no command */
	TRY(seen_ctx(x));
	if (was)
		f->mem = was - 1;
	if (is_host((enum sbt_mem)f->mem))
		unpin(x->d, f->addr);
	return seen_send(x, SBT_FREE);
}

/* --- the table's functions --- */

#define SEE(name, body)                                                                            \
	struct err *see_##name(struct seen *x)                                                     \
	{                                                                                          \
		return body;                                                                       \
	}
#define COPY(name, ...)
#define COPY_2D(name, ...)
#define COPY_3D(name, ...)
#define FILL(name, ...)
#define FILL_2D(name, ...)
#define ALLOC(name, ...) SEE(name, alloc(x, MEMORY_##name))
#define FREE(name, ...) SEE(name, free_it(x, MEMORY_##name))
#include "gpucode/memory-calls.def"
