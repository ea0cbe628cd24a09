/* SPDX-License-Identifier: Apache-2.0
 *
 * What the panes of the text screen show.
 */
#ifndef SHELL_TUI_PANES_H
#define SHELL_TUI_PANES_H

#include "shell/line/session.h"
#include "shell/tui/tui-layout.h"

struct tui_text {
	struct buf text; /* whole lines, not made safe */
	unsigned here;	 /* the line that is marked, from 0; UINT_MAX: none */
	char *title;	 /* a heap string */
};

/* The text of a pane that has `rows` lines below its title, *scroll lines further down than where
 * it would be; *scroll becomes what there was to move. The caller frees it. */
struct tui_text tui_pane_text(struct session *s, enum tui_pane pane, unsigned rows, int *scroll);
void tui_text_free(struct tui_text *t);
/* Lines that the streams pane needs, with its title. */
unsigned tui_streams_lines(struct session *s);

#endif
