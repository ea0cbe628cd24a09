/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends the process when a command never finishes; marks, by which long waits become short ones.
 */
#ifndef REPLAYER_WATCHDOG_H
#define REPLAYER_WATCHDOG_H

#include "replayer/execute/replayer-rp.h"

struct err *watchdog_start(struct rp *rp) TS_CHECK; /* writes to rp->watchdog.fd */
/* Starts watching a call of the driver for command seq. */
void watchdog_on(struct rp *rp, uint64_t seq);
/* Called when the GPU is open: the limit is now that of commands. */
void watchdog_opened(struct rp *rp);
void watchdog_off(struct rp *rp);
/* Called before the main thread writes to the socket. */
void watchdog_claim(struct rp *rp);
struct err *marks_note(struct rp *rp, uint64_t seq, struct gpu_stream *stream) TS_CHECK;
struct err *marks_wait(struct rp *rp) TS_CHECK;
/* By what the distances of marks and of checkpoints are measured: now_ns(), or with
 * TSDB_REPLAYER_MARK_NS (for tests, whose outcome must not hang on how fast a machine is) so much
 * for each mark that was waited for. */
uint64_t marks_clock(const struct rp *rp);

#endif
