/* SPDX-License-Identifier: Apache-2.0
 *
 * The subcommands of the command line, such as tsdb record: each is a row of tools[], from which
 * "tsdb --help" is made. Each takes the words after its name and returns the exit status.
 */
#ifndef SHELL_TOOLS_H
#define SHELL_TOOLS_H

#include "shell/line/session.h"

struct tool {
	const char *name;
	int (*run)(struct session *s, int argc, char **argv);
	const char *usage, *doc; /* usage: without the name */
	const char *examples;	 /* a line each */
	bool executes;		 /* executes a trace's code, and accepts TOOL_NO_SANDBOX */
	bool settings;		 /* reads ~/.config/tsdb/init before */
};
extern const struct tool tools[];
/* The tool called name, or NULL. */
const struct tool *tool_find(const char *name);
/* Appends its usage, its description and examples, in lines of 80 columns. */
void tool_usage(const struct tool *t, struct buf *out);

/* tool-replay.c */
int tool_merge(struct session *s, int argc, char **argv);
int tool_replay(struct session *s, int argc, char **argv);

/* extract.c */
int tool_extract(struct session *s, int argc, char **argv);

#define TOOL_NO_SANDBOX "--no-sandbox"
/* Sets "replay sandbox" to off. */
void tool_no_sandbox(struct session *s);
/* Does so if the option is among the words, a list that ends with NULL; removes the option. */
void tool_take_no_sandbox(struct session *s, char **words);

/* Applies the value of "--gpu" to the settings. */
struct err *tool_set_gpu(struct session *s, const char *value) TS_CHECK;

/* Ends this process by signal sig, without a core file. */
void tool_die_by(int sig);

/* tool-observe.c */
int tool_observe(struct session *s, int argc, char **argv);

/* cmd-check.c */
int tool_check(struct session *s, int argc, char **argv);

/* cmd-nan.c */
int tool_nan(struct session *s, int argc, char **argv);

/* tool-explore.c */
int tool_explore(struct session *s, int argc, char **argv);

/* tool-export.c */
int tool_export(struct session *s, int argc, char **argv);

/* tool-import.c */
int tool_import(struct session *s, int argc, char **argv);

/* tool-core.c */
int tool_core(struct session *s, int argc, char **argv);

/* tool-demo.c */
int tool_demo(struct session *s, int argc, char **argv);

/* cmd-summary.c */
int tool_summary(struct session *s, int argc, char **argv);
/* cmd-stats.c */
int tool_stats(struct session *s, int argc, char **argv);
/* tool-diff.c */
int tool_diff(struct session *s, int argc, char **argv);
/* tool-report.c */
int tool_report(struct session *s, int argc, char **argv);
/* cmd-why.c */
int tool_why(struct session *s, int argc, char **argv);

/* tool-dap.c */
int tool_dap(struct session *s, int argc, char **argv);
/* tool-studio.c */
int tool_studio(struct session *s, int argc, char **argv);

/* cmd-order.c */
int tool_races(struct session *s, int argc, char **argv);

#endif
