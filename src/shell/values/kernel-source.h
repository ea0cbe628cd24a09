/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a launch: the frames of the focused lane, the selected one, and its variables, for the
 * shell's commands (engine/microscope.h).
 */
#ifndef SHELL_KERNEL_SOURCE_H
#define SHELL_KERNEL_SOURCE_H

#include "engine/microscope.h"
#include "shell/line/session.h"
#include "shell/print/listing.h"
#include "symbols/host-stack.h"
#include "symbols/variables.h"

/* The selected frame, from the innermost one of the lane outwards; 0 after each move. Frames behind
 * the lane's are the host's that made the launch. */
unsigned kernel_frame_selected(const struct session *s);
void kernel_frame_select(struct session *s, unsigned frame);
/* Puts the frames of the focused lane before those of st; nothing when no launch is under the
 * microscope. */
struct err *kernel_add_frames(struct session *s, struct stack *st) TS_CHECK;
/* Whether the selected frame is a function that the kernel calls, whose arguments are its own. */
bool kernel_in_function(struct session *s);
/* How many calls outwards in the PTX the selected frame is. */
struct err *kernel_frame_call(struct session *s, int lane, uint32_t *ret) TS_CHECK;
/* kernel_copies() of the selected frame. */
struct err *kernel_source_copies(
	struct session *s, int lane, const char *reg, struct ptx_copies *ret) TS_CHECK;
/* Finds a variable of the selected frame, in lane or the focused one (negative). Nothing is found
 * when the PTX has no debug information. */
struct err *kernel_source_value(struct session *s, const char *name, int lane,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
const struct lang_type *kernel_source_type(struct session *s, const char *name);
/* Adds the variables of frame `frame`: which, a set of enum variables_which, 0: all. *ret_known:
 * there is debug information about it. */
struct err *kernel_list_variables(struct session *s, unsigned frame, unsigned which,
	struct listing *l, bool *ret_known) TS_CHECK;
/* Appends all of them as "name = value" lines. */
struct err *kernel_print_variables(struct session *s, unsigned frame, struct buf *out) TS_CHECK;
/* Prints those of the selected frame. */
struct err *kernel_tell_variables(struct session *s, unsigned which, bool json) TS_CHECK;
/* Reads memory of a lane (negative: the focused one) by a generic address or one in a space. */
struct err *kernel_read_lane(
	struct session *s, int lane, unsigned space, uint64_t addr, void *dst, size_t n) TS_CHECK;
/* Puts what variables are in an expression of a probe (kernel_names_replaced()). */
bool kernel_source_replaced(struct session *s, const char *text, char *dst, size_t n);
/* Why a name is not known inside a launch; NULL: no launch is under the microscope, or it has debug
 * information. */
struct err *kernel_unknown_name(struct session *s, const char *name) TS_CHECK;

#endif
