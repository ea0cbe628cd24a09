/* SPDX-License-Identifier: Apache-2.0
 *
 * gdb's commands that are called otherwise here, or are not here: `help gdb`, and the answer to
 * such a word.
 */
#ifndef SHELL_GDB_WORDS_H
#define SHELL_GDB_WORDS_H

#include <stdbool.h>
#include "base/err.h"

struct gdb_word {
	const char *word, *here; /* here: a sentence without its full stop */
};
/* Ends with a word that is NULL. */
extern const struct gdb_word gdb_words[];
/* gdb's other commands, of which nothing here does the same; ends with NULL. */
extern const char *const gdb_absent[];

/* The error for a line that begins with a word of gdb's that is no command here; NULL: it begins
 * with none of them. */
struct err *gdb_word_error(const char *line) TS_CHECK;

#endif
