/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a launch under the microscope, on a thread of its own, by the interpreter with an observer.
 * A stopped launch waits in the observer's callback until the caller says how to go on. Warps run
 * in their usual order; once a user has stepped another warp than the one at work, that one goes
 * first whenever it can (a turn, which is kept so that the launch can be repeated to the
 * instruction). The surprise: when a warp gives way, the callback comes again for the same
 * instruction, so a stop there must not be reported twice.
 */
#include "softgpu/micro/micro.h"
#include "softgpu/machine/ptx-cluster.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *micro_say(struct soft_session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->sentence, sizeof(s->sentence), fmt, ap);
	va_end(ap);
	return s->sentence;
}

/* --- blocks and warps --- */
void micro_coordinates(const unsigned grid[3], uint64_t index, uint32_t ret[3])
{
	ret[0] = (uint32_t)(index % grid[0]);
	ret[1] = (uint32_t)(index / grid[0] % grid[1]);
	ret[2] = (uint32_t)(index / grid[0] / grid[1]);
}

/* Where a block that runs is; nslots: nowhere. */
static unsigned slot_of(const struct soft_session *s, uint64_t index)
{
	unsigned k = 0;

	if (s->l.cooperative)
		return index < s->nslots && s->blocks[index] ? (unsigned)index : s->nslots;
	while (k < s->nslots && !(s->blocks[k] && s->blocks[k]->index == index))
		k++;
	return k;
}

struct ptx_block *micro_block(const struct soft_session *s, uint64_t index)
{
	unsigned k = slot_of(s, index);

	return k < s->nslots ? s->blocks[k] : NULL;
}

struct ptx_warp *micro_warp(const struct soft_session *s)
{
	struct ptx_block *b = micro_block(s, s->focus_block);

	return b && s->focus_warp < b->nwarps ? &b->warps[s->focus_warp] : NULL;
}

uint64_t *micro_steps(const struct soft_session *s, const struct ptx_warp *w)
{
	unsigned k = slot_of(s, w->blk->index);

	return &s->steps[(uint64_t)(k < s->nslots ? k : 0) * s->nwarps + w->id];
}

static bool is_focus(const struct soft_session *s, const struct ptx_warp *w)
{
	return w->blk->index == s->focus_block && w->id == s->focus_warp;
}

static void focus_on(struct soft_session *s, const struct ptx_warp *w, uint32_t lanes)
{
	bool same = s->has_focus && is_focus(s, w);

	s->focus_block = w->blk->index;
	s->focus_warp = w->id;
	if (lanes && !(same && lanes >> s->focus_lane & 1))
		s->focus_lane = (unsigned)__builtin_ctz(lanes);
	else if (!(w->all >> s->focus_lane & 1))
		s->focus_lane = 0;
	s->has_focus = true;
}

/* --- what a stop says --- */
static void fill_place(struct soft_session *s, struct soft_stop *t, const struct ptx_warp *w)
{
	struct micro_place p = micro_place_of(w);
	const struct ptx_loc *loc;

	memcpy(t->block, w->blk->ctaid, sizeof(t->block));
	t->warp = w->id;
	t->lane = s->focus_lane;
	ptx_thread_of(w, s->focus_lane, t->thread);
	t->live = w->live;
	t->step = *micro_steps(s, w);
	if (!p.ent)
		return;
	t->line = p.line;
	t->depth = p.frame;
	t->active = p.active;
	t->executing = p.executing;
	snprintf(t->function, sizeof(t->function), "%s", p.fn->name);
	micro_text_line(&s->text, p.line, true, t->text, sizeof(t->text));
	loc = micro_loc(p.fn, p.pc);
	if (loc) {
		t->source_line = loc->line;
		snprintf(t->file, sizeof(t->file), "%s", micro_file(p.fn, loc->file));
	}
}

void micro_fill(struct soft_session *s, enum soft_state state, enum soft_why why)
{
	struct soft_stop *t = &s->stop;
	const struct ptx_warp *w = state == SOFT_ENDED ? NULL : micro_warp(s);

	memset(t, 0, sizeof(*t));
	t->state = state;
	t->why = why;
	t->total = s->total;
	t->found = s->found;
	t->found_end = s->found_end;
	snprintf(t->kernel, sizeof(t->kernel), "%s", s->l.fn->name);
	if (w)
		fill_place(s, t, w);
}

/* --- standing --- */
static bool is_aborted(struct soft_session *s)
{
	return atomic_load_explicit(&s->abort, memory_order_relaxed);
}

/* In the launch's thread: stops here until the caller lets it go on. s->stop is filled. */
static void stand(struct soft_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->phase = MICRO_STANDS;
	s->resume = false;
	pthread_cond_broadcast(&s->changed);
	while (!s->resume && !is_aborted(s))
		pthread_cond_wait(&s->changed, &s->lock);
	s->phase = MICRO_RUNS;
	pthread_mutex_unlock(&s->lock);
}

static bool focus_is_gone(const struct soft_session *s)
{
	const struct ptx_warp *w = micro_warp(s);

	return !w || w->state == WARP_DONE;
}

static void stop_at(struct soft_session *s, struct ptx_warp *w, uint32_t lanes,
	enum soft_state state, enum soft_why why, unsigned id)
{
	if (state != SOFT_BUSY ||
		focus_is_gone(s)) /* an interruption shows where the launch is by now */
		focus_on(s, w, lanes);
	micro_fill(s, state, why);
	s->stop.id = id;
	s->stop.hit = why == SOFT_WHY_POINT ? lanes : 0;
	stand(s);
}

/* --- turns --- */
static void prefer(struct soft_session *s, uint64_t block, unsigned warp)
{
	s->has_prefer = true;
	s->prefer_block = block;
	s->prefer_warp = warp;
}

static void take_turns(struct soft_session *s)
{
	for (; s->next_turn < s->nturns && s->turns[s->next_turn].total <= s->total; s->next_turn++)
		prefer(s, s->turns[s->next_turn].block, s->turns[s->next_turn].warp);
}

static bool gives_way(const struct soft_session *s, const struct ptx_warp *w)
{
	const struct ptx_block *b = s->has_prefer ? micro_block(s, s->prefer_block) : NULL;

	if (!b || s->prefer_warp >= b->nwarps || (b == w->blk && s->prefer_warp == w->id))
		return false;
	return b->warps[s->prefer_warp].state == WARP_RUN;
}

/* From here on warp goes first. What was to come after this point is forgotten. */
static bool make_turn(struct soft_session *s, uint64_t block, unsigned warp)
{
	s->nturns = s->next_turn;
	if (s->nturns == s->cap_turns) {
		unsigned cap = s->cap_turns ? 2 * s->cap_turns : 16;
		struct soft_turn *t = realloc(s->turns, cap * sizeof(*t));
		if (!t)
			return false;
		s->turns = t;
		s->cap_turns = cap;
	}
	s->turns[s->nturns++] = (struct soft_turn){.total = s->total, .block = block, .warp = warp};
	take_turns(s);
	return true;
}

const struct soft_turn *micro_turns(struct soft_session *s, unsigned *ret_n)
{
	*ret_n = s->nturns;
	return s->turns;
}

/* --- reasons to stop --- */
/* Notes the line of source of place p; false when it is the noted one, or none is known. */
static bool take_line(struct soft_session *s, const struct micro_place *p)
{
	const struct ptx_loc *l = p->fn ? micro_loc(p->fn, p->pc) : NULL;

	if (!l || (l->line == s->aim_line && l->file == s->aim_file))
		return false;
	s->aim_line = l->line;
	s->aim_file = l->file;
	return true;
}

/* Whether the aim is reached before the next instruction of w. */
static bool reached(struct soft_session *s, const struct ptx_warp *w, enum soft_why *why)
{
	uint64_t step = *micro_steps(s, w);

	*why = SOFT_WHY_STEP;
	switch (s->aim.how) {
	case SOFT_STEP:
		if (is_focus(s, w) && step >= s->aim.n)
			return true;
		break;
	case SOFT_NEXT:
		if (is_focus(s, w) && step > s->aim_step && w->nframes - 1 <= s->aim_depth) {
			s->aim_depth = w->nframes - 1;
			s->aim_step = step;
			if (!--s->aim.n)
				return true;
		}
		break;
	case SOFT_LINE:
		if (is_focus(s, w) && w->nframes - 1 <= s->aim_depth) {
			const struct micro_place p = micro_place_of(w);

			if (w->nframes - 1 < s->aim_depth)
				s->aim_line = 0;
			s->aim_depth = w->nframes - 1;
			if (take_line(s, &p) && !--s->aim.n)
				return true;
		}
		break;
	case SOFT_TO:
	case SOFT_SCAN:
		return s->total == s->aim.n && !s->aim.end;
	case SOFT_TO_STEP:
		return w->blk->index == s->aim.block && w->id == s->aim.warp && step == s->aim.n;
	default:
		return false;
	}
	*why = SOFT_WHY_WARP_ENDED;
	return focus_is_gone(s);
}

static bool wants_points(const struct soft_session *s)
{
	return s->aim.how <= SOFT_RUN || s->aim.how == SOFT_SCAN;
}

static void remember(struct soft_session *s, bool end)
{
	s->found = s->total;
	s->found_end = end;
}

/* Watched bytes that the instruction before changed or touched. */
static void look_at_writes(struct soft_session *s)
{
	struct soft_change c;
	struct ptx_warp *w = s->writer;
	const struct micro_point *q;
	bool here = s->aim.how == SOFT_TO && s->total == s->aim.n && s->aim.end == s->at_end;

	if (!s->npieces)
		return;
	q = micro_changed(s, &c);
	if (!q || !(wants_points(s) || here))
		return;
	if (s->aim.how == SOFT_SCAN) {
		if (s->total < s->aim.n)
			remember(s, s->at_end);
		return;
	}
	focus_on(s, w, 0);
	for (unsigned l = 0; l < PTX_LANES; l++) { /* the writer, though it may have ended */
		unsigned t[3];
		ptx_thread_of(w, l, t);
		if (w->all >> l & 1 && !memcmp(t, c.thread, sizeof(t)))
			s->focus_lane = l;
	}
	micro_fill(s, SOFT_STOPPED, SOFT_WHY_WATCH);
	s->stop.id = q->p.id;
	s->stop.change = c;
	stand(s);
}

/* Marks this instruction of w as seen; returns whether it was already. */
static bool tell(struct soft_session *s, const struct ptx_warp *w)
{
	uint64_t *step = micro_steps(s, w), *told = &s->told[step - s->steps];
	bool ret = *told == *step + 1;

	*told = *step + 1;
	return ret;
}

static void look_at_step(struct soft_session *s, struct ptx_warp *w)
{
	const struct micro_point *q = NULL;
	enum soft_why why;
	uint32_t lanes = 0;
	bool there = reached(s, w, &why), told = tell(s, w);

	if (s->npoints && !told && (wants_points(s) || (there && s->aim.how == SOFT_TO)))
		q = micro_hit(s, w, &lanes);
	if (q && s->aim.how == SOFT_SCAN) {
		if (!there)
			remember(s, false);
		q = NULL;
	}
	if (q)
		stop_at(s, w, lanes, SOFT_STOPPED, SOFT_WHY_POINT, q->p.id);
	else if (there)
		stop_at(s, w, why == SOFT_WHY_WARP_ENDED ? w->ents[w->nents - 1].mask : 0,
			SOFT_STOPPED, why, 0);
	else if (atomic_exchange(&s->pause, false))
		stop_at(s, w, 0, SOFT_BUSY, SOFT_WHY_TIME, 0);
}

/* --- callbacks --- */
static _Noreturn void give_up(struct ptx_warp *w)
{
	ptx_raise(w, w->cur, 0, PTX_CANCELLED, 0, 0, NULL);
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	struct soft_session *s = arg;

	s->at = w;
	s->at_end = false;
	if (is_aborted(s))
		give_up(w);
	take_turns(s);
	if (gives_way(s, w))
		return PTX_STEP_YIELD;
	if (s->npieces)
		look_at_writes(s);
	if (!is_aborted(s))
		look_at_step(s, w);
	if (is_aborted(s))
		give_up(w);
	if (gives_way(s, w))
		return PTX_STEP_YIELD;
	++*micro_steps(s, w);
	s->total++;
	return PTX_STEP_ON;
}

static void on_access(void *arg, const struct ptx_access *a)
{
	struct soft_session *s = arg;

	if (s->watches)
		micro_note_access(s, a);
}

static void on_block_start(void *arg, struct ptx_block *b)
{
	struct soft_session *s = arg;
	uint64_t slot = s->l.cooperative ? b->index : 0;

	while (!s->l.cooperative && slot + 1 < s->nslots && s->blocks[slot])
		slot++;
	s->blocks[slot] = b;
	memset(&s->steps[slot * s->nwarps], 0, s->nwarps * sizeof(*s->steps));
	memset(&s->told[slot * s->nwarps], 0, s->nwarps * sizeof(*s->told));
	s->block_state[b->index] = SOFT_BLOCK_RUNS;
	s->started++;
}

static void on_block_end(void *arg, struct ptx_block *b)
{
	struct soft_session *s = arg;

	s->at = &b->warps[0];
	s->at_end = true;
	if (s->npieces && !is_aborted(s))
		look_at_writes(s);
	s->block_state[b->index] = SOFT_BLOCK_ENDED;
	s->ended++;
	if (slot_of(s, b->index) < s->nslots)
		s->blocks[slot_of(s, b->index)] = NULL;
}

/* A fault's text without the prefix that names the software GPU. */
static void take_text(struct soft_session *s, const struct ptx_fault *f)
{
	static const char own[] = "tsdb softgpu: ";
	const char *text = f->text;

	if (!strncmp(text, own, sizeof(own) - 1))
		text += sizeof(own) - 1;
	snprintf(s->stop.sentence, sizeof(s->stop.sentence), "%s", text);
}

static void on_fault(void *arg, struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	const struct ptx_fault *f)
{
	struct soft_session *s = arg;
	struct micro_place p;

	if (is_aborted(s))
		return;
	s->at = w;
	p = micro_place_of(w);
	if (p.ent && &p.fn->insns[p.pc] == i &&
		*micro_steps(s, w)) { /* it was counted, and is not executed */
		--*micro_steps(s, w);
		s->total--;
	}
	focus_on(s, w, 1u << lane);
	s->focus_lane = lane;
	micro_fill(s, SOFT_FAULTED, SOFT_WHY_FAULT);
	take_text(s, f);
	stand(s);
	s->aim.how = SOFT_FINISH;
	if (is_aborted(s))
		w->wk->fault.code = PTX_CANCELLED;
}

static void *run(void *arg)
{
	struct soft_session *s = arg;

	s->code = ptx_run(&s->l, &s->fault);
	pthread_mutex_lock(&s->lock);
	micro_fill(s, SOFT_ENDED, s->code ? SOFT_WHY_FAULT : SOFT_WHY_END);
	if (s->code)
		take_text(s, &s->fault);
	s->phase = MICRO_OVER;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- life --- */
static void session_free(struct soft_session *s)
{
	free((void *)(uintptr_t)s->l.params);
	free(s->text.start);
	free(s->stops);
	free(s->blocks);
	free(s->steps);
	free(s->told);
	free(s->block_state);
	free(s->turns);
	free(s->points);
	free(s->pieces);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}

static bool session_alloc(struct soft_session *s, const char *text, size_t n,
	const struct soft_turn *turns, unsigned nturns)
{
	const uint64_t slots = s->l.cooperative ? s->nblocks : ptx_cluster_size(&s->l);
	void *params = calloc(1, s->l.fn->param_bytes + 1);

	if (params && s->l.params)
		memcpy(params, s->l.params, s->l.fn->param_bytes);
	s->l.params = params;
	s->nslots = (unsigned)slots;
	s->blocks = calloc(slots, sizeof(*s->blocks));
	s->steps = calloc(slots * s->nwarps, sizeof(*s->steps));
	s->told = calloc(slots * s->nwarps, sizeof(*s->told));
	s->block_state = malloc(s->nblocks);
	s->turns = calloc(nturns + 1, sizeof(*s->turns));
	s->pieces = calloc(PTX_LANES + 1, sizeof(*s->pieces));
	if (!params || !s->blocks || !s->steps || !s->told || !s->block_state || !s->turns ||
		!s->pieces || !micro_text_init(&s->text, text, n))
		return false;
	s->stops = calloc(s->text.nlines + 2, sizeof(*s->stops));
	if (!s->stops)
		return false;
	memset(s->block_state, SOFT_BLOCK_WAITS, s->nblocks);
	if (nturns)
		memcpy(s->turns, turns, nturns * sizeof(*turns));
	s->nturns = nturns;
	s->cap_turns = nturns + 1;
	return true;
}

static bool session_thread(struct soft_session *s)
{
	sigset_t all, old;
	int bad;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bad = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !bad;
}

static void wait_until(struct soft_session *s, uint32_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	while (s->phase == MICRO_RUNS)
		if (!ms)
			pthread_cond_wait(&s->changed, &s->lock);
		else if (pthread_cond_timedwait(&s->changed, &s->lock, &end) == ETIMEDOUT) {
			atomic_store(&s->pause, true);
			ms = 0;
		}
}

const char *micro_start(const struct ptx_launch *l, const char *text, size_t n,
	const struct soft_turn *turns, unsigned nturns, struct soft_session **ret,
	struct soft_stop *stop)
{
	struct soft_session *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	*ret = NULL;
	if (!s)
		return "the host has no memory";
	s->l = *l;
	s->nblocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	s->nwarps = (l->block[0] * l->block[1] * l->block[2] + PTX_LANES - 1) / PTX_LANES;
	s->observer = (struct ptx_observer){.arg = s,
		.step = on_step,
		.access = on_access,
		.block_start = on_block_start,
		.block_end = on_block_end,
		.fault = on_fault,
		.next = l->observer};
	s->l.observer = &s->observer;
	s->aim.how = SOFT_TO;
	s->found = UINT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (!session_alloc(s, text, n, turns, nturns) || !session_thread(s)) {
		session_free(s);
		return "the host has no memory or no threads for the launch";
	}
	pthread_mutex_lock(&s->lock);
	wait_until(s, 0);
	pthread_mutex_unlock(&s->lock);
	if (s->stop.why == SOFT_WHY_STEP)
		s->stop.why = SOFT_WHY_BEGIN;
	*stop = s->stop;
	*ret = s;
	return NULL;
}

void micro_end(struct soft_session *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->abort, true);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	session_free(s);
}

/* --- going on --- */
/* STEP, NEXT and LINE move the focused warp: it goes first from here on, unless it is at work
 * anyway. */
static const char *aim_at_focus(struct soft_session *s)
{
	struct ptx_warp *w = micro_warp(s);
	struct micro_place p;

	if (!w || w->state == WARP_DONE)
		return NULL; /* stops at once, at whatever comes next */
	p = micro_place_of(w);
	s->aim_line = 0;
	if (s->aim.how == SOFT_LINE && !take_line(s, &p))
		return micro_say(s, "the PTX does not say which line of the source this is");
	if (s->aim.how == SOFT_STEP)
		s->aim.n += *micro_steps(s, w);
	s->aim_step = *micro_steps(s, w);
	s->aim_depth = micro_place_of(w).frame;
	if ((w != s->at || gives_way(s, w)) &&
		!(s->has_prefer && s->prefer_block == s->focus_block &&
			s->prefer_warp == s->focus_warp) &&
		!make_turn(s, s->focus_block, s->focus_warp))
		return "the host has no memory";
	return NULL;
}

/* Whether a breakpoint is at the place where the launch is stopped; if so, the stop becomes a hit
 * of it. */
static bool hit_here(struct soft_session *s)
{
	const struct micro_point *q = NULL;
	uint32_t lanes;

	if (s->phase == MICRO_STANDS && !s->at_end && s->stop.state == SOFT_STOPPED)
		q = micro_hit(s, s->at, &lanes);
	if (!q)
		return false;
	focus_on(s, s->at, lanes);
	micro_fill(s, SOFT_STOPPED, SOFT_WHY_POINT);
	s->stop.id = q->p.id;
	s->stop.hit = lanes;
	return true;
}

const char *micro_go(struct soft_session *s, const struct soft_go *g, struct soft_stop *stop)
{
	const char *why = NULL;

	if (s->phase == MICRO_OVER)
		return micro_say(s, "the launch has ended");
	if (g->how > SOFT_SCAN)
		return micro_say(s, "there is no way %u to go on", g->how);
	if (g->how != SOFT_ON) {
		s->aim = *g;
		s->found = UINT64_MAX;
		s->found_end = false;
		if (g->how <= SOFT_FINISH)
			s->nturns = s->next_turn;
		if (g->how == SOFT_STEP || g->how == SOFT_NEXT || g->how == SOFT_LINE)
			why = g->n ? aim_at_focus(s) : "a count of 0";
		if (why)
			return why;
		if (g->how == SOFT_RUN && g->n && hit_here(s)) {
			*stop = s->stop;
			return NULL;
		}
	}
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->pause, false);
	s->phase = MICRO_RUNS;
	s->resume = true;
	pthread_cond_broadcast(&s->changed);
	wait_until(s, g->ms);
	pthread_mutex_unlock(&s->lock);
	*stop = s->stop;
	return NULL;
}

/* --- focus --- */
const char *micro_focus(struct soft_session *s, const uint32_t block[3], const uint32_t thread[3],
	uint64_t *ret_first, struct soft_stop *stop)
{
	const unsigned *g = s->l.grid, *b = s->l.block;
	uint64_t index;
	unsigned t;

	*ret_first = UINT64_MAX;
	if (s->phase == MICRO_OVER)
		return micro_say(s, "the launch has ended");
	for (unsigned k = 0; k < 3; k++) {
		if (block[k] >= g[k])
			return micro_say(s, "the grid is (%u,%u,%u): there is no block (%u,%u,%u)",
				g[0], g[1], g[2], block[0], block[1], block[2]);
		if (thread[k] >= b[k])
			return micro_say(s, "blocks are (%u,%u,%u): there is no thread (%u,%u,%u)",
				b[0], b[1], b[2], thread[0], thread[1], thread[2]);
	}
	index = block[0] + (uint64_t)g[0] * (block[1] + (uint64_t)g[1] * block[2]);
	t = thread[0] + b[0] * (thread[1] + b[1] * thread[2]);
	if (!micro_block(s, index)) {
		if (s->l.cooperative)
			return micro_say(
				s, "block (%u,%u,%u) has ended", block[0], block[1], block[2]);
		*ret_first = index;
		return NULL;
	}
	s->focus_block = index;
	s->focus_warp = t / PTX_LANES;
	s->focus_lane = t % PTX_LANES;
	micro_fill(s, SOFT_STOPPED, SOFT_WHY_FOCUS);
	*stop = s->stop;
	return NULL;
}
