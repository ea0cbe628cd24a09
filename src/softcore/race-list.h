/* SPDX-License-Identifier: Apache-2.0
 *
 * Races that a software GPU has found, until a debugger takes them (the members races and doubts of
 * replayer/soft-watch.h), or, when the program's environment asks for them, as sentences on the
 * standard error or as records in a file. One list for a process. Calls may come from any thread.
 */
#ifndef SOFTCORE_RACE_LIST_H
#define SOFTCORE_RACE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replayer/soft-watch.h"

/* How a device speaks of a race. */
struct race_words {
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	/* Where a side is: "block (0,0,0) thread (1,0,0)"; and by what code: "PTX line 7, st.u32".
	 */
	void (*place)(char *dst, size_t n, const struct soft_race_side *s);
	void (*code)(char *dst, size_t n, const struct soft_race_side *s);
	const char *shared, *global; /* what the two kinds of memory are called */
};

/* From now on what is found is said, or appended to a file (struct soft_race) when its path is not
 * NULL, each pair of a kernel once; nothing is kept then. Neither is copied. */
void race_list_tell(const struct race_words *words, const char *path);
void race_list_add(const struct soft_race *r);
/* The check of a launch of that kernel was not complete. */
void race_list_doubt(const char *kernel, const char *why);
/* As soft_watch.races and soft_watch.doubts. */
size_t race_list_take(struct soft_race *dst, size_t n, size_t *more);
uint64_t race_list_doubts(char *dst, size_t n);
/* dst gets s (NULL: nothing), cut to fit, and zeroes to its end. */
void race_text(char *dst, size_t n, const char *s);

#endif
