/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which words of page-locked memory changed, from the recording alone. The recording has
 * whole pages, as they were at some command. If it has an earlier copy of a page, the two are
 * compared; otherwise any byte may have changed.
 */
#ifndef ORDER_NEWS_H
#define ORDER_NEWS_H

#include "base/err.h"
#include "sbt/memory.h"

struct news {
	struct sbt_memory *m; /* pieces with contents, in order of seq; heap */
	size_t n, cap;
};

/* A sbt_memory_fn: keeps the piece if it is of use. arg: struct news. */
struct err *news_note(void *arg, const struct sbt_memory *m) TS_CHECK;
/* Bytes from addr to end, of piece m, are others than before command `since` (0: when the window
 * began), or, not sure, some of them may be. */
struct news_change {
	const struct sbt_memory *m;
	uint64_t addr, end, since;
	bool sure;
};
typedef void news_fn(void *arg, const struct news_change *c);
/* Calls changed() for each piece of host memory: for its changed words, sure, or for the whole
 * piece, not sure, where they cannot be found. */
struct err *news_tell(
	const struct news *n, struct sbt_reader *trace, news_fn *changed, void *arg) TS_CHECK;
void news_free(struct news *n);

#endif
