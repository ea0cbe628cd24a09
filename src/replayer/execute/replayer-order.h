/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by replayer-order.c, replayer-order-host.c and replayer-order-learn.c: one order that is
 * being executed.
 */
#ifndef REPLAY_REPLAYER_ORDER_H
#define REPLAY_REPLAYER_ORDER_H

#include "order/order.h"
#include "replayer/execute/replayer-rp.h"

struct order_running {
	struct rp *rp;
	unsigned flags; /* enum replayer_order_flags */
	const uint8_t *entries,
		*changes; /* u64, struct order_change; from the wire, so perhaps not aligned */
	size_t n, nchanges;
	size_t next; /* of the window's commands: those before it that make objects were executed */
	uint32_t stream;	   /* of the work before; SBT_NO_ID: none */
	struct buf learned;	   /* struct order_change */
	struct order_saved *saved; /* see replayer-order-learn.c */
	size_t nsaved, saved_bytes;
	struct order_saved *lost;
	size_t nlost, cap_lost;
	bool ends_same; /* device memory ended as it was recorded */
};

/* The host's changes are entries of the order. */
static inline bool order_is_live(const struct order_running *o)
{
	return o->flags & (REPLAYER_ORDER_LIVE | REPLAYER_ORDER_LEARN);
}

/* Makes the host's changes before command seq, or learns them and makes them. copies: data that the
 * copy seq carried counts, too. */
struct err *order_host(struct order_running *o, uint64_t seq, bool copies) TS_CHECK;
/* Makes or learns the changes of host function seq. */
struct err *order_host_function(struct order_running *o, uint64_t seq) TS_CHECK;

/* REPLAYER_ORDER_LEARN: compares a piece of the recording with memory here. Bytes that differ are
 * noted as changed by the host, and memory gets the recorded bytes; bytes that work in flight
 * explains are left out. */
struct err *order_learn(struct order_running *o, const struct sbt_memory *m) TS_CHECK;
/* Keeps the bytes that work seq is about to write over, if it was in flight when the recording
 * looked at them. */
struct err *order_save(struct order_running *o, const struct sbt_cmd *c) TS_CHECK;
/* At the end: marks changes that depend on a copy which may have delivered something else in the
 * recording. */
void order_doubt(struct order_running *o);
void order_learned_free(struct order_running *o);

/* tail: the n bytes that follow q. */
struct err *order_run(struct rp *rp, const struct replayer_order *q, const void *tail, size_t n,
	struct buf *out) TS_CHECK;
void order_free(struct rp *rp);

#endif
