/* SPDX-License-Identifier: Apache-2.0
 *
 * The line editor over libedit's own interface (editline(3)); see editor.h. The history file is
 * plain text, one line each, so that people and scripts can read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include "base/buf.h"
#include "shell/line/editor.h"
#include "shell/line/interrupt.h"
#include "base/text.h"

struct editor {
	EditLine *el;
	History *history;
	char *prompt;
	editor_complete_fn *complete;
	const struct editor_screen *screen; /* NULL: none */
	void *arg;
	/* the terminal: tsdb's own descriptor, which need not block other programs; or the
	 * inherited one, which may */
	int in;
};

#ifdef __SANITIZE_ADDRESS__
/* For the leak checker: libedit does not free the name and the help of an added function. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:wcsdup\n";
}
#endif

struct candidates {
	char **words;
	unsigned n;
	size_t common; /* length of the common prefix */
};

static char *prompt_of(EditLine *el)
{
	struct editor *ed;

	el_get(el, EL_CLIENTDATA, &ed);
	return ed->prompt;
}

static bool redraw(struct editor *ed, enum editor_redraw why)
{
	return ed->screen && ed->screen->redraw(ed->arg, why);
}

/* Shows the line again if tsdb was stopped and goes on, and takes the terminal's new size. */
static void follow_screen(struct editor *ed)
{
	bool again = false;

	if (interrupt_resized) {
		el_resize(ed->el);
		again = redraw(ed, EDITOR_RESIZED);
	}
	if (interrupt_continued) { /* the shell has set the terminal as it likes it */
		el_set(ed->el, EL_PREP_TERM, 0);
		el_set(ed->el, EL_PREP_TERM, 1);
		redraw(ed, EDITOR_CONTINUED);
		again = true;
	}
	if (again)
		el_set(ed->el, EL_REFRESH);
	interrupt_resized = interrupt_continued = false;
}

/* Waits for a byte of input or Ctrl-C, which may come at any time: signals are unblocked only
 * during the sleep. Returns false at the end of input. */
static bool wait_input(struct editor *ed)
{
	struct pollfd in = {.fd = ed->in, .events = POLLIN};
	sigset_t sigint, old;
	bool ready = false;

	sigemptyset(&sigint);
	sigaddset(&sigint, SIGINT);
	sigaddset(&sigint, SIGCONT);
	sigaddset(&sigint, SIGWINCH);
	sigprocmask(SIG_BLOCK, &sigint, &old);
	while (!interrupt_flag && !ready) {
		int n;

		follow_screen(ed);
		n = ppoll(&in, 1, NULL, &old);

		if (n < 0 && errno != EINTR)
			break;
		ready = n > 0;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ready && !interrupt_flag;
}

/* Reads a byte; returns 0 at the end, -1 for an error or Ctrl-C. The byte that the wait saw may be
 * gone: Ctrl-C discards what was typed before it. */
static ssize_t get_byte(struct editor *ed, char *ret)
{
	ssize_t n;

	do {
		if (!wait_input(ed)) {
			errno = EINTR;
			return -1;
		}
		n = read(ed->in, ret, 1);
	} while (n < 0 && errno == EAGAIN);
	return n;
}

/* libedit's reader of one character (EL_GETCFN): 1, 0 at the end, -1 for an error or Ctrl-C. */
static int get_char(EditLine *el, wchar_t *ret)
{
	struct editor *ed;
	mbstate_t state;
	size_t got;
	char c;

	el_get(el, EL_CLIENTDATA, &ed);
	memset(&state, 0, sizeof state);
	do {
		ssize_t n = get_byte(ed, &c);

		if (n <= 0)
			return (int)n;
		got = mbrtowc(ret, &c, 1, &state);
		if (got == (size_t)-1) /* not UTF-8: the byte itself */
			*ret = (unsigned char)c;
	} while (got == (size_t)-2);
	return 1;
}

static void add_candidate(void *to, const char *word)
{
	struct candidates *c = to;
	size_t same = 0;

	if (!text_is_safe(word)) /* the terminal would obey its control characters */
		return;
	for (unsigned i = 0; i < c->n; i++) {
		if (!strcmp(c->words[i], word))
			return;
	}
	c->words = xrealloc(c->words, (c->n + 1) * sizeof *c->words);
	c->words[c->n++] = xstrdup(word);
	if (c->n == 1) {
		c->common = strlen(word);
		return;
	}
	while (same < c->common && c->words[0][same] == word[same])
		same++;
	c->common = same;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_candidates(struct candidates *c)
{
	size_t widest = 0;
	unsigned per_line;

	qsort(c->words, c->n, sizeof *c->words, by_name);
	for (unsigned i = 0; i < c->n; i++) {
		if (strlen(c->words[i]) > widest)
			widest = strlen(c->words[i]);
	}
	per_line = (unsigned)(78 / (widest + 2));
	if (!per_line)
		per_line = 1;
	fputc('\n', stdout);
	for (unsigned i = 0; i < c->n; i++) {
		bool last = (i + 1) % per_line == 0 || i + 1 == c->n;

		text_print(stdout, "%-*s%s", last ? 0 : (int)widest + 2, c->words[i],
			last ? "\n" : "");
	}
	fflush(stdout);
}

static unsigned char on_tab(EditLine *el, int ch)
{
	struct candidates c = {0};
	struct editor *ed;
	const LineInfo *li = el_line(el);
	char *before = strndup(li->buffer, (size_t)(li->cursor - li->buffer));
	size_t start = 0, typed;
	unsigned char what = CC_ERROR;

	if (!before)
		return CC_ERROR;
	el_get(el, EL_CLIENTDATA, &ed);
	ed->complete(ed->arg, before, &start, add_candidate, &c);
	typed = strlen(before) - start;
	if (c.n && c.common > typed) {
		char *more = xasprintf("%.*s%s", (int)(c.common - typed), c.words[0] + typed,
			c.n == 1 && c.words[0][c.common - 1] != '/' ? " " : "");

		what = el_insertstr(el, more) ? CC_ERROR : CC_REFRESH;
		free(more);
	} else if (c.n == 1) {
		what = el_insertstr(el, " ") ? CC_ERROR : CC_REFRESH;
	} else if (c.n > 1) {
		list_candidates(&c);
		what = CC_REDISPLAY;
	}
	for (unsigned i = 0; i < c.n; i++)
		free(c.words[i]);
	free(c.words);
	free(before);
	return what;
}

/* --- keys of the screen --- */

static unsigned char on_key(EditLine *el, enum editor_key key)
{
	struct editor *ed;

	el_get(el, EL_CLIENTDATA, &ed);
	if (ed->screen && ed->screen->key(ed->arg, key))
		el_set(el, EL_REFRESH);
	return CC_NORM;
}

static unsigned char on_toggle(EditLine *el, int ch)
{
	return on_key(el, EDITOR_TOGGLE);
}

static unsigned char on_next(EditLine *el, int ch)
{
	return on_key(el, EDITOR_NEXT);
}

static unsigned char on_focus(EditLine *el, int ch)
{
	return on_key(el, EDITOR_FOCUS);
}

static unsigned char on_page_up(EditLine *el, int ch)
{
	return on_key(el, EDITOR_PAGE_UP);
}

static unsigned char on_page_down(EditLine *el, int ch)
{
	return on_key(el, EDITOR_PAGE_DOWN);
}

static unsigned char on_redraw(EditLine *el, int ch)
{
	struct editor *ed;

	el_get(el, EL_CLIENTDATA, &ed);
	if (redraw(ed, EDITOR_CLEARED))
		el_set(el, EL_REFRESH);
	return CC_NORM;
}

static const struct {
	const char *name, *help, *keys[3];
	unsigned char (*run)(EditLine *el, int ch);
} screen_keys[] = {
	{"tsdb-screen", "switch the text screen on or off", {"^Xa", "^XA", "^X^A"}, on_toggle},
	{"tsdb-layout", "the text screen's next layout", {"^X2"}, on_next},
	{"tsdb-pane", "the text screen's next pane", {"^Xo"}, on_focus},
	{"tsdb-page-up", "move a pane's text up", {NULL}, on_page_up},
	{"tsdb-page-down", "move a pane's text down", {NULL}, on_page_down},
	{"tsdb-redraw", "draw the text screen anew", {NULL}, on_redraw},
};

static void bind_screen_keys(EditLine *el)
{
	for (unsigned i = 0; i < sizeof screen_keys / sizeof *screen_keys; i++) {
		el_set(el, EL_ADDFN, screen_keys[i].name, screen_keys[i].help, screen_keys[i].run);
		for (unsigned k = 0; k < 3 && screen_keys[i].keys[k]; k++)
			el_set(el, EL_BIND, screen_keys[i].keys[k], screen_keys[i].name, NULL);
	}
}

void editor_set_screen(struct editor *ed, const struct editor_screen *screen)
{
	ed->screen = screen;
}

void editor_take_screen(struct editor *ed, bool on)
{
	el_set(ed->el, EL_BIND, "^L", on ? "tsdb-redraw" : "ed-clear-screen", NULL);
	if (on) {
		el_set(ed->el, EL_BIND, "\\e[5~", "tsdb-page-up", NULL);
		el_set(ed->el, EL_BIND, "\\e[6~", "tsdb-page-down", NULL);
	} else {
		el_set(ed->el, EL_BIND, "-r", "\\e[5~", NULL);
		el_set(ed->el, EL_BIND, "-r", "\\e[6~", NULL);
	}
}

struct editor *editor_new(unsigned history_size, editor_complete_fn *complete, void *arg)
{
	struct editor *ed = xcalloc(1, sizeof *ed);
	HistEvent ev;

	interrupt_screen();
	ed->complete = complete;
	ed->arg = arg;
	ed->prompt = xstrdup("");
	ed->history = history_init();
	ed->in = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ed->in < 0)
		ed->in = STDIN_FILENO;
	ed->el = el_init("tsdb", stdin, stdout, stderr);
	if (!ed->el || !ed->history) {
		editor_free(ed);
		return NULL;
	}
	history(ed->history, &ev, H_SETSIZE, history_size ? (int)history_size : 1000000);
	history(ed->history, &ev, H_SETUNIQUE, 1);
	el_set(ed->el, EL_CLIENTDATA, ed);
	el_set(ed->el, EL_PROMPT, prompt_of);
	el_set(ed->el, EL_EDITOR, "emacs");
	el_set(ed->el, EL_SIGNAL, 0);
	el_set(ed->el, EL_GETCFN, get_char);
	el_set(ed->el, EL_HIST, history, ed->history);
	el_set(ed->el, EL_ADDFN, "tsdb-complete", "complete the word", on_tab);
	el_set(ed->el, EL_BIND, "^I", "tsdb-complete", NULL);
	el_set(ed->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	bind_screen_keys(ed->el);
	el_source(ed->el, NULL);
	return ed;
}

void editor_free(struct editor *ed)
{
	if (!ed)
		return;
	if (ed->el)
		el_end(ed->el);
	if (ed->history)
		history_end(ed->history);
	if (ed->in > STDIN_FILENO)
		close(ed->in);
	free(ed->prompt);
	free(ed);
}

char *editor_read(struct editor *ed, const char *prompt, bool *ret_interrupted)
{
	const char *text;
	int n = 0;

	*ret_interrupted = false;
	free(ed->prompt);
	ed->prompt = xstrdup(prompt);
	errno = 0;
	/* set before the prompt: else a Ctrl-D typed as soon as the prompt is seen may reach the
	 * terminal's line mode */
	el_set(ed->el, EL_PREP_TERM, 1);
	text = el_gets(ed->el, &n);
	if (interrupt_take()) {
		*ret_interrupted = true;
		el_reset(ed->el);
		fputc('\n', stdout);
		fflush(stdout);
		return xstrdup("");
	}
	if (!text || n <= 0)
		return NULL;
	return strndup(text, (size_t)n - (text[n - 1] == '\n'));
}

void editor_remember(struct editor *ed, const char *line)
{
	HistEvent ev;

	history(ed->history, &ev, H_ENTER, line);
}

struct err *editor_history_load(struct editor *ed, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (!f)
		return errno == ENOENT ? NULL
				       : err_sys(errno, "cannot read the history file %s", path);
	while ((n = getline(&line, &cap, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (*line)
			editor_remember(ed, line);
	}
	free(line);
	fclose(f);
	return NULL;
}

bool editor_history(struct editor *ed, unsigned i, const char **ret)
{
	HistEvent ev;
	int ok = history(ed->history, &ev, H_LAST); /* the oldest */

	for (; ok >= 0 && i; i--)
		ok = history(ed->history, &ev, H_PREV);
	if (ok < 0)
		return false;
	*ret = ev.str;
	return true;
}

struct err *editor_history_save(struct editor *ed, const char *path)
{
	char *tmp = xasprintf("%s.%d", path, (int)getpid());
	FILE *f = fopen(tmp, "we");
	struct err *e = NULL;
	HistEvent ev;

	for (int ok = f ? history(ed->history, &ev, H_LAST) : -1; ok >= 0;
		ok = history(ed->history, &ev, H_PREV)) {
		size_t len = strcspn(ev.str, "\n");

		fprintf(f, "%.*s\n", (int)len, ev.str);
	}
	if (!f || fclose(f) || rename(tmp, path))
		e = err_sys(errno, "cannot write the history file %s", path);
	free(tmp);
	return e;
}
