/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing. What is needed of a stream is always everything up to some command, since a stream is
 * in order; so the closure is one pass from the end to the beginning that raises a mark per stream,
 * and everything a command can depend on lies further on in that pass.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/plan/plan-private.h"
#include "base/checked.h"
#include "base/first-where.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

/* --- the closure --- */

static void raise_lane(struct plan_scan *s, uint32_t lane, uint64_t seq)
{
	if (s->lanes[lane].needed < seq)
		s->lanes[lane].needed = seq;
}

/* Marks everything that the program ordered before the item as needed. */
static void need_before(struct plan_scan *s, const struct plan_item *it)
{
	const struct plan_lane *l = &s->lanes[it->stream];

	if (it->wait_stream != UINT32_MAX)
		raise_lane(s, it->wait_stream, it->wait_seq);
	for (uint32_t i = 0; i < s->nlanes; i++) {
		const struct plan_lane *o = &s->lanes[i];
		/* a stream of unknown kind may be ordered with this one */
		bool barrier = o->ctx == l->ctx &&
			       ((l->is_default && o->blocking) || (l->blocking && o->is_default));

		if (it->waits_all || barrier || !l->known || !o->known)
			raise_lane(s, i, it->seq - 1);
	}
}

/* How late a reader of some memory there is: whatever wrote it before that is needed. By key; of
 * everything; of anything. */
struct readers {
	uint64_t *of;
	uint64_t all, any;
};

static bool is_read_later(
	const struct plan_scan *s, const struct readers *r, const struct plan_item *it)
{
	if (it->everything && r->any > it->seq)
		return true;
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *t = &s->touches[it->touch + i];

		if ((t->how & PLAN_WRITES) && (r->of[t->key] > it->seq || r->all > it->seq))
			return true;
	}
	return false;
}

static void note_reads(const struct plan_scan *s, struct readers *r, const struct plan_item *it)
{
	if (it->everything && r->all < it->seq)
		r->all = r->any = it->seq;
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *t = &s->touches[it->touch + i];

		if (!(t->how & PLAN_READS))
			continue;
		if (r->of[t->key] < it->seq)
			r->of[t->key] = it->seq;
		if (r->any < it->seq)
			r->any = it->seq;
	}
}

/* Computes needed[i] for every item, starting from the lanes' marks. */
static void close_over(struct plan_scan *s, bool *needed)
{
	struct readers r = {.of = xcalloc(s->nallocs + 1, sizeof *r.of)};

	for (size_t i = s->n; i--;) {
		const struct plan_item *it = &s->items[i];

		if (it->seq > s->lanes[it->stream].needed && is_read_later(s, &r, it))
			raise_lane(s, it->stream, it->seq);
		needed[i] = it->seq <= s->lanes[it->stream].needed;
		if (!needed[i])
			continue;
		need_before(s, it);
		note_reads(s, &r, it);
	}
	free(r.of);
}

/* --- a stream alone --- */

/* Appends one command of the trace as the user sees it. */
static struct err *name_cmd(
	struct buf *out, struct sbt_reader *trace, const struct plan_scan *s, uint64_t seq)
{
	struct sbt_names names = state_names(s->s);
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, trace));
	e = sbt_cursor_seek(cursor, seq);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && c && c->seq == seq)
		sbt_print_cmd(out, c, &names);
	else if (!e)
		buf_printf(out, "#%" PRIu64, seq);
	sbt_cursor_close(cursor);
	return e;
}

static struct err *refuse_alone(
	struct sbt_reader *trace, const struct plan_scan *s, uint64_t reader, uint64_t writer)
{
	struct buf r = BUF_INIT, w = BUF_INIT;
	struct err *e = name_cmd(&r, trace, s, reader);

	if (!e)
		e = name_cmd(&w, trace, s, writer);
	if (!e)
		e = err_cure(
			err_new(ERR_INCOMPLETE,
				"not possible alone: %s may read what %s wrote, and that is not in the trace",
				buf_cstr(&r), buf_cstr(&w)),
			"without --alone what it depends on is taken in");
	buf_free(&r);
	buf_free(&w);
	return e;
}

/* The last command left out, not recorded, that wrote: by key (0 none). */
struct strangers {
	uint64_t *of;
	uint64_t all, any;
};

static uint64_t fed_by(
	const struct plan_scan *s, const struct strangers *x, const struct plan_item *it)
{
	if (it->everything)
		return x->any;
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *t = &s->touches[it->touch + i];

		if (!(t->how & PLAN_READS))
			continue;
		if (x->of[t->key])
			return x->of[t->key];
		if (x->all)
			return x->all;
	}
	return 0;
}

static void note_stranger(
	const struct plan_scan *s, struct strangers *x, const struct plan_item *it)
{
	if (it->everything)
		x->all = x->any = it->seq;
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *t = &s->touches[it->touch + i];

		if (t->how & PLAN_WRITES)
			x->of[t->key] = x->any = it->seq;
	}
}

static bool is_upload(const struct plan_item *it)
{
	return it->kind == SBT_COPY && it->recorded;
}

static struct err *choose_alone(
	struct sbt_reader *trace, struct plan_scan *s, const bool *ours, bool *needed)
{
	struct strangers x = {.of = xcalloc(s->nallocs + 1, sizeof *x.of)};
	struct err *e = NULL;

	for (size_t i = 0; i < s->n && !e; i++) {
		const struct plan_item *it = &s->items[i];
		uint64_t by;

		needed[i] = ours[it->stream] || it->kind == SBT_FILL;
		if (needed[i] && !is_upload(it)) {
			by = fed_by(s, &x, it);
			if (by)
				e = refuse_alone(trace, s, it->seq, by);
		} else if (!needed[i] && !it->recorded) {
			note_stranger(s, &x, it);
		}
	}
	free(x.of);
	return e;
}

/* --- the plan --- */

static void count(struct plan *p, const struct plan_scan *s, const struct plan_item *it)
{
	uint32_t stream = s->lanes[it->stream].id;

	for (size_t i = 0; i < p->ncounts; i++)
		if (p->counts[i].kind == it->kind && p->counts[i].stream == stream) {
			p->counts[i].n++;
			return;
		}
	p->counts = xrealloc(p->counts, (p->ncounts + 1) * sizeof *p->counts);
	p->counts[p->ncounts++] = (struct plan_count){.kind = it->kind, .stream = stream, .n = 1};
}

static int by_stream_and_kind(const void *a, const void *b)
{
	const struct plan_count *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_addr(const void *a, const void *b)
{
	const struct plan_range *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void spoil(
	struct plan *p, size_t *cap, const struct plan_scan *s, const struct plan_item *it)
{
	p->all_spoiled |= it->everything;
	for (uint32_t i = 0; i < it->ntouches; i++) {
		const struct plan_touch *t = &s->touches[it->touch + i];

		if (!(t->how & PLAN_WRITES))
			continue;
		p->globals_spoiled |= t->key == 0;
		if (t->addr >= t->end)
			continue;
		MAKE_ROOM(p->spoiled, p->nspoiled, *cap);
		p->spoiled[p->nspoiled++] = (struct plan_range){t->addr, t->end};
	}
}

static void merge_spoiled(struct plan *p)
{
	size_t k = 0;

	if (!p->nspoiled)
		return;
	qsort(p->spoiled, p->nspoiled, sizeof *p->spoiled, by_addr);
	for (size_t i = 1; i < p->nspoiled; i++) {
		if (p->spoiled[i].addr > p->spoiled[k].end)
			p->spoiled[++k] = p->spoiled[i];
		else if (p->spoiled[i].end > p->spoiled[k].end)
			p->spoiled[k].end = p->spoiled[i].end;
	}
	p->nspoiled = k + 1;
}

/* Fills the plan's lists and counts from the choice. */
static struct err *fill_plan(
	struct plan *p, struct sbt_reader *trace, const struct plan_scan *s, const bool *needed)
{
	size_t cap = 0, cap_spoiled = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct plan_item *it = &s->items[i];
		bool behind = it->seq > p->to;

		if (!it->leavable)
			continue;
		if (!behind && needed[i]) {
			p->executed++;
			continue;
		}
		count(p, s, it);
		p->behind += behind;
		if (p->nlines < PLAN_LINES) {
			struct buf b = BUF_INIT;

			TRY(name_cmd(&b, trace, s, it->seq));
			p->lines[p->nlines++] = buf_steal(&b);
		}
		if (behind)
			continue;
		MAKE_ROOM(p->skip, p->nskip, cap);
		p->skip[p->nskip++] = it->seq;
		if (!(p->recorded_inputs && it->recorded))
			spoil(p, &cap_spoiled, s, it);
	}
	if (p->ncounts)
		qsort(p->counts, p->ncounts, sizeof *p->counts, by_stream_and_kind);
	merge_spoiled(p);
	return NULL;
}

static struct err *check_window(struct sbt_reader *trace, uint64_t first, uint64_t last)
{
	if (first && first <= last && first >= sbt_reader_first_seq(trace) &&
		last <= sbt_reader_last_seq(trace))
		return NULL;
	return err_new(
		ERR_INCOMPLETE, "the trace has no window #%" PRIu64 " to #%" PRIu64, first, last);
}

/* --- streams --- */

static bool is_one_of(uint32_t stream, const uint32_t *streams, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (streams[i] == stream)
			return true;
	return false;
}

/* The last work of each of the streams in a..b: last_of[i], 0 none. UINT32_MAX streams: of all of
 * them together, in last_of[0]. */
static struct err *last_work(struct sbt_reader *trace, uint64_t a, uint64_t b,
	const uint32_t *streams, unsigned n, uint64_t *last_of, uint64_t *ret_first)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	*ret_first = 0;
	TRY(sbt_cursor_open(&cursor, trace));
	e = sbt_cursor_seek(cursor, a);
	while (!e) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > b)
			break;
		if (!sbt_cmd_is_work(c))
			continue;
		for (unsigned i = 0; i < n; i++) {
			if (streams && streams[i] != sbt_cmd_stream(c))
				continue;
			last_of[i] = c->seq;
			if (!*ret_first)
				*ret_first = c->seq;
		}
	}
	sbt_cursor_close(cursor);
	return e;
}

static struct err *choose_streams(struct plan *p, struct sbt_reader *trace, struct plan_scan *s,
	const uint32_t *streams, unsigned n, const uint64_t *last_of, bool alone)
{
	bool *needed = xcalloc(s->n + 1, sizeof *needed),
	     *ours = xcalloc(s->nlanes + 1, sizeof *ours);
	struct err *e = NULL;

	for (uint32_t i = 0; i < s->nlanes; i++)
		ours[i] = is_one_of(s->lanes[i].id, streams, n);
	for (unsigned i = 0; i < n; i++)
		raise_lane(s, plan_scan_lane(s, streams[i]), last_of[i]);
	if (alone)
		e = choose_alone(trace, s, ours, needed);
	else
		close_over(s, needed);
	if (!e)
		e = fill_plan(p, trace, s, needed);
	free(needed);
	free(ours);
	return e;
}

struct err *plan_stream(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	const uint32_t *streams, unsigned n, bool alone)
{
	uint64_t *last_of = xcalloc(n + 1, sizeof *last_of), upto = 0, from;
	struct plan_scan s;
	struct err *e;

	*ret = (struct plan){.first = first, .last = last, .to = last, .recorded_inputs = alone};
	e = check_window(trace, first, last);
	if (!e && !n)
		e = err_new(ERR_USAGE, "which stream?");
	if (!e)
		e = last_work(trace, first, last, streams, n, last_of, &from);
	for (unsigned i = 0; !e && i < n; i++) {
		if (!last_of[i])
			e = err_new(ERR_NOT_FOUND,
				"stream %u has no work in the window #%" PRIu64 " to #%" PRIu64,
				streams[i], first, last);
		if (last_of[i] > upto)
			upto = last_of[i];
	}
	if (!e)
		e = plan_scan(&s, trace, first, last, upto);
	if (!e) {
		ret->from = from;
		e = choose_streams(ret, trace, &s, streams, n, last_of, alone);
		plan_scan_free(&s);
	}
	free(last_of);
	if (e)
		plan_free(ret);
	return e;
}

/* --- a range --- */

static struct err *choose_range(struct plan *p, struct sbt_reader *trace, struct plan_scan *s)
{
	bool *needed = xcalloc(s->n + 1, sizeof *needed);
	struct err *e;

	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].seq >= p->from && s->items[i].seq <= p->to)
			raise_lane(s, s->items[i].stream, s->items[i].seq);
	close_over(s, needed);
	e = fill_plan(p, trace, s, needed);
	free(needed);
	return e;
}

struct err *plan_range(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	uint64_t a, uint64_t b)
{
	uint64_t upto = 0, from;
	struct plan_scan s;
	struct err *e;

	*ret = (struct plan){.first = first, .last = last, .from = a, .to = b};
	e = check_window(trace, first, last);
	if (!e && a > b)
		e = err_new(ERR_USAGE, "a range goes forwards: #%" PRIu64 " comes after #%" PRIu64,
			a, b);
	if (!e && (a < first || b > last))
		e = err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " to #%" PRIu64 " does not lie within the window #%" PRIu64
			" to #%" PRIu64,
			a, b, first, last);
	if (!e)
		e = last_work(trace, a, b, NULL, 1, &upto, &from);
	if (!e)
		e = plan_scan(&s, trace, first, last, upto ? upto : a);
	if (!e) {
		e = choose_range(ret, trace, &s);
		plan_scan_free(&s);
	}
	if (e)
		plan_free(ret);
	return e;
}

/* --- one launch --- */

/* The nth launch of a kernel that matches; *ret_n is how many there are when there are fewer. */
static struct err *find_launch(struct sbt_reader *trace, uint64_t first, uint64_t last,
	const char *glob, uint64_t nth, uint64_t *ret, uint64_t *ret_n)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state_kernel k;
	struct state *s;
	struct err *e;

	*ret = *ret_n = 0;
	TRY(state_at(&s, trace, first - 1));
	e = sbt_cursor_open(&cursor, trace);
	if (e) {
		state_free(s);
		return e;
	}
	e = sbt_cursor_seek(cursor, first);
	while (!e && !*ret) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > last)
			break;
		if (c->kind == SBT_KERNEL_DEF)
			e = state_apply(s, c);
		if (c->kind != SBT_LAUNCH || c->result || (c->flags & SBT_F_GRAPH) ||
			c->u.launch.kernel >= SBT_NO_ID ||
			!state_kernel_by_id(s, (uint32_t)c->u.launch.kernel, &k) ||
			!sbt_kernel_glob(glob, k.name, k.short_name))
			continue;
		if (++*ret_n == nth)
			*ret = c->seq;
	}
	sbt_cursor_close(cursor);
	state_free(s);
	return e;
}

static struct err *choose_all(struct plan *p, struct sbt_reader *trace)
{
	struct plan_scan s;
	bool *needed;
	struct err *e;

	TRY(plan_scan(&s, trace, p->first, p->last, p->to));
	needed = xcalloc(s.n + 1, sizeof *needed);
	memset(needed, 1, s.n);
	e = fill_plan(p, trace, &s, needed);
	free(needed);
	plan_scan_free(&s);
	return e;
}

struct err *plan_kernel(struct plan *ret, struct sbt_reader *trace, uint64_t first, uint64_t last,
	const char *glob, uint64_t nth)
{
	uint64_t seq = 0, n = 0;
	struct err *e;

	*ret = (struct plan){.first = first, .last = last};
	e = check_window(trace, first, last);
	if (!e && !nth)
		e = err_new(ERR_USAGE, "launches are counted from 1");
	if (!e)
		e = find_launch(trace, first, last, glob, nth, &seq, &n);
	if (!e && !n)
		e = err_new(ERR_NOT_FOUND,
			"no launch in the window #%" PRIu64 " to #%" PRIu64
			" is of a kernel like %s",
			first, last, glob);
	else if (!e && !seq)
		e = err_new(ERR_NOT_FOUND,
			"the window has %" PRIu64 " launch%s of kernels like %s, not %" PRIu64, n,
			n == 1 ? "" : "es", glob, nth);
	if (!e) {
		ret->from = ret->to = seq;
		e = choose_all(ret, trace);
	}
	if (e)
		plan_free(ret);
	return e;
}

/* --- telling --- */

void plan_free(struct plan *p)
{
	free(p->skip);
	free(p->counts);
	free(p->spoiled);
	for (unsigned i = 0; i < p->nlines; i++)
		free(p->lines[i]);
	*p = (struct plan){0};
}

/* "launch" -> "3 launches", "copy" -> "3 copies", "fill" -> "3 fills" */
static void print_count(struct buf *out, uint64_t n, const char *name)
{
	size_t len = strlen(name);
	bool y = name[len - 1] == 'y', h = name[len - 1] == 'h';

	buf_printf(out, "%" PRIu64 " ", n);
	for (const char *p = name; *p; p++)
		if (!(n != 1 && y && !p[1]))
			buf_byte(out, *p == '_' ? ' ' : (uint8_t)*p);
	if (n != 1)
		buf_str(out, y ? "ies" : h ? "es" : "s");
}

void plan_print(struct buf *out, const struct plan *p)
{
	uint64_t n = p->nskip + p->behind;

	if (!n) {
		buf_str(out, "Left out: nothing.\n");
		return;
	}
	buf_str(out, "Left out: ");
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct plan_count *c = &p->counts[i];
		bool ends = i + 1 == p->ncounts || p->counts[i + 1].stream != c->stream;

		print_count(out, c->n, sbt_kind(c->kind)->name);
		if (ends)
			buf_printf(out, " on stream %u", c->stream);
		if (i + 1 < p->ncounts)
			buf_str(out, ends ? "; " : ", ");
	}
	if (p->behind)
		buf_printf(out, "; %" PRIu64 " of these come%s after #%" PRIu64, p->behind,
			p->behind == 1 ? "s" : "", p->to);
	buf_str(out, ".\n");
	for (unsigned i = 0; i < p->nlines; i++)
		buf_printf(out, "  %s\n", p->lines[i]);
	if (n > p->nlines)
		buf_printf(out, "  ... and %" PRIu64 " more\n", n - p->nlines);
}

bool plan_exact(const struct plan *p, uint64_t addr, uint64_t size)
{
	uint64_t end = sat_add(addr, size);
	const size_t at = FIRST_WHERE(p->nspoiled, i, p->spoiled[i].end > addr);

	if (p->all_spoiled)
		return false;
	return at == p->nspoiled || p->spoiled[at].addr >= end;
}
