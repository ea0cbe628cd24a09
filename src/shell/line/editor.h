/* SPDX-License-Identifier: Apache-2.0
 *
 * The line editor: libedit with history, completion and reverse search (Ctrl-R). Only made on a
 * terminal.
 */
#ifndef SHELL_EDITOR_H
#define SHELL_EDITOR_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"

struct editor;

/* Called for Tab: completes `line` (the text before the cursor) with one add() for each candidate
 * of the last word, which begins at *ret_start. */
typedef void editor_complete_fn(void *arg, const char *line, size_t *ret_start,
	void (*add)(void *to, const char *word), void *to);

/* Keys that the user of the editor acts on: Ctrl-X a, Ctrl-X 2, Ctrl-X o, and on a screen that was
 * taken PageUp and PageDown. */
enum editor_key { EDITOR_TOGGLE, EDITOR_NEXT, EDITOR_FOCUS, EDITOR_PAGE_UP, EDITOR_PAGE_DOWN };
/* Why the screen is to be drawn: Ctrl-L, going on after Ctrl-Z, another size. */
enum editor_redraw { EDITOR_CLEARED, EDITOR_CONTINUED, EDITOR_RESIZED };
/* What is drawn round the line. Both get the arg of editor_new(), and return true if the cursor is
 * at the beginning of a line where the prompt shall be shown again. */
struct editor_screen {
	bool (*redraw)(void *arg, enum editor_redraw why);
	bool (*key)(void *arg, enum editor_key key);
};

struct editor *editor_new(unsigned history_size, editor_complete_fn *complete, void *arg);
void editor_free(struct editor *ed);
void editor_set_screen(struct editor *ed, const struct editor_screen *screen);
/* Whether Ctrl-L, PageUp and PageDown are for the screen, or what they are without one. */
void editor_take_screen(struct editor *ed, bool on);
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
