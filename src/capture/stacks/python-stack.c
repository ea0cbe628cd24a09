/* SPDX-License-Identifier: Apache-2.0
 *
 * Python frames in the agent; see python-stack.h. Pointers and code objects are checked before they
 * are followed. A code object may be freed and replaced by another one, so it is identified by its
 * address and its version (3.12 and later), or some of its contents.
 *
 * The calling thread's state is the one bound to the thread (PyGILState_GetThisThreadState, which
 * reads a thread-specific value); from 3.12 on, where it is thread-local, also the running one (it
 * differs in a sub-interpreter). In 3.11 the latter may be any thread's.
 */
#include "capture/stacks/python-stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "capture/core/agent.h"
#include "capture/stacks/elf-look.h"
#include "capture/objects/map.h"
#include "capture/core/thread.h"
#include "sbt/python.h"

#define NAME_BYTES 1024u
#define STATES_MAX 2
#define STRANGE_MAX 16

_Atomic bool python_here;

static struct {
	struct python_layout layout;
	uint64_t code_type;
	void *(*bound)(void);	/* PyGILState_GetThisThreadState */
	void *(*running)(void); /* NULL: not known to be this thread's */
	bool refused;
	struct spin looking;
	_Atomic uint32_t checked; /* a thread's state was found to be as expected */
	_Atomic uint32_t strange; /* unexpected states seen before the first expected one */
	_Atomic uint32_t next_code;
	struct map codes;    /* address and version (or contents) of a code object -> number */
	struct map contents; /* hash of a code object's contents -> number */
} python = {.next_code = 1};

/* --- finding it --- */

static void tell(enum tsdb_python_state state, const char *sentence)
{
	struct tsdb_control *c = agent.control;
	snprintf(c->python_text, sizeof(c->python_text), "%s", sentence);
	atomic_store_explicit(&c->python, state, memory_order_release);
}

static void refuse(const char *version, const char *why)
{
	char text[TSDB_TEXT_MAX];
	snprintf(text, sizeof(text),
		"host stacks do not show the Python functions of CPython %.20s: %s", version, why);
	python.refused = true;
	python_here = false;
	tell(TSDB_PYTHON_REFUSED, text);
}

enum { RUNTIME, CODE_TYPE, BOUND, VERSION, RUNNING, RUNNING_NEW, TEXT, LOOKS };

/* Before 3.11 there is no Py_Version; Py_GetVersion() fills a static buffer and touches nothing
 * else. */
static void version_text(const struct elf_look *look, char *to, size_t n)
{
	const char *(*get)(void);
	memcpy(&get, &look[TEXT].address, sizeof(get));
	snprintf(to, n, "%s", get ? get() : "?");
	to[strcspn(to, " ")] = '\0';
}

static void look_now(void)
{
	struct elf_look look[LOOKS] = {
		[RUNTIME] = {"_PyRuntime", 0},
		[CODE_TYPE] = {"PyCode_Type", 0},
		[BOUND] = {"PyGILState_GetThisThreadState", 0},
		[VERSION] = {"Py_Version", 0},
		[RUNNING] = {"_PyThreadState_UncheckedGet", 0},
		[RUNNING_NEW] = {"PyThreadState_GetUnchecked", 0},
		[TEXT] = {"Py_GetVersion", 0},
	};
	char version[32];
	const char *file, *why = "its version is not one of 3.11, 3.12 and 3.13";
	if (python_here || python.refused || !elf_look(look, LOOKS, &file))
		return;
	version_text(look, version, sizeof(version));
	if (!look[VERSION].address || !look[CODE_TYPE].address || !look[BOUND].address) {
		refuse(version, why);
		return;
	}
	const unsigned long number = *(const unsigned long *)(uintptr_t)look[VERSION].address;
	if (!python_layout(&python.layout, (uint32_t)number,
		    (const void *)(uintptr_t)look[RUNTIME].address, &why)) {
		refuse(version, why);
		return;
	}
	python.code_type = look[CODE_TYPE].address;
	memcpy(&python.bound, &look[BOUND].address, sizeof(python.bound));
	const uint64_t running =
		look[RUNNING].address ? look[RUNNING].address : look[RUNNING_NEW].address;
	if (python.layout.version >= 0x030c)
		memcpy(&python.running, &running, sizeof(python.running));
	/* We call its functions from now on, so it must stay. */
	if (*file)
		(void)dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	agent.control->python_version = (uint32_t)number;
	agent.control->python_runtime = look[RUNTIME].address;
	agent.control->python_code_type = python.code_type;
	tell(TSDB_PYTHON_READ, "");
	atomic_store_explicit(&python_here, true, memory_order_release);
}

void python_look(void)
{
	spin_lock(&python.looking);
	look_now();
	spin_unlock(&python.looking);
}

/* --- walking --- */

static inline __attribute__((always_inline)) bool read_here(
	void *arg, uint64_t address, void *to, size_t n)
{
	memcpy(to, (const void *)(uintptr_t)address, n);
	return true;
}

static uint64_t word_at(uint64_t address)
{
	uint64_t v;
	memcpy(&v, (const void *)(uintptr_t)address, sizeof(v));
	return v;
}

/* The first states found show whether the table of offsets is right: one must have this thread's
 * id. (A state may have been made for another thread.) */
static bool check_state(uint64_t state)
{
	if (__builtin_expect(atomic_load_explicit(&python.checked, memory_order_relaxed), 1))
		return true;
	if (word_at(state + python.layout.thread.thread_id) != (uint64_t)pthread_self()) {
		if (atomic_fetch_add(&python.strange, 1) == STRANGE_MAX)
			refuse("3.11 to 3.13",
				"its structures are laid out differently from those of its version");
		return false;
	}
	atomic_store(&python.checked, 1);
	return true;
}

/* The calling thread's states: that of the sub-interpreter that it runs, if any, and its first
 * one. */
static unsigned states(uint64_t *to)
{
	const uint64_t bound = (uint64_t)(uintptr_t)python.bound();
	const uint64_t running = python.running ? (uint64_t)(uintptr_t)python.running() : 0;
	unsigned n = 0;
	if (bound && (!python_plausible(bound) || !check_state(bound)))
		return 0;
	if (running && running != bound && python_plausible(running))
		to[n++] = running;
	if (bound)
		to[n++] = bound;
	return n;
}

/* Merges two states' frames by where on the C stack their groups run. */
struct merge {
	unsigned n;
	struct python_walk walk[STATES_MAX];
};

static uint64_t next_anchor(struct python_walk w)
{
	struct python_frame f;
	while (python_next(&w, &f, read_here, NULL))
		if (f.anchor)
			return f.anchor;
	return UINT64_MAX;
}

static bool merge_begin(struct merge *m)
{
	uint64_t state[STATES_MAX];
	const unsigned n = states(state);
	m->n = 0;
	for (unsigned i = 0; i < n; i++)
		if (python_begin(&m->walk[m->n], &python.layout, python.code_type, state[i],
			    read_here, NULL) &&
			m->walk[m->n].frame)
			m->n++;
	if (m->n == 2 && next_anchor(m->walk[1]) < next_anchor(m->walk[0])) {
		const struct python_walk w = m->walk[0];
		m->walk[0] = m->walk[1];
		m->walk[1] = w;
	}
	return m->n != 0;
}

static inline __attribute__((always_inline)) bool merge_next(
	struct merge *m, struct python_frame *ret)
{
	while (m->n && !python_next(&m->walk[0], ret, read_here, NULL)) {
		m->walk[0] = m->walk[1];
		m->n--;
	}
	if (!m->n)
		return false;
	if (__builtin_expect(
		    m->n == 2 && ret->anchor && next_anchor(m->walk[1]) < next_anchor(m->walk[0]),
		    0)) {
		const struct python_walk w = m->walk[0];
		m->walk[0] = m->walk[1];
		m->walk[1] = w;
	}
	return true;
}

/* --- code objects --- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* 3.11 gives code objects no number: this uses the name, some of the table of lines, and the
 * tables' addresses. */
static inline __attribute__((always_inline)) uint64_t unversioned_mark(
	uint64_t lines, uint64_t name, uint64_t first_line)
{
	uint64_t mark = mix(first_line ^ lines, name);
	if (python_plausible(name))
		mark = mix(mark, word_at(name + PYTHON_TEXT_HASH));
	if (python_plausible(lines)) { /* at least 8 bytes can be read: sizes of objects are rounded
					  up to 16 */
		const uint64_t n = word_at(lines + PYTHON_SIZE), at = lines + PYTHON_BYTES_DATA;
		mark = mix(mark, n ^ word_at(at));
		if (n >= 16)
			mark = mix(mark, word_at(at + n / 2 - 4) ^ word_at(at + n - 8) << 1);
	}
	return mark;
}

/* Distinguishes a code object from an earlier one at the same address. */
static inline __attribute__((always_inline)) uint64_t code_mark(uint64_t code)
{
	const struct python_layout *l = &python.layout;
	uint32_t v;
	memcpy(&v,
		(const void *)(uintptr_t)(code +
					  (l->code.version ? l->code.version : l->code.first_line)),
		sizeof(v));
	if (__builtin_expect(l->code.version && v, 1)) /* 0: the numbers have run out */
		return v * 0x2545f4914f6cdd1du;
	return unversioned_mark(word_at(code + l->code.lines), word_at(code + l->code.qualname), v);
}

/* The walk done at every launch, so it lacks the other walk's checks: it only checks that pointers
 * are pointers. Every frame counts, also hidden ones, and the two states' frames come one after the
 * other: their anchors say where their groups run. */
static uint64_t hash_frames(uint64_t state, uint64_t h, unsigned *left)
{
	const struct python_layout *l = &python.layout;
	const unsigned at_code = l->frame.code, at_instr = l->frame.instr,
		       at_owner = l->frame.owner, at_previous = l->frame.previous;
	uint64_t cframe = l->thread.frame ? 0 : word_at(state + l->thread.cframe);
	uint64_t f = l->thread.frame		? word_at(state + l->thread.frame)
		     : python_plausible(cframe) ? word_at(cframe + l->cframe.frame)
						: 0;
	for (; python_plausible(f) && *left; f = word_at(f + at_previous), --*left) {
		const uint64_t code = word_at(f + at_code);
		if (*(const uint8_t *)(uintptr_t)(f + at_owner) == PYTHON_CFRAME_OWNED)
			h = mix(h, f);
		else if (python_plausible(code))
			h = mix(h + code_mark(code), code + word_at(f + at_instr) * 0x100000001b3u);
		if (l->frame.entry && *(const uint8_t *)(uintptr_t)(f + l->frame.entry) &&
			python_plausible(cframe)) {
			h = mix(h, cframe);
			cframe = word_at(cframe + l->cframe.previous);
		}
	}
	return h;
}

uint64_t python_stack_hash(void)
{
	uint64_t state[STATES_MAX], h = 0;
	const unsigned n = states(state);
	unsigned left = PYTHON_FRAMES_MAX;
	for (unsigned i = 0; i < n; i++)
		h = hash_frames(state[i], h, &left);
	return left != PYTHON_FRAMES_MAX ? h | 1 : 0;
}

struct text {
	char file[NAME_BYTES], name[NAME_BYTES];
	uint32_t nfile, nname, first_line;
	const char *lines;
	uint64_t nlines;
};

static void read_code(uint64_t code, struct text *x)
{
	const struct python_layout *l = &python.layout;
	uint64_t at;
	x->nfile = (uint32_t)python_text(
		l, word_at(code + l->code.filename), x->file, sizeof(x->file), read_here, NULL);
	x->nname = (uint32_t)python_text(
		l, word_at(code + l->code.qualname), x->name, sizeof(x->name), read_here, NULL);
	memcpy(&x->first_line, (const void *)(uintptr_t)(code + l->code.first_line),
		sizeof(x->first_line));
	x->nlines = 0;
	if (python_bytes(word_at(code + l->code.lines), &at, &x->nlines, read_here, NULL))
		x->lines = (const char *)(uintptr_t)at;
}

static uint64_t hash_bytes(uint64_t h, const char *p, uint64_t n)
{
	for (; n >= 8; n -= 8, p += 8)
		h = mix(h, word_at((uint64_t)(uintptr_t)p));
	for (; n; n--, p++)
		h = mix(h, (uint8_t)*p);
	return h;
}

static uint32_t number_of_text(const struct text *x)
{
	uint64_t h = mix(x->first_line, (uint64_t)x->nfile << 32 | x->nname);
	h = hash_bytes(hash_bytes(hash_bytes(h, x->file, x->nfile), x->name, x->nname), x->lines,
		    x->nlines) |
	    1;
	uint32_t number = (uint32_t)map_get(&python.contents, h);
	if (number)
		return number;
	number = atomic_fetch_add(&python.next_code, 1) & 0x7fffffff;
	if (map_put(&python.contents, h, number))
		agent_count_lost();
	return number;
}

static void send_code(struct thread *t, uint32_t number, const struct text *x)
{
	const uint32_t names = (uint32_t)sizeof(struct tsdb_msg_python) + x->nfile + x->nname;
	const uint32_t lines = x->nlines < TSDB_RECORD_MAX - 8 - names
				       ? (uint32_t)x->nlines
				       : TSDB_RECORD_MAX - 8 - names;
	const uint32_t size = (names + lines + 7) & ~7u;
	struct tsdb_msg_python *msg = ring_reserve(&t->ring, size, true);
	if (!msg)
		return;
	*msg = (struct tsdb_msg_python){.head = {.size = size, .type = TSDB_MSG_PYTHON},
		.number = number,
		.first_line = x->first_line,
		.file = x->nfile,
		.name = x->nname,
		.lines = lines};
	memcpy(msg->bytes, x->file, x->nfile);
	memcpy(msg->bytes + x->nfile, x->name, x->nname);
	if (lines)
		memcpy(msg->bytes + x->nfile + x->nname, x->lines, lines);
	ring_commit(&t->ring, size);
}

/* Whether the thread has sent it; notes that it has now. */
static bool was_sent(struct thread *t, uint32_t number)
{
	if (number >= THREAD_PYTHON_SENT)
		return false;
	uint64_t *word = &t->python_sent[number / 64];
	const uint64_t bit = 1ull << number % 64;
	const bool was = *word & bit;
	*word |= bit;
	return was;
}

static uint32_t code_number(struct thread *t, uint64_t code)
{
	struct text x;
	const uint64_t key = mix(code, code_mark(code)) | 1;
	uint32_t number = (uint32_t)map_get(&python.codes, key);
	if (number && was_sent(t, number))
		return number;
	read_code(code, &x);
	if (!number) {
		number = number_of_text(&x);
		if (map_put(&python.codes, key, number))
			agent_count_lost();
		if (was_sent(t, number))
			return number;
	}
	send_code(t, number, &x);
	return number;
}

unsigned python_stack_take(struct thread *t, struct python_step *to, unsigned max)
{
	struct merge m;
	struct python_frame f;
	unsigned n = 0;
	if (!merge_begin(&m))
		return 0;
	/* The last place is kept for the anchor of a group that does not fit completely. */
	while (n < max && merge_next(&m, &f)) {
		if (!f.anchor && (!f.code || n == max - 1))
			continue;
		to[n++] = (struct python_step){
			.pc = f.code ? TSDB_PC_PYTHON(code_number(t, f.code), f.at) : 0,
			.anchor = f.anchor};
	}
	return n;
}

/* --- conditions --- */

static bool code_is(uint64_t code, enum sbt_python what, const char *text, bool glob)
{
	const struct python_layout *l = &python.layout;
	char name[NAME_BYTES];
	(void)python_text(l,
		word_at(code + (what == SBT_PY_FILE ? l->code.filename : l->code.qualname)), name,
		sizeof(name), read_here, NULL);
	return sbt_python_is(what, text, glob, name);
}

static unsigned code_line(uint64_t code, uint64_t at)
{
	uint64_t lines, n;
	uint32_t first;
	memcpy(&first, (const void *)(uintptr_t)(code + python.layout.code.first_line),
		sizeof(first));
	if (!python_bytes(word_at(code + python.layout.code.lines), &lines, &n, read_here, NULL))
		return 0;
	return python_line((const void *)(uintptr_t)lines, n, first, at);
}

uint64_t python_answer(void *arg, enum sbt_python what, const char *text, bool glob)
{
	struct merge m;
	struct python_frame f;
	bool any = false;
	if (!python_here || !merge_begin(&m))
		return what != SBT_PY_LINE && what != SBT_PY_STACK &&
		       sbt_python_is(what, text, glob, "");
	while (merge_next(&m, &f)) {
		if (!f.code)
			continue;
		if (what == SBT_PY_LINE)
			return code_line(f.code, f.at);
		any = code_is(f.code, what, text, glob);
		if (any || what != SBT_PY_STACK)
			break;
	}
	return any;
}
