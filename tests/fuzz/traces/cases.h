/* SPDX-License-Identifier: Apache-2.0
 *
 * The cases of a worker process: traces changed and run through tsdb, one after the other in this
 * process.
 */
#ifndef FUZZ_CASES_H
#define FUZZ_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACES_MAX 256

/* In memory that main and the worker share. A worker that dies leaves in `at` what it died of. */
struct progress {
	uint64_t at; /* the case that runs, or runs next */
	uint64_t cases, findings, limited;
	volatile int enough; /* no further case is begun */
};

struct cases {
	const char *paths[TRACES_MAX];
	size_t n;
	const char *work; /* a folder, emptied behind each case */
	const char *keep; /* a folder for traces that broke something, or NULL */
	int out;	  /* for what is found */
	int said;	  /* a file, standard error while cases run; -1 with verbose */
	bool verbose, as_is;
	bool no_sandbox; /* else one case in SANDBOX_SHARE has one */
	struct progress *progress;
};

/* Runs cases from progress->at to `end`, which is not run. Cases are seeds; with as_is they are
 * numbers below cases_as_is(). */
_Noreturn void cases_run(struct cases *c, uint64_t end);
/* As they are, how many cases: every trace through every tool. */
uint64_t cases_as_is(const struct cases *c);
/* Whether the case's processes said what only a sanitizer says; prints what tells most, and keeps
 * the trace. */
bool cases_look(const struct cases *c, uint64_t seed);

#endif
