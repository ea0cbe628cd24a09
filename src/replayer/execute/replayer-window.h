/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a window of the trace, and answers what is in it. An error belongs to the caller.
 */
#ifndef REPLAYER_WINDOW_H
#define REPLAYER_WINDOW_H

#include "replayer/execute/replayer-rp.h"

/* Everything that REPLAYER_OPEN does. */
struct err *window_open(struct rp *rp, const char *path) TS_CHECK;
/* Another reader of the trace, for a thread of its own. Nothing is opened for it: the sandbox is
 * shut. */
struct err *window_reader(const struct rp *rp, struct sbt_reader **ret) TS_CHECK;
/* Refuses a command that is not in the window. */
struct err *window_holds(struct rp *rp, uint64_t seq) TS_CHECK;
/* A line for the user; counted: a command that cannot be executed again. */
void window_note(struct rp *rp, bool counted, const char *fmt, ...) TS_PRINTF(3, 4);

#endif
