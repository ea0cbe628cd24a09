/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace for the page: what `tsdb report` writes, made by a process of its own into memory.
 */
#ifndef STUDIO_STUDIO_TRACE_H
#define STUDIO_STUDIO_TRACE_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

struct studio_trace {
	pid_t pid;	/* that makes it; 0: none */
	int page, said; /* what it writes, and what it says of errors; -1: nothing */
	bool made;
	char *why; /* not, heap */
};

/* Begins to make it, of the trace at path. t: all zero, or closed. */
struct err *studio_trace_make(struct studio_trace *t, const char *tsdb, const char *path) TS_CHECK;
/* Looks whether it is made; true when it is now, or has failed. */
bool studio_trace_look(struct studio_trace *t);
void studio_trace_close(struct studio_trace *t);

#endif
