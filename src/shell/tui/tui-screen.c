/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal, see tui-screen.h. What a signal handler needs is made beforehand: the sequence that
 * gives the terminal back, and the last frame, which is there again at once after Ctrl-Z and fg.
 */
#include "config.h"
#include "shell/tui/tui-screen.h"

#ifdef HAVE_TINFO

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>
#include "base/text.h"
#include "shell/line/interrupt.h"
#include "shell/line/out.h"

/* macros of term.h */
#undef lines
#undef columns

enum { TAB = 8, END_TEXT = 512, BYTES_PER_COLUMN = 16 };

/* The terminal's capabilities, by their terminfo names; those before smcup are needed. */
enum cap { CSR, CUP, SC, RC, CLEAR, EL, SMCUP, RMCUP, VPA, SGR0, REV, BOLD, CIVIS, CNORM, CAPS };
static const char *const cap_names[CAPS] = {"csr", "cup", "sc", "rc", "clear", "el", "smcup",
	"rmcup", "vpa", "sgr0", "rev", "bold", "civis", "cnorm"};
enum { NEEDED = SMCUP };

static struct screen {
	char *cap[CAPS]; /* NULL: it has none */
	struct termios before;
	bool has_before;
	unsigned lines, columns; /* of the terminal, at this frame */
	unsigned rows, drawn;	 /* of the frame that is made, of the last one */
	struct buf frame;
} screen;

/* For signal handlers. */
static volatile sig_atomic_t is_begun;
static char end_text[END_TEXT];
static volatile size_t end_length;
static struct buf again; /* takes the terminal and draws the last frame */

static const int ends[] = {SIGHUP, SIGTERM, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
enum { NENDS = sizeof ends / sizeof *ends };
static struct sigaction old_end[NENDS], old_stop;

/* --- sequences --- */

static struct buf *tputs_to;

static int put_byte(int c)
{
	buf_byte(tputs_to, (uint8_t)c);
	return c;
}

/* Appends a sequence without its padding: these terminals need none. */
static void put(struct buf *b, const char *sequence)
{
	tputs_to = b;
	if (sequence)
		tputs(sequence, 1, put_byte);
}

static void put_cap(struct buf *b, enum cap c)
{
	put(b, screen.cap[c]);
}

static void put_with(struct buf *b, enum cap c, unsigned x, unsigned y)
{
	if (screen.cap[c])
		put(b, tparm(screen.cap[c], (long)x, (long)y, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
}

/* Async-signal-safe. */
static void write_all(const void *text, size_t n)
{
	const char *p = text;

	while (n) {
		const ssize_t done = write(STDOUT_FILENO, p, n);

		if (done > 0) {
			p += done;
			n -= (size_t)done;
		} else if (done < 0 && errno != EINTR && errno != EAGAIN) {
			return;
		}
	}
}

/* --- signals --- */

/* Async-signal-safe. */
static void give_back(void)
{
	if (!is_begun)
		return;
	is_begun = 0;
	write_all(end_text, end_length);
}

/* The signal then does what it would have done without the panes. */
static void on_end(int sig)
{
	give_back();
	if (screen.has_before)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	for (unsigned i = 0; i < NENDS; i++)
		if (ends[i] == sig)
			sigaction(sig, &old_end[i], NULL);
	raise(sig);
}

/* Ctrl-Z: the system's shell gets its screen. */
static void on_stop(int sig)
{
	const struct sigaction stop = {.sa_handler = SIG_DFL};
	const bool was = is_begun;
	const int kept = errno;
	struct sigaction own;
	sigset_t one;

	give_back();
	sigaction(sig, &stop, &own);
	sigemptyset(&one);
	sigaddset(&one, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* it stops here */
	sigaction(sig, &own, NULL);
	if (was) {
		write_all(again.data, again.len);
		is_begun = 1;
	}
	errno = kept;
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_end};

	sigemptyset(&sa.sa_mask);
	for (unsigned i = 0; i < NENDS; i++)
		sigaction(ends[i], &sa, &old_end[i]);
	sa.sa_handler = on_stop;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGTSTP, &sa, &old_stop);
}

static void leave_signals(void)
{
	for (unsigned i = 0; i < NENDS; i++)
		sigaction(ends[i], &old_end[i], NULL);
	sigaction(SIGTSTP, &old_stop, NULL);
}

/* Holds signals off while what their handlers use is changed. */
static void hold_signals(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, ret_before);
}

/* --- what the terminal can do --- */

static struct err *no_terminal(const char *fmt, const char *what)
{
	return err_cure(err_new(ERR_UNSUPPORTED, fmt, what),
		"\"list\", \"disassemble\", \"info streams\" and \"info commands\" print what it shows");
}

/* libedit has a terminal of its own there, which stays the current one. */
static struct err *read_terminfo(void)
{
	const char *name = getenv("TERM");
	TERMINAL *before = set_curterm(NULL), *own;
	int status;

	if (setupterm(NULL, STDOUT_FILENO, &status) != 0) { /* OK of curses.h */
		set_curterm(before);
		return no_terminal(
			"there is no text screen here: terminfo does not know the terminal \"%s\"",
			name ? name : "");
	}
	own = cur_term;
	for (unsigned i = 0; i < CAPS; i++) {
		char cap[8];
		const char *text = tigetstr(strcpy(cap, cap_names[i]));

		free(screen.cap[i]);
		screen.cap[i] = text && text != (const char *)-1 ? xstrdup(text) : NULL;
	}
	set_curterm(before);
	del_curterm(own);
	for (unsigned i = 0; i < NEEDED; i++)
		if (!screen.cap[i])
			return no_terminal(
				"there is no text screen here: the terminal \"%s\" cannot scroll a part of it",
				name ? name : "");
	return NULL;
}

void tui_screen_modes(void)
{
	screen.has_before = tcgetattr(STDIN_FILENO, &screen.before) == 0;
}

struct err *tui_screen_begin(void)
{
	if (is_begun)
		return NULL;
	TRY(read_terminfo());
	screen.rows = screen.drawn = 0;
	buf_clear(&screen.frame);
	catch_signals();
	return NULL;
}

void tui_screen_end(void)
{
	if (!is_begun)
		return;
	fflush(stdout);
	give_back();
	leave_signals();
}

/* --- drawing --- */

/* Appends what is shown for the character at p, in at most `room` columns; returns its bytes, 0: it
 * does not fit. */
static size_t put_char(struct buf *b, const char *p, size_t n, unsigned at, unsigned *room)
{
	const size_t valid = text_utf8_length(p, n), len = valid ? valid : 1;
	char shown[4 * 4 + 1] = "?";
	int width = 1;
	mbstate_t state;
	wchar_t c;

	memset(&state, 0, sizeof state);
	if (*p == '\t') {
		width = (int)(TAB - at % TAB);
		snprintf(shown, sizeof shown, "%*s", width, "");
	} else if (!valid || *p == 0 || text_unsafe(p, len)) {
		for (size_t i = 0; i < len; i++)
			snprintf(shown + 4 * i, 5, "\\x%02x", (unsigned char)p[i]);
		width = 4 * (int)len;
	} else if (mbrtowc(&c, p, len, &state) == len && wcwidth(c) >= 0) {
		memcpy(shown, p, len);
		shown[len] = 0;
		width = wcwidth(c);
	}
	if ((unsigned)width > *room)
		return 0;
	buf_str(b, shown);
	*room -= (unsigned)width;
	return len;
}

void tui_screen_line(const char *text, size_t n, enum tui_look look)
{
	struct buf *b = &screen.frame;
	unsigned lines, columns, room;
	size_t most;

	out_screen(&lines, &columns);
	room = columns;
	most = (size_t)columns * BYTES_PER_COLUMN; /* of characters without width */
	put_with(b, CUP, screen.rows++, 0);
	put_cap(b, SGR0);
	put_cap(b, look == TUI_TITLE ? REV : look == TUI_HERE ? BOLD : SGR0);
	for (size_t i = 0, used = 1; i < n && i < most && used; i += used)
		used = put_char(b, text + i, n - i, columns - room, &room);
	if (look == TUI_TITLE)
		buf_printf(b, "%*s", (int)room, "");
	put_cap(b, SGR0);
	if (look != TUI_TITLE && room)
		put_cap(b, EL);
}

static void put_region(struct buf *b, unsigned rows)
{
	put_with(b, CSR, rows, screen.lines - 1);
}

/* What gives the terminal back at this size. */
static void make_end(void)
{
	struct buf b = BUF_INIT;

	put_with(&b, CSR, 0, screen.lines - 1);
	put_cap(&b, SGR0);
	put_cap(&b, CNORM);
	put_cap(&b, CLEAR); /* tmux may move lines of it to the other screen */
	put_cap(&b, RMCUP);
	if (b.len <= END_TEXT) {
		memcpy(end_text, b.data, b.len);
		end_length = b.len;
	}
	buf_free(&b);
}

/* Takes the terminal, and draws the frame on an empty one. */
static void make_again(struct buf *b)
{
	buf_clear(b);
	put_cap(b, SMCUP);
	put_cap(b, CLEAR);
	put_region(b, screen.rows);
	buf_add(b, screen.frame.data, screen.frame.len);
	put_with(b, CUP, screen.lines - 1, 0);
	put_cap(b, CNORM);
}

/* Draws the frame over the last one. */
static void make_over(struct buf *b, enum tui_draw how)
{
	put_cap(b, SC);
	put_cap(b, CIVIS);
	put_region(b, screen.rows);
	buf_add(b, screen.frame.data, screen.frame.len);
	for (unsigned i = screen.rows; i < screen.drawn;
		i++) { /* lines that it had, and has no more */
		put_with(b, CUP, i, 0);
		put_cap(b, EL);
	}
	put_cap(b, RC);
	if (how == TUI_PROMPT && screen.rows)
		put_with(b, VPA, screen.lines - 1, 0);
	if (how == TUI_ANEW) {
		put_with(b, CUP, screen.lines - 1, 0);
		put_cap(b, EL);
	}
	put_cap(b, CNORM);
}

void tui_screen_draw(enum tui_draw how)
{
	struct buf over = BUF_INIT;
	const unsigned lines_before = screen.lines;
	sigset_t before;

	fflush(stdout);
	out_screen(&screen.lines, &screen.columns);
	if (screen.lines != lines_before) /* the last frame's lines may be anywhere */
		screen.drawn = 0;
	hold_signals(&before);
	make_end();
	make_again(&again);
	if (how == TUI_CLEARS || !is_begun) {
		write_all(again.data, again.len);
	} else {
		make_over(&over, how);
		write_all(over.data, over.len);
	}
	is_begun = 1;
	sigprocmask(SIG_SETMASK, &before, NULL);
	buf_free(&over);
	screen.drawn = screen.rows;
	screen.rows = 0;
	buf_clear(&screen.frame);
}

void tui_screen_below(void)
{
	struct buf b = BUF_INIT;

	if (!is_begun || !screen.drawn)
		return;
	fflush(stdout);
	put_cap(&b, SC); /* setting the region moves the cursor */
	put_region(&b, screen.drawn);
	put_cap(&b, RC);
	put_with(&b, VPA, screen.lines - 1, 0);
	write_all(b.data, b.len);
	buf_free(&b);
}

#else

void tui_screen_modes(void)
{
}

struct err *tui_screen_begin(void)
{
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"this build of tsdb has no text screen: it was built without terminfo"),
		"Build it where ncurses' development files are installed (libncurses-dev)");
}

void tui_screen_end(void)
{
}

void tui_screen_line(const char *text, size_t n, enum tui_look look)
{
}

void tui_screen_draw(enum tui_draw how)
{
}

void tui_screen_below(void)
{
}

#endif
