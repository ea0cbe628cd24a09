/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program's own names in expressions: variables of the selected frame and of the program,
 * its types, and what lies at its addresses.
 */
#ifndef SHELL_PROGRAM_H
#define SHELL_PROGRAM_H

#include "lang/lang.h"
#include "shell/line/session.h"
#include "shell/print/listing.h"

/* Finds a variable of the selected frame or of the program; nothing while no program is stopped, or
 * commands refer to a replay. */
struct err *program_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found) TS_CHECK;
/* The same in the frame whose line the stop shows, while the user has chosen no other. */
struct err *program_shown_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found) TS_CHECK;
/* The same in the program's libraries. */
struct err *program_library_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found) TS_CHECK;
/* A type of the program; NULL: there is none. */
const struct lang_type *program_type_named(struct session *s, const char *name);
/* Appends " <main+4>", the function or variable of the live program that has an address. */
void program_tell_symbol(void *session, uint64_t addr, struct buf *out);
/* Appends the allocation, or the function or variable, that has an address. */
void program_tell_address(struct session *s, uint64_t addr, struct buf *out);

/* Adds the variables of native frame `frame` of the selected thread. *ret_known: there is debug
 * information. */
struct err *program_list_locals(
	struct session *s, unsigned frame, struct listing *l, bool *ret_known) TS_CHECK;
/* Appends them as "name = value" lines, or a line that says why there are none. */
struct err *program_print_locals(struct session *s, unsigned frame, struct buf *out) TS_CHECK;

#endif
