/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by print.c (text), print-json.c and print-views.c, which has the tables for both. A view
 * is one row of print_views[]; a column names the member of the snapshot that it shows. A column
 * without a title is for JSON only; one with a function in place of a member is for text only.
 */
#ifndef STATE_PRINT_PRIVATE_H
#define STATE_PRINT_PRIVATE_H

#include "state/fold/state-private.h"

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
	bool optional; /* text: left out where no row has anything there but 0 */
};

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

/* How a view is shown: where its rows come from, and what its columns hold. */
struct print_view {
	const char *name, *title; /* "streams"; "Streams" */
	const struct column *columns; /* ends with neither title nor key */
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
bool print_is_of_device(const struct state *s, const struct print_view *v, const union row *row, uint32_t device);
bool print_has_device(const struct state *s, uint32_t device);

/* The member of a row that a column is of: numbers, texts. */
uint64_t print_number(const void *row, const struct column *c);
struct sbt_blob print_text_of(const void *row, const struct column *c);

/* Names come out of a trace and may hold anything: what a terminal could act on is printed as '?'. */
void print_text(struct buf *out, struct sbt_blob t);
/* "default", "non-blocking, capturing" */
void print_stream_kind(struct buf *out, const void *stream);
/* "event 3 (#120 on stream 1)", "stream 0 (#7)", "a value in memory", "" */
void print_stream_waits(struct buf *out, const void *stream);

#endif
