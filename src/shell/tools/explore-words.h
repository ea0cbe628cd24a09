/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of `replay explore` and `tsdb explore`, and what both print.
 */
#ifndef SHELL_EXPLORE_WORDS_H
#define SHELL_EXPLORE_WORDS_H

#include "engine/explore.h"
#include "shell/line/session.h"

#define EXPLORE_USAGE                                                                              \
	"[--budget N|TIME] [--seed S] [--most N] [--jobs N | --shard K/N|auto] [--no-save] "       \
	"[--strict]"

/* What only the tool takes. */
struct explore_tool_words {
	const char *file, *out;
	bool resume, found_ok;
	double every; /* seconds between two checkpoints */
};

/* o points into argv. t may be NULL: such words are refused. get: as getenv(), for --shard auto;
 * NULL: getenv() itself. */
struct err *explore_words(struct explore_options *o, int argc, char *const *argv,
	struct explore_tool_words *t, const char *(*get)(const char *)) TS_CHECK;

/* cmd-explore.c: prints a result; the error of one that was interrupted */
void explore_tell(struct session *s, const struct explore_result *r, bool json);
struct err *explore_check_ended(const struct explore_result *r) TS_CHECK;

/* explore-file.c: a file with the results of a trace's windows, a line each. Every change of it is
 * whole or not there at all. */
struct explore_file {
	char *path; /* heap */
	struct explore_result *r;
	size_t n, cap;
};
/* Reads what is there. A file that does not exist has no results; if it is needed, an error. */
struct err *explore_file_read(struct explore_file *f, bool needed) TS_CHECK;
/* The result of a window; NULL: none. */
struct explore_result *explore_file_window(struct explore_file *f, unsigned window);
/* Writes the file's results, r in the place of its window's. */
struct err *explore_file_write(
	const struct explore_file *f, const struct explore_result *r) TS_CHECK;
/* Takes a result: *r is empty afterwards. */
void explore_file_add(struct explore_file *f, struct explore_result *r);
void explore_file_free(struct explore_file *f);

/* tool-explore-merge.c: whether the file has results of exploring, by its first byte: it is neither
 * a trace nor a set */
bool explore_is_results(const char *path);
int tool_explore_merge(struct session *s, int argc, char **argv);

#endif
