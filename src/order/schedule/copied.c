/* SPDX-License-Identifier: Apache-2.0
 *
 * From one trace to another, see copied.h. Modules and places have other numbers there; stacks keep
 * theirs. A frame in no module, or at a place that the trace lacks, stays one.
 */
#include "order/schedule/copied.h"

#include <stdlib.h>
#include <string.h>

#define PIECE (1u << 20)

static struct err *copy_modules(struct copied *w)
{
	const struct sbt_host_module *m;

	for (uint32_t i = 0; (m = sbt_reader_module(w->from, i)); i++) {
		w->modules = xrealloc(w->modules, (i + 1) * sizeof *w->modules);
		TRY(sbt_writer_module(w->to, m->path, m->build_id, &w->modules[i]));
		w->nmodules = i + 1;
	}
	return NULL;
}

static struct err *copy_places(struct copied *w)
{
	const struct sbt_place *p;

	for (uint32_t i = 0; (p = sbt_reader_place(w->from, i)); i++) {
		w->places = xrealloc(w->places, (i + 1) * sizeof *w->places);
		TRY(sbt_writer_place(w->to, p, &w->places[i]));
		w->nplaces = i + 1;
	}
	return NULL;
}

static struct sbt_frame copy_frame(struct copied *w, const struct sbt_frame *f)
{
	const struct sbt_host_module *m = sbt_reader_module(w->from, f->module);
	const bool python = m && !strcmp(m->path, SBT_MODULE_PYTHON);

	if (f->module >= w->nmodules)
		return (struct sbt_frame){SBT_NO_ID, f->offset};
	if (!python)
		return (struct sbt_frame){w->modules[f->module], f->offset};
	return (struct sbt_frame){
		w->modules[f->module], f->offset < w->nplaces ? w->places[f->offset] : UINT64_MAX};
}

struct err *copied_stack(struct copied *w, uint32_t id)
{
	const struct sbt_frame *f;
	struct sbt_frame *mine;
	unsigned n;
	struct err *e;

	TRY(sbt_reader_stack(w->from, id, &f, &n));
	mine = xcalloc(n + 1, sizeof *mine);
	for (unsigned i = 0; i < n; i++)
		mine[i] = copy_frame(w, &f[i]);
	e = n ? sbt_writer_stack(w->to, id, mine, n) : NULL;
	free(mine);
	return e;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static struct err *copy_stacks(struct copied *w, const struct kept_window *window)
{
	const size_t n = window->n;
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);
	struct err *e = NULL;

	for (size_t i = 0; !e && i < n; i++) {
		struct sbt_cmd c;

		e = kept_get(window, i, &c);
		if (!e)
			ids[i] = c.stack;
	}
	qsort(ids, n, sizeof *ids, by_number);
	for (size_t i = 0; !e && i < n; i++)
		if (ids[i] && (!i || ids[i] != ids[i - 1]))
			e = copied_stack(w, ids[i]);
	free(ids);
	return e;
}

static struct err *copy_code(struct copied *w)
{
	struct buf code = BUF_INIT;
	uint64_t hash, same;
	enum code_kind kind;
	struct err *e = NULL;

	for (unsigned i = 0; !e && sbt_reader_code_at(w->from, i, &hash, &kind); i++) {
		buf_clear(&code);
		e = sbt_reader_code(w->from, hash, &code, &kind);
		if (!e)
			e = sbt_writer_code(w->to, code.data, code.len, kind, &same);
	}
	buf_free(&code);
	return e;
}

struct err *copied_all(struct copied *w, const struct kept_window *window)
{
	TRY(copy_modules(w));
	TRY(copy_places(w));
	TRY(copy_stacks(w, window));
	return copy_code(w);
}

void copied_free(struct copied *w)
{
	free(w->modules);
	free(w->places);
}

struct err *copied_part(struct copied *w, const struct sbt_memory *m, uint64_t from, uint64_t to,
	struct sbt_memory as)
{
	uint8_t *b;
	uint32_t id;
	struct err *e = NULL;

	as.addr = m->addr + from;
	as.size = to - from;
	TRY(sbt_writer_memory(w->to, &as, &id));
	if (!m->has_bytes)
		return NULL;
	b = xmalloc(PIECE);
	for (uint64_t at = from; !e && at < to; at += PIECE) {
		const size_t n = to - at < PIECE ? (size_t)(to - at) : PIECE;

		e = sbt_reader_memory_read(w->from, m, at, b, n);
		if (!e)
			e = sbt_writer_memory_bytes(w->to, id, b, n);
	}
	free(b);
	return e;
}
