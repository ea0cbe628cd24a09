/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard output, pager, colours, log; see out.h. Surprise: nothing is written before out_flush(),
 * so that a long list can still decide to go through a pager.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "shell/line/out.h"
#include "base/text.h"

enum { FLUSH_AT = 32 << 10 };

struct out {
	struct buf buf;
	int fd;		 /* where text goes: 1, or the pager's pipe */
	pid_t pager;	 /* 0: none */
	unsigned height; /* lines that fit without a pager; 0: no paging now */
	unsigned lines;	 /* in buf, while the pager is not running */
	bool closed, color;
	unsigned diverted; /* how often, within one another: no pager then */
	int failed;	   /* errno of the first failed write */
	FILE *log;
	struct buf *collect;		 /* NULL: text goes to fd */
	FILE *notes;			 /* NULL: stderr */
	struct err *error;		 /* with notes: the first that was reported */
	const struct out_screen *screen; /* NULL: none */
	void *screen_arg;
	uint64_t progress_since;      /* ns; 0: no progress line */
	out_progress_fn *on_progress; /* NULL: none */
	void *progress_arg;
	uint64_t progress_drawn;
};

struct out *out_new(void)
{
	struct out *o = xcalloc(1, sizeof *o);

	o->fd = STDOUT_FILENO;
	return o;
}

void out_free(struct out *o)
{
	if (!o)
		return;
	out_page_end(o);
	out_flush(o);
	if (o->log)
		fclose(o->log);
	err_free(o->error);
	buf_free(&o->buf);
	free(o);
}

static void give_up(struct out *o, int sys)
{
	o->closed = true;
	if (!o->pager && !o->failed)
		o->failed = sys;
}

/* Called before text is written to the terminal. */
static void before_text(struct out *o)
{
	if (o->screen && !o->pager && !o->diverted)
		o->screen->before_text(o->screen_arg);
}

static void write_all(struct out *o)
{
	size_t done = 0;

	if (o->collect) {
		buf_add(o->collect, o->buf.data, o->buf.len);
		buf_clear(&o->buf);
		return;
	}
	if (o->log)
		fwrite(o->buf.data, 1, o->buf.len, o->log);
	if (o->buf.len)
		before_text(o);
	while (!o->closed && done < o->buf.len) {
		ssize_t n = write(o->fd, o->buf.data + done, o->buf.len - done);

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR && errno != EAGAIN)
			give_up(o, errno);
	}
	buf_clear(&o->buf);
	o->lines = 0;
}

static bool in_path(const char *name)
{
	const char *p = getenv("PATH");

	while (p && *p) {
		size_t n = strcspn(p, ":");
		char *path = xasprintf("%.*s/%s", (int)n, p, name);
		bool found = !access(path, X_OK);

		free(path);
		if (found)
			return true;
		p += n;
		p += *p == ':';
	}
	return false;
}

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (pager && *pager)
		return pager;
	return in_path("less") ? "less" : in_path("more") ? "more" : NULL;
}

/* Less waits for `q` also when it can show all: "-+F" takes the option F back. */
static void make_less_wait(void)
{
	const char *less = getenv("LESS");
	char *both =
		xasprintf("%s%s -+F", less && *less == '-' ? "" : "-", less && *less ? less : "RX");

	setenv("LESS", both, 1);
	free(both);
}

/* Runs in the child: becomes the pager. */
static void become_pager(int in, const char *pager, bool waits)
{
	if (waits)
		make_less_wait();
	if (in == STDIN_FILENO)
		(void)fcntl(in, F_SETFD, 0);
	else
		dup2(in, STDIN_FILENO);
	signal(SIGINT, SIG_IGN);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

static void start_pager(struct out *o)
{
	const char *pager = pager_command();
	bool waits;
	int ends[2];
	pid_t pid;

	if (!pager || pipe2(ends, O_CLOEXEC)) {
		o->height = 0;
		return;
	}
	waits = o->screen && o->screen->before_pager(o->screen_arg);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		become_pager(ends[0], pager, waits);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return;
	}
	o->pager = pid;
	o->fd = ends[1];
}

void out_flush(struct out *o)
{
	out_progress_end(o);
	write_all(o);
	if (o->log)
		fflush(o->log);
}

void out_on_screen(struct out *o, const struct out_screen *hooks, void *arg)
{
	o->screen = hooks;
	o->screen_arg = arg;
}

struct buf *out_collect(struct out *o, struct buf *to)
{
	struct buf *before = o->collect;

	out_flush(o);
	o->collect = to;
	return before;
}

struct out_target out_divert(struct out *o, int fd)
{
	const struct out_target before = {o->fd, o->closed, o->color, o->failed};

	out_flush(o);
	o->fd = fd;
	o->closed = o->color = false;
	o->diverted++;
	return before;
}

void out_restore(struct out *o, struct out_target before)
{
	out_flush(o);
	o->fd = before.fd;
	o->closed = before.closed;
	o->color = before.color;
	o->failed = before.failed;
	o->diverted--;
}

int out_failed(const struct out *o)
{
	return o->failed;
}

bool out_closed(const struct out *o)
{
	return o->closed;
}

static void added(struct out *o, size_t from)
{
	if (o->height && !o->pager) {
		for (size_t i = from; i < o->buf.len; i++)
			o->lines += o->buf.data[i] == '\n';
		if (o->lines < o->height)
			return;
		start_pager(o);
		write_all(o);
	} else if (o->buf.len >= FLUSH_AT) {
		out_flush(o);
	}
}

void out_str(struct out *o, const char *text)
{
	size_t from = o->buf.len;

	buf_str(&o->buf, text);
	text_safe_tail(&o->buf, from);
	added(o, from);
}

void out_printf(struct out *o, const char *fmt, ...)
{
	size_t from = o->buf.len;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&o->buf, fmt, ap);
	va_end(ap);
	text_safe_tail(&o->buf, from);
	added(o, from);
}

static const char *style_code(enum style style)
{
	switch (style) {
	case STYLE_HEADER:
		return "\033[1m";
	case STYLE_ERROR:
		return "\033[31m";
	case STYLE_STOP:
		return "\033[1;33m";
	case STYLE_NOTE:
		return "\033[2m";
	case STYLE_NAME:
		return "\033[36m";
	case STYLE_NONE:
		break;
	}
	return "";
}

void out_style(struct out *o, enum style style, const char *fmt, ...)
{
	bool on = o->color && style != STYLE_NONE && !o->collect;
	size_t from, text;
	va_list ap;

	from = o->buf.len;
	if (on)
		buf_str(&o->buf, style_code(style));
	text = o->buf.len;
	va_start(ap, fmt);
	buf_vprintf(&o->buf, fmt, ap);
	va_end(ap);
	text_safe_tail(&o->buf, text);
	if (on)
		buf_str(&o->buf, "\033[0m");
	added(o, from);
}

/* Prints one table from p, "header\nrow\nrow\n", up to an empty line or the end; returns the text
 * behind it. */
static const char *one_table(struct out *o, const char *p)
{
	const char *end = strchr(p, '\n'), *next = strstr(p, "\n\n");

	if (end && end[1]) {
		out_style(o, STYLE_HEADER, "%.*s", (int)(end - p), p);
		p = end;
	}
	if (!next) {
		out_str(o, p);
		return p + strlen(p);
	}
	out_printf(o, "%.*s", (int)(next + 2 - p), p);
	return next + 2;
}

void out_table(struct out *o, struct buf *text)
{
	const char *p = buf_cstr(text);

	while (*p)
		p = one_table(o, p);
	if (text->len && text->data[text->len - 1] != '\n')
		out_str(o, "\n");
}

void out_page_begin(struct out *o, unsigned height)
{
	out_flush(o);
	o->height = o->diverted ? 0 : height;
}

bool out_page_end(struct out *o)
{
	out_flush(o);
	o->height = 0;
	if (!o->pager)
		return false;
	close(o->fd);
	while (waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
		;
	o->pager = 0;
	o->fd = STDOUT_FILENO;
	o->closed = false;
	return true;
}

void out_set_color(struct out *o, bool on)
{
	o->color = on;
}

struct err *out_log(struct out *o, const char *path)
{
	out_flush(o);
	if (o->log)
		fclose(o->log);
	o->log = NULL;
	if (!path)
		return NULL;
	o->log = fopen(path, "ae");
	return o->log ? NULL
		      : err_cure(err_sys(errno, "cannot write the log file %s", path),
				"See `show logging file`");
}

/* Appends s, with a full stop if it has none. */
static void one_sentence(struct buf *b, const char *s)
{
	const size_t n = strlen(s);

	text_safe(b, s, n, 0);
	if (n && !strchr(".!?", s[n - 1]))
		buf_byte(b, '.');
}

/* Appends the error, then the cure, on one line. */
static void put_error(struct buf *b, const struct err *e)
{
	one_sentence(b, e->what);
	if (e->cure && *e->cure) {
		const size_t at = b->len + 1;

		buf_byte(b, ' ');
		one_sentence(b, e->cure);
		b->data[at] = (uint8_t)toupper(b->data[at]);
	}
	buf_byte(b, '\n');
}

FILE *out_quiet(struct out *o, FILE *notes)
{
	FILE *before = o->notes;

	out_flush(o);
	o->notes = notes;
	return before;
}

struct err *out_take_error(struct out *o)
{
	struct err *e = o->error;

	o->error = NULL;
	return e;
}

FILE *out_notes(struct out *o)
{
	return o->notes ? o->notes : stderr;
}

void out_error(struct out *o, struct err *e)
{
	bool color = o->color && isatty(STDERR_FILENO);
	struct buf b = BUF_INIT;

	out_flush(o);
	if (o->notes) {
		o->error = err_first(o->error, e);
		return;
	}
	before_text(o);
	put_error(&b, e);
	fprintf(stderr, "%s%s", color ? "\033[31mtsdb:\033[0m " : "tsdb: ", buf_cstr(&b));
	fflush(stderr);
	if (o->log)
		fprintf(o->log, "tsdb: %s", buf_cstr(&b));
	buf_free(&b);
	err_free(e);
}

void out_warn(struct out *o, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	out_flush(o);
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!o->notes)
		before_text(o);
	text_print(out_notes(o), "tsdb: %s\n", buf_cstr(&b));
	fflush(out_notes(o));
	buf_free(&b);
}

void out_progress(struct out *o, const char *what, uint64_t done, uint64_t total)
{
	uint64_t now;

	if (o->on_progress)
		o->on_progress(o->progress_arg, what, done, total);
	if (o->notes || o->pager || !isatty(STDERR_FILENO))
		return;
	now = monotonic_ns();
	if (!o->progress_since)
		o->progress_since = now;
	if (now - o->progress_since < 1000000000u || now - o->progress_drawn < 100000000u)
		return;
	o->progress_drawn = now;
	if (total)
		fprintf(stderr, "\r%s %u %%\033[K", what,
			(unsigned)(100.0 * (double)done / (double)total));
	else
		fprintf(stderr, "\r%s %llu\033[K", what, (unsigned long long)done);
	fflush(stderr);
}

void out_on_progress(struct out *o, out_progress_fn *fn, void *arg)
{
	o->on_progress = fn;
	o->progress_arg = arg;
}

void out_progress_end(struct out *o)
{
	if (o->progress_drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	o->progress_since = o->progress_drawn = 0;
}

unsigned out_columns(void)
{
	unsigned lines, columns;

	out_screen(&lines, &columns);
	return columns;
}

unsigned out_table_columns(void)
{
	return isatty(STDOUT_FILENO) ? out_columns() : 0;
}

void out_screen(unsigned *ret_lines, unsigned *ret_columns)
{
	struct winsize ws;

	*ret_lines = 24;
	*ret_columns = 80;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_row && ws.ws_col) {
		*ret_lines = ws.ws_row;
		*ret_columns = ws.ws_col;
	}
}
