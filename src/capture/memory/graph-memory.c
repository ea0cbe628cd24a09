/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of graphs; see graph-memory.h. Such a launch is recorded by its effect, so an allocation
 * behind it, with the contents that the launch left there, is all that replay needs. What is
 * allocated and freed by the same launch nobody else sees.
 */
#include "capture/memory/graph-memory.h"

#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/core/thread.h"
#include "capture/memory/fresh.h"
#include "capture/memory/window.h"
#include "capture/objects/graph-table.h"
#include "capture/objects/live.h"

/* How often the graph allocates the address more than it frees it; *ret_size: as it was allocated
 * last. */
static int balance(const struct graph_table *t, uint64_t addr, uint64_t *ret_size)
{
	int n = 0;
	*ret_size = 0;
	for (const struct graph_memory *m = t->memory; m; m = m->next) {
		if (m->addr != addr)
			continue;
		n += m->size ? 1 : -1;
		*ret_size = *ret_size ? *ret_size : m->size;
	}
	return n;
}

/* Whether m is the first node of the list about its address. */
static bool comes_first(const struct graph_table *t, const struct graph_memory *m)
{
	const struct graph_memory *i = t->memory;
	while (i != m && i->addr != m->addr)
		i = i->next;
	return i == m;
}

static void allocated(const struct call *launch, uint64_t addr, uint64_t size)
{
	struct call c = *launch;
	struct live l;
	if (live_at(addr, &l) && l.addr == addr && l.size == size)
		return; /* since an earlier launch */
	c.cmd = (struct sbt_cmd){.kind = SBT_ALLOC};
	c.cmd.u.alloc = (struct sbt_cmd_alloc){.addr = addr,
		.size = size,
		.mem = SBT_MEM_ASYNC,
		.device = call_device(&c),
		.stream = launch->cmd.u.graph_launch.stream};
	record_in(c.t, &c.cmd, SBT_F_SYNTHETIC, launch->cmd.ctx);
	live_alloc(&c);
	if (atomic_load(&window_open))
		fresh_written(&c);
}

static void freed(const struct call *launch, uint64_t addr)
{
	struct call c = *launch;
	c.cmd = (struct sbt_cmd){.kind = SBT_FREE};
	c.cmd.u.free = (struct sbt_cmd_free){
		.addr = addr, .mem = SBT_MEM_ASYNC, .stream = launch->cmd.u.graph_launch.stream};
	live_free(&c);
	if (c.freed_size)
		record_in(c.t, &c.cmd, SBT_F_SYNTHETIC, launch->cmd.ctx);
}

void graph_memory_launched(const struct call *c)
{
	const struct graph_table *t = c->cmd.kind == SBT_GRAPH_LAUNCH && !c->cmd.result
					      ? graph_table((uint32_t)c->cmd.u.graph_launch.exec)
					      : NULL;
	if (!t || !t->memory || c->cmd.flags & SBT_F_GRAPH)
		return;
	const unsigned mode = driver->relax();
	for (const struct graph_memory *m = t->memory; m; m = m->next) {
		uint64_t size;
		const int n = comes_first(t, m) ? balance(t, m->addr, &size) : 0;
		if (n > 0)
			allocated(c, m->addr, size);
		else if (n < 0)
			freed(c, m->addr);
	}
	driver->restrict_again(mode);
}
