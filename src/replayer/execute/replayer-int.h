/* SPDX-License-Identifier: Apache-2.0
 *
 * struct rp, which holds a whole replay, and what drawer execute/ offers: errors, the window's
 * opening, the execution of commands in their order, the watchdog. The other drawers' functions are
 * in objects/objects.h, memory/contents.h and inspect/inspect.h, which this header includes. There
 * is one process, one trace, its devices, one thread that calls the GPU, and a watchdog that only
 * looks at the clock. Each device has one context here, which replaces all contexts that the
 * program made on it. The context of home, the window's first device, is current, except while a
 * command of another device is executed (replayer-devices.c).
 */
#ifndef REPLAY_REPLAYER_INT_H
#define REPLAY_REPLAYER_INT_H

#include <stdatomic.h>
#include "base/buf.h"
#include "replay/protocol.h"
#include "replayer/backend.h"
#include "replayer/inspect/inspect.h"
#include "replayer/memory/contents.h"
#include "replayer/objects/objects.h"
#include "replayer/sandbox/sandbox.h"
#include "sbt/footprint.h"
#include "sbt/memory.h"
#include "state/state.h"
#include "state/late-work.h"
#include "state/steps.h"

/* What the user changed; applied whenever execution passes it. */
struct edit {
	uint64_t seq; /* a write: after this command. A parameter: of this launch */
	bool is_param;
	uint32_t param;
	uint64_t addr;
	uint8_t *bytes;
	size_t n;
};

/* Remembers what was submitted last, when one command runs after the other (replayer-turn.c). */
struct turn {
	bool overlap; /* streams overlap instead */
	bool ordered; /* ORDER says what comes when, and waits where the stream changes */
	bool any; /* something may be in flight: what was submitted to stream last of device dev,
		     and all before it */
	struct gpu_stream *last;
	unsigned dev;
	struct gpu_event *event[DEVICES_MAX]; /* by device; NULL: not made */
};

struct watchdog {
	_Atomic uint64_t turn; /* another number for each wait; 0: nothing is being waited for */
	uint64_t turns;	       /* the main thread's: the last number given */
	_Atomic uint64_t seq, first; /* first: nothing before it is in flight */
	/* the thread that may write to the socket: 0 the main thread, 1 the watchdog */
	_Atomic int owner;
	_Atomic uint64_t limit_ns; /* while a GPU is being opened OPEN_NS at least */
	uint64_t command_ns;	   /* what a command may take */
	int fd;
};

/* Events along the way, so that a long wait becomes many short ones and the host knows about how
 * far the device is. At most MARKS of them are pending; the commands between two of them take some
 * milliseconds. */
#define MARKS 3u
#define MARK_EVERY_MAX 64u
struct marks {
	struct gpu_event *event[MARKS];
	unsigned dev[MARKS]; /* of the events */
	uint64_t seq[MARKS];
	unsigned head, n, since, every;
	uint64_t passed_ns; /* when the device was seen to pass the last one; 0: nothing has been in
			       flight since */
	uint64_t pretend_ns, clock_ns; /* for tests, else 0: how far each passing moves
					  marks_clock(), and its time */
};

#define TABLE_PAGE 4096
struct rp {
	/* A page that is read-only once the backend's library is open. */
	_Alignas(TABLE_PAGE) const struct backend *gpu;
	struct backend_library lib;
	_Alignas(TABLE_PAGE) struct sandbox *sandbox; /* NULL: none */
	int trace_fd;
	struct sbt_reader *trace;
	struct sbt_cursor *cursor;
	uint64_t cursor_seq; /* of the command it delivered last; UINT64_MAX: it must seek */
	bool open;
	unsigned flags; /* enum replayer_open_flags */
	uint64_t first, last;
	uint64_t position; /* everything up to here has been submitted */
	uint64_t current;  /* being submitted */
	uint64_t finished; /* everything up to here is known to have finished */
	bool trace_soft;
	bool attached; /* an agent came late: not everything that was there is known */
	struct devices devices;
	struct gpu_stream *own; /* ours: contents, checkpoints */
	struct objects objects;
	struct place place;
	struct contents contents;
	struct restore_kit *restore_kits; /* replayer-restore.c; NULL: none yet */
	struct feeder *feeder;		  /* NULL: nothing for it to do */
	struct checkpoints checkpoints;
	struct in_graph { /* replayer-node.c: the position is before launch seq, memory is as after
			     so many steps of it */
		uint64_t seq; /* 0: in none */
		uint32_t done;
		struct state_steps steps;
	} in_graph;
	struct replayer_graph_part part; /* seq 0: graph launches are executed whole */
	struct moved moved;
	struct probe *probes; /* by number of the code; NULL: none yet */
	struct soft_watching {
		const struct soft_watch *soft; /* NULL: not the software GPU */
		struct replayer_soft how;
		struct buf *out; /* access sets go there; NULL: none are asked for */
		uint32_t max;
		uint64_t n;
		bool by_base;	/* launches whose addressing is known are collected by base */
		uint32_t bases; /* the present one is: how many sets it has */
	} watch;
	struct window_kept *kept; /* replayer-order.c; NULL: not read */
	uint64_t host_done; /* the host's changes of memory before commands up to this one were made
			       already, or are not to be; 0: as each command comes */
	bool live_host; /* the copy being executed reads what is in host memory, not what it carried
			 */
	bool holding;	/* a held launch was submitted, and since then only such as may overtake it:
			   nothing may come between them */
	struct checking *checking; /* replayer-check.c; NULL: nothing is checked */
	struct fresh {		   /* replayer-fresh.c: memory allocated since, newest last */
		bool on;
		struct fresh_range {
			uint64_t addr, here, size; /* of the recording; in this process */
		} * r;
		size_t n, cap;
	} fresh;
	/* memory at the position differs from what executing up to there gives: the next seek
	 * restores it */
	bool stale;
	struct edit *edits;
	size_t nedits, cap_edits;
	uint64_t *skip; /* sorted */
	size_t nskip;
	bool skip_recorded;
	struct microscope micro;
	struct marks marks;
	struct turn turn;
	struct late
		*late; /* submitted, and not executed yet: it waits for a value (replayer-late.c) */
	struct {
		uint64_t addr, size; /* size 0: nothing is */
		struct sbt_hash is;  /* right now */
		uint64_t seq;	     /* the last command that came late and changed it; 0: none */
	} late_watched;
	/* Executes a command that comes late; NULL: execute_late(). */
	struct err *(*late_by)(struct rp *rp, const struct sbt_cmd *c);
	uint64_t forced; /* of those, the first wait that went on without its value; 0: none */
	struct watchdog watchdog;
	bool has_hash;	  /* false: the driver would not load it; hash on the host */
	char *path;	  /* of the trace */
	struct buf notes; /* sentences for OPEN's reply */
	uint64_t unrepeatable;
	uint64_t work, recorded, left_out; /* of struct replayer_opened */
	struct recorded_fault {
		uint64_t told, first,
			last; /* the call that got the error, 0: none; the commands that can have
				 caused it, first 0: none in the window */
		uint32_t code;
		uint64_t wait; /* while learning: the last wait for a context */
	} fault;
	struct replayer_figures figures;
	/* of the error being returned */
	uint32_t fail_code;
	uint64_t fail_seq, fail_first;
};

/* ---- addresses that changed (objects/objects.h) ---- */

/* Translates n bytes that have addresses of the recording, for memory that was at addr then; any
 * thread. For a copy from or to the host, addr is the side on the device. Returns how many
 * addresses changed. */
static inline size_t moved_to_here(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_here, addr, p, n);
}
/* Translates n bytes of this device back to the recording's addresses, for comparing or showing
 * them. */
static inline size_t moved_to_there(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_there, addr, p, n);
}
/* --- replayer-fail.c: errors --- */

/* Makes an error of the protocol: code and seq go with it to tsdb. */
struct err *rp_fail(struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt,
	...) TS_PRINTF(4, 5) TS_CHECK;
/* Returns NULL for GPU_OK. A fault names the commands that can have caused it. */
struct err *rp_gpu_failed(struct rp *rp, struct gpu_result r) TS_CHECK;
static inline struct err *TS_CHECK rp_gpu(struct rp *rp, struct gpu_result r)
{
	return r.status == GPU_OK ? NULL : rp_gpu_failed(rp, r);
}
/* One operation of the backend; returns its error. */
#define GPU(rp, op, ...) TRY(rp_gpu((rp), (rp)->gpu->op(__VA_ARGS__)))
/* CLOCK_MONOTONIC: for figures, and for how often something is done, never for whether. With
 * TSDB_REPLAYER_CLOCK=SECONDS (for tests) each look is so many seconds later than the one before.
 */
uint64_t now_ns(void);

/* Of a long request a reply comes about every long_ns, so that tsdb shows how far it is and hears
 * Ctrl-C. `while (slice_goes_on(&s))` turns at least once, however late the processor comes round
 * to it: every reply says more than the one before. */
struct slice {
	uint64_t long_ns, began_ns; /* began_ns 0: not yet */
};
bool slice_goes_on(struct slice *s);

/* --- replayer-window.c --- */

/* Everything that REPLAYER_OPEN does. */
struct err *window_open(struct rp *rp, const char *path) TS_CHECK;
/* Another reader of the trace, for a thread of its own. Nothing is opened for it: the sandbox is
 * shut. */
struct err *window_reader(const struct rp *rp, struct sbt_reader **ret) TS_CHECK;
/* Refuses a command that is not in the window. */
struct err *window_holds(struct rp *rp, uint64_t seq) TS_CHECK;
/* A line for the user; counted: a command that cannot be executed again. */
void window_note(struct rp *rp, bool counted, const char *fmt, ...) TS_PRINTF(3, 4);

/* --- replayer-held.c --- */

/* Prepares the next launch, of function *f, to be held; may replace *f. Fails when this device
 * cannot hold it. */
struct err *held_launch(
	struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f) TS_CHECK;
/* Prepares the next launch, of function *f, to run while one before it is held. May replace *f, so
 * that the launches behind it can run, too. */
struct err *held_passed(
	struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f) TS_CHECK;

/* --- replayer-fault.c --- */

/* Learns from a command of the window; called in order. */
void fault_learn(struct rp *rp, const struct sbt_cmd *c);
/* Whether c may be the one that broke the device in the recording. */
bool fault_suspects(const struct rp *rp, const struct sbt_cmd *c);

/* --- replayer-execute.c --- */

/* Whether there is a way to execute commands of c's kind, or none is needed. */
bool execute_knows(const struct sbt_cmd *c);
/* Submits c, or keeps it for later (replayer-late.c). */
struct err *execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Executes a command that was kept for later. */
struct err *execute_late(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Makes the user's writes at positions first to last. */
struct err *execute_writes(struct rp *rp, uint64_t first, uint64_t last) TS_CHECK;
/* Sets the position to seq; nothing is in flight. */
void execute_at(struct rp *rp, uint64_t seq);
/* Notes that nothing up to seq is in flight. */
void execute_finished(struct rp *rp, uint64_t seq);
/* The parts of execute() before and after the command's own work: they make the changes of memory
 * by the user and by the program's host. */
struct err *execute_before(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *execute_after(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Executes a step of a graph launch as a command of its own on a stream. Only for kinds that
 * step_works() accepts. */
struct err *execute_node(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Waits for everything submitted. */
struct err *execute_finish(struct rp *rp) TS_CHECK;
/* Executes the next command after the position; if there is none up to seq, the position becomes
 * seq. */
struct err *execute_step(struct rp *rp, uint64_t seq, bool *ret_work) TS_CHECK;
/* Executes from the position up to seq, and takes checkpoints on the way. */
struct err *execute_to(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *execute_run(
	struct rp *rp, const struct replayer_run *run, struct replayer_ran *ret) TS_CHECK;
/* The command seq; NULL when the trace has none. Valid until the next call. */
struct err *execute_fetch(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* The next command behind the position, up to seq; NULL: none. */
struct err *execute_fetch_next(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* Puts the launch's parameters with the user's changes into out. */
struct err *execute_args(
	struct rp *rp, const struct sbt_cmd *c, const struct rkernel *k, struct buf *out) TS_CHECK;

/* Gives a launch's function, parameters and shared memory. */
struct err *execute_launch_parts(
	struct rp *rp, const struct sbt_cmd *c, struct gpu_kernel **ret, struct buf *args) TS_CHECK;
/* The launch of f with args, as recorded. args must outlive it. */
struct gpu_launch execute_launch_of(
	const struct sbt_cmd_launch *u, struct gpu_kernel *f, const struct buf *args);
/* Whether the recording holds what c did, so that c is not executed; whether the user left it
 * out. */
bool execute_has_effect(const struct rp *rp, uint64_t seq);
bool execute_is_skipped(const struct rp *rp, uint64_t seq);

/* --- replayer-turn.c --- */

/* Makes c, about to be submitted to its stream, wait for everything before it. Its device's context
 * is current. */
struct err *turn_of(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Makes what is next submitted to stream, of the current device, wait for everything submitted
 * before, even where streams overlap. */
struct err *turn_take(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
/* Whether commands run one after the other only because a replay has an order. */
static inline bool turn_is_fixed(const struct rp *rp)
{
	return !rp->turn.overlap && !rp->turn.ordered;
}
/* Called before the stream is destroyed, perhaps with work in it. */
struct err *turn_before_destroy(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
/* Notes that nothing is in flight. */
void turn_over(struct rp *rp);
/* Lets streams overlap from now on, or not. */
struct err *turn_overlap(struct rp *rp, bool overlap) TS_CHECK;

/* ---- replayer-late.c
 * -------------------------------------------------------------------------------------------------------
 */

/* Whether c, the next command, has to wait for a value in memory that a later one writes:
 * late_keep() instead of executing it. */
struct err *late_comes(struct rp *rp, const struct sbt_cmd *c, bool *ret) TS_CHECK;
void late_keep(struct rp *rp, const struct sbt_cmd *c);
/* Called when memory is again as it was at seq, where nothing was kept. */
void late_back(struct rp *rp, uint64_t seq);
/* Takes a kept command that can run by now; the caller executes it. */
struct err *late_take(struct rp *rp, struct sbt_cmd *ret, bool *ret_any) TS_CHECK;
/* Executes all kept commands that can run by now; at the window's end, all of them. */
struct err *late_go(struct rp *rp) TS_CHECK;

/* --- replayer-into.c --- */

struct into_kind {
	enum sbt_kind kind;
	const char *noun; /* in words */
	const char *so;	  /* what follows from its not being executed again, ", so ..." or "" */
};
/* Goes to before launch seq and takes a checkpoint there for the way back; *ret is valid until the
 * next command is fetched. Refuses a command that cannot be looked into: one of another kind, one
 * that did not run here, or one that is not executed again in this replay. */
struct err *into_seek(struct rp *rp, uint64_t seq, const struct into_kind *k,
	const struct sbt_cmd **ret) TS_CHECK;
/* Does what comes before the launch's own work. */
struct err *into_begin(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Called when the launch has run to its end and nothing is in flight: the position is then behind
 * it. */
void into_behind(struct rp *rp, uint64_t seq);

/* --- replayer-copy.c --- */

struct err *copy_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *fill_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* The piece that the copy reads from memory of the program, if it is uploaded as one row of bytes;
 * else NULL. */
const struct sbt_memory *copy_payload(const struct rp *rp, const struct sbt_cmd *c);
/* A side of a copy: its rows as recorded, and where their first byte is here. */
struct copy_side {
	struct sbt_rows rows;
	/* PLACE_NOWHERE: the replayer's own host memory, which has sbt_rows_size() bytes */
	enum place_where where;
	uint64_t here;
};
/* Converts the side for the backend. */
struct gpu_rows copy_rows_of(const struct copy_side *s);

/* --- replayer-order.c --- */

/* tail: the n bytes that follow q. */
struct err *order_run(struct rp *rp, const struct replayer_order *q, const void *tail, size_t n,
	struct buf *out) TS_CHECK;
void order_free(struct rp *rp);

/* --- replayer-check.c --- */

/* kernels: u32 ids, n bytes of them; none: all. */
struct err *check_run(struct rp *rp, const struct replayer_check *q, const void *kernels, size_t n,
	struct buf *out) TS_CHECK;
/* Finds what each launch changes while it is executed on the way. */
struct err *check_changed(
	struct rp *rp, const struct replayer_accesses *a, struct buf *out) TS_CHECK;
/* Frees what those functions took. */
void check_close(struct rp *rp);

/* --- replayer-fresh.c --- */

/* Called for each allocation and free while a check with perturbations is on. */
struct err *fresh_alloc(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
void fresh_free(struct rp *rp, const struct sbt_cmd *c);

/* --- replayer-watchdog.c --- */

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
