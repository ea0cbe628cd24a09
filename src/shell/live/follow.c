/* SPDX-License-Identifier: Apache-2.0
 *
 * Followed children, see follow.h. A child has a control block from its birth, and a session with a
 * recorder from the moment that an agent starts in it: shells and wrappers never get that far.
 * Surprise: an event is acted on only after the children born before it have been taken, because
 * freeing a process that has ended frees its untaken children.
 */
#include "base/json-put.h"
#include "shell/live/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/attach.h"
#include "shell/record/capture.h"
#include "shell/line/interrupt.h"
#include "engine/names.h"
#include "shell/live/process.h"
#include "engine/recorder.h"
#include "base/words.h"
#include "base/text.h"

enum { DRAIN_MS = 20 };

struct member {
	struct inferior *inf;
	struct session *s; /* NULL: it has not used the GPU so far */
	pid_t pid;
	int64_t rank, ranks; /* and program: as of its last exec, its parent's until then */
	char *program;
	unsigned row;
};

/* A process that used the GPU. */
struct row {
	pid_t pid;
	int64_t rank; /* -1: not known */
	char *program, *path;
	uint64_t commands;
	bool ended;
};

struct follow {
	struct session *main;
	struct member **m;
	struct inferior **infs; /* of a wait: the program, if it runs, and the members */
	unsigned n, cap;
	unsigned seen; /* processes, the program included */
	struct row *rows;
	unsigned nrows;
	unsigned missed;
};

/* --- life --- */

struct follow *follow_new(struct session *main)
{
	struct follow *f = xcalloc(1, sizeof *f);

	f->main = main;
	f->seen = 1;
	return f;
}

static void add_row(struct follow *f, const struct member *m)
{
	f->rows = xrealloc(f->rows, (f->nrows + 1) * sizeof *f->rows);
	f->rows[f->nrows++] =
		(struct row){.pid = m->pid, .rank = m->rank, .program = xstrdup(m->program)};
}

/* Looks at a process that has just executed another program. */
static void look_at(struct member *m)
{
	free(m->program);
	m->program = names_command(m->pid);
	names_rank_of(m->pid, &m->rank, &m->ranks);
}

/* Copies what the session knows of its trace; called before the session ends, or when the row is
 * shown. */
static void note_row(struct row *row, struct session *s)
{
	struct recorder_capture c;
	const char *path = s->plan.made;

	if (!path && s->recorder && recorder_capture(s->recorder, &c))
		path = c.path;
	if (path) {
		free(row->path);
		row->path = xstrdup(path);
	}
	row->commands = !s->recorder ? 0
			: path	     ? recorder_written(s->recorder)
				     : recorder_count(s->recorder);
}

static void end_session(struct follow *f, struct member *m)
{
	struct session *main = f->main;

	note_row(&f->rows[m->row], m->s);
	f->rows[m->row].ended = true;
	main->failures += m->s->failures;
	main->plan.failed = main->plan.failed || m->s->plan.failed;
	main->plan.no_memory = main->plan.no_memory || m->s->plan.no_memory;
	session_deinit(m->s);
	free(m->s);
	m->s = NULL;
}

static void remove_member(struct follow *f, unsigned i)
{
	struct member *m = f->m[i];

	if (m->s) {
		m->inf = m->s->target.inf; /* NULL: it has ended and is freed */
		m->s->target.inf = NULL;
		end_session(f, m);
	}
	inferior_free(m->inf);
	f->m[i] = f->m[--f->n];
	free(m->program);
	free(m);
}

void follow_kill(struct follow *f)
{
	while (f->n) {
		struct member *m = f->m[f->n - 1];

		if (m->s)
			err_free(process_kill(m->s));
		remove_member(f, f->n - 1);
	}
}

static void detach_untaken(struct inferior *of)
{
	struct inferior *child;

	while ((child = inferior_take_child(of))) {
		err_free(inferior_detach(child));
		detach_untaken(child);
		inferior_free(child);
	}
}

void follow_detach(struct follow *f)
{
	if (f->main->target.inf)
		detach_untaken(f->main->target.inf);
	while (f->n) {
		struct member *m = f->m[f->n - 1];
		struct inferior *inf = m->inf;

		if (m->s && m->s->target.inf)
			err_free(process_detach(m->s)); /* its follow is none */
		else
			err_free(inferior_detach(inf));
		if (!m->s)
			detach_untaken(inf);
		remove_member(f, f->n - 1);
	}
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	follow_kill(f);
	for (unsigned i = 0; i < f->nrows; i++) {
		free(f->rows[i].program);
		free(f->rows[i].path);
	}
	free(f->rows);
	free(f->m);
	free(f->infs);
	free(f);
}

/* --- names --- */

static const char *program_word(const char *line, char **ret_free)
{
	char **words;
	unsigned n;
	struct err *e = words_split(line, &words, &n);

	*ret_free = xstrdup(!e && n ? words[0] : "");
	if (!e)
		words_free(words);
	err_free(e);
	return *ret_free;
}

static char *expand(const char *pattern, const char *program, pid_t pid, int64_t rank)
{
	char *host = names_host(), *path;

	path = names_expand(pattern,
		&(struct names){.host = host, .program = program, .pid = pid, .rank = rank});
	free(host);
	return path;
}

char *follow_path(struct session *s, const char *pattern)
{
	pid_t pid = s->target.inf && inferior_alive(s->target.inf) ? inferior_pid(s->target.inf)
								   : getpid();
	int64_t rank, ranks;

	names_rank_of(0, &rank, &ranks);
	return expand(pattern, s->target.program ? s->target.program : "tsdb", pid, rank);
}

static bool is_taken(const struct follow *f, const char *path)
{
	struct recorder_capture c;

	if (f->main->recorder && recorder_capture(f->main->recorder, &c) && !strcmp(c.path, path))
		return true;
	if (f->main->plan.made && !strcmp(f->main->plan.made, path))
		return true;
	for (unsigned i = 0; i < f->nrows; i++) {
		if (f->rows[i].path && !strcmp(f->rows[i].path, path))
			return true;
	}
	return false;
}

/* The name of a child's trace: the pattern distinguishes processes by %p or %r; otherwise the
 * child's number is put before the suffix. */
static char *child_path(struct follow *f, const struct member *m)
{
	char *pattern = f->main->plan.pattern, *word, *path, *with;
	bool apart = names_has(pattern, 'p') || names_has(pattern, 'r');

	path = expand(pattern, program_word(m->program, &word), m->pid, m->rank);
	free(word);
	if (apart && !is_taken(f, path))
		return path;
	with = names_numbered(path, (unsigned long)m->pid);
	free(path);
	return with;
}

/* --- recording a child --- */

static struct session *child_session(struct follow *f, const struct member *m)
{
	struct session *main = f->main, *s = xcalloc(1, sizeof *s);

	session_init(s);
	memcpy(s->engine.set.number, main->engine.set.number, sizeof s->engine.set.number);
	s->batch = s->quiet = true;
	s->target.recording = true;
	s->target.soft = main->target.soft;
	s->plan.mode = RECORDER_ALL;
	s->plan.stacks_off = main->plan.stacks_off;
	s->plan.path = child_path(f, m);
	s->target.rank = m->rank;
	s->target.ranks = m->ranks;
	return s;
}

/* Whether an agent ever started in it. */
static bool uses_gpu(const struct member *m)
{
	struct tsdb_control *ctl = inferior_control(m->inf);

	return atomic_load_explicit(&ctl->agent_state, memory_order_acquire) != TSDB_AGENT_NONE ||
	       atomic_load(&ctl->next_seq) > 1;
}

static void begin_session(struct follow *f, struct member *m)
{
	struct err *e;

	if (m->s || !atomic_load(&inferior_control(m->inf)->on) || !uses_gpu(m))
		return;
	m->s = child_session(f, m);
	m->row = f->nrows;
	add_row(f, m);
	e = process_adopt(m->s, m->inf, m->program);
	note_row(&f->rows[m->row], m->s);
	if (!e)
		return;
	m->s->plan.failed = true;
	m->s->failures++;
	out_error(m->s->out, e);
}

static void init_member(struct follow *f, struct member *m, struct inferior *child)
{
	*m = (struct member){.inf = child,
		.pid = inferior_pid(child),
		.rank = f->main->target.rank,
		.ranks = f->main->target.ranks};
	for (unsigned i = 0; i < f->n; i++) {
		if (f->m[i]->pid != inferior_parent(child))
			continue;
		m->rank = f->m[i]->rank;
		m->ranks = f->m[i]->ranks;
		m->program = xstrdup(f->m[i]->program);
	}
	if (!m->program)
		m->program = names_command(m->pid);
}

static void take_children(struct follow *f, struct inferior *of)
{
	bool wanted = f->main->target.recording ||
		      f->main->plan.mode ==
			      RECORDER_ALL; /* a capture ends with the program, `record` does not */
	struct inferior *child;

	f->missed = inferior_children_missed(of);
	while ((child = inferior_take_child(of))) {
		struct member *m = xcalloc(1, sizeof *m);

		init_member(f, m, child);
		if (f->n == f->cap) {
			f->cap = f->cap ? f->cap * 2 : 16;
			f->m = xrealloc(f->m, f->cap * sizeof *f->m);
			f->infs = xrealloc(f->infs, (f->cap + 1) * sizeof *f->infs);
		}
		f->m[f->n++] = m;
		f->seen++;
		atomic_store(&inferior_control(child)->on, wanted);
		/* it is being killed; its end will be reported */
		err_free(inferior_resume(child, false));
	}
}

/* --- waiting --- */

static bool is_stop(const struct inferior_event *ev)
{
	return ev->kind == INFERIOR_STOP_AGENT || ev->kind == INFERIOR_STOP_SIGNAL ||
	       ev->kind == INFERIOR_STOP_INTERRUPT;
}

static void act(struct follow *f, unsigned i, const struct inferior_event *ev)
{
	struct member *m = f->m[i];
	bool gone = ev->kind == INFERIOR_EXITED || ev->kind == INFERIOR_SIGNALLED;

	if (ev->kind == INFERIOR_EXECED)
		look_at(m); /* now, because it runs already */
	begin_session(f, m);
	if (m->s)
		process_act(m->s, ev);
	if (gone)
		remove_member(f, i);
	else if (is_stop(ev))
		err_free(inferior_resume(m->inf, false));
}

/* The next event of any process; *ret_i is n for the program's own. */
static struct err *wait_any(
	struct follow *f, int timeout_ms, unsigned *ret_i, struct inferior_event *ev)
{
	struct inferior *main = f->main->target.inf, *one[1] = {main};
	unsigned n = f->n;

	for (unsigned i = 0; i < n; i++)
		f->infs[i] = f->m[i]->inf;
	if (main && n)
		f->infs[n] = main;
	TRY(inferior_wait_any(n ? f->infs : one, n + (main != NULL), timeout_ms, ret_i, ev));
	if (ev->kind != INFERIOR_NONE || main)
		take_children(f, *ret_i < n ? f->m[*ret_i]->inf : main);
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct err *follow_wait(struct follow *f, int timeout_ms, struct inferior_event *ret)
{
	int64_t end = now_ms() + timeout_ms, left = timeout_ms;

	do {
		unsigned i, n = f->n;

		TRY(wait_any(f, (int)(left > 0 ? left : 0), &i, ret));
		if (ret->kind == INFERIOR_NONE || i == n)
			return NULL;
		act(f, i, ret);
		*ret = (struct inferior_event){.kind = INFERIOR_NONE};
		left = end - now_ms();
	} while (left > 0);
	return NULL;
}

bool follow_drain(struct follow *f)
{
	bool more = false;

	for (unsigned i = 0; i < f->n; i++) {
		begin_session(f, f->m[i]);
		if (f->m[i]->s)
			more = process_drain(f->m[i]->s) || more;
	}
	return more;
}

unsigned follow_pressure(const struct follow *f)
{
	unsigned most = 0, p;

	for (unsigned i = 0; i < f->n; i++) {
		p = f->m[i]->s ? drain_pressure(f->m[i]->inf) : 0;
		most = p > most ? p : most;
	}
	return most;
}

struct err *follow_rest(struct follow *f)
{
	struct inferior_event ev;
	bool told = false;
	int64_t begin = now_ms();

	while (f->n) {
		bool more = follow_drain(f);

		TRY(follow_wait(f, more || follow_pressure(f) > 250 ? 0 : DRAIN_MS, &ev));
		if (interrupt_take()) {
			follow_kill(f);
			return NULL;
		}
		if (!told && f->n && now_ms() - begin > 2000) {
			text_print(stderr,
				"[the program has ended; %u of its processes go%s on, Ctrl-C ends %s]\n",
				f->n, f->n == 1 ? "es" : "", f->n == 1 ? "it" : "them");
			told = true;
		}
	}
	return NULL;
}

/* --- telling --- */

/* Makes a row of the program itself. */
static bool main_row(const struct follow *f, struct row *ret)
{
	struct session *s = f->main;

	if (!s->recorder || !recorder_count(s->recorder))
		return false;
	*ret = (struct row){.program = s->target.program,
		.ended = !s->target.inf,
		.pid = s->target.pid,
		.rank = s->target.rank};
	note_row(ret, s);
	return true;
}

static void summary_line(const struct row *row)
{
	text_print(stderr, "  %s: ", row->path ? row->path : "no trace");
	if (row->rank >= 0)
		text_print(stderr, "rank %lld, ", (long long)row->rank);
	text_print(stderr, "process %d, %llu commands, %s\n", (int)row->pid,
		(unsigned long long)row->commands, row->program);
}

void follow_summary(const struct follow *f)
{
	struct row own;
	bool has_own = main_row(f, &own);
	unsigned used = f->nrows + has_own;
	uint64_t total = has_own ? own.commands : 0;

	text_print(stderr, "[%u process%s, %u used the GPU%s\n", f->seen, f->seen == 1 ? "" : "es",
		used, used ? ":" : "]");
	if (has_own)
		summary_line(&own);
	for (unsigned i = 0; i < f->nrows; i++) {
		summary_line(&f->rows[i]);
		total += f->rows[i].commands;
	}
	if (used)
		text_print(stderr, "  %llu commands in all]\n", (unsigned long long)total);
	if (f->missed)
		out_warn(f->main->out,
			"%u process%s not followed: too many at once; raise `ulimit -n`", f->missed,
			f->missed == 1 ? " was" : "es were");
	if (has_own)
		free(own.path);
}

/* The state of a row. At a command's time the program is stopped, while its children run on. */
static const char *row_state(const struct session *s, const struct row *row)
{
	return row->ended				    ? "ended"
	       : s->target.inf && row->pid == s->target.pid ? "stopped"
							    : "runs";
}

JS_DEFINE(process_object, "process", row, JS(UINT, row, pid), JS(INT, row, rank),
	JS(UINT, row, commands), JS(BOOL, row, ended), JS(TEXT, row, program),
	JS_AS("trace", TEXT, row, path));

static void print_row(struct session *s, const struct row *row, bool json, struct buf *b)
{
	if (json)
		js_add(b, &process_object, row);
	else
		buf_printf(b, "%-8d %-7s %-10llu %-30s %s\n", (int)row->pid, row_state(s, row),
			(unsigned long long)row->commands, row->path ? row->path : "-",
			row->program);
}

void follow_print(struct session *s, bool json)
{
	struct follow *f = s->follow;
	struct row own = {.program = s->target.program,
		.ended = !s->target.inf,
		.pid = s->target.pid,
		.rank = s->target.rank};
	struct buf b = BUF_INIT;

	if (s->recorder)
		note_row(&own, s);
	if (json)
		buf_byte(&b, '[');
	else
		out_style(s->out, STYLE_HEADER, "%-8s %-7s %-10s %-30s %s\n", "Process", "State",
			"Commands", "Trace", "Program");
	if (own.program && own.pid)
		print_row(s, &own, json, &b);
	for (unsigned i = 0; f && i < f->n; i++) {
		if (f->m[i]->s)
			note_row(&f->rows[f->m[i]->row], f->m[i]->s);
	}
	for (unsigned i = 0; f && i < f->nrows; i++)
		print_row(s, &f->rows[i], json, &b);
	buf_str(&b, json ? "]\n" : "");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (!json && f)
		out_printf(s->out, "%u process%s in all, %u of the children run.\n", f->seen,
			f->seen == 1 ? "" : "es", f->n);
	free(own.path);
}
