/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds kernels that may wait for a word that others set while they run: the PTX has strong loads
 * or atomics (.volatile, .relaxed, .acquire, .mmio; PTX ISA 9.0, "Memory Consistency Model", strong
 * operations) of memory that is not the block's own. What such a kernel shares with the host may be
 * ordered by that word, and the recording does not have it.
 */
#ifndef ORDER_POLLS_H
#define ORDER_POLLS_H

#include "base/buf.h"
#include "order/races/ptx-texts.h"
#include "state/state.h"

/* Zeroes: nothing is known yet. */
struct polls {
	struct ptx_texts texts;
	uint8_t *known; /* by id of the kernel: 0 not yet, 1 no, 2 yes */
	size_t nknown;
};

/* Whether the launch, or a node of the graph launch, c polls. False also where there is no PTX. */
struct err *polls_launch(struct polls *p, struct sbt_reader *trace, const struct state *s,
	const struct sbt_cmd *c, bool *ret) TS_CHECK;
void polls_free(struct polls *p);
/* Whether the entry polls, or, when it calls functions, anything in the text. n bytes of text;
 * pure. */
bool polls_text(const char *text, size_t n, const char *entry);

#endif
