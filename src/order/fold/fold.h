/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes happens-before as a fold over commands: what is certainly finished when a command begins
 * on the device. The edges are those the program itself made (CUDA programming guide, "Streams",
 * "Events", "Default Stream"; driver API, "API synchronization behavior"): stream order; an event's
 * record to the waits for that record (not for later ones); the legacy default stream as a barrier
 * among blocking streams; what the host had waited for before it submitted; a value that one stream
 * writes to memory and another waits for. Commands come through order/fold/feed.h, so that such a
 * write comes before the wait.
 *
 * Each stream is a lane, and so is the host: its threads are one lane, taken to be in the order of
 * their calls, unless the caller wants them apart (fold_new()). The surprise: the host lane counts
 * what the host learned and what it touched, not its calls, so that all submissions between two
 * waits share one clock.
 */
#ifndef ORDER_FOLD_H
#define ORDER_FOLD_H

#include "order/fold/vector-clock.h"
#include "order/early.h"
#include "state/state.h"

enum order_edge {
	ORDER_EDGE_STREAM,  /* earlier on its stream */
	ORDER_EDGE_EVENT,   /* a wait for an event's record */
	ORDER_EDGE_DEFAULT, /* the legacy default stream's barrier */
	ORDER_EDGE_HOST,    /* submitted after the host had learned or done it */
	ORDER_EDGE_LEARNED, /* the host's wait or query returned that it is finished */
	ORDER_EDGE_VALUE,   /* a stream memory wait for the value that another stream wrote */
	ORDER_EDGE_BEGUN,   /* behind a launch's beginning: a programmatic dependent launch, or a
			     * wait for the launch's own event */
	ORDER_EDGE_WAITED,  /* and it touches nothing before it has waited for that one */
};

/* A command where it is on its lane. It happens after everything in clock, and after the items
 * before it on its lane. */
struct order_item {
	uint64_t seq;
	uint32_t lane, index; /* index from 1 */
	struct clock *clock;  /* owned by the fold until its lane goes on; take a reference to
			       * keep it longer */
	uint16_t early;	      /* enum order_early_flags */
	uint64_t behind;      /* with flags: the launch in front */
};

struct fold;

struct fold *fold_new(bool threads_apart);
void fold_free(struct fold *f);
/* Calls edge() for every edge into the item that fold_apply() is about to return; via: the
 * stream_wait's seq for an event, else 0. */
void fold_on_edge(struct fold *f,
	void (*edge)(void *arg, uint64_t from, enum order_edge kind, uint64_t via), void *arg);

/* early() returns what is known of launch seq's griddepcontrol; false: nothing. Without it, or
 * where it knows nothing, a launch that may begin early is ordered behind nothing that the launch
 * in front does. */
void fold_on_early(
	struct fold *f, bool (*early)(void *arg, uint64_t seq, struct order_early *ret), void *arg);
/* code() returns what a kernel's code says; used for launches of which early() knows nothing. */
void fold_on_code(struct fold *f, bool (*code)(void *arg, uint64_t kernel, struct order_early *ret),
	void *arg);
/* Treats launches that may begin early as ordinary ones: for orders of whole commands, in which a
 * launch comes behind those that it waits for. */
void fold_early_in_order(struct fold *f);
/* The part of the launch that fold_apply() has just returned that comes before its wait, as an item
 * of its own; NULL: there is none apart. */
const struct order_item *fold_before_wait(const struct fold *f);

/* One command, in order of seq; s is the state before it. False when it is no item: it neither runs
 * on a stream nor shows the host that something is finished. */
bool fold_apply(
	struct fold *f, const struct state *s, const struct sbt_cmd *c, struct order_item *ret);
/* Command c, which feed_next() has just held, was submitted here: what comes of the host before it
 * was folded. When it is folded itself, it happens after what the host had learned by now, and a
 * wait for an event after the record that was the event's last one by now. */
void fold_held(struct fold *f, const struct sbt_cmd *c);
/* Says that the next command is a wait for a value that an unknown write may have ended: what is
 * behind the wait may be ordered behind that write, too (ORDER_EARLY_VALUE). The fold notices by
 * itself when it knows no write, or several. */
void fold_doubt(struct fold *f);
/* The next command, a copy or a fill, leaves that value at an address that is waited for. */
void fold_leaves(struct fold *f, uint64_t addr, uint64_t value);
/* The host touches memory right before command seq of that thread: an item of the host's lane. */
struct order_item fold_host_touch(struct fold *f, uint32_t thread, uint64_t seq);

/* What the host's lane has learned so far. Not a new reference. */
struct clock *fold_host_knows(struct fold *f, uint32_t thread);

/* Whether c is a synchronous copy from pageable memory: when the call returns its source has been
 * read, and no more is known. */
bool fold_is_staged(const struct state *s, const struct sbt_cmd *c);
/* Where the host's lane is. */
void fold_host_at(struct fold *f, uint32_t thread, uint32_t *ret_lane, uint32_t *ret_index);
/* Takes such copies of up to STAGED_SMALL_MAX bytes (staged.h) as finished when the call returns,
 * as drivers have been seen to do. */
void fold_small_copies_finish(struct fold *f);

/* Whether the item (lane, index) happens before b. */
static inline bool fold_before(uint32_t lane, uint32_t index, const struct order_item *b)
{
	return lane == b->lane ? index < b->index : clock_at(b->clock, lane) >= index;
}

/* The stream of a lane; SBT_NO_ID for the host. */
uint32_t fold_stream(const struct fold *f, uint32_t lane);
uint32_t fold_lanes(const struct fold *f);

#endif
