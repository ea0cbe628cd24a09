/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's output: standard output through a buffer, a pager for long output on a terminal,
 * colours, the log file, the progress line. Errors go to stderr (out_error). When the reader of the
 * output has gone, the rest is dropped, and out_failed() reports it.
 */
#ifndef SHELL_OUT_H
#define SHELL_OUT_H

#include <stdbool.h>
#include <stdio.h>
#include "base/err.h"
#include "base/buf.h"

struct out;

enum style { STYLE_NONE, STYLE_HEADER, STYLE_ERROR, STYLE_STOP, STYLE_NOTE, STYLE_NAME };

struct out *out_new(void);
/* Flushes and frees o. */
void out_free(struct out *o);
void out_printf(struct out *o, const char *fmt, ...) TS_PRINTF(2, 3);
void out_str(struct out *o, const char *text);
/* Prints text in a style (plain if colours are off). */
void out_style(struct out *o, enum style style, const char *fmt, ...) TS_PRINTF(3, 4);
/* Prints a table made by state/print/print.c and the like: its first line is a header. */
void out_table(struct out *o, struct buf *text);
/* Sends everything so far to the screen (or the pager). */
void out_flush(struct out *o);
/* The reason that output was lost: an errno, EPIPE when the reader has gone; 0: no output was lost.
 * Leaving the pager is no failure. */
int out_failed(const struct out *o);
/* Whether the reader has gone or the user has left the pager: producers can stop. */
bool out_closed(const struct out *o);

/* Between these calls, output longer than height lines goes through a pager. height 0: never. */
void out_page_begin(struct out *o, unsigned height);
/* Returns whether it did. */
bool out_page_end(struct out *o);

/* Something else is on the same screen. The hooks get arg; both write nothing to o. */
struct out_screen {
	/* A pager is about to start. Returns true if it must not leave by itself: its screen is
	 * then drawn over. */
	bool (*before_pager)(void *arg);
	/* Text is about to be written to the terminal. */
	void (*before_text)(void *arg);
};
void out_on_screen(struct out *o, const struct out_screen *hooks, void *arg);

/* Appends everything from now on to `to`, which nobody else sees: without colours, not in the log.
 * NULL: no more. Returns where it went so far; NULL: to the user. */
struct buf *out_collect(struct out *o, struct buf *to);

/* Sends everything from now on to fd instead, without a pager. Returns what out_restore() takes
 * back; between the two, output that fd does not take is dropped, and is no failure. */
struct out_target {
	int fd;
	bool closed, color;
	int failed;
};
struct out_target out_divert(struct out *o, int fd);
void out_restore(struct out *o, struct out_target before);

void out_set_color(struct out *o, bool on);
/* Copies all output to path as well; NULL ends it. */
struct err *out_log(struct out *o, const char *path) TS_CHECK;

/* From now on nothing is written to stderr: notes go to this file, out_error() keeps the first
 * error for out_take_error(), and no progress is shown. NULL: stderr again. Returns the file so
 * far. */
FILE *out_quiet(struct out *o, FILE *notes);
/* The error that was kept, NULL if there is none; the caller's. */
struct err *out_take_error(struct out *o) TS_CHECK;
/* Where notes go: stderr, or out_quiet()'s file. */
FILE *out_notes(struct out *o);

/* "tsdb: <sentence>. <Cure>." on stderr; frees e. */
void out_error(struct out *o, struct err *e);
void out_warn(struct out *o, const char *fmt, ...) TS_PRINTF(2, 3);

/* Shows a line such as "reading 40 %" on stderr and redraws it; only on a terminal, and only a
 * second after the first call. out_progress_end() erases it. */
void out_progress(struct out *o, const char *what, uint64_t done, uint64_t total);
void out_progress_end(struct out *o);
/* From now on out_progress() calls this in place of that. NULL: no more. */
typedef void out_progress_fn(void *arg, const char *what, uint64_t done, uint64_t total);
void out_on_progress(struct out *o, out_progress_fn *fn, void *arg);

/* Size of the terminal, 24x80 when there is none. */
void out_screen(unsigned *ret_lines, unsigned *ret_columns);
unsigned out_columns(void);
/* How wide a table may be: the terminal's columns, or 0, any width, when there is none. */
unsigned out_table_columns(void);

#endif
