/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path as text and as JSON.
 */
#ifndef SHELL_CRITICAL_TEXT_H
#define SHELL_CRITICAL_TEXT_H

#include "order/critical-path.h"
#include "shell/line/session.h"

/* Prints p, of the trace r. top: rows of a table, and the longest steps; 0: all. */
struct err *critical_print(struct session *s, struct sbt_reader *r, const struct critical_path *p,
	uint64_t top, bool json) TS_CHECK;

/* Appends ", mostly matmul, called from step () at app.cu:12: 80.0 % of it"; nothing if the path
 * has no part. st: the state at the end of r. */
void critical_pole(struct buf *out, struct session *s, struct sbt_reader *r, const struct state *st,
	const struct critical_path *p);

#endif
