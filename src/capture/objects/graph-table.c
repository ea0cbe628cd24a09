/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent remembers of graphs; see graph-table.h. Memory of a table comes from mmap and goes
 * back when the executable graph is destroyed.
 */
#include "capture/objects/graph-table.h"

#include <string.h>
#include "capture/core/driver.h"
#include "capture/objects/graph-publish.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "capture/core/thread.h"
#include "sbt/cmd-pack.h"

#define ARENA_BYTES (64u << 10)

/* --- where nodes come from --- */

static struct map origins; /* node -> struct graph_origin * */

const struct graph_origin *graph_origin(uint64_t node)
{
	return (const struct graph_origin *)(uintptr_t)map_get(&origins, node);
}

void graph_note_origin(uint64_t node, const struct sbt_cmd *c)
{
	struct graph_origin *o = (struct graph_origin *)(uintptr_t)map_get(&origins, node);
	if (!o)
		o = ids_keep(sizeof(*o));
	if (!o)
		return;
	*o = (struct graph_origin){c->seq, c->stack};
	(void)map_put(&origins, node, (uint64_t)(uintptr_t)o);
}

void graph_forget_origin(uint64_t node)
{
	(void)map_remove(&origins, node);
}

/* An event wait makes no node; it connects some. */
void graph_note_captured(const struct call *c)
{
	uint64_t node;
	if (!driver->stream_captured(c->stream, &node))
		return;
	if ((c->cmd.kind == SBT_EVENT_RECORD || c->cmd.kind == SBT_STREAM_WAIT) &&
		graph_origin(node))
		return;
	graph_note_origin(node, &c->cmd);
	if (driver->graphs->captured)
		driver->graphs->captured(c, node);
}

/* --- memory of a table --- */

/* All of it is freed at once. */
struct graph_arena {
	struct graph_arena *next;
	size_t bytes, used; /* of the mapping, this included */
};

static void *take(struct graph_table *t, size_t bytes)
{
	struct graph_arena *a = t->arena;
	bytes = (bytes + 15) & ~(size_t)15;
	if (!a || a->bytes - a->used < bytes) {
		const size_t room = bytes + 64 > ARENA_BYTES ? bytes + 64 : ARENA_BYTES;
		a = agent_map(room);
		if (!a)
			return NULL;
		*a = (struct graph_arena){t->arena, room, (sizeof(*a) + 15) & ~(size_t)15};
		t->arena = a;
	}
	void *p = (char *)a + a->used;
	a->used += bytes;
	return p;
}

/* The table is in its own last arena. */
static void give_back(struct graph_table *t)
{
	struct graph_arena *a = t ? t->arena : NULL;
	while (a) {
		struct graph_arena *next = a->next;
		agent_unmap(a, a->bytes);
		a = next;
	}
}

static struct graph_table *new_table(void)
{
	struct graph_table first = {0};
	struct graph_table *t = take(&first, sizeof(*t));
	if (!t)
		return NULL;
	*t = first;
	return t;
}

/* --- tables --- */

static struct map tables; /* id of an executable graph + 1 -> struct graph_table * */

struct graph_table *graph_table(uint32_t exec)
{
	return (struct graph_table *)(uintptr_t)map_get(&tables, (uint64_t)exec + 1);
}

static bool is_host_copy(const uint8_t *payload, size_t size, struct sbt_cmd_copy *ret)
{
	struct sbt_cmd c;
	if (!size || !sbt_unpack(&c, payload, size) || c.kind != SBT_COPY)
		return false;
	*ret = c.u.copy;
	return c.u.copy.dir != SBT_COPY_D2D && c.u.copy.dir != SBT_COPY_PEER;
}

bool graph_table_set(
	struct graph_table *t, struct graph_entry *e, const uint8_t *payload, size_t size)
{
	struct sbt_cmd_copy k;
	if (size > e->room) {
		uint8_t *p = take(t, size);
		if (!p)
			return false;
		e->payload = p;
		e->room = (uint32_t)((size + 15) & ~(size_t)15);
	}
	t->ncopies -= is_host_copy(e->payload, e->size, &k);
	if (size && payload != e->payload)
		memcpy(e->payload, payload, size);
	e->size = (uint32_t)size;
	t->ncopies += is_host_copy(e->payload, e->size, &k);
	return true;
}

static bool grow(struct graph_table *t)
{
	const uint32_t cap = t->cap ? 2 * t->cap : 64;
	struct graph_entry *e = take(t, cap * sizeof(*e));
	if (!e)
		return false;
	if (t->n)
		memcpy(e, t->entry, t->n * sizeof(*e));
	t->entry = e;
	t->cap = cap;
	return true;
}

void graph_table_add(struct thread *th, const struct graph_entry *e, bool own,
	const uint8_t *payload, size_t size)
{
	struct graph_table *t = th->graph_pending;
	if (!t)
		t = th->graph_pending = new_table();
	if (!t || (t->n == t->cap && !grow(t)))
		return;
	struct graph_entry *to = &t->entry[t->n];
	*to = *e;
	to->payload = NULL;
	to->size = to->room = 0;
	to->deps = take(t, e->ndeps * sizeof(*e->deps) + 4);
	if (!to->deps || !graph_table_set(t, to, payload, size))
		return;
	if (e->ndeps)
		memcpy(to->deps, e->deps, e->ndeps * sizeof(*e->deps));
	if (own)
		to->graph = SBT_NO_ID; /* the executable graph's id, which is not known yet */
	t->n++;
	t->nown += own;
	t->nhost += e->type == SBT_NODE_HOST;
	t->opaque |= e->type == SBT_NODE_OTHER;
}

void graph_table_memory(struct thread *th, uint64_t addr, uint64_t size)
{
	struct graph_table *t = th->graph_pending;
	struct graph_memory *m = t ? take(t, sizeof(*m)) : NULL;
	if (!m)
		return;
	*m = (struct graph_memory){addr, size, t->memory};
	t->memory = m;
}

static void own_graph_is(struct graph_table *t, uint32_t exec)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->entry[i].graph == SBT_NO_ID)
			t->entry[i].graph = exec;
}

void graph_keep_pending(struct thread *th, uint32_t exec)
{
	struct graph_table *t = th->graph_pending;
	th->graph_pending = NULL;
	if (!t)
		return;
	own_graph_is(t, exec);
	if (map_put(&tables, (uint64_t)exec + 1, (uint64_t)(uintptr_t)t)) {
		agent_count_lost();
		give_back(t);
	}
}

void graph_drop_pending(struct thread *th)
{
	give_back(th->graph_pending);
	th->graph_pending = NULL;
}

void graph_end(struct thread *t, uint32_t id)
{
	struct sbt_cmd cmd = {.kind = SBT_GRAPH_DESTROY};
	cmd.u.graph_destroy.dead_graph = id;
	if (id != SBT_NO_ID)
		record_now(t, &cmd, SBT_F_SYNTHETIC);
}

static void end_children(struct thread *th, const struct graph_table *t, uint32_t exec)
{
	uint32_t last = exec;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->entry[i].graph == exec || t->entry[i].graph == last)
			continue;
		last = t->entry[i].graph;
		graph_end(th, last);
	}
}

void graph_drop_table(struct thread *th, uint32_t exec)
{
	struct graph_table *t = exec == SBT_NO_ID ? NULL
						  : (struct graph_table *)(uintptr_t)map_remove(
							    &tables, (uint64_t)exec + 1);
	if (t)
		end_children(th, t, exec);
	give_back(t);
}

void graph_replace_table(struct thread *th, uint32_t exec)
{
	struct graph_table *old = graph_table(exec), *t = th->graph_pending;
	for (uint32_t i = 0; old && t && old->n == t->n && i < t->n; i++)
		t->entry[i].handle = old->entry[i].handle;
	graph_keep_pending(th, exec);
	if (old && t)
		end_children(th, old, exec);
	if (t)
		give_back(old);
}

struct graph_entry *graph_table_find(struct graph_table *t, uint64_t node)
{
	for (uint32_t k = 0; k < t->n; k++) {
		const uint32_t i = t->hint + k < t->n ? t->hint + k : t->hint + k - t->n;
		if (t->entry[i].handle != node)
			continue;
		t->hint = i + 1 < t->n ? i + 1 : 0;
		return &t->entry[i];
	}
	return NULL;
}

bool graph_host_copy(uint32_t exec, uint32_t *i, struct sbt_cmd_copy *ret)
{
	const struct graph_table *t = graph_table(exec);
	if (!t || !t->ncopies)
		return false;
	for (; *i < t->n; ++*i)
		if (!t->entry[*i].disabled &&
			is_host_copy(t->entry[*i].payload, t->entry[*i].size, ret)) {
			++*i;
			return true;
		}
	return false;
}

bool graph_calls_host(uint32_t exec)
{
	const struct graph_table *t = graph_table(exec);
	return t && (t->nhost || t->opaque);
}
