/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at kernels in flight, see ptx-look.h. The surprise: whether a warp loops for ever is not
 * guessed from where it is. The warp is followed until its whole state comes back (Brent's way of
 * finding a cycle), with every byte that it would change compared.
 */
#include "softgpu/machine/ptx-look.h"
#include "base/patience.h"
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/machine/ptx-path.h"
#include "softgpu/machine/ptx-run.h"
#include "softgpu/watch/ptx-observe.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/monotonic.h"

#define STEPS 200000u	     /* instructions that a warp is followed for */
#define HASHES 3000u	     /* times that its state is compared */
#define TURNS 4000u	     /* a warp that waits politely gives way at each round of its loop */
#define LOCAL_MAX (1u << 20) /* bytes of local memory that are compared */

_Atomic uint32_t ptx_look_now;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ptx_look_run *runs;

void ptx_look_run_begin(struct ptx_look_run *r)
{
	r->since_ns = monotonic_ns();
	pthread_mutex_lock(&lock);
	r->next = runs;
	runs = r;
	pthread_mutex_unlock(&lock);
}

void ptx_look_run_end(struct ptx_look_run *r)
{
	struct ptx_look_run **at;

	pthread_mutex_lock(&lock);
	for (at = &runs; *at && *at != r; at = &(*at)->next)
		;
	if (*at)
		*at = r->next;
	pthread_mutex_unlock(&lock);
}

/* --- a warp's state as a number --- */

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t word;

	for (; n >= 8; n -= 8, b += 8) {
		memcpy(&word, b, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; n; n--, b++)
		h = (h ^ *b) * 0x100000001b3u;
	return h;
}

static uint64_t mix_path(
	uint64_t h, const struct ptx_path *p, size_t *regs, size_t *local, uint64_t *ret)
{
	for (unsigned k = 0; k < p->nents; k++) {
		const struct ptx_ent *e = &p->ents[k];
		const uint32_t all[6] = {
			e->pc, e->rpc, e->mask, (uint32_t)e->state, e->bar, e->want};

		h = mix(h, all, sizeof(all));
	}
	for (unsigned k = 0; k < p->nframes; k++) {
		const struct ptx_frame *f = &p->frames[k];
		const size_t end = f->regs + f->fn->const_bytes + f->fn->reg_bytes,
			     stack = f->lbase + f->fn->local_bytes;

		h = mix(h, &f->fn, sizeof(f->fn));
		h = mix(h, &f->mask, sizeof(f->mask));
		*regs = end > *regs ? end : *regs;
		*local = stack > *local ? stack : *local;
	}
	return *ret = h;
}

/* False: it is more than is compared. */
static bool state_of(const struct ptx_warp *w, uint64_t *ret)
{
	const struct ptx_path now = {
		w->ents, w->nents, w->capents, w->frames, w->nframes, w->capframes};
	size_t regs = 0, local = 0;
	uint64_t h = mix(w->live, &w->cc, sizeof(w->cc));

	h = mix_path(h, &now, &regs, &local, ret);
	for (unsigned k = 0; k < w->nparked; k++)
		h = mix_path(h + k, &w->parked[k], &regs, &local, ret);
	if (w->async || regs > w->regcap || local > w->lstride)
		return false;
	h = mix(h, w->regmem, regs);
	local = w->lstride; /* alloca, and what is behind the frames */
	if (local * PTX_LANES > LOCAL_MAX)
		return false;
	h = mix(h, w->local, local * PTX_LANES);
	*ret = mix(h, w->blk->shared, w->blk->shared_size);
	return true;
}

/* --- following a warp --- */

struct trace {
	struct ptx_observer observer;
	struct ptx_worker *wk;
	const struct ptx_observer *was;
	bool had_jit;
	bool over, looped, changes, strange, anchored, shared;
	uint32_t pc, mask;
	uint64_t state, steps, hashes, next_anchor;
	/* the last write: compared when it is done */
	uint32_t wmask;
	unsigned wsize;
	uint64_t wpointer[PTX_LANES];
	uint8_t wbytes[PTX_LANES][PTX_OBSERVE_BYTES];
	/* global reads since the anchor */
	unsigned nreads;
	bool more;
	struct {
		uint64_t addr, pointer;
		unsigned bytes;
		uint32_t lanes;
		const struct ptx_insn *insn;
		const struct ptx_function *fn;
	} read[SOFT_LOOK_READS];
};

static void compare_written(struct trace *t)
{
	uint32_t mask = t->wmask;

	EACH_LANE(l)
	t->changes |= memcmp((const void *)t->wpointer[l], t->wbytes[l], t->wsize) != 0;
	t->wmask = 0;
}

static void take_write(struct trace *t, const struct ptx_access *a)
{
	uint32_t mask = a->mask;

	if (t->wmask)
		compare_written(t); /* two spaces of one instruction: no bytes moved between */
	if (a->size > PTX_OBSERVE_BYTES) {
		t->strange = true;
		return;
	}
	t->wmask = mask;
	t->wsize = a->size;
	EACH_LANE(l)
	{
		t->wpointer[l] = a->pointer[l];
		memcpy(t->wbytes[l], (const void *)a->pointer[l], a->size);
	}
}

static void take_read(struct trace *t, const struct ptx_access *a, unsigned lane)
{
	unsigned k = 0;

	while (k < t->nreads && (t->read[k].addr != a->addr[lane] || t->read[k].bytes != a->size))
		k++;
	if (k == SOFT_LOOK_READS) {
		t->more = true;
		return;
	}
	if (k == t->nreads) {
		t->nreads++;
		t->read[k].addr = a->addr[lane];
		t->read[k].pointer = a->pointer[lane];
		t->read[k].bytes = a->size;
		t->read[k].lanes = 0;
		t->read[k].insn = a->insn;
		t->read[k].fn = a->warp->frames[a->warp->nframes - 1].fn;
	}
	t->read[k].lanes |= 1u << lane;
}

static void on_access(void *arg, const struct ptx_access *a)
{
	struct trace *t = arg;
	uint32_t mask = a->mask;

	if (a->kind != PTX_READ)
		take_write(t, a);
	if (a->kind == PTX_WRITE)
		return;
	t->shared |= a->space == SP_SHARED;
	if (a->space == SP_GLOBAL)
		EACH_LANE(l) take_read(t, a, l);
}

/* The heap, mbarriers and their like have a state of their own. */
static void on_sync(void *arg, const struct ptx_sync *s)
{
	struct trace *t = arg;

	if (s->kind == PTX_SYNC_RELEASE || s->kind == PTX_SYNC_ACQUIRE ||
		s->kind == PTX_SYNC_GRID_WAIT)
		t->strange = true;
}

static void set_anchor(struct trace *t, const struct ptx_warp *w, uint32_t pc)
{
	t->anchored = true;
	t->pc = pc;
	t->mask = w->curmask;
	t->strange |= !state_of(w, &t->state);
	t->next_anchor = 2 * t->steps;
	t->nreads = 0;
	t->more = t->changes = t->shared = false;
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	struct trace *t = arg;
	uint64_t state;

	if (t->wmask)
		compare_written(t);
	t->over |= t->strange || ++t->steps > STEPS || t->hashes > HASHES;
	if (t->over)
		return PTX_STEP_YIELD;
	if (t->anchored && pc == t->pc && w->curmask == t->mask) {
		t->hashes++;
		if (state_of(w, &state) && state == t->state) {
			t->looped = !t->changes;
			t->over = true;
			return PTX_STEP_YIELD;
		}
	}
	if (t->steps >= t->next_anchor)
		set_anchor(t, w, pc);
	return PTX_STEP_ON;
}

static void let_go(struct trace *t)
{
	t->wk->observer = t->was;
	t->wk->watched = false;
	t->wk->jit = t->had_jit;
}

/* The warp leaves by longjmp: the worker is as it was. */
static void on_fault(void *arg, struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	const struct ptx_fault *f)
{
	(void)w;
	(void)i;
	(void)lane;
	(void)f;
	let_go(arg);
}

static void follow(struct ptx_worker *wk, struct ptx_warp *w, struct trace *t)
{
	*t = (struct trace){.observer = {.arg = t,
				    .step = on_step,
				    .access = on_access,
				    .sync = on_sync,
				    .fault = on_fault},
		.wk = wk,
		.was = wk->observer,
		.had_jit = wk->jit,
		.next_anchor = 1};
	wk->observer = &t->observer;
	wk->watched = true;
	wk->jit = false;
	for (unsigned k = 0; k < TURNS && !t->over && w->state == WARP_RUN; k++)
		ptx_run_warp(w);
	let_go(t);
}

/* --- what is reported --- */

static unsigned place_of(struct soft_look_kernel *k, const struct ptx_function *fn,
	const struct ptx_insn *i, uint32_t lanes)
{
	struct soft_look_place p = {.line = i->line};
	unsigned line = 0;
	const char *file = ptx_source_of(fn, i, &line);
	size_t n = file ? strlen(file) : 0;

	if (file) {
		p.line = line;
		snprintf(p.file, sizeof(p.file), "%s",
			n < sizeof(p.file) ? file : file + n - sizeof(p.file) + 1);
	}
	for (unsigned at = 0; at < k->nplaces; at++) {
		if (k->place[at].line == p.line && !strcmp(k->place[at].file, p.file)) {
			k->place[at].lanes += (unsigned)__builtin_popcount(lanes);
			return at;
		}
	}
	if (k->nplaces == SOFT_LOOK_PLACES)
		return SOFT_LOOK_PLACES - 1;
	p.lanes = (unsigned)__builtin_popcount(lanes);
	k->place[k->nplaces] = p;
	return k->nplaces++;
}

/* Lanes of a path, but for those of *seen, where their entries are. */
static void path_places(struct soft_look_kernel *k, const struct ptx_path *p, uint32_t *seen)
{
	unsigned frame = p->nframes;

	for (unsigned at = p->nents; at-- > 0 && frame;) {
		const struct ptx_ent *e = &p->ents[at];
		const uint32_t lanes = e->mask & ~*seen;

		while (frame > 1 && p->frames[frame - 1].base > at)
			frame--;
		if (!lanes || e->pc == NO_PC)
			continue;
		*seen |= lanes;
		(void)place_of(
			k, p->frames[frame - 1].fn, &p->frames[frame - 1].fn->insns[e->pc], lanes);
	}
}

static void warp_places(struct soft_look_kernel *k, const struct ptx_warp *w, uint32_t seen)
{
	const struct ptx_path now = {
		w->ents, w->nents, w->capents, w->frames, w->nframes, w->capframes};

	if (w->cold)
		return;
	path_places(k, &now, &seen);
	for (unsigned n = 0; n < w->nparked; n++)
		path_places(k, &w->parked[n], &seen);
}

static void add_read(struct soft_look_kernel *k, const struct trace *t, unsigned n, unsigned place)
{
	const uint32_t lanes = (uint32_t)__builtin_popcount(t->read[n].lanes);
	struct soft_look_read *r;
	unsigned at = 0;

	while (at < k->nreads &&
		(k->read[at].addr != t->read[n].addr || k->read[at].bytes != t->read[n].bytes))
		at++;
	if (at == SOFT_LOOK_READS) {
		k->more_reads = 1;
		return;
	}
	r = &k->read[at];
	if (at == k->nreads) {
		k->nreads++;
		*r = (struct soft_look_read){
			.addr = t->read[n].addr, .bytes = t->read[n].bytes, .place = place};
		memcpy(&r->value, (const void *)t->read[n].pointer,
			r->bytes < sizeof(r->value) ? r->bytes : sizeof(r->value));
	}
	r->lanes += lanes;
}

/* One that is not proven to loop. */
static void count_warp(struct soft_look_kernel *k, const struct ptx_warp *w, const struct trace *t)
{
	if (w->state == WARP_WAIT) {
		k->waiting++;
	} else if (!t || t->strange) {
		k->unknown++;
	} else {
		k->moving++;
		k->steps += t->steps;
	}
}

/* Under the lock. */
static void add_warp(struct soft_look_kernel *k, const struct ptx_warp *w, const struct trace *t)
{
	uint32_t seen = 0;

	if (w->state == WARP_DONE)
		return;
	if (w->state == WARP_WAIT || !t || !t->looped) {
		count_warp(k, w, t);
		warp_places(k, w, 0);
		return;
	}
	k->looping++;
	k->more_reads |= t->more;
	k->shared_reads |= t->shared;
	for (unsigned n = 0; n < t->nreads; n++) {
		const uint32_t lanes = t->read[n].lanes & ~seen;
		const unsigned at = place_of(k, t->read[n].fn, t->read[n].insn, lanes);

		seen |= lanes;
		add_read(k, t, n, at);
	}
	warp_places(k, w, seen);
}

void ptx_look_at(struct ptx_worker *wk, struct ptx_block *blk, uint32_t round)
{
	const bool can = !wk->watched && wk->look && ptx_cluster_size(wk->l) == 1;
	struct ptx_look_run *r = wk->look;
	struct trace t;

	blk->looked = round;
	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		const bool ran = can && w->state == WARP_RUN;

		if (ran)
			follow(wk, w, &t);
		pthread_mutex_lock(&lock);
		if (r && r->round == round)
			add_warp(&r->seen, w, ran ? &t : NULL);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	if (r && r->round == round)
		r->seen.resident++;
	pthread_mutex_unlock(&lock);
}

/* --- the look --- */

static uint64_t blocks_begun(const struct ptx_look_run *r)
{
	const uint64_t n = r->all ? r->nblocks : atomic_load(r->begun) * r->unit;

	return n < r->nblocks ? n : r->nblocks;
}

/* Under the lock: whether every block in flight has been looked at. */
static bool is_whole(const struct ptx_look_run *r)
{
	return r->seen.resident == (r->all ? r->nblocks : atomic_load(&r->workers)) &&
	       r->seen.begun == blocks_begun(r);
}

static void begin(uint32_t round)
{
	pthread_mutex_lock(&lock);
	for (struct ptx_look_run *r = runs; r; r = r->next) {
		memset(&r->seen, 0, sizeof(r->seen));
		r->round = round;
		r->seen.begun = blocks_begun(r);
	}
	pthread_mutex_unlock(&lock);
	atomic_store(&ptx_look_now, round);
}

static bool all_whole(void)
{
	bool all = true;

	pthread_mutex_lock(&lock);
	for (struct ptx_look_run *r = runs; r; r = r->next)
		all = all && is_whole(r);
	pthread_mutex_unlock(&lock);
	return all;
}

static void put(struct soft_look *ret, struct ptx_look_run *r, uint32_t round)
{
	struct soft_look_kernel *k;

	if (ret->nkernels == SOFT_LOOK_KERNELS) {
		ret->cut = 1;
		return;
	}
	k = &ret->kernel[ret->nkernels++];
	if (r->round == round)
		*k = r->seen;
	else
		*k = (struct soft_look_kernel){0};
	k->whole = r->round == round && is_whole(r);
	k->begun = blocks_begun(r);
	k->blocks = r->nblocks;
	k->since_ns = r->since_ns;
	k->corr = r->l->correlation;
	k->node = r->l->node;
	snprintf(k->name, sizeof(k->name), "%s", r->l->fn->name);
}

void ptx_look(struct soft_look *ret, unsigned ms)
{
	static uint32_t last;
	const uint32_t round = ++last ? last : ++last;
	struct patience patience;

	patience_begin(
		&patience, 0, ms * 1000000ull); /* the workers may get little of a processor */
	begin(round);
	do
		nanosleep(&(struct timespec){0, 500000}, NULL);
	while (!all_whole() && !patience_over(&patience));
	atomic_store(&ptx_look_now, 0);
	pthread_mutex_lock(&lock);
	for (struct ptx_look_run *r = runs; r; r = r->next)
		put(ret, r, round);
	pthread_mutex_unlock(&lock);
}
