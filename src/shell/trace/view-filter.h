/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a trace's commands `view` lists: its options, and the test of one command after the
 * other. The test keeps what does not grow with the trace.
 */
#ifndef SHELL_VIEW_FILTER_H
#define SHELL_VIEW_FILTER_H

#include "shell/line/session.h"

enum { VIEW_NO_RANK = -1, VIEW_ALL_RANKS = -2, VIEW_CONDITION_MAX = 1024 };

struct view_filter {
	uint64_t first, last; /* seq; 0 and UINT64_MAX: all */
	uint64_t newest;      /* only that many, the newest; 0: all */
	bool has_stream;
	uint32_t stream;
	const char *kernel; /* glob; NULL: any */
	const char *range;  /* glob of an NVTX range's name; NULL: anywhere */
	unsigned kind;	    /* 0: any */
	int64_t rank;	    /* of a set; or one of those above */
	bool stacks, json;
	bool count;			    /* only how many */
	char condition[VIEW_CONDITION_MAX]; /* "": none */
};
/* Reads options and RANGE from words. If ret_file is given, a word that is no range is the file. */
struct err *view_options(
	struct view_filter *f, unsigned argc, char *const *argv, const char **ret_file) TS_CHECK;
/* Whether the filter chooses by what a command is, and not by its number alone. */
bool view_filter_chooses(const struct view_filter *f);

/* The kernels of the trace, as far as they are known. */
struct view_kernels {
	void *arg;
	const char *(*mangled)(void *arg, uint32_t id); /* NULL: not known */
	const char *(*shown)(void *arg, uint32_t id);
	bool (*params)(void *arg, uint32_t id, struct sbt_blob *ret);
};

/* A test of commands in their order. f and kernels live as long as it does. */
struct view_test;
/* ERR_USAGE when the condition is no expression over fields of commands. */
struct err *view_test_open(struct view_test **ret, struct session *s, const struct view_filter *f,
	const struct view_kernels *kernels) TS_CHECK;
void view_test_close(struct view_test *t);
/* Must be called for every command, also for those before the first one that is wanted. */
struct err *view_test_passes(struct view_test *t, const struct sbt_cmd *c, bool *ret) TS_CHECK;

#endif
