/* SPDX-License-Identifier: Apache-2.0
 *
 * What lanes print at a line: several expressions, whose values go to tsdb as records
 * (replayer/soft-probe.h).
 */
#ifndef SOFTCORE_LANE_PRINT_H
#define SOFTCORE_LANE_PRINT_H

#include "softcore/lane-probe.h"

struct lane_prints {
	unsigned n;
	struct lane_expr expr[SOFT_PRINT_ARGS];
	bool broken[SOFT_PRINT_ARGS]; /* it has names that are not there */
};
/* text: expressions with commas between them, in no bracket; more than SOFT_PRINT_ARGS are cut.
 * NULL: no memory. */
struct lane_prints *lane_prints_new(const struct probe_machine *m, const void *arg, const void *fn,
	uint64_t pc, const char *text);
/* Appends what the lanes of mask print, a record for those that have the same values, to *v, which
 * has *n. False: there is no memory. */
bool lane_prints_take(const struct lane_prints *p, const struct probe_machine *m, uint32_t id,
	const void *warp, uint64_t mask, struct soft_print **v, unsigned *n);

#endif
