/* SPDX-License-Identifier: Apache-2.0
 *
 * What drawer memory/ offers: allocations at their recorded addresses, their contents from the
 * trace, copies between the trace and the device, hashes, comparisons with what was recorded, and
 * checkpoints of all memory. Addresses are those of the recording unless a name says `here`.
 */
#ifndef REPLAYER_CONTENTS_H
#define REPLAYER_CONTENTS_H

#include "base/buf.h"
#include "replayer/backend.h"
#include "replay/protocol.h"
#include "replayer/memory/replayer-ranges.h"
#include "sbt/memory.h"
#include "state/state.h"

struct rp;

/* --- memory --- */

/* An allocation that the window needs. */
struct wanted {
	uint64_t addr, size;
	enum sbt_mem mem;
	unsigned dev;	/* number of the device that it lives on */
	bool at_start;	/* live before the window */
	bool touched;	/* touched_find() */
	bool by_kernel; /* the same: and a kernel may have */
};
struct place {
	struct wanted *wanted;
	size_t nwanted, cap_wanted;
	struct ranges
		device; /* what the allocations cover: the contents that matter, checkpointed */
	struct ranges mapped; /* reserved and mapped, larger */
	struct ranges host;   /* pinned memory and what is mixed, by pages */
	struct ranges mixed; /* pinned memory in the blocks of device memory, and device memory that
				shares a grain with it; by the grain */
};

/* Host memory in flight between the trace and the device. */
#define STAGING_SLOTS 8u
#define STAGING_BYTES (4u << 20) /* a multiple of SBT_PAGE */
struct staging_slot {
	uint8_t *mem; /* pinned */
	struct gpu_event *event;
	unsigned dev; /* of the event */
	bool busy;
	uint32_t output; /* index into outputs that the slot's bytes belong to, UINT32_MAX: none */
	uint64_t offset, n;
};
/* A copy to the host whose result is compared. */
struct output {
	const struct sbt_memory *piece;
	uint64_t addr; /* where it is copied from, as that was */
	uint64_t left;
	struct sbt_hash sum, as_it_is; /* with addresses of the recording; with those of here, which
					  may have been in it */
};
struct contents {
	struct sbt_memory *start, *flow, *end; /* sorted by seq, role, addr */
	size_t nstart, cap_start, nflow, cap_flow, nend, cap_end;
	bool any_freed; /* in flow */
	struct staging_slot slots[STAGING_SLOTS];
	unsigned next_slot;
	struct output *outputs;
	size_t noutputs, cap_outputs;
	/* what is known by now; an output that is executed again replaces its earlier answer */
	struct verdict {
		const struct sbt_memory *piece;
		bool same, unknown; /* unknown: what was recorded cannot be compared with */
	} * verdicts;		    /* in the order of flow */
	size_t nverdicts, cap_verdicts;
};

struct checkpoint {
	uint64_t seq;
	uint64_t mem;  /* all device ranges and globals, one after the other */
	uint8_t *host; /* all host ranges; NULL when there are none */
	bool changed;  /* right behind a launch in which something was set: nothing else has this
			  memory, so it is kept */
};
struct checkpoints {
	struct checkpoint *c; /* by seq */
	size_t n, cap, max;
	uint64_t bytes;	  /* of one, on the device */
	uint64_t last_ns; /* when the last was taken or restored */
	uint64_t cost_ns; /* what one cost, the room for it included */
	uint64_t pace_ns; /* what a command cost lately, on the way to a place before the position;
			     0: not known */
	bool planned;	  /* max is known */
};

/* --- replayer-touched.c --- */

/* Allocations of the window by address; reach: where those up to this one end at most, so that
 * looking back ends. */
struct alloc_rows {
	struct alloc_row {
		struct wanted *w;
		uint64_t reach;
	} * row; /* the caller frees it */
	size_t n;
};
void alloc_rows_sort(struct alloc_rows *r, const struct place *p);
/* Allocations with a byte in [addr, end) are among the rows from the one before the returned index
 * back to the one whose reach is not above addr. */
size_t alloc_rows_before(const struct alloc_rows *r, uint64_t end);
/* Finds which of place.wanted the window's commands name, directly or through recorded pointers:
 * sets wanted.touched and wanted.by_kernel. */
struct err *touched_find(struct rp *rp) TS_CHECK;
/* Removes the untouched allocations from place.wanted. */
struct err *touched_only(struct rp *rp) TS_CHECK;

/* --- replayer-place.c --- */

/* The bytes of device memory that place.wanted holds, without the gaps that place.device may have.
 * The caller frees them. */
struct ranges place_allocations(const struct rp *rp);
/* Reserves and maps place.wanted. Must be called right after the context was made. */
struct err *place_all(struct rp *rp) TS_CHECK;
/* After place_all: pinned memory. */
struct err *place_host(struct rp *rp) TS_CHECK;
enum place_where { PLACE_NOWHERE, PLACE_DEVICE, PLACE_HOST };
/* Where the recorded range is here: *ret is its address in this process (a module's global has
 * moved). */
enum place_where place_find(const struct rp *rp, uint64_t addr, uint64_t size, uint64_t *ret);

/* --- replayer-memory.c, replayer-restore.c, replayer-staging.c --- */

struct err *contents_read_index(struct rp *rp) TS_CHECK;
/* Restores the memory of the window's start from the trace, with several threads
 * (replayer-restore.c). No other work may be going on. */
struct err *contents_restore(struct rp *rp) TS_CHECK;
/* Loads the hash kernel, if this device accepts it. */
void contents_open_hash(struct rp *rp);
/* Pieces of command seq in *ret_n elements from the returned one. */
const struct sbt_memory *contents_of(const struct rp *rp, uint64_t seq, size_t *ret_n);
const struct sbt_memory *contents_find(
	const struct rp *rp, uint64_t seq, enum sbt_memory_role role, uint64_t addr);
/* Applies the HOST (before) or EFFECT (after) pieces of seq; *ret_any: there were some (may be
 * NULL). */
struct err *contents_apply(
	struct rp *rp, uint64_t seq, enum sbt_memory_role role, bool *ret_any) TS_CHECK;
/* Writes the bytes of a piece to their present address; in order with stream. */
struct err *contents_put(struct rp *rp, const struct sbt_memory *m, uint64_t addr,
	struct gpu_stream *stream) TS_CHECK;
struct err *contents_read(struct rp *rp, uint64_t addr, void *dst, size_t n) TS_CHECK;
struct err *contents_write(struct rp *rp, uint64_t addr, const void *src, size_t n) TS_CHECK;
/* Hashes memory at recorded addresses; everything submitted must have finished. */
struct err *contents_hash(
	struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* The same over the recorded values of addresses, for comparing with another process. Slow where
 * globals or functions have moved. */
struct err *contents_hash_recorded(
	struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* Hashes pages of memory that is at `here` in this process. */
struct err *contents_hash_pages(
	struct rp *rp, uint64_t here, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* Compares what command seq is about to free with what was recorded; waits for all that has been
 * submitted. */
struct err *contents_compare_freed(struct rp *rp, uint64_t seq) TS_CHECK;
/* Appends struct replayer_piece to pieces. */
struct err *contents_verify(
	struct rp *rp, struct replayer_verified *ret, struct buf *pieces) TS_CHECK;

struct err *staging_open(struct rp *rp) TS_CHECK;
/* Uploads m to `to`, which was at addr in the recording (moved_to_here()). */
struct err *staging_upload(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t to,
	struct gpu_stream *stream) TS_CHECK;
/* Reads n bytes of device or pinned memory, which was at addr, and compares them with m (NULL: not
 * compared). They are stored nowhere. */
struct err *staging_output(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t from,
	uint64_t n, struct gpu_stream *stream) TS_CHECK;
/* Checks outputs that have arrived; wait: all of them. */
struct err *staging_collect(struct rp *rp, bool wait) TS_CHECK;
/* Notes whether the output, or freed memory, m (of the index) was the same. */
void staging_verdict(struct rp *rp, const struct sbt_memory *m, bool same);

/* --- replayer-feeder.c --- */

/* Announces that a copy of the window will upload the piece to addr. Called in the order of the
 * commands, before feeder_open(). */
void feeder_add(struct rp *rp, const struct sbt_memory *m, uint64_t addr);
/* Starts reading. */
struct err *feeder_open(struct rp *rp) TS_CHECK;
bool feeder_has(const struct rp *rp, const struct sbt_memory *m);
/* Like staging_upload(), for pieces that the feeder has. */
struct err *feeder_upload(
	struct rp *rp, const struct sbt_memory *m, uint64_t to, struct gpu_stream *stream) TS_CHECK;

/* --- replayer-checkpoint.c --- */

/* Keeps a copy of the memory at the position. No room is no error. */
struct err *checkpoint_take(struct rp *rp) TS_CHECK;
/* The same, if one is due. */
struct err *checkpoint_tick(struct rp *rp) TS_CHECK;
struct err *checkpoint_seek(struct rp *rp, uint64_t seq) TS_CHECK;
/* Drops the checkpoints at and behind `from`: the user changed something there, or the launches in
 * which something was set execute as recorded again. */
void checkpoint_forget(struct rp *rp, uint64_t from);
/* The same at the position, whose memory the user has just changed; what was set in launches up to
 * there stays. */
struct err *checkpoint_renew(struct rp *rp) TS_CHECK;
/* Behind a launch in which something was set: from here on its memory is the position's, until one
 * goes back before the launch. *ret_kept false: there is no room for that. */
struct err *checkpoint_change(struct rp *rp, bool *ret_kept) TS_CHECK;
/* The last such launch; 0: none. */
uint64_t checkpoint_changed(const struct rp *rp);

/* --- replayer-image.c --- */

/* The most host memory for contents whose size a trace gives; more is refused
 * (docs/replayer.md). */
#define IMAGE_MAX (4ull << 30)
/* size bytes of zeros for `what` of command seq. The caller frees it. */
struct err *image_alloc(
	struct rp *rp, uint64_t seq, uint64_t size, const char *what, uint8_t **ret) TS_CHECK;
/* The same for n elements of `each` bytes. */
struct err *image_array(struct rp *rp, uint64_t seq, uint64_t n, uint64_t each, const char *what,
	void **ret) TS_CHECK;

#endif
