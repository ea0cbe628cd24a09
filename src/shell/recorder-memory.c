/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory contents through the recorder: pieces go straight into the trace, a span becomes a window of it when all
 * of its memory is there. Surprise: memory may come before the first command of its span, and before the span itself.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/recorder-inside.h"

static struct open_piece *find(struct recorder_memory *m, uint64_t piece)
{
	for (unsigned i = 0; i < m->nopen; i++) {
		if (m->open[i].piece == piece)
			return &m->open[i];
	}
	return NULL;
}

static void forget(struct recorder_memory *m, struct open_piece *p)
{
	*p = m->open[--m->nopen];
}

static struct err *begin_piece(struct recorder *r, const struct drain_item *it)
{
	struct recorder_memory *m = &r->memory;
	uint32_t id;

	if (r->mode == RECORDER_OFF)
		return NULL;
	if (!r->w)
		TRY(recorder_open(r, NULL));
	TRY(sbt_writer_memory(r->w, &it->memory, &id));
	if (!it->memory.has_bytes || !it->memory.size)
		return NULL;
	if (m->nopen == m->open_cap) {
		m->open_cap = m->open_cap ? m->open_cap * 2 : 16;
		m->open = xrealloc(m->open, m->open_cap * sizeof *m->open);
	}
	m->open[m->nopen++] = (struct open_piece){.piece = it->piece, .left = it->memory.size, .id = id};
	return NULL;
}

struct err *recorder_take_memory(struct recorder *r, const struct drain_item *it)
{
	struct open_piece *p;
	uint32_t id;

	if (it->part == DRAIN_PIECE_BEGINS)
		return begin_piece(r, it);
	if (it->part == DRAIN_PIECE_BYTES)
		r->memory.seen += it->nbytes;
	p = find(&r->memory, it->piece);
	if (!p || !r->w)
		return NULL; /* it began before this capture, or after it failed */
	id = p->id;
	if (it->part == DRAIN_PIECE_CUT) {
		forget(&r->memory, p);
		r->memory.lacks = true;
		return sbt_writer_memory_cut(r->w, id);
	}
	p->left -= it->nbytes;
	if (!p->left)
		forget(&r->memory, p);
	return sbt_writer_memory_bytes(r->w, id, it->bytes, it->nbytes);
}

struct err *recorder_take_window(struct recorder *r, const struct drain_item *it)
{
	struct recorder_memory *m = &r->memory;

	m->in_span = !it->ended;
	if (!it->ended) {
		m->first = it->seq;
		m->framed = false;
		return NULL;
	}
	m->last = it->seq;
	if (!it->complete)
		m->lacks = true;
	if (!it->complete || !r->w || m->first > it->seq)
		return NULL;
	return sbt_writer_window(r->w, m->first, it->seq);
}

/* Whether there is any memory yet that commands could find something in. */
static bool is_bare(const struct state *s)
{
	struct state_alloc a;
	struct state_module m;

	return !state_alloc(s, 0, &a) && !state_module(s, 0, &m);
}

bool recorder_span_begins(struct recorder *r, uint64_t seq)
{
	struct recorder_memory *m = &r->memory;

	if (!m->in_span || m->framed || seq < m->first)
		return false;
	m->framed = true;
	m->bare = is_bare(r->state);
	return true;
}

/* A span that the program did not end (it is dead): nothing is missing when no piece was cut and there was nothing at its beginning. */
struct err *recorder_end_memory(struct recorder *r)
{
	struct recorder_memory *m = &r->memory;

	for (; m->nopen; m->nopen--) {
		m->lacks = true;
		TRY(sbt_writer_memory_cut(r->w, m->open[m->nopen - 1].id));
	}
	if (m->in_span && m->framed && r->last >= m->first) {
		if (!m->bare)
			m->lacks = true;
		else if (!m->lacks)
			TRY(sbt_writer_window(r->w, m->first, r->last));
	}
	sbt_writer_memory_figures(r->w, &m->figures);
	return NULL;
}

void recorder_memory_free(struct recorder *r)
{
	free(r->memory.open);
}

bool recorder_in_span(const struct recorder *r)
{
	return r->memory.in_span;
}

uint64_t recorder_memory_seen(const struct recorder *r)
{
	return r->memory.seen;
}

void recorder_await_end(struct recorder *r)
{
	r->memory.ending = true;
	r->memory.last = 0;
}

uint64_t recorder_span_last(const struct recorder *r)
{
	return r->memory.in_span || !r->memory.last ? UINT64_MAX : r->memory.last;
}
