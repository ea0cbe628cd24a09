/* SPDX-License-Identifier: Apache-2.0
 *
 * What lanes print at a line: several expressions, whose values go to tsdb as records
 * (replayer/soft-probe.h).
 */
#ifndef SOFTGPU_MICRO_PRINT_H
#define SOFTGPU_MICRO_PRINT_H

#include "replayer/soft-probe.h"
#include "softgpu/micro/micro.h"

struct micro_prints {
	unsigned n;
	struct lane_expr expr[SOFT_PRINT_ARGS];
	bool broken[SOFT_PRINT_ARGS]; /* it has names that are not there */
};
/* text: expressions with commas between them, in no bracket; more than SOFT_PRINT_ARGS are cut. */
struct micro_prints *micro_prints_new(const struct ptx_function *fn, uint32_t pc, const char *text);
/* Appends what the lanes of mask print, a record for those that have the same values, to *v, which
 * has *n. False: there is no memory. */
bool micro_prints_take(const struct micro_prints *p, uint32_t id, const struct ptx_warp *w,
	uint32_t mask, struct soft_print **v, unsigned *n);

#endif
