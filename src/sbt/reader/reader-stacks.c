/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks and the files they lie in. Loaded when first asked for, one chunk at a time, and
 * kept.
 */
#include <stdlib.h>

#include "sbt/reader/reader.h"
#include "base/text.h"

#define FRAMES_MAX (16u << 20) /* in memory, over all chunks */
#define MODULES_MAX (1u << 20)
#define PLACES_MAX (1u << 22)

void sbt_reader_stacks_free(struct sbt_reader *r)
{
	for (size_t i = 0; i < r->nframe_blocks; i++)
		free(r->frame_blocks[i]);
	free(r->frame_blocks);
	free(r->stacks_loaded);
	free(r->table);
	for (size_t i = 0; i < r->nmodules; i++) {
		free((char *)(uintptr_t)r->module[i].path);
		free((char *)(uintptr_t)r->module[i].build_id);
	}
	free(r->module);
	for (size_t i = 0; i < r->nplaces; i++) {
		free((char *)(uintptr_t)r->place[i].file);
		free((char *)(uintptr_t)r->place[i].function);
	}
	free(r->place);
}

/* --- the table --- */

static struct sbt_stack_slot *probe(struct sbt_stack_slot *t, size_t cap, uint32_t id)
{
	size_t i = (id * 2654435769u) & (cap - 1);

	while (t[i].id && t[i].id != id)
		i = (i + 1) & (cap - 1);
	return &t[i];
}

static void table_add(struct sbt_reader *r, uint32_t id, const struct sbt_frame *frames, uint32_t n)
{
	struct sbt_stack_slot *s;

	if (2 * (r->table_n + 1) > r->table_cap) {
		size_t cap = r->table_cap ? 2 * r->table_cap : 256;
		struct sbt_stack_slot *t = xcalloc(cap, sizeof *t);

		for (size_t i = 0; i < r->table_cap; i++)
			if (r->table[i].id)
				*probe(t, cap, r->table[i].id) = r->table[i];
		free(r->table);
		r->table = t;
		r->table_cap = cap;
	}
	s = probe(r->table, r->table_cap, id);
	if (s->id) /* the first definition holds */
		return;
	*s = (struct sbt_stack_slot){id, n, frames};
	r->table_n++;
}

/* --- a stacks chunk --- */

struct stacks {
	struct sbt_in in;
	uint32_t id;
	struct sbt_frame last[SBT_STACK_DEPTH_MAX]; /* outermost first */
	unsigned nlast;
};

/* The next stack into s->last. False at the end or when the bytes are off (then s->in.bad). */
static bool next_stack(struct stacks *s)
{
	struct sbt_frame f = {0, 0};
	uint64_t n, same;

	if (s->in.p == s->in.end)
		return false;
	s->id = (uint32_t)sbt_take_delta(&s->in, s->id);
	n = sbt_take_max(&s->in, SBT_STACK_DEPTH_MAX);
	same = sbt_take_max(&s->in, n < s->nlast ? n : s->nlast);
	if (same)
		f = s->last[same - 1];
	for (uint64_t i = same; i < n && !s->in.bad; i++) {
		f.module = (uint32_t)sbt_take_delta(&s->in, f.module);
		f.offset = sbt_take_delta(&s->in, f.offset);
		s->last[i] = f;
	}
	s->nlast = (unsigned)n;
	if (s->id == 0)
		s->in.bad = true;
	return !s->in.bad;
}

static struct err *take_stacks(struct sbt_reader *r, const struct buf *payload)
{
	struct stacks s = {.in = sbt_in_of(payload)};
	struct sbt_frame *frames;
	uint64_t total = 0;

	while (next_stack(&s) && total <= SBT_CHUNK_FRAMES_MAX)
		total += s.nlast;
	if (s.in.bad)
		return err_new(ERR_BAD_TRACE, "it does not decode");
	if (total > SBT_CHUNK_FRAMES_MAX || total > FRAMES_MAX - r->nframes)
		return err_new(ERR_LIMIT, "it has too many frames");
	frames = xcalloc(total, sizeof *frames);
	r->frame_blocks =
		xrealloc(r->frame_blocks, (r->nframe_blocks + 1) * sizeof *r->frame_blocks);
	r->frame_blocks[r->nframe_blocks++] = frames;
	r->nframes += total;
	s = (struct stacks){.in = sbt_in_of(payload)};
	while (next_stack(&s)) {
		for (unsigned i = 0; i < s.nlast; i++)
			frames[i] = s.last[s.nlast - 1 - i];
		table_add(r, s.id, frames, s.nlast);
		frames += s.nlast;
	}
	return NULL;
}

static void load_stacks(struct sbt_reader *r, size_t k)
{
	struct buf payload = BUF_INIT;
	struct err *e = sbt_reader_load(r, &r->entries[r->stacks.at[k]], &payload);

	r->stacks_loaded[k] = 1;
	if (!e)
		e = take_stacks(r, &payload);
	if (e)
		sbt_reader_note_chunk(r, r->stacks.at[k], e);
	buf_free(&payload);
}

struct err *sbt_reader_stack(
	struct sbt_reader *r, uint32_t id, const struct sbt_frame **ret, unsigned *ret_n)
{
	struct sbt_stack_slot *s;

	*ret = NULL;
	*ret_n = 0;
	if (!id)
		return NULL;
	for (size_t k = 0;; k++) {
		s = r->table_cap ? probe(r->table, r->table_cap, id) : NULL;
		if (s && s->id)
			break;
		while (k < r->stacks.n &&
			(r->stacks_loaded[k] || id < r->entries[r->stacks.at[k]].first ||
				id > r->entries[r->stacks.at[k]].last))
			k++;
		if (k >= r->stacks.n)
			return NULL;
		load_stacks(r, k);
	}
	*ret = s->frames;
	*ret_n = s->n;
	return NULL;
}

/* --- modules --- */

static char *take_text(struct sbt_in *in)
{
	const char *p;
	size_t n;

	return sbt_take_string(in, &p, &n) ? text_safe_dup(p, strnlen(p, n)) : xstrdup("");
}

static struct err *take_modules(
	struct sbt_reader *r, const struct sbt_entry *e, const struct buf *payload)
{
	struct sbt_in in = sbt_in_of(payload);
	uint64_t index = e->first;

	while (in.p < in.end) {
		if (index >= MODULES_MAX)
			return err_new(ERR_LIMIT, "it has too many of them");
		if (index >= r->nmodules) { /* a damaged chunk before this one leaves a hole */
			r->module = xrealloc(r->module, (index + 1) * sizeof *r->module);
			memset(r->module + r->nmodules, 0,
				(index + 1 - r->nmodules) * sizeof *r->module);
			r->nmodules = index + 1;
		}
		if (r->module[index].path)
			return err_new(ERR_BAD_TRACE, "a file is there twice");
		r->module[index].path = take_text(&in);
		r->module[index].build_id = take_text(&in);
		index++;
	}
	return in.bad ? err_new(ERR_BAD_TRACE, "it does not decode") : NULL;
}

const struct sbt_host_module *sbt_reader_module(struct sbt_reader *r, uint32_t index)
{
	struct buf payload = BUF_INIT;

	for (size_t k = 0; !r->modules_loaded && k < r->modules.n; k++) {
		const struct sbt_entry *entry = &r->entries[r->modules.at[k]];
		struct err *e = sbt_reader_load(r, entry, &payload);

		if (!e)
			e = take_modules(r, entry, &payload);
		if (e)
			sbt_reader_note_chunk(r, r->modules.at[k], e);
	}
	buf_free(&payload);
	r->modules_loaded = true;
	return index < r->nmodules && r->module[index].path ? &r->module[index] : NULL;
}

/* --- places in the source --- */

static struct err *take_places(
	struct sbt_reader *r, const struct sbt_entry *e, const struct buf *payload)
{
	struct sbt_in in = sbt_in_of(payload);
	uint64_t index = e->first;

	while (in.p < in.end) {
		struct sbt_place *p;

		if (index >= PLACES_MAX)
			return err_new(ERR_LIMIT, "it has too many of them");
		if (index >= r->cap_places) {
			const size_t cap = (index + 1) * 2;

			r->place = xrealloc(r->place, cap * sizeof *r->place);
			memset(r->place + r->cap_places, 0,
				(cap - r->cap_places) * sizeof *r->place);
			r->cap_places = cap;
		}
		if (index >= r->nplaces) /* a damaged chunk before this one leaves a hole */
			r->nplaces = index + 1;
		p = &r->place[index++];
		if (p->file)
			return err_new(ERR_BAD_TRACE, "a place is there twice");
		p->file = take_text(&in);
		p->function = take_text(&in);
		p->first_line = (uint32_t)sbt_take_max(&in, INT32_MAX);
		p->line = (uint32_t)sbt_take_delta(&in, p->first_line);
	}
	return in.bad ? err_new(ERR_BAD_TRACE, "it does not decode") : NULL;
}

const struct sbt_place *sbt_reader_place(struct sbt_reader *r, uint64_t index)
{
	struct buf payload = BUF_INIT;

	for (size_t k = 0; !r->places_loaded && k < r->places.n; k++) {
		const struct sbt_entry *entry = &r->entries[r->places.at[k]];
		struct err *e = sbt_reader_load(r, entry, &payload);

		if (!e)
			e = take_places(r, entry, &payload);
		if (e)
			sbt_reader_note_chunk(r, r->places.at[k], e);
	}
	buf_free(&payload);
	r->places_loaded = true;
	return index < r->nplaces && r->place[index].file ? &r->place[index] : NULL;
}

/* --- Python frames for conditions --- */

static const struct sbt_place *python_place(struct sbt_reader *r, const struct sbt_frame *f)
{
	const struct sbt_host_module *m =
		f->module == SBT_NO_ID ? NULL : sbt_reader_module(r, f->module);

	return m && !strcmp(m->path, SBT_MODULE_PYTHON) ? sbt_reader_place(r, f->offset) : NULL;
}

uint64_t sbt_reader_python(void *arg, enum sbt_python what, const char *text, bool glob)
{
	const struct sbt_reader_python *a = arg;
	const struct sbt_frame *f;
	unsigned n;
	struct err *e = sbt_reader_stack(a->r, a->stack, &f, &n);

	err_free(e);
	for (unsigned i = 0; !e && i < n; i++) {
		const struct sbt_place *p = python_place(a->r, &f[i]);
		bool is;

		if (!p)
			continue;
		if (what == SBT_PY_LINE)
			return p->line;
		is = sbt_python_is(what, text, glob, what == SBT_PY_FILE ? p->file : p->function);
		if (is || what != SBT_PY_STACK)
			return is;
	}
	return what != SBT_PY_LINE && what != SBT_PY_STACK && sbt_python_is(what, text, glob, "");
}
