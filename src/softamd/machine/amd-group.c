/* SPDX-License-Identifier: Apache-2.0
 *
 * Workgroups: their waves' first registers, and turns for each wave until it waits, sleeps or ends.
 * What the registers hold is from "User Guide for AMDGPU Backend", "Initial Kernel Execution
 * State".
 */
#include <stdlib.h>

#include "softamd/insns/amd-insn.h"

#define TURN 20000 /* instructions of a wave, then the next one's turn */
/* Instructions of a workgroup that goes on although one behind it has a fault: it may wait for it.
 */
#define GRACE 20000000

enum {
	PRIVATE_BUFFER = 1,
	DISPATCH_PTR = 2,
	QUEUE_PTR = 4,
	KERNARG_PTR = 8,
	DISPATCH_ID = 16,
	FLAT_SCRATCH_INIT = 32,
	PRIVATE_SIZE = 64
};

struct sgprs {
	struct amd_wave *w;
	unsigned n;
};

static void put(struct sgprs *s, uint32_t v)
{
	if (s->n < GFX_SGPRS)
		s->w->s[s->n++] = v;
}

static void put_pair(struct sgprs *s, uint64_t v)
{
	put(s, (uint32_t)v);
	put(s, (uint32_t)(v >> 32));
}

/* The buffer of scratch: words of 4 bytes, 64 lanes interleaved, the lane's number added. */
static void put_scratch_buffer(struct sgprs *s)
{
	put(s, (uint32_t)AMD_SCRATCH_VA);
	put(s, (uint32_t)(AMD_SCRATCH_VA >> 32) | 1u << 31);
	put(s, 0xffffffff);
	put(s, 1u << 23 | 3u << 21 | 1u << 19);
}

static void set_scalars(struct amd_wave *w)
{
	const struct amd_launch *l = w->group->worker->l;
	const struct amd_dispatch *d = l->d;
	struct sgprs s = {w, 0};
	unsigned p = l->properties;

	if (p & PRIVATE_BUFFER)
		put_scratch_buffer(&s);
	if (p & DISPATCH_PTR)
		put_pair(&s, d->packet);
	if (p & QUEUE_PTR)
		put_pair(&s, d->queue);
	if (p & KERNARG_PTR)
		put_pair(&s, d->kernarg);
	if (p & DISPATCH_ID)
		put_pair(&s, d->dispatch_id);
	if (p & FLAT_SCRATCH_INIT)
		put_pair(&s, AMD_SCRATCH_VA);
	if (p & PRIVATE_SIZE)
		put(&s, l->private_bytes);
	s.n = l->rsrc2 >> 1 & 31; /* as many as the descriptor says */
	for (unsigned k = 0; k < 3; k++)
		if (l->rsrc2 >> (7 + k) & 1)
			put(&s, w->group->id[k]);
	if (l->rsrc2 >> 10 & 1)
		put(&s, 0);
	if (l->rsrc2 & 1)
		put(&s, 0); /* the wave's offset in scratch: each wave has its own at the same
			       address */
}

/* Work-items of the workgroup in each dimension: the last ones of a grid may be fewer. */
static void group_size(const struct amd_group *g, uint32_t size[3])
{
	const struct amd_launch *l = g->worker->l;

	for (unsigned k = 0; k < 3; k++) {
		uint32_t left = l->grid[k] - g->id[k] * l->size[k];

		size[k] = left < l->size[k] ? left : l->size[k];
	}
}

static void set_vectors(struct amd_wave *w, const uint32_t size[3], uint32_t items)
{
	const struct amd_launch *l = w->group->worker->l;
	bool packed = l->target & GFX_FROM_90A;
	unsigned dims = l->rsrc2 >> 11 & 3;

	for (unsigned lane = 0; lane < AMD_LANES; lane++) {
		uint32_t item = w->index * AMD_LANES + lane;
		uint32_t x, y, z;

		if (item >= items)
			break;
		x = item % size[0];
		y = item / size[0] % size[1];
		z = item / size[0] / size[1];
		w->v[0][lane] = packed ? x | y << 10 | z << 20 : x;
		if (!packed && dims > 0)
			w->v[1][lane] = y;
		if (!packed && dims > 1)
			w->v[2][lane] = z;
	}
}

static uint32_t first_mode(const struct amd_launch *l)
{
	return (l->rsrc1 >> 12 & 0xff) | (l->rsrc1 >> 21 & 1) << 8 | (l->rsrc1 >> 23 & 1) << 9;
}

static void start_wave(
	struct amd_group *g, uint32_t index, const uint32_t size[3], uint8_t *scratch)
{
	struct amd_wave *w = &g->waves[index];
	const struct amd_launch *l = g->worker->l;
	uint32_t left = g->items - index * AMD_LANES;

	memset(w->v, 0, l->vgprs * sizeof(w->v[0]));
	memset(w->acc, 0, l->accs * sizeof(w->acc[0]));
	memset(w->s, 0, sizeof(w->s));
	w->group = g;
	w->index = index;
	w->pc = l->entry;
	w->scc = false;
	w->indexing = false;
	w->state = AMD_RUNS;
	w->steps = 0;
	w->mode = first_mode(l);
	w->scratch = scratch;
	amd_set_pair(w, GFX_EXEC, left >= 64 ? ~0ull : (1ull << left) - 1);
	if (l->d->check_waits)
		amd_waits_begin(w);
	set_scalars(w);
	set_vectors(w, size, g->items);
}

/* Memory for a workgroup of the full size. */
static struct amd_group *group_memory(struct amd_worker *wk, size_t per_wave)
{
	const struct amd_launch *l = wk->l;
	struct amd_group *g = wk->spare;

	if (g) {
		wk->spare = NULL;
		memset(g->lds, 0, l->lds_bytes);
		if (per_wave)
			memset(g->scratch, 0, g->room * per_wave);
		return g;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->room = (l->size[0] * l->size[1] * l->size[2] + AMD_LANES - 1) / AMD_LANES;
	g->waves = calloc(g->room, sizeof(*g->waves));
	g->lds = calloc(1, l->lds_bytes + 16);
	g->scratch = per_wave ? calloc(g->room, per_wave) : NULL;
	if (!g->waves || !g->lds || (per_wave && !g->scratch)) {
		amd_group_free(g);
		return NULL;
	}
	return g;
}

struct amd_group *amd_group_new(struct amd_worker *wk, uint64_t number)
{
	const struct amd_launch *l = wk->l;
	size_t per_wave = (size_t)(l->private_bytes + 3) / 4 * 4 * AMD_LANES;
	struct amd_group *g = group_memory(wk, per_wave);
	uint32_t size[3];

	if (!g)
		return NULL;
	g->worker = wk;
	g->observer = l->d->observer;
	g->id[0] = (uint32_t)(number % l->groups[0]);
	g->id[1] = (uint32_t)(number / l->groups[0] % l->groups[1]);
	g->id[2] = (uint32_t)(number / l->groups[0] / l->groups[1]);
	group_size(g, size);
	g->items = size[0] * size[1] * size[2];
	g->nwaves = (g->items + AMD_LANES - 1) / AMD_LANES;
	for (uint32_t k = 0; k < g->nwaves; k++)
		start_wave(g, k, size, g->scratch ? g->scratch + k * per_wave : NULL);
	g->steps = g->grace = 0;
	g->number = number;
	g->running = true;
	if (g->observer && g->observer->group)
		g->observer->group(g->observer->arg, g, g->id, false);
	return g;
}

void amd_group_done(struct amd_group *g)
{
	struct amd_worker *wk = g->worker;

	if (wk->spare)
		amd_group_free(g);
	else
		wk->spare = g;
}

void amd_group_free(struct amd_group *g)
{
	if (!g)
		return;
	for (uint32_t k = 0; g->waves && k < g->room; k++)
		free(g->waves[k].board);
	free(g->waves);
	free(g->lds);
	free(g->scratch);
	free(g);
}

static void check_end(struct amd_wave *w)
{
	struct amd_worker *wk = w->group->worker;
	const struct amd_dispatch *d = wk->l->d;

	if (d->cancel && __atomic_load_n(d->cancel, __ATOMIC_RELAXED))
		amd_raise(wk, AMD_FAULT_CANCELLED, w, -1, "cancelled");
	if (amd_is_stopped(wk->l, w->group->number) || w->group->grace > GRACE)
		amd_raise(wk, AMD_FAULT_STOPPED, w, -1, "another workgroup has a fault");
	if (d->steps_max && w->group->steps > d->steps_max)
		amd_raise(wk, AMD_FAULT_TIMEOUT, w, -1,
			"the workgroup has executed %llu instructions, and %llu is the limit",
			(unsigned long long)w->group->steps, (unsigned long long)d->steps_max);
}

static void at_barrier(struct amd_wave *w, bool leaves)
{
	const struct amd_observer *o = w->group->observer;

	if (amd_is_observed(w) && o->barrier)
		o->barrier(o->arg, w, leaves);
}

static void run_wave(struct amd_wave *w)
{
	struct amd_worker *wk = w->group->worker;
	unsigned n = 0, turn = wk->l->d->random ? 1 + amd_random(wk) % 64 : TURN;

	w->turn_over = false;
	wk->current = w;
	while (!w->turn_over && n < turn) {
		const struct amd_op *o;

		wk->at = w->pc;
		o = amd_fetch(wk, w);
		if (amd_is_observed(w) && w->group->observer->step &&
			!w->group->observer->step(w->group->observer->arg, w, w->pc))
			break;
		wk->op = o;
		if (__builtin_expect(w->board != NULL, 0))
			amd_waits_check(w, o);
		if (__builtin_expect(w->indexing, 0) && o->h->wave && o->row->enc >= GFX_VOP2 &&
			o->row->enc <= GFX_VOP3P)
			amd_refuse(w, o, "with an index for vector registers");
		w->pc += o->i.size;
		o->fn(w, o);
		n++;
	}
	if (w->state == AMD_AT_BARRIER)
		at_barrier(w, false);
	w->steps += n;
	w->group->steps += n;
	if (__atomic_load_n(&wk->l->stop, __ATOMIC_RELAXED))
		w->group->grace += n;
	wk->clock += n;
	check_end(w);
}

bool amd_group_turn(struct amd_group *g)
{
	uint32_t waiting = 0, ended = 0;

	for (uint32_t k = 0; k < g->nwaves; k++) {
		struct amd_wave *w = &g->waves[k];

		if (w->state == AMD_RUNS && !(g->worker->l->d->random && amd_random(g->worker) & 1))
			run_wave(w);
		waiting += w->state == AMD_AT_BARRIER;
		ended += w->state == AMD_ENDED;
	}
	if (waiting && waiting + ended == g->nwaves) /* a wave that has ended does not count */
		for (uint32_t k = 0; k < g->nwaves; k++)
			if (g->waves[k].state == AMD_AT_BARRIER) {
				g->waves[k].state = AMD_RUNS;
				at_barrier(&g->waves[k], true);
			}
	g->running = ended < g->nwaves;
	if (!g->running && g->observer && g->observer->group)
		g->observer->group(g->observer->arg, g, g->id, true);
	return !g->running;
}
