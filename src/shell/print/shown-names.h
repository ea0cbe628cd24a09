/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' names as `set names` says: "short" drops template arguments, "brief" keeps them and
 * shortens what is long, "full" is the whole C++ name with its parameters.
 */
#ifndef SHELL_SHOWN_NAMES_H
#define SHELL_SHOWN_NAMES_H

#include "shell/line/session.h"

enum names_how { NAMES_BRIEF, NAMES_SHORT, NAMES_FULL };

/* The name of a mangled one; lives as long as the session. */
const char *kernel_shown_name(struct session *s, const char *mangled);
/* Shortens a demangled name to its qualified name and template arguments, in NAMES_BRIEF_MAX
 * characters if that can be done: within template arguments, names lose their namespaces, then
 * their own arguments; at last the arguments become "...". */
#define NAMES_BRIEF_MAX 80
void kernel_brief_name(struct buf *out, const char *demangled);
/* Whose kernels, and by which setting. */
struct shown_names {
	struct session *s;
	const struct state *st;
};
/* Names for the printers of room sbt; they live as long as *of does. JSON has short names whatever
 * the setting is: state_names(). */
struct sbt_names kernel_names(const struct shown_names *of);
/* Prints command seq of r: a line without newline, or JSON. Its stack id goes to *ret_stack. */
struct err *shown_cmd(const struct shown_names *of, struct sbt_reader *r, uint64_t seq, bool json,
	struct buf *out, uint32_t *ret_stack) TS_CHECK;

#endif
