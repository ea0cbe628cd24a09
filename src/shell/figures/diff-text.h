/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of two traces as text and as JSON, and conditions about it.
 */
#ifndef SHELL_DIFF_TEXT_H
#define SHELL_DIFF_TEXT_H

#include "base/id-table.h"
#include "compare/compare.h"
#include "numeric/numeric.h"
#include "shell/line/session.h"
#include "state/summary.h"

/* One trace of the comparison, with what its commands and stacks are called by. */
struct diff_trace {
	const char *path;
	struct sbt_reader *r;
	struct state *st;	     /* after its last command */
	struct summary_rows kernels; /* their mangled names */
	struct id_table places;	     /* u64 by stack; 0: not asked yet */
};
/* Opens t->path, which is set. *t is to be closed either way. */
struct err *diff_trace_open(struct diff_trace *t) TS_CHECK;
void diff_trace_close(struct diff_trace *t);
/* For compare_ask.place: the place that a stack is, by the function alone: lines shift when a
 * program is changed. */
uint64_t diff_trace_place(struct session *s, struct diff_trace *t, uint32_t stack);
struct diff_show {
	struct diff_trace a, b;
	uint64_t top; /* rows of a table; 0: all */
	bool time, json;
	const struct numeric *numeric; /* NULL: numbers were not compared */
};
struct err *diff_print(
	struct session *s, const struct compare *c, const struct diff_show *d) TS_CHECK;

/* What numeric_run() found, as text; as the object numeric_diff, heap. */
struct err *numeric_print(struct session *s, const struct diff_show *d) TS_CHECK;
struct err *numeric_json(struct session *s, const struct diff_show *d, char **ret) TS_CHECK;

/* Whether "time < 1.05 && structure == same" holds. ERR_USAGE with what can be said if it cannot be
 * read, ERR_INCOMPLETE if it needs GPU times that are not there.
 * n: NULL when numbers were not compared. */
struct err *diff_assert(
	const struct compare *c, const struct numeric *n, const char *text, bool *ret) TS_CHECK;

#endif
