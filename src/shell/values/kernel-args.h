/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of kernel launches by name and type (symbols/kernel-params.h): of the live program, of
 * a trace whose program is still there, of a program that has not run yet. What is not certain has
 * no name, or no type.
 */
#ifndef SHELL_KERNEL_ARGS_H
#define SHELL_KERNEL_ARGS_H

#include "shell/line/session.h"
#include "symbols/kernel-params.h"

struct breakpoint;

/* Fills *ret for a kernel; layout, its parameters as they were recorded (pairs of offset and size,
 * u32; NULL: not known yet), has to agree with it. False: nothing is known. The caller frees *ret
 * either way. */
bool kernel_args_of(struct session *s, const char *mangled, const struct sbt_blob *layout,
	struct kernel_params *ret);
/* The same for the kernel of launch c. */
bool kernel_args_of_launch(struct session *s, const struct sbt_cmd *c, struct kernel_params *ret);

/* Finds an argument of launch c by its name, "lr", or "adam::lr". */
struct err *kernel_arg_value(struct session *s, const struct sbt_cmd *c, const char *name,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
/* All of them as a struct. */
struct err *kernel_args_value(
	struct session *s, const struct sbt_cmd *c, struct lang_value *ret) TS_CHECK;

/* A condition on launches with the arguments' names, of all kernels that match glob (NULL: any),
 * replaced by what sbt/expr.h calls them: "lr > 0.5" becomes "arg2.f32 > 0.5". Fields of the launch
 * come first; "adam::stream" is the argument. A heap string. */
struct err *kernel_args_condition(
	struct session *s, const char *glob, const char *text, char **ret) TS_CHECK;
/* Gives a breakpoint this condition, which may have such names if it is about launches. */
struct err *kernel_args_set_condition(
	struct session *s, struct breakpoint *bp, const char *text) TS_CHECK;
/* Another program or trace is there: looks the names in all conditions up again. A breakpoint whose
 * condition means nothing any more is disabled, and a line says so. */
void kernel_args_renew_conditions(struct session *s);

#endif
