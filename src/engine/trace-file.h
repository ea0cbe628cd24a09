/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells a trace from other files by its first bytes, and reads one command of it.
 */
#ifndef ENGINE_TRACE_FILE_H
#define ENGINE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "sbt/sbt.h"

/* Whether the file begins like a trace; false if it cannot be read. */
bool trace_is(const char *path);
/* Whether it begins with those n bytes, 64 at most. */
bool trace_file_begins(const char *path, const void *magic, size_t n);

/* Reads command seq of r; it is valid until the caller closes *ret_cursor. On an error there is no
 * cursor. */
struct err *trace_cmd(struct sbt_reader *r, uint64_t seq, struct sbt_cursor **ret_cursor,
	const struct sbt_cmd **ret) TS_CHECK;

#endif
