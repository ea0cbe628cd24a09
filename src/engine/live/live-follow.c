/* SPDX-License-Identifier: Apache-2.0
 *
 * Followed children, see live-follow.h. A child has a control block from its birth, and an engine
 * with a recorder from the moment that an agent starts in it: shells and wrappers never get that
 * far. Surprise: an event is acted on only after the children born before it have been taken,
 * because freeing a process that has ended frees its untaken children.
 */
#include "engine/live-follow.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "base/words.h"
#include "engine/live-capture.h"
#include "engine/live/live-private.h"
#include "engine/names.h"

enum { DRAIN_MS = 20 };

struct member {
	struct inferior *inf;
	struct engine *en; /* NULL: it has not used the GPU so far */
	pid_t pid;
	int64_t rank, ranks; /* and program: as of its last exec, its parent's until then */
	char *program;
	unsigned row;
};

struct follow {
	struct engine *main;
	struct member **m;
	struct inferior **infs; /* of a wait: the program, if it runs, and the members */
	unsigned n, cap;
	unsigned seen; /* processes, the program included */
	struct follow_row *rows;
	unsigned nrows;
	unsigned missed;
};

/* --- life --- */

struct follow *follow_new(struct engine *main)
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
		(struct follow_row){.pid = m->pid, .rank = m->rank, .program = xstrdup(m->program)};
}

/* Looks at a process that has just executed another program. */
static void look_at(struct member *m)
{
	free(m->program);
	m->program = names_command(m->pid);
	names_rank_of(m->pid, &m->rank, &m->ranks);
}

/* Copies what the engine knows of its trace; called before the engine ends, or when the row is
 * shown. */
static void note_row(struct follow_row *row, struct engine *en)
{
	struct recorder_capture c;
	const char *path = en->live.plan.made;

	if (!path && en->live.recorder && recorder_capture(en->live.recorder, &c))
		path = c.path;
	if (path) {
		free(row->path);
		row->path = xstrdup(path);
	}
	row->commands = !en->live.recorder ? 0
			: path		   ? recorder_written(en->live.recorder)
					   : recorder_count(en->live.recorder);
}

static void end_engine(struct follow *f, struct member *m)
{
	struct capture_plan *plan = &f->main->live.plan;

	note_row(&f->rows[m->row], m->en);
	f->rows[m->row].ended = true;
	plan->failed = plan->failed || m->en->live.plan.failed;
	plan->no_memory = plan->no_memory || m->en->live.plan.no_memory;
	engine_deinit(m->en);
	free(m->en);
	m->en = NULL;
}

static void remove_member(struct follow *f, unsigned i)
{
	struct member *m = f->m[i];

	if (m->en) {
		m->inf = m->en->live.inf; /* NULL: it has ended and is freed */
		m->en->live.inf = NULL;
		end_engine(f, m);
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

		if (m->en)
			err_free(live_kill(m->en));
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
	if (f->main->live.inf)
		detach_untaken(f->main->live.inf);
	while (f->n) {
		struct member *m = f->m[f->n - 1];
		struct inferior *inf = m->inf;

		if (m->en && m->en->live.inf)
			err_free(live_detach(m->en)); /* its follow is none */
		else
			err_free(inferior_detach(inf));
		if (!m->en)
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
	struct names n = names_own();
	char *path;

	n.program = program;
	n.pid = pid;
	n.rank = rank;
	path = names_expand(pattern, &n);
	free(n.host);
	return path;
}

char *follow_path(struct engine *en, const char *pattern)
{
	pid_t pid = en->live.inf && inferior_alive(en->live.inf) ? inferior_pid(en->live.inf)
								 : getpid();
	int64_t rank, ranks;

	names_rank_of(0, &rank, &ranks);
	return expand(pattern, en->live.program ? en->live.program : "tsdb", pid, rank);
}

static bool is_taken(const struct follow *f, const char *path)
{
	struct recorder_capture c;

	if (f->main->live.recorder && recorder_capture(f->main->live.recorder, &c) &&
		!strcmp(c.path, path))
		return true;
	if (f->main->live.plan.made && !strcmp(f->main->live.plan.made, path))
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
	char *pattern = f->main->live.plan.pattern, *word, *path, *with;
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

static struct engine *child_engine(struct follow *f, const struct member *m)
{
	struct engine *main = f->main, *en = xcalloc(1, sizeof *en);
	struct live *l = &en->live;

	engine_init(en);
	memcpy(en->set.number, main->set.number, SET_COUNT * sizeof *en->set.number);
	en->hooks = main->hooks;
	en->cancel = main->cancel;
	l->recording = true;
	l->soft = main->live.soft;
	l->plan.mode = RECORDER_ALL;
	l->plan.stacks_off = main->live.plan.stacks_off;
	l->plan.path = child_path(f, m);
	l->rank = m->rank;
	l->ranks = m->ranks;
	return en;
}

/* Whether an agent ever started in it. */
static bool uses_gpu(const struct member *m)
{
	struct tsdb_control *ctl = inferior_control(m->inf);

	return atomic_load_explicit(&ctl->agent_state, memory_order_acquire) != TSDB_AGENT_NONE ||
	       atomic_load(&ctl->next_seq) > 1;
}

static void begin_engine(struct follow *f, struct member *m)
{
	struct err *e;

	if (m->en || !atomic_load(&inferior_control(m->inf)->on) || !uses_gpu(m))
		return;
	m->en = child_engine(f, m);
	m->row = f->nrows;
	add_row(f, m);
	e = live_adopt(m->en, m->inf, m->program);
	note_row(&f->rows[m->row], m->en);
	if (!e)
		return;
	m->en->live.plan.failed = true;
	live_fail(m->en, e);
}

static void init_member(struct follow *f, struct member *m, struct inferior *child)
{
	*m = (struct member){.inf = child,
		.pid = inferior_pid(child),
		.rank = f->main->live.rank,
		.ranks = f->main->live.ranks};
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
	bool wanted = f->main->live.recording ||
		      f->main->live.plan.mode ==
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
	struct live_stop ignored;
	bool gone = ev->kind == INFERIOR_EXITED || ev->kind == INFERIOR_SIGNALLED;

	if (ev->kind == INFERIOR_EXECED)
		look_at(m); /* now, because it runs already */
	begin_engine(f, m);
	if (m->en)
		(void)live_act(m->en, ev, &ignored);
	if (gone)
		remove_member(f, i);
	else if (is_stop(ev))
		err_free(inferior_resume(m->inf, false));
}

/* The next event of any process; *ret_i is n for the program's own. */
static struct err *wait_any(
	struct follow *f, int timeout_ms, unsigned *ret_i, struct inferior_event *ev)
{
	struct inferior *main = f->main->live.inf, *one[1] = {main};
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

struct err *follow_wait(struct follow *f, int timeout_ms, struct inferior_event *ret)
{
	int64_t end = (int64_t)monotonic_ms() + timeout_ms, left = timeout_ms;

	do {
		unsigned i, n = f->n;

		TRY(wait_any(f, (int)(left > 0 ? left : 0), &i, ret));
		if (ret->kind == INFERIOR_NONE || i == n)
			return NULL;
		act(f, i, ret);
		*ret = (struct inferior_event){.kind = INFERIOR_NONE};
		left = end - (int64_t)monotonic_ms();
	} while (left > 0);
	return NULL;
}

bool follow_drain(struct follow *f)
{
	bool more = false;

	for (unsigned i = 0; i < f->n; i++) {
		begin_engine(f, f->m[i]);
		if (f->m[i]->en)
			more = live_drain(f->m[i]->en) || more;
	}
	return more;
}

unsigned follow_pressure(const struct follow *f)
{
	unsigned most = 0, p;

	for (unsigned i = 0; i < f->n; i++) {
		p = f->m[i]->en ? drain_pressure(f->m[i]->inf) : 0;
		most = p > most ? p : most;
	}
	return most;
}

struct err *follow_rest(struct engine *en, int timeout_ms, unsigned *ret_run)
{
	struct follow *f = en->live.follow;
	int64_t end = (int64_t)monotonic_ms() + timeout_ms;
	struct inferior_event ev;

	while (f && f->n && (int64_t)monotonic_ms() < end) {
		bool more = follow_drain(f);

		TRY(follow_wait(
			f, more || follow_pressure(f) > LIVE_PRESSURE_HIGH ? 0 : DRAIN_MS, &ev));
	}
	*ret_run = f ? f->n : 0;
	return NULL;
}

/* --- rows --- */

void follow_rows(struct engine *en, struct follow_rows *ret)
{
	struct follow *f = en->live.follow;
	struct live *l = &en->live;

	*ret = (struct follow_rows){.own = {.pid = l->pid, .rank = l->rank, .ended = !l->inf}};
	if (l->program && l->pid)
		ret->own.program = l->program;
	if (l->recorder) {
		note_row(&ret->own, en);
		ret->own_commands = recorder_count(l->recorder);
	}
	if (!f)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->m[i]->en)
			note_row(&f->rows[f->m[i]->row], f->m[i]->en);
	}
	ret->row = f->rows;
	ret->n = f->nrows;
	ret->seen = f->seen;
	ret->run = f->n;
	ret->missed = f->missed;
}

void follow_rows_free(struct follow_rows *r)
{
	free(r->own.path);
	r->own.path = NULL;
}
