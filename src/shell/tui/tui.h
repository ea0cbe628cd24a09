/* SPDX-License-Identifier: Apache-2.0
 *
 * The text screen: panes with source, PTX, streams and GPU commands above the prompt. The prompt
 * keeps the lower lines of the terminal, a scroll region, where the line editor, the program and
 * tsdb write as they always do. Without it nothing here does anything.
 */
#ifndef SHELL_TUI_H
#define SHELL_TUI_H

#include "shell/line/session.h"

struct tui;

bool tui_is_on(const struct session *s);
/* Switches it on with the layout that was chosen last, or the first. Refused without a terminal
 * that can do it. */
struct err *tui_enable(struct session *s) TS_CHECK;
/* Draws the panes anew. Called before a line is read. */
void tui_refresh(struct session *s);
/* Lines below the panes. */
unsigned tui_prompt_lines(const struct session *s);
/* Between these calls the terminal is as without panes: for programs that use all of it. ask: waits
 * for Enter before the panes hide what was written. */
bool tui_suspend(struct session *s); /* returns whether it is on */
void tui_resume(struct session *s, bool ask);
/* The hooks of the line editor and of the output. */
extern const struct editor_screen tui_editor_screen;
extern const struct out_screen tui_out_screen;
/* Gives the terminal back as it was found, and frees s->tui. */
void tui_end(struct session *s);

#endif
