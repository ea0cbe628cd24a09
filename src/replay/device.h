/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that executes a trace's commands: tsdb's end of tsdb-replayer (protocol.h). This code
 * starts the replayer, sends it requests, limits its time, kills it and starts it again. A fault of
 * the device ends the replayer's process, never tsdb.
 *
 * The surprise: a dead replayer does not end the struct device. After a fault, a time-out, a crash
 * or Ctrl-C the next call starts a fresh process, applies the what-ifs again and goes to the
 * caller's position (after a fault: right before the command that failed). device_restart() does
 * only that, at once.
 *
 * All calls come from the thread that called device_open(): the replayer dies with that thread. Any
 * call may fail with ERR_INFERIOR (fault, crash, hang; device_culprit() says which command),
 * ERR_INTERRUPTED, ERR_LIMIT (no room), ERR_UNSUPPORTED (refused by name).
 */
#ifndef REPLAY_DEVICE_H
#define REPLAY_DEVICE_H

#include "order/order.h"
#include "replay/replay.h"
#include "replay/protocol.h"
#include "gpucode/code-kind.h"

struct device;

enum device_doing { DEVICE_OPENING, DEVICE_EXECUTING, DEVICE_GOING };
/* What it is doing, and how far that is: of the window, or at DEVICE_GOING of the way. */
struct device_progress {
	enum device_doing doing;
	uint64_t seq; /* the last command known to be done; at DEVICE_GOING the one to be reached */
	uint64_t done, total; /* total 0: not known */
};

struct device_options {
	const char *replayer;	/* the program tsdb-replayer */
	const char *trace;	/* the file */
	const char *softgpu;	/* folder of the software GPU's library (libcuda.so.1, or for
				   REPLAYER_HIP libhsakmt.so.1); NULL: the machine's driver */
	const char *amd_target; /* which device the software AMD GPU is: "gfx90a"; NULL: as set */
	uint64_t first, last;	/* the window: sbt_reader_window() */
	unsigned flags;		/* enum replayer_open_flags */
	bool no_sandbox;    /* execute with all the rights of the caller: for traces that the user
			       recorded, or to find what a driver lacks */
	unsigned timeout_s; /* most time one reply may take; 0: 300. The replayer's own watchdog (60
			       s a wait) comes first */
	unsigned limit_s;   /* most time that the work up to a command may take in the replayer; 0:
			       TSDB_REPLAYER_TIMEOUT, or 60 */
	/* Called several times a second while a call waits. It must not call the device. May be
	 * NULL */
	void (*progress)(void *arg, const struct device_progress *p);
	void *progress_arg;
	/* Called with what kernels print while they are executed for the user (stepping and
	 * running, not checking or going back). The bytes are the program's: make them safe before
	 * showing them. Same rules as for progress. NULL: the text is dropped */
	void (*said)(void *arg, const char *text, size_t n);
	void *said_arg;
	/* Called when what was set in launch seq (device_kernel_put()), and counted behind its end,
	 * is undone: the position is before the launch again, or the process was a fresh one. It
	 * must not call the device. May be NULL */
	void (*undone)(void *arg, uint64_t seq);
	void *undone_arg;
	/* Probes that the window's code is changed for (replayer-probe.c); n 0: none. Copied. */
	const struct soft_probe *probes;
	unsigned nprobes;
	volatile bool *
		interrupt; /* ends every wait when it becomes true; may be NULL. Not cleared here */
};

struct device_info {
	uint64_t first, last;
	uint64_t ranges, bytes; /* placed */
	uint64_t unrepeatable;	/* commands in the window that cannot be executed again */
	uint64_t work, recorded,
		left_out;     /* commands: executed; taken from the recording; neither */
	bool overlap;	      /* streams overlap: device_overlap() */
	struct device_fault { /* of the device in the recording */
		/* the call that got the error, 0: there was none; the commands that can have caused
		 * it, first 0: none of these */
		uint64_t told, first, last;
		uint32_t code;
	} fault;
	const char *notes; /* sentences about that and other doubts, a line each; "" when there are
			      none. Owned by the device */
};

/* Starts the replayer, which opens the trace and places and restores the memory. Position: the
 * window's start. Strings are copied. Placing is tried several times. */
struct err *device_open(struct device **ret, const struct device_options *o) TS_CHECK;
/* NULL is fine. Never waits long. */
void device_close(struct device *d);
struct device_info device_info(const struct device *d);

/* For replay_open(); closing the executor closes d, so do not close d yourself. */
struct replay_executor device_executor(struct device *d);

/* The position. */
uint64_t device_seq(const struct device *d);
/* Process id of the replayer; 0: none at the moment. */
int device_pid(const struct device *d);
/* The command that the last failed call was about, 0: none. The cause is one of
 * *ret_first..returned (ret_first may be NULL). */
uint64_t device_culprit(const struct device *d, uint64_t *ret_first);
/* Whether the last failure is the recording's fault: the device failed at a command that can have
 * caused that one. */
bool device_failed_as_recorded(const struct device *d);
/* Starts a fresh process at the present position. */
struct err *device_restart(struct device *d) TS_CHECK;

/* --- moving (the engine does this through the executor) --- */

/* Submits command seq, which follows the position. Without wait it may not have happened yet: a
 * failure is then returned by a later call. */
struct err *device_execute(struct device *d, uint64_t seq, bool wait) TS_CHECK;
/* Goes to the state after seq; window.first - 1 is the beginning. At the position already it calls
 * device_finish(). */
struct err *device_seek(struct device *d, uint64_t seq) TS_CHECK;
/* Executes from the position up to seq; with size > 0 it stops after a command that changed a byte
 * of [addr, addr + size), and sets *ret_hit (may be NULL). It runs in parts of about a tenth of a
 * second; after Ctrl-C the position is where it got to, and ERR_INTERRUPTED is returned. */
struct err *device_run(
	struct device *d, uint64_t to, uint64_t addr, uint64_t size, bool *ret_hit) TS_CHECK;
/* For the last hit: the command that changed the bytes, if it had been kept back behind a wait for
 * a value (docs/replayer.md) and ran behind the position's command; 0: the position's command
 * changed them. */
uint64_t device_late(const struct device *d);
/* Whether command seq (0: none) is kept back at the position: *ret_wait is the wait that keeps it,
 * 0: it is not kept. *ret_n (may be NULL): how many commands are kept. */
struct err *device_kept(
	struct device *d, uint64_t seq, uint64_t *ret_wait, uint64_t *ret_n) TS_CHECK;
/* Waits for all that was submitted. */
struct err *device_finish(struct device *d) TS_CHECK;

/* --- memory at the position --- */

struct err *device_read(struct device *d, uint64_t addr, void *dst, size_t n) TS_CHECK;
struct err *device_hash(
	struct device *d, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* The same with addresses as recorded, for a file: device_hash() uses this device's own addresses
 * of variables and functions. Slower. */
struct err *device_hash_recorded(
	struct device *d, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;

/* --- what-ifs: they belong to the run until device_forget() --- */

struct err *device_write(struct device *d, uint64_t addr, const void *src, size_t n) TS_CHECK;
/* Replaces the bytes of parameter param of launch seq. Takes effect when execution passes the
 * launch: seek to before it. */
struct err *device_set_arg(
	struct device *d, uint64_t seq, uint32_t param, const void *src, uint32_t n) TS_CHECK;
/* Leaves out these commands, sorted; n 0: none. recorded_inputs: their recorded results, if the
 * trace has them, are used instead. */
struct err *device_skip(
	struct device *d, const uint64_t *seqs, uint32_t n, bool recorded_inputs) TS_CHECK;
/* Of graph launch seq executes only what the node depends on, and with `with` the node itself; seq
 * 0: executes all graph launches completely again. A later call replaces an earlier one. */
struct err *device_graph_part(struct device *d, uint64_t seq, uint32_t node, bool with) TS_CHECK;
/* Replaces the code of a kernel; n 0: uses the recorded code again. */
struct err *device_swap(struct device *d, uint32_t kernel, enum code_kind kind, const void *code,
	size_t n) TS_CHECK;
/* Forgets writes and parameters (skips and swaps stay); goes to the window's start. */
struct err *device_forget(struct device *d) TS_CHECK;
/* Whether any of the above makes this run differ from the recorded one. */
bool device_what_if(const struct device *d);

/* --- the software GPU (device-watch.c); ERR_UNSUPPORTED on another device --- */

/* Sets how kernels run from now on; a fresh process gets the same setting. Commands before the
 * position are not executed again. */
struct err *device_soft(struct device *d, const struct replayer_soft *s) TS_CHECK;
/* On the software GPU: replaces all probes (soft-probe.h) and forgets what was counted. Commands
 * before the position are not executed again. */
struct err *device_probes(struct device *d, const struct soft_probe *p, unsigned n) TS_CHECK;
/* What its n probes, or those of device_options, have counted since. */
struct err *device_probed(struct device *d, struct soft_probe_result *ret, unsigned n) TS_CHECK;
/* What those of device_options that print have shown since: a heap array, also with an error. Their
 * launches are seqs. */
struct err *device_printed(struct device *d, struct soft_print **ret, size_t *ret_n) TS_CHECK;
/* From now on limits the replayer's time for access sets (patience.h): beyond it ERR_LIMIT is
 * returned, and the process may have been ended. NULL: no limit. */
struct patience;
void device_budget(struct device *d, struct patience *budget, uint64_t ns);
/* Executes commands first to last and calls each() with the accesses of every one that did work, in
 * their order. Spans have the recording's addresses; at most max of each kind (0: 65,536), see
 * soft_access_set. Afterwards the position is last. */
struct access_set {
	uint64_t seq;
	uint32_t base;		    /* SOFT_NO_BASE, or of device_sets_by_base() */
	bool cut;		    /* it touched other memory, too */
	struct soft_access_set set; /* valid during the call */
};
struct err *device_access_sets(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg) TS_CHECK;
/* The same, also with the accesses of commands before `first` that were kept back until then. */
struct err *device_access_sets_all(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg) TS_CHECK;
/* The same as device_access_sets(), but a launch whose addressing is known, and that may not begin
 * early, has one set for each base of its addresses; the set without a base comes first. */
struct err *device_sets_by_base(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg) TS_CHECK;
/* How a kernel computes its addresses. Known only on the software GPU. */
struct err *device_addressing(
	struct device *d, uint64_t kernel, struct soft_addressing *ret) TS_CHECK;
/* The same on any device, for launches: the bytes that they changed count as written. They may have
 * written other bytes without changing them, and their reads are not known. */
struct err *device_changed_sets(struct device *d, uint64_t first, uint64_t last, uint32_t max,
	struct err *(*each)(void *arg, const struct access_set *a), void *arg) TS_CHECK;
/* Gets the races found in launches since the last call, and launches that could not be checked
 * completely; races is heap. */
struct device_races {
	struct soft_race *race;
	size_t n;
	uint64_t doubts;
	char doubt[200]; /* the reason of one of them */
};
struct err *device_races(struct device *d, struct device_races *ret) TS_CHECK;

/* --- the order of a replay --- */

/* Lets streams overlap from now on; with false (the default, unless opened with REPLAYER_OVERLAPS)
 * executes one command after the other in the order of submission. The position stays; its memory
 * is made again. */
struct err *device_overlap(struct device *d, bool overlap) TS_CHECK;

/* --- judging --- */

struct device_verified {
	struct replayer_verified sums;
	struct replayer_piece *pieces; /* heap, sums.pieces of them at most; free it */
	size_t npieces;
};
/* Compares with the recording at the window's end, where the position must be. */
struct err *device_verify(struct device *d, struct device_verified *ret) TS_CHECK;
void device_verified_free(struct device_verified *v);
/* Whether all compared memory and outputs are the same. */
bool device_verified_ok(const struct device_verified *v);
/* Appends "12 of 12 allocations identical, 3 of 3 outputs identical", and a line for each that
 * differs. Ends without a newline. */
void device_verified_print(struct buf *out, const struct device_verified *v);
/* Executes each of the launches how->from..how->to how->runs times from the same memory, and
 * reports the pages in which they differed; see replayer_check. kernels: n ids of those to check,
 * NULL: all. Afterwards the position is how->to. The device needs room for a second copy of the
 * window's memory and of what a launch changes, else ERR_LIMIT. When the budget (device_budget())
 * is spent, or after Ctrl-C, that is no error: ret has the results so far. */
enum device_checked_end { DEVICE_CHECKED_ALL, DEVICE_CHECKED_BUDGET, DEVICE_CHECKED_INTERRUPTED };
struct device_checked {
	struct replayer_difference *rows; /* heap, in order of seq; device_checked_free() */
	size_t n;
	uint64_t checked, left_out, heap, late, outside; /* see replayer_check_done */
	uint64_t reached;				 /* the last command that is in them */
	enum device_checked_end end;
};
struct err *device_check(struct device *d, const struct replayer_check *how,
	const uint32_t *kernels, size_t n, struct device_checked *ret) TS_CHECK;
void device_checked_free(struct device_checked *c);

/* Executes all work of the window in another order, one command after the other, from the window's
 * start. Afterwards the device counts as being at the window's end, with what that order left in
 * memory, until it moves: seek then. */
struct device_order {
	const uint64_t *entries; /* as order/order.h has them, n */
	size_t n;
	unsigned flags; /* enum replayer_order_flags */
	const struct order_change
		*changes; /* for REPLAYER_ORDER_LIVE: the host's; for _LEARN: in flight */
	size_t nchanges;
};
struct device_ordered {
	struct replayer_ordered sums;
	struct replayer_place *places; /* heap, sums.n; device_ordered_free() */
	struct order_change *changes;  /* heap, sums.changes: learned */
};
struct err *device_order(
	struct device *d, const struct device_order *o, struct device_ordered *ret) TS_CHECK;
void device_ordered_free(struct device_ordered *o);

/* Keeps a copy of the present memory if there is room. */
struct err *device_checkpoint(struct device *d) TS_CHECK;
struct err *device_figures(struct device *d, struct replayer_figures *ret) TS_CHECK;

#endif
