/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tools that execute a trace have in common: the options --on X, --window N, --any-device
 * and --json, going through the trace's windows, and what names a part of a window.
 */
#ifndef SHELL_TOOL_OPTIONS_H
#define SHELL_TOOL_OPTIONS_H

#include "engine/partial.h"
#include "engine/replay-device.h"
#include "shell/line/session.h"

struct tool_options {
	struct replay_choice choice;
	uint64_t window; /* from 1; 0: all */
	bool json;
};

/* The session's defaults, for a tool: a missing device is an error. */
struct tool_options tool_options_default(const struct session *s);
/* Removes these options from argv and leaves the rest for the caller; ERR_USAGE with `usage` as the
 * cure. */
struct err *tool_options_take(
	struct tool_options *t, const char *usage, int *argc, char **argv) TS_CHECK;
/* Is the word of n bytes the option called name? --gpu and --on are one option: which GPU. */
bool tool_option_is(const char *name, const char *word, size_t n);
/* Looks whether argv[*i] is one of names (the last is NULL), as "NAME VALUE" or "NAME=VALUE".
 * Returns that name; *ret is the value, or NULL if it is missing, and *i the last word of the
 * option. Returns NULL if it is none of them. */
const char *tool_option_valued(
	const char *const *names, int argc, char *const *argv, int *i, const char **ret);
/* Parses a window's number. */
struct err *tool_option_window(const char *word, const char *usage, uint64_t *ret) TS_CHECK;

/* A tool that says something of each window of a trace. */
struct tool_windows {
	struct session *s;
	const struct tool_options *options;
	const char *file;
	/* Whether window i, commands first to last, is asked for; with --window it is not called.
	 */
	bool (*wants)(const void *arg, unsigned i, uint64_t first, uint64_t last);
	/* Appends what it has to say of window i: text, or JSON to be an element of a list. Of a
	 * trace without windows it is asked for window 0, and says what is missing. */
	struct err *(*window)(void *arg, unsigned i, struct buf *out);
	void *arg;
};
/* Opens the trace and prints what is said of its windows. After an error the text of the windows
 * before is printed, JSON is not. */
struct err *tool_windows(const struct tool_windows *w) TS_CHECK;

/* "1,3" */
struct err *partial_streams(struct partial *p, const char *word) TS_CHECK;
/* "10-20" */
struct err *partial_range(struct partial *p, const char *word) TS_CHECK;

#endif
