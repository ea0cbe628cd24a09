/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace of a comparison of numbers: its memory by what it is, its work, and what that touches.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/first-where.h"
#include "numeric/core/numeric-private.h"
#include "sbt/footprint.h"
#include "sbt/memory.h"
#include "state/args.h"
#include "state/state.h"

enum { SPANS_OF_ONE = 4096, SPANS_MOST = 8u << 20, ARGS_MOST = 1u << 30 };

/* --- memory and work, from the commands --- */

struct scan {
	struct numeric_side *s;
	struct state *st;
	const struct numeric_ask *ask;
	bool b;
};

static void close_areas(struct numeric_side *s, uint64_t addr, uint64_t size, uint64_t seq)
{
	for (size_t i = 0; i < s->nareas; i++) {
		struct area *a = &s->areas[i];

		if (a->to == UINT64_MAX && addr - a->addr < a->size)
			a->to = seq;
		else if (a->to == UINT64_MAX && size && a->addr - addr < size)
			a->to = seq;
	}
}

static void open_area(struct scan *x, uint64_t addr, const struct sbt_cmd *c)
{
	struct numeric_side *s = x->s;
	struct state_alloc a;

	if (!state_alloc_at(x->st, addr, &a) || !a.size)
		return;
	close_areas(s, a.addr, a.size, c->seq);
	MAKE_ROOM(s->areas, s->nareas, s->cap_areas);
	s->areas[s->nareas++] = (struct area){.addr = a.addr,
		.size = a.size,
		.from = c->seq,
		.to = UINT64_MAX,
		.alloc = c->seq,
		.place = x->ask->place && a.stack ? x->ask->place(x->ask->arg, x->b, a.stack) : 0,
		.mem = a.mem,
		.device = a.device,
		.twin = NUMERIC_NONE};
}

/* The living area with that byte, the newest first. */
static uint32_t open_at(const struct numeric_side *s, uint64_t addr)
{
	for (size_t i = s->nareas; i--;)
		if (s->areas[i].to == UINT64_MAX && addr - s->areas[i].addr < s->areas[i].size)
			return (uint32_t)i;
	return NUMERIC_NONE;
}

static void add_use(struct scan *x, uint32_t slot, uint64_t addr)
{
	struct numeric_side *s = x->s;
	struct state_alloc a;
	uint32_t area;

	if (!state_alloc_at(x->st, addr, &a))
		return;
	area = open_at(s, addr);
	if (area == NUMERIC_NONE)
		return;
	MAKE_ROOM(s->uses, s->nuses, s->cap_uses);
	s->uses[s->nuses++] = (struct area_use){slot, area, addr - s->areas[area].addr};
	s->work[s->nwork - 1].nuses++;
}

static void take_launch(struct scan *x, const struct sbt_cmd *c, struct work *w)
{
	struct numeric_side *s = x->s;
	struct state_kernel k = {0};
	struct args_words words;
	uint64_t word;

	w->kernel = (uint32_t)c->u.launch.kernel;
	if (!state_kernel_by_id(x->st, w->kernel, &k))
		k = (struct state_kernel){.name = ""};
	w->code_hash = k.code_hash ? XXH64(k.name, strlen(k.name), k.code_hash) : 0;
	if (c->u.launch.args.len + k.params.len > ARGS_MOST - s->args.len)
		return;
	w->args = s->args.len;
	w->nargs = c->u.launch.args.len;
	buf_add(&s->args, w->nargs ? c->u.launch.args.p : "", w->nargs);
	w->params = s->args.len;
	w->nparams = k.params.len;
	buf_add(&s->args, w->nparams ? k.params.p : "", w->nparams);
	words = args_words(c->u.launch.args, k.params);
	while (args_words_next(&words, &word))
		add_use(x, (uint32_t)words.at - 8, word);
}

static void take_work(struct scan *x, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct numeric_side *s = x->s;
	struct work *w;

	MAKE_ROOM(s->work, s->nwork, s->cap_work);
	w = &s->work[s->nwork++];
	*w = (struct work){.seq = c->seq, .kind = c->kind, .use = s->nuses};
	if (c->kind == SBT_LAUNCH)
		take_launch(x, c, w);
	for (unsigned i = 0; c->kind != SBT_LAUNCH && i < f->n; i++) {
		w->from_host |= f->touch[i].how == SBT_READS && f->touch[i].host_side;
		w->pageable |= f->touch[i].how == SBT_READS && f->touch[i].host_side &&
			       open_at(s, f->touch[i].rows.addr) == NUMERIC_NONE;
		add_use(x, UINT32_MAX - i, f->touch[i].rows.addr);
	}
}

static bool is_compared(const struct sbt_cmd *c)
{
	return sbt_cmd_is_work(c) && (c->kind == SBT_LAUNCH || c->kind == SBT_COPY ||
					     c->kind == SBT_FILL || c->kind == SBT_GRAPH_LAUNCH);
}

static struct err *take_cmd(struct scan *x, const struct sbt_cmd *c)
{
	struct sbt_footprint f;

	sbt_footprint(&f, c);
	for (unsigned i = 0; i < f.n; i++)
		if (f.touch[i].how == SBT_FREES)
			close_areas(x->s, f.touch[i].rows.addr, 0, c->seq);
	TRY(state_apply(x->st, c));
	for (unsigned i = 0; i < f.n; i++)
		if (f.touch[i].how == SBT_ALLOCATES)
			open_area(x, f.touch[i].rows.addr, c);
	if (is_compared(c))
		take_work(x, c, &f);
	return NULL;
}

static struct err *scan_commands(struct scan *x)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->s->en.trace.reader));
	e = sbt_cursor_next(cursor, &c);
	while (!e && c && c->seq <= x->s->last) {
		e = take_cmd(x, c);
		if (!e && engine_cancelled(&x->s->en))
			e = err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, c->seq);
		if (!e)
			e = sbt_cursor_next(cursor, &c);
	}
	sbt_cursor_close(cursor);
	return e;
}

static struct err *take_global(void *arg, const struct sbt_memory *m)
{
	struct numeric_side *s = arg;

	if (m->owner != SBT_MEMORY_GLOBAL || !m->size)
		return NULL;
	for (size_t i = 0; i < s->nareas; i++)
		if (s->areas[i].addr == m->addr && s->areas[i].size == m->size && s->areas[i].name)
			return NULL;
	MAKE_ROOM(s->areas, s->nareas, s->cap_areas);
	s->areas[s->nareas++] = (struct area){.addr = m->addr,
		.size = m->size,
		.to = UINT64_MAX,
		.mem = NUMERIC_NONE,
		.twin = NUMERIC_NONE,
		.name = xasprintf("%.*s", (int)(m->name.len < 4096 ? m->name.len : 4096),
			m->name.len ? (const char *)m->name.p : "")};
	return NULL;
}

static struct err *scan(struct numeric_side *s, const struct numeric_ask *ask, bool b)
{
	struct scan x = {.s = s, .st = state_new(), .ask = ask, .b = b};
	struct err *e = scan_commands(&x);

	state_free(x.st);
	TRY(e);
	return sbt_reader_memory(s->en.trace.reader, s->first, UINT64_MAX, take_global, s);
}

/* --- opening --- */

struct err *side_open(struct numeric_side *s, const struct numeric_ask *ask, bool b)
{
	struct replay_device *rd;

	engine_init(&s->en);
	s->opened = true;
	memcpy(s->en.set.number, ask->en->set.number, engine_settings.n * sizeof *s->en.set.number);
	s->en.hooks = (struct engine_hooks){
		.arg = ask->en->hooks.arg, .progress = ask->en->hooks.progress};
	s->en.cancel = ask->en->cancel;
	TRY(engine_open(&s->en, b ? ask->path_b : ask->path_a));
	TRY(engine_replay(&s->en, &ask->on));
	TRY(replay_device_need(&s->en, "diff --numeric", &rd));
	s->first = rd->first;
	s->last = rd->last;
	const struct device_fault f = device_info(rd->d).fault;

	if (f.told && f.first && f.first <= s->last) /* no command behind it can be executed */
		s->last = f.first > s->first ? f.first - 1 : s->first;
	return scan(s, ask, b);
}

void side_close(struct numeric_side *s)
{
	for (size_t i = 0; i < s->nareas; i++)
		free(s->areas[i].name);
	free(s->areas);
	free(s->work);
	free(s->uses);
	free(s->spans);
	free(s->live);
	buf_free(&s->args);
	if (s->opened)
		engine_deinit(&s->en);
	*s = (struct numeric_side){0};
}

struct work *side_work(const struct numeric_side *s, uint64_t seq)
{
	const size_t at = FIRST_WHERE(s->nwork, k, s->work[k].seq >= seq);

	return at < s->nwork && s->work[at].seq == seq ? &s->work[at] : NULL;
}

/* --- what lives --- */

/* areas: what the numbers at pa and pb count in */
static int by_addr(const void *pa, const void *pb, void *areas)
{
	const struct area *a = (const struct area *)areas + *(const uint32_t *)pa,
			  *b = (const struct area *)areas + *(const uint32_t *)pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

void side_live(struct numeric_side *s, uint64_t seq)
{
	if (s->live && s->live_seq == seq)
		return;
	s->live = s->live ? s->live : xmalloc((s->nareas + 1) * sizeof *s->live);
	s->live_seq = seq;
	s->nlive = 0;
	for (size_t i = 0; i < s->nareas; i++)
		if (s->areas[i].from < seq && s->areas[i].to >= seq)
			s->live[s->nlive++] = (uint32_t)i;
	if (s->nlive)
		qsort_r(s->live, s->nlive, sizeof *s->live, by_addr, s->areas);
}

uint32_t side_area_at(const struct numeric_side *s, uint64_t addr)
{
	const size_t at = FIRST_WHERE(s->nlive, k, s->areas[s->live[k]].addr > addr);

	if (!at)
		return NUMERIC_NONE;
	const struct area *a = &s->areas[s->live[at - 1]];

	return addr - a->addr < a->size ? s->live[at - 1] : NUMERIC_NONE;
}

/* --- what work touches --- */

static struct err *take_spans(
	struct numeric_side *s, const struct access_set *a, unsigned kinds, size_t *at, size_t *n)
{
	*at = s->nspans;
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++) {
		const bool as_read = a->set.inexact >> k & 1;

		if (!(kinds >> (k % SOFT_ACCESSES) & 1) &&
			!(as_read && kinds >> SOFT_ACCESS_READ & 1))
			continue;
		if (s->nspans + a->set.n[k] > SPANS_MOST)
			return err_cure(err_new(ERR_LIMIT,
						"the window's commands touch more than %u ranges",
						(unsigned)SPANS_MOST),
				"Record a shorter window");
		for (size_t i = 0; i < a->set.n[k]; i++) {
			MAKE_ROOM(s->spans, s->nspans, s->cap_spans);
			s->spans[s->nspans++] =
				(struct span){a->set.span[k][i].addr, a->set.span[k][i].size};
		}
	}
	*n = s->nspans - *at;
	return NULL;
}

/* Spans that hold bytes which were not written count as read, too. */
static struct err *take_set(void *arg, const struct access_set *a)
{
	struct numeric_side *s = arg;
	struct work *w = side_work(s, a->seq);

	engine_progress(&s->en, "executing commands,", a->seq - s->first, s->last - s->first + 1);
	if (!w)
		return NULL;
	w->known = true;
	w->cut = a->cut && w->kind == SBT_LAUNCH;
	TRY(take_spans(
		s, a, 1u << SOFT_ACCESS_READ | 1u << SOFT_ACCESS_ATOMIC, &w->reads, &w->nreads));
	return take_spans(s, a, 1u << SOFT_ACCESS_WRITTEN | 1u << SOFT_ACCESS_ATOMIC, &w->writes,
		&w->nwrites);
}

struct err *side_learn(struct numeric_side *s)
{
	struct replay_device *rd = s->en.trace.device;

	return (rd->watches ? device_access_sets : device_changed_sets)(
		rd->d, s->first, s->last, SPANS_OF_ONE, take_set, s);
}
