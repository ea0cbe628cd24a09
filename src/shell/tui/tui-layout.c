/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of the text screen, see tui-layout.h.
 */
#include "shell/tui/tui-layout.h"

#include <stddef.h>
#include <string.h>

/* A title and a line; two for the prompt, so that it can scroll. */
enum { PANE_MIN = 2, PROMPT_MIN = 2 };

const char *const tui_pane_names[TUI_PANES + 1] = {"src", "ptx", "streams", "commands", "cmd"};

const struct tui_layout tui_layouts[TUI_LAYOUTS] = {
	{"src", {TUI_SRC, TUI_STREAMS}},
	{"ptx", {TUI_PTX, TUI_STREAMS}},
	{"split", {TUI_SRC, TUI_PTX}},
	{"streams", {TUI_STREAMS, TUI_COMMANDS}},
};

const struct tui_layout *tui_layout_named(const char *name)
{
	const struct tui_layout *found = NULL;
	const size_t n = strlen(name);

	for (unsigned i = 0; i < TUI_LAYOUTS; i++) {
		if (strncmp(tui_layouts[i].name, name, n) != 0)
			continue;
		if (!tui_layouts[i].name[n])
			return &tui_layouts[i];
		if (found)
			return NULL;
		found = &tui_layouts[i];
	}
	return n ? found : NULL;
}

unsigned tui_layout_has(const struct tui_layout *l, enum tui_pane pane)
{
	unsigned i = 0;

	while (i < TUI_SHOWN && l->panes[i] != pane)
		i++;
	return i;
}

static unsigned within(unsigned n, unsigned least, unsigned most)
{
	return n < least ? least : n > most ? most : n;
}

/* Lines of the lower pane, of `top` that both have. */
static unsigned lower_lines(
	const struct tui_layout *l, unsigned top, const struct tui_sizes *sizes, unsigned streams)
{
	const unsigned upper = sizes->wanted[l->panes[0]], lower = sizes->wanted[l->panes[1]];

	if (upper)
		return upper < top ? top - upper : 0;
	if (lower)
		return lower;
	if (l->panes[1] == TUI_STREAMS)
		return streams < top / 3 ? streams : top / 3;
	if (l->panes[0] == TUI_STREAMS)
		return streams < top / 2 ? top - streams : top / 2;
	return top / 2;
}

void tui_divide(const struct tui_layout *l, unsigned lines, const struct tui_sizes *sizes,
	unsigned streams, unsigned ret[TUI_SHOWN])
{
	unsigned prompt = sizes->wanted[TUI_PANES], top;

	ret[0] = ret[1] = 0;
	if (lines < PANE_MIN + PROMPT_MIN)
		return;
	if (!prompt)
		prompt = lines - lines * 3 / 5;
	top = lines - within(prompt, PROMPT_MIN, lines - PANE_MIN);
	if (top >= 2 * PANE_MIN)
		ret[1] = within(lower_lines(l, top, sizes, streams), PANE_MIN, top - PANE_MIN);
	ret[0] = top - ret[1];
}
