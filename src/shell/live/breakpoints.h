/* SPDX-License-Identifier: Apache-2.0
 *
 * The breakpoint table: one for the live program (put into the agent's control block) and for replay (handed to the engine).
 * A breakpoint stands for a set of command kinds; each kind takes one slot of the control block.
 */
#ifndef SHELL_BREAKPOINTS_H
#define SHELL_BREAKPOINTS_H

#include "capture/wire.h"
#include "replay/replay.h"

struct breakpoint {
	int id;
	char *what;	/* "kernel matmul", "copy", "work": as it is shown and saved */
	char *glob;	/* kernel glob; NULL: any */
	uint64_t kinds; /* bit k set: kind k; 0: every GPU command */
	char *cond;	/* text of the condition; NULL: none */
	struct sbt_expr expr;
	bool enabled, temporary;
	uint64_t ignore; /* hits left to pass by */
	uint64_t hits;
	char *commands;	 /* lines run at a stop; NULL: none */
	uint64_t addr, size; /* memory that is watched; size 0: no watchpoint. Only a replay on a device stops at it */
	unsigned space;	     /* of a watchpoint: 0 global memory, else an enum soft_space: only inside launches (shell/live/microscope.h) */
	unsigned line;	     /* inside a kernel: a line of its PTX, or of file; 0: at commands. cond is about registers then */
	char *file;	     /* of the source; NULL: line is of the PTX */
	char letter, unit;   /* how to show it, as in x/FMT; letter 0: not said */
};

struct breakpoints;

struct breakpoints *breakpoints_new(void);
void breakpoints_free(struct breakpoints *b);

/* spec: "ptx KERNEL:LINE [if EXPR]", "ptx KERNEL:FILE:LINE [if EXPR]", "kernel GLOB [if EXPR]", "KIND [if EXPR]", "CLASS [if EXPR]", "seq N", "GLOB". */
struct err *breakpoints_add(struct breakpoints *b, const char *spec, bool temporary, struct breakpoint **ret) TS_CHECK;
/* A watchpoint on memory; what: as the user wrote it. */
struct breakpoint *breakpoints_add_watch(struct breakpoints *b, uint64_t addr, uint64_t size);
/* The same on memory of another space than global, called so ("shared"). */
struct breakpoint *breakpoints_add_watch_in(struct breakpoints *b, unsigned space, const char *name, uint64_t addr, uint64_t size);
struct err *breakpoints_condition(struct breakpoint *bp, const char *expr) TS_CHECK; /* NULL or "": none */
struct breakpoint *breakpoints_by_id(struct breakpoints *b, int id);
struct breakpoint *breakpoints_nth(struct breakpoints *b, unsigned i);
int breakpoints_last_id(const struct breakpoints *b);
void breakpoints_delete(struct breakpoints *b, struct breakpoint *bp);

/* Live: writes the table into the control block. The inferior must be stopped. */
struct err *breakpoints_arm(struct breakpoints *b, struct tsdb_control *ctl) TS_CHECK;
/* Live: hit counts out of the control block. */
void breakpoints_collect(struct breakpoints *b, struct tsdb_control *ctl);
/* The control block's counts have been collected and are not looked at again before breakpoints_arm(). */
void breakpoints_forget_slots(struct breakpoints *b);
/* Counts start again (a new process). */
void breakpoints_reset(struct breakpoints *b);

/* Breakpoint id was hit. False when it is to be passed by. Deletes temporary ones and makes commands pending.
 * counted: the agent counted the hit (breakpoints_collect) already, and its ignore count. */
bool breakpoints_hit(struct breakpoints *b, int id, bool counted);
/* Whether the commands of the breakpoint that was hit last begin with `silent`. */
bool breakpoints_silent(const struct breakpoints *b);
/* The commands of the breakpoint that was hit last, once; a heap string or NULL. */
char *breakpoints_take_pending(struct breakpoints *b);

/* nodes: kernels of graph launches count, too. For replay_run: a heap array for free(), *ret_n rows; globs belong to the table. */
struct replay_breakpoint *breakpoints_for_replay(struct breakpoints *b, bool nodes, unsigned *ret_n);

/* For replay_watch: a heap array for free(). */
struct replay_watchpoint *breakpoints_watches(struct breakpoints *b, unsigned *ret_n);

void breakpoints_print(struct breakpoints *b, struct buf *out);
void breakpoints_json(struct breakpoints *b, struct buf *out);
/* As commands that make the same breakpoints again. */
void breakpoints_script(struct breakpoints *b, struct buf *out);

#endif
