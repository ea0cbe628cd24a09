/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope of PTX launches: what softcore/micro-core.h asks of a machine. micro-session.c
 * runs the launch on a thread of its own, micro-points.c has breakpoints, micro-names.c and
 * micro-expr.c find names of the PTX text, micro-look.c answers questions. All functions here but
 * the callbacks are for the one caller's thread.
 */
#ifndef SOFTGPU_MICRO_H
#define SOFTGPU_MICRO_H

#include "softcore/lane-expr.h"
#include "softcore/micro-core.h"
#include "softgpu/watch/ptx-observe.h"

/* --- expressions (micro-expr.c) --- */
/* Names are those known at pc of fn. NULL, or what is wrong with the text, in why. */
const char *micro_compile(struct lane_expr *x, const struct ptx_function *fn, uint32_t pc,
	const char *text, char *why, size_t n);
/* frame: of w->frames. */
struct lane_value micro_eval(
	const struct lane_expr *x, const struct ptx_warp *w, unsigned frame, unsigned lane);
/* lane_type(): *ret_space is an enum ptx_space. */
void micro_type(const struct lane_expr *x, struct soft_value *ret, int *ret_space);

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

/* soft_session.machine */
struct ptx_micro {
	struct ptx_launch l;
	struct ptx_observer observer;
	struct micro_text text;
	bool *stops; /* by PTX line: a breakpoint is there */
	pthread_t thread;
	enum ptx_fault_code code;
	struct ptx_fault fault;
	/* of the instruction that touched watched bytes */
	const struct ptx_insn *writer_insn;
	const struct ptx_function *writer_fn;
	uint32_t writer_pc;
};
static inline struct ptx_micro *ptx_micro_of(const struct soft_session *s)
{
	return s->machine;
}
static inline struct ptx_warp *micro_warp_at(struct micro_at w)
{
	struct ptx_block *b = w.block;

	return b && w.warp < b->nwarps ? &b->warps[w.warp] : NULL;
}

/* Starts launch l on a thread of its own, stopped before its first instruction. text is the
 * module's and must live as long; l->params is copied. */
const char *micro_start(const struct ptx_launch *l, const char *text, size_t n,
	const struct soft_turn *turns, unsigned nturns, struct soft_session **ret,
	struct soft_stop *stop);
const char *micro_put(struct soft_session *s, const struct soft_put *p);
const char *micro_ask(struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg);
void micro_end(struct soft_session *s);

/* --- inside --- */
extern const struct micro_machine ptx_micro_machine;
/* members of it (micro-points.c) */
const struct micro_point *micro_hit(struct soft_session *s, struct micro_at w, uint64_t *ret_lanes);
const char *micro_set_point(struct soft_session *s, struct micro_point *q, struct soft_point *p);
void micro_point_free(void *own);
/* The first line of p's file from p->line on that any instruction comes from; 0: none. */
unsigned micro_find_source(const struct ptx_module *m, const struct soft_point *p);
/* Whether a run of instructions from that source line begins at pc. */
bool micro_begins_source(
	const struct ptx_function *fn, uint32_t pc, const struct soft_point *p, unsigned line);
/* The value of a lane's register as its declared type. */
struct lane_value micro_reg_value(const uint8_t *frame, int32_t off, unsigned type, unsigned lane);
void micro_declare(unsigned type, struct soft_value *ret);

#endif
