/* SPDX-License-Identifier: Apache-2.0
 *
 * Several runs of two programs: what the same work took in each run, with median and spread, and
 * whether B's runs differ from A's by more than runs of one side differ among themselves.
 *
 * The test is Mann and Whitney's ("On a test of whether one of two random variables is
 * stochastically larger than the other", 1947), two-sided. It asks nothing of the distribution but
 * that runs are independent. A run gives one value: launches of one run are not independent. p is
 * exact up to RUNS_EXACT_MOST runs, ties included, and by the normal distribution beyond. Rows of a
 * table are tested together: of rows that are called slower or faster 5 % are wrong in expectation
 * (Benjamini and Hochberg, 1995), and so a table of noise has one such row in 5 % of all cases.
 */
#ifndef COMPARE_RUNS_H
#define COMPARE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNS_ALPHA 0.05
enum { RUNS_EXACT_MOST = 40, RUNS_MOST = 1000 /* a side */ };

enum runs_by { RUNS_WHOLE, RUNS_KERNEL, RUNS_SITE, RUNS_RANGE, RUNS_BYS };
enum runs_verdict {
	RUNS_NOT_KNOWN, /* too few runs to tell, for one row or for so many */
	RUNS_NOISE,	/* the runs of both could be of one side */
	RUNS_SLOWER,	/* B is */
	RUNS_FASTER,
	RUNS_VERDICTS
};

struct runs_side {
	uint64_t *ns; /* by run; heap */
	double median_ns;
	uint64_t low_ns, high_ns;
	uint64_t count; /* of commands: the median run's */
	bool count_varies;
};
struct runs_row {
	enum runs_by by;
	char *name; /* heap */
	struct runs_side a, b;
	double p;
	enum runs_verdict verdict;
};
struct runs {
	unsigned na, nb;
	struct runs_row *row; /* by table; in a table the largest change of medians first */
	size_t n;
	double least_p; /* the least that so many runs can give */
	uint64_t by_verdict[RUNS_BYS][RUNS_VERDICTS];
	struct runs_samples *samples; /* private */
};

/* na, nb: 1 to RUNS_MOST. */
void runs_begin(struct runs *ret, unsigned na, unsigned nb);
/* Run `run` of a side has `count` commands of that key, which took ns. Several with one key in a
 * run are added up. name is how the row is shown; the first of A, or else of B, is. */
struct runs_sample {
	enum runs_by by;
	const char *key, *name;
	bool b;
	unsigned run;
	uint64_t count, ns;
};
void runs_add(struct runs *r, const struct runs_sample *s);
/* Makes the rows of what was added. A run without a sample took 0. */
void runs_judge(struct runs *r);
void runs_free(struct runs *r);
/* Whether so many runs can tell a difference at all. */
bool runs_decide(const struct runs *r);
/* The row of the whole called key; NULL: none. */
const struct runs_row *runs_whole(const struct runs *r, const char *name);
const char *runs_by_name(enum runs_by by);
const char *runs_verdict_name(enum runs_verdict v);
/* The fewest runs of each side that can tell a difference of one among so many rows. */
unsigned runs_fewest(size_t rows);

/* Two-sided p of Mann and Whitney's test that both are of one distribution. */
double runs_p(const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb);

#endif
