/* SPDX-License-Identifier: Apache-2.0
 *
 * gdb's commands that are called otherwise here, or are not here: `help gdb`, and the answer to
 * such a word.
 */
#ifndef SHELL_GDB_WORDS_H
#define SHELL_GDB_WORDS_H

struct gdb_word {
	const char *word, *here; /* here: a sentence without its full stop */
};
/* Ends with a word that is NULL. */
extern const struct gdb_word gdb_words[];
/* What to use here in the place of gdb's command; NULL: it is none of them. */
const char *gdb_word_here(const char *word);

#endif
