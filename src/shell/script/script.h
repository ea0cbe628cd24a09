/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts: blocks of lines that a line `end` closes, and running them. A block is kept as text and
 * run as a source of lines of its own, so that an `if` within a `while` reads its block from there:
 * no form of a command but its text exists.
 */
#ifndef SHELL_SCRIPT_H
#define SHELL_SCRIPT_H

#include "shell/line/session.h"

struct input;
struct user_args;

/* Lines, and where they come from, for errors. Owned by whoever declares it. */
struct script_block {
	char *text;    /* each line ends with a newline */
	char *name;    /* a script's path, or a command's name; NULL: typed */
	unsigned line; /* number of the first line there, from 1 */
};
void script_block_free(struct script_block *b);
void script_block_copy(const struct script_block *b, struct script_block *ret);

/* How the lines of a block are taken. */
enum script_lines {
	SCRIPT_COMMANDS, /* blocks within it have an `end` of their own */
	SCRIPT_TEXT,	 /* no commands: up to the first `end` */
};
/* Reads the lines up to the `end` that closes the block from where the current command came from.
 * what: the command that began it, for the error when the source ends before. */
struct err *script_read(struct session *s, const char *what, enum script_lines how,
	struct script_block *ret) TS_CHECK;
/* Passes over such a block, whose command failed. At a terminal there is none yet. */
struct err *script_skip(struct session *s, enum script_lines how) TS_CHECK;
/* Splits the block of an `if` at its `else`; *ret_else is empty if it has none. */
struct err *script_split(const struct session *s, const struct script_block *b,
	struct script_block *ret_then, struct script_block *ret_else) TS_CHECK;
/* Appends the lines, indented by 2 blanks a level from `indent` on. */
void script_print(const struct session *s, const char *text, unsigned indent, struct buf *out);

/* Runs the lines; ends at the first that fails, at Ctrl-C, and at loop_break and loop_continue
 * (script_jump). args (may be NULL): what $arg0, $arg1 and $argc in the lines stand for. */
struct err *script_run(
	struct session *s, const struct script_block *b, const struct user_args *args) TS_CHECK;
/* Runs the commands of a breakpoint: what follows one that has moved the program is left out. */
struct err *script_run_stop(struct session *s, const char *text) TS_CHECK;
/* The arguments of the user's command whose lines are being run; NULL: none is. */
const struct user_args *script_args(const struct session *s);
/* Puts the place of the line that failed before e, unless an inner one is there already. */
struct err *script_place(struct session *s, const struct input *in, struct err *e);
/* Ctrl-C, also at a program that it stopped: an error then. */
struct err *script_interrupted(struct session *s) TS_CHECK;

/* --- user-args.c --- */

/* "a "b c" d" as the arguments of a user's command. */
struct user_args *user_args_new(const char *text);
void user_args_free(struct user_args *a);
/* Replaces $argc, $arg0, ... in a line; *ret is a heap string. a may be NULL. */
struct err *user_args_put(const struct user_args *a, const char *line, char **ret) TS_CHECK;

#endif
