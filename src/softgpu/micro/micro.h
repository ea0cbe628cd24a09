/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope: one launch under observation, its thread, and answers about it. micro-session.c
 * runs the launch, micro-points.c has breakpoints and watched bytes, micro-names.c and micro-expr.c
 * find names of the PTX text, micro-look.c answers questions. The launch's thread waits in a
 * callback while the user looks; all functions here but the callbacks are for the one caller's
 * thread.
 */
#ifndef SOFTGPU_MICRO_H
#define SOFTGPU_MICRO_H

#include "replayer/soft-debug.h"
#include "softgpu/watch/ptx-observe.h"

#include <pthread.h>
#include <stdatomic.h>

/* --- expressions (micro-expr.c) --- */
struct micro_op {
	uint8_t kind, type, space; /* enum micro_op_kind; of a register */
	int32_t off;
	union {
		int64_t i;
		double f;
		const struct ptx_variable *var;
	};
};
#define MICRO_OPS 64
struct micro_expr {
	unsigned n;
	struct micro_op op[MICRO_OPS];
};
struct micro_value {
	bool is_float;
	bool bad; /* it reads memory that is not there */
	int64_t i;
	double f;
};
/* Names are those known at pc of fn. NULL, or what is wrong with the text, in why. */
const char *micro_compile(struct micro_expr *x, const struct ptx_function *fn, uint32_t pc,
	const char *text, char *why, size_t n);
/* frame: of w->frames. */
struct micro_value micro_eval(
	const struct micro_expr *x, const struct ptx_warp *w, unsigned frame, unsigned lane);
/* How the value of x is shown: a lone register by its declared type, what is cast or loaded by that
 * type; a lone variable is its address, *ret_space its space (else -1). */
void micro_type(const struct micro_expr *x, struct soft_value *ret, int *ret_space);

/* --- names (micro-names.c) --- */
struct micro_text { /* PTX by lines */
	const char *text;
	uint32_t *start; /* of each line, and the end */
	unsigned nlines;
};
bool micro_text_init(struct micro_text *t, const char *text, size_t n);
/* Line number `line` without blanks around it, cut. */
void micro_text_line(const struct micro_text *t, unsigned line, bool trim, char *dst, size_t n);
/* The line of source behind instruction pc, or NULL. */
const struct ptx_loc *micro_loc(const struct ptx_function *fn, uint32_t pc);
const char *micro_file(const struct ptx_function *fn, uint32_t number); /* "" when not known */
bool micro_file_is(const char *path, const char *name);
/* The newest register of that name at pc. */
const struct ptx_regname *micro_reg(
	const struct ptx_function *fn, uint32_t pc, const char *name, size_t n);
void micro_reg_name(const struct ptx_regname *r, char *dst, size_t n);
const struct ptx_variable *micro_var(const struct ptx_function *fn, const char *name, size_t n);
/* Its address in its space, as seen from a frame. */
uint64_t micro_var_addr(const struct ptx_variable *v, const struct ptx_warp *w, unsigned frame);

/* The place where a warp is. */
struct micro_place {
	const struct ptx_ent *ent; /* NULL: it has ended */
	unsigned frame;
	const struct ptx_function *fn;
	uint32_t pc, active, executing;
	uint32_t line;
};
struct micro_place micro_place_of(const struct ptx_warp *w);
const uint8_t *micro_frame(const struct ptx_warp *w, unsigned frame); /* its registers */

/* A warp as seen from a frame of one of its lanes, `frame` calls outwards: w has the frames of the
 * lane's path, at is in that frame; of calls, at the call. False: the lane has ended, or has no
 * such frame. */
struct micro_view {
	struct ptx_warp w;
	struct micro_place at;
};
bool micro_view_of(const struct ptx_warp *w, unsigned lane, unsigned frame, struct micro_view *ret);

/* --- the session --- */
struct micro_point {
	struct soft_point p;
	const struct ptx_function *fn; /* that the condition is compiled for; NULL: there is none */
	struct micro_expr condition;
};

struct micro_piece { /* watched bytes that an instruction is about to touch */
	const struct micro_point *point;
	unsigned lane, size;
	uint32_t access; /* as in soft_change */
	uint64_t addr;
	const uint8_t *at;
	uint8_t before[SOFT_BYTES];
};

enum micro_phase { MICRO_RUNS, MICRO_STANDS, MICRO_OVER };
struct soft_session {
	struct ptx_launch l;
	struct ptx_observer observer;
	struct micro_text text;
	bool *stops; /* by PTX line: a breakpoint is there */
	uint64_t nblocks;
	unsigned nwarps; /* of a block */

	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum micro_phase phase;
	bool resume;
	atomic_bool pause, abort;

	/* For the launch's thread; for the caller while that thread is stopped. */
	enum ptx_fault_code code;
	struct ptx_fault fault;
	struct soft_stop stop;
	struct ptx_block *
		*blocks; /* that run: all of a cooperative grid, else a cluster's or one */
	unsigned nslots; /* places in it */
	uint64_t *steps; /* of their warps */
	uint64_t total, started, ended; /* started, ended: blocks */
	uint8_t *block_state;		/* enum soft_block_state */
	struct ptx_warp *at;		/* the warp in whose callback the launch is stopped */
	bool at_end;			/* that callback is block_end */
	uint64_t *told;			/* by warp: 1 + the step that was looked at already */
	struct soft_go aim;
	unsigned aim_depth;
	uint64_t aim_step;
	uint32_t aim_file, aim_line;
	uint64_t focus_block;
	unsigned focus_warp, focus_lane;
	bool has_focus;
	bool has_prefer; /* this warp goes first */
	uint64_t prefer_block;
	unsigned prefer_warp;
	struct soft_turn *turns;
	unsigned nturns, next_turn, cap_turns;
	uint64_t found;
	bool found_end;

	struct micro_point *points;
	unsigned npoints;
	bool watches;
	struct micro_piece *pieces; /* PTX_LANES of them */
	unsigned npieces;
	struct ptx_warp *writer;
	const struct ptx_insn *writer_insn;
	const struct ptx_function *writer_fn;
	uint32_t writer_pc;
	char sentence[SOFT_SENTENCE];
};

/* Starts launch l on a thread of its own, stopped before its first instruction. text is the
 * module's and must live as long; l->params is copied. */
const char *micro_start(const struct ptx_launch *l, const char *text, size_t n,
	const struct soft_turn *turns, unsigned nturns, struct soft_session **ret,
	struct soft_stop *stop);
const char *micro_go(struct soft_session *s, const struct soft_go *g, struct soft_stop *stop);
const char *micro_points(struct soft_session *s, struct soft_point *p, unsigned n);
const char *micro_focus(struct soft_session *s, const uint32_t block[3], const uint32_t thread[3],
	uint64_t *ret_first, struct soft_stop *stop);
const char *micro_ask(struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg);
const struct soft_turn *micro_turns(struct soft_session *s, unsigned *ret_n);
void micro_end(struct soft_session *s);

/* --- inside --- */
const char *micro_say(struct soft_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
struct ptx_block *micro_block(
	const struct soft_session *s, uint64_t index); /* NULL: it does not run now */
struct ptx_warp *micro_warp(
	const struct soft_session *s); /* the focused one, NULL when its block has ended */
uint64_t *micro_steps(const struct soft_session *s, const struct ptx_warp *w);
void micro_coordinates(const unsigned grid[3], uint64_t index, uint32_t ret[3]);
/* The breakpoint at w's next instruction, or NULL; *ret_lanes: the lanes that hit it. */
const struct micro_point *micro_hit(
	struct soft_session *s, const struct ptx_warp *w, uint32_t *ret_lanes);
/* The first line of p's file from p->line on that any instruction comes from; 0: none. */
unsigned micro_find_source(const struct ptx_module *m, const struct soft_point *p);
/* Whether a run of instructions from that source line begins at pc. */
bool micro_begins_source(
	const struct ptx_function *fn, uint32_t pc, const struct soft_point *p, unsigned line);
/* Notes an access to watched bytes; micro_changed() then says whether it concerns a watchpoint. */
void micro_note_access(struct soft_session *s, const struct ptx_access *a);
const struct micro_point *micro_changed(struct soft_session *s, struct soft_change *ret);
/* Fills s->stop from the focus. */
void micro_fill(struct soft_session *s, enum soft_state state, enum soft_why why);
/* The value of a lane's register as its declared type. */
struct micro_value micro_reg_value(const uint8_t *frame, int32_t off, unsigned type, unsigned lane);
uint64_t micro_bits(const struct micro_value *v, const struct soft_value *type);
void micro_declare(unsigned type, struct soft_value *ret);

#endif
