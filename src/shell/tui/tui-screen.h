/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal under the text screen: its upper lines are drawn, the lower ones scroll by
 * themselves. It is known by terminfo (ncurses); there is one, so its state is the process's. The
 * terminal is given back when a signal ends tsdb or stops it, too.
 */
#ifndef SHELL_TUI_SCREEN_H
#define SHELL_TUI_SCREEN_H

#include "base/buf.h"

/* Keeps the terminal's modes for a signal that ends tsdb. Called before the line editor has set
 * its own. */
void tui_screen_modes(void);
/* Takes the terminal. ERR_UNSUPPORTED: it cannot do what is needed, or this build has no terminfo;
 * the sentence says which. */
struct err *tui_screen_begin(void) TS_CHECK;
/* Gives it back; begin takes it again. */
void tui_screen_end(void);

enum tui_look { TUI_PLAIN, TUI_TITLE, TUI_HERE };
/* Adds a line to the frame that is being made, cut to the terminal's width; control characters are
 * written out (base/text.h). */
void tui_screen_line(const char *text, size_t n, enum tui_look look);

enum tui_draw {
	TUI_KEEPS,  /* the cursor stays: a line is being edited */
	TUI_PROMPT, /* the cursor goes to the last line; a program may have left it anywhere */
	TUI_ANEW,   /* and to its beginning: the terminal has another size */
	TUI_CLEARS, /* the same, on a cleared terminal */
};
/* Draws the frame at the top; what is written from now on stays below it. */
void tui_screen_draw(enum tui_draw how);
/* Puts the cursor below the frame if a program has moved it: to the last line, where all that tsdb
 * writes begins. */
void tui_screen_below(void);

#endif
