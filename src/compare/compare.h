/* SPDX-License-Identifier: Apache-2.0
 *
 * Two traces of a program side by side: which commands of one are those of the other, and where the
 * two differ. Commands are compared by what they are (kind, kernel, shape, sizes), never by ids,
 * addresses or times; each host thread's in its program order. Waits are compared by what they wait
 * for. What differs is reported; the reverse holds as well: equal traces have no difference.
 *
 * Not compared: arguments of kernels, contents of memory, allocations, queries. If a trace was
 * observed or imported, also not: events, waits of streams, host functions, values in memory, nodes
 * of graphs, shapes of copies and fills but for their size, clusters; kernels' names are plain.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "sbt/sbt.h"

enum compare_what {
	COMPARE_REMOVED,   /* A has it, B does not */
	COMPARE_INSERTED,  /* B has it, A does not */
	COMPARE_REPLACED,  /* another command in its place, called from the same place */
	COMPARE_RESHAPED,  /* the same kernel, copy or fill with another grid, block, size ... */
	COMPARE_REORDERED, /* it comes earlier or later */
	COMPARE_MOVED,	   /* on another stream */
	COMPARE_WAIT_GONE, /* a wait that A has: of a stream, or of the host */
	COMPARE_WAIT_ADDED,
	COMPARE_WAIT_OTHER, /* waits for another point */
	COMPARE_WHATS
};

/* Commands of one side, next to each other in their thread. */
struct compare_side {
	uint64_t first, last; /* seq; 0: none */
	uint64_t count;
	uint32_t stream, stack; /* of the first */
	uint64_t before; /* the last command in front, of that thread, that both have; 0: none */
};
struct compare_difference {
	enum compare_what what;
	struct compare_side a, b;
	uint64_t order; /* private */
};

/* Sums over matched work of one name that has GPU times on both sides. */
struct compare_time {
	char *name; /* heap: a kernel's mangled name, "copy h2d", "fill", "graph launch" */
	uint64_t count, a_ns, b_ns;
	uint64_t first_a, first_b; /* seq of the first pair */
	uint32_t stack;		   /* of that, in A */
	bool noise; /* the mean difference is within what single pairs differ by: two standard
		     * errors, or there is one pair only */
};

/* Work of one name from one place in the program, matched or not, that has GPU times. */
struct compare_site {
	char *name; /* heap; as of compare_time */
	uint64_t a_count, b_count, a_ns, b_ns;
	uint64_t first_a, first_b; /* seq; 0: none */
	uint32_t stack_a, stack_b; /* of these */
	bool noise; /* all of it is matched, and the change is within what single pairs differ by */
};

struct compare {
	struct compare_difference *d; /* in the order of the program */
	size_t n;
	uint64_t more;			 /* differences beyond COMPARE_MAX, not listed */
	uint64_t by_what[COMPARE_WHATS]; /* commands, all of them */
	uint64_t a_commands, b_commands, matched;
	uint32_t *streams; /* pairs A, B of streams that correspond; nstreams of them */
	size_t nstreams;
	bool observed; /* one was seen from outside or imported: what it cannot know is not compared
			*/
	bool coarse;   /* they differ so much that the list may be longer than it had to be */
	/* times: only if both traces have GPU times */
	bool timed;
	struct compare_time *times; /* the largest change first */
	size_t ntimes;
	struct compare_site *sites; /* the largest change first */
	size_t nsites;
	uint64_t a_matched_ns, b_matched_ns; /* GPU time of matched work */
	uint64_t a_only_ns, b_only_ns;	     /* of work that only one side has, or that differs */
	uint64_t a_span_ns, b_span_ns;	     /* from the first command to the last end */
};
#define COMPARE_MAX 10000
bool compare_same(const struct compare *c);

struct compare_ask {
	struct sbt_reader *a, *b;
	struct {
		uint64_t first, last;
	} range_a, range_b; /* seqs; last UINT64_MAX: to the end */
	/* A number for the place in the program that a stack is; b: of the second trace. 0: not
	 * known. May be NULL. */
	uint64_t (*place)(void *arg, bool b, uint32_t stack);
	/* Called for each pair of commands that are the same, by seq, in the order of A; at the
	 * end. May be NULL. */
	void (*pair)(void *arg, uint64_t a, uint64_t b);
	/* A kernel's C++ name, as a profile has it. May be NULL. */
	const char *(*plain)(void *arg, const char *mangled);
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
/* ERR_INTERRUPTED if it was cancelled, ERR_LIMIT above COMPARE_COMMANDS_MAX commands a side. Memory
 * grows with the number of commands: about 60 bytes each. */
#define COMPARE_COMMANDS_MAX (1u << 28)
struct err *compare_run(struct compare *ret, const struct compare_ask *ask) TS_CHECK;
void compare_free(struct compare *c);
const char *compare_what_name(enum compare_what what);

/* --- steps --- */

/* What the steps of a program are, as far as its trace says. */
enum compare_steps_by {
	COMPARE_STEPS_RANGE, /* ranges of one name, numbers in it aside: those furthest outside that
			      * repeat, of the thread that pushes them */
	COMPARE_STEPS_GRAPH, /* from each launch of the graph that is launched most to the next */
	COMPARE_STEPS_WAIT,  /* up to each host wait of the thread that submits most */
	COMPARE_STEPS_BYS
};
struct compare_step {
	uint64_t first, last; /* seq; what other threads submit meanwhile belongs to it */
	uint64_t work;	      /* commands that run on a stream; never 0 */
	uint64_t number;      /* what it is called by */
};
struct compare_steps {
	enum compare_steps_by by;
	char *name; /* of ranges, '*' for numbers; heap; NULL: they are no ranges */
	struct compare_step *v;
	size_t n, cap;
	bool counted; /* numbers count from 1; false: they are those in the names of the ranges */
};
struct compare_step_ask {
	struct sbt_reader *r;
	enum compare_steps_by by;
	const char *name; /* of ranges, even if there is one only; NULL: any that repeats */
	bool (*cancelled)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};
/* ret->n is 0 if there are none. */
struct err *compare_steps_find(
	struct compare_steps *ret, const struct compare_step_ask *ask) TS_CHECK;
/* NULL: there is none. */
const struct compare_step *compare_step_numbered(const struct compare_steps *s, uint64_t number);
void compare_steps_free(struct compare_steps *s);
const char *compare_steps_name(enum compare_steps_by by);
/* The name of a range of n bytes with '*' for each number in it; heap. *ret_number: the number, if
 * there is one alone; else UINT64_MAX. */
char *compare_range_name(const char *p, size_t n, uint64_t *ret_number);

#endif
