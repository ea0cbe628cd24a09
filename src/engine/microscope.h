/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch of the replay under the microscope (replay/device-kernel.h). The launch is the one at
 * the replay's position; memory is then as it is in the middle of the launch, until something moves
 * the replay.
 */
#ifndef ENGINE_MICROSCOPE_H
#define ENGINE_MICROSCOPE_H

#include "engine/engine.h"
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

#endif
