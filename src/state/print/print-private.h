/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by print.c (text), print-json.c and print-views.c, which has the tables for both. A view
 * is one row of print_views[]; a column names the member of the snapshot that it shows. A column
 * without a title is for JSON only; one with a function in place of a member is for text only.
 */
#ifndef STATE_PRINT_PRIVATE_H
#define STATE_PRINT_PRIVATE_H

#include "base/text-table.h"
#include "state/fold/state-private.h"

/* For JSON, what belongs to a row and is not in it. */
struct stream_row {
	struct state_stream st;
	const struct state *queue_of; /* NULL: without its queue */
};
struct graph_row {
	struct state_graph g;
	const struct state *nodes_of;
};

union row {
	struct stream_row stream;
	struct state_event event;
	struct state_context context;
	struct state_module module;
	struct state_kernel kernel;
	struct state_alloc alloc;
	struct graph_row graph;
	struct state_device device;
	struct state_thread thread;
};

/* How a view is shown: where its rows come from, and what its columns hold. */
struct print_view {
	const char *name, *title;     /* "streams"; "Streams" */
	const struct column *columns; /* the last one's js is JS_END */
	const struct js_object *object;
	bool (*get)(const struct state *s, unsigned i, union row *ret);
};
extern const struct print_view print_views[STATE_VIEW_ALL];
/* The order in `state show all`. */
extern const enum state_view print_order[STATE_VIEW_ALL];

/* What is shown of one device. */
#define PRINT_DEVICE_VIEWS 4
extern const enum state_view print_device_views[PRINT_DEVICE_VIEWS];
#define ANY_DEVICE SBT_NO_ID
/* Whether a row of a view is about that device; true for ANY_DEVICE. */
bool print_is_of_device(
	const struct state *s, const struct print_view *v, const union row *row, uint32_t device);
bool print_has_device(const struct state *s, uint32_t device);

/* Names come out of a trace and may hold anything: what a terminal could act on is printed as '?'.
 */
void print_text(struct buf *out, struct sbt_blob t);
/* print-json.c: the lists in a row. */
void print_json_queue(struct buf *out, const void *queue_of);
void print_json_nodes(struct buf *out, const void *nodes_of);
/* "default", "non-blocking, capturing" */
void print_stream_kind(struct buf *out, const void *stream);
/* "event 3 (#120 on stream 1)", "stream 0 (#7)", "a value in memory", "" */
void print_stream_waits(struct buf *out, const void *stream);

#endif
