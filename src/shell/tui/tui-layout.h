/* SPDX-License-Identifier: Apache-2.0
 *
 * Which panes the text screen has, and how many lines each. Pure.
 */
#ifndef SHELL_TUI_LAYOUT_H
#define SHELL_TUI_LAYOUT_H

#include <stdbool.h>

enum tui_pane { TUI_SRC, TUI_PTX, TUI_STREAMS, TUI_COMMANDS, TUI_PANES };
/* "src"; TUI_PANES: "cmd", the prompt's lines. */
extern const char *const tui_pane_names[TUI_PANES + 1];

enum { TUI_SHOWN = 2, TUI_LAYOUTS = 4 };
struct tui_layout {
	const char *name;
	enum tui_pane panes[TUI_SHOWN]; /* the upper, the lower */
};
extern const struct tui_layout tui_layouts[TUI_LAYOUTS];
/* The layout that a name, or the beginning of one, means; NULL: none, or several. */
const struct tui_layout *tui_layout_named(const char *name);
/* Which of the layout's panes: TUI_SHOWN if it has none of them. */
unsigned tui_layout_has(const struct tui_layout *l, enum tui_pane pane);

/* Lines that the user wants, with the title; 0: as it comes. */
struct tui_sizes {
	unsigned wanted[TUI_PANES + 1];
};
/* Divides a terminal of so many lines: ret[] is what the panes get, 0 if one has no room, and the
 * prompt has the rest. streams: lines that the streams need. */
void tui_divide(const struct tui_layout *l, unsigned lines, const struct tui_sizes *sizes,
	unsigned streams, unsigned ret[TUI_SHOWN]);

#endif
