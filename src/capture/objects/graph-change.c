/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of executable graphs; see graph-change.h.
 */
#include "capture/objects/graph-change.h"

#include <string.h>
#include "capture/core/thread.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "sbt/cmd-pack.h"

static struct graph_table *begin(struct call *c, uint64_t exec)
{
	struct sbt_cmd_graph_update *u = &c->cmd.u.graph_update;
	const uint32_t id = ids_number(&ids.graphs, exec);
	struct graph_table *t = id == SBT_NO_ID ? NULL : graph_table(id);
	u->exec = id;
	u->graph = SBT_NO_ID;
	u->node = SBT_NO_ID;
	u->call = (struct sbt_blob){c->row->name, strlen(c->row->name)};
	if (!t)
		call_unreplayable(c, c->row->name);
	return t;
}

/* --- one node --- */

void graph_change_enter(struct call *c, uint64_t exec, uint64_t node)
{
	struct graph_table *t = begin(c, exec);
	struct graph_entry *e = t ? graph_table_find(t, node) : NULL;
	if (t && !e)
		call_unreplayable(c, c->row->name);
	else if (e)
		c->cmd.u.graph_update.node = e->number;
}

bool graph_change_node(struct call *c, uint64_t node, struct graph_change *ret)
{
	static const struct call_row row = {"graph node", CALL_HANDLED, CALL_ASYNC, 0, NULL, NULL};
	if (c->cmd.result || c->cmd.kind != SBT_GRAPH_UPDATE)
		return false;
	*ret = (struct graph_change){.n = {.row = &row, .t = c->t, .ctx = c->ctx},
		.t = graph_table((uint32_t)c->cmd.u.graph_update.exec)};
	ret->e = ret->t ? graph_table_find(ret->t, node) : NULL;
	return ret->e;
}

bool graph_change_was(const struct graph_change *x, struct sbt_cmd *ret)
{
	return x->e->size && sbt_unpack(ret, x->e->payload, x->e->size);
}

void graph_change_send(struct call *c, struct graph_change *x)
{
	uint8_t *bytes = agent_map(TSDB_RECORD_MAX);
	const size_t size = bytes ? graph_pack(&x->n, bytes) : 0;
	if (x->n.kernel) {
		x->e->of = x->n.kernel;
		x->e->kernel = x->n.kernel->id;
	}
	if (!bytes || !graph_table_set(x->t, x->e, bytes, size)) {
		record_unreplayable(c->t, c->row->name);
		return;
	}
	graph_send_node(c, x->e, &x->n, bytes, size);
	agent_unmap(bytes, TSDB_RECORD_MAX);
}

/* --- a child graph, a whole graph --- */

void graph_change_child_enter(struct call *c, uint64_t exec, uint64_t node, uint64_t child)
{
	graph_change_enter(c, exec, node);
	if (c->cmd.kind == SBT_GRAPH_UPDATE)
		c->cmd.u.graph_update.graph = graph_id(c->t, child);
}

/* The table has the previous child graph's nodes: a later change of one of them cannot be matched
 * any more. */
void graph_change_child(struct call *c, uint64_t node, uint64_t child)
{
	struct graph_change x;
	struct sbt_cmd was;
	if (!graph_change_node(c, node, &x))
		return;
	const uint32_t old =
		graph_change_was(&x, &was) ? (uint32_t)was.u.graph_launch.exec : SBT_NO_ID;
	const uint32_t id = graph_snapshot(&x.n, child, 1);
	graph_drop_pending(c->t); /* the table keeps its own entries */
	for (uint32_t i = 0; i < x.t->n; i++)
		if (x.t->entry[i].graph == old)
			x.t->entry[i].graph = id;
	graph_child_payload(&x.n, id);
	graph_change_send(c, &x);
	graph_end(c->t, old);
}

void graph_change_all_enter(struct call *c, uint64_t exec, uint64_t graph)
{
	if (begin(c, exec))
		c->cmd.u.graph_update.graph = graph_id(c->t, graph);
}

void graph_change_all(struct call *c, uint64_t graph)
{
	const uint32_t exec = (uint32_t)c->cmd.u.graph_update.exec;
	if (c->cmd.result || c->cmd.kind != SBT_GRAPH_UPDATE)
		return;
	(void)graph_publish(c, graph, exec);
	graph_replace_table(c->t, exec);
}
