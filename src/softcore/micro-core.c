/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides where a launch under the microscope stops. A stopped launch waits in the observer's
 * callback until the caller says how to go on. Warps run in their usual order; once a user has
 * stepped another warp than the one at work, that one goes first whenever it can (a turn, which is
 * kept so that the launch can be repeated to the instruction). The surprise: when a warp gives way,
 * the callback comes again for the same instruction, so a stop there must not be reported twice.
 */
#include "softcore/micro-core.h"

#include <errno.h>
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

	if (s->nslots == s->nblocks)
		return index < s->nslots && s->blocks[index] ? (unsigned)index : s->nslots;
	if (s->blocks[s->last] && s->index[s->last] == index)
		return s->last;
	while (k < s->nslots && !(s->blocks[k] && s->index[k] == index))
		k++;
	return k;
}

/* The place of a block that is known to run. */
static unsigned slot_at(const struct soft_session *s, const void *block)
{
	unsigned k = s->last;

	if (s->blocks[k] == block)
		return k;
	for (k = 0; k < s->nslots; k++)
		if (s->blocks[k] == block)
			break;
	return k < s->nslots ? k : 0;
}

static uint64_t index_of(const struct soft_session *s, struct micro_at w)
{
	return s->index[slot_at(s, w.block)];
}

void *micro_block(const struct soft_session *s, uint64_t index)
{
	unsigned k = slot_of(s, index);

	return k < s->nslots ? s->blocks[k] : NULL;
}

struct micro_at micro_focused(const struct soft_session *s)
{
	return (struct micro_at){micro_block(s, s->focus_block), s->focus_warp};
}

uint64_t *micro_steps(const struct soft_session *s, struct micro_at w)
{
	return &s->steps[(uint64_t)slot_at(s, w.block) * s->nwarps + w.warp];
}

static bool is_focus(const struct soft_session *s, struct micro_at w)
{
	return w.warp == s->focus_warp && index_of(s, w) == s->focus_block;
}

static bool same_warp(struct micro_at a, struct micro_at b)
{
	return a.block == b.block && a.warp == b.warp;
}

static unsigned first_lane(uint64_t lanes)
{
	return (unsigned)__builtin_ctzll(lanes);
}

static void focus_on(struct soft_session *s, struct micro_at w, uint64_t lanes)
{
	bool same = s->has_focus && is_focus(s, w);

	s->focus_block = index_of(s, w);
	s->focus_warp = w.warp;
	if (lanes && !(same && lanes >> s->focus_lane & 1))
		s->focus_lane = first_lane(lanes);
	else if (!(s->m->lanes(w) >> s->focus_lane & 1))
		s->focus_lane = 0;
	s->has_focus = true;
}

/* --- what a stop says --- */
/* Fills s->stop from the focus. */
static void fill(struct soft_session *s, enum soft_state state, enum soft_why why)
{
	const struct micro_at w = state == SOFT_ENDED ? (struct micro_at){0} : micro_focused(s);
	struct soft_stop *t = &s->stop;

	memset(t, 0, sizeof(*t));
	t->state = state;
	t->why = why;
	t->total = s->total;
	t->found = s->found;
	t->found_end = s->found_end;
	t->width = s->m->width;
	snprintf(t->kernel, sizeof(t->kernel), "%s", s->kernel);
	if (!w.block)
		return;
	s->m->block_id(w, t->block);
	t->warp = w.warp;
	t->lane = s->focus_lane;
	s->m->thread(w, s->focus_lane, t->thread);
	t->step = *micro_steps(s, w);
	s->m->place(s, w, t);
}

/* --- standing --- */
/* In the launch's thread: stops here until the caller lets it go on. s->stop is filled. */
static void stand(struct soft_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->phase = MICRO_STANDS;
	s->resume = false;
	pthread_cond_broadcast(&s->changed);
	while (!s->resume && !micro_is_aborted(s))
		pthread_cond_wait(&s->changed, &s->lock);
	s->phase = MICRO_RUNS;
	pthread_mutex_unlock(&s->lock);
}

static bool is_over(const struct soft_session *s, struct micro_at w)
{
	return !w.block || s->m->state(w) == SOFT_WARP_ENDED;
}

static void stop_at(struct soft_session *s, struct micro_at w, uint64_t lanes,
	enum soft_state state, enum soft_why why, unsigned id)
{
	if (state != SOFT_BUSY ||
		is_over(s, micro_focused(s))) /* an interruption shows where the launch is by now */
		focus_on(s, w, lanes);
	fill(s, state, why);
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

static bool gives_way(const struct soft_session *s, struct micro_at w)
{
	const struct micro_at first = {
		s->has_prefer ? micro_block(s, s->prefer_block) : NULL, s->prefer_warp};

	if (!first.block || same_warp(first, w))
		return false;
	return s->m->state(first) == SOFT_WARP_RUNS;
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
/* Notes the line of source that w is at; false when it is the noted one, or none is known. */
static bool take_line(struct soft_session *s, struct micro_at w)
{
	uint32_t file, line;

	if (!s->m->line(s, w, &file, &line) || (line == s->aim_line && file == s->aim_file))
		return false;
	s->aim_line = line;
	s->aim_file = file;
	return true;
}

static bool next_reached(struct soft_session *s, struct micro_at w, uint64_t step)
{
	const unsigned depth = s->m->depth(s, w);

	if (step <= s->aim_step || depth > s->aim_depth)
		return false;
	s->aim_depth = depth;
	s->aim_step = step;
	return !--s->aim.n;
}

static bool line_reached(struct soft_session *s, struct micro_at w)
{
	const unsigned depth = s->m->depth(s, w);

	if (depth > s->aim_depth)
		return false;
	if (depth < s->aim_depth)
		s->aim_line = 0;
	s->aim_depth = depth;
	return take_line(s, w) && !--s->aim.n;
}

/* Whether the aim is reached before the next instruction of w. */
static bool reached(struct soft_session *s, struct micro_at w, enum soft_why *why)
{
	uint64_t step = *micro_steps(s, w);

	*why = SOFT_WHY_STEP;
	switch (s->aim.how) {
	case SOFT_STEP:
		if (is_focus(s, w) && step >= s->aim.n)
			return true;
		break;
	case SOFT_NEXT:
		if (is_focus(s, w) && next_reached(s, w, step))
			return true;
		break;
	case SOFT_LINE:
		if (is_focus(s, w) && line_reached(s, w))
			return true;
		break;
	case SOFT_TO:
	case SOFT_SCAN:
		return s->total == s->aim.n && !s->aim.end;
	case SOFT_TO_STEP:
		return w.warp == s->aim.warp && step == s->aim.n && index_of(s, w) == s->aim.block;
	default:
		return false;
	}
	*why = SOFT_WHY_WARP_ENDED;
	return is_over(s, micro_focused(s));
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

/* The lane of w that is that thread, though it may have ended. */
static void focus_thread(struct soft_session *s, struct micro_at w, const uint32_t thread[3])
{
	for (unsigned l = 0; l < s->m->width; l++) {
		uint32_t t[3];

		s->m->thread(w, l, t);
		if (s->m->lanes(w) >> l & 1 && !memcmp(t, thread, sizeof(t)))
			s->focus_lane = l;
	}
}

/* Watched bytes that the instruction before changed or touched. */
static void look_at_writes(struct soft_session *s)
{
	struct soft_change c;
	const struct micro_at w = s->writer;
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
	focus_thread(s, w, c.thread);
	fill(s, SOFT_STOPPED, SOFT_WHY_WATCH);
	s->stop.id = q->p.id;
	s->stop.change = c;
	stand(s);
}

/* Marks this instruction of w as seen; returns whether it was already. */
static bool tell(struct soft_session *s, struct micro_at w)
{
	uint64_t *step = micro_steps(s, w), *told = &s->told[step - s->steps];
	bool ret = *told == *step + 1;

	*told = *step + 1;
	return ret;
}

static void look_at_step(struct soft_session *s, struct micro_at w)
{
	const struct micro_point *q = NULL;
	enum soft_why why;
	uint64_t lanes = 0;
	bool there = reached(s, w, &why), told = tell(s, w);

	if (s->npoints && !told && (wants_points(s) || (there && s->aim.how == SOFT_TO)))
		q = s->m->hit(s, w, &lanes);
	if (q && s->aim.how == SOFT_SCAN) {
		if (!there)
			remember(s, false);
		q = NULL;
	}
	if (q)
		stop_at(s, w, lanes, SOFT_STOPPED, SOFT_WHY_POINT, q->p.id);
	else if (there)
		stop_at(s, w, why == SOFT_WHY_WARP_ENDED ? s->m->ready(w) : 0, SOFT_STOPPED, why,
			0);
	else if (atomic_exchange(&s->pause, false))
		stop_at(s, w, 0, SOFT_BUSY, SOFT_WHY_TIME, 0);
}

/* --- callbacks --- */

enum micro_step micro_step(struct soft_session *s, struct micro_at w)
{
	s->at = w;
	s->at_end = false;
	s->last = slot_at(s, w.block);
	if (micro_is_aborted(s))
		return MICRO_GIVE_UP;
	take_turns(s);
	if (gives_way(s, w))
		return MICRO_YIELD;
	if (s->npieces)
		look_at_writes(s);
	if (!micro_is_aborted(s))
		look_at_step(s, w);
	if (micro_is_aborted(s))
		return MICRO_GIVE_UP;
	if (gives_way(s, w))
		return MICRO_YIELD;
	++*micro_steps(s, w);
	s->total++;
	return MICRO_GO_ON;
}

void micro_block_start(struct soft_session *s, void *block, uint64_t index)
{
	unsigned slot = s->nslots == s->nblocks ? (unsigned)index : 0;

	while (s->nslots != s->nblocks && slot + 1 < s->nslots && s->blocks[slot])
		slot++;
	s->blocks[slot] = block;
	s->index[slot] = index;
	memset(&s->steps[(uint64_t)slot * s->nwarps], 0, s->nwarps * sizeof(*s->steps));
	memset(&s->told[(uint64_t)slot * s->nwarps], 0, s->nwarps * sizeof(*s->told));
	s->block_state[index] = SOFT_BLOCK_RUNS;
	s->started++;
}

void micro_block_end(struct soft_session *s, void *block)
{
	const unsigned slot = slot_at(s, block);

	s->at = (struct micro_at){block, 0};
	s->at_end = true;
	if (s->npieces && !micro_is_aborted(s))
		look_at_writes(s);
	s->block_state[s->index[slot]] = SOFT_BLOCK_ENDED;
	s->ended++;
	s->blocks[slot] = NULL;
}

bool micro_fault(
	struct soft_session *s, struct micro_at w, unsigned lane, bool began, const char *text)
{
	if (micro_is_aborted(s))
		return true;
	s->at = w;
	if (began && *micro_steps(s, w)) { /* it was counted, and is not executed */
		--*micro_steps(s, w);
		s->total--;
	}
	focus_on(s, w, 1ull << lane);
	s->focus_lane = lane;
	fill(s, SOFT_FAULTED, SOFT_WHY_FAULT);
	snprintf(s->stop.sentence, sizeof(s->stop.sentence), "%s", text);
	stand(s);
	s->aim.how = SOFT_FINISH;
	return micro_is_aborted(s);
}

void micro_over(struct soft_session *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	fill(s, SOFT_ENDED, text ? SOFT_WHY_FAULT : SOFT_WHY_END);
	if (text)
		snprintf(s->stop.sentence, sizeof(s->stop.sentence), "%s", text);
	s->phase = MICRO_OVER;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* --- life --- */

void micro_free(struct soft_session *s)
{
	for (unsigned k = 0; k < s->npoints; k++)
		if (s->points[k].own)
			s->m->point_free(s->points[k].own);
	free(s->blocks);
	free(s->index);
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

static bool make_room(struct soft_session *s, const struct soft_turn *turns, unsigned nturns)
{
	const uint64_t slots = s->nslots;

	s->blocks = calloc(slots, sizeof(*s->blocks));
	s->index = calloc(slots, sizeof(*s->index));
	s->steps = calloc(slots * s->nwarps, sizeof(*s->steps));
	s->told = calloc(slots * s->nwarps, sizeof(*s->told));
	s->block_state = malloc(s->nblocks);
	s->turns = calloc(nturns + 1, sizeof(*s->turns));
	s->pieces = calloc(MICRO_PIECES, sizeof(*s->pieces));
	if (!s->blocks || !s->index || !s->steps || !s->told || !s->block_state || !s->turns ||
		!s->pieces)
		return false;
	memset(s->block_state, SOFT_BLOCK_WAITS, s->nblocks);
	if (nturns)
		memcpy(s->turns, turns, nturns * sizeof(*turns));
	s->nturns = nturns;
	s->cap_turns = nturns + 1;
	return true;
}

struct soft_session *micro_new(
	const struct soft_session *about, const struct soft_turn *turns, unsigned nturns)
{
	struct soft_session *s = calloc(1, sizeof(*s));
	const unsigned *b = about->block;
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	*s = *about;
	s->nblocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
	if (s->nslots > s->nblocks)
		s->nslots = (unsigned)s->nblocks;
	s->nwarps = (b[0] * b[1] * b[2] + s->m->width - 1) / s->m->width;
	s->aim.how = SOFT_TO;
	s->found = UINT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (!make_room(s, turns, nturns)) {
		micro_free(s);
		return NULL;
	}
	return s;
}

static struct timespec moment_in(uint32_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	return end;
}

/* With the lock held. After ms (0: never) the launch is asked to stop. */
static void wait_until(struct soft_session *s, uint32_t ms)
{
	const struct timespec end = moment_in(ms);

	while (s->phase == MICRO_RUNS)
		if (!ms)
			pthread_cond_wait(&s->changed, &s->lock);
		else if (pthread_cond_timedwait(&s->changed, &s->lock, &end) == ETIMEDOUT) {
			atomic_store(&s->pause, true);
			ms = 0;
		}
}

bool micro_begun(struct soft_session *s, uint32_t ms, struct soft_stop *stop)
{
	const struct timespec end = moment_in(ms);
	int bad = 0;

	pthread_mutex_lock(&s->lock);
	while (s->phase == MICRO_RUNS && bad != ETIMEDOUT)
		bad = ms ? pthread_cond_timedwait(&s->changed, &s->lock, &end)
			 : pthread_cond_wait(&s->changed, &s->lock);
	bad = s->phase == MICRO_RUNS;
	pthread_mutex_unlock(&s->lock);
	if (bad)
		return false;
	if (s->stop.why == SOFT_WHY_STEP)
		s->stop.why = SOFT_WHY_BEGIN;
	*stop = s->stop;
	return true;
}

void micro_abort(struct soft_session *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->abort, true);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void micro_wait_over(struct soft_session *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->phase != MICRO_OVER)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* --- going on --- */
/* STEP, NEXT and LINE move the focused warp: it goes first from here on, unless it is at work
 * anyway. */
static const char *aim_at_focus(struct soft_session *s)
{
	const struct micro_at w = micro_focused(s);

	if (is_over(s, w))
		return NULL; /* stops at once, at whatever comes next */
	s->aim_line = 0;
	if (s->aim.how == SOFT_LINE && !take_line(s, w))
		return micro_say(s, "%s", s->m->no_line);
	if (s->aim.how == SOFT_STEP)
		s->aim.n += *micro_steps(s, w);
	s->aim_step = *micro_steps(s, w);
	s->aim_depth = s->m->depth(s, w);
	if ((!same_warp(w, s->at) || gives_way(s, w)) &&
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
	uint64_t lanes;

	if (s->phase == MICRO_STANDS && !s->at_end && s->stop.state == SOFT_STOPPED)
		q = s->m->hit(s, s->at, &lanes);
	if (!q)
		return false;
	focus_on(s, s->at, lanes);
	fill(s, SOFT_STOPPED, SOFT_WHY_POINT);
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
	const unsigned *g = s->grid, *b = s->block;
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
		if (s->all_resident)
			return micro_say(
				s, "block (%u,%u,%u) has ended", block[0], block[1], block[2]);
		*ret_first = index;
		return NULL;
	}
	s->focus_block = index;
	s->focus_warp = t / s->m->width;
	s->focus_lane = t % s->m->width;
	fill(s, SOFT_STOPPED, SOFT_WHY_FOCUS);
	*stop = s->stop;
	return NULL;
}

/* --- questions --- */

static void count_warps(const struct soft_session *s, uint64_t index, struct soft_block *r)
{
	struct micro_at w = {micro_block(s, index), 0};

	for (; w.block && w.warp < s->nwarps; w.warp++) {
		const enum soft_warp_state state = s->m->state(w);

		if (!s->m->lanes(w)) /* of a smaller workgroup */
			continue;
		r->warps++;
		r->waiting += state == SOFT_WARP_WAITS;
		r->ended += state == SOFT_WARP_ENDED;
	}
}

static const char *ask_blocks(const struct soft_session *s, soft_add *add, void *arg)
{
	for (uint64_t k = 0, to; k < s->nblocks; k = to) {
		struct soft_block r = {.state = s->block_state[k]};

		to = k + 1;
		while (r.state != SOFT_BLOCK_RUNS && to < s->nblocks &&
			s->block_state[to] == r.state)
			to++;
		r.count = to - k;
		micro_coordinates(s->grid, k, r.first);
		micro_coordinates(s->grid, to - 1, r.last);
		if (r.state == SOFT_BLOCK_RUNS)
			count_warps(s, k, &r);
		add(arg, &r, sizeof(r));
	}
	return NULL;
}

bool micro_ask_common(struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg,
	const char **ret_why)
{
	*ret_why = NULL;
	if (!memchr(q->text, 0, sizeof(q->text)))
		*ret_why = micro_say(s, "the question is too long");
	else if (q->what > SOFT_ASK_TEXT)
		*ret_why = micro_say(s, "there is no question %u", q->what);
	else if (q->what == SOFT_ASK_BLOCKS)
		*ret_why = ask_blocks(s, add, arg);
	else if (s->phase == MICRO_OVER && q->what < SOFT_ASK_MEMORY)
		*ret_why = micro_say(s, "the launch has ended");
	else
		return false;
	return true;
}
