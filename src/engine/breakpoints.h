/* SPDX-License-Identifier: Apache-2.0
 *
 * The breakpoint table, used for the live program (through the agent's control block) and for
 * replay (by the engine). A breakpoint has a set of command kinds; each kind takes one slot of the
 * control block.
 */
#ifndef ENGINE_BREAKPOINTS_H
#define ENGINE_BREAKPOINTS_H

#include "capture/wire.h"
#include "replay/replay.h"
#include "symbols/host-stack.h"

/* What a watchpoint stops at. */
enum watch_on {
	WATCH_CHANGES, /* bytes that become others */
	WATCH_READS,
	WATCH_TOUCHES, /* reads and writes, also of the bytes that were there */
	WATCH_NAN,     /* numbers that are NaN; in a replay only */
};

struct breakpoint {
	int id;
	char *what;	/* "kernel matmul", "copy", "work": as shown and saved */
	char *glob;	/* of kernels' names, or of NVTX texts (kinds); NULL: any */
	uint64_t kinds; /* bit k set: kind k; 0: every GPU command */
	char *cond;	/* text of the condition; NULL: none */
	struct sbt_expr expr;
	bool enabled, temporary;
	uint64_t ignore; /* hits that are still to be ignored */
	uint64_t hits;
	/* lines that the engine's user runs at a stop; NULL: none */
	char *commands;
	/* memory to watch; size 0: not a watchpoint. Only a replay on a device stops at it */
	uint64_t addr, size;
	enum watch_on watch;
	struct nan_list *nan; /* heap; of WATCH_NAN: where it stops */
	unsigned space; /* of a watchpoint: 0 global memory, else an enum soft_space: only inside
			   launches */
	unsigned line;	/* inside a kernel: a line of its code, or of file; 0: at commands. cond is
		       about registers then */
	bool is_offset; /* line is 1 + an offset from the kernel's first instruction */
	char *file;	/* of the source; NULL: line is of the PTX */
	/* Only commands that the host made in a function, or in line from_line of a file; NULL:
	 * wherever it made them. */
	char *from;
	unsigned from_line; /* 0: `from` is a function */
	char *message;	    /* of `dprintf`: what is shown in place of a stop; NULL: it stops */
	/* Of a message inside kernels. left_out: threads beyond the limit, not shown; of the launch
	 * in a replay whose lines were shown last, in the engine's move number said_run: */
	uint64_t left_out, said_in, said_run, said_lines, said_left;
	uint64_t said_lanes; /* of the warp at the point, for which the condition holds */
	char letter, unit;   /* how to show it, as in x/FMT; letter 0: not said */
};

struct breakpoints;
struct nan_list;

struct breakpoints *breakpoints_new(void);
void breakpoints_free(struct breakpoints *b);

/* spec: "ptx KERNEL:LINE [if EXPR]" ("code" for "ptx"; +N: an offset), "ptx KERNEL:FILE:LINE [if
 * EXPR]", "nvtx GLOB [if EXPR]" ("mark" for "nvtx"), "from FUNCTION [if EXPR]", "from FILE:LINE [if
 * EXPR]", "kernel GLOB [if EXPR]", "KIND [if EXPR]", "CLASS [if EXPR]", "seq N", "GLOB". */
struct err *breakpoints_add(
	struct breakpoints *b, const char *spec, bool temporary, struct breakpoint **ret) TS_CHECK;
/* Adds a watchpoint on memory. */
struct breakpoint *breakpoints_add_watch(
	struct breakpoints *b, enum watch_on on, uint64_t addr, uint64_t size);
/* Adds one that stops where commands of a list wrote NaN, which it takes over; size 0: anywhere. */
struct breakpoint *breakpoints_add_nan(
	struct breakpoints *b, uint64_t addr, uint64_t size, struct nan_list *list);
/* Adds one on memory of a space other than global, named `name` ("shared"). */
struct breakpoint *breakpoints_add_watch_in(struct breakpoints *b, enum watch_on on, unsigned space,
	const char *name, uint64_t addr, uint64_t size);
struct err *breakpoints_condition(
	struct breakpoint *bp, const char *expr) TS_CHECK; /* NULL or "": none */
/* The same with the text that the user sees: `shown` means expr, which has other names for the same
 * things. */
struct err *breakpoints_condition_shown(
	struct breakpoint *bp, const char *expr, const char *shown) TS_CHECK;
struct breakpoint *breakpoints_by_id(struct breakpoints *b, int id);
struct breakpoint *breakpoints_nth(struct breakpoints *b, unsigned i);
int breakpoints_last_id(const struct breakpoints *b);
void breakpoints_delete(struct breakpoints *b, struct breakpoint *bp);

/* Whether the host made a command with this stack where the breakpoint says. */
bool breakpoint_is_from(const struct breakpoint *bp, const struct stack *st);
/* The message's expressions, with commas between them: its format is a text in quotation marks. */
const char *breakpoint_message_values(const struct breakpoint *bp);
/* Whether it shows what threads of kernels have at a line. */
bool breakpoint_is_in_kernel(const struct breakpoint *bp);
/* Whether the live program stops at it: a watchpoint, or a line of PTX, is only for replays. At a
 * line of a kernel's source it stops where the kernel is launched. */
bool breakpoint_is_live(const struct breakpoint *bp);

/* For the live program: writes the table into the control block. The inferior must be stopped. */
struct err *breakpoints_arm(struct breakpoints *b, struct tsdb_control *ctl) TS_CHECK;
/* For the live program: reads hit counts from the control block. */
void breakpoints_collect(struct breakpoints *b, struct tsdb_control *ctl);
/* Called when the control block's counts have been collected: they are not read again before
 * breakpoints_arm(). */
void breakpoints_forget_slots(struct breakpoints *b);
/* Resets the counts (a new process). */
void breakpoints_reset(struct breakpoints *b);

/* Breakpoint id was hit. Returns false if the hit is to be ignored. Deletes temporary breakpoints
 * and makes commands pending. counted: the agent has already counted the hit and its ignore count
 * (breakpoints_collect). */
bool breakpoints_hit(struct breakpoints *b, int id, bool counted);
/* The same for another one at the stop of the last one: its commands follow that one's. */
bool breakpoints_hit_also(struct breakpoints *b, int id, bool counted);
/* Breakpoint id, which has a message, was reached: counts the hit and calls say (may be NULL)
 * unless the hit is to be ignored. */
void breakpoints_say(struct breakpoints *b, int id, bool counted,
	void (*say)(void *arg, struct breakpoint *bp), void *arg);
/* For the live program: the breakpoint in a slot of the control block; NULL: none. */
struct breakpoint *breakpoints_in_slot(struct breakpoints *b, unsigned slot);
/* Whether the commands of the last breakpoint that was hit begin with `silent`. */
bool breakpoints_silent(const struct breakpoints *b);
/* The commands of the last breakpoint that was hit, only once; a heap string or NULL. */
char *breakpoints_take_pending(struct breakpoints *b);

/* The table for replay_run(): a heap array for free(), *ret_n rows; globs belong to the table.
 * nodes: kernels of graph launches count, too. */
struct replay_breakpoint *breakpoints_for_replay(
	struct breakpoints *b, bool nodes, unsigned *ret_n);
/* Sets how the rows find out whether a command was made where their breakpoint says; without it,
 * all were. */
void breakpoints_replay_from(struct replay_breakpoint *v, unsigned n, struct breakpoints *b,
	bool (*from)(void *arg, int id, uint32_t stack), void *arg);

/* Whether a watchpoint is about reads or writes that change nothing, of global memory. */
bool breakpoint_watches_touches(const struct breakpoint *bp);
/* Whether some watchpoint is. */
bool breakpoints_watch_touches(struct breakpoints *b);
/* The watchpoints for replay_watch(), those of WATCH_CHANGES: a heap array for free(). */
struct replay_watchpoint *breakpoints_watches(struct breakpoints *b, unsigned *ret_n);

#endif
