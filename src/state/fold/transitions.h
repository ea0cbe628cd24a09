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

/* on_KIND for each kind, in the other transitions-*.c; a kind without a function of its own has
 * another in transitions[]. */
#define CMD(n, ID, name, cls, does, help) void on_##name(struct state *s, const struct sbt_cmd *c);
#define FIELD(type, name, help)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

#endif
