/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch of the replay under the microscope (replay/device-kernel.h), as the shell's commands see it. The launch is the one that the replay
 * stands at; memory is then as it is in the middle of it, until something moves the replay.
 */
#ifndef SHELL_KERNEL_H
#define SHELL_KERNEL_H

#include "replay/device-kernel.h"
#include "shell/line/session.h"
#include "shell/print/value.h"

/* Where the launch under the microscope stands; NULL when there is none, or it has ended. */
const struct soft_stop *kernel_stop(const struct session *s);
/* The same, also when it has ended: there is a way back into it. */
const struct soft_stop *kernel_stop_any(const struct session *s);
/* That a launch is under the microscope; ERR_STATE with the cure, ERR_UNSUPPORTED on another device. what: "info lanes". */
struct err *kernel_need(struct session *s, const char *what, struct device **ret) TS_CHECK;
/* Before the first instruction of launch seq; 0: of the one the replay stands at, or right before. Says so. */
struct err *kernel_enter(struct session *s, uint64_t seq) TS_CHECK;
/* Moves; enters the launch first when none is. Says where it stops. */
struct err *kernel_go(struct session *s, enum soft_how how, uint64_t n) TS_CHECK;
/* The launch that the replay stands at, when a breakpoint inside its kernel is still to be looked for there; 0: none. */
uint64_t kernel_to_look_through(struct session *s);
/* A breakpoint inside a kernel matched the launch that the replay has come to: runs to it. *ret_hit false: it was not reached, the replay stands
 * behind the launch. */
struct err *kernel_run_to_point(struct session *s, uint64_t seq, bool *ret_hit) TS_CHECK;
/* Whether the table's breakpoints fit the launch under the microscope, if there is one; *ret_line: the PTX line that breakpoint id is at there, 0: it
 * is at none. */
struct err *kernel_check_points(struct session *s, int id, unsigned *ret_line) TS_CHECK;
/* A stop on the screen. */
void kernel_tell(struct session *s, const struct soft_stop *t);
/* "(1,0,0)", "1,0,0", "1" */
bool kernel_coordinates(const char *word, uint32_t ret[3]);
/* Chooses a thread: "block (1,0,0) thread (5,0,0)", either alone too. */
struct err *kernel_focus(struct session *s, unsigned argc, char *const *argv) TS_CHECK;
/* "matmul.cu:23", "" when it is not known. */
void kernel_source(struct buf *out, const char *file, unsigned line);
/* The kernel's name as people write it. */
const char *kernel_short_name(char *dst, size_t n, const char *mangled);

/* ---- values (kernel-value.c) ------------------------------------------------------------------------------------------- */

/* Whether text names a register: "%r4", "%tid.x + 1"; "5 % 3" does not. */
bool kernel_has_register(const char *text);
/* The value of an expression in the focused thread, and of all lanes in *all (may be NULL). */
struct err *kernel_value(struct session *s, const char *text, struct value *ret, struct soft_value *all) TS_CHECK;
/* One lane of it. */
struct value kernel_lane(const struct soft_value *v, unsigned lane);
void kernel_format(const struct soft_value *v, unsigned lane, char letter, struct buf *out);
/* print; *ret_done false: text is none of ours. */
struct err *kernel_print(struct session *s, const char *text, char letter, bool *ret_done) TS_CHECK;
/* "@shared 0x10", "shared:16", "tile + 4", "%rd4": *ret_space is an enum soft_space. *ret_done false: text is none of ours. */
struct err *kernel_address(struct session *s, const char *text, unsigned *ret_space, uint64_t *ret, bool *ret_done) TS_CHECK;
/* Shared, local and param memory of the focused thread. */
struct err *kernel_read(struct session *s, unsigned space, uint64_t addr, void *dst, size_t n) TS_CHECK;
extern const char *const kernel_spaces[SOFT_SPACES];

#endif
