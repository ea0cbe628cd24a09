/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the result of exploring, as text and as JSON.
 */
#ifndef SHELL_EXPLORE_TEXT_H
#define SHELL_EXPLORE_TEXT_H

#include "engine/explore.h"
#include "shell/line/session.h"

/* Prints the result. The trace may be another one than the session's, or not be open: then commands
 * are shown by their numbers. */
void explore_print(struct session *s, const struct explore_result *r, struct buf *out);
/* Appends the line that runs shard i (from 0) of the same exploration, without a newline. file: the
 * result of one that was ended; NULL: there is none. */
void explore_line(const struct explore_result *r, uint32_t i, const char *file, struct buf *out);
/* Appends one line. */
void explore_json(const struct explore_result *r, struct buf *out);
/* What explore_json() wrote; ERR_USAGE when it is something else, named by `name`. */
struct err *explore_read(
	const char *line, size_t n, const char *name, struct explore_result *ret) TS_CHECK;

#endif
