/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that the user defines: `define`, `alias`, and hooks, which are defined commands called
 * hook-X. They are rows of a session's own command table, behind the shell's own, so that lookup,
 * completion and help know them.
 */
#ifndef SHELL_DEFINED_H
#define SHELL_DEFINED_H

#include "shell/script/script.h"

struct defined;

struct defined *defined_new(void);
void defined_free(struct defined *d);
/* The commands that there are in a session. */
const struct command *defined_table(const struct session *s, unsigned *ret_n);
/* lookup_command() in that table. A row is valid until the next command is defined. */
struct err *defined_lookup(const struct session *s, const char *text, const struct command **ret,
	const char **ret_rest) TS_CHECK;

/* Defines name ("foo", "info foo") with the lines of b, which it takes; a command that has the name
 * is replaced. The group of a name of several words exists. */
void defined_add(struct session *s, const char *name, struct script_block *b);
/* Defines a name for a command with the beginning of its arguments. listed: it is completed. */
void defined_alias(struct session *s, const char *name, const char *stands_for, bool listed);
/* The lines of a command that the user has defined; NULL: there is no such command. */
const struct script_block *defined_body(const struct session *s, const char *name);
/* Gives it its help: a line, and more. The command is there. */
void defined_document(struct session *s, const char *name, const char *text);
/* The help, as it was given; NULL: none was. */
const char *defined_text(const struct session *s, const char *name);
/* Runs "hook-NAME", or with prefix "hookpost-" that one, if it is defined and not running. */
struct err *defined_hook(struct session *s, const char *prefix, const char *name) TS_CHECK;
/* The function of rows that define made; it runs the lines. */
struct err *defined_run(struct session *s, const struct cmd_args *a) TS_CHECK;

#endif
