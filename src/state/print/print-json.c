/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as JSON: every view is an array of objects, by the columns of print-views.c; their keys
 * are for ever.
 */
#include <string.h>
#include "state/print/print-private.h"
#include "sbt/fields.h"

/* ---- lists in a row
 * -------------------------------------------------------------------------------------------------
 */

static void put_u32s(struct buf *out, const void *blob)
{
	const struct sbt_blob *b = blob;

	buf_byte(out, '[');
	for (uint64_t i = 0; i + 4 <= b->len; i += 4) {
		uint32_t v;

		memcpy(&v, (const char *)b->p + i, 4);
		buf_printf(out, "%s%u", i ? "," : "", v);
	}
	buf_byte(out, ']');
}

struct param {
	uint32_t offset, size;
};
JS_DEFINE(param_object, "param", param, JS(UINT, param, offset, size));

void state_json_params(struct buf *out, const void *params)
{
	const struct sbt_blob *b = params;

	buf_byte(out, '[');
	for (uint64_t i = 0; i + sizeof(struct param) <= b->len; i += sizeof(struct param)) {
		struct param p;

		memcpy(&p, (const char *)b->p + i, sizeof p);
		js_add(out, &param_object, &p);
	}
	buf_byte(out, ']');
}

static const char *node_type(uint64_t v)
{
	const char *name = sbt_enum_name(SBT_T_ENUM_NODE, v);

	return name ? name : "?";
}

JS_DEFINE(node_object, "node", state_node, JS(UINT, state_node, node),
	{"type", JS_NAMED, JS_MEMBER(state_node, type), .named = node_type},
	JS(ID, state_node, kernel), JS_BY("dep_list", state_node, deps, put_u32s, "[number]"));

void print_json_nodes(struct buf *out, const void *nodes_of)
{
	const struct graph_row *row =
		(const void *)((const char *)nodes_of - offsetof(struct graph_row, nodes_of));
	struct state_node n;

	buf_byte(out, '[');
	for (unsigned i = 0; state_graph_node(row->nodes_of, row->g.id, i, &n); i++)
		js_add(out, &node_object, &n);
	buf_byte(out, ']');
}

struct queued {
	const char *status;
	struct sbt_cmd_ref cmd;
};
JS_DEFINE(queued_object, "queued", queued, JS(TEXT, queued, status),
	JS_BY("command", queued, cmd, sbt_json_ref, "command"));

void print_json_queue(struct buf *out, const void *queue_of)
{
	const struct stream_row *row =
		(const void *)((const char *)queue_of - offsetof(struct stream_row, queue_of));
	const struct sbt_names names = state_names(row->queue_of);
	enum state_status status;
	struct sbt_cmd c;

	buf_byte(out, '[');
	for (unsigned i = 0; state_queue(row->queue_of, row->st.id, i, &c, &status); i++)
		js_add(out, &queued_object,
			&(struct queued){state_status_name(status), {&c, &names}});
	buf_byte(out, ']');
}

/* ---- views
 * ------------------------------------------------------------------------------------------------------------
 */

struct view {
	const struct state *s; /* NULL: left out */
	enum state_view view;
	uint32_t device;
};

static void put_view(struct buf *out, const void *view)
{
	const struct view *w = view;
	const struct print_view *v = &print_views[w->view];
	union row row;

	buf_byte(out, '[');
	for (unsigned i = 0; v->get(w->s, i, &row); i++)
		if (print_is_of_device(w->s, v, &row, w->device))
			js_add(out, v->object, &row);
	buf_byte(out, ']');
}

JS_DEFINE(totals_object, "summary", state_totals,
	JS(UINT, state_totals, seq, commands, launches, copies, fills, syncs, failed, pending),
	JS(UINT, state_totals, oddities), JS(TEXT, state_totals, last_oddity),
	JS_AS("attached_at", SEQ, state_totals, attach_seq),
	JS(UINT, state_totals, found_allocations, found_bytes, unknown));

struct whole {
	const struct state_totals *totals;
	struct view view[STATE_VIEW_ALL];
};
#define VIEW(name, at, what) JS_MAYBE_BY(name, whole, view[STATE_VIEW_##at], put_view, "[" what "]")
JS_DEFINE(state_object, "state", whole,
	{"summary", JS_POINTER, true, JS_MEMBER(whole, totals), .of = &totals_object},
	VIEW("device_list", DEVICES, "device"), VIEW("context_list", CONTEXTS, "context"),
	VIEW("thread_list", THREADS, "thread"), VIEW("stream_list", STREAMS, "stream"),
	VIEW("event_list", EVENTS, "event"), VIEW("module_list", MODULES, "module"),
	VIEW("kernel_list", KERNELS, "kernel"), VIEW("graph_list", GRAPHS, "graph"),
	VIEW("allocation_list", ALLOCS, "allocation"));

void state_json(struct buf *out, const struct state *s, enum state_view view)
{
	struct state_totals t;
	struct whole all = {.totals = &t};

	if (view != STATE_VIEW_ALL) {
		put_view(out, &(struct view){s, view, ANY_DEVICE});
		return;
	}
	state_totals(s, &t);
	for (unsigned i = 0; i < STATE_VIEW_ALL; i++)
		all.view[i] = (struct view){s, (enum state_view)i, ANY_DEVICE};
	js_put(out, &state_object, &all);
}

bool state_json_device(struct buf *out, const struct state *s, uint32_t device)
{
	struct whole part = {0};

	if (!print_has_device(s, device))
		return false;
	for (unsigned i = 0; i < PRINT_DEVICE_VIEWS; i++)
		part.view[print_device_views[i]] = (struct view){s, print_device_views[i], device};
	js_put(out, &state_object, &part);
	return true;
}

bool state_json_stream(struct buf *out, const struct state *s, uint32_t stream)
{
	struct stream_row row = {.queue_of = s};

	if (!state_stream_by_id(s, stream, &row.st))
		return false;
	js_put(out, print_views[STATE_VIEW_STREAMS].object, &row);
	return true;
}
