/* SPDX-License-Identifier: Apache-2.0
 *
 * Python frames of a stopped thread, read from outside. The agent has found the interpreter and
 * given its version and the addresses of two objects; from there this walks like the agent
 * (sbt/python.h), over memory that may hold anything. A thread may have a state in each of several
 * interpreters: all are walked, and the groups are sorted by where on the C stack they run.
 */
#include "sbt/python.h"

#include <stdlib.h>
#include <string.h>
#include "attach/unwind/frames.h"

enum { STATES_MAX = 16384, TEXT_BYTES = 1024, LINES_BYTES_MAX = 1 << 20 };

struct python_names {
	char **text; /* open addressing */
	size_t n, cap;
};

/* One request for frames. */
struct look {
	struct inferior *inf;
	struct python_layout l;
	struct python_place *places;
	unsigned n, cap, max, states; /* states: looked at */
};

static bool read_there(void *arg, uint64_t address, void *to, size_t n)
{
	struct err *e = inferior_read(arg, address, to, n);

	err_free(e);
	return !e;
}

static uint64_t word_there(struct inferior *inf, uint64_t address)
{
	uint64_t v = 0;

	return read_there(inf, address, &v, sizeof(v)) ? v : 0;
}

/* ---- names ---- */

void python_names_free(struct inferior *inf)
{
	for (size_t i = 0; inf->python && i < inf->python->cap; i++)
		free(inf->python->text[i]);
	if (inf->python)
		free(inf->python->text);
	free(inf->python);
	inf->python = NULL;
}

static char **find_name(struct python_names *p, const char *s)
{
	uint64_t h = 5381;

	for (const char *c = s; *c; c++)
		h = h * 33 + (uint8_t)*c;
	for (;; h++) {
		char **at = &p->text[h & (p->cap - 1)];

		if (!*at || strcmp(*at, s) == 0)
			return at;
	}
}

static void grow_names(struct python_names *p)
{
	char **old = p->text;
	size_t n = p->cap;

	p->cap = n ? n * 2 : 256;
	p->text = xcalloc(p->cap, sizeof(*p->text));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*find_name(p, old[i]) = old[i];
	free(old);
}

/* A copy of the text that is valid as long as the inferior. */
static const char *keep_name(struct inferior *inf, const char *s)
{
	struct python_names *p = inf->python;
	char **at;

	if (!p)
		p = inf->python = xcalloc(1, sizeof(*p));
	if ((p->n + 1) * 2 > p->cap)
		grow_names(p);
	at = find_name(p, s);
	if (!*at) {
		*at = xstrdup(s);
		p->n++;
	}
	return *at;
}

/* ---- frames ---- */

static unsigned line_there(struct look *k, uint64_t code, uint64_t at)
{
	uint64_t table, n;
	uint32_t first = 0;
	uint8_t *bytes;
	unsigned line = 0;

	if (!read_there(k->inf, code + k->l.code.first_line, &first, sizeof(first)) ||
		!python_bytes(word_there(k->inf, code + k->l.code.lines), &table, &n, read_there,
			k->inf) ||
		n > LINES_BYTES_MAX)
		return 0;
	bytes = xmalloc(n + 1);
	if (read_there(k->inf, table, bytes, n))
		line = python_line(bytes, n, first, at);
	free(bytes);
	return line;
}

static const char *text_there(struct look *k, uint64_t object)
{
	char text[TEXT_BYTES];

	if (!python_text(&k->l, object, text, sizeof(text), read_there, k->inf))
		return "?";
	return keep_name(k->inf, text);
}

static void add_place(struct look *k, const struct python_frame *f)
{
	MAKE_ROOM(k->places, k->n, k->cap);
	k->places[k->n++] = (struct python_place){
		text_there(k, word_there(k->inf, f->code + k->l.code.filename)),
		text_there(k, word_there(k->inf, f->code + k->l.code.qualname)),
		line_there(k, f->code, f->at), UINT64_MAX};
}

static void walk_state(struct look *k, uint64_t state)
{
	struct python_walk w;
	struct python_frame f;
	unsigned group = k->n;

	if (!python_begin(&w, &k->l, k->inf->control->python_code_type, state, read_there, k->inf))
		return;
	/* With too many frames, the rest of the group is only searched for its anchor. */
	while ((k->n < k->max || group < k->n) && python_next(&w, &f, read_there, k->inf)) {
		if (f.code && k->n < k->max)
			add_place(k, &f);
		for (; f.anchor && group < k->n; group++)
			k->places[group].anchor = f.anchor;
	}
}

/* The states of the thread whose pthread_self() is self. (On x86-64 that is its FS base, which no
 * process namespace changes.) */
static void walk_thread(struct look *k, uint64_t self)
{
	uint64_t interp = word_there(k->inf, k->inf->control->python_runtime + k->l.interp.head);

	while (python_plausible(interp) && k->states++ < STATES_MAX) {
		uint64_t state = word_there(k->inf, interp + k->l.interp.threads);

		while (python_plausible(state) && k->states++ < STATES_MAX) {
			if (word_there(k->inf, state + k->l.thread.thread_id) == self)
				walk_state(k, state);
			state = word_there(k->inf, state + k->l.thread.next);
		}
		interp = word_there(k->inf, interp + k->l.interp.next);
	}
}

/* Sorts by anchor; frames of one group keep their order. Usually no group is out of order. */
static void sort_groups(struct python_place *p, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned j = i; j && p[j].anchor < p[j - 1].anchor; j--) {
			const struct python_place t = p[j];

			p[j] = p[j - 1];
			p[j - 1] = t;
		}
}

unsigned python_frames(struct inferior *inf, pid_t tid, unsigned max, struct python_place **ret)
{
	struct look k = {.inf = inf, .max = max < PYTHON_STEPS_MAX ? max : PYTHON_STEPS_MAX};
	struct tracee *t = tracee_find(inf, tid);
	const struct arch_regs *regs = t ? tracee_regs(t) : NULL;
	uint8_t head[PYTHON_DEBUG_BYTES];
	const char *why;

	*ret = NULL;
	if (!regs || !inf->control ||
		atomic_load_explicit(&inf->control->python, memory_order_acquire) !=
			TSDB_PYTHON_READ ||
		!read_there(inf, inf->control->python_runtime, head, sizeof(head)) ||
		!python_layout(&k.l, inf->control->python_version, head, &why))
		return 0;
	walk_thread(&k, arch_thread_pointer(regs));
	sort_groups(k.places, k.n);
	*ret = k.places;
	return k.n;
}
