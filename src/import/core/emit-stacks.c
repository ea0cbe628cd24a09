/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks of a profile: lists of names, or the functions that a thread was in when it called.
 * Frames have no addresses: those of Python are places, all others are names in a module that is no
 * file (SBT_MODULE_NAMED).
 */
#include <stdlib.h>
#include <string.h>
#include "import/core/emit.h"
#include "import/core/figure.h"

static struct err *module_of(struct emit *e, uint32_t *plus_1, const char *path, uint32_t *ret)
{
	if (!*plus_1) {
		TRY(sbt_writer_module(e->w, path, "", ret));
		*plus_1 = *ret + 1;
	}
	*ret = *plus_1 - 1;
	return NULL;
}

static bool is_python(const char *file)
{
	const size_t n = file ? strlen(file) : 0;

	return n > 3 && !strcmp(file + n - 3, ".py");
}

static struct err *write_frame(struct emit *e, uint32_t number, const char *function,
	const char *file, uint32_t line, struct sbt_frame *ret)
{
	const struct sbt_symbol symbol = {.function = function, .file = file, .line = line};
	uint32_t place;

	if (is_python(file)) {
		TRY(module_of(e, &e->python, SBT_MODULE_PYTHON, &ret->module));
		TRY(sbt_writer_place(
			e->w, &(struct sbt_place){file, function, line, line}, &place));
		ret->offset = place;
		return NULL;
	}
	TRY(module_of(e, &e->named, SBT_MODULE_NAMED, &ret->module));
	ret->offset = number;
	return sbt_writer_symbol(e->w, ret, &symbol, 1);
}

static struct err *frame_number(
	struct emit *e, const char *function, const char *file, int64_t line, uint32_t *ret)
{
	const uint32_t at = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
	struct buf key = BUF_INIT;
	bool fresh;

	buf_printf(&key, "%s\n%s\n%u", function, file ? file : "", at);
	*ret = key_number(&e->frames, key.data, key.len, &fresh);
	buf_free(&key);
	if (!fresh)
		return NULL;
	MAKE_ROOM(e->frame, e->nframe, e->frame_cap);
	return write_frame(e, *ret, function, file, at, &e->frame[e->nframe++]);
}

/* "torch/nn/module.py(1501): _call_impl" in its parts; false: it is another name. */
static bool split_name(char *name, const char **function, const char **file, int64_t *line)
{
	char *colon = strstr(name, "): "), *open;

	if (!colon)
		return false;
	*colon = 0;
	open = strrchr(name, '(');
	if (!open || !figure_whole(open + 1, line)) {
		*colon = ')';
		return false;
	}
	*open = 0;
	*file = name;
	*function = colon + 3;
	return true;
}

struct err *emit_enter(
	struct emit *e, uint32_t thread, const char *name, int64_t start, int64_t end)
{
	struct emit_thread *t = emit_thread_now(e, thread);
	char *text = xstrdup(name);
	const char *function = text, *file = NULL;
	int64_t line = 0;
	uint32_t number;
	struct err *err;

	split_name(text, &function, &file, &line);
	err = frame_number(e, function, file, line, &number);
	free(text);
	if (err)
		return err;
	while (t->nframes && t->frames[t->nframes - 1].end <= start)
		t->nframes--;
	if (t->nframes < EMIT_OPEN_MAX) {
		t->frames[t->nframes].frame = number;
		t->frames[t->nframes].start = start;
		t->frames[t->nframes++].end = end;
	}
	return NULL;
}

/* The stack of these frames, innermost first. */
static struct err *stack_of(struct emit *e, const uint32_t *numbers, unsigned n, uint32_t *ret)
{
	struct sbt_frame *frames;
	struct err *err;
	bool fresh;

	*ret = 0;
	if (!n)
		return NULL;
	*ret = key_number(&e->stacks, numbers, n * sizeof *numbers, &fresh) + 1;
	if (!fresh)
		return NULL;
	frames = xcalloc(n, sizeof *frames);
	for (unsigned i = 0; i < n; i++)
		frames[i] = e->frame[numbers[i]];
	err = sbt_writer_stack(e->w, *ret, frames, n);
	free(frames);
	return err;
}

static struct err *chain_frames(struct emit *e, int64_t chain, uint32_t *numbers, unsigned *n)
{
	sqlite3_stmt *q = e->chain;
	struct err *err = NULL;

	if (!e->s->failed)
		sqlite3_bind_int64(q, 1, chain);
	while (!err && *n < EMIT_OPEN_MAX && stage_step(e->s, q)) {
		const char *function = (const char *)sqlite3_column_text(q, 0);

		err = frame_number(e, function ? function : "?",
			(const char *)sqlite3_column_text(q, 1), sqlite3_column_int64(q, 2),
			&numbers[*n]);
		++*n;
	}
	sqlite3_reset(q);
	return err;
}

static struct err *chain_stack(struct emit *e, int64_t chain, uint32_t *ret)
{
	uint32_t numbers[EMIT_OPEN_MAX];
	unsigned n = 0;
	bool fresh;
	const uint32_t number = key_number(&e->chains, &chain, sizeof chain, &fresh);

	if (fresh) {
		TRY(chain_frames(e, chain, numbers, &n));
		MAKE_ROOM(e->chain_stack, e->nchain, e->chain_cap);
		TRY(stack_of(e, numbers, n, &e->chain_stack[e->nchain++]));
	}
	*ret = e->chain_stack[number];
	return NULL;
}

struct err *emit_stack(struct emit *e, uint32_t thread, int64_t chain, int64_t at, uint32_t *ret)
{
	const struct emit_thread *t = emit_thread_now(e, thread);
	uint32_t numbers[EMIT_OPEN_MAX];
	unsigned n = 0;

	*ret = 0;
	if (chain >= 0) {
		TRY(chain_stack(e, chain, ret));
		if (*ret)
			return NULL;
	}
	for (unsigned i = t->nframes; i-- > 0;) {
		if (t->frames[i].end > at || t->frames[i].start == at)
			numbers[n++] = t->frames[i].frame;
	}
	return stack_of(e, numbers, n, ret);
}
