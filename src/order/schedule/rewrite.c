/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule as a trace. Everything that can replay a trace can then replay the schedule: step it,
 * go backwards in it, watch memory. What makes objects stays before the work that came after it;
 * what ends them moves to the end, since work before it may come later now.
 */
#include <stdlib.h>
#include <string.h>
#include "order/schedule/copied.h"
#include "order/kept.h"
#include "order/order.h"
#include "sbt/memory.h"

struct rewriter {
	struct sbt_reader *from;
	struct sbt_writer *to;
	const struct order_schedule *plan;
	struct kept_window window;
	struct fate {
		uint64_t becomes; /* 0: not written yet */
		uint64_t first;	  /* the first of the new numbers of it and all later ones; 0: none
				     was written */
		uint64_t host; /* the new number of what comes right after the host's changes before
				  it; 0: it has none */
		uint64_t after;	     /* the new number of what comes right after it; 0: it was not
					written */
		uint64_t addr, size; /* of memory that it allocates or frees */
		bool ends_objects, reads_live, ordered; /* ordered: an entry of the order */
	} * fate;					/* one for each of the window's */
	uint64_t next;					/* the number of the next command written */
	uint64_t *old;					/* by new number - first */
	size_t nold, cap_old;
	struct copied copied;
};

/* --- commands --- */

static bool ends_objects(unsigned kind)
{
	return kind == SBT_STREAM_DESTROY || kind == SBT_EVENT_DESTROY ||
	       kind == SBT_GRAPH_DESTROY || kind == SBT_CTX_DESTROY || kind == SBT_MODULE_UNLOAD;
}

/* A wait of the recording orders nothing here that the waits we put in do not; its two halves would
 * come apart. */
static bool is_wait(unsigned kind)
{
	return kind == SBT_SYNC || kind == SBT_SYNC_END || kind == SBT_QUERY;
}

static struct err *learn(struct rewriter *w, struct state *s)
{
	struct err *e = NULL;

	for (size_t i = 0; !e && i < w->window.n; i++) {
		struct sbt_cmd c;

		e = kept_get(&w->window, i, &c);
		if (e)
			break;
		w->fate[i].ends_objects = ends_objects(c.kind);
		w->fate[i].reads_live = w->plan->live && order_reads_live(s, &c);
		order_owns(s, &c, &w->fate[i].addr, &w->fate[i].size);
		e = state_apply(s, &c);
	}
	return e;
}

static struct err *read_window(struct rewriter *w)
{
	struct sbt_cursor *cursor;
	struct state *s = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, w->from));
	e = kept_read(&w->window, cursor, w->plan->first, w->plan->last);
	sbt_cursor_close(cursor);
	w->fate = xcalloc(w->window.n + 1, sizeof *w->fate);
	if (!e)
		e = state_at(&s, w->from, w->plan->first - 1);
	if (!e)
		e = learn(w, s);
	state_free(s);
	return e;
}

static struct fate *fate_of(struct rewriter *w, uint64_t seq)
{
	const size_t i = kept_find(&w->window, seq);

	return i == SIZE_MAX ? NULL : &w->fate[i];
}

static struct err *put(struct rewriter *w, struct sbt_cmd *c, uint64_t old)
{
	c->seq = w->next++;
	c->gpu_start_ns = c->gpu_end_ns = 0;
	MAKE_ROOM(w->old, w->nold, w->cap_old);
	w->old[w->nold++] = old;
	return sbt_writer_cmd(w->to, c);
}

/* held: a launch waits for those behind it that may begin early. */
static struct err *put_kept_as(struct rewriter *w, size_t i, bool held)
{
	struct sbt_cmd c;

	TRY(kept_get(&w->window, i, &c));
	if (held && c.kind == SBT_LAUNCH)
		c.u.launch.launch_attrs |= UINT64_C(1) << SBT_ATTR_HELD;
	if (c.kind == SBT_LAUNCH &&
		(c.u.launch.trigger_event ||
			c.u.launch.begun_event)) { /* nothing waits for these events any more */
		c.u.launch.trigger_event = c.u.launch.begun_event = 0;
		c.u.launch.launch_attrs &= ~(UINT64_C(1) << SBT_ATTR_PROGRAMMATIC_EVENT |
					     UINT64_C(1) << SBT_ATTR_COMPLETION_EVENT);
	}
	w->fate[i].becomes = w->next;
	w->fate[i].after = w->next + 1;
	return put(w, &c, c.seq);
}

static struct err *put_kept(struct rewriter *w, size_t i)
{
	return put_kept_as(w, i, false);
}

static struct err *put_wait(struct rewriter *w, const struct sbt_cmd *like)
{
	struct sbt_cmd c = {.kind = SBT_SYNC,
		.flags = SBT_F_SYNTHETIC,
		.thread = like->thread,
		.ctx = like->ctx,
		.host_ns = like->host_ns};
	const uint64_t begin = w->next;

	c.u.sync.scope = SBT_SYNC_CTX;
	c.u.sync.stream = c.u.sync.event = SBT_NO_ID;
	TRY(put(w, &c, 0));
	c.kind = SBT_SYNC_END;
	c.u.sync_end = (struct sbt_cmd_sync_end){.begin = begin};
	return put(w, &c, 0);
}

static struct err *put_others(struct rewriter *w, size_t *next, uint64_t before, bool ending)
{
	for (; *next < w->window.n && w->window.c[*next].seq < before; (*next)++) {
		struct sbt_cmd c;

		if (w->window.c[*next].is_work || w->fate[*next].ordered ||
			w->fate[*next].becomes || w->fate[*next].ends_objects != ending)
			continue;
		TRY(kept_get(&w->window, *next, &c));
		if (!is_wait(c.kind))
			TRY(put_kept(w, *next));
	}
	return NULL;
}

/* Before work on a stream other than that of the work before it, the end of that is waited for. */
static struct err *turn_to(struct rewriter *w, uint32_t *stream, const struct sbt_cmd *c)
{
	const uint32_t was = *stream;

	*stream = sbt_cmd_stream(c);
	return was != SBT_NO_ID && was != *stream ? put_wait(w, c) : NULL;
}

/* Fills memory that is freed, or not yet written by its new owner, with the poison byte. */
static struct err *put_poison(
	struct rewriter *w, const struct fate *f, const struct sbt_cmd *like, uint32_t *stream)
{
	const uint64_t on = like->kind == SBT_ALLOC ? like->u.alloc.stream : like->u.free.stream;
	struct sbt_cmd c = {.kind = SBT_FILL,
		.flags = SBT_F_SYNTHETIC,
		.thread = like->thread,
		.ctx = like->ctx,
		.stack = like->stack,
		.host_ns = like->host_ns};

	c.u.fill.stream = on;
	c.u.fill.dst = f->addr;
	c.u.fill.size = f->size;
	c.u.fill.value = ORDER_POISON_BYTE;
	c.u.fill.elem = 1;
	c.u.fill.async = 1;
	TRY(turn_to(w, stream, &c));
	return put(w, &c, 0);
}

static struct err *put_entry(
	struct rewriter *w, uint64_t entry, size_t *next, uint32_t *stream, struct sbt_cmd *last)
{
	const uint64_t seq = order_seq(entry);
	const size_t i = kept_find(&w->window, seq);
	struct fate *f = i == SIZE_MAX ? NULL : &w->fate[i];

	if (!f || (entry & ORDER_HOST ? f->host : f->becomes))
		return err_new(ERR_NOT_FOUND,
			"#%llu is no command of the window, or is in the order twice",
			(unsigned long long)seq);
	if (entry & ORDER_HOST) {
		f->host = w->next;
		return NULL;
	}
	TRY(put_others(w, next, seq, false));
	TRY(kept_get(&w->window, i, last));
	if (w->window.c[i].is_work)
		TRY(turn_to(w, stream, last));
	TRY(put_kept_as(w, i, entry & ORDER_POISON));
	return entry & ORDER_POISON && f->size ? put_poison(w, f, last, stream) : NULL;
}

static struct err *put_all(struct rewriter *w)
{
	size_t next = 0, last = 0;
	struct sbt_cmd c = {0};
	uint32_t stream = SBT_NO_ID;

	for (size_t i = 0; i < w->plan->n; i++) {
		struct fate *f = fate_of(w, order_seq(w->plan->seqs[i]));

		if (f && !(w->plan->seqs[i] & ORDER_HOST))
			f->ordered = true;
	}
	for (size_t i = 0; i < w->plan->n; i++)
		TRY(put_entry(w, w->plan->seqs[i], &next, &stream, &c));
	TRY(put_others(w, &next, UINT64_MAX, false));
	TRY(put_wait(w, &c));
	return put_others(w, &last, UINT64_MAX, true);
}

static void find_firsts(struct rewriter *w)
{
	uint64_t least = 0;

	for (size_t i = w->window.n; i--;) {
		const uint64_t n = w->fate[i].becomes;

		if (n && (!least || n < least))
			least = n;
		w->fate[i].first = least;
	}
}

/* The host had changed that when it submitted what came after, so the first of those, in the new
 * order, sees it. */
static uint64_t first_from(const struct rewriter *w, uint64_t seq)
{
	const size_t i = kept_from(&w->window, seq);

	return i < w->window.n ? w->fate[i].first : 0;
}

/* --- memory --- */

/* What of a piece the host had changed. */
static struct err *copy_changes(struct rewriter *w, const struct sbt_memory *m)
{
	const struct order_schedule *p = w->plan;
	struct sbt_memory as = {.role = SBT_MEMORY_HOST,
		.owner = SBT_MEMORY_ALLOCATION,
		.module = SBT_NO_ID,
		.has_bytes = true};

	if (!m->has_bytes)
		return NULL;
	for (size_t i = kept_row_from(p->changes, p->nchanges, sizeof *p->changes, m->seq);
		i < p->nchanges && p->changes[i].seq == m->seq; i++) {
		const uint64_t from = p->changes[i].addr > m->addr ? p->changes[i].addr : m->addr;
		const uint64_t to = p->changes[i].end < m->addr + m->size ? p->changes[i].end
									  : m->addr + m->size;

		const struct fate *f = fate_of(w, p->changes[i].by ? p->changes[i].by : m->seq);

		as.seq = !f ? 0 : p->changes[i].by ? f->after : f->host;
		if (from < to && as.seq)
			TRY(copied_part(&w->copied, m, from - m->addr, to - m->addr, as));
	}
	return NULL;
}

static struct err *copy_piece(void *arg, const struct sbt_memory *m)
{
	struct rewriter *w = arg;
	struct sbt_memory mine = *m;
	struct fate *f = fate_of(w, m->seq);

	if (m->role == SBT_MEMORY_END || m->role == SBT_MEMORY_OUTPUT || m->missing)
		return NULL;
	if (w->plan->live &&
		(m->role == SBT_MEMORY_HOST || (m->role == SBT_MEMORY_INPUT && f && f->reads_live)))
		return copy_changes(w, m);
	if (m->role == SBT_MEMORY_START)
		mine.seq = w->plan->first;
	else if (m->role == SBT_MEMORY_HOST)
		mine.seq = first_from(w, m->seq);
	else
		mine.seq = f ? f->becomes : 0;
	return mine.seq ? copied_part(&w->copied, m, 0, m->size, mine) : NULL;
}

static struct err *put_ends(struct rewriter *w)
{
	uint32_t id;

	for (size_t i = 0; i < w->plan->nends; i++) {
		const struct sbt_memory m = {.seq = w->next - 1,
			.role = SBT_MEMORY_END,
			.owner = SBT_MEMORY_ALLOCATION,
			.addr = w->plan->ends[i].addr,
			.size = w->plan->ends[i].size,
			.module = SBT_NO_ID,
			.hash = w->plan->ends[i].hash};

		TRY(sbt_writer_memory(w->to, &m, &id));
	}
	return NULL;
}

/* --- all of it --- */

static struct err *put_state(struct rewriter *w)
{
	struct state *s;
	struct buf b = BUF_INIT;
	struct err *e;

	if (w->plan->first <= 1)
		return NULL;
	TRY(state_at(&s, w->from, w->plan->first - 1));
	state_encode(s, &b);
	e = sbt_writer_keyframe(w->to, w->plan->first - 1, b.data, b.len);
	buf_free(&b);
	state_free(s);
	return e;
}

static struct err *rewrite(struct rewriter *w)
{
	TRY(read_window(w));
	TRY(copied_all(&w->copied, &w->window));
	TRY(put_state(w));
	TRY(put_all(w));
	find_firsts(w);
	TRY(sbt_reader_memory(w->from, w->plan->first, w->plan->last, copy_piece, w));
	TRY(put_ends(w));
	return sbt_writer_window(w->to, w->plan->first, w->next - 1);
}

struct err *order_rewrite(struct sbt_reader *trace, const struct order_schedule *plan,
	const char *path, uint64_t **ret_seqs, size_t *ret_n)
{
	struct rewriter w = {
		.from = trace, .plan = plan, .next = plan->first, .copied = {.from = trace}};
	struct err *e = sbt_writer_open(&w.to, path, sbt_reader_meta(trace)), *closed;

	w.copied.to = w.to;
	if (!e) {
		e = rewrite(&w);
		closed = sbt_writer_close(w.to);
		if (e)
			err_free(closed);
		else
			e = closed;
	}
	kept_free(&w.window);
	free(w.fate);
	copied_free(&w.copied);
	if (!e && ret_seqs) {
		*ret_seqs = w.old;
		*ret_n = w.nold;
	} else {
		free(w.old);
	}
	return e;
}
