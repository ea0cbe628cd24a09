/* SPDX-License-Identifier: Apache-2.0
 *
 * The line editor: libedit with history, completion and reverse search (Ctrl-R). Only made on a
 * terminal.
 */
#ifndef SHELL_EDITOR_H
#define SHELL_EDITOR_H

#include <stddef.h>
#include "base/err.h"

struct editor;

/* Called for Tab: completes `line` (the text before the cursor) with one add() for each candidate
 * of the last word, which begins at *ret_start. */
typedef void editor_complete_fn(void *arg, const char *line, size_t *ret_start,
	void (*add)(void *to, const char *word), void *to);

struct editor *editor_new(unsigned history_size, editor_complete_fn *complete, void *arg);
void editor_free(struct editor *ed);
/* Returns a heap line without newline; NULL at the end of input. *ret_interrupted: Ctrl-C emptied
 * the line. */
char *editor_read(struct editor *ed, const char *prompt, bool *ret_interrupted);
/* Adds a line to the history, unless it is the same as the newest. */
void editor_remember(struct editor *ed, const char *line);
struct err *editor_history_load(struct editor *ed, const char *path) TS_CHECK;
struct err *editor_history_save(struct editor *ed, const char *path) TS_CHECK;
/* The i-th line of the history, oldest first; returns false past the end. *ret is valid until the
 * history changes. */
bool editor_history(struct editor *ed, unsigned i, const char **ret);

#endif
