/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its free; see freed.h. A free waits for the device's work, so waiting for it here makes
 * no difference to the program. A free in a stream, and one of memory that was mapped by hand, do
 * not wait: if there is still work, the memory is recorded as not known.
 */
#include "capture/memory/freed.h"

#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/core/thread.h"
#include "capture/memory/contexts.h"
#include "capture/host/extent.h"
#include "capture/memory/window.h"
#include "capture/objects/live.h"
#include "capture/pipeline/sender.h"

#define PATIENCE 10 /* tenths of a second */

static struct {
	struct spin lock;
	struct device_set set;
} freed;

/* What is freed, and by which command. */
struct going {
	const struct call *c;
	uint64_t addr, size;
	uint32_t mem, ctx;
	bool idle; /* the context's work has been waited for */
};

/* Whether all work on the memory has ended. */
static bool is_settled(const struct going *g)
{
	switch (g->mem) {
	case SBT_MEM_DEVICE:
	case SBT_MEM_MANAGED:
		return g->idle || driver_good(driver->context_finish());
	case SBT_MEM_ASYNC:
		if (g->c->has_stream)
			return driver_good(driver->stream_query(g->c->stream));
		return g->idle || driver_good(driver->context_finish());
	case SBT_MEM_PINNED:
	case SBT_MEM_REGISTERED:
		return g->idle || driver_good(device_idle(&freed.set, PATIENCE));
	default:
		return g->idle || driver_good(device_idle(&freed.set, 1));
	}
}

static bool hash_host(const struct going *g, struct sbt_hash *ret)
{
	struct sbt_rows rows = sbt_rows_flat(g->addr, g->size);
	uint8_t *page = thread_page(g->c->t);

	return page && extent_hash(&rows, page, ret);
}

/* Within the context: false if it is not known what the memory holds. */
static bool hash_of(const struct going *g, struct device_ctx *d, struct sbt_hash *ret)
{
	const struct live l = {.mem = g->mem};

	if (!is_settled(g))
		return false;
	if (live_is_host(&l))
		return hash_host(g, ret);
	const bool doubtful = g->mem == SBT_MEM_ARRAY ||
			      (g->mem == SBT_MEM_VMM && !device_may_read(g->addr, g->size));
	return device_hash(&freed.set, d, g->addr, g->size, doubtful, ret);
}

static void record(const struct going *g, struct device_ctx *d)
{
	struct sbt_hash hash = {{0, 0}};
	struct piece p = {.seq = g->c->cmd.seq,
		.addr = g->addr,
		.size = g->size,
		.role = BULK_FREED,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};

	p.doubt = !hash_of(g, d, &hash);
	(void)sender_hash(&p, hash);
}

/* Enters the context, with the lock. NULL: it cannot be asked. */
static struct device_ctx *enter(uint32_t ctx)
{
	struct device_ctx *d = device_collect(&freed.set) ? device_find(&freed.set, ctx) : NULL;

	if (!d)
		return NULL;
	device_load(&freed.set);
	return device_enter(d) ? d : NULL;
}

/* Other processes may write to memory that is shared with them at any time. */
static bool concerns(uint32_t mem)
{
	return mem != SBT_MEM_IPC;
}

static void one(const struct call *c)
{
	const struct sbt_cmd_free *f = &c->cmd.u.free;
	const struct going g = {
		c, f->addr, c->freed_size, (uint32_t)f->mem, c->freed_ctx, .idle = false};

	if (!c->freed_size || !c->freed_known || !concerns(g.mem))
		return;
	spin_lock(&freed.lock);
	struct device_ctx *d = enter(g.ctx);
	if (d) {
		record(&g, d);
		device_leave();
	}
	spin_unlock(&freed.lock);
}

/* --- with a context --- */

struct ending {
	const struct call *c;
	struct device_ctx *d;
};

static bool with_context(void *arg, struct live *l)
{
	const struct ending *e = arg;

	if (l->ctx == e->d->id && !atomic_load(&l->untouched) && concerns(l->mem))
		record(&(struct going){e->c, l->addr, l->size, l->mem, l->ctx, .idle = true}, e->d);
	return false;
}

static void all_of(const struct call *c)
{
	spin_lock(&freed.lock);
	struct ending e = {c, enter((uint32_t)c->cmd.u.ctx_destroy.dead_ctx)};
	if (e.d) {
		if (e.d->id == c->cmd.u.ctx_destroy.dead_ctx &&
			driver_good(driver->context_finish()))
			live_each(with_context, &e);
		device_leave();
	}
	spin_unlock(&freed.lock);
}

void freed_enter(const struct call *c)
{
	const bool is_free = c->cmd.kind == SBT_FREE;

	if ((!is_free && c->cmd.kind != SBT_CTX_DESTROY) || c->cmd.flags & SBT_F_GRAPH ||
		atomic_load(&calls_captures) || atomic_load(&calls_fault_seq))
		return;
	const unsigned mode = driver->relax();
	if (is_free)
		one(c);
	else
		all_of(c);
	driver->restrict_again(mode);
}
