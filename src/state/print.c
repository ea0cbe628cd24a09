/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as text and JSON. Every view is one row of views[]: where its rows come from, and columns that say which member
 * of the snapshot goes where. A column without a title is for JSON only, one that has a function in place of a member is for
 * text only. Names come out of a trace and may hold anything: what a terminal could act on is printed as '?'.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "state/state-private.h"

/* ---- cells -------------------------------------------------------------------------------------------------------- */

enum cell {
	CELL_NUM,    /* a plain number */
	CELL_INT,    /* signed */
	CELL_ID,     /* SBT_NO_ID is none */
	CELL_SEQ,    /* 0 is none */
	CELL_HEX,    /* a handle, a hash or flags */
	CELL_ADDR,
	CELL_BOOL,
	CELL_STR,    /* const char * */
	CELL_BLOB,   /* struct sbt_blob, text */
	CELL_PARAMS, /* struct sbt_blob, packed (offset, size) */
	CELL_STATUS, /* enum state_status */
	CELL_MEM,    /* enum sbt_mem */
	CELL_CALC,   /* column.calc writes the text */
};

struct column {
	const char *title; /* NULL: JSON only */
	const char *key;   /* NULL: text only */
	enum cell cell;
	uint16_t off, size;
	void (*calc)(struct buf *out, const void *row);
};

static uint64_t number(const void *row, const struct column *c)
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

static struct sbt_blob text_of(const void *row, const struct column *c)
{
	const char *s;

	if (c->cell == CELL_BLOB)
		return *(const struct sbt_blob *)(const void *)((const char *)row + c->off);
	s = *(const char *const *)(const void *)((const char *)row + c->off);
	return (struct sbt_blob){s, s ? strlen(s) : 0};
}

/* Printable text; every control character is a '?'. */
static void put_text(struct buf *out, struct sbt_blob t)
{
	const uint8_t *p = t.p;

	for (uint64_t i = 0; i < t.len; i++)
		buf_byte(out, p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
}

/* A table of some thousand rows is mostly numbers, and printf is several times slower. */
static void put_number(struct buf *out, uint64_t v, unsigned base)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		buf_byte(out, (uint8_t)digits[--n]);
}

static void put_blanks(struct buf *out, size_t n)
{
	if (n)
		memset(buf_room(out, n), ' ', n);
	out->len += n;
}

static void put_cell(struct buf *out, const void *row, const struct column *c)
{
	uint64_t v = c->cell == CELL_CALC || c->cell == CELL_STR || c->cell == CELL_BLOB ? 0 : number(row, c);
	const char *name;

	switch (c->cell) {
	case CELL_CALC:
		c->calc(out, row);
		break;
	case CELL_STR:
	case CELL_BLOB:
		put_text(out, text_of(row, c));
		break;
	case CELL_ID:
		if (v == SBT_NO_ID)
			buf_byte(out, '-');
		else
			put_number(out, v, 10);
		break;
	case CELL_SEQ:
		buf_byte(out, v ? '#' : '-');
		if (v)
			put_number(out, v, 10);
		break;
	case CELL_INT:
		buf_printf(out, "%" PRId64, (int64_t)v);
		break;
	case CELL_HEX:
	case CELL_ADDR:
		buf_str(out, "0x");
		put_number(out, v, 16);
		break;
	case CELL_BOOL:
		buf_str(out, v ? "yes" : "no");
		break;
	case CELL_STATUS:
		buf_str(out, state_status_name((enum state_status)v));
		break;
	case CELL_MEM:
		name = sbt_enum_name(SBT_T_ENUM_MEM, v);
		buf_str(out, name ? name : "?");
		break;
	case CELL_NUM:
	case CELL_PARAMS:
		put_number(out, v, 10);
	}
}

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
	uint64_t v = c->cell == CELL_STR || c->cell == CELL_BLOB || c->cell == CELL_PARAMS ? 0 : number(row, c);
	const char *name;
	struct sbt_blob t;

	switch (c->cell) {
	case CELL_CALC:
		BUG("a calculated column in JSON");
	case CELL_STR:
	case CELL_BLOB:
		t = text_of(row, c);
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

/* ---- calculated cells --------------------------------------------------------------------------------------------- */

static void word(struct buf *out, size_t start, bool on, const char *w)
{
	if (on)
		buf_printf(out, "%s%s", out->len > start ? ", " : "", w);
}

static void stream_kind(struct buf *out, const void *row)
{
	const struct state_stream *st = row;
	size_t start = out->len;

	word(out, start, st->is_default, "default");
	word(out, start, st->per_thread, "per-thread");
	word(out, start, !st->is_default && (st->flags & 1), "non-blocking");
	word(out, start, !st->is_default && !st->per_thread && !(st->flags & 1), "blocking");
	word(out, start, st->capturing, "capturing");
	word(out, start, st->destroyed, "destroyed");
	word(out, start, st->before, "from before");
}

/* "event 3 (#120 on stream 1)", "stream 0 (#7)", "a value in memory" */
static void stream_waits(struct buf *out, const void *row)
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

	put_text(out, (struct sbt_blob){name, strlen(name)});
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

#define C(title, T, m, cell) {title, #m, cell, offsetof(struct state_##T, m), sizeof(((struct state_##T *)0)->m), NULL}
#define CALC(title, fn) {title, NULL, CELL_CALC, 0, 0, fn}
#define CALC_RIGHT(title, fn) {title, NULL, CELL_CALC, 0, 1, fn} /* aligned like a number */
#define END {NULL, NULL, CELL_NUM, 0, 0, NULL}

static const struct column streams[] = {
	C("Stream", stream, id, CELL_ID), C("Context", stream, ctx, CELL_ID), CALC("Kind", stream_kind),
	C("Status", stream, status, CELL_STATUS), C("Head", stream, head, CELL_SEQ), C("Pending", stream, pending, CELL_NUM),
	C("Submitted", stream, submitted, CELL_NUM), C("Finished", stream, finished, CELL_NUM),
	C(NULL, stream, last_submitted, CELL_SEQ), C("Priority", stream, priority, CELL_INT),
	CALC("Waiting for", stream_waits), C(NULL, stream, handle, CELL_HEX), C(NULL, stream, flags, CELL_NUM),
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
	C("Default stream", context, default_stream, CELL_ID), C("Streams", context, streams, CELL_NUM),
	C("Allocations", context, allocations, CELL_NUM), C("Bytes", context, bytes, CELL_NUM),
	C("Handle", context, handle, CELL_HEX), C(NULL, context, primary, CELL_BOOL),
	C(NULL, context, destroyed, CELL_BOOL), C(NULL, context, before, CELL_BOOL), END};
static const struct column modules[] = {
	C("Module", module, id, CELL_ID), CALC("Kind", module_kind), C("Context", module, ctx, CELL_ID),
	C("Loaded", module, seq, CELL_SEQ), C("Kernels", module, kernels, CELL_NUM), C("Bytes", module, code_size, CELL_NUM),
	C("Code", module, code_hash, CELL_HEX), C("File", module, file, CELL_BLOB), C(NULL, module, handle, CELL_HEX),
	C(NULL, module, is_library, CELL_BOOL), C(NULL, module, unloaded, CELL_BOOL), C(NULL, module, before, CELL_BOOL), END};
static const struct column kernels[] = {
	C("Kernel", kernel, id, CELL_ID), CALC("Name", kernel_name), C("Module", kernel, module, CELL_ID),
	CALC("Parameters", kernel_params), C("Registers", kernel, regs, CELL_NUM),
	C("Shared", kernel, static_shared, CELL_NUM), C("Local", kernel, local_mem, CELL_NUM),
	C("Max threads", kernel, max_threads, CELL_NUM), C("Launches", kernel, launches, CELL_NUM),
	C("Last", kernel, last_launch, CELL_SEQ), C(NULL, kernel, name, CELL_STR), C(NULL, kernel, short_name, CELL_STR),
	C(NULL, kernel, params, CELL_PARAMS), C(NULL, kernel, code_hash, CELL_HEX), END};
static const struct column allocs[] = {
	C("Address", alloc, addr, CELL_ADDR), C("Bytes", alloc, size, CELL_NUM), C("Memory", alloc, mem, CELL_MEM),
	C("Device", alloc, device, CELL_ID), C("Context", alloc, ctx, CELL_ID), C("Pitch", alloc, pitch, CELL_NUM),
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

union row {
	struct state_stream stream;
	struct state_event event;
	struct state_context context;
	struct state_module module;
	struct state_kernel kernel;
	struct state_alloc alloc;
	struct state_graph graph;
	struct state_device device;
	struct state_thread thread;
};

#define GET(T)                                                                                                        \
	static bool get_##T(const struct state *s, unsigned i, union row *ret)                                        \
	{                                                                                                             \
		return state_##T(s, i, &ret->T);                                                                      \
	}
GET(stream) GET(event) GET(context) GET(module) GET(kernel) GET(alloc) GET(graph) GET(device) GET(thread)

static const struct view {
	const char *name, *title; /* "streams"; "Streams" */
	const struct column *columns;
	bool (*get)(const struct state *s, unsigned i, union row *ret);
} views[] = {
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
_Static_assert(sizeof views / sizeof views[0] == STATE_VIEW_ALL, "a row for every view");

/* The order in `state show all`. */
static const enum state_view all_views[] = {STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS, STATE_VIEW_THREADS, STATE_VIEW_STREAMS,
	STATE_VIEW_EVENTS, STATE_VIEW_MODULES, STATE_VIEW_KERNELS, STATE_VIEW_GRAPHS, STATE_VIEW_ALLOCS};
_Static_assert(sizeof all_views / sizeof all_views[0] == STATE_VIEW_ALL, "every view is shown");

/* ---- text --------------------------------------------------------------------------------------------------------- */

#define COLUMNS_MAX 16

/* The text of all cells, each with a NUL, row by row, and the width of each column. */
struct sheet {
	struct buf cells;
	unsigned columns, rows;
	size_t width[COLUMNS_MAX];
	bool left[COLUMNS_MAX];
};

/* Characters that s takes on the screen: bytes that do not continue a UTF-8 character. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void sheet_cell(struct sheet *t, unsigned column, size_t start)
{
	size_t w;

	buf_byte(&t->cells, 0);
	w = width((const char *)t->cells.data + start);
	if (t->width[column] < w)
		t->width[column] = w;
}

static void sheet_row(struct sheet *t, const struct column *c, const void *row)
{
	unsigned column = 0;

	for (; c->title || c->key; c++) {
		size_t start = t->cells.len;

		if (!c->title)
			continue;
		BUG_ON(column == COLUMNS_MAX);
		if (row)
			put_cell(&t->cells, row, c);
		else
			buf_str(&t->cells, c->title);
		t->left[column] = c->cell >= CELL_BOOL && !(c->cell == CELL_CALC && c->size);
		sheet_cell(t, column++, start);
	}
	t->columns = column;
	t->rows++;
}

static void sheet_print(struct buf *out, const struct sheet *t)
{
	const char *cell = (const char *)t->cells.data;

	for (unsigned r = 0; r < t->rows; r++) {
		size_t blanks = 0; /* owed before the next character, so that no line ends with one */

		for (unsigned i = 0; i < t->columns; i++, cell += strlen(cell) + 1) {
			size_t pad = t->width[i] - width(cell);

			blanks += t->left[i] ? 0 : pad;
			if (*cell) {
				put_blanks(out, blanks);
				buf_str(out, cell);
				blanks = 0;
			}
			blanks += (t->left[i] ? pad : 0) + 2;
		}
		buf_byte(out, '\n');
	}
}

#define ANY_DEVICE SBT_NO_ID

static uint32_t context_device(const struct state *s, uint32_t ctx)
{
	struct state_context c;

	for (unsigned i = 0; state_context(s, i, &c); i++)
		if (c.id == ctx)
			return c.device;
	return SBT_NO_ID;
}

/* Whether a row of a view is about that device; true for ANY_DEVICE. */
static bool is_of_device(const struct state *s, const struct view *v, const union row *row, uint32_t device)
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

static void print_view(struct buf *out, const struct state *s, const struct view *v, uint32_t device)
{
	struct sheet t = {.cells = BUF_INIT};
	union row row;

	sheet_row(&t, v->columns, NULL);
	for (unsigned i = 0; v->get(s, i, &row); i++)
		if (is_of_device(s, v, &row, device))
			sheet_row(&t, v->columns, &row);
	if (t.rows == 1)
		buf_printf(out, "No %s.\n", v->name);
	else
		sheet_print(out, &t);
	buf_free(&t.cells);
}

/* "1 copy", "2 copies"; a ", " that the words begin with comes first. */
static void count(struct buf *out, uint64_t n, const char *one, const char *many)
{
	const char *word = n == 1 ? one : many;

	if (word[0] == ',') {
		buf_str(out, ", ");
		word += 2;
	}
	buf_printf(out, "%" PRIu64 " %s", n, word);
}

static void print_attach(struct buf *out, const struct state_totals *t)
{
	if (!t->attach_seq)
		return;
	buf_printf(out, "Attached to a running process at #%" PRIu64 ": ", t->attach_seq);
	count(out, t->found_allocations, "allocation", "allocations");
	count(out, t->found_bytes, ", byte", ", bytes");
	buf_str(out, ", found; commands before are not known\n");
	if (t->found_probed)
		buf_printf(out, "%.1f GiB of addresses were looked through in %.1f ms\n", (double)t->found_probed / (1 << 30), (double)t->found_ns / 1e6);
	if (t->found_missed)
		buf_printf(out, "%" PRIu64 " places where memory may be were given up: calls that allocate were under way all the time\n",
			t->found_missed);
	if (!t->last_unknown)
		return;
	buf_printf(out, "Not known%s: ", t->unknown > 1 ? ", the last of several" : "");
	put_text(out, (struct sbt_blob){t->last_unknown, strlen(t->last_unknown)});
	buf_byte(out, '\n');
}

static void print_totals(struct buf *out, const struct state *s)
{
	struct state_totals t;

	state_totals(s, &t);
	buf_printf(out, "After #%" PRIu64 ": ", t.seq);
	count(out, t.commands, "command", "commands");
	count(out, t.launches, ", launch", ", launches");
	count(out, t.copies, ", copy", ", copies");
	count(out, t.fills, ", fill", ", fills");
	count(out, t.syncs, ", sync", ", syncs");
	count(out, t.failed, ", failed call", ", failed calls");
	buf_printf(out, "; %" PRIu64 " pending\n", t.pending);
	print_attach(out, &t);
	if (!t.oddities)
		return;
	if (t.oddities == 1)
		buf_str(out, "1 oddity: ");
	else
		buf_printf(out, "%" PRIu64 " oddities, the last one: ", t.oddities);
	put_text(out, (struct sbt_blob){t.last_oddity, strlen(t.last_oddity)});
	buf_byte(out, '\n');
}

void state_print(struct buf *out, const struct state *s, enum state_view view)
{
	if (view != STATE_VIEW_ALL) {
		print_view(out, s, &views[view], ANY_DEVICE);
		return;
	}
	print_totals(out, s);
	for (unsigned i = 0; i < STATE_VIEW_ALL; i++) {
		buf_printf(out, "\n%s\n", views[all_views[i]].title);
		print_view(out, s, &views[all_views[i]], ANY_DEVICE);
	}
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

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

static void json_view(struct buf *out, const struct state *s, const struct view *v, uint32_t device)
{
	const char *sep = "{";
	union row row;

	buf_byte(out, '[');
	for (unsigned i = 0; v->get(s, i, &row); i++) {
		if (!is_of_device(s, v, &row, device))
			continue;
		buf_str(out, sep);
		sep = ",{";
		json_row(out, v->columns, &row);
		if (v->columns == graphs)
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
		json_view(out, s, &views[view], ANY_DEVICE);
		return;
	}
	buf_str(out, "{\"totals\":");
	json_totals(out, s);
	for (unsigned i = 0; i < STATE_VIEW_ALL; i++) {
		buf_printf(out, ",\"%s\":", views[all_views[i]].name);
		json_view(out, s, &views[all_views[i]], ANY_DEVICE);
	}
	buf_byte(out, '}');
}

/* ---- one device --------------------------------------------------------------------------------------------------- */

static const enum state_view device_views[] = {STATE_VIEW_DEVICES, STATE_VIEW_CONTEXTS, STATE_VIEW_STREAMS, STATE_VIEW_ALLOCS};
enum { DEVICE_VIEWS = sizeof device_views / sizeof *device_views };

static bool has_device(const struct state *s, uint32_t device)
{
	struct state_device d;

	for (unsigned i = 0; state_device(s, i, &d); i++)
		if (d.device == device)
			return true;
	return false;
}

bool state_print_device(struct buf *out, const struct state *s, uint32_t device)
{
	if (!has_device(s, device))
		return false;
	for (unsigned i = 0; i < DEVICE_VIEWS; i++) {
		if (i)
			buf_printf(out, "\n%s\n", views[device_views[i]].title);
		print_view(out, s, &views[device_views[i]], device);
	}
	return true;
}

bool state_json_device(struct buf *out, const struct state *s, uint32_t device)
{
	if (!has_device(s, device))
		return false;
	for (unsigned i = 0; i < DEVICE_VIEWS; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "{", views[device_views[i]].name);
		json_view(out, s, &views[device_views[i]], device);
	}
	buf_byte(out, '}');
	return true;
}

/* ---- one stream --------------------------------------------------------------------------------------------------- */

#define QUEUE_SHOWN 64 /* commands of a queue in text; JSON has all that are kept */

static void print_queue(struct buf *out, const struct state *s, const struct state_stream *st)
{
	struct sbt_names names = state_names(s);
	enum state_status status;
	struct sbt_cmd c;
	unsigned i;
	uint64_t left;

	for (i = 0; i < QUEUE_SHOWN && state_queue(s, st->id, i, &c, &status); i++) {
		if (i == 0 && c.seq > st->head)
			buf_printf(out, "  #%" PRIu64 " and others after it are too old to be listed\n", st->head);
		buf_printf(out, "  %-16s  ", state_status_name(status));
		sbt_print_cmd(out, &c, &names);
		buf_byte(out, '\n');
	}
	for (left = 0; state_queue(s, st->id, i, &c, &status); i++)
		left++;
	if (left)
		buf_printf(out, "  and %" PRIu64 " more, the last one #%" PRIu64 "\n", left, st->last_submitted);
}

bool state_print_stream(struct buf *out, const struct state *s, uint32_t stream)
{
	struct state_stream st;

	if (!state_stream_by_id(s, stream, &st))
		return false;
	buf_printf(out, "Stream %u (", st.id);
	stream_kind(out, &st);
	buf_str(out, ")");
	if (st.ctx != SBT_NO_ID)
		buf_printf(out, ", context %u", st.ctx);
	buf_printf(out, ", priority %" PRId64 ", handle 0x%" PRIx64 "\n", st.priority, st.handle);
	buf_str(out, state_status_name(st.status));
	if (st.head)
		buf_printf(out, " at #%" PRIu64, st.head);
	if (st.status == STATE_WAITING) {
		buf_str(out, " for ");
		stream_waits(out, &st);
	}
	buf_printf(out, "\n%" PRIu64 " submitted, %" PRIu64 " finished, %" PRIu64 " pending\n", st.submitted, st.finished,
		st.pending);
	print_queue(out, s, &st);
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
	json_row(out, streams, &st);
	buf_str(out, ",\"queue\":[");
	for (unsigned i = 0; state_queue(s, stream, i, &c, &status); i++) {
		buf_printf(out, "%s{\"status\":\"%s\",\"command\":", i ? "," : "", state_status_name(status));
		sbt_json_cmd(out, &c, &names);
		buf_byte(out, '}');
	}
	buf_str(out, "]}");
	return true;
}
