/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page knows of a trace besides columns, as JSON: about the recording, the command table,
 * names, kernels, streams, threads, devices (`head`), and host stacks (`stacks`).
 */
#ifndef REPORT_HEAD_H
#define REPORT_HEAD_H

#include "report/core/columns.h"
#include "report/core/states.h"
#include "report/report.h"

/* set: the path of the set that it is a rank of; NULL: of none. */
struct err *head_write(const struct report_trace *t, const char *set, const struct columns *c,
	const struct states *states, const struct state *end, FILE *f, unsigned trace) TS_CHECK;
/* Names are added to c->names: before head_write(). */
struct err *stacks_write(const struct report_trace *t, struct symbols *symbols, struct columns *c,
	const struct state *end, FILE *f, unsigned trace) TS_CHECK;

#endif
