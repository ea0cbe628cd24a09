/* SPDX-License-Identifier: Apache-2.0
 *
 * The text screen, see tui.h: its commands (tui, layout, focus, winheight, refresh) and keys.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "replay/replay.h"
#include "shell/line/editor.h"
#include "shell/print/kernel-text.h"
#include "shell/source/source-view.h"
#include "shell/tui/tui.h"
#include "shell/tui/tui-panes.h"
#include "shell/tui/tui-screen.h"

/* Where the session is: at another place the panes show that place. */
struct place {
	uint64_t seq, total;
	unsigned line;
	enum focus focus;
};

struct tui {
	bool on;
	unsigned suspended; /* how often, within one another */
	const struct tui_layout *layout;
	unsigned focus; /* of the layout's panes; TUI_SHOWN: the prompt */
	int scroll[TUI_PANES];
	struct tui_sizes sizes;
	struct place at;
};

static struct tui *tui_of(struct session *s)
{
	if (!s->tui) {
		s->tui = xcalloc(1, sizeof *s->tui);
		s->tui->layout = &tui_layouts[0];
	}
	return s->tui;
}

bool tui_is_on(const struct session *s)
{
	return s->tui && s->tui->on;
}

/* --- drawing --- */

static void divide(struct session *s, unsigned ret[TUI_SHOWN])
{
	unsigned lines, columns;

	out_screen(&lines, &columns);
	tui_divide(s->tui->layout, lines, &s->tui->sizes, tui_streams_lines(s), ret);
}

unsigned tui_prompt_lines(const struct session *s)
{
	unsigned rows[TUI_SHOWN], lines, columns;

	out_screen(&lines, &columns);
	tui_divide(s->tui->layout, lines, &s->tui->sizes, 0, rows);
	return lines - rows[0] - rows[1];
}

static void draw_pane(struct session *s, unsigned which, unsigned rows)
{
	struct tui *t = s->tui;
	const enum tui_pane pane = t->layout->panes[which];
	struct tui_text text = tui_pane_text(s, pane, rows - 1, &t->scroll[pane]);
	char *title = xasprintf("%c %s", which == t->focus ? '*' : ' ', text.title);
	const char *p = buf_cstr(&text.text);

	tui_screen_line(title, strlen(title), TUI_TITLE);
	for (unsigned i = 0; i + 1 < rows; i++) {
		const size_t n = strcspn(p, "\n");

		tui_screen_line(p, n, i == text.here ? TUI_HERE : TUI_PLAIN);
		p += n + (p[n] == '\n');
	}
	free(title);
	tui_text_free(&text);
}

static void draw(struct session *s, enum tui_draw how)
{
	unsigned rows[TUI_SHOWN];

	out_flush(s->out);
	divide(s, rows);
	for (unsigned i = 0; i < TUI_SHOWN; i++)
		if (rows[i])
			draw_pane(s, i, rows[i]);
	tui_screen_draw(how);
}

static struct place place_of(struct session *s)
{
	const struct soft_stop *k = kernel_stop(s);
	const struct sbt_cmd *c;
	struct source_place at;
	struct place p = {.focus = s->focus};

	p.total = k ? k->total + 1 : 0;
	p.line = source_current(s, &at) ? at.line : 0;
	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay)
		p.seq = replay_seq(s->engine.trace.replay);
	else
		p.seq = session_cmd(s, &c) ? c->seq : 0;
	return p;
}

void tui_refresh(struct session *s)
{
	struct place at;

	if (!tui_is_on(s) || s->tui->suspended)
		return;
	at = place_of(s);
	if (at.seq != s->tui->at.seq || at.total != s->tui->at.total ||
		at.line != s->tui->at.line || at.focus != s->tui->at.focus)
		memset(s->tui->scroll, 0, sizeof s->tui->scroll);
	s->tui->at = at;
	draw(s, TUI_PROMPT);
}

/* --- on and off --- */

struct err *tui_enable(struct session *s)
{
	if (tui_is_on(s))
		return NULL;
	if (!s->interactive || !s->editor)
		return err_cure(err_new(ERR_STATE, "the text screen needs a terminal"),
			"\"list\", \"disassemble\", \"info streams\" and \"info commands\" print what it shows");
	TRY(tui_screen_begin());
	tui_of(s)->on = true;
	editor_take_screen(s->editor, true);
	draw(s, TUI_CLEARS);
	return NULL;
}

static void disable(struct session *s)
{
	if (!tui_is_on(s))
		return;
	out_flush(s->out);
	s->tui->on = false;
	tui_screen_end();
	editor_take_screen(s->editor, false);
}

void tui_end(struct session *s)
{
	disable(s);
	free(s->tui);
	s->tui = NULL;
}

bool tui_suspend(struct session *s)
{
	if (!tui_is_on(s))
		return false;
	s->tui->suspended++;
	tui_screen_end();
	return true;
}

void tui_resume(struct session *s, bool ask)
{
	bool interrupted;
	struct err *e;

	if (!tui_is_on(s) || !s->tui->suspended)
		return;
	if (s->tui->suspended > 1) {
		s->tui->suspended--;
		return;
	}
	if (ask)
		free(editor_read(s->editor, "(Enter goes on) ", &interrupted));
	s->tui->suspended = 0;
	e = tui_screen_begin();
	if (!e) {
		draw(s, TUI_CLEARS);
		return;
	}
	disable(s);
	out_error(s->out, e);
}

/* --- the output --- */

static bool before_pager(void *session)
{
	return tui_suspend(session);
}

static void before_text(void *session)
{
	struct session *s = session;

	if (tui_is_on(s) && !s->tui->suspended)
		tui_screen_below();
}

const struct out_screen tui_out_screen = {before_pager, before_text};

/* --- the line editor --- */

static bool on_redraw(void *session, enum editor_redraw why)
{
	struct session *s = session;

	if (!tui_is_on(s) || s->tui->suspended)
		return false;
	draw(s, why == EDITOR_RESIZED ? TUI_ANEW : TUI_CLEARS);
	return true;
}

static void use_layout(struct session *s, const struct tui_layout *l)
{
	tui_of(s)->layout = l;
	s->tui->focus = 0;
}

static const struct tui_layout *next_layout(struct session *s, unsigned by)
{
	return &tui_layouts[((unsigned)(tui_of(s)->layout - tui_layouts) + by) % TUI_LAYOUTS];
}

/* Moves the text of the pane that has the focus by half of what it shows. */
static void scroll(struct session *s, int by)
{
	struct tui *t = s->tui;
	unsigned rows[TUI_SHOWN];
	int half;

	if (t->focus == TUI_SHOWN)
		return;
	divide(s, rows);
	half = (int)(rows[t->focus] / 2);
	t->scroll[t->layout->panes[t->focus]] += by * (half ? half : 1);
}

static bool toggle(struct session *s)
{
	struct err *e = NULL;

	if (tui_is_on(s))
		disable(s);
	else
		e = tui_enable(s);
	if (e) {
		out_str(s->out, "\n");
		out_error(s->out, e);
	}
	return true;
}

static bool on_key(void *session, enum editor_key key)
{
	struct session *s = session;

	if (key == EDITOR_TOGGLE)
		return toggle(s);
	if (!tui_is_on(s))
		return false;
	if (key == EDITOR_NEXT)
		use_layout(s, next_layout(s, 1));
	else if (key == EDITOR_FOCUS)
		s->tui->focus = (s->tui->focus + 1) % (TUI_SHOWN + 1);
	else
		scroll(s, key == EDITOR_PAGE_UP ? -1 : 1);
	draw(s, TUI_KEEPS);
	return false;
}

const struct editor_screen tui_editor_screen = {on_redraw, on_key};

/* --- commands --- */

const char cmd_tui_help[] =
	"Switches the text screen on and off: panes above the prompt, as `layout` chooses them. When it\n"
	"ends, the terminal is as it was. The marks beside lines are gdb's: b a breakpoint, B one that\n"
	"was hit, + enabled, - disabled, > the line where the program or the replay is.\n"
	"Keys: Ctrl-X a the same as `tui`, Ctrl-X 2 the next layout, Ctrl-X o the next pane, PageUp and\n"
	"PageDown move its text, Ctrl-L draws all anew. What is longer than the prompt's lines goes\n"
	"through the pager, on the whole screen.\n"
	"Examples: tui enable\n"
	"          tui disable\n";

struct err *cmd_tui(struct session *s, const struct cmd_args *a)
{
	const char *w = a->argc ? a->argv[0] : "enable";

	if (a->argc <= 1 && !strcmp(w, "enable"))
		return tui_enable(s);
	if (a->argc > 1 || strcmp(w, "disable") != 0)
		return err_cure(err_new(ERR_USAGE, "tui has no \"%s\"", a->rest),
			"Use \"tui enable\" or \"tui disable\"");
	disable(s);
	return NULL;
}

const char cmd_layout_help[] =
	"Chooses the panes of the text screen, and switches it on.\n"
	"  src      the source round the last stop, inside a launch the kernel's; the streams\n"
	"  ptx      the PTX round the next instruction of the launch that a replay is inside; the\n"
	"           streams\n"
	"  split    the source, and the PTX\n"
	"  streams  the streams; the GPU commands round the replay's position, or the latest ones\n"
	"  next, prev  the one behind or before in this list\n"
	"The source pane shows PTX where the kernel was built without -lineinfo.\n"
	"Examples: layout src\n"
	"          layout next\n";

struct err *cmd_layout(struct session *s, const struct cmd_args *a)
{
	const struct tui_layout *l = NULL;

	if (a->argc == 1 && !strcmp(a->argv[0], "next"))
		l = next_layout(s, 1);
	else if (a->argc == 1 && !strcmp(a->argv[0], "prev"))
		l = next_layout(s, TUI_LAYOUTS - 1);
	else if (a->argc == 1)
		l = !strcmp(a->argv[0], "asm") ? &tui_layouts[1] : tui_layout_named(a->argv[0]);
	if (!l)
		return err_cure(a->argc ? err_new(ERR_USAGE, "there is no layout \"%s\"", a->rest)
					: err_new(ERR_USAGE, "layout needs a name"),
			"They are src, ptx, split, streams; and next, prev");
	use_layout(s, l);
	return tui_enable(s); /* one that is on is drawn before the next line is read */
}

static struct err *need_on(struct session *s)
{
	return tui_is_on(s) ? NULL
			    : err_cure(err_new(ERR_STATE, "the text screen is off"),
				      "Use \"tui enable\"");
}

/* The pane that a word names, TUI_PANES for the prompt; false: none. */
static bool pane_named(const char *word, unsigned *ret)
{
	for (*ret = 0; *ret <= TUI_PANES; ++*ret)
		if (!strcmp(word, tui_pane_names[*ret]))
			return true;
	return false;
}

const char cmd_focus_help[] =
	"Chooses the pane that PageUp and PageDown move; its title has a star. `cmd` is the prompt.\n"
	"Examples: focus streams\n"
	"          focus next\n";

struct err *cmd_focus(struct session *s, const struct cmd_args *a)
{
	const char *w = a->argc == 1 ? a->argv[0] : "";
	struct tui *t = s->tui;
	unsigned pane, to = UINT_MAX;

	TRY(need_on(s));
	if (!strcmp(w, "next"))
		to = (t->focus + 1) % (TUI_SHOWN + 1);
	else if (!strcmp(w, "prev"))
		to = (t->focus + TUI_SHOWN) % (TUI_SHOWN + 1);
	else if (pane_named(w, &pane))
		to = pane == TUI_PANES ? TUI_SHOWN : tui_layout_has(t->layout, pane);
	if (to == UINT_MAX || (to == TUI_SHOWN && pane_named(w, &pane) && pane != TUI_PANES))
		return err_cure(err_new(ERR_USAGE, "the layout %s has no pane \"%s\"",
					t->layout->name, a->rest),
			"It has %s, %s and cmd; or use \"focus next\"",
			tui_pane_names[t->layout->panes[0]], tui_pane_names[t->layout->panes[1]]);
	t->focus = to;
	return NULL;
}

const char cmd_winheight_help[] =
	"Gives a pane of the text screen N lines with its title, or N more or fewer. The pane beside it\n"
	"gives or gets them; `cmd` is the prompt. Without a name: the pane that has the focus. 0: as\n"
	"tsdb divides them.\n"
	"Examples: winheight src 20\n"
	"          winheight cmd +5\n";

/* Lines that a pane has now. */
static unsigned lines_of(struct session *s, unsigned pane)
{
	unsigned rows[TUI_SHOWN];

	if (pane == TUI_PANES)
		return tui_prompt_lines(s);
	divide(s, rows);
	return rows[tui_layout_has(s->tui->layout, pane)];
}

struct err *cmd_winheight(struct session *s, const struct cmd_args *a)
{
	const char *n = a->argc ? a->argv[a->argc - 1] : "";
	struct tui *t = s->tui;
	unsigned pane;
	uint64_t v;

	TRY(need_on(s));
	pane = t->focus == TUI_SHOWN ? TUI_PANES : t->layout->panes[t->focus];
	if (a->argc > 2 || (a->argc == 2 && !pane_named(a->argv[0], &pane)) ||
		(pane != TUI_PANES && tui_layout_has(t->layout, pane) == TUI_SHOWN) ||
		!word_u64(n + strspn(n, "+-"), &v) || v > UINT16_MAX || strspn(n, "+-") > 1)
		return err_cure(
			err_new(ERR_USAGE, "\"winheight %s\" names no pane and lines", a->rest),
			"Use \"winheight %s 10\", or +5", tui_pane_names[t->layout->panes[0]]);
	if (*n == '+')
		v += lines_of(s, pane);
	else if (*n == '-')
		v = lines_of(s, pane) > v ? lines_of(s, pane) - v : 1;
	for (unsigned i = 0; pane != TUI_PANES && i < TUI_SHOWN; i++)
		t->sizes.wanted[t->layout->panes[i]] = 0;
	t->sizes.wanted[pane] = (unsigned)v;
	return NULL;
}

const char cmd_refresh_help[] =
	"Draws the text screen anew on a cleared terminal, as Ctrl-L does.\n";

struct err *cmd_refresh(struct session *s, const struct cmd_args *a)
{
	TRY(need_on(s));
	draw(s, TUI_CLEARS);
	return NULL;
}
