/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of two traces as text and as JSON, and conditions about it.
 */
#ifndef SHELL_DIFF_TEXT_H
#define SHELL_DIFF_TEXT_H

#include "base/id-table.h"
#include "compare/compare.h"
#include "compare/runs.h"
#include "numeric/numeric.h"
#include "shell/line/session.h"
#include "state/summary.h"

/* One trace of the comparison, with what its commands and stacks are called by. */
struct diff_trace {
	const char *path;
	struct sbt_reader *r;
	struct state *st;	     /* after its last command */
	struct summary_rows kernels; /* their mangled names */
	struct id_table places;	     /* u64 by stack; 0: not asked yet */
};
/* Opens t->path, which is set. *t is to be closed either way. */
struct err *diff_trace_open(struct diff_trace *t) TS_CHECK;
void diff_trace_close(struct diff_trace *t);
/* For compare_ask.place: the place that a stack is, by the function alone: lines shift when a
 * program is changed. */
uint64_t diff_trace_place(struct session *s, struct diff_trace *t, uint32_t stack);
/* Two of them, in the order of a compare_ask. */
struct diff_two {
	struct session *s;
	struct diff_trace *a, *b; /* open before compare_run() */
};
/* All of both; two is the callbacks' argument. */
struct compare_ask diff_two_ask(struct diff_two *two);
/* For an ask's place; arg: struct diff_two. */
uint64_t diff_two_place(void *two, bool b, uint32_t stack);

/* The step that is compared. */
struct diff_step {
	struct compare_step is;
	enum compare_steps_by by;
	uint64_t of; /* so many there are */
	char *name;  /* of its ranges; heap; NULL: they are no ranges */
};
struct diff_show {
	struct diff_trace a, b;
	const struct diff_step *step_a, *step_b; /* NULL: ranges are compared */
	uint64_t top;				 /* rows of a table; 0: all */
	bool time, json;
	const struct numeric *numeric; /* NULL: numbers were not compared */
	const char *why;	       /* the paragraph; NULL: it was not asked for */
	const struct diff_runs *runs;  /* NULL: there is one trace of each */
};
struct err *diff_print(
	struct session *s, const struct compare *c, const struct diff_show *d) TS_CHECK;

/* What --step and --step-by say. */
struct diff_step_words {
	const char *by, *name; /* NULL: what both traces have; of ranges */
	uint64_t a, b;
	bool has_a, has_b;	     /* false: that number was not given */
	struct diff_step in_a, in_b; /* what was found */
};
/* The comparison as one paragraph; heap. */
struct err *diff_why(struct session *s, const struct compare *c, const struct diff_show *d,
	const struct compare_ask *ask, char **ret) TS_CHECK;

/* Takes the value of --step: "A:3", "B:7", "A:3,B:7", or "3" for both. */
struct err *diff_step_take(struct diff_step_words *w, const char *value) TS_CHECK;
/* Whether the word behind --step A:3 is the other one, B:7. */
bool diff_step_is_word(const char *word);
/* Finds the steps and makes them the ranges of `ask`, whose traces are open. ERR_NOT_FOUND: there
 * are no steps, or none with that number. */
struct err *diff_step_find(struct diff_step_words *w, struct compare_ask *ask) TS_CHECK;
void diff_step_free(struct diff_step_words *w);

/* Writes the stacks of both traces with A's and B's value, as flamegraph.pl reads differences. */
struct err *diff_folded(struct session *s, const struct diff_show *d, const struct compare_ask *ask,
	const char *weight) TS_CHECK;

/* One of several traces of a side. */
struct diff_run {
	const char *path;
	bool b;
	struct compare_step range; /* of its commands; first and last alone count */
	uint64_t differences;	   /* commands, from the first of its side */
	uint64_t gpu_ns, span_ns, start_ns;
	uint64_t untimed; /* launches, copies and fills without GPU times */
};
/* Rows of the whole. */
#define DIFF_RUNS_TIME "GPU time"
#define DIFF_RUNS_SPAN "from the first command to the last end"
struct diff_runs {
	struct runs is;
	struct diff_run *run; /* A's, then B's; heap */
	size_t n;
	bool control; /* A's are the odd runs of one side, B's the even ones */
	bool in_turn; /* they were not recorded first all of one side, then all of the other */
};
struct diff_runs_ask {
	const char *const *a, *const *b; /* paths; the first of each is open in *show */
	unsigned na, nb;
	struct diff_show *show;
	struct compare_ask *ask;     /* of the first two, with their ranges */
	struct diff_step_words step; /* that the ranges come from, if it has numbers */
	const struct compare *first; /* the first two compared */
};
/* Sums up each trace. ERR_INCOMPLETE: one has no GPU times. */
struct err *diff_runs_make(
	struct session *s, const struct diff_runs_ask *x, struct diff_runs *ret) TS_CHECK;
void diff_runs_free(struct diff_runs *r);
/* top: rows of each table; 0: all. */
void diff_runs_print(struct session *s, const struct diff_runs *r, uint64_t top);
/* The object runs_diff; r points to a pointer. */
void diff_runs_json(struct buf *out, const void *r);

/* Two sets of ranks, paired by number. */
struct diff_ranks_ask {
	const char *a, *b; /* the sets' files */
	uint64_t top;
	const char *assertion; /* holds if it does of each rank; NULL: none */
	bool time, json;
};
/* Compares and prints. *ret_same: all ranks are the same, or the assertion holds of each. */
struct err *diff_ranks(struct session *s, const struct diff_ranks_ask *x, bool *ret_same) TS_CHECK;
/* Replaces the path of a set by that of its rank's trace; heap. ERR_NOT_FOUND: it has no such
 * rank. */
struct err *diff_rank_path(const char *set, uint64_t rank, char **ret) TS_CHECK;

/* What numeric_run() found, as text; as the object numeric_diff, heap. */
struct err *numeric_print(struct session *s, const struct diff_show *d) TS_CHECK;
struct err *numeric_json(struct session *s, const struct diff_show *d, char **ret) TS_CHECK;

/* Whether "time < 1.05 && structure == same" holds. ERR_USAGE with what can be said if it cannot be
 * read, ERR_INCOMPLETE if it needs GPU times that are not there, or more runs. */
struct diff_facts {
	const struct compare *c;
	const struct numeric *n;      /* NULL: numbers were not compared */
	const struct diff_runs *runs; /* NULL: there is one trace of each */
};
struct err *diff_assert(const struct diff_facts *f, const char *text, bool *ret) TS_CHECK;

#endif
