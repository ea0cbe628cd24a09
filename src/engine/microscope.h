/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch of the replay under the microscope (replay/device-kernel.h). The launch is the one at
 * the replay's position; memory is then as it is in the middle of the launch, until something moves
 * the replay.
 */
#ifndef ENGINE_MICROSCOPE_H
#define ENGINE_MICROSCOPE_H

#include "engine/engine.h"
#include "gpucode/ptx-text.h"
#include "lang/lang.h"
#include "replay/device-kernel.h"

/* Where the launch under the microscope has stopped; NULL if there is none, or it has ended. */
const struct soft_stop *microscope_stop(const struct engine *en);
/* The same, also for a launch that has ended: one can go back into it. */
const struct soft_stop *microscope_stop_any(const struct engine *en);
/* Checks that a launch is under the microscope: ERR_STATE with the cure, ERR_UNSUPPORTED on another
 * device. what: "info lanes". */
struct err *microscope_need(struct engine *en, const char *what, struct device **ret) TS_CHECK;
/* Goes to before the first instruction of launch seq; 0: of the launch at the replay's position, or
 * the next one. */
struct err *microscope_enter(struct engine *en, uint64_t seq, struct soft_stop *ret) TS_CHECK;
/* Moves in the launch under the microscope, to a stop that counts (breakpoints_hit()). */
struct err *microscope_go(
	struct engine *en, enum soft_how how, uint64_t n, struct soft_stop *ret) TS_CHECK;
/* The launch at the replay's position, if a breakpoint inside its kernel has still to be looked
 * for; 0: none. */
uint64_t microscope_to_look_through(const struct engine *en);
/* A breakpoint inside a kernel matches the launch that the replay has reached: runs to it. *ret_hit
 * false: it was not reached, and the replay is behind the launch. */
struct err *microscope_run_to_point(
	struct engine *en, uint64_t seq, bool *ret_hit, struct soft_stop *ret) TS_CHECK;
/* The command of that launch, also where the replay is before it; NULL: none is under the
 * microscope. Owned by the engine, until the next call or until the trace is closed. */
const struct sbt_cmd *microscope_cmd(struct engine *en);

/* The place inside a launch, for something that has to leave it. */
struct microscope_place {
	struct soft_stop stop;
};
/* False: no launch that goes on is under the microscope. */
bool microscope_keep(const struct engine *en, struct microscope_place *ret);
/* Goes to the place again: the launch runs from its beginning to it. *ret_same false: that is not
 * the same place, since the user had chosen other warps' turns; then it is at the beginning. */
struct err *microscope_return(
	struct engine *en, const struct microscope_place *p, bool *ret_same) TS_CHECK;
/* Checks that the breakpoints fit the launch under the microscope, if there is one; *ret_line: the
 * PTX line of breakpoint id in it, 0: none. */
struct err *microscope_check_points(struct engine *en, int id, unsigned *ret_line) TS_CHECK;

/* --- functions and variables (kernel-vars.c) ---
 *
 * The source's view of a lane: its functions, inlined calls among them, and their variables, by the
 * debug information in the PTX (nvcc -G). Without that there are functions and lines, and no
 * variables. */

struct launch_names; /* of the PTX that was looked at last; in struct trace */
void launch_names_free(struct launch_names *n); /* NULL is fine */

struct kernel_frame {
	const char *function; /* as the debug information or the PTX has it (mangled) */
	const char *file;     /* NULL: not known */
	unsigned line;	      /* of the source; 0: not known */
	unsigned ptx_line;
	unsigned call;	/* how many calls outwards in the PTX */
	unsigned depth; /* which of the functions inlined there, 0: the innermost */
	bool inlined;
};
struct kernel_frames {
	struct kernel_frame *v; /* innermost first */
	unsigned n;
	bool debug;  /* the PTX has debug information about the innermost */
	void *texts; /* that v points to */
};

/* Where and whose. */
struct kernel_place {
	struct engine *en;
	struct lang *l; /* that types live with; the same one for all calls of an engine */
	int lane;	/* of the focused warp; negative: the focused one */
	unsigned frame;
	/* Reads memory of that lane by a generic address; those of values are such. */
	struct err *(*read)(void *arg, uint64_t addr, void *dst, size_t n);
	void *arg;
};
/* The frames of the lane; p->frame does not count. The caller frees *ret. */
struct err *kernel_frames(const struct kernel_place *p, struct kernel_frames *ret) TS_CHECK;
void kernel_frames_free(struct kernel_frames *f);
/* Calls each for the variables of a frame, innermost block first; which is a
 * set of enum variables_which, 0: all. A value in memory
 * is not read yet. *ret_known: there is debug information. */
struct err *kernel_variables(const struct kernel_place *p, unsigned which,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg, bool *ret_known) TS_CHECK;
/* Finds a variable of the frame, or one outside of functions. One that lies in a register has that
 * as ret->variable, as "%%r4": it can be set there, and in the register's copies. */
struct err *kernel_variable(const struct kernel_place *p, const char *name, struct lang_value *ret,
	bool *ret_found) TS_CHECK;
/* Puts what the source's variables are where the launch has stopped in an expression's text, as
 * conditions and probes inside kernels have it (probe-names.h). False: one cannot be said there. */
bool kernel_names_replaced(const struct kernel_place *p, const char *text, char *dst, size_t n);
/* The registers that have the variable of register reg: itself, and others that hold the same by
 * moves and are no other variable's. ERR_UNSUPPORTED: there are too many moves to tell. */
struct err *kernel_copies(
	const struct kernel_place *p, const char *reg, struct ptx_copies *ret) TS_CHECK;
/* A type that the frame or the PTX has; NULL: there is none. */
const struct lang_type *kernel_type(const struct kernel_place *p, const char *name);

#endif
