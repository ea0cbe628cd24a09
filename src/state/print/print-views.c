/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of every view; see print-private.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include "state/print/print-private.h"

uint64_t print_number(const void *row, const struct column *c)
{
	const char *p = (const char *)row + c->off;

	switch (c->size) {
	case 1:
		return *(const uint8_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

struct sbt_blob print_text_of(const void *row, const struct column *c)
{
	const char *s;

	if (c->cell == CELL_BLOB)
		return *(const struct sbt_blob *)(const void *)((const char *)row + c->off);
	s = *(const char *const *)(const void *)((const char *)row + c->off);
	return (struct sbt_blob){s, s ? strlen(s) : 0};
}

void print_text(struct buf *out, struct sbt_blob t)
{
	const uint8_t *p = t.p;

	for (uint64_t i = 0; i < t.len; i++)
		buf_byte(out, p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
}

/* ---- calculated cells --------------------------------------------------------------------------------------------- */

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
	word(out, start, !st->is_default && !st->per_thread && !(st->flags & (1 | SBT_STREAM_UNKNOWN)), "blocking");
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
		buf_printf(out, "event %u (#%" PRIu64 " on stream %u)", st->wait_event, st->wait_seq, st->wait_stream);
	else if (st->wait_stream != SBT_NO_ID)
		buf_printf(out, "stream %u (#%" PRIu64 ")", st->wait_stream, st->wait_seq);
	else
		buf_str(out, "a value in memory");
}

static void event_state(struct buf *out, const void *row)
{
	const struct state_event *e = row;

	buf_str(out, !e->recorded ? e->before ? "Not recorded since the attach" : "Never recorded" : e->complete ? "Complete" : "Pending");
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
		buf_printf(out, "#%" PRIu64 "%s", a->last_writer, a->writer_certain ? "" : " perhaps");
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

/* ---- the table ---------------------------------------------------------------------------------------------------- */

#define C(title, T, m, cell) {title, #m, cell, offsetof(struct state_##T, m), sizeof(((struct state_##T *)0)->m), NULL, false}
#define OPTIONAL(title, T, m, cell) {title, #m, cell, offsetof(struct state_##T, m), sizeof(((struct state_##T *)0)->m), NULL, true}
#define CALC(title, fn) {title, NULL, CELL_CALC, 0, 0, fn, false}
#define CALC_RIGHT(title, fn) {title, NULL, CELL_CALC, 0, 1, fn, false} /* aligned like a number */
#define END {NULL, NULL, CELL_NUM, 0, 0, NULL, false}

static const struct column streams[] = {
	C("Stream", stream, id, CELL_ID), C("Context", stream, ctx, CELL_ID), CALC("Kind", print_stream_kind),
	C("Status", stream, status, CELL_STATUS), C("Head", stream, head, CELL_SEQ), C("Pending", stream, pending, CELL_NUM),
	C("Submitted", stream, submitted, CELL_NUM), C("Finished", stream, finished, CELL_NUM),
	C(NULL, stream, last_submitted, CELL_SEQ), OPTIONAL("Priority", stream, priority, CELL_INT),
	{"Waiting for", NULL, CELL_CALC, 0, 0, print_stream_waits, true}, C(NULL, stream, handle, CELL_HEX), C(NULL, stream, flags, CELL_NUM),
	C(NULL, stream, created_by_thread, CELL_NUM), C(NULL, stream, is_default, CELL_BOOL),
	C(NULL, stream, per_thread, CELL_BOOL), C(NULL, stream, destroyed, CELL_BOOL),
	C(NULL, stream, capturing, CELL_BOOL), C(NULL, stream, before, CELL_BOOL), C(NULL, stream, wait_event, CELL_ID), C(NULL, stream, wait_stream, CELL_ID),
	C(NULL, stream, wait_seq, CELL_SEQ), END};
static const struct column events[] = {
	C("Event", event, id, CELL_ID), CALC("State", event_state), C("Record", event, record_seq, CELL_SEQ),
	C("Stream", event, stream, CELL_ID), C("Records", event, records, CELL_NUM), C("Waits", event, waits, CELL_NUM),
	CALC("Flags", event_kind), C(NULL, event, handle, CELL_HEX), C(NULL, event, flags, CELL_NUM),
	C(NULL, event, recorded, CELL_BOOL), C(NULL, event, complete, CELL_BOOL), C(NULL, event, destroyed, CELL_BOOL), C(NULL, event, before, CELL_BOOL), END};
static const struct column contexts[] = {
	C("Context", context, id, CELL_ID), C("Device", context, device, CELL_ID), CALC("Kind", context_kind),
	C("Default", context, default_stream, CELL_ID), C("Streams", context, streams, CELL_NUM),
	C("Allocations", context, allocations, CELL_NUM), C("Bytes", context, bytes, CELL_NUM),
	C("Handle", context, handle, CELL_HEX), C(NULL, context, primary, CELL_BOOL),
	C(NULL, context, destroyed, CELL_BOOL), C(NULL, context, before, CELL_BOOL), END};
static const struct column modules[] = {
	C("Module", module, id, CELL_ID), CALC("Kind", module_kind), OPTIONAL("Context", module, ctx, CELL_ID),
	C("Loaded", module, seq, CELL_SEQ), C("Kernels", module, kernels, CELL_NUM), C("Bytes", module, code_size, CELL_NUM),
	C("Code", module, code_hash, CELL_HEX), OPTIONAL("File", module, file, CELL_BLOB), C(NULL, module, handle, CELL_HEX),
	C(NULL, module, is_library, CELL_BOOL), C(NULL, module, unloaded, CELL_BOOL), C(NULL, module, before, CELL_BOOL), END};
static const struct column kernels[] = {
	C("Kernel", kernel, id, CELL_ID), CALC("Name", kernel_name), C("Module", kernel, module, CELL_ID),
	CALC_RIGHT("Params", kernel_params), C("Regs", kernel, regs, CELL_NUM),
	OPTIONAL("Shared", kernel, static_shared, CELL_NUM), OPTIONAL("Local", kernel, local_mem, CELL_NUM),
	C("Threads", kernel, max_threads, CELL_NUM), C("Launches", kernel, launches, CELL_NUM),
	C("Last", kernel, last_launch, CELL_SEQ), C(NULL, kernel, name, CELL_STR), C(NULL, kernel, short_name, CELL_STR),
	C(NULL, kernel, params, CELL_PARAMS), C(NULL, kernel, code_hash, CELL_HEX), END};
static const struct column allocs[] = {
	C("Address", alloc, addr, CELL_ADDR), C("Bytes", alloc, size, CELL_NUM), C("Memory", alloc, mem, CELL_MEM),
	OPTIONAL("Device", alloc, device, CELL_ID), OPTIONAL("Context", alloc, ctx, CELL_ID), OPTIONAL("Pitch", alloc, pitch, CELL_NUM),
	CALC_RIGHT("Allocated", alloc_when), C(NULL, alloc, alloc_seq, CELL_SEQ), C(NULL, alloc, before, CELL_BOOL), CALC("Last writer", alloc_writer),
	C(NULL, alloc, last_writer, CELL_SEQ), C(NULL, alloc, writer_certain, CELL_BOOL), C(NULL, alloc, stack, CELL_NUM), END};
static const struct column graphs[] = {
	C("Graph", graph, id, CELL_ID), CALC("Kind", graph_kind), C("Source", graph, source, CELL_ID),
	C("Nodes", graph, nodes, CELL_NUM), C("Launches", graph, launches, CELL_NUM),
	C("Last", graph, last_launch, CELL_SEQ), C(NULL, graph, handle, CELL_HEX), C(NULL, graph, is_exec, CELL_BOOL),
	C(NULL, graph, destroyed, CELL_BOOL), C(NULL, graph, before, CELL_BOOL), END};
static const struct column devices[] = {
	C("Device", device, device, CELL_ID), C("Name", device, name, CELL_BLOB), CALC("SM", device_sm),
	C("SMs", device, sm_count, CELL_NUM), C("Memory", device, total_mem, CELL_NUM),
	C("Launches", device, launches, CELL_NUM), C("Copies", device, copies, CELL_NUM),
	C("Copied", device, copy_bytes, CELL_NUM), C("Fills", device, fills, CELL_NUM),
	C("Filled", device, fill_bytes, CELL_NUM), C("Allocations", device, alloc_count, CELL_NUM),
	C("Bytes", device, alloc_bytes, CELL_NUM), C("Peak", device, alloc_peak, CELL_NUM),
	C(NULL, device, sm_major, CELL_NUM), C(NULL, device, sm_minor, CELL_NUM),
	C(NULL, device, driver_version, CELL_NUM), C(NULL, device, soft, CELL_BOOL), END};
static const struct column threads[] = {
	C("Thread", thread, thread, CELL_ID), C("OS thread", thread, os_tid, CELL_NUM), C("Name", thread, name, CELL_BLOB),
	C("Context", thread, ctx, CELL_ID), C("Commands", thread, commands, CELL_NUM),
	C("Waiting in", thread, waiting_in, CELL_SEQ), END};

#define GET(T)                                                                                                        \
	static bool get_##T(const struct state *s, unsigned i, union row *ret)                                        \
	{                                                                                                             \
		return state_##T(s, i, &ret->T);                                                                      \
	}
GET(stream) GET(event) GET(context) GET(module) GET(kernel) GET(alloc) GET(graph) GET(device) GET(thread)

const struct print_view print_views[STATE_VIEW_ALL] = {
	[STATE_VIEW_STREAMS] = {"streams", "Streams", streams, get_stream},
	[STATE_VIEW_EVENTS] = {"events", "Events", events, get_event},
	[STATE_VIEW_CONTEXTS] = {"contexts", "Contexts", contexts, get_context},
	[STATE_VIEW_MODULES] = {"modules", "Modules", modules, get_module},
	[STATE_VIEW_KERNELS] = {"kernels", "Kernels", kernels, get_kernel},
	[STATE_VIEW_ALLOCS] = {"allocations", "Allocations", allocs, get_alloc},
	[STATE_VIEW_GRAPHS] = {"graphs", "Graphs", graphs, get_graph},
	[STATE_VIEW_DEVICES] = {"devices", "Devices", devices, get_device},
	[STATE_VIEW_THREADS] = {"threads", "Threads", threads, get_thread},
};

const enum state_view print_order[STATE_VIEW_ALL] = {STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS, STATE_VIEW_THREADS, STATE_VIEW_STREAMS,
	STATE_VIEW_EVENTS, STATE_VIEW_MODULES, STATE_VIEW_KERNELS, STATE_VIEW_GRAPHS, STATE_VIEW_ALLOCS};
const enum state_view print_device_views[PRINT_DEVICE_VIEWS] = {STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS, STATE_VIEW_STREAMS, STATE_VIEW_ALLOCS};

/* ---- one device --------------------------------------------------------------------------------------------------- */

static uint32_t context_device(const struct state *s, uint32_t ctx)
{
	struct state_context c;

	for (unsigned i = 0; state_context(s, i, &c); i++)
		if (c.id == ctx)
			return c.device;
	return SBT_NO_ID;
}

bool print_is_of_device(const struct state *s, const struct print_view *v, const union row *row, uint32_t device)
{
	if (device == ANY_DEVICE)
		return true;
	if (v->columns == devices)
		return row->device.device == device;
	if (v->columns == contexts)
		return row->context.device == device;
	if (v->columns == allocs)
		return row->alloc.device == device && row->alloc.mem != SBT_MEM_PINNED && row->alloc.mem != SBT_MEM_REGISTERED;
	return v->columns != streams || context_device(s, row->stream.ctx) == device;
}

bool print_has_device(const struct state *s, uint32_t device)
{
	struct state_device d;

	for (unsigned i = 0; state_device(s, i, &d); i++)
		if (d.device == device)
			return true;
	return false;
}
