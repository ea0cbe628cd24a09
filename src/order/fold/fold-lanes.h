/* SPDX-License-Identifier: Apache-2.0
 *
 * The lanes of a fold (fold.h): how one happens after another, and the barrier of the legacy
 * default stream. Private to order/fold.
 */
#ifndef ORDER_FOLD_LANES_H
#define ORDER_FOLD_LANES_H

#include <stdlib.h>
#include <string.h>
#include "order/fold/fold.h"
#include "order/fold/written-values.h"
#include "order/fold/held.h"

struct lane {
	uint32_t stream; /* SBT_NO_ID: the host */
	uint32_t ctx;
	bool known, blocking, is_default;
	uint32_t index; /* items so far */
	uint64_t seq;	/* of the last one */
	struct clock
		*base; /* what the next one happens after, besides those before it on the lane */
	struct clock *point; /* base with the lane itself at point_index; made when needed */
	uint32_t point_index;
	uint32_t seen_default; /* items of the default stream that it waits for already */
	bool unseen_by_default, unseen_by_ctx;
	struct early early;
	bool waited_for_any; /* for an event that a launch attribute may have recorded */
	struct moment ahead; /* the end of a launch whose event it waited for, which fires before
				that; index 0: of none */
	uint64_t doubt;	     /* the last wait for a value in front of it that an unknown write may
			      * have ended; 0: none */
};

struct context {
	uint32_t default_lane; /* UINT32_MAX: not seen */
	struct clock *all;     /* what waiting for the context brings, besides the lanes marked
				  unseen_by_ctx */
	uint32_t *unseen_default, *unseen_ctx; /* lanes with new work */
	uint32_t nunseen_default, nunseen_ctx, cap_default, cap_ctx;
};

struct thread {
	uint64_t begin;	  /* the sync it is inside of; 0 */
	struct moment to; /* what is known to be finished when that sync ends */
	uint32_t lane;
};

#define LEAVES_MAX 64u

struct fold {
	struct lane *lanes;
	uint32_t nlanes, cap_lanes;
	uint32_t *stream_lanes; /* by id of the stream; UINT32_MAX none */
	uint32_t nstreams;
	struct moment *events; /* by id */
	uint32_t nevents;
	struct context *contexts; /* by id */
	uint32_t ncontexts;
	struct thread *threads; /* by number */
	uint32_t nthreads;
	struct values values;
	struct held held;
	uint32_t host; /* lane of all threads; UINT32_MAX: none yet, or threads_apart */
	bool threads_apart;
	void (*edge)(void *arg, uint64_t from, enum order_edge kind, uint64_t via);
	void *edge_arg;
	bool (*early)(void *arg, uint64_t seq, struct order_early *ret);
	void *early_arg;
	bool (*code)(void *arg, uint64_t kernel, struct order_early *ret);
	void *code_arg;
	bool early_in_order, small_copies_finish;
	bool doubt;		       /* fold_doubt() */
	bool attribute_events;	       /* some launch has recorded an event by an attribute */
	struct clock *by_attribute;    /* for orders of whole commands: the clock after the ends of
					* such launches */
	struct order_item before_wait; /* lane UINT32_MAX: none */
	struct sbt_cmd_batch leaves[LEAVES_MAX]; /* fold_leaves(): addr and value */
	unsigned nleaves;
	struct clock *kept[2]; /* clocks of the items returned last */
};

#define GROW(p, n, want, fill)                                                                     \
	do {                                                                                       \
		if ((want) >= (n)) {                                                               \
			const uint32_t to_ = ((want) + 1 + 63) & ~63u;                             \
			(p) = xrealloc((p), (size_t)to_ * sizeof *(p));                            \
			memset((p) + (n), (fill), (size_t)(to_ - (n)) * sizeof *(p));              \
			(n) = to_;                                                                 \
		}                                                                                  \
	} while (0)
/* a trace with larger ids is hostile; state_apply() refuses it as well */
#define IDS_MAX (1u << 24)

/* A new lane. */
uint32_t lane_new(struct fold *f, uint32_t stream);
/* The lane of a stream, made at first sight; UINT32_MAX for an id that no trace may have. */
uint32_t lane_of_stream(struct fold *f, const struct state *s, uint32_t id);
/* The lane of the host, or of this thread when threads are apart. */
uint32_t lane_of_thread(struct fold *f, uint32_t thread);
/* The thread with this number. */
struct thread *fold_thread(struct fold *f, uint32_t number);
/* From here on the lane is behind all launches that began early. */
void lane_settle(struct fold *f, uint32_t lane);
/* The clock of the lane's present moment. Not a new reference. */
struct clock *lane_point(struct fold *f, uint32_t lane);
/* The lane's present moment, with a reference to its clock. */
struct moment lane_moment(struct fold *f, uint32_t lane);
/* The lane's next item is in doubt as far as this command, at least. */
void lane_take_doubt(struct fold *f, uint32_t lane, uint64_t doubt);
/* The host knows that all work of the context submitted before seq is over. */
void lanes_settle_doubts(struct fold *f, uint32_t ctx, uint64_t seq);
/* The lane's next item happens after what c knows. */
void lane_join(struct fold *f, uint32_t lane, struct clock *c);
/* Reports an edge to fold_on_edge()'s function; from 0: none. */
void lane_tell_edge(struct fold *f, uint64_t from, enum order_edge kind, uint64_t via);
/* The lane's next item happens after the moment. */
void lane_join_moment(
	struct fold *f, uint32_t lane, const struct moment *m, enum order_edge kind, uint64_t via);
/* The lane's next item happens after all items of the other lane so far. */
void lane_join_lane(struct fold *f, uint32_t lane, uint32_t other, enum order_edge kind);
/* Puts command seq on the lane. */
struct order_item lane_advance(struct fold *f, uint32_t lane, uint64_t seq);
/* What the legacy default stream orders in front of the lane's next item. */
void lane_barrier(struct fold *f, uint32_t lane);
/* The lane has new work, which the default stream and the context have not waited for. */
void lane_note_work(struct fold *f, uint32_t lane);
/* The clock of all work of the context so far. Not a new reference. */
struct clock *fold_context_clock(struct fold *f, uint32_t ctx);

#endif
