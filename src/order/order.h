/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what a program ordered and what it did not: the happens-before graph of a trace, the memory
 * that its commands touch, and the pairs that touch the same bytes without an edge between them.
 * Pure: it needs a trace and its state, no device and no process.
 *
 * Every answer has a tier. CERTAIN: both accesses are known to the byte, and no edge the program
 * made orders them. LIKELY: one of them writes bytes that the other one, a kernel, was given the
 * address of. POSSIBLE: at least one of them is a kernel of which only the arguments are known, so
 * it may touch less than the allocation it was given. With a source of exact access sets (struct
 * order_source) the latter two become certain or disappear.
 */
#ifndef ORDER_ORDER_H
#define ORDER_ORDER_H

#include "order/fold/fold.h"
#include "sbt/memory.h"
#include "state/state.h"

/* --- accesses --- */

enum order_how {
	ORDER_READ,
	ORDER_WRITE,
	ORDER_ATOMIC, /* read-modify-write that no other atomic access disturbs */
	ORDER_MAYBE,  /* may read, may write, may do neither */
	ORDER_POINTS, /* a kernel was given the address of exactly this byte: it very likely uses
		       * it */
	ORDER_BIRTH,  /* a stream-ordered allocation: nothing may touch the memory before */
	ORDER_DEATH,  /* a stream-ordered free: nothing may touch it after */
	ORDER_HOWS
};
const char *order_how_name(enum order_how how); /* "reads", "writes", ... */

struct order_access {
	uint64_t addr, end; /* bytes [addr, end) */
	enum order_how how;
};
struct order_accesses {
	struct order_access *a; /* heap */
	size_t n, cap;
	bool unknown; /* there may be others: memory behind pointers that the trace does not show */
};
void order_access_add(struct order_accesses *l, uint64_t addr, uint64_t end, enum order_how how);
/* What c touches by its record and the state before it: exact for copies, fills and stream memory
 * operations, MAYBE for whole allocations that a kernel's arguments point into; a graph launch
 * touches what its nodes touch. Appends. */
void order_accesses_of(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c);

/* Bytes [addr, end) of host memory that were changed before command seq: by the host itself, or by
 * host function command `by` (0: none). doubt: 1 when a copy in flight may have made the change
 * instead, because it delivered other bytes in the recording than when it is executed again; else
 * 0. */
struct order_change {
	uint64_t seq, addr, end, by, doubt;
};
/* A source of exact access sets, such as a replay on the software GPU. accesses() fills l and
 * returns true when it knows exactly what command seq touches. */
struct order_source {
	void *arg;
	bool (*accesses)(void *arg, uint64_t seq, struct order_accesses *l);
	/* What is known of launch seq's use of griddepcontrol. Appends to before (may be NULL) what
	 * its threads touch before they have waited. False: nothing is known. NULL: the source
	 * never knows. */
	bool (*early)(
		void *arg, uint64_t seq, struct order_early *ret, struct order_accesses *before);
	bool writes_only; /* writes are exact; reads are inferred from kernel arguments */
	/* Whether the source knows what the host changed before command seq. If so, `changes` has
	 * it, in order of seq. NULL: it never knows. */
	bool (*knows_host)(void *host_arg, uint64_t seq);
	void *host_arg;
	const struct order_change *changes;
	size_t nchanges;
};

/* --- races --- */

enum order_tier { ORDER_CERTAIN, ORDER_LIKELY, ORDER_POSSIBLE };
const char *order_tier_name(enum order_tier t);

struct order_party {
	uint64_t seq;
	uint32_t stream; /* SBT_NO_ID: the host, which changed pinned memory right before command
			    seq */
	uint32_t kernel; /* SBT_NO_ID: no launch */
	uint32_t stack;	 /* 0: none */
	uint32_t node;	 /* of the graph that seq launches; SBT_NO_ID: the whole command */
	uint16_t kind;	 /* enum sbt_kind */
	enum order_how how;
};
/* A copy to the host that nothing had waited for when its bytes were overwritten or freed, or when
 * the recording ended: the host can only have read them too early. */
enum order_unread { ORDER_NO_COPY, ORDER_OVERWRITTEN, ORDER_FREED, ORDER_ENDED };
/* The earlier command is a synchronous copy from pageable memory whose call had returned before the
 * later one was submitted: its source had been read, its bytes need not have arrived. SMALL: up to
 * 64 KiB, a race by the letter of the documentation; drivers seen so far finish these first. */
enum order_staged { ORDER_NOT_STAGED, ORDER_STAGED, ORDER_STAGED_SMALL };
struct order_race {
	struct order_party a, b;  /* a.seq <= b.seq */
	enum order_unread unread; /* a is such a copy; b is the host, which may have read there
				   * before command b.seq overwrote or freed it (ENDED: the last
				   * one) */
	enum order_tier tier;
	uint64_t addr, size; /* bytes both touch: the first range of them in the first pair */
	uint64_t alloc, alloc_size; /* the allocation they lie in; 0 when in none */
	uint16_t early;	 /* b is a programmatic dependent launch behind a on its stream: enum
			    order_early_flags, ORDER_EARLY and why it is not sure */
	uint64_t behind; /* then: the launch in front of b */
	enum order_staged staged; /* a is such a copy */
	bool flag; /* one side is the host, the other a kernel that polls: the word may be a flag
		    * that orders them, and no race */
	uint64_t count;	 /* pairs of the same two places in the program */
	uint64_t last_b; /* b.seq of the pair that was counted last */
	bool hip;	 /* of a HIP program: the cure names HIP's calls */
};
struct order; /* the happens-before graph of a range, kept whole: about 60 bytes a command */
struct order_options {
	uint64_t first, last; /* commands to judge; 0, 0: all */
	bool early_in_order;  /* for order_open(): programmatic dependent launches are taken as
				 ordinary ones */
	bool strict; /* by the letter: ORDER_STAGED_SMALL races like any other one, and order_open()
			does not order it before what comes later */
	bool pairs_apart;   /* for order_races(): reports every pair, also those that meet at
			     * the same two places of the program */
	bool threads_apart; /* calls of different host threads are not ordered by their sequence */
	const struct order_source *source; /* may be NULL */
	/* Every pair that conflicts without an order, as it is met; may be NULL. */
	void (*each)(void *arg, const struct order_party *a, const struct order_party *b);
	void *each_arg;
	/* For order_open() and order_conflicts(), in order of seq: items of the host's lane, and
	 * accesses. */
	const struct order_change *changes;
	size_t nchanges;
	volatile bool *interrupt; /* may be NULL */
	/* For order_open(): lets others see each command in the same pass, in order of seq: with
	 * the state before it, when its item is in the graph (not yet, of a command that a wait for
	 * a value holds: order_waits()), and with the state that has it. An error ends the pass.
	 * Each may be NULL. */
	struct err *(*before)(
		void *arg, const struct order *o, const struct state *s, const struct sbt_cmd *c);
	struct err *(*after)(void *arg, const struct state *s, const struct sbt_cmd *c);
	void *before_arg, *after_arg;
};
struct order_races {
	struct order_race *r; /* certain ones first, then by seq */
	size_t n;
	uint64_t commands;     /* looked at */
	uint64_t unknown;      /* launches and host functions of which nothing is known */
	uint64_t more;	       /* places left out beyond ORDER_RACES_MAX */
	uint64_t by_attribute; /* launches whose attributes record an event; what waiting for
				* that event orders is not known */
	uint64_t early_edges;  /* pairs of nodes with only a programmatic edge between them;
				* whether the later one waits is not known */
	uint64_t early, early_unknown; /* programmatic dependent launches; those not known to
					* wait or not */
	uint64_t coarse;	       /* allocations with too many pieces to keep exact places */
};
#define ORDER_RACES_MAX 10000
/* One pass over the trace, linear in commands; memory grows with live allocations and with places,
 * not with commands. ERR_INTERRUPTED when *interrupt becomes true. */
struct err *order_races(
	struct order_races *ret, struct sbt_reader *trace, const struct order_options *o) TS_CHECK;
void order_races_free(struct order_races *r);
/* The surest first, for callers that changed tiers. */
void order_races_sort(struct order_races *r);
/* "cuStreamWaitEvent on stream 3 before #214, for an event recorded on stream 2 after #201". */
void order_race_cure(struct buf *out, const struct order_race *r);

/* Launches of kernels and graphs whose accesses matter, because something is not ordered with them.
 * Of o: first, last, threads_apart, interrupt. */
struct order_suspects {
	uint64_t *seq; /* in order; heap */
	size_t n;
	uint64_t launches; /* all of them */
	bool host; /* page-locked memory changed while work was running, so it matters whether
		    * the host did it */
	bool late; /* some come later than their number: behind a wait for a value that a later
		      command writes */
};
struct err *order_suspects(struct order_suspects *ret, struct sbt_reader *trace,
	const struct order_options *o) TS_CHECK;
void order_suspects_free(struct order_suspects *s);

/* --- the graph --- */

#define ORDER_KEEP_MAX 20000000u
/* Commands first..last; ERR_LIMIT beyond ORDER_KEEP_MAX. */
struct err *order_open(
	struct order **ret, struct sbt_reader *trace, const struct order_options *o) TS_CHECK;
void order_close(struct order *o);
/* The state at the end of the range; belongs to o. */
const struct state *order_state(const struct order *o);
/* Whether there was a wait for a value. */
bool order_waits(const struct order *o);
/* Whether a is finished before b begins, in every run of the program. False for commands that are
 * no work. */
bool order_before(const struct order *o, uint64_t a, uint64_t b);
/* False when seq is not in the graph: it neither runs on a stream nor shows the host that something
 * is finished. */
bool order_item(const struct order *o, uint64_t seq, struct order_item *ret);
uint32_t order_stream_of(const struct order *o, uint32_t lane); /* SBT_NO_ID: the host */
/* The i-th item in order of seq; false past the end. */
bool order_item_at(const struct order *o, size_t i, struct order_item *ret);
size_t order_items(const struct order *o);
uint32_t order_lanes(const struct order *o);
/* The seq of a lane's item with that index, from 1, or of its last item if the index is higher: a
 * clock also counts a launch that may begin early, which is an item of another lane. 0: the index
 * is 0, or the lane has no items in the range. */
uint64_t order_seq_on(const struct order *o, uint32_t lane, uint32_t index);

struct order_step {
	uint64_t from, to;
	enum order_edge edge;
	uint64_t via;	  /* the stream_wait of an EVENT edge */
	uint64_t skipped; /* items between on the same stream, for a STREAM edge */
};
/* How a comes before b: steps in order, heap, *ret_n of them. ERR_NOT_FOUND with the reason when no
 * path leads from a to b. */
struct err *order_path(const struct order *o, uint64_t a, uint64_t b, struct order_step **ret,
	size_t *ret_n) TS_CHECK;

#define ORDER_CONFLICTS_MAX 3000u
/* Calls o->each for every pair of commands o->first..o->last on streams that conflicts without an
 * order, once, sorted by the later one. *ret_unknown: some command may touch memory that the trace
 * does not show. ERR_LIMIT beyond ORDER_CONFLICTS_MAX commands that touch memory: time grows with
 * their square. */
struct err *order_conflicts(const struct order *order, struct sbt_reader *trace,
	const struct order_options *o, bool *ret_unknown) TS_CHECK;

/* --- schedules --- */

/* Orders in which the work of the graph may run one command after the other: each respects every
 * edge, and nothing more. An order is a heap array of *ret_n entries: seqs of work (of streams; not
 * what the host learns), and where the graph was made with the host's changes of memory, those as
 * well: with ORDER_HOST, what the host changed before command seq. ORDER_POISON, on an allocation
 * or a free in stream order: its memory is then filled with ORDER_POISON_BYTE, since a program may
 * not rely on what it holds. On a launch: it is held while the programmatic dependent launches
 * behind it run as far as they can (SBT_ATTR_HELD). No order_*() sets it, all accept it. */
#define ORDER_HOST (UINT64_C(1) << 63)
#define ORDER_POISON (UINT64_C(1) << 62)
#define ORDER_POISON_BYTE 0xff
/* For reporting results only: the step of graph launch seq (state/steps.h) in the bits of
 * ORDER_STEPS; 0: the command itself. seq must be less than ORDER_STEP_SEQS then. */
#define ORDER_STEP_SEQS (UINT64_C(1) << 40)
#define ORDER_STEPS (((UINT64_C(1) << 22) - 1) << 40)
static inline uint64_t order_seq(uint64_t entry)
{
	return entry & ~(ORDER_HOST | ORDER_POISON | ORDER_STEPS);
}
static inline uint32_t order_entry_step(uint64_t entry)
{
	return (uint32_t)((entry & ORDER_STEPS) / ORDER_STEP_SEQS);
}
/* The key by which entries are sorted: the host's changes come right before their command. */
static inline uint64_t order_key(uint64_t entry)
{
	return order_seq(entry) << 1 | !(entry & ORDER_HOST);
}

/* b, and what has to come before it, first; the rest in order of seq. ERR_NOT_FOUND as order_path()
 * has it when a comes before b always. */
struct err *order_flip(
	const struct order *o, uint64_t a, uint64_t b, uint64_t **ret, size_t *ret_n) TS_CHECK;
/* In order of seq, but for n pairs: of each, `before` comes first. ERR_NOT_FOUND when the graph, or
 * the pairs among them, do not allow that. */
struct order_pair {
	uint64_t before, after;
};
struct err *order_with(const struct order *o, const struct order_pair *pairs, size_t n,
	uint64_t **ret, size_t *ret_n) TS_CHECK;
/* One stream last (starved) or first, wherever there is a choice; the others in order of seq. */
struct err *order_prefer(
	const struct order *o, uint32_t stream, bool first, uint64_t **ret, size_t *ret_n) TS_CHECK;
/* A random order: streams have priorities that change now and then. The same seed gives the same
 * order. */
struct err *order_shuffle(
	const struct order *o, uint64_t seed, uint64_t **ret, size_t *ret_n) TS_CHECK;
/* Wherever there is a choice, what started first comes first: starts of n commands, in order of
 * seq. What is not among them goes as soon as it may. */
struct order_start {
	uint64_t seq, ns;
};
struct err *order_started(const struct order *o, const struct order_start *starts, size_t n,
	uint64_t **ret, size_t *ret_n) TS_CHECK;
/* In order of seq: as it was submitted. This is what is meant by the recorded order, and what a
 * replay executes. */
struct err *order_recorded(const struct order *o, uint64_t **ret, size_t *ret_n) TS_CHECK;
/* Writes the window first..last of the trace as a trace of its own, in which the work comes in the
 * order of seqs, with a wait for the context wherever the stream changes: executing it gives that
 * order every time. Memory at the end is what ends says (hashes; nothing else is kept of it).
 * Commands are numbered anew from first; *ret_seqs (may be NULL) has the old number of each (0: a
 * wait or a fill that was put in), from first on. */
struct order_end {
	uint64_t addr, size;
	struct sbt_hash hash;
};
struct order_schedule {
	uint64_t first, last;
	const uint64_t *seqs; /* entries, n of them */
	size_t n;
	const struct order_end *ends;
	size_t nends;
	/* Host memory is as this order leaves it: copies for which order_reads_live() holds read
	 * what is there, not what the recording has, and exactly those of the host's changes are
	 * made that `seqs` names. */
	bool live;
	const struct order_change *changes; /* in order of seq */
	size_t nchanges;
};
struct err *order_rewrite(struct sbt_reader *trace, const struct order_schedule *plan,
	const char *path, uint64_t **ret_seqs, size_t *ret_n) TS_CHECK;
/* Whether c is a copy of one row of bytes from page-locked memory, by the state before it. */
bool order_reads_live(const struct state *s, const struct sbt_cmd *c);
/* The memory that c allocates or frees; nothing is written when it does neither. */
void order_owns(
	const struct state *s, const struct sbt_cmd *c, uint64_t *ret_addr, uint64_t *ret_size);

/* Whether seqs is such an order: every edge is respected, each work is there once. */
bool order_is_legal(const struct order *o, const uint64_t *seqs, size_t n);

const char *order_edge_name(enum order_edge e);
/* The graph in Graphviz's language: a row for each stream, an edge where one lane waits for
 * another. label (may be NULL) appends a command's text. ERR_LIMIT for more than ORDER_DOT_MAX
 * items. */
#define ORDER_DOT_MAX 5000
struct err *order_dot(struct buf *out, const struct order *o,
	void (*label)(void *arg, struct buf *out, uint64_t seq), void *arg) TS_CHECK;

#endif
