/* SPDX-License-Identifier: Apache-2.0
 *
 * A window as items: the fold says what is allocated, which record a wait waits for, and what the
 * host knew. The surprise: for a plan it is enough to know what the host knew at one moment, the
 * last command asked for, since the host never forgets.
 */
#include <stdlib.h>
#include <string.h>
#include "replay/plan/plan-private.h"
#include "base/checked.h"
#include "sbt/footprint.h"
#include "sbt/memory.h"
#include "state/args.h"

#define ALIKE 256  /* touches of a command that are looked through for an equal one */
#define PIECES 256 /* of a range, each in an allocation of its own; more count as everything */

/* --- lanes --- */

uint32_t plan_scan_lane(const struct plan_scan *s, uint32_t id)
{
	for (uint32_t i = s->nlanes; i--;)
		if (s->lanes[i].id == id)
			return i;
	return UINT32_MAX;
}

static uint32_t lane_of(struct plan_scan *s, uint32_t id)
{
	uint32_t i = plan_scan_lane(s, id);
	struct state_stream st;

	if (i == UINT32_MAX) {
		MAKE_ROOM(s->lanes, s->nlanes, s->cap_lanes);
		i = s->nlanes++;
		s->lanes[i] = (struct plan_lane){.id = id};
	}
	if (!s->lanes[i].known && state_stream_by_id(s->s, id, &st) &&
		!(st.flags & SBT_STREAM_UNKNOWN)) {
		s->lanes[i].known = true;
		s->lanes[i].ctx = st.ctx;
		s->lanes[i].is_default = st.is_default;
		s->lanes[i].blocking = !(st.flags & 1) && !st.is_default;
	}
	return i;
}

/* --- allocations --- */

static size_t slot_of(const struct plan_scan *s, uint64_t seq)
{
	size_t i = (size_t)(seq * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->slots - 1);

	while (s->alloc_seqs[i] && s->alloc_seqs[i] != seq + 1)
		i = (i + 1) & (s->slots - 1);
	return i;
}

static void more_slots(struct plan_scan *s)
{
	uint64_t *seqs = s->alloc_seqs;
	uint32_t *keys = s->alloc_keys;
	size_t old = s->slots;

	s->slots = old ? old * 2 : 256;
	s->alloc_seqs = xcalloc(s->slots, sizeof *s->alloc_seqs);
	s->alloc_keys = xcalloc(s->slots, sizeof *s->alloc_keys);
	for (size_t i = 0; i < old; i++) {
		size_t to = seqs[i] ? slot_of(s, seqs[i] - 1) : 0;

		if (!seqs[i])
			continue;
		s->alloc_seqs[to] = seqs[i];
		s->alloc_keys[to] = keys[i];
	}
	free(seqs);
	free(keys);
}

/* Keys from 1. Two allocations are never made by one command. */
static uint32_t key_of(struct plan_scan *s, const struct state_alloc *a)
{
	size_t i;

	if (2 * s->nallocs >= s->slots)
		more_slots(s);
	i = slot_of(s, a->alloc_seq);
	if (!s->alloc_seqs[i]) {
		s->alloc_seqs[i] = a->alloc_seq + 1;
		s->alloc_keys[i] = (uint32_t)++s->nallocs;
	}
	return s->alloc_keys[i];
}

/* --- what a command touches --- */

static void touch(struct plan_scan *s, struct plan_item *it, uint32_t key, unsigned how,
	uint64_t addr, uint64_t end)
{
	for (uint32_t i = 0; i < it->ntouches && i < ALIKE; i++) {
		struct plan_touch *t = &s->touches[it->touch + i];

		if (t->key == key && t->addr == addr && t->end == end) {
			t->how |= how;
			return;
		}
	}
	MAKE_ROOM(s->touches, s->ntouches, s->cap_touches);
	s->touches[s->ntouches++] =
		(struct plan_touch){.key = key, .how = how, .addr = addr, .end = end};
	it->ntouches++;
}

/* Touches n bytes at addr: the part in each allocation by itself, since others name the allocation.
 * on_host: what is in no allocation is pageable memory, which is ignored. */
static void touch_range(struct plan_scan *s, struct plan_item *it, uint64_t addr, uint64_t n,
	unsigned how, bool on_host)
{
	const uint64_t end = sat_add(addr, n);
	const uint32_t most = it->ntouches + PIECES;
	struct state_alloc a;

	while (addr < end) {
		const bool found = state_alloc_from(s->s, addr, &a) && a.addr < end;
		const uint64_t to = !found		    ? end
				    : a.addr > addr	    ? a.addr
				    : a.size < end - a.addr ? a.addr + a.size
							    : end;

		if (it->ntouches == most) {
			it->everything = true;
			return;
		}
		if (found && a.addr <= addr)
			touch(s, it, key_of(s, &a), how, addr, to);
		else if (!on_host)
			touch(s, it, 0, how, addr, to);
		addr = to;
	}
}

static bool has_globals(const struct plan_scan *s, uint32_t module)
{
	if (module == SBT_NO_ID)
		return s->nmodules || s->unlisted_globals;
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i] == module)
			return true;
	return s->unlisted_globals;
}

/* A handle may come from memory: so any texture and surface that is alive may be used. */
static void touch_textures(struct plan_scan *s, struct plan_item *it)
{
	struct state_texture t;
	struct state_alloc a;

	for (unsigned i = 0; state_texture(s->s, i, &t); i++)
		if (state_alloc_at(s->s, t.is->addr, &a))
			touch(s, it, key_of(s, &a), PLAN_READS | PLAN_WRITES, a.addr,
				a.addr + a.size);
}

static void touch_launch(struct plan_scan *s, struct plan_item *it, const struct sbt_cmd_launch *u)
{
	struct args_words w;
	struct state_kernel k;
	struct state_alloc a;
	uint64_t v;

	if (u->kernel >= SBT_NO_ID || !state_kernel_by_id(s->s, (uint32_t)u->kernel, &k) ||
		(k.params.len >= 8 && !u->args.len)) {
		it->everything = true;
		return;
	}
	if (has_globals(s, k.module))
		touch(s, it, 0, PLAN_READS | PLAN_WRITES, 0, 0);
	w = args_words(u->args, k.params);
	while (args_words_next(&w, &v))
		if (state_alloc_at(s->s, v, &a))
			touch(s, it, key_of(s, &a), PLAN_READS | PLAN_WRITES, a.addr,
				a.addr + a.size);
	touch_textures(s, it);
}

struct touching {
	struct plan_scan *s;
	struct plan_item *it;
};

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	return state_footprint_node(((struct touching *)arg)->s->s, graph, i, ret);
}

/* For a wait on a value, and for a wait inside a graph, the trace does not say whose work it waits
 * for. */
static void found(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct touching *x = arg;

	if (f->does & SBT_RUNS_KERNEL)
		touch_launch(x->s, x->it, &c->u.launch);
	if (f->does & (SBT_CALLS_HOST | SBT_DOES_UNKNOWN))
		x->it->everything = true;
	if (f->does & SBT_WAITS)
		x->it->waits_all |= f->in_graph || c->kind != SBT_STREAM_WAIT;
	for (unsigned i = 0; i < f->n && !(f->does & SBT_WAITS); i++)
		touch_range(x->s, x->it, f->touch[i].rows.addr, sbt_rows_size(&f->touch[i].rows),
			f->touch[i].how == SBT_READS ? PLAN_READS : PLAN_WRITES,
			f->touch[i].host_side);
}

static void touch_cmd(struct plan_scan *s, struct plan_item *it, const struct sbt_cmd *c)
{
	struct touching x = {s, it};

	sbt_footprint_each(c, &(struct sbt_footprint_walk){a_node, found, &x});
}

/* --- recorded memory --- */

static void note_global(struct plan_scan *s, uint64_t module)
{
	if (module >= SBT_NO_ID) {
		s->unlisted_globals = true;
		return;
	}
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i] == module)
			return;
	MAKE_ROOM(s->modules, s->nmodules, s->cap_modules);
	s->modules[s->nmodules++] = (uint32_t)module;
}

static struct err *note_memory(void *arg, const struct sbt_memory *m)
{
	struct plan_scan *s = arg;

	if (m->owner == SBT_MEMORY_GLOBAL)
		note_global(s, m->module);
	if ((m->role != SBT_MEMORY_INPUT && m->role != SBT_MEMORY_EFFECT) || !m->has_bytes ||
		m->missing)
		return NULL;
	if (s->nrecorded && s->recorded[s->nrecorded - 1] == m->seq)
		return NULL;
	MAKE_ROOM(s->recorded, s->nrecorded, s->cap_recorded);
	s->recorded[s->nrecorded++] = m->seq;
	return NULL;
}

static bool is_recorded(const struct plan_scan *s, uint64_t seq)
{
	size_t lo = 0, hi = s->nrecorded;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->recorded[mid] < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->nrecorded && s->recorded[lo] == seq;
}

/* --- the fold --- */

static void add_item(struct plan_scan *s, const struct sbt_cmd *c)
{
	struct state_event ev;
	struct plan_item it = {.seq = c->seq,
		.kind = c->kind,
		.leavable = sbt_kind_does(c->kind) & SBT_CHANGES,
		.wait_stream = UINT32_MAX,
		.touch = s->ntouches,
		.recorded = is_recorded(s, c->seq),
		.stream = lane_of(s, sbt_cmd_stream(c))};

	touch_cmd(s, &it, c);
	if (c->kind == SBT_STREAM_WAIT && c->u.stream_wait.event < SBT_NO_ID &&
		state_event_by_id(s->s, (uint32_t)c->u.stream_wait.event, &ev) && ev.record_seq) {
		it.wait_stream = lane_of(s, ev.stream);
		it.wait_seq = ev.record_seq;
	}
	MAKE_ROOM(s->items, s->n, s->cap);
	s->items[s->n++] = it;
}

/* Marks what the host knew to be finished before command upto as needed. Destroyed streams are
 * finished. */
static void host_knows(struct plan_scan *s, uint64_t upto)
{
	struct state_stream st;

	for (uint32_t i = 0; i < s->nlanes; i++) {
		struct plan_lane *l = &s->lanes[i];

		if (!state_stream_by_id(s->s, l->id, &st))
			l->needed = upto - 1;
		else
			l->needed = st.head ? st.head - 1 : st.last_submitted;
	}
}

static struct err *scan(struct plan_scan *s, struct sbt_cursor *cursor, uint64_t first,
	uint64_t last, uint64_t upto)
{
	const struct sbt_cmd *c;
	bool known = false;

	TRY(sbt_cursor_seek(cursor, first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!known && (!c || c->seq >= upto)) {
			known = true;
			host_knows(s, upto);
		}
		if (!c || c->seq > last)
			return NULL;
		if (sbt_cmd_is_work(c))
			add_item(s, c);
		TRY(state_apply(s->s, c));
	}
}

/* Scans for globals: programs ask for a global's address long after kernels have written to it. */
static struct err *find_globals(
	struct plan_scan *s, struct sbt_cursor *cursor, uint64_t first, uint64_t last)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > last)
			return NULL;
		if (c->kind == SBT_GLOBAL_DEF)
			note_global(s, c->u.global_def.module);
	}
}

struct err *plan_scan(struct plan_scan *ret, struct sbt_reader *trace, uint64_t first,
	uint64_t last, uint64_t upto)
{
	struct sbt_cursor *cursor = NULL;
	struct err *e;

	*ret = (struct plan_scan){0};
	e = state_at(&ret->s, trace, first - 1);
	if (!e)
		e = sbt_reader_memory(trace, first, last, note_memory, ret);
	if (!e)
		e = sbt_cursor_open(&cursor, trace);
	if (!e)
		e = find_globals(ret, cursor, first, last);
	if (!e)
		e = scan(ret, cursor, first, last, upto);
	if (cursor)
		sbt_cursor_close(cursor);
	if (e)
		plan_scan_free(ret);
	return e;
}

void plan_scan_free(struct plan_scan *s)
{
	free(s->items);
	free(s->touches);
	free(s->lanes);
	free(s->alloc_seqs);
	free(s->alloc_keys);
	free(s->recorded);
	free(s->modules);
	state_free(s->s);
	*s = (struct plan_scan){0};
}
