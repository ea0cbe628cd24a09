/* SPDX-License-Identifier: Apache-2.0
 *
 * One event of a Chrome JSON, with those of its members that import knows.
 */
#ifndef IMPORT_KINETO_EVENT_H
#define IMPORT_KINETO_EVENT_H

#include "import/core/json-pull.h"

enum { KINETO_NONE = -1 }; /* a number that is not there */
struct kineto_event {
	char ph[4], cat[32];
	int64_t pid, tid, ts, dur; /* ts, dur: ns */
	bool timed, bad;	   /* bad: a number that cannot be */
	int64_t device, ctx, stream, corr, graph, regs, shared, bytes;
	int64_t wait_stream, record_corr, event;
	int64_t grid[3], block[3];
	struct buf name, stack, label; /* texts with a NUL; label: args.name */
};

/* Reads the event whose bracket was just read. The texts' memory is used again. */
struct err *kineto_read_event(struct json_pull *j, struct kineto_event *ev) TS_CHECK;
/* Reads a number or a text that is one; ten to the power of shift times it. *ret as it was: it is
 * neither. */
struct err *kineto_number(struct json_pull *j, int shift, int64_t *ret, bool *bad) TS_CHECK;
void kineto_event_free(struct kineto_event *ev);

#endif
