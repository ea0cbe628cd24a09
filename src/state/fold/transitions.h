/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of transitions share, and the functions that the table in transitions.c names, one
 * per kind.
 */
#ifndef STATE_TRANSITIONS_H
#define STATE_TRANSITIONS_H

#include "state/fold/state-private.h"

#define SEQ(c) ((unsigned long long)(c)->seq)

/* transitions.c */
/* Whether transitions[] has a row for the kind. A command of a kind without one ends the process.
 */
bool transition_is_there(unsigned kind);
enum life { ABSENT, ALIVE, DEAD, LIVES };
enum input { CREATE, USE, DESTROY, INPUTS };
#define LIFE_OF(row, flag) (!(row) ? ABSENT : (row)->flag ? DEAD : ALIVE)
/* Counts an oddity when the life cycle forbids the input. what and id name the object. */
void live(struct state *s, const struct sbt_cmd *c, const char *what, uint64_t id, enum life now,
	enum input in);

/* Rows for writing, NULL when there is none; own_device makes it. */
struct context *own_context(struct state *s, uint64_t id);
struct event *own_event(struct state *s, uint64_t id);
struct device *own_device(struct state *s, uint32_t ordinal);
/* The device of a context, or NULL. */
struct device *device_of(struct state *s, uint32_t ctx);
struct stream *new_stream(struct state *s, const struct sbt_cmd *c, uint64_t id, uint32_t ctx);
/* The stream that c works on. An unknown one is added to the state, so that its commands are shown.
 * NULL: c has no stream. */
struct stream *work_stream(struct state *s, const struct sbt_cmd *c, uint64_t id);
/* Puts c into its stream's queue; returns the stream, NULL when it was only captured into a graph
 * or has none. */
struct stream *submit(struct state *s, const struct sbt_cmd *c, uint64_t stream, uint64_t object);

/* transitions-work.c */
/* Makes seq the last writer of each allocation that the footprint writes. */
void wrote_touches(struct state *s, uint64_t seq, const struct sbt_footprint *f);
/* Makes seq the last writer, perhaps, of each allocation that a launch's arguments point into.
 * args: the parameter buffer; params: packed (offset, size) pairs, empty when not known. */
void wrote_args(struct state *s, uint64_t seq, struct sbt_blob args, struct sbt_blob params);
/* Takes a out of the table and out of the sums. */
void free_alloc(struct state *s, const struct alloc *a);

/* transitions-objects.c */
void on_device(struct state *s, const struct sbt_cmd *c);
void on_ctx_create(struct state *s, const struct sbt_cmd *c);
void on_ctx_destroy(struct state *s, const struct sbt_cmd *c);
void on_ctx_set(struct state *s, const struct sbt_cmd *c);
void on_stream_create(struct state *s, const struct sbt_cmd *c);
void on_stream_destroy(struct state *s, const struct sbt_cmd *c);
void on_event_create(struct state *s, const struct sbt_cmd *c);
void on_event_destroy(struct state *s, const struct sbt_cmd *c);
void on_event_record(struct state *s, const struct sbt_cmd *c);
void on_stream_wait(struct state *s, const struct sbt_cmd *c);
void on_ctx_limit(struct state *s, const struct sbt_cmd *c);
void on_texture_create(struct state *s, const struct sbt_cmd *c);
void on_texture_destroy(struct state *s, const struct sbt_cmd *c);
void on_module_load(struct state *s, const struct sbt_cmd *c);
void on_module_unload(struct state *s, const struct sbt_cmd *c);
void on_module_code(struct state *s, const struct sbt_cmd *c);
void on_kernel_def(struct state *s, const struct sbt_cmd *c);
void on_func_attr(struct state *s, const struct sbt_cmd *c);
void on_global_def(struct state *s, const struct sbt_cmd *c);

/* transitions-work.c */
void on_alloc(struct state *s, const struct sbt_cmd *c);
void on_free(struct state *s, const struct sbt_cmd *c);
void on_launch(struct state *s, const struct sbt_cmd *c);
void on_copy(struct state *s, const struct sbt_cmd *c);
void on_fill(struct state *s, const struct sbt_cmd *c);
void on_host_func(struct state *s, const struct sbt_cmd *c);
void on_batch(struct state *s, const struct sbt_cmd *c);
void on_sync(struct state *s, const struct sbt_cmd *c);
void on_sync_end(struct state *s, const struct sbt_cmd *c);
void on_query(struct state *s, const struct sbt_cmd *c);

/* transitions-graphs.c */
void on_capture_begin(struct state *s, const struct sbt_cmd *c);
void on_capture_end(struct state *s, const struct sbt_cmd *c);
void on_graph_create(struct state *s, const struct sbt_cmd *c);
void on_graph_node(struct state *s, const struct sbt_cmd *c);
void on_graph_instantiate(struct state *s, const struct sbt_cmd *c);
void on_graph_update(struct state *s, const struct sbt_cmd *c);
void on_graph_destroy(struct state *s, const struct sbt_cmd *c);
void on_graph_launch(struct state *s, const struct sbt_cmd *c);

#endif
