/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that wait for a value in memory and are executed later than their number says.
 */
#ifndef REPLAYER_LATE_H
#define REPLAYER_LATE_H

#include "replayer/execute/replayer-rp.h"

/* Whether c, the next command, has to wait for a value in memory that a later one writes:
 * late_keep() instead of executing it. */
struct err *late_comes(struct rp *rp, const struct sbt_cmd *c, bool *ret) TS_CHECK;
void late_keep(struct rp *rp, const struct sbt_cmd *c);
/* Called when memory is again as it was at seq, where nothing was kept. */
void late_back(struct rp *rp, uint64_t seq);
/* Takes a kept command that can run by now; the caller executes it. */
struct err *late_take(struct rp *rp, struct sbt_cmd *ret, bool *ret_any) TS_CHECK;
/* Executes all kept commands that can run by now; at the window's end, all of them. */
struct err *late_go(struct rp *rp) TS_CHECK;

#endif
