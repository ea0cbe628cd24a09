/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch of the replay under the microscope (engine/microscope.h), for the shell's commands.
 * The launch is the one at the replay's position; memory is then as it is in the middle of the
 * launch, until something moves the replay.
 */
#ifndef SHELL_KERNEL_TEXT_H
#define SHELL_KERNEL_TEXT_H

#include "engine/microscope.h"
#include "shell/line/session.h"
#include "shell/values/value.h"

/* Where the launch under the microscope has stopped; NULL if there is none, or it has ended. */
const struct soft_stop *kernel_stop(const struct session *s);
/* The same, also for a launch that has ended: the user can go back into it. */
const struct soft_stop *kernel_stop_any(const struct session *s);
/* Goes to before the first instruction of launch seq; 0: of the launch at the replay's position, or
 * the next one. Prints where it is. */
struct err *kernel_enter(struct session *s, uint64_t seq) TS_CHECK;
/* Moves, and prints where it stops. Enters the launch first if none is entered. */
struct err *kernel_go(struct session *s, enum soft_how how, uint64_t n) TS_CHECK;
/* Goes on to a line of the source behind the present one, in the same function or outside it: past
 * the turns of a loop. */
struct err *kernel_until(struct session *s) TS_CHECK;
/* Prints a stop. */
void kernel_tell(struct session *s, const struct soft_stop *t);
/* Parses "(1,0,0)", "1,0,0" or "1". */
bool kernel_coordinates(const char *word, uint32_t ret[3]);
/* Chooses a thread: word "block" with "(1,0,0) thread (5,0,0)", or word "thread" with coordinates.
 * Without arguments prints the choice. */
struct err *kernel_focus(
	struct session *s, const char *word, unsigned argc, char *const *argv) TS_CHECK;
/* Appends "matmul.cu:23", or nothing if it is not known. */
/* A line of code as it is shown: "57", or "0x1724" of machine code (unit: enum soft_unit). */
enum { KERNEL_LINE_ROOM = 16 };
const char *kernel_line(char dst[KERNEL_LINE_ROOM], uint32_t unit, uint32_t line);
void kernel_source(struct buf *out, const char *file, unsigned line);
/* The kernel's readable name. */
const char *kernel_short_name(char *dst, size_t n, const char *mangled);

/* --- values (kernel-value.c) --- */

/* Whether text names a register: "%r4" and "%tid.x + 1" do, "5 % 3" does not. */
bool kernel_has_register(const char *text);
/* Finds a register ("%r4") or a variable of the PTX, whose value is its address in a space; in
 * lane, or the focused one when it is negative. A name with % that is no register is an error. */
struct err *kernel_name(struct session *s, const char *name, int lane, struct lang_value *ret,
	bool *ret_found) TS_CHECK;
/* The value of an expression in a lane of the warp that is at a breakpoint: as probes have it, else
 * as `print` does. ERR_USAGE: text is none; else there is no value. */
struct err *kernel_lane_value(
	struct session *s, const char *text, int lane, struct lang_value *ret) TS_CHECK;
/* The value of one lane. */
struct lang_value kernel_lane(const struct soft_value *v, unsigned lane);
void kernel_format(const struct soft_value *v, unsigned lane, char letter, struct buf *out);
/* Prints an expression in all lanes, "EXPR[all]"; *ret_done false: text is not of that form. */
struct err *kernel_print(
	struct session *s, const char *text, char letter, bool json, bool *ret_done) TS_CHECK;
/* Parses "@shared 0x10", "shared:16", and inside a launch any address: *ret_space is an enum
 * soft_space. *ret_done false: there is no launch under the microscope, and text names no space. */
struct err *kernel_address(struct session *s, const char *text, unsigned *ret_space, uint64_t *ret,
	bool *ret_done) TS_CHECK;
/* Reads shared, local or param memory of a lane of the focused warp; negative: of the focused one.
 */
struct err *kernel_read(
	struct session *s, unsigned space, uint64_t addr, int lane, void *dst, size_t n) TS_CHECK;
/* Sets a register of the selected frame ("%%r4": and its copies), or memory by a generic address or
 * one in a space, for a lane of the focused warp; negative: for the focused one. */
struct err *kernel_set_register(
	struct session *s, const char *name, int lane, const struct lang_value *v) TS_CHECK;
struct err *kernel_write(struct session *s, unsigned space, uint64_t addr, int lane,
	const void *src, size_t n) TS_CHECK;
/* Makes of a generic address, if it is one in a window, the address in its space. */
void kernel_leave_window(unsigned *space, uint64_t *addr);
extern const char *const kernel_spaces[SOFT_SPACES];

#endif
