/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands in the order of a replay, see feed.h. Most traces have no waits for values: nothing is
 * looked up for them.
 */
#include "order/fold/feed.h"

#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "base/first-where.h"
#include "order/kept.h"
#include "state/late-work.h"

#define PLACES_MAX 1024u   /* addresses that are waited for */
#define WRITES_MAX 262144u /* of them; in a trace with more, no wait is held */

struct place {
	uint64_t addr, value;
	enum {
		PLACE_UNWRITTEN,
		PLACE_KNOWN,
		PLACE_COPIED,
		PLACE_CHANGED
	} is;			   /* COPIED, or CHANGED by a kernel: the value is not known */
	uint64_t seq;		   /* by whom */
	struct sbt_cmd_batch wait; /* the first one for it */
	bool wide;		   /* one waits for 8 bytes */
	bool mixed;		   /* not all of them wait for the same */
};
struct write {
	uint64_t seq, value, stream;
	size_t place;
	bool known, copied, done; /* known: its value is; copied: by a copy or a fill */
};

struct feed {
	struct sbt_reader *trace;
	struct sbt_cursor *cursor;
	const struct state *s;
	struct fold *fold;
	const struct order_source *source;
	uint64_t first, last;
	struct late *late;
	struct sbt_cmd now; /* the one that came late */
	const struct sbt_cmd *next;
	bool scanned;
	uint64_t first_wait;
	bool blind;	      /* there are launches of which nobody knows what they write */
	struct place *places; /* in order of address */
	size_t nplaces;
	struct write *writes; /* in order of seq */
	size_t nwrites, cap_writes;
	uint64_t *learned; /* seqs of SYNC_ENDs: the host had waited for something */
	size_t nlearned, cap_learned;
	struct order_accesses list;
};

/* ---- writes to words that are waited for
 * ---------------------------------------------------------------------------------------- */

static size_t place_from(const struct feed *f, uint64_t addr)
{
	return FIRST_WHERE(f->nplaces, i, f->places[i].addr >= addr);
}

static void add_place(struct feed *f, const struct sbt_cmd_batch *wait)
{
	const uint64_t addr = wait->addr;
	const size_t i = place_from(f, addr);
	struct place *p = &f->places[i];

	if (i < f->nplaces && p->addr == addr) {
		p->wide |= wait->elem == 8;
		p->mixed |= p->wait.value != wait->value || p->wait.op_flags != wait->op_flags ||
			    p->wait.elem != wait->elem;
		return;
	}
	if (f->nplaces == PLACES_MAX)
		return;
	memmove(&f->places[i + 1], &f->places[i], (f->nplaces - i) * sizeof *f->places);
	f->places[i] = (struct place){.addr = addr, .wait = *wait, .wide = wait->elem == 8};
	f->nplaces++;
}

static void add_write(
	struct feed *f, const struct sbt_cmd *c, size_t place, bool known, uint64_t value)
{
	if (f->nwrites > WRITES_MAX)
		return;
	MAKE_ROOM(f->writes, f->nwrites, f->cap_writes);
	f->writes[f->nwrites++] = (struct write){.seq = c->seq,
		.value = value,
		.stream = sbt_cmd_stream(c),
		.place = place,
		.known = known,
		.copied = c->kind == SBT_COPY || c->kind == SBT_FILL};
}

/* Bytes that are waited for there. */
static uint64_t bytes_of(const struct place *p)
{
	return p->wide ? 8 : 4;
}

/* The pattern that a fill leaves at the place, repeated to 8 bytes. False: it does not cover all
 * that is waited for, this is not aligned in it, or it has several rows. */
static bool filled(const struct sbt_cmd_fill *u, const struct place *p, uint64_t *ret)
{
	const uint64_t each = u->elem == 1   ? u->value & 0xff
			      : u->elem == 2 ? u->value & 0xffff
					     : u->value & UINT32_MAX;

	if (u->width || !range_within(p->addr, bytes_of(p), u->dst, u->size) ||
		(p->addr - u->dst) % 4)
		return false;
	*ret = u->elem == 1   ? each * UINT64_C(0x0101010101010101)
	       : u->elem == 2 ? each * UINT64_C(0x0001000100010001)
			      : each | each << 32;
	return true;
}

struct input {
	const struct feed *f;
	uint64_t addr; /* of the host */
	size_t n;
	uint64_t value;
	bool found;
};

static struct err *read_input(void *arg, const struct sbt_memory *m)
{
	struct input *in = arg;

	if (in->found || m->role != SBT_MEMORY_INPUT || !m->has_bytes || m->missing ||
		!range_within(in->addr, in->n, m->addr, m->size))
		return NULL;
	TRY(sbt_reader_memory_read(in->f->trace, m, in->addr - m->addr, &in->value, in->n));
	in->found = true;
	return NULL;
}

/* What a copy from the host leaves there, where the trace has the bytes and nobody can have changed
 * them on the way. */
static bool copied(
	const struct feed *f, const struct sbt_cmd *c, const struct place *p, uint64_t *ret)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	struct input in = {.f = f, .n = bytes_of(p)};

	if (c->kind != SBT_COPY || u->width || (u->async && !u->pageable) ||
		!range_within(p->addr, in.n, u->dst, u->size) ||
		ckd_add(&in.addr, u->src, p->addr - u->dst))
		return false;
	err_free(sbt_reader_memory(f->trace, c->seq, c->seq, read_input, &in));
	*ret = in.value;
	return in.found;
}

/* What c, one of those that know, leaves at the place. False: that is not known. */
static bool leaves(
	const struct feed *f, const struct sbt_cmd *c, const struct place *p, uint64_t *ret)
{
	const struct sbt_cmd_batch *u = &c->u.batch;

	if (c->kind == SBT_FILL)
		return filled(&c->u.fill, p, ret);
	if (c->kind != SBT_BATCH)
		return copied(f, c, p, ret);
	*ret = u->value;
	return u->addr == p->addr && u->elem >= bytes_of(p);
}

/* A place may begin before the range. */
static void note_range(struct feed *f, const struct sbt_cmd *c, uint64_t addr, uint64_t end)
{
	for (size_t i = place_from(f, addr < 7 ? 0 : addr - 7);
		i < f->nplaces && f->places[i].addr < end; i++) {
		const struct place *p = &f->places[i];
		uint64_t value = 0;

		if (p->addr < addr && addr - p->addr >= bytes_of(p))
			continue;
		const bool known = leaves(f, c, p, &value);
		add_write(f, c, i, known, value);
	}
}

static void note_writes(struct feed *f, const struct sbt_cmd *c)
{
	const bool launches = c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH;

	f->list.n = 0;
	if (c->kind == SBT_BATCH && !c->u.batch.is_wait) {
		uint64_t end;

		if (ckd_add(&end, c->u.batch.addr, c->u.batch.elem))
			end = UINT64_MAX;
		note_range(f, c, c->u.batch.addr, end);
		return;
	}
	if (launches && (!f->source || !f->source->accesses(f->source->arg, c->seq, &f->list))) {
		f->blind = true;
		return;
	}
	if (c->kind == SBT_COPY || c->kind == SBT_FILL)
		order_accesses_of(&f->list, f->s, c);
	for (size_t i = 0; i < f->list.n; i++)
		if (f->list.a[i].how == ORDER_WRITE || f->list.a[i].how == ORDER_ATOMIC ||
			f->list.a[i].how == ORDER_MAYBE)
			note_range(f, c, f->list.a[i].addr, f->list.a[i].end);
}

static struct err *each_command(
	struct feed *f, void (*each)(struct feed *f, const struct sbt_cmd *c))
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	TRY(sbt_cursor_open(&cursor, f->trace));
	struct err *e = sbt_cursor_seek(cursor, sbt_reader_first_seq(f->trace));
	while (!e && !(e = sbt_cursor_next(cursor, &c)) && c && c->seq <= f->last)
		if (!c->result && !(c->flags & SBT_F_GRAPH))
			each(f, c);
	sbt_cursor_close(cursor);
	return e;
}

static void see_wait(struct feed *f, const struct sbt_cmd *c)
{
	if (c->kind == SBT_BATCH && c->u.batch.is_wait)
		add_place(f, &c->u.batch);
	if (c->kind != SBT_SYNC_END)
		return;
	MAKE_ROOM(f->learned, f->nlearned, f->cap_learned);
	f->learned[f->nlearned++] = c->seq;
}

static void written(struct feed *f, struct write *w)
{
	struct place *p = &f->places[w->place];

	w->done = true;
	p->is = w->known ? PLACE_KNOWN : w->copied ? PLACE_COPIED : PLACE_CHANGED;
	p->seq = w->seq;
	p->value = w->value;
}

/* Notes that c has been executed: what it writes to waited-for words is there. */
static void executed(struct feed *f, uint64_t seq)
{
	for (size_t i = kept_row_from(f->writes, f->nwrites, sizeof *f->writes, seq);
		i < f->nwrites && f->writes[i].seq == seq; i++)
		written(f, &f->writes[i]);
}

static bool is_on_device(const struct feed *f, uint64_t addr)
{
	struct state_alloc a;

	return state_alloc_at(f->s, addr, &a) &&
	       (a.mem == SBT_MEM_DEVICE || a.mem == SBT_MEM_ASYNC || a.mem == SBT_MEM_VMM);
}

/* When all waits for a word want the same value, which was not there at first, and only one copy
 * can have brought it, takes that value as what the copy wrote. */
static void conclude(struct feed *f, size_t place)
{
	const struct place *p = &f->places[place];
	struct write *only = NULL;
	bool other = false; /* something else was put there before the first wait */
	unsigned n = 0;

	for (size_t i = 0; i < f->nwrites; i++) {
		struct write *w = &f->writes[i];

		if (w->place != place)
			continue;
		if (!w->known || sbt_wait_is_over(&p->wait, w->value)) {
			only = w;
			n++;
		} else {
			other |= w->seq < f->first_wait;
		}
	}
	if (n != 1 || only->known || !only->copied || !other || p->mixed || f->blind ||
		!is_on_device(f, p->addr) || !sbt_wait_is_over(&p->wait, p->wait.value))
		return;
	only->known = true;
	only->value = p->wait.value;
}

/* Finds all waits and writes of the range. Called at the first wait; all commands before it have
 * been executed. */
static struct err *scan(struct feed *f, uint64_t now)
{
	f->scanned = true;
	f->places = xcalloc(PLACES_MAX + 1, sizeof *f->places);
	TRY(each_command(f, see_wait));
	TRY(each_command(f, note_writes));
	if (f->nwrites > WRITES_MAX)
		f->nwrites = f->nplaces = 0;
	f->first_wait = now;
	for (size_t i = 0; i < f->nplaces; i++)
		conclude(f, i);
	for (size_t i = 0; i < f->nwrites && f->writes[i].seq < now; i++)
		written(f, &f->writes[i]);
	return NULL;
}

/* ---- waits ---------------------------------------- */

static const struct place *place_of(const struct feed *f, const struct sbt_cmd *wait, size_t *ret)
{
	*ret = place_from(f, wait->u.batch.addr);
	return *ret < f->nplaces && f->places[*ret].addr == wait->u.batch.addr ? &f->places[*ret]
									       : NULL;
}

/* Whether a write that has yet to come may end the wait. other: of a stream other than this one and
 * the wait's own, before the host waits for anything. */
static bool may_come(const struct feed *f, const struct sbt_cmd *wait, size_t place, uint64_t other)
{
	const size_t next = FIRST_WHERE(f->nlearned, i, f->learned[i] > wait->seq);
	const uint64_t end =
		other != UINT64_MAX && next < f->nlearned ? f->learned[next] : UINT64_MAX;

	for (size_t i = 0; i < f->nwrites && f->writes[i].seq < end; i++) {
		const struct write *w = &f->writes[i];

		if (w->place != place || w->done ||
			(other != UINT64_MAX &&
				(w->stream == other || w->stream == wait->u.batch.stream)))
			continue;
		if (!w->known || sbt_wait_is_over(&wait->u.batch, w->value))
			return true;
	}
	return false;
}

static struct err *is_ready(void *arg, const struct sbt_cmd *wait, bool *ret)
{
	struct feed *f = arg;
	const struct place *p;
	size_t at;

	*ret = true;
	if (!f->scanned)
		TRY(scan(f, wait->seq));
	p = place_of(f, wait, &at);
	if (!p || p->is == PLACE_CHANGED || (p->is == PLACE_COPIED && p->seq > wait->seq) ||
		(p->is == PLACE_KNOWN && sbt_wait_is_over(&wait->u.batch, p->value)))
		return NULL;
	*ret = !may_come(f, wait, at, UINT64_MAX);
	return NULL;
}

/* The stream of the last write that was done; UINT64_MAX - 1: none. */
static uint64_t last_writer(const struct feed *f, size_t place)
{
	for (size_t i = f->nwrites; i--;)
		if (f->writes[i].place == place && f->writes[i].done)
			return f->writes[i].stream;
	return UINT64_MAX - 1;
}

/* Whether the last write that was submitted before the wait left an unknown value. */
static bool began_unknown(const struct feed *f, const struct sbt_cmd *wait, size_t place)
{
	size_t i = kept_row_from(f->writes, f->nwrites, sizeof *f->writes, wait->seq);

	while (i--)
		if (f->writes[i].place == place)
			return !f->writes[i].known;
	return false;
}

/* Whether the fold does not know that a value was written over: by a copy or a fill that came
 * before the first wait. */
static bool was_taken_back(const struct feed *f, const struct sbt_cmd *wait, size_t place)
{
	bool there = false;

	for (size_t i = 0; i < f->nwrites && f->writes[i].seq < f->first_wait; i++) {
		const struct write *w = &f->writes[i];

		if (w->place == place && there && w->copied)
			return true;
		there |= w->place == place && w->known && !w->copied &&
			 sbt_wait_is_over(&wait->u.batch, w->value);
	}
	return false;
}

/* The fold knows the values of streams' writes itself. */
static void tell_values(struct feed *f, uint64_t seq)
{
	for (size_t i = kept_row_from(f->writes, f->nwrites, sizeof *f->writes, seq);
		i < f->nwrites && f->writes[i].seq == seq; i++)
		if (f->writes[i].known)
			fold_leaves(
				f->fold, f->places[f->writes[i].place].addr, f->writes[i].value);
}

/* Notes that c goes now. For a wait, tells the fold when another write may have ended it. */
static void goes(struct feed *f, const struct sbt_cmd *c)
{
	const struct place *p;
	size_t at;

	if (!f->scanned || c->result || c->flags & SBT_F_GRAPH)
		return;
	executed(f, c->seq);
	if (c->kind == SBT_COPY || c->kind == SBT_FILL)
		tell_values(f, c->seq);
	if (c->kind != SBT_BATCH || !c->u.batch.is_wait)
		return;
	p = place_of(f, c, &at);
	if (!p || p->is != PLACE_KNOWN || !sbt_wait_is_over(&c->u.batch, p->value) ||
		began_unknown(f, c, at) || was_taken_back(f, c, at) ||
		may_come(f, c, at, last_writer(f, at)))
		fold_doubt(f->fold);
}

static enum late_stream kind_of(void *arg, uint64_t id)
{
	const struct feed *f = arg;
	struct state_stream st;

	if (!state_stream_by_id(f->s, (uint32_t)id, &st))
		return LATE_OTHER;
	return st.is_default ? LATE_DEFAULT : st.flags & 1 ? LATE_OTHER : LATE_BLOCKING;
}

/* ---- going through them ---------------------------------------- */

struct err *feed_open(struct feed **ret, struct sbt_reader *trace, const struct state *s,
	struct fold *fold, const struct order_source *source, uint64_t first, uint64_t last)
{
	struct feed *f = xcalloc(1, sizeof *f);

	*f = (struct feed){.trace = trace,
		.s = s,
		.fold = fold,
		.source = source,
		.first = first,
		.last = last};
	struct err *e = sbt_cursor_open(&f->cursor, trace);
	if (!e)
		e = sbt_cursor_seek(f->cursor, first);
	if (e) {
		feed_close(f);
		return e;
	}
	*ret = f;
	return NULL;
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	if (f->cursor)
		sbt_cursor_close(f->cursor);
	late_free(f->late);
	free(f->places);
	free(f->writes);
	free(f->learned);
	free(f->list.a);
	free(f);
}

bool feed_waits(const struct feed *f)
{
	return f->scanned;
}

/* The next one in order of seq, which stays until it is given out. */
static struct err *fetch(struct feed *f)
{
	if (f->next)
		return NULL;
	TRY(sbt_cursor_next(f->cursor, &f->next));
	if (f->next && f->next->seq > f->last)
		f->next = NULL;
	if (f->next)
		late_host_knows(f->late, f->next);
	else
		late_give_up(f->late);
	return NULL;
}

struct err *feed_next(struct feed *f, const struct sbt_cmd **ret, enum feed_how *ret_how)
{
	const struct late_user u = {.arg = f, .ready = is_ready, .stream = kind_of};
	bool any = false;

	*ret = NULL;
	*ret_how = FEED_USUAL;
	TRY(fetch(f));
	TRY(late_next(f->late, &u, &f->now, &any));
	if (any) {
		*ret_how = FEED_LATE;
		goes(f, &f->now);
		*ret = &f->now;
		return NULL;
	}
	if (!f->next)
		return NULL;
	TRY(late_takes(f->late, &u, f->next, &any));
	if (any) {
		*ret_how = FEED_HELD;
		late_put(&f->late, &u, f->next);
	} else {
		goes(f, f->next);
	}
	*ret = f->next;
	f->next = NULL;
	return NULL;
}
