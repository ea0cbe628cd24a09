/* SPDX-License-Identifier: Apache-2.0
 *
 * Between tsdb and tsdb-replayer, the process that executes a trace's commands on a device:
 * messages over a socket pair (fd number in TSDB_REPLAYER_FD). A fault of the device, or a crash,
 * kills the replayer, never the shell. tsdb asks, the replayer answers each request with one reply,
 * in order; before that of SEEK or RUN it may say several times where it is (AT). EXECUTE has no
 * reply unless it fails: then the next request that has one is answered by ERROR.
 *
 * The replayer reads the trace itself. Its position is a seq: everything up to it has been
 * submitted to the device. All ranges are device (or pinned host) addresses of the recording:
 * memory is at the same addresses here.
 *
 * WRITE and ARG belong to the run from then on: whenever execution passes the place of a WRITE, or
 * the launch of an ARG, they apply again, also after a SEEK to before it. ARG with seq 0 forgets
 * both; a SEEK to the window's start then is the recorded run again. WRITE and HASH act at the
 * position, with everything submitted finished.
 */
#ifndef REPLAY_REPLAYER_H
#define REPLAY_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replayer/soft-debug.h"
#include "replayer/soft-watch.h"
#include "sbt/cmd.h"
#include "sbt/pagehash.h"

#define REPLAYER_VERSION 16u
#define REPLAYER_FD_ENV "TSDB_REPLAYER_FD"
#define REPLAYER_NO_SANDBOX "--no-sandbox" /* its argument, if it is to have none */
/* bytes of a message, header included; larger reads and writes go in pieces */
#define REPLAYER_MESSAGE_MAX (16u << 20)

struct replayer_head {
	uint32_t type; /* enum replayer_type */
	uint32_t size; /* bytes of what follows the head */
	/* of replies: the last launch in which something was set, if memory from there on is what
	 * the launch made of it; 0: none */
	uint64_t changed;
};

/*   REQ(NUMBER, NAME, request structure, reply structure, LENGTH, "what it does")
 * LENGTH of a reply: ALONE, the structure alone; MORE, bytes may follow it, as the last column
 * says.
 */
#define REPLAYER_REQUESTS(REQ)                                                                                                                 \
	REQ(1, OPEN, replayer_open, replayer_opened, MORE,                                                                                     \
		"open a trace and a device, place the memory; path follows")                                                                   \
	REQ(2, SEEK, replayer_seek, replayer_done, ALONE,                                                                                      \
		"bring the device to the state after seq, from a checkpoint or the start")                                                     \
	REQ(3, EXECUTE, replayer_execute, replayer_done, ALONE,                                                                                \
		"execute command seq; replied to only with wait or on failure")                                                                \
	REQ(4, READ, replayer_range, replayer_done, MORE, "reply: the bytes follow")                                                           \
	REQ(5, WRITE, replayer_range, replayer_done, ALONE, "the bytes follow")                                                                \
	REQ(6, HASH, replayer_range, replayer_hash, ALONE, "sbt_range_hash of a range")                                                        \
	REQ(7, ARG, replayer_arg, replayer_done, ALONE,                                                                                        \
		"replace a parameter of launch seq; the bytes follow. seq 0: no more what-ifs")                                                \
	REQ(8, SKIP, replayer_skip, replayer_done, ALONE,                                                                                      \
		"commands not to execute: u64 seqs follow, sorted; none: execute all")                                                         \
	REQ(9, SWAP, replayer_swap, replayer_done, ALONE,                                                                                      \
		"use other code for a kernel; the code follows")                                                                               \
	REQ(10, RUN, replayer_run, replayer_ran, ALONE,                                                                                        \
		"execute up to seq; stops after a command that changed the watched range")                                                     \
	REQ(11, VERIFY, replayer_seek, replayer_verified, MORE,                                                                                \
		"compare with what was recorded at seq, the end of a window; replayer_piece[] follow")                                         \
	REQ(12, CHECKPOINT, replayer_seek, replayer_done, ALONE,                                                                               \
		"keep a copy of the present memory, as memory allows")                                                                         \
	REQ(13, FIGURES, replayer_none, replayer_figures, ALONE, "what it cost so far")                                                        \
	REQ(14, QUIT, replayer_none, replayer_done, ALONE, "end")                                                                              \
	REQ(20, SOFT, replayer_soft, replayer_done, ALONE,                                                                                     \
		"how the software GPU runs kernels from now on")                                                                               \
	REQ(40, OVERLAP, replayer_overlap, replayer_done, ALONE,                                                                               \
		"let streams overlap, or run one command after the other in the order of submission")                                          \
	REQ(27, ORDER, replayer_order, replayer_ordered, MORE,                                                                                 \
		"the window's work in the order of the u64 entries that follow, then order_change[]; reply: replayer_place[], order_change[]") \
	REQ(28, CHECK, replayer_check, replayer_check_done, MORE,                                                                              \
		"execute each launch several times towards seq; kernel ids (u32) may follow; reply: replayer_difference[]")                    \
	REQ(29, CHECK_END, replayer_none, replayer_done, ALONE,                                                                                \
		"give back the memory that checking took")                                                                                     \
	REQ(26, CHANGED, replayer_accesses, replayer_accessed, MORE,                                                                           \
		"execute towards seq; the bytes that each launch changed, as written, replayer_access_set[] follow")                           \
	REQ(21, ACCESSES, replayer_accesses, replayer_accessed, MORE,                                                                          \
		"execute towards seq; access sets, replayer_access_set[] follow")                                                              \
	REQ(22, RACES, replayer_none, replayer_races, MORE,                                                                                    \
		"the races found since last asked: soft_race[] follow")                                                                        \
	REQ(30, KERNEL, replayer_kernel, soft_stop, ALONE,                                                                                     \
		"to before the first instruction of launch seq")                                                                               \
	REQ(31, KERNEL_GO, soft_go, soft_stop, ALONE, "on, or back, within that launch")                                                       \
	REQ(32, KERNEL_FOCUS, replayer_kernel_focus, soft_stop, ALONE,                                                                         \
		"choose a thread of it; another block begins it again")                                                                        \
	REQ(33, KERNEL_POINTS, replayer_none, replayer_none, MORE,                                                                             \
		"all its breakpoints: soft_point[] follow, in both directions")                                                                \
	REQ(34, KERNEL_ASK, soft_ask, replayer_none, MORE,                                                                                     \
		"about the launch under the microscope; records follow")                                                                       \
	REQ(37, HASH_RECORDED, replayer_range, replayer_hash, ALONE,                                                                           \
		"the same as HASH, of memory as the recording has it: for a file, see replayer-moved.c")                                       \
	REQ(41, ADDRESSING, replayer_kernel_id, replayer_addressing, ALONE,                                                                    \
		"how a kernel makes its addresses, by its code")                                                                               \
	REQ(42, KEPT, replayer_seek, replayer_kept, ALONE,                                                                                     \
		"whether command seq is kept back at the position; seq 0: how many are")                                                       \
	REQ(43, PROBES, replayer_none, replayer_done, ALONE,                                                                                   \
		"all the probes: soft_probe[] follow; what was counted is forgotten")                                                          \
	REQ(44, PROBED, replayer_none, replayer_none, MORE,                                                                                    \
		"what the probes have counted: soft_probe_result[] follow")                                                                    \
	REQ(45, PRINTED, replayer_none, replayer_printed, MORE,                                                                                \
		"what threads have shown by changed code, and was not asked for yet: soft_print[] follow")                                     \
	REQ(46, KERNEL_PUT, soft_put, soft_stop, ALONE,                                                                                        \
		"set a register or memory of the launch under the microscope, for as long as it runs")                                         \
	REQ(36, NODE, replayer_node, replayer_at_node, ALONE,                                                                                  \
		"to right behind a step of graph launch seq")                                                                                  \
	REQ(35, GRAPH_PART, replayer_graph_part, replayer_done, ALONE,                                                                         \
		"of graph launch seq execute only what a node depends on; seq 0: all of it again")

enum replayer_type {
#define REQ(n, NAME, req, rep, length, help) REPLAYER_##NAME = n,
	REPLAYER_REQUESTS(REQ)
#undef REQ
		REPLAYER_REPLY = 1000,
	REPLAYER_ERROR, /* struct replayer_error, the sentence follows */
	REPLAYER_AT, /* struct replayer_done: how far SEEK or RUN is, now and then before the reply
		      */
};

struct replayer_none {
	uint64_t unused;
};
/* OVERLAP: as if the request OVERLAP had been made. */
enum replayer_open_flags {
	REPLAYER_TOUCHED = 1,
	REPLAYER_ANY_DEVICE = 2,
	REPLAYER_OVERLAPS = 4,
	REPLAYER_HIP = 8, /* the trace is of a HIP program; else of a CUDA program */
};
struct replayer_open {
	uint32_t version, flags;
	uint64_t first, last; /* the window: sbt_reader_window() */
};
struct replayer_opened {
	uint64_t ranges, bytes; /* placed */
	uint64_t unrepeatable; /* commands in the window that cannot be executed again; sentences, a
				  line each, follow */
	/* the recording's fault: the call that got the error, 0: none; the commands that can have
	 * caused it */
	uint64_t fault_told, fault_first, fault_last;
	uint32_t fault_code, pad;
	uint64_t work, recorded, left_out; /* commands: executed; not, and what they did is taken
					      from the recording; neither */
};
struct replayer_seek {
	uint64_t seq; /* window.first - 1: the beginning */
};
#define REPLAYER_KEPT_BACK                                                                         \
	"#%llu is kept back: it stands behind #%llu, which waits for a value, and runs when that is written" /* its seq, the wait's */
/* Commands before the position that are kept back behind a wait for a value that is not written yet
 * (state/late-work.h). */
struct replayer_kept {
	uint64_t n; /* of them all */
	/* the wait that keeps command seq, which may be the wait itself; 0: it is not kept */
	uint64_t wait;
};
struct replayer_overlap {
	uint32_t on, pad;
};
struct replayer_done {
	uint64_t seq; /* the position */
};
struct replayer_execute {
	uint64_t seq;
	uint32_t wait; /* reply when it has finished on the device */
	uint32_t pad;
};
struct replayer_range {
	uint64_t addr, size;
};
struct replayer_hash {
	struct sbt_hash hash;
};
struct replayer_arg {
	uint64_t seq;
	uint32_t param, size; /* the parameter's index; bytes that follow */
};
struct replayer_skip {
	uint32_t n;
	/* 1: the recorded results of skipped commands are used where the trace has them */
	uint32_t recorded_inputs;
};
struct replayer_graph_part {
	uint64_t seq;
	uint32_t node, with; /* 1: and the node itself */
};
struct replayer_node {
	uint64_t seq;
	uint32_t step, pad; /* 0: before the first; the last: behind the launch */
};
struct replayer_at_node {
	uint64_t seq; /* the position: before the launch, unless all steps are done */
	uint32_t step, steps;
};
struct replayer_swap {
	uint32_t kernel, kind; /* enum code_kind; the trace's kernel id */
};
struct replayer_run {
	uint64_t to;
	uint64_t watch_addr, watch_size; /* size 0: no watch */
};
struct replayer_ran {
	uint64_t seq; /* position */
	uint32_t hit; /* 1: command seq changed the watched range */
	uint32_t pad;
	/* with a hit: the last command that changed the range, if it had been kept back until seq
	 * had run; 0: seq changed it */
	uint64_t late;
};
/* The microscope (soft-debug.h), on the software GPU only. While a launch is under the microscope,
 * READ and HASH show memory as it is in the middle of the launch, and the position is before it;
 * when the launch has ended the position is seq. Any request that moves leaves the launch. */
struct replayer_kernel {
	uint64_t seq;
};
struct replayer_kernel_focus {
	uint32_t block[3], thread[3];
};
enum replayer_checked {
	/* nothing to compare with was recorded, it is not here, or both the program and kernels may
	 * have written to it */
	REPLAYER_UNCHECKED,
	REPLAYER_CHECKED,
	/* pinned memory that the program itself changed: the device wrote to it only by copies,
	 * which were compared as outputs */
	REPLAYER_OWN,
};
struct replayer_piece {
	uint64_t addr, size;
	uint32_t same, checked; /* enum replayer_checked */
	uint64_t first_page;	/* that differs, when bytes were recorded; else UINT64_MAX */
};
struct replayer_verified {
	uint64_t pieces, same, unchecked; /* allocations and globals at the window's end */
	uint64_t outputs, outputs_same;	  /* copies to the host executed so far, and those that
					     delivered what was recorded */
	uint64_t outputs_unknown; /* those whose bytes the recording could not look at in time */
	uint64_t first_output;	  /* seq of the first one that was compared and differs; 0 */
	uint64_t first_unknown;	  /* seq of the first one that was not compared; 0 */
	uint64_t own;		  /* of the pieces: REPLAYER_OWN */
	/* allocations at their free, or at their context's end: those that held what was recorded;
	 * memory of the host that the program itself changed, that both it and kernels may have
	 * changed; those whose contents the recording could not look at; those that differ where
	 * kernels may have left addresses of the device's own heap, which is elsewhere here; the
	 * first one that differs: seq (0: none), address, bytes */
	uint64_t freed, freed_same, freed_own, freed_mixed, freed_unknown, freed_heap;
	uint64_t first_freed, freed_addr, freed_size;
	/* the first wait for a value that went on without it: nothing here had written the value
	 * when the host knew that the wait was over; 0: none */
	uint64_t forced;
};
/* Sums over the life of the process. ns: time of the host, but for gpu_ns. */
struct replayer_figures {
	uint64_t executed, hashed_bytes, hash_ns;
	uint64_t run_ns, gpu_ns; /* of RUN without a watch: all of it, and from the device's first
				    work to its last */
	/* opening: reading the trace, driver and context, placing, loading code */
	uint64_t read_ns, device_ns, place_ns, code_ns;
	/* the window's start from the trace: bytes of pieces, all of it, and the part before the
	 * first byte moved */
	uint64_t restored_bytes, restore_ns, restore_setup_ns;
	/* sums over its threads: opening what a thread works with, reading the file, decompressing
	 * or decoding, hashing on the host, waiting for a pinned slot, telling the driver to copy;
	 * file_bytes: read. check_ns: hashing on the device, of all of it at the end */
	uint64_t restore_open_ns, restore_read_ns, restore_unpack_ns, restore_hash_ns,
		restore_wait_ns, restore_submit_ns, restore_check_ns;
	uint64_t restore_file_bytes;
	/* checkpoints: those kept, what they take on the device, finding room for them */
	uint64_t checkpoint_bytes, room_ns;
	uint32_t checkpoints, pad;
	/* taken, and gone back to; ns: the copy */
	uint64_t saved, saved_bytes, save_ns, back, back_bytes, back_ns;
	uint64_t settle_ns; /* CHECK with `timed`: hashing, comparing and putting back on the
			       device, by its clock */
};
/* A machine's GPU refuses these, unless all is 0. */
struct replayer_soft {
	uint32_t schedule; /* enum soft_schedule */
	uint32_t racecheck;
	uint64_t seed;
};
struct replayer_accesses {
	uint64_t to;
	uint32_t max;	  /* spans of a set, of each kind */
	uint32_t by_base; /* 1: a launch whose addressing is known has a set for each base of its
			     addresses */
};
struct replayer_kernel_id {
	uint64_t id;
};
struct replayer_addressing {
	struct soft_addressing a;
};
struct replayer_accessed {
	uint64_t seq; /* the position: before `to` when the reply is full or a second has passed */
	uint64_t n;   /* sets that follow */
};
/* A set of a command that did work. The spans follow: read, written, atomic, then the same made
 * without having waited (soft-watch.h). Addresses are the recording's, and only memory of the
 * window counts. */
struct replayer_access_set {
	uint64_t seq;
	uint32_t n[SOFT_ACCESS_SETS], inexact, depends;
	uint32_t base,
		cut; /* base: SOFT_NO_BASE, or its index; cut: 1: it touched other memory, too */
};
struct replayer_races {
	uint64_t n, more; /* soft_race[] that follow; found and not taken yet */
	uint64_t doubts;  /* launches that could not be checked whole */
	char doubt[200];  /* why one of them */
};
struct replayer_printed {
	uint64_t n,
		more; /* soft_print[] that follow, whose launches are seqs; still to be asked for */
};
/* Types of values. AUTO: f32 if nearly all values look like it, else i32. */
enum replayer_as {
	REPLAYER_AS_AUTO,
	REPLAYER_AS_F32,
	REPLAYER_AS_F64,
	REPLAYER_AS_F16,
	REPLAYER_AS_BF16,
	REPLAYER_AS_I32,
	REPLAYER_AS_I64,
	REPLAYER_AS_I8,
	REPLAYER_AS_END
};
/* ALL: other orders of warps and blocks and other contents of shared memory (software GPU), other
 * work beside the launch (a GPU), other contents of memory that was allocated since the check began
 * and is not written; OTHERS: all but the last. */
enum replayer_perturb {
	REPLAYER_PERTURB_NONE,
	REPLAYER_PERTURB_ALL,
	REPLAYER_PERTURB_OTHERS,
	REPLAYER_PERTURB_END
};
struct replayer_check {
	uint64_t from, to; /* launches from..to are checked, all up to `to` executed */
	uint32_t runs;	   /* executions of each, 2 to 1000 */
	uint32_t as;	   /* enum replayer_as */
	uint32_t perturb;  /* enum replayer_perturb */
	uint32_t timed; /* 1: figures tell what hashing took on the device, which costs time itself
			 */
	uint32_t thorough; /* 1: all memory is compared after each execution, and each launch waited
			      for */
	uint32_t pad;
	uint32_t digest; /* > 0, its number: one execution; each launch's row has in first and other
			    a hash of what it changed, in bytes the pages */
};
/* Whether a check of these kernels, or of all with n 0, includes c. A graph launch counts for no
 * kernel. */
static inline bool replayer_checks(const struct sbt_cmd *c, const uint32_t *kernels, size_t n)
{
	if (c->result || c->flags & SBT_F_GRAPH)
		return false;
	if (c->kind == SBT_GRAPH_LAUNCH)
		return !n;
	for (size_t i = 0; i < n && c->kind == SBT_LAUNCH; i++)
		if (kernels[i] == c->u.launch.kernel)
			return true;
	return c->kind == SBT_LAUNCH && !n;
}
struct replayer_check_done {
	uint64_t seq;	  /* the position: before `to` when the reply is full or its time is over */
	uint64_t n;	  /* rows that follow */
	uint64_t checked; /* launches */
	uint64_t left_out; /* pages that differed and were not looked at */
	/* launches that were executed only once: they may use the device's heap, which is not put
	 * back */
	uint64_t heap;
	/* launches that were kept back by a wait for a value, less those that were kept back in an
	 * earlier reply and have been checked in this one; summed up, those that are left */
	uint64_t late;
	/* how often memory changed that no launch should reach: from then on all of it is
	 * compared */
	uint64_t outside;
};
/* A page in which executions of one launch from the same memory differed from the first of them. */
struct replayer_difference {
	uint64_t seq, addr, size; /* the page, an address of the recording */
	uint32_t as;		  /* enum replayer_as, AUTO decided */
	uint32_t runs;		  /* executions that differed there */
	uint64_t bytes, elements; /* that differed, in the one with the most of them */
	uint64_t close; /* of those: elements of a floating type within 1e-3 of each other,
			   relatively */
	uint64_t at, first, other; /* the first element seen to differ: address, bits in the first
				      execution, in another */
	double largest;		   /* difference; infinite when a NaN is involved */
	double steps; /* the same in units in the last place, for integers as largest */
	/* Not 0: the row is not about a page that differs, but about a read of unwritten memory.
	 * MEMORY: addr is the first such 8 bytes that matter, at and size are the allocation. The
	 * launch is otherwise the same every time. */
	uint32_t unwritten;
	/* For a graph launch that is not the same every time: its nodes, executed one by one. step
	 * 0: the launch as a whole, of which `nodes` nodes were looked at (0: they cannot be). Else
	 * the step (state/steps.h, from 1) that is not the same from the same memory. */
	uint32_t step, nodes, pad;
};
enum replayer_unwritten { REPLAYER_UNWRITTEN_MEMORY = 1, REPLAYER_UNWRITTEN_SHARED };
struct replayer_order {
	uint32_t n; /* entries (order.h): all work of the window, each once, in an order that the
		       program allows */
	uint32_t nchanges;   /* struct order_change that follow them */
	uint32_t flags, pad; /* enum replayer_order_flags */
};
/* LIVE: entries include the host's changes of memory, which follow; copies from page-locked memory
 * read what is there. LEARN: the same, but changes are found, as bytes where the recording differs
 * from executing up to there, and returned in the reply; the changes that follow are bytes that
 * work `by` may have been writing when the recording looked at them (order/in-flight.h). Neither:
 * all changes are made as soon as a command behind them is executed. */
enum replayer_order_flags { REPLAYER_ORDER_LIVE = 1, REPLAYER_ORDER_LEARN = 2 };
struct replayer_ordered {
	uint64_t seq;				    /* the window's last */
	uint64_t n;				    /* places that follow */
	uint64_t changes;			    /* struct order_change that follow those */
	uint64_t outputs, outputs_same, output_sum; /* copies to the host that delivered what was
						       recorded; a hash of which ones */
};
struct replayer_place { /* an allocation or global at the window's end */
	uint64_t addr, size;
	struct sbt_hash hash;
};
enum replayer_error_code {
	REPLAYER_E_OTHER,
	REPLAYER_E_FAULT, /* the device broke at seq: only a new process helps */
	REPLAYER_E_PLACE,
	REPLAYER_E_MEMORY,
	REPLAYER_E_DEVICE,
	REPLAYER_E_TRACE,
	REPLAYER_E_TIMEOUT,
	REPLAYER_E_REFUSED,
	REPLAYER_E_AGAIN /* only a new process can do it, and can: the device has state that nothing
			    puts back */
};
struct replayer_error {
	uint32_t code, pad;
	uint64_t seq;	/* the command it is about; 0 none */
	uint64_t first; /* FAULT, TIMEOUT: it is one of first..seq (executing those one by one with
			   wait finds it) */
};

#endif
