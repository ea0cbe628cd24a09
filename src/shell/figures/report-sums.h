/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report adds up of a trace, while something else is done with it: its statistics and its
 * critical path, each by a thread with a reader of its own.
 */
#ifndef SHELL_REPORT_SUMS_H
#define SHELL_REPORT_SUMS_H

#include "order/critical-path.h"
#include "state/trace-stats.h"

struct report_sums {
	struct stats stats;
	struct critical_path critical;
	struct err *no_path; /* why there is none; NULL: there is one */
};

struct report_sums_work; /* heap */

/* Of commands first..last, both in the trace. *interrupt true ends it early. */
struct err *report_sums_begin(struct report_sums_work **ret, const char *path, uint64_t first,
	uint64_t last, volatile bool *interrupt) TS_CHECK;
/* Both end early, and report_sums_end() returns ERR_INTERRUPTED unless they had ended before. */
void report_sums_stop(struct report_sums_work *w);
/* Waits for both, and frees the work. *ret is the caller's to free, and empty after an error;
 * ERR_INTERRUPTED. */
struct err *report_sums_end(struct report_sums_work *w, struct report_sums *ret) TS_CHECK;
void report_sums_free(struct report_sums *s);

#endif
