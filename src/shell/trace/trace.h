/* SPDX-License-Identifier: Apache-2.0
 *
 * The open trace of a session and its replay.
 */
#ifndef SHELL_TRACE_H
#define SHELL_TRACE_H

#include "engine/device-clocks.h"
#include "engine/trace-file.h"
#include "shell/line/session.h"
#include "shell/trace/view-filter.h"

/* Opens path and closes the trace that was open; warns if path is damaged. */
struct err *trace_open(struct session *s, const char *path) TS_CHECK;
/* "", "(what-if) " or "(partial) ": the replay's mark in the prompt and in `when`. */
const char *trace_mark(const struct session *s);
/* Makes the session the user of its engine: sets the hooks. */
void trace_hooks(struct session *s);

/* Prints the damage report of a reader on stderr, one line each; returns false if there is none. */
bool trace_tell_damage(struct out *o, const char *path, const struct sbt_reader *r);
/* Prints a line on stderr if the trace was recorded by attaching. */
void trace_tell_attached(struct out *o, struct sbt_reader *r);
/* Appends what a trace contains, as `tsdb info` shows it. */
void trace_summary(struct buf *out, const char *path, struct sbt_reader *r);
/* clocks: NULL if they were not asked for. */
struct trace_clocks;
void trace_summary_json(
	struct buf *out, const char *path, struct sbt_reader *r, const struct trace_clocks *clocks);

/* How a trace's GPU times relate to the host's clock, for each device (clocks-text.c). */
struct trace_clocks {
	struct device_clock clock[DEVICE_CLOCKS_MAX];
	unsigned n;
};
/* Appends one line for each device. */
void trace_clocks_print(struct buf *out, const struct trace_clocks *clocks);
/* Appends them as a list for JSON. */
void trace_clocks_put(struct buf *out, const struct trace_clocks *clocks);

/* --- view.c: listing commands --- */
/* Lists the commands that pass the filter, or says how many there are; in constant memory. */
struct err *view_commands(
	struct session *s, struct sbt_reader *r, const struct view_filter *f) TS_CHECK;

/* Lists the commands one by one, for merging several traces. */
struct view_stream;
struct err *view_stream_open(struct view_stream **ret, struct session *s, struct sbt_reader *r,
	const struct view_filter *f) TS_CHECK;
/* The next command that passes the filter, valid until the next call; NULL at the end. */
struct err *view_stream_next(struct view_stream *v, const struct sbt_cmd **ret) TS_CHECK;
/* Appends its line, or JSON, and its stack if requested, with the newline. */
struct err *view_stream_print(
	struct view_stream *v, const struct sbt_cmd *c, struct buf *out) TS_CHECK;
/* The mangled name of a kernel; NULL: not known. */
const char *view_stream_kernel(const struct view_stream *v, uint64_t id);
void view_stream_close(struct view_stream *v);

#endif
