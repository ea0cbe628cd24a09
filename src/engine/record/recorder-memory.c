/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes memory contents. Pieces go straight into the trace; a window becomes one of the trace when
 * all of its memory is there. Surprise: memory may come before the first command of its window, and
 * before the window itself.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "engine/record/recorder-inside.h"

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
	MAKE_ROOM(m->open, m->nopen, m->open_cap);
	m->open[m->nopen++] =
		(struct open_piece){.piece = it->piece, .left = it->memory.size, .id = id};
	return NULL;
}

/* Takes pages that, as the program says, the trace has already. If one is missing (the program
 * overwrote the hashes, or the earlier trace is damaged), the piece ends. */
static struct err *take_known(struct recorder *r, struct open_piece *p, const struct drain_item *it)
{
	const uint32_t id = p->id;
	struct err *e = sbt_writer_memory_known(r->w, id, it->bytes, it->nbytes);

	if (e && (e->code == ERR_NOT_FOUND || e->code == ERR_BAD_TRACE)) {
		err_free(e);
		forget(&r->memory, p);
		r->memory.lacks = true;
		return sbt_writer_memory_cut(r->w, id);
	}
	p->left -= it->nbytes;
	if (!p->left)
		forget(&r->memory, p);
	return e;
}

struct err *recorder_take_memory(struct recorder *r, const struct drain_item *it)
{
	struct open_piece *p;
	uint32_t id;

	if (it->part == DRAIN_PIECE_BEGINS)
		return begin_piece(r, it);
	if (it->part == DRAIN_PIECE_BYTES || it->part == DRAIN_PIECE_SAME)
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
	if (it->part == DRAIN_PIECE_SAME)
		return take_known(r, p, it);
	p->left -= it->nbytes;
	if (!p->left)
		forget(&r->memory, p);
	return sbt_writer_memory_bytes(r->w, id, it->bytes, it->nbytes);
}

struct err *recorder_take_window(struct recorder *r, const struct drain_item *it)
{
	struct recorder_memory *m = &r->memory;

	m->in_window = !it->ended;
	if (!it->ended) {
		m->first = it->seq;
		m->framed = false;
		return NULL;
	}
	m->last = it->seq;
	if (!it->complete)
		m->lacks = true;
	m->no_end = it->no_end;
	if (!it->complete || !r->w || m->first > it->seq)
		return NULL;
	return sbt_writer_window(r->w, m->first, it->seq);
}

/* Whether the state has no memory yet that commands could read. */
static bool is_bare(const struct state *s)
{
	struct state_alloc a;
	struct state_module m;

	return !state_alloc(s, 0, &a) && !state_module(s, 0, &m);
}

bool recorder_window_begins(struct recorder *r, uint64_t seq)
{
	struct recorder_memory *m = &r->memory;

	if (!m->in_window || m->framed || seq < m->first)
		return false;
	m->framed = true;
	m->bare = is_bare(r->state);
	return true;
}

void recorder_window_sent(struct recorder *r, uint64_t first)
{
	r->memory.sent = first;
}

/* Ends a window that the program did not end (it has died). The memory at its beginning is complete
 * if no piece was cut, and there was none or all of it was sent. */
struct err *recorder_end_memory(struct recorder *r)
{
	struct recorder_memory *m = &r->memory;

	for (; m->nopen; m->nopen--) {
		m->lacks = true;
		TRY(sbt_writer_memory_cut(r->w, m->open[m->nopen - 1].id));
	}
	if (m->in_window && m->framed && r->last >= m->first) {
		if (!m->bare && m->sent != m->first)
			m->lacks = true;
		else if (!m->lacks)
			TRY(sbt_writer_window(r->w, m->first, r->last));
		m->no_end = !m->bare && !m->lacks;
	}
	sbt_writer_memory_figures(r->w, &m->figures);
	return NULL;
}

static void drop_earlier(struct recorder_memory *m)
{
	if (m->earlier)
		sbt_reader_close(m->earlier);
	m->earlier = NULL;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

void recorder_keep_earlier(struct recorder *r)
{
	struct recorder_memory *m = &r->memory;

	drop_earlier(m);
	if (m->whole && !same_file(m->whole, r->path))
		err_free(sbt_reader_open(&m->earlier, m->whole));
	free(m->whole);
	m->whole = NULL;
}

bool recorder_has_earlier(const struct recorder *r)
{
	return r->memory.earlier;
}

struct err *recorder_use_earlier(struct recorder *r)
{
	struct sbt_reader *earlier = r->memory.earlier;

	r->memory.earlier = NULL;
	return earlier ? sbt_writer_memory_earlier(r->w, earlier) : NULL;
}

void recorder_memory_free(struct recorder *r)
{
	drop_earlier(&r->memory);
	free(r->memory.whole);
	free(r->memory.open);
}

bool recorder_in_window(const struct recorder *r)
{
	return r->memory.in_window;
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

uint64_t recorder_window_ended(const struct recorder *r)
{
	return r->memory.in_window || r->memory.lacks ? 0 : r->memory.last;
}

uint64_t recorder_window_last(const struct recorder *r)
{
	return r->memory.in_window || !r->memory.last ? UINT64_MAX : r->memory.last;
}
