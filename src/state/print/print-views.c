/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of every view; see print-private.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include "state/print/print-private.h"
#include "sbt/fields.h"

void print_text(struct buf *out, struct sbt_blob t)
{
	const uint8_t *p = t.p;

	for (uint64_t i = 0; i < t.len; i++)
		buf_byte(out, p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
}

/* --- calculated cells --- */

static void word(struct buf *out, size_t start, bool on, const char *w)
{
	if (on)
		buf_printf(out, "%s%s", out->len > start ? ", " : "", w);
}

void print_stream_kind(struct buf *out, const void *row)
{
	const struct state_stream *st = row;
	size_t start = out->len;

	word(out, start, st->is_default, "default");
	word(out, start, st->per_thread, "per-thread");
	word(out, start, !st->is_default && (st->flags & 1), "non-blocking");
	word(out, start,
		!st->is_default && !st->per_thread && !(st->flags & (1 | SBT_STREAM_UNKNOWN)),
		"blocking");
	word(out, start, st->flags & SBT_STREAM_UNKNOWN, "kind not known");
	word(out, start, st->capturing, "capturing");
	word(out, start, st->destroyed, "destroyed");
	word(out, start, st->before, "from before");
}

void print_stream_waits(struct buf *out, const void *row)
{
	const struct state_stream *st = row;

	if (st->status != STATE_WAITING)
		return;
	if (st->wait_event != SBT_NO_ID)
		buf_printf(out, "event %u (#%" PRIu64 " on stream %u)", st->wait_event,
			st->wait_seq, st->wait_stream);
	else if (st->wait_stream != SBT_NO_ID)
		buf_printf(out, "stream %u (#%" PRIu64 ")", st->wait_stream, st->wait_seq);
	else
		buf_str(out, "a value in memory");
}

static void event_state(struct buf *out, const void *row)
{
	const struct state_event *e = row;

	buf_str(out, !e->recorded  ? e->before ? "Not recorded since the attach" : "Never recorded"
		     : e->complete ? "Complete"
				   : "Pending");
	if (e->destroyed)
		buf_str(out, ", destroyed");
}

static void event_kind(struct buf *out, const void *row)
{
	const struct state_event *e = row;
	size_t start = out->len;

	word(out, start, e->flags & 1, "blocking sync");
	word(out, start, e->flags & 2, "no timing");
	word(out, start, e->flags & 4, "interprocess");
}

static void context_kind(struct buf *out, const void *row)
{
	const struct state_context *x = row;

	buf_str(out, x->primary ? "primary" : "created");
	if (x->before)
		buf_str(out, ", from before");
	if (x->destroyed)
		buf_str(out, ", destroyed");
}

static void module_kind(struct buf *out, const void *row)
{
	const struct state_module *m = row;

	buf_str(out, m->is_library ? "library" : "module");
	if (m->before)
		buf_str(out, ", from before");
	if (m->unloaded)
		buf_str(out, ", unloaded");
}

static void kernel_name(struct buf *out, const void *row)
{
	const struct state_kernel *k = row;
	const char *name = k->short_name[0] ? k->short_name : k->name;

	print_text(out, (struct sbt_blob){name, strlen(name)});
}

static void kernel_params(struct buf *out, const void *row)
{
	buf_printf(out, "%" PRIu64, ((const struct state_kernel *)row)->params.len / 8);
}

static void alloc_when(struct buf *out, const void *row)
{
	const struct state_alloc *a = row;

	if (a->before)
		buf_str(out, "before");
	else
		buf_printf(out, "#%" PRIu64, a->alloc_seq);
}

static void alloc_writer(struct buf *out, const void *row)
{
	const struct state_alloc *a = row;

	if (a->last_writer)
		buf_printf(
			out, "#%" PRIu64 "%s", a->last_writer, a->writer_certain ? "" : " perhaps");
}

static void graph_kind(struct buf *out, const void *row)
{
	const struct state_graph *g = row;

	buf_str(out, g->is_exec ? "executable" : "graph");
	if (g->before)
		buf_str(out, ", from before");
	if (g->destroyed)
		buf_str(out, ", destroyed");
}

static void device_sm(struct buf *out, const void *row)
{
	const struct state_device *d = row;

	buf_printf(out, "%" PRIu64 ".%" PRIu64, d->sm_major, d->sm_minor);
}

/* --- the table --- */

static const char *mem_name(uint64_t v)
{
	const char *name = sbt_enum_name(SBT_T_ENUM_MEM, v);

	return name ? name : "?";
}

static const char *status_name(uint64_t v)
{
	return state_status_name((enum state_status)v);
}

#define C(title, T, m, t)                                                                          \
	{                                                                                          \
		title, JS(t, state_##T, m), NULL, false, false                                     \
	}
#define NAMED(title, T, m, fn)                                                                     \
	{                                                                                          \
		title, {#m, JS_NAMED, JS_MEMBER(state_##T, m), .named = fn}, NULL, false, false    \
	}
#define OPTIONAL(title, T, m, t)                                                                   \
	{                                                                                          \
		title, JS(t, state_##T, m), NULL, false, true                                      \
	}
#define CALL(js)                                                                                   \
	{                                                                                          \
		NULL, js, NULL, false, false                                                       \
	}
#define CALC(title, fn)                                                                            \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, false, false                                         \
	}
#define CALC_RIGHT(title, fn)                                                                      \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, true, false                                          \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, {.type = JS_END}, NULL, false, false                                         \
	}
#define OBJECT(columns, what) TABLE_OBJECT(columns, what, sizeof(union row))

static const struct column streams[] = {C("Stream", stream, id, ID), C("Context", stream, ctx, ID),
	CALC("Kind", print_stream_kind), NAMED("Status", stream, status, status_name),
	C("Head", stream, head, SEQ), C("Pending", stream, pending, UINT),
	C("Submitted", stream, submitted, UINT), C("Finished", stream, finished, UINT),
	C(NULL, stream, last_submitted, SEQ), OPTIONAL("Priority", stream, priority, INT),
	{"Waiting for", {.type = JS_CALL}, print_stream_waits, false, true},
	C(NULL, stream, handle, HEX), C(NULL, stream, flags, UINT),
	C(NULL, stream, created_by_thread, UINT), C(NULL, stream, is_default, BOOL),
	C(NULL, stream, per_thread, BOOL), C(NULL, stream, destroyed, BOOL),
	C(NULL, stream, capturing, BOOL), C(NULL, stream, before, BOOL),
	C(NULL, stream, wait_event, ID), C(NULL, stream, wait_stream, ID),
	C(NULL, stream, wait_seq, SEQ),
	CALL(JS_MAYBE_BY("queue", stream_row, queue_of, print_json_queue, "[queued]")), END};
OBJECT(streams, "stream");
static const struct column events[] = {C("Event", event, id, ID), CALC("State", event_state),
	C("Record", event, record_seq, SEQ), C("Stream", event, stream, ID),
	C("Records", event, records, UINT), C("Waits", event, waits, UINT),
	CALC("Flags", event_kind), C(NULL, event, handle, HEX), C(NULL, event, flags, UINT),
	C(NULL, event, recorded, BOOL), C(NULL, event, complete, BOOL),
	C(NULL, event, destroyed, BOOL), C(NULL, event, before, BOOL), END};
OBJECT(events, "event");
static const struct column contexts[] = {C("Context", context, id, ID),
	C("Device", context, device, ID), CALC("Kind", context_kind),
	C("Default", context, default_stream, ID), C("Streams", context, streams, UINT),
	C("Allocations", context, allocations, UINT), C("Bytes", context, bytes, UINT),
	C("Handle", context, handle, HEX), C(NULL, context, primary, BOOL),
	C(NULL, context, destroyed, BOOL), C(NULL, context, before, BOOL), END};
OBJECT(contexts, "context");
static const struct column modules[] = {C("Module", module, id, ID), CALC("Kind", module_kind),
	OPTIONAL("Context", module, ctx, ID), C("Loaded", module, seq, SEQ),
	C("Kernels", module, kernels, UINT), C("Bytes", module, code_size, UINT),
	C("Code", module, code_hash, HEX), OPTIONAL("File", module, file, BLOB),
	C(NULL, module, handle, HEX), C(NULL, module, is_library, BOOL),
	C(NULL, module, unloaded, BOOL), C(NULL, module, before, BOOL), END};
OBJECT(modules, "module");
static const struct column kernels[] = {C("Kernel", kernel, id, ID), CALC("Name", kernel_name),
	C("Module", kernel, module, ID), CALC_RIGHT("Params", kernel_params),
	C("Regs", kernel, regs, UINT), OPTIONAL("Shared", kernel, static_shared, UINT),
	OPTIONAL("Local", kernel, local_mem, UINT), C("Threads", kernel, max_threads, UINT),
	C("Launches", kernel, launches, UINT), C("Last", kernel, last_launch, SEQ),
	C(NULL, kernel, name, TEXT), C(NULL, kernel, short_name, TEXT),
	CALL(JS_BY("param_list", state_kernel, params, state_json_params, "[param]")),
	C(NULL, kernel, code_hash, HEX), END};
OBJECT(kernels, "kernel");
static const struct column allocs[] = {C("Address", alloc, addr, HEX),
	C("Bytes", alloc, size, UINT), NAMED("Memory", alloc, mem, mem_name),
	OPTIONAL("Device", alloc, device, ID), OPTIONAL("Context", alloc, ctx, ID),
	OPTIONAL("Pitch", alloc, pitch, UINT), CALC_RIGHT("Allocated", alloc_when),
	C(NULL, alloc, alloc_seq, SEQ), C(NULL, alloc, before, BOOL),
	CALC("Last writer", alloc_writer), C(NULL, alloc, last_writer, SEQ),
	C(NULL, alloc, writer_certain, BOOL), C(NULL, alloc, stack, UINT), END};
OBJECT(allocs, "allocation");
static const struct column graphs[] = {C("Graph", graph, id, ID), CALC("Kind", graph_kind),
	C("Source", graph, source, ID), C("Nodes", graph, nodes, UINT),
	C("Launches", graph, launches, UINT), C("Last", graph, last_launch, SEQ),
	C(NULL, graph, handle, HEX), C(NULL, graph, is_exec, BOOL), C(NULL, graph, destroyed, BOOL),
	C(NULL, graph, before, BOOL),
	CALL(JS_BY("node_list", graph_row, nodes_of, print_json_nodes, "[node]")), END};
OBJECT(graphs, "graph");
static const struct column devices[] = {C("Device", device, device, ID),
	C("Name", device, name, BLOB), CALC("SM", device_sm), C("SMs", device, sm_count, UINT),
	C("Memory", device, total_mem, UINT), C("Launches", device, launches, UINT),
	C("Copies", device, copies, UINT), C("Copied", device, copy_bytes, UINT),
	C("Fills", device, fills, UINT), C("Filled", device, fill_bytes, UINT),
	C("Allocations", device, alloc_count, UINT), C("Bytes", device, alloc_bytes, UINT),
	C("Peak", device, alloc_peak, UINT), C(NULL, device, sm_major, UINT),
	C(NULL, device, sm_minor, UINT), C(NULL, device, driver_version, UINT),
	C(NULL, device, soft, BOOL), END};
OBJECT(devices, "device");
static const struct column threads[] = {C("Thread", thread, thread, ID),
	{"OS thread", JS_AS("tid", UINT, state_thread, os_tid), NULL, false, false},
	C("Name", thread, name, BLOB), C("Context", thread, ctx, ID),
	C("Commands", thread, commands, UINT), C("Waiting in", thread, waiting_in, SEQ), END};
OBJECT(threads, "thread");

#define GET(T)                                                                                     \
	static bool get_##T(const struct state *s, unsigned i, union row *ret)                     \
	{                                                                                          \
		return state_##T(s, i, &ret->T);                                                   \
	}
/* clang-format off */
GET(event)
GET(context) GET(module) GET(kernel) GET(alloc) GET(device) GET(thread)
	/* clang-format on */

	static bool get_stream(const struct state *s, unsigned i, union row *ret)
{
	ret->stream.queue_of = NULL;
	return state_stream(s, i, &ret->stream.st);
}

static bool get_graph(const struct state *s, unsigned i, union row *ret)
{
	ret->graph.nodes_of = s;
	return state_graph(s, i, &ret->graph.g);
}

const struct print_view print_views[STATE_VIEW_ALL] = {
	[STATE_VIEW_STREAMS] = {"streams", "Streams", streams, &streams_object, get_stream},
	[STATE_VIEW_EVENTS] = {"events", "Events", events, &events_object, get_event},
	[STATE_VIEW_CONTEXTS] = {"contexts", "Contexts", contexts, &contexts_object, get_context},
	[STATE_VIEW_MODULES] = {"modules", "Modules", modules, &modules_object, get_module},
	[STATE_VIEW_KERNELS] = {"kernels", "Kernels", kernels, &kernels_object, get_kernel},
	[STATE_VIEW_ALLOCS] = {"allocations", "Allocations", allocs, &allocs_object, get_alloc},
	[STATE_VIEW_GRAPHS] = {"graphs", "Graphs", graphs, &graphs_object, get_graph},
	[STATE_VIEW_DEVICES] = {"devices", "Devices", devices, &devices_object, get_device},
	[STATE_VIEW_THREADS] = {"threads", "Threads", threads, &threads_object, get_thread},
};

const enum state_view print_order[STATE_VIEW_ALL] = {STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS,
	STATE_VIEW_THREADS, STATE_VIEW_STREAMS, STATE_VIEW_EVENTS, STATE_VIEW_MODULES,
	STATE_VIEW_KERNELS, STATE_VIEW_GRAPHS, STATE_VIEW_ALLOCS};
const enum state_view print_device_views[PRINT_DEVICE_VIEWS] = {
	STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS, STATE_VIEW_STREAMS, STATE_VIEW_ALLOCS};

/* --- one device --- */

static uint32_t context_device(const struct state *s, uint32_t ctx)
{
	struct state_context c;

	for (unsigned i = 0; state_context(s, i, &c); i++)
		if (c.id == ctx)
			return c.device;
	return SBT_NO_ID;
}

bool print_is_of_device(
	const struct state *s, const struct print_view *v, const union row *row, uint32_t device)
{
	if (device == ANY_DEVICE)
		return true;
	if (v->columns == devices)
		return row->device.device == device;
	if (v->columns == contexts)
		return row->context.device == device;
	if (v->columns == allocs)
		return row->alloc.device == device && row->alloc.mem != SBT_MEM_PINNED &&
		       row->alloc.mem != SBT_MEM_REGISTERED;
	return v->columns != streams || context_device(s, row->stream.st.ctx) == device;
}

bool print_has_device(const struct state *s, uint32_t device)
{
	struct state_device d;

	for (unsigned i = 0; state_device(s, i, &d); i++)
		if (d.device == device)
			return true;
	return false;
}
