/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows doubtful bytes through a window: which bytes may differ later when some may differ after
 * one command. The commands run one after the other in the order of a replay: by seq, except work
 * behind a wait for a value that a later command writes. A command that may read doubtful bytes
 * makes what it may write doubtful; bytes that are certainly overwritten are certain again. It
 * reports too much where only a kernel's arguments are known, and too little only for memory that
 * the trace does not show.
 */
#ifndef ORDER_FLOW_H
#define ORDER_FLOW_H

#include "order/order.h"

struct order_flow;

#define ORDER_FLOW_MAX 4000000u /* accesses of all commands */

/* Of o: first, last, source, interrupt. ERR_LIMIT beyond ORDER_FLOW_MAX. */
struct err *order_flow_open(
	struct order_flow **ret, struct sbt_reader *trace, const struct order_options *o) TS_CHECK;
void order_flow_close(struct order_flow *f);

/* [addr, end) is in doubt right after command seq (0: from the beginning); end 0: all that the
 * command may write. */
struct order_doubt {
	uint64_t seq, addr, end;
};
struct order_range {
	uint64_t addr, end;
};
/* Whether bytes of any of nr ranges are in doubt right before command seq (UINT64_MAX: at the end).
 * One pass over the window. */
bool order_flow_reaches(const struct order_flow *f, const struct order_doubt *d, size_t n,
	uint64_t seq, const struct order_range *r, size_t nr);
/* The first of n causes whose doubts reach one of the ranges; SIZE_MAX: none. d has n * each
 * doubts, `each` for each cause in turn. A few passes over the window. */
size_t order_flow_first(const struct order_flow *f, const struct order_doubt *d, size_t n,
	size_t each, uint64_t seq, const struct order_range *r, size_t nr);
/* Whether command a runs after command b: true for the higher seq, unless one of them is kept back
 * by a wait for a value that was written later. */
bool order_flow_is_behind(const struct order_flow *f, uint64_t a, uint64_t b);
/* The highest number of a command that runs before seq; seq itself, when all those are lower. */
uint64_t order_flow_newest(const struct order_flow *f, uint64_t seq);
/* The last command before seq that may write to [addr, end); 0: none. */
uint64_t order_flow_writer(const struct order_flow *f, uint64_t seq, uint64_t addr, uint64_t end);
/* The i-th access of command seq; false: it has no more. */
bool order_flow_access(
	const struct order_flow *f, uint64_t seq, size_t i, struct order_access *ret);

#endif
