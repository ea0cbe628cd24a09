/* SPDX-License-Identifier: Apache-2.0
 *
 * Which words of page-locked memory had changed, by the recording alone: it has whole pages, each
 * as it was when it was looked at. Where it has the page from before, too, the two tell; where it
 * has not, any byte may have changed.
 */
#ifndef ORDER_NEWS_H
#define ORDER_NEWS_H

#include "base/err.h"
#include "sbt/memory.h"

struct news {
	struct sbt_memory *m; /* pieces with contents, in order of seq; heap */
	size_t n, cap;
};

/* For sbt_reader_memory(): keeps the piece, when it may tell. arg: struct news. */
struct err *news_note(void *arg, const struct sbt_memory *m) TS_CHECK;
/* Calls changed() for the words, or the whole, of each piece of host memory. sure: these bytes are
 * other than before. */
struct err *news_tell(const struct news *n, struct sbt_reader *trace,
	void (*changed)(
		void *arg, const struct sbt_memory *m, uint64_t addr, uint64_t end, bool sure),
	void *arg) TS_CHECK;
void news_free(struct news *n);

#endif
