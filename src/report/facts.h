/* SPDX-License-Identifier: Apache-2.0
 *
 * What analyses have found out about a trace, as a list of facts: a sentence, the commands that it
 * is about, figures. The page, Markdown, JSON and the numbered evidence of --explain are printers
 * of this one list.
 */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "base/buf.h"
#include "compare/compare.h"
#include "order/critical-path.h"
#include "order/order.h"
#include "sbt/sbt.h"
#include "state/set-stats.h"
#include "state/trace-stats.h"

enum fact_topic {      /* in the order in which they are shown */
	FACT_RUN,      /* what was recorded, where and when */
	FACT_FAULT,    /* calls that failed */
	FACT_RACE,     /* commands that nothing orders */
	FACT_UNSTABLE, /* launches that are not deterministic */
	FACT_CHANGE,   /* differences from the second trace */
	FACT_PATH,     /* the long pole: the critical path */
	FACT_TIME,     /* what devices and streams did with their time */
	FACT_WORK,     /* kernels, copies, memory */
	FACT_MISSING,  /* what was not recorded, and what therefore is not known */
	FACT_TOPICS
};

struct fact_value {
	const char *name; /* constant: "busy_ns" */
	uint64_t v;
};
enum { FACT_SEQS_MAX = 8, FACT_VALUES_MAX = 8 };
struct fact {
	enum fact_topic topic;
	char *text;  /* heap, one sentence or two, safe to print */
	char *place; /* heap: where in the program, "step () at app.cu:12"; NULL: nowhere */
	uint64_t seqs[FACT_SEQS_MAX];
	unsigned nseqs;
	struct fact_value values[FACT_VALUES_MAX];
	unsigned nvalues;
};
struct facts {
	struct fact *v; /* topic by topic */
	size_t n, cap;
};

/* What tsdb check found. */
struct fact_unstable {
	uint64_t seq, differing, executions;
	char *looks_like; /* heap; what the cause may be; NULL: not known */
};
struct fact_check {
	struct fact_unstable *v;
	size_t n;
	uint64_t checked, not_checked; /* launches */
};

/* Rows of a table become a fact each, up to so many. */
enum { FACTS_TOP = 10, FACTS_RACES = 200, FACTS_FAULTS = 50, FACTS_CHANGES = 200 };

/* What is counted of the commands first to last, one after the other. Begins as zeros. */
struct fact_counts {
	uint64_t commands, launches, graphs, copies, fills, waits;
	uint64_t work, untimed, without_stack;
	uint64_t failed;
	struct fact_fault {
		uint64_t seq;
		uint16_t kind;
		uint32_t result, stack, kernel;
	} faults[FACTS_FAULTS]; /* the first that failed */
};
void fact_counts_take(struct fact_counts *n, const struct sbt_cmd *c);

/* What is known; NULL: that was not asked for, or could not be found out. `not_` says why, as a
 * sentence without full stop. */
struct facts_from {
	struct sbt_reader *r;
	const struct state *end;	  /* after the last command */
	uint64_t first, last;		  /* seqs that the facts are about */
	const struct fact_counts *counts; /* NULL: facts_make() reads the commands itself */
	const struct stats *stats;
	const struct critical_path *critical;
	const char *not_critical;
	const struct order_races *races;
	const char *not_races;
	const char *races_note;		/* what was not made exact; NULL or "" */
	const struct fact_check *check; /* NULL: launches were not tried */
	const struct compare *changes;
	const char *other; /* the second trace's path */
	const char *path;  /* this one's */
	/* A kernel's name as it is shown, of the mangled one; the place in the program that a stack
	 * is, heap. */
	const char *(*kernel)(void *arg, const char *mangled);
	char *(*place)(void *arg, uint32_t stack);
	void *arg;
};
struct err *facts_make(struct facts *ret, const struct facts_from *from) TS_CHECK;
/* The ranks of a set beside each other. */
void facts_of_set(struct facts *ret, const struct set_stats *x);
void facts_free(struct facts *f);

/* "run", "race" ..; and the heading, "Races". */
const char *fact_topic_name(uint64_t topic);
const char *fact_topic_title(uint64_t topic);

void facts_markdown(struct buf *out, const struct facts *f, const char *path);
/* The object `report`. */
void facts_json(struct buf *out, const struct facts *f, const char *path);
/* The object `report_set`: of the set, and of each of its ranks. */
struct facts_rank {
	uint64_t rank;
	const struct facts *facts;
	const char *path;
};
void facts_set_json(struct buf *out, const struct facts *together, const char *path,
	const struct facts_rank *ranks, size_t n);
/* Numbered sentences, with the commands that each rests on. */
void facts_explain(struct buf *out, const struct facts *f, const char *path);

#endif
