/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of a trace's work as tables and as JSON, and the places in the program that stacks are.
 */
#ifndef SHELL_SUMS_TEXT_H
#define SHELL_SUMS_TEXT_H

#include "base/text-table.h"
#include "shell/line/session.h"
#include "state/summary.h"

enum by { BY_KERNEL = 1, BY_SITE = 2, BY_RANGE = 4, BY_ALL = 7 };

/* Replaces mangled names by those that are shown, gives sites their names, and makes one row of
 * those with the same name. */
void sums_name(struct session *s, struct sbt_reader *r, struct summary *sum);
/* Sorts the tables `by`, an enum by, and empties the others. */
void sums_sort(struct summary *sum, unsigned by, enum summary_sort sort);
/* Prints the tables `by` that have rows, at most `most` rows of each; 0: all. more: what shows the
 * others. */
void sums_print(
	struct session *s, struct summary *sum, unsigned by, uint64_t most, const char *more);
/* The object work_summary. */
void sums_json(struct buf *out, const void *sum);
/* "1.234", of nanoseconds. */
void sums_put_ms(struct buf *out, uint64_t ns);
/* The place in the program where a stack was taken: "step () at app.cu:12"; heap. kernels: by their
 * mangled names. */
char *sums_site(struct session *s, struct sbt_reader *r, uint32_t stack,
	const struct summary_rows *kernels);

/* Columns whose text is calculated: to the right, left out where no row has any; to the left. */
#define SUMS_CALC(title, fn)                                                                       \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, true, true                                           \
	}
#define SUMS_LEFT(title, fn)                                                                       \
	{                                                                                          \
		title, {.type = JS_CALL}, fn, false, false                                         \
	}
#define SUMS_END                                                                                   \
	{                                                                                          \
		NULL, {.type = JS_END}, NULL, false, false                                         \
	}
/* Prints n rows, `size` bytes from one to the next, below a title; nothing if there are none. */
void sums_table(struct session *s, const char *title, const struct column *of, const void *rows,
	size_t size, size_t n);
/* So many per cent. */
static inline double sums_share(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

#endif
