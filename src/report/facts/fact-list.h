/* SPDX-License-Identifier: Apache-2.0
 *
 * How facts are made: a sentence, then what belongs to it. What comes from a trace is made safe to
 * show here.
 */
#ifndef REPORT_FACT_LIST_H
#define REPORT_FACT_LIST_H

#include "report/facts.h"

struct fact_maker {
	struct facts *to;
	const struct facts_from *from;
};

/* Adds a fact; later calls add to it. */
void fact_add(struct fact_maker *m, enum fact_topic topic, const char *fmt, ...) TS_PRINTF(3, 4);
/* Beyond FACT_SEQS_MAX, and 0, are left out; so are those that the fact has. */
void fact_seq(struct fact_maker *m, uint64_t seq);
void fact_value(struct fact_maker *m, const char *name, uint64_t v);
/* Where in the program: of a host stack; 0: nowhere. */
void fact_place(struct fact_maker *m, uint32_t stack);

/* "matmul(float*)", of a kernel's id; valid until the next call. */
const char *fact_kernel(struct fact_maker *m, uint32_t id);
/* So many per cent. */
double fact_share(uint64_t part, uint64_t of);
/* Milliseconds. */
static inline double fact_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}
/* What makes a plural of a word behind a number: "1 fill", "2 fills". */
#define FACT_S(n) ((n) == 1 ? "" : "s")
/* Appends "1 copy" or "2 copies", with a comma in front unless it is the first; nothing for 0. */
void fact_count(struct buf *b, uint64_t n, const char *one, const char *many);

/* Topic by topic, each in the order in which its facts were added. */
void facts_sort(struct facts *f);

/* The topics, each in a file of its own. */
struct err *facts_run(struct fact_maker *m) TS_CHECK;
void facts_time(struct fact_maker *m);
void facts_work(struct fact_maker *m);
void facts_path(struct fact_maker *m);
void facts_races(struct fact_maker *m);
void facts_unstable(struct fact_maker *m);
void facts_changes(struct fact_maker *m);

#endif
