/* SPDX-License-Identifier: Apache-2.0
 *
 * A shell command: one row of shell-commands.def. To add one, add a row there, a function and its
 * long help (`const char NAME_help[]`) in the family's cmd-*.c, and a test. help, completion and
 * the manual are made from the row.
 */
#ifndef SHELL_COMMAND_H
#define SHELL_COMMAND_H

#include "base/err.h"
#include "base/buf.h"

struct session;

/* A command's preconditions; checked in one place (commands_check). */
enum cmd_flags {
	CMD_NEEDS_TRACE = 1,   /* a trace is open */
	CMD_NEEDS_REPLAY = 2,  /* a replay is on */
	CMD_NEEDS_PROCESS = 4, /* an inferior lives */
	CMD_NEEDS_STOP = 8,    /* ... and is stopped */
	CMD_REPEATS = 32,      /* an empty line runs it again */
	CMD_PREFIX = 64,       /* only groups its subcommands */
	CMD_JSON = 128,	       /* takes --json */
	CMD_FORMAT = 256,      /* takes /FMT */
	CMD_RAW = 512,	       /* the rest of the line is not split into words */
	CMD_PAGED = 1024,      /* its output may be longer than the screen */
	CMD_BLOCK = 2048,      /* lines up to `end` belong to it */
	CMD_UNLISTED = 4096,   /* an alias that completion leaves out */
	CMD_RETURNS = 1 << 20, /* looks elsewhere in a replay: a launch under the microscope is
				  then entered again, to the same place */
};

/* What completes a command's words. */
enum complete {
	COMPLETE_NONE,
	COMPLETE_COMMANDS,
	COMPLETE_SETTINGS,
	COMPLETE_KERNELS, /* after the word "kernel"; kinds and classes otherwise */
	COMPLETE_STREAMS, /* after the word "stream" */
	COMPLETE_FILES,
	COMPLETE_FIELDS,      /* fields of commands.def */
	COMPLETE_BREAKPOINTS, /* numbers */
	COMPLETE_REGISTERS,   /* of the launch under the microscope */
};

enum group {
	GROUP_RUNNING,
	GROUP_BREAKPOINTS,
	GROUP_CAPTURE,
	GROUP_REPLAY,
	GROUP_KERNEL,
	GROUP_STATE,
	GROUP_DATA,
	GROUP_STACK,
	GROUP_FILES,
	GROUP_SUPPORT,
	GROUP_SCRIPT,
	GROUP_USER, /* defined by the user */
	GROUP_END
};

struct command;
struct cmd_args {
	const struct command *cmd;
	const char *rest; /* the text after the command's name, /FMT and --json; no blanks at either
			     end */
	unsigned argc;	  /* rest as words; 0 with CMD_RAW */
	char **argv;
	const char *fmt; /* "8fw" of x/8fw, or "" */
	bool json;
};

struct command {
	const char *name;    /* "break", "info streams" */
	const char *aliases; /* fixed short forms, separated by spaces: "b br"; of the last word of
				name */
	struct err *(*run)(struct session *s, const struct cmd_args *a);
	unsigned flags;
	enum complete completes;
	enum group group;
	const char *usage; /* the arguments: "[N]" */
	const char *doc;   /* one line, begins with a capital, no full stop */
	const char *help;  /* lines of at most 80 columns */
	/* of an alias: the command, and the beginning of its arguments; NULL: it is none */
	const char *stands_for;
};

/* The table and its length. */
extern const struct command commands[];
extern const unsigned commands_count;
const char *command_group_title(enum group g);
/* The group's name for `help`: "data". */
const char *command_group_name(enum group g);

#define COMMAND(name, aliases, fn, flags, completes, group, usage, doc)                            \
	struct err *fn(struct session *s, const struct cmd_args *a) TS_CHECK;                      \
	extern const char fn##_help[];
#include "shell/line/shell-commands.def"
#undef COMMAND

/* Parses the command's only argument, a count of at least 1; without one the count is 1. */
struct err *cmd_count(const struct cmd_args *a, uint64_t *ret) TS_CHECK;

/* --- lookup.c: finding commands by what the user typed --- */

/* Finds the command that text begins with: exact names and aliases first, then unique prefixes.
 * *ret_rest is the text behind it. A group without a subcommand ("info") is returned itself. */
struct err *lookup_command(const struct command *table, unsigned n, const char *text,
	const struct command **ret, const char **ret_rest) TS_CHECK;
/* Whether word is the last word of c's name, or one of its short forms. */
bool lookup_is_name(const struct command *c, const char *word);
/* Calls add for each word that can complete `word` after the command names in `before` ("" or "info
 * "). */
void lookup_complete(const struct command *table, unsigned n, const char *before, const char *word,
	void (*add)(void *arg, const char *candidate), void *arg);
/* Number of edits (insert, delete, replace, swap) that turn a into b; for "did you mean". */
unsigned lookup_distance(const char *a, const char *b);

#endif
