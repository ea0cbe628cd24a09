/* SPDX-License-Identifier: Apache-2.0
 *
 * The open trace of a session and its replay.
 */
#ifndef SHELL_TRACE_H
#define SHELL_TRACE_H

#include "shell/session.h"

/* Whether the file begins like a trace; false when it cannot be read. */
bool trace_is(const char *path);
/* Whether it begins with those n bytes, 64 at most. */
bool trace_file_begins(const char *path, const void *magic, size_t n);
/* Opens path instead of the trace that is open; warns when it is damaged. */
struct err *trace_open(struct session *s, const char *path) TS_CHECK;
void trace_close(struct session *s);
struct replay_choice;
/* A replay from the beginning, on the device chosen; one chosen automatically that is not to be had is no error: the state alone is replayed then,
 * and that is said. c NULL: as the settings say. */
struct err *trace_replay(struct session *s, const struct replay_choice *c) TS_CHECK;
void trace_replay_end(struct session *s);
/* The state after the last command; owned by the session. */
struct err *trace_end_state(struct session *s, const struct state **ret) TS_CHECK;

/* Command seq of r, valid until the caller closes *ret_cursor; on an error there is none. */
struct err *trace_cmd(struct sbt_reader *r, uint64_t seq, struct sbt_cursor **ret_cursor, const struct sbt_cmd **ret) TS_CHECK;
/* Command seq of r, with names out of st: a line without newline, or JSON. Its stack id in *ret_stack. */
struct err *trace_print_cmd(struct sbt_reader *r, const struct state *st, uint64_t seq, bool json, struct buf *b, uint32_t *ret_stack) TS_CHECK;

/* The damage report of a reader on stderr, a line each; false when there was none. */
bool trace_tell_damage(struct out *o, const char *path, const struct sbt_reader *r);
/* A line on stderr when the trace was recorded by attaching. */
void trace_tell_attached(struct out *o, struct sbt_reader *r);
/* What a trace holds, as `tsdb info` shows it. */
void trace_summary(struct buf *out, const char *path, struct sbt_reader *r);
void trace_summary_json(struct buf *out, const char *path, struct sbt_reader *r);
/* How its GPU times go with the host's clock: a line for each device. Reads all of it (device-clocks.c). */
struct err *trace_clocks(struct sbt_reader *r, struct buf *out) TS_CHECK;

/* ---- view.c: listing commands ------------------------------------------------------------------------------------- */
enum { VIEW_NO_RANK = -1, VIEW_ALL_RANKS = -2 };
struct view_filter {
	uint64_t first, last;  /* seq; 0 and UINT64_MAX: all */
	bool has_stream;
	uint32_t stream;
	const char *kernel;    /* glob; NULL: any */
	unsigned kind;	       /* 0: any */
	int64_t rank;	       /* of a set; or one of those above */
	bool stacks, json;
};
/* Reads options and RANGE from words; file: whether a word that is no range is the file (then *ret_file). */
struct err *view_options(struct view_filter *f, unsigned argc, char *const *argv, const char **ret_file) TS_CHECK;
/* Lists the commands that pass the filter, in constant memory. */
struct err *view_commands(struct session *s, struct sbt_reader *r, const struct view_filter *f) TS_CHECK;

/* The same, one by one: for who puts several traces together. */
struct view_stream;
struct err *view_stream_open(struct view_stream **ret, struct session *s, struct sbt_reader *r, const struct view_filter *f) TS_CHECK;
/* The next command that passes, valid until the next call; NULL at the end. */
struct err *view_stream_next(struct view_stream *v, const struct sbt_cmd **ret) TS_CHECK;
/* Its line, or JSON, and its stack when that was asked for; appended, with the newline. */
struct err *view_stream_print(struct view_stream *v, const struct sbt_cmd *c, struct buf *out) TS_CHECK;
/* The mangled name of a kernel; NULL: not known. */
const char *view_stream_kernel(const struct view_stream *v, uint64_t id);
void view_stream_close(struct view_stream *v);

#endif
