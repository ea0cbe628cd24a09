/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds kernels that may wait for a word that others set while they run (gpucode/code-traits.h).
 * What such a kernel shares with the host may be ordered by that word, and the recording does not
 * have it.
 */
#ifndef ORDER_POLLS_H
#define ORDER_POLLS_H

#include "order/races/trace-codes.h"
#include "state/state.h"

/* Zeroes: nothing is known yet. */
struct polls {
	struct trace_codes codes;
	uint8_t *known; /* by id of the kernel: 0 not yet, 1 no, 2 yes */
	size_t nknown;
};

/* Whether the launch, or a node of the graph launch, c polls. False also where the trace has no
 * code of it that can be read. */
struct err *polls_launch(struct polls *p, struct sbt_reader *trace, const struct state *s,
	const struct sbt_cmd *c, bool *ret) TS_CHECK;
void polls_free(struct polls *p);

#endif
