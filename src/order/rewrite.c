/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule as a trace. Everything that can replay a trace can then replay the schedule: step it, go backwards in it, watch memory. What
 * makes objects stays before the work that came after it; what ends them moves to the end, since work before it may come later now.
 */
#include <stdlib.h>
#include <string.h>
#include "order/order.h"
#include "sbt/memory.h"

#define PIECE (1u << 20)

struct rewriter {
	struct sbt_reader *from;
	struct sbt_writer *to;
	uint64_t first, last;
	const uint64_t *order;
	size_t norder;
	const struct order_end *ends;
	size_t nends;
	/* the window's commands, by number */
	struct buf packed;
	struct kept {
		uint64_t seq, becomes; /* becomes: 0 until written */
		uint64_t first;
		size_t at;
		bool is_work, ends_objects;
	} *kept;
	size_t nkept, cap;
	uint64_t next;		/* the number of the next command written */
	uint64_t *old;		/* by new number - first */
	size_t nold, cap_old;
	uint32_t *modules;	/* host modules, by their number in from */
	uint32_t nmodules;
	uint32_t *places;	/* likewise, of source */
	uint32_t nplaces;
};

/* ---- what commands refer to -------------------------------------------------------------------------------------------------- */

static struct err *copy_modules(struct rewriter *w)
{
	const struct sbt_host_module *m;

	for (uint32_t i = 0; (m = sbt_reader_module(w->from, i)); i++) {
		w->modules = xrealloc(w->modules, (i + 1) * sizeof *w->modules);
		TRY(sbt_writer_module(w->to, m->path, m->build_id, &w->modules[i]));
		w->nmodules = i + 1;
	}
	return NULL;
}

static struct err *copy_places(struct rewriter *w)
{
	const struct sbt_place *p;

	for (uint32_t i = 0; (p = sbt_reader_place(w->from, i)); i++) {
		w->places = xrealloc(w->places, (i + 1) * sizeof *w->places);
		TRY(sbt_writer_place(w->to, p, &w->places[i]));
		w->nplaces = i + 1;
	}
	return NULL;
}

static struct sbt_frame copy_frame(struct rewriter *w, const struct sbt_frame *f)
{
	const struct sbt_host_module *m = sbt_reader_module(w->from, f->module);
	const bool python = m && !strcmp(m->path, SBT_MODULE_PYTHON);

	return (struct sbt_frame){f->module < w->nmodules ? w->modules[f->module] : 0,
		python && f->offset < w->nplaces ? w->places[f->offset] : f->offset};
}

static struct err *copy_stack(struct rewriter *w, uint32_t id)
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

static struct err *copy_stacks(struct rewriter *w)
{
	uint32_t *ids = xcalloc(w->nkept + 1, sizeof *ids);
	struct err *e = NULL;

	for (size_t i = 0; i < w->nkept; i++) {
		struct sbt_cmd c;

		if (sbt_unpack(&c, w->packed.data + w->kept[i].at, w->packed.len - w->kept[i].at))
			ids[i] = c.stack;
	}
	qsort(ids, w->nkept, sizeof *ids, by_number);
	for (size_t i = 0; !e && i < w->nkept; i++)
		if (ids[i] && (!i || ids[i] != ids[i - 1]))
			e = copy_stack(w, ids[i]);
	free(ids);
	return e;
}

static struct err *copy_code(struct rewriter *w)
{
	struct buf code = BUF_INIT;
	uint64_t hash, same;
	bool is_ptx;
	struct err *e = NULL;

	for (unsigned i = 0; !e && sbt_reader_code_at(w->from, i, &hash, &is_ptx); i++) {
		buf_clear(&code);
		e = sbt_reader_code(w->from, hash, &code, &is_ptx);
		if (!e)
			e = sbt_writer_code(w->to, code.data, code.len, is_ptx, &same);
	}
	buf_free(&code);
	return e;
}

/* ---- commands ------------------------------------------------------------------------------------------------------------------ */

static bool ends_objects(unsigned kind)
{
	return kind == SBT_STREAM_DESTROY || kind == SBT_EVENT_DESTROY || kind == SBT_GRAPH_DESTROY || kind == SBT_CTX_DESTROY ||
	       kind == SBT_MODULE_UNLOAD;
}

/* A wait of the recording orders nothing here that the waits we put in do not; its two halves would come apart. */
static bool is_wait(unsigned kind)
{
	return kind == SBT_SYNC || kind == SBT_SYNC_END || kind == SBT_QUERY;
}

static struct err *read_window(struct rewriter *w)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, w->from));
	e = sbt_cursor_seek(cursor, w->first);
	while (!e) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > w->last)
			break;
		const size_t size = sbt_pack_size(c);

		if (w->nkept == w->cap) {
			w->cap = w->cap ? 2 * w->cap : 1024;
			w->kept = xrealloc(w->kept, w->cap * sizeof *w->kept);
		}
		w->kept[w->nkept++] = (struct kept){.seq = c->seq, .at = w->packed.len, .ends_objects = ends_objects(c->kind),
			.is_work = sbt_cmd_is_work(c)};
		/* Sizes are multiples of 8, so each stays aligned. */
		sbt_pack(buf_room(&w->packed, size), c);
		w->packed.len += size;
	}
	sbt_cursor_close(cursor);
	return e;
}

static struct kept *find(struct rewriter *w, uint64_t seq)
{
	size_t lo = 0, hi = w->nkept;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (w->kept[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->nkept && w->kept[lo].seq == seq ? &w->kept[lo] : NULL;
}

static struct err *put(struct rewriter *w, struct sbt_cmd *c, uint64_t old)
{
	c->seq = w->next++;
	c->gpu_start_ns = c->gpu_end_ns = 0;
	if (w->nold == w->cap_old) {
		w->cap_old = w->cap_old ? 2 * w->cap_old : 1024;
		w->old = xrealloc(w->old, w->cap_old * sizeof *w->old);
	}
	w->old[w->nold++] = old;
	return sbt_writer_cmd(w->to, c);
}

static struct err *put_kept(struct rewriter *w, struct kept *k)
{
	struct sbt_cmd c;

	if (!sbt_unpack(&c, w->packed.data + k->at, w->packed.len - k->at))
		return err_new(ERR_BAD_TRACE, "#%llu cannot be packed", (unsigned long long)k->seq);
	k->becomes = w->next;
	return put(w, &c, k->seq);
}

static struct err *put_wait(struct rewriter *w, const struct sbt_cmd *like)
{
	struct sbt_cmd c = {.kind = SBT_SYNC, .flags = SBT_F_SYNTHETIC, .thread = like->thread, .ctx = like->ctx, .host_ns = like->host_ns};
	const uint64_t begin = w->next;

	c.u.sync.scope = SBT_SYNC_CTX;
	c.u.sync.stream = c.u.sync.event = SBT_NO_ID;
	TRY(put(w, &c, 0));
	c.kind = SBT_SYNC_END;
	memset(&c.u, 0, sizeof c.u);
	c.u.sync_end.begin = begin;
	return put(w, &c, 0);
}

static struct err *put_others(struct rewriter *w, size_t *next, uint64_t before, bool ending)
{
	for (; *next < w->nkept && w->kept[*next].seq < before; (*next)++) {
		struct kept *k = &w->kept[*next];
		struct sbt_cmd c;

		if (k->is_work || k->becomes || k->ends_objects != ending ||
			!sbt_unpack(&c, w->packed.data + k->at, w->packed.len - k->at) || is_wait(c.kind))
			continue;
		TRY(put_kept(w, k));
	}
	return NULL;
}

static struct err *put_all(struct rewriter *w)
{
	size_t next = 0, last = 0;
	struct sbt_cmd c = {0};
	uint32_t stream = SBT_NO_ID;

	for (size_t i = 0; i < w->norder; i++) {
		struct kept *k = find(w, w->order[i]);

		if (!k || k->becomes)
			return err_new(ERR_NOT_FOUND, "#%llu is no command of the window, or is in the order twice", (unsigned long long)w->order[i]);
		TRY(put_others(w, &next, k->seq, false));
		if (!k->is_work) { /* a stream-ordered allocation or free */
			TRY(put_kept(w, k));
			continue;
		}
		if (!sbt_unpack(&c, w->packed.data + k->at, w->packed.len - k->at))
			return err_new(ERR_BAD_TRACE, "#%llu cannot be packed", (unsigned long long)k->seq);
		if (stream != SBT_NO_ID && stream != sbt_cmd_stream(&c))
			TRY(put_wait(w, &c));
		stream = sbt_cmd_stream(&c);
		TRY(put_kept(w, k));
	}
	TRY(put_others(w, &next, UINT64_MAX, false));
	TRY(put_wait(w, &c));
	return put_others(w, &last, UINT64_MAX, true);
}

/* By old number: the first of the new ones among it and all later ones; 0: none was written. */
static void find_firsts(struct rewriter *w)
{
	uint64_t least = 0;

	for (size_t i = w->nkept; i--;) {
		const uint64_t n = w->kept[i].becomes;

		if (n && (!least || n < least))
			least = n;
		w->kept[i].first = least;
	}
}

/* The host had changed that when it submitted what came after, so the first of those, in the new order, sees it. */
static uint64_t first_from(const struct rewriter *w, uint64_t seq)
{
	size_t lo = 0, hi = w->nkept;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (w->kept[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->nkept ? w->kept[lo].first : 0;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------------- */

static struct err *copy_bytes(struct rewriter *w, const struct sbt_memory *m, uint32_t id)
{
	uint8_t *b = xmalloc(PIECE);
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < m->size; at += PIECE) {
		const size_t n = m->size - at < PIECE ? (size_t)(m->size - at) : PIECE;

		e = sbt_reader_memory_read(w->from, m, at, b, n);
		if (!e)
			e = sbt_writer_memory_bytes(w->to, id, b, n);
	}
	free(b);
	return e;
}

static struct err *copy_piece(void *arg, const struct sbt_memory *m)
{
	struct rewriter *w = arg;
	struct sbt_memory mine = *m;
	struct kept *k;
	uint32_t id;

	if (m->role == SBT_MEMORY_END || m->role == SBT_MEMORY_OUTPUT || m->missing)
		return NULL;
	if (m->role == SBT_MEMORY_START) {
		mine.seq = w->first;
	} else if (m->role == SBT_MEMORY_HOST) {
		mine.seq = first_from(w, m->seq);
		if (!mine.seq)
			return NULL;
	} else {
		k = find(w, m->seq);
		if (!k || !k->becomes)
			return NULL;
		mine.seq = k->becomes;
	}
	TRY(sbt_writer_memory(w->to, &mine, &id));
	return m->has_bytes ? copy_bytes(w, m, id) : NULL;
}

static struct err *put_ends(struct rewriter *w)
{
	uint32_t id;

	for (size_t i = 0; i < w->nends; i++) {
		const struct sbt_memory m = {.seq = w->next - 1, .role = SBT_MEMORY_END, .owner = SBT_MEMORY_ALLOCATION, .addr = w->ends[i].addr,
			.size = w->ends[i].size, .module = SBT_NO_ID, .hash = w->ends[i].hash};

		TRY(sbt_writer_memory(w->to, &m, &id));
	}
	return NULL;
}

/* ---- all of it --------------------------------------------------------------------------------------------------------------------- */

static struct err *put_state(struct rewriter *w)
{
	struct state *s;
	struct buf b = BUF_INIT;
	struct err *e;

	if (w->first <= 1)
		return NULL;
	TRY(state_at(&s, w->from, w->first - 1));
	state_encode(s, &b);
	e = sbt_writer_keyframe(w->to, w->first - 1, b.data, b.len);
	buf_free(&b);
	state_free(s);
	return e;
}

static struct err *rewrite(struct rewriter *w)
{
	TRY(read_window(w));
	TRY(copy_modules(w));
	TRY(copy_places(w));
	TRY(copy_stacks(w));
	TRY(copy_code(w));
	TRY(put_state(w));
	TRY(put_all(w));
	find_firsts(w);
	TRY(sbt_reader_memory(w->from, w->first, w->last, copy_piece, w));
	TRY(put_ends(w));
	return sbt_writer_window(w->to, w->first, w->next - 1);
}

struct err *order_rewrite(struct sbt_reader *trace, uint64_t first, uint64_t last, const uint64_t *seqs, size_t n, const struct order_end *ends,
	size_t nends, const char *path, uint64_t **ret_seqs, size_t *ret_n)
{
	struct rewriter w = {.from = trace, .first = first, .last = last, .order = seqs, .norder = n, .ends = ends, .nends = nends, .next = first};
	struct err *e = sbt_writer_open(&w.to, path, sbt_reader_meta(trace)), *closed;

	if (!e) {
		e = rewrite(&w);
		closed = sbt_writer_close(w.to);
		if (e)
			err_free(closed);
		else
			e = closed;
	}
	free(w.kept);
	free(w.modules);
	free(w.places);
	buf_free(&w.packed);
	if (!e && ret_seqs) {
		*ret_seqs = w.old;
		*ret_n = w.nold;
	} else {
		free(w.old);
	}
	return e;
}
