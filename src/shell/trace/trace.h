/* SPDX-License-Identifier: Apache-2.0
 *
 * The open trace of a session and its replay.
 */
#ifndef SHELL_TRACE_H
#define SHELL_TRACE_H

#include "engine/trace-file.h"
#include "shell/line/session.h"

/* Opens path instead of the trace that is open; warns when it is damaged. */
struct err *trace_open(struct session *s, const char *path) TS_CHECK;
void trace_close(struct session *s);
/* "", "(what-if) " or "(partial) ": what the prompt and `when` say of the replay. */
const char *trace_mark(const struct session *s);
/* The session becomes the one that the engine asks and tells. */
void trace_hooks(struct session *s);

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
