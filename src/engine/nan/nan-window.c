/* SPDX-License-Identifier: Apache-2.0
 *
 * The window of a search for NaN: its works and what they touch. A software GPU tells what launches
 * touch; elsewhere the bytes that they changed count as written, and all memory that their
 * arguments point to as read. What copies and fills touch is in their records.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "base/first-where.h"
#include "engine/nan/nan-private.h"
#include "engine/trace-file.h"
#include "sbt/memory.h"
#include "state/args.h"

enum { SPANS_OF_ONE = 65536, SPANS_MOST = 8u << 20, ROWS_MOST = 65536 };

size_t nan_work_at(const struct nan_job *j, uint64_t seq)
{
	return FIRST_WHERE(j->nwork, i, j->work[i].seq >= seq);
}

static struct nan_work *work_of(struct nan_job *j, uint64_t seq)
{
	const size_t at = nan_work_at(j, seq);

	return at < j->nwork && j->work[at].seq == seq ? &j->work[at] : NULL;
}

static struct err *add_span(struct nan_job *j, uint64_t addr, uint64_t size)
{
	if (j->nspans == SPANS_MOST)
		return err_cure(
			err_new(ERR_LIMIT, "the window's commands touch more than %u ranges",
				(unsigned)SPANS_MOST),
			"Record a shorter window");
	MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
	j->spans[j->nspans++] =
		(struct nan_span){.addr = addr, .size = size, .param = NAN_NO_PARAM};
	return NULL;
}

/* Rows without gaps are one span; of very many, the gaps count, too. */
static struct err *add_rows(struct nan_job *j, const struct sbt_rows *r)
{
	const uint64_t whole = sbt_rows_size(r);

	if (!whole)
		return NULL;
	if ((r->pitch == r->width && (r->depth < 2 || r->slice == r->pitch * r->height)) ||
		r->height > ROWS_MOST || r->depth > ROWS_MOST || r->height * r->depth > ROWS_MOST)
		return add_span(j, r->addr, whole);
	for (uint64_t z = 0; z < r->depth; z++)
		for (uint64_t y = 0; y < r->height; y++)
			TRY(add_span(j, r->addr + z * r->slice + y * r->pitch, r->width));
	return NULL;
}

/* --- works, from the commands --- */

static void take_touch(struct nan_work *w, const struct sbt_cmd *c, const struct sbt_touch *t)
{
	if (t->how == SBT_READS) {
		w->src = t->rows;
		w->from_host = t->host_side;
	} else if (t->how == SBT_WRITES) {
		w->dst = t->rows;
		w->to_host = t->host_side && c->kind == SBT_COPY;
	}
}

static struct err *take_work(struct nan_job *j, const struct sbt_cmd *c)
{
	struct nan_work w = {.seq = c->seq, .kind = c->kind};
	struct sbt_footprint f;

	sbt_footprint(&f, c);
	for (unsigned i = 0; i < f.n; i++)
		take_touch(&w, c, &f.touch[i]);
	w.reads = w.writes = j->nspans;
	TRY(add_rows(j, &w.dst));
	w.nwrites = j->nspans - w.writes;
	MAKE_ROOM(j->work, j->nwork, j->cap_work);
	j->work[j->nwork++] = w;
	return NULL;
}

static struct err *take_commands(struct nan_job *j)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, j->en->trace.reader));
	e = sbt_cursor_seek(cursor, j->first);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	while (!e && c && c->seq <= j->last) {
		if (sbt_cmd_is_work(c))
			e = take_work(j, c);
		if (!e)
			e = sbt_cursor_next(cursor, &c);
	}
	sbt_cursor_close(cursor);
	return e;
}

/* --- what launches touch --- */

/* Of an element some bytes may have changed, and others not: whole ones, each once. */
static struct err *add_changed(struct nan_job *j, const struct soft_span *s, size_t first)
{
	struct nan_span *last = j->nspans > first ? &j->spans[j->nspans - 1] : NULL;
	const uint64_t from = s->addr & ~UINT64_C(7), end = (s->addr + s->size + 7) & ~UINT64_C(7);

	if (!last || from < last->addr || from > last->addr + last->size)
		return add_span(j, from, end - from);
	if (end > last->addr + last->size)
		last->size = end - last->addr;
	return NULL;
}

static struct err *take_kinds(
	struct nan_job *j, const struct access_set *a, unsigned kinds, size_t *at, size_t *n)
{
	*at = j->nspans;
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++)
		for (size_t i = 0; kinds >> (k % SOFT_ACCESSES) & 1 && i < a->set.n[k]; i++) {
			const struct soft_span *s = &a->set.span[k][i];

			TRY(j->exact ? add_span(j, s->addr, s->size) : add_changed(j, s, *at));
		}
	*n = j->nspans - *at;
	return NULL;
}

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct nan_job *j = arg;
	struct nan_work *w = work_of(j, a->seq);

	engine_progress(j->en, "executing commands,", a->seq - j->first, j->last - j->first + 1);
	if (!w || (w->kind != SBT_LAUNCH && w->kind != SBT_GRAPH_LAUNCH))
		return NULL;
	w->cut = a->cut;
	TRY(take_kinds(
		j, a, 1u << SOFT_ACCESS_READ | 1u << SOFT_ACCESS_ATOMIC, &w->reads, &w->nreads));
	return take_kinds(j, a, 1u << SOFT_ACCESS_WRITTEN | 1u << SOFT_ACCESS_ATOMIC, &w->writes,
		&w->nwrites);
}

/* What a call left that is not executed again, and what the program wrote. */
static struct err *take_effect(void *arg, const struct sbt_memory *m)
{
	struct nan_job *j = arg;
	struct nan_work *w = work_of(j, m->seq);

	if (m->role == SBT_MEMORY_HOST) {
		MAKE_ROOM(j->changes, j->nchanges, j->cap_changes);
		j->changes[j->nchanges++] = (struct nan_change){m->seq, m->addr, m->size};
	}
	if (m->role != SBT_MEMORY_EFFECT || !w)
		return NULL;
	if (!w->recorded) {
		w->recorded = true;
		w->writes = j->nspans;
		w->nwrites = w->nreads = 0;
	}
	if (w->writes + w->nwrites != j->nspans) /* effects of one command come in a row */
		return NULL;
	TRY(add_span(j, m->addr, m->size));
	w->nwrites++;
	return NULL;
}

struct err *nan_learn(struct nan_job *j)
{
	j->exact = j->rd->watches && !j->ask->by_changes;
	TRY(take_commands(j));
	TRY((j->exact ? device_access_sets : device_changed_sets)(
		j->d, j->first, j->last, SPANS_OF_ONE, take_set, j));
	TRY(sbt_reader_memory(j->en->trace.reader, j->first, j->last, take_effect, j));
	return nan_learn_readers(j);
}

/* --- looking --- */

const struct nan_span *nan_span_at(const struct nan_job *j, size_t at, size_t n, uint64_t addr)
{
	for (size_t i = at; i < at + n; i++)
		if (addr - j->spans[i].addr < j->spans[i].size)
			return &j->spans[i];
	return NULL;
}

uint64_t nan_ran(const struct nan_work *w)
{
	return w->wait ? w->ran : w->seq;
}

bool nan_wrote(const struct nan_job *j, const struct nan_work *w, uint64_t addr, uint64_t size)
{
	for (size_t i = w->writes; i < w->writes + w->nwrites; i++) {
		const struct nan_span *s = &j->spans[i];

		if (addr - s->addr < s->size || s->addr - addr < size)
			return true;
	}
	return false;
}

/* Of works that a command let go: they run right behind it, in order of seq. */
static struct nan_work *last_late(
	const struct nan_job *j, uint64_t addr, uint64_t size, uint64_t before)
{
	struct nan_work *last = NULL;

	for (size_t i = 0; i < j->nwork; i++) {
		struct nan_work *w = &j->work[i];

		if (w->wait && w->ran < before && (!last || w->ran >= last->ran) &&
			nan_wrote(j, w, addr, size))
			last = w;
	}
	return last;
}

struct nan_work *nan_last_writer(
	const struct nan_job *j, uint64_t addr, uint64_t size, uint64_t before)
{
	struct nan_work *late = j->nlate ? last_late(j, addr, size, before) : NULL;

	for (size_t i = nan_work_at(j, before); i--;) {
		struct nan_work *w = &j->work[i];

		if (late && late->ran >= w->seq)
			return late;
		if (!w->wait && nan_wrote(j, w, addr, size))
			return w;
	}
	return late;
}

struct err *nan_before(struct nan_job *j, uint64_t seq, struct state **ret,
	struct sbt_cursor **ret_cursor, const struct sbt_cmd **ret_cmd)
{
	struct err *e;

	TRY(state_at(ret, j->en->trace.reader, seq - 1));
	if (!ret_cmd)
		return NULL;
	e = trace_cmd(j->en->trace.reader, seq, ret_cursor, ret_cmd);
	if (e) {
		state_free(*ret);
		*ret = NULL;
	}
	return e;
}
