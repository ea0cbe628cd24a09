/* SPDX-License-Identifier: Apache-2.0
 *
 * What `break main`, `break blur.cu:25` and `break 25` mean, see break-place.h. A kernel's own line
 * and the nearest line with code behind it are preferred to the host's, if they are as near.
 */
#include "shell/stops/break-place.h"
#include "shell/stops/mark-place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "base/file.h"
#include "base/words.h"
#include "engine/breakpoints.h"
#include "engine/kernel-lines.h"
#include "engine/recorder.h"
#include "shell/print/kernel-text.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-place.h"
#include "state/state.h"
#include "symbols/elf-facts.h"
#include "symbols/places.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

enum { NAMES_SHOWN = 6, LINES_SHOWN = 8, GLOB_ROOM = 100, NAME_ROOM = 512 };

void break_place_free(struct break_place *p)
{
	free(p->spec);
	free(p->note);
	*p = (struct break_place){0};
}

static bool is_replay(const struct session *s)
{
	return s->focus == FOCUS_REPLAY && s->engine.trace.reader;
}

/* The path of the program to run; NULL: none was chosen. A heap string. */
static char *program_path(const struct session *s)
{
	return s->engine.live.program ? program_find(s->engine.live.program) : NULL;
}

/* --- kernels --- */

static void each_of_state(
	const struct state *st, void (*add)(void *arg, const char *name), void *arg)
{
	struct state_kernel k;

	for (unsigned i = 0; state_kernel(st, i, &k); i++)
		add(arg, k.short_name);
}

static void each_of_program(
	const struct session *s, void (*add)(void *arg, const char *name), void *arg)
{
	char *path = program_path(s);
	struct kernel_lines l = {0};
	const char *last = NULL;
	char name[NAME_ROOM];

	if (path)
		kernel_lines_of_program(path, &l);
	for (unsigned i = 0; i < l.n; i++) {
		if (last && !strcmp(last, l.v[i].kernel))
			continue;
		last = l.v[i].kernel;
		add(arg, kernel_short_name(name, sizeof name, last));
	}
	kernel_lines_free(&l);
	free(path);
}

struct err *break_each_kernel(
	struct session *s, void (*add)(void *arg, const char *name), void *arg)
{
	const struct state *st;

	if (is_replay(s)) {
		TRY(engine_end_state(&s->engine, &st));
		each_of_state(st, add, arg);
		return NULL;
	}
	if (s->engine.live.recorder)
		each_of_state(recorder_state(s->engine.live.recorder), add, arg);
	each_of_program(s, add, arg);
	return NULL;
}

/* Names that were seen, and the one most like a word. */
struct name_look {
	const char *word;
	struct buf shown;
	unsigned n;
	bool matches;
	char nearest[NAME_ROOM];
	unsigned distance;
	char last[NAME_ROOM];
};

/* How unlike two names are; a name within the other is near. */
static unsigned unlike(const char *word, const char *name)
{
	const size_t n = strlen(word), k = strlen(name);
	const unsigned d = lookup_distance(word, name);

	if (n >= 3 && k >= 3 && (strstr(name, word) || strstr(word, name)))
		return 1;
	return d <= 1 + n / 4 ? d : UINT32_MAX;
}

static void look_at_name(void *arg, const char *name)
{
	struct name_look *l = arg;
	const unsigned d = unlike(l->word, name);

	l->matches = l->matches || sbt_kernel_glob(l->word, name, name);
	if (!strcmp(l->last, name))
		return;
	snprintf(l->last, sizeof l->last, "%s", name);
	if (l->n++ < NAMES_SHOWN)
		buf_printf(&l->shown, "%s%s", l->n > 1 ? ", " : "", name);
	else if (l->n == NAMES_SHOWN + 1)
		buf_str(&l->shown, ", ...");
	if (d >= l->distance)
		return;
	l->distance = d;
	snprintf(l->nearest, sizeof l->nearest, "%s", name);
}

static void names_begin(struct name_look *l, const char *word)
{
	*l = (struct name_look){.word = word, .distance = UINT32_MAX};
}

/* --- where the host makes commands --- */

/* The host stacks of a trace, each once. */
struct stacks {
	struct session *s;
	const struct breakpoint *bp;
	bool any, found;
	uint8_t *seen;
	uint32_t nseen;
	unsigned lines[LINES_SHOWN]; /* of the breakpoint's file, that commands were made from */
	unsigned nlines;
};

static void note_lines(struct stacks *l, const struct stack *st)
{
	for (unsigned i = 0; l->bp->from_line && i < st->n; i++) {
		const struct symbol *y = &st->frames[i].sym;
		unsigned k = 0;

		if (!y->file || !symbols_same_file(y->file, l->bp->from))
			continue;
		while (k < l->nlines && l->lines[k] != y->line)
			k++;
		if (k == l->nlines && k < LINES_SHOWN)
			l->lines[l->nlines++] = y->line;
	}
}

static bool is_new(struct stacks *l, uint32_t id)
{
	if (!id || id > 1u << 26)
		return false;
	if (id >= l->nseen) {
		const uint32_t n = id * 2 + 64;

		l->seen = xrealloc(l->seen, n);
		memset(l->seen + l->nseen, 0, n - l->nseen);
		l->nseen = n;
	}
	return !l->seen[id]++;
}

static struct err *look_at_stacks(struct stacks *l)
{
	struct sbt_reader *r = l->s->engine.trace.reader;
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct stack st;
	struct err *e;

	TRY(sbt_cursor_open(&cur, r));
	while (!(e = sbt_cursor_next(cur, &c)) && c && !l->found) {
		if (!is_new(l, c->stack))
			continue;
		e = stack_recorded(l->s, r, c->stack, &st);
		if (e)
			break;
		l->any = l->any || st.n;
		l->found = breakpoint_is_from(l->bp, &st);
		note_lines(l, &st);
		stack_free(&st);
	}
	sbt_cursor_close(cur);
	free(l->seen);
	return e;
}

static int by_number(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* No command of the trace was made from this line. */
static struct err *no_such_line(const char *file, unsigned line, struct stacks *l)
{
	struct buf b = BUF_INIT;
	struct err *e = err_new(ERR_NOT_FOUND,
		"no GPU command of the trace was made from %s:%u, and no kernel has code there",
		file, line);

	if (!l->any)
		return err_cure(e,
			"The trace has no host stacks: `set capture stacks on` before the capture records them");
	if (!l->nlines)
		return err_cure(e,
			"No line of %s is known: build it with -g for the host, and with -lineinfo for kernels",
			file);
	qsort(l->lines, l->nlines, sizeof *l->lines, by_number);
	for (unsigned i = 0; i < l->nlines; i++)
		buf_printf(&b, "%s%u", i ? ", " : "", l->lines[i]);
	e = err_cure(e, "Commands were made from %s%s of %s", l->nlines == 1 ? "line " : "lines ",
		buf_cstr(&b), file);
	buf_free(&b);
	return e;
}

/* Whether a command of the trace was made from there. */
static struct err *find_recorded(
	struct session *s, const char *from, unsigned line, struct stacks *ret)
{
	struct breakpoint bp = {.from = (char *)(uintptr_t)from, .from_line = line};
	struct err *e;

	*ret = (struct stacks){.s = s, .bp = &bp};
	e = look_at_stacks(ret);
	ret->bp = NULL;
	return e;
}

struct function_look {
	struct breakpoint bp;
	struct backtrace_frame frame;
	bool found;
};

static bool look_at_function(void *arg, const struct symbols_function *f)
{
	struct function_look *l = arg;
	const struct stack st = {.frames = &l->frame, .n = 1};

	l->frame.sym.function = f->name;
	l->found = breakpoint_is_from(&l->bp, &st);
	return !l->found;
}

static bool has_function(struct session *s, const char *path, const char *name)
{
	struct function_look l = {.bp = {.from = (char *)(uintptr_t)name}};

	symbols_functions(session_symbols(s), path, look_at_function, &l);
	return l.found;
}

/* Whether the program, or a library that it has loaded, has a function of this name. */
static bool is_host_function(struct session *s, const char *name)
{
	char *path = program_path(s);
	bool found = path && has_function(s, path, name);
	struct inferior_library lib;

	for (unsigned i = 0;
		!found && s->engine.live.inf && inferior_library(s->engine.live.inf, i, &lib); i++)
		found = *lib.path == '/' && !strstr(lib.path, "/libc.so") &&
			has_function(s, lib.path, name);
	free(path);
	return found;
}

/* The first line at or behind `line` with code in the program or what it has loaded. */
static enum symbols_found host_line(
	struct session *s, const char *file, unsigned line, struct symbols_line *ret)
{
	char *path = program_path(s);
	enum symbols_found found =
		path ? symbols_line(session_symbols(s), path, file, line, ret) : SYMBOLS_NO_FILE;
	struct inferior_library lib;

	for (unsigned i = 0; found == SYMBOLS_NO_FILE && s->engine.live.inf &&
			     inferior_library(s->engine.live.inf, i, &lib);
		i++)
		if (lib.has_lines)
			found = symbols_line(session_symbols(s), lib.path, file, line, ret);
	free(path);
	return found;
}

/* --- lines --- */

/* Adds the kernel to a pattern, unless it was the last that was added. */
static void add_kernel(struct buf *out, const char *kernel, char last[NAME_ROOM])
{
	char name[NAME_ROOM];

	kernel_short_name(name, sizeof name, kernel);
	if (strcmp(name, last))
		buf_printf(out, "%s%s", out->len ? "|" : "", name);
	strcpy(last, name);
}

/* Appends the kernels that have the line, or may call the device function that has it, as a
 * pattern. */
static void line_kernels(
	const struct kernel_lines *l, const char *file, unsigned line, struct buf *out)
{
	char last[NAME_ROOM] = "";

	for (unsigned i = 0; i < l->n; i++) {
		if (l->v[i].line == line && symbols_same_file(l->v[i].file, file))
			add_kernel(out, l->v[i].kernel, last);
	}
	for (unsigned i = 0; i < l->ndevice && out->len <= GLOB_ROOM; i++) {
		const struct device_line *d = &l->device[i];

		if (d->line != line || !d->file || !symbols_same_file(d->file, file))
			continue;
		for (unsigned k = d->first; k < d->end && out->len <= GLOB_ROOM; k++)
			add_kernel(out, l->v[k].kernel, last);
		break;
	}
	if (out->len <= GLOB_ROOM)
		return;
	buf_clear(out);
	buf_byte(out, '*');
}

struct line_place {
	const char *file, *cond;
	const char *glob; /* of kernels: of no others; NULL: of any that have the line */
	bool message;
	unsigned asked, kernel, host; /* lines; 0: none */
	bool known;		      /* some line of the file is known */
};

static struct err *at_kernel_line(struct session *s, const struct line_place *p,
	const struct kernel_lines *l, struct break_place *ret)
{
	struct buf kernels = BUF_INIT;

	if (!is_replay(s) && *p->cond && !p->message)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"%s:%u is inside a kernel, where conditions need a replay",
					p->file, p->kernel),
			"Record the program, and use `break` in the replay");
	if (p->glob)
		buf_str(&kernels, p->glob);
	else
		line_kernels(l, p->file, p->kernel, &kernels);
	ret->spec = xasprintf("ptx %s:%s:%u%s", buf_cstr(&kernels), p->file, p->kernel, p->cond);
	if (!is_replay(s) && !p->message)
		ret->note = xasprintf(
			"%s:%u is inside a kernel: the program stops where that is launched, a replay at the line itself.",
			p->file, p->kernel);
	buf_free(&kernels);
	return NULL;
}

static void add_moved(const struct line_place *p, unsigned line, struct break_place *ret)
{
	char *more = ret->note;

	if (line == p->asked)
		return;
	ret->note = xasprintf("%s:%u has no code; the next line that has is %u.%s%s", p->file,
		p->asked, line, more ? "\n" : "", more ? more : "");
	free(more);
}

/* Decides between the kernel's line and the host's. */
static struct err *choose_line(struct session *s, const struct line_place *p,
	const struct kernel_lines *l, struct break_place *ret)
{
	const bool kernel = p->kernel && (!p->host || p->kernel <= p->host);
	const unsigned line = kernel ? p->kernel : p->host;

	if (!line && p->known)
		return err_cure(
			err_new(ERR_NOT_FOUND, "neither line %u of %s nor any behind it has code",
				p->asked, p->file),
			"Choose a line before it");
	if (kernel)
		TRY(at_kernel_line(s, p, l, ret));
	else
		ret->spec = xasprintf("from %s:%u%s", p->file, line ? line : p->asked, p->cond);
	if (line)
		add_moved(p, line, ret);
	ret->pending = !line;
	if (ret->pending)
		ret->note = xasprintf(
			"No code that is known so far has lines of %s: it needs -g for the host, -lineinfo for kernels.",
			p->file);
	return NULL;
}

static struct err *at_line(struct session *s, const char *file, unsigned line, const char *cond,
	bool message, struct break_place *ret)
{
	struct line_place p = {.file = file, .cond = cond, .message = message, .asked = line};
	struct symbols_line host = {0};
	enum symbols_found found = SYMBOLS_NO_FILE;
	struct kernel_lines l;
	struct stacks made;
	struct err *e;

	TRY(source_kernel_lines(s, &l));
	p.kernel = kernel_lines_find(&l, file, line, &p.known);
	if (is_replay(s) && p.kernel != line) {
		e = find_recorded(s, file, line, &made);
		p.host = !e && made.found ? line : 0;
		if (!e && !made.found && !p.kernel)
			e = no_such_line(file, line, &made);
	} else {
		e = NULL;
		if (!is_replay(s))
			found = host_line(s, file, line, &host);
		p.known = p.known || found != SYMBOLS_NO_FILE;
		p.host = found == SYMBOLS_LINE ? host.line : 0;
	}
	if (!e)
		e = choose_line(s, &p, &l, ret);
	kernel_lines_free(&l);
	return e;
}

/* The file that a kernel begins in; NULL: none that matches has lines. */
static const char *kernel_file(const struct kernel_lines *l, const char *glob)
{
	char name[NAME_ROOM];

	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].file && sbt_kernel_glob(glob, l->v[i].kernel,
					    kernel_short_name(name, sizeof name, l->v[i].kernel)))
			return l->v[i].file;
	return NULL;
}

/* KERNEL:LINE, KERNEL:FILE:LINE; *ret_done false: what is none, since no kernel has such lines. */
static struct err *at_kernel(struct session *s, const char *what, const char *cond, bool message,
	struct break_place *ret, bool *ret_done)
{
	const char *last = strrchr(what, ':'), *first = strchr(what, ':');
	char *glob = first ? strndup(what, (size_t)(first - what)) : NULL, *file = NULL;
	struct line_place p = {.cond = cond, .glob = glob, .message = message};
	struct kernel_lines l = {0};
	const char *own = NULL;
	uint64_t line;
	struct err *e = NULL;

	*ret_done = false;
	if (glob && *glob && first[1] != ':' && word_u64(last + 1, &line) && line &&
		line <= INT32_MAX && !strchr(glob, '.') && !strchr(glob, '/')) {
		e = source_kernel_lines(s, &l);
		own = e ? NULL : kernel_file(&l, glob);
	}
	if (own) {
		file = last > first ? strndup(first + 1, (size_t)(last - first - 1))
				    : xstrdup(file_name_of(own));
		p.file = file;
		p.asked = (unsigned)line;
		p.kernel = kernel_lines_find(&l, file, p.asked, &p.known);
		*ret_done = p.known;
	}
	if (*ret_done)
		e = choose_line(s, &p, &l, ret);
	kernel_lines_free(&l);
	free(glob);
	free(file);
	return e;
}

/* --- names --- */

static struct err *no_such_name(struct name_look *l, bool kernel_only)
{
	struct err *e = err_new(ERR_NOT_FOUND,
		kernel_only
			? "no kernel of the trace is called %s"
			: "no kernel of the trace is called %s, and no GPU command was made from a function of that name",
		l->word);

	if (*l->nearest)
		return err_cure(e, "Did you mean %s? \"info kernels\" at the trace's end lists all",
			l->nearest);
	if (l->n)
		return err_cure(e, "Its kernels are %s", buf_cstr(&l->shown));
	return err_cure(e, "It has no kernels");
}

/* name: a kernel's, or a function's of the host. */
static struct err *at_name(struct session *s, const char *name, bool kernel_only, const char *cond,
	struct break_place *ret)
{
	struct stacks made = {0};
	struct name_look l;
	bool from = false;
	struct err *e;

	names_begin(&l, name);
	e = break_each_kernel(s, look_at_name, &l);
	if (!e && !l.matches && !kernel_only && is_replay(s)) {
		e = find_recorded(s, name, 0, &made);
		from = made.found;
	} else if (!e && !l.matches && !kernel_only && !strpbrk(name, "*?[")) {
		from = is_host_function(s, name);
	}
	if (!e && !l.matches && !from && is_replay(s))
		e = no_such_name(&l, kernel_only);
	if (!e) {
		ret->spec = xasprintf("%s %s%s", from ? "from" : "kernel", name, cond);
		ret->pending = !from && !l.matches;
		if (from)
			ret->note = xasprintf(
				"%s is a function of the host: the stops are at the GPU commands that it makes.",
				name);
	}
	buf_free(&l.shown);
	return e;
}

/* --- what the user typed --- */

/* The words that breakpoints_add() knows, and that say what they mean. */
static bool says_itself(const char *what)
{
	static const char *const words[] = {"ptx", "code", "seq", "from", "nvtx", "mark", "command",
		"any", "work", "object", "host", "note"};
	const size_t n = strcspn(what, " \t");

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (n == strlen(words[i]) && !strncmp(what, words[i], n))
			return true;
	return !*what || *what == '#' || sbt_kind_by_name(what);
}

static struct err *decide(struct session *s, const char *what, const char *cond, bool message,
	struct break_place *ret)
{
	unsigned line;
	uint64_t seq;
	char *file;
	bool done;
	struct err *e = NULL;

	if (!strncmp(what, "kernel ", 7) && !strpbrk(what + 7 + strspn(what + 7, " \t"), " \t"))
		return at_name(s, what + 7 + strspn(what + 7, " \t"), true, cond, ret);
	if ((!strncmp(what, "nvtx ", 5) || !strncmp(what, "mark ", 5)) && is_replay(s))
		return mark_place(s, what + 5, &seq);
	if (says_itself(what) || strpbrk(what, " \t"))
		return NULL;
	e = at_kernel(s, what, cond, message, ret, &done);
	if (e || done)
		return e;
	if (!source_parse_line(what, &file, &line))
		return at_name(s, what, false, cond, ret);
	if (!file)
		e = source_default_file(s, &file);
	if (!e)
		e = at_line(s, file, line, cond, message, ret);
	free(file);
	return e;
}

struct err *break_place(struct session *s, const char *text, bool message, struct break_place *ret)
{
	const char *cond = !strncmp(text, "if ", 3) ? text : strstr(text, " if ");
	size_t n = cond ? (size_t)(cond - text) : strlen(text);
	char *what;
	struct err *e;

	*ret = (struct break_place){0};
	while (n && strchr(" \t", text[n - 1]))
		n--;
	what = xasprintf("%.*s", (int)n, text);
	e = decide(s, what, cond ? cond : "", message, ret);
	if (!e && !ret->spec)
		ret->spec = xstrdup(text);
	if (e)
		break_place_free(ret);
	free(what);
	return e;
}

/* --- hits --- */

bool break_made_from(void *session, const struct breakpoint *bp)
{
	struct session *s = session;
	struct stack st = {0};
	bool yes;

	if (s->engine.live.at_cmd && s->engine.live.cmd.stack)
		stack_kept(s, s->engine.live.cmd.stack, &st);
	if (!st.n)
		err_free(stack_of_thread(s, s->engine.live.tid, &st));
	yes = breakpoint_is_from(bp, &st);
	stack_free(&st);
	return yes;
}

bool break_recorded_from(void *session, int id, uint32_t stack)
{
	struct session *s = session;
	const struct breakpoint *bp = breakpoints_by_id(s->engine.breaks, id);
	struct stack st;
	struct err *e = bp && stack ? stack_recorded(s, s->engine.trace.reader, stack, &st) : NULL;
	bool yes = false;

	if (!e && bp && stack) {
		yes = breakpoint_is_from(bp, &st);
		stack_free(&st);
	}
	err_free(e);
	return yes;
}

static void tell_never_hit(struct session *s, const struct breakpoint *bp)
{
	struct name_look l;

	if (bp->from) {
		out_printf(s->out, "Breakpoint %d was never hit: no GPU command was made %s.\n",
			bp->id, bp->what);
		return;
	}
	names_begin(&l, bp->glob);
	each_of_state(recorder_state(s->engine.live.recorder), look_at_name, &l);
	if (!l.matches) {
		out_printf(s->out, "Breakpoint %d was never hit; ", bp->id);
		if (l.n)
			out_printf(s->out, "kernels seen: %s", buf_cstr(&l.shown));
		else
			out_str(s->out, "no kernels were seen");
		if (*l.nearest)
			out_printf(s->out, "; did you mean %s?\n", l.nearest);
		else
			out_str(s->out, ".\n");
	}
	buf_free(&l.shown);
}

void break_tell_never_hit(struct session *s)
{
	const struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)) != NULL; i++)
		if (bp->enabled && !bp->hits && bp->kinds != 1ull << SBT_MARK &&
			(bp->from || bp->glob) && s->engine.live.recorder)
			tell_never_hit(s, bp);
}
