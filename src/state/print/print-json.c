/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as JSON: every view is an array of objects, by the columns of print-views.c; their keys are for ever.
 */
#include <inttypes.h>
#include <string.h>
#include "state/print/print-private.h"

static void put_params_json(struct buf *out, struct sbt_blob b)
{
	uint32_t pair[2];

	buf_byte(out, '[');
	for (uint64_t i = 0; i + sizeof pair <= b.len; i += sizeof pair) {
		memcpy(pair, (const char *)b.p + i, sizeof pair);
		buf_printf(out, "%s{\"offset\":%u,\"size\":%u}", i ? "," : "", pair[0], pair[1]);
	}
	buf_byte(out, ']');
}

static void put_cell_json(struct buf *out, const void *row, const struct column *c)
{
	uint64_t v = c->cell == CELL_STR || c->cell == CELL_BLOB || c->cell == CELL_PARAMS ? 0 : print_number(row, c);
	const char *name;
	struct sbt_blob t;

	switch (c->cell) {
	case CELL_CALC:
		BUG("a calculated column in JSON");
	case CELL_STR:
	case CELL_BLOB:
		t = print_text_of(row, c);
		sbt_json_string(out, t.p ? t.p : "", t.len);
		break;
	case CELL_PARAMS:
		put_params_json(out, *(const struct sbt_blob *)(const void *)((const char *)row + c->off));
		break;
	case CELL_ID:
	case CELL_SEQ:
		if (v == (c->cell == CELL_ID ? SBT_NO_ID : 0))
			buf_str(out, "null");
		else
			buf_printf(out, "%" PRIu64, v);
		break;
	case CELL_INT:
		buf_printf(out, "%" PRId64, (int64_t)v);
		break;
	case CELL_HEX:
	case CELL_ADDR:
		buf_printf(out, "\"0x%" PRIx64 "\"", v);
		break;
	case CELL_BOOL:
		buf_str(out, v ? "true" : "false");
		break;
	case CELL_STATUS:
		buf_printf(out, "\"%s\"", state_status_name((enum state_status)v));
		break;
	case CELL_MEM:
		name = sbt_enum_name(SBT_T_ENUM_MEM, v);
		buf_printf(out, "\"%s\"", name ? name : "?");
		break;
	case CELL_NUM:
		buf_printf(out, "%" PRIu64, v);
	}
}

/* The members of one object, without braces. */
static void json_row(struct buf *out, const struct column *c, const void *row)
{
	bool first = true;

	for (; c->title || c->key; c++) {
		if (!c->key)
			continue;
		buf_printf(out, "%s\"%s\":", first ? "" : ",", c->key);
		put_cell_json(out, row, c);
		first = false;
	}
}

static void json_nodes(struct buf *out, const struct state *s, uint32_t graph)
{
	struct state_node n;
	const char *type;

	buf_str(out, ",\"node_list\":[");
	for (unsigned i = 0; state_graph_node(s, graph, i, &n); i++) {
		type = sbt_enum_name(SBT_T_ENUM_NODE, n.type);
		buf_printf(out, "%s{\"node\":%u,\"type\":\"%s\",\"kernel\":", i ? "," : "", n.node, type ? type : "?");
		if (n.kernel == SBT_NO_ID)
			buf_str(out, "null");
		else
			buf_printf(out, "%u", n.kernel);
		buf_str(out, ",\"deps\":[");
		for (uint64_t j = 0; j + 4 <= n.deps.len; j += 4) {
			uint32_t dep;

			memcpy(&dep, (const char *)n.deps.p + j, 4);
			buf_printf(out, "%s%u", j ? "," : "", dep);
		}
		buf_str(out, "]}");
	}
	buf_byte(out, ']');
}

static void json_view(struct buf *out, const struct state *s, const struct print_view *v, uint32_t device)
{
	const char *sep = "{";
	union row row;

	buf_byte(out, '[');
	for (unsigned i = 0; v->get(s, i, &row); i++) {
		if (!print_is_of_device(s, v, &row, device))
			continue;
		buf_str(out, sep);
		sep = ",{";
		json_row(out, v->columns, &row);
		if (v == &print_views[STATE_VIEW_GRAPHS])
			json_nodes(out, s, row.graph.id);
		buf_byte(out, '}');
	}
	buf_byte(out, ']');
}

static void json_totals(struct buf *out, const struct state *s)
{
	struct state_totals t;

	state_totals(s, &t);
	buf_printf(out, "{\"seq\":%" PRIu64 ",\"commands\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"copies\":%" PRIu64
		",\"fills\":%" PRIu64 ",\"syncs\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"pending\":%" PRIu64
		",\"oddities\":%" PRIu64 ",\"last_oddity\":", t.seq, t.commands, t.launches, t.copies, t.fills, t.syncs,
		t.failed, t.pending, t.oddities);
	if (t.last_oddity)
		sbt_json_string(out, t.last_oddity, strlen(t.last_oddity));
	else
		buf_str(out, "null");
	if (t.attach_seq)
		buf_printf(out, ",\"attached_at\":%" PRIu64 ",\"found_allocations\":%" PRIu64 ",\"found_bytes\":%" PRIu64 ",\"unknown\":%" PRIu64,
			t.attach_seq, t.found_allocations, t.found_bytes, t.unknown);
	buf_byte(out, '}');
}

void state_json(struct buf *out, const struct state *s, enum state_view view)
{
	if (view != STATE_VIEW_ALL) {
		json_view(out, s, &print_views[view], ANY_DEVICE);
		return;
	}
	buf_str(out, "{\"totals\":");
	json_totals(out, s);
	for (unsigned i = 0; i < STATE_VIEW_ALL; i++) {
		buf_printf(out, ",\"%s\":", print_views[print_order[i]].name);
		json_view(out, s, &print_views[print_order[i]], ANY_DEVICE);
	}
	buf_byte(out, '}');
}

bool state_json_device(struct buf *out, const struct state *s, uint32_t device)
{
	if (!print_has_device(s, device))
		return false;
	for (unsigned i = 0; i < PRINT_DEVICE_VIEWS; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "{", print_views[print_device_views[i]].name);
		json_view(out, s, &print_views[print_device_views[i]], device);
	}
	buf_byte(out, '}');
	return true;
}

bool state_json_stream(struct buf *out, const struct state *s, uint32_t stream)
{
	struct sbt_names names = state_names(s);
	enum state_status status;
	struct state_stream st;
	struct sbt_cmd c;

	if (!state_stream_by_id(s, stream, &st))
		return false;
	buf_byte(out, '{');
	json_row(out, print_views[STATE_VIEW_STREAMS].columns, &st);
	buf_str(out, ",\"queue\":[");
	for (unsigned i = 0; state_queue(s, stream, i, &c, &status); i++) {
		buf_printf(out, "%s{\"status\":\"%s\",\"command\":", i ? "," : "", state_status_name(status));
		sbt_json_cmd(out, &c, &names);
		buf_byte(out, '}');
	}
	buf_str(out, "]}");
	return true;
}
