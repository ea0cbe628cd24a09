/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the order of a launch's threads from what the program does: "PTX ISA 9.0", 8.7 to 8.10. A
 * thread's clock counts what it publishes; what happened before a thread's next access is its
 * vector clock `now`.
 */
#include "softgpu/watch/ptx-race-int.h"

#include <stdlib.h>

/* --- small things --- */
static void assign(struct vclock **to, struct vclock *from)
{
	vclock_unref(*to);
	*to = from;
}

/* t's clock, taken over. */
static void set_now(const struct race_block *b, struct race_thread *t, struct vclock *now)
{
	assign(&t->now, now);
	t->own = now && !now->all ? vclock_entry(now, b->index) : NULL;
}

/* What v knows, too. */
static void join_now(
	struct ptx_races *c, const struct race_block *b, struct race_thread *t, struct vclock *v)
{
	struct vclock *now = vclock_join(t->now, v, c->nthreads);

	t->now = NULL; /* the join took it over */
	set_now(b, t, now);
}

static void watch_size(struct ptx_races *c, const struct vclock *v)
{
	if (!v)
		race_doubt(c, "the host has no memory");
	else if (v->all)
		race_doubt(c, "more blocks know of one another than the check can follow");
}

static struct vclock *snapshot(struct ptx_races *c, const struct race_block *b,
	const struct race_thread *t, uint32_t number)
{
	struct vclock *v = vclock_with(t->now, c->nthreads, b->index, number, t->clock);

	watch_size(c, v);
	return v;
}

/* What t's strong reads saw becomes its own. */
static void absorb(
	struct ptx_races *c, const struct race_block *b, struct race_thread *t, bool wide)
{
	for (unsigned k = 0; k < 1u + wide; k++) {
		if (!t->acquire[k])
			continue;
		join_now(c, b, t, t->acquire[k]);
		watch_size(c, t->now);
		assign(&t->acquire[k], NULL);
	}
}

bool race_is_memory(struct ptx_races *c, uint64_t addr)
{
	const struct mem_range *r;

	if (addr - c->memory_start < c->memory_end - c->memory_start)
		return true;
	r = mem_find(addr);
	if (!r || r->read_only)
		return false;
	c->memory_start = r->start;
	c->memory_end = r->end;
	return true;
}

bool race_covers(const struct race_thread *t, const struct race_block *b, uint64_t block,
	uint32_t thread, uint32_t clock)
{
	if (block == b->index && t->own)
		return vclock_entry_at(t->own, thread) >= clock;
	return vclock_covers(t->now, block, thread, clock);
}

/* --- blocks --- */
struct race_block *race_block_of(struct ptx_races *c, const struct ptx_block *blk)
{
	struct race_block *b = c->last_block;

	if (b && b->index == blk->index)
		return b;
	for (b = c->blocks; b && b->index != blk->index; b = b->next)
		;
	if (b)
		c->last_block = b;
	return b;
}

static void bar_clear(struct race_barrier *bar)
{
	vclock_unref(vclock_builder_end(&bar->now));
	for (unsigned k = 0; k < 2; k++)
		vclock_unref(vclock_builder_end(&bar->release[k]));
	for (unsigned k = 0; k < 3; k++)
		vclock_unref(bar->made[k]);
	memset(bar, 0, sizeof(*bar));
}

static void block_free(struct ptx_races *c, struct race_block *b)
{
	for (unsigned k = 0; b->threads && k < c->nthreads; k++) {
		struct race_thread *t = &b->threads[k];
		vclock_unref(t->now);
		for (unsigned j = 0; j < 2; j++) {
			vclock_unref(t->release[j]);
			vclock_unref(t->acquire[j]);
			vclock_unref(t->seen[j]);
		}
	}
	for (unsigned k = 0; k < 16; k++)
		bar_clear(&b->bar[k]);
	free(b->threads);
	free(b->shared);
	free(b);
}

void race_block_start(void *arg, struct ptx_block *blk)
{
	struct ptx_races *c = arg;
	struct race_block *b = calloc(1, sizeof(*b));
	struct vclock *now = vclock_new(blk->index, 0);

	if (b) {
		b->index = blk->index;
		b->blk = blk;
		b->nshared = (blk->shared_size + 3) / 4;
		b->shared = calloc(b->nshared + 1, sizeof(*b->shared));
		b->threads = calloc(c->nthreads, sizeof(*b->threads));
	}
	if (!b || !b->shared || !b->threads || !now) {
		race_doubt(c, "the host has no memory");
		if (b)
			block_free(c, b);
		vclock_unref(now);
		return;
	}
	for (unsigned k = 0; k < c->nthreads; k++)
		b->threads[k] =
			(struct race_thread){.now = vclock_ref(now), .own = &now->e[0], .clock = 1};
	vclock_unref(now);
	b->next = c->blocks;
	c->blocks = c->last_block = b;
}

void race_block_end(void *arg, struct ptx_block *blk)
{
	struct ptx_races *c = arg;

	c->last_block = NULL;
	for (struct race_block **p = &c->blocks; *p; p = &(*p)->next)
		if ((*p)->index == blk->index) {
			struct race_block *b = *p;
			*p = b->next;
			block_free(c, b);
			return;
		}
}

/* --- barriers --- */
static void arrive(struct ptx_races *c, struct race_block *b, struct race_barrier *bar,
	unsigned first, uint32_t mask, bool goes_on)
{
	const struct vclock *last = NULL, *last_release[2] = {NULL, NULL};

	if (!bar->now.nthreads) {
		vclock_builder_begin(&bar->now, c->nthreads);
		vclock_builder_begin(&bar->release[0], c->nthreads);
		vclock_builder_begin(&bar->release[1], c->nthreads);
		bar->is_full = true;
	}
	EACH_LANE(l)
	{
		struct race_thread *t = &b->threads[first + l];
		absorb(c, b, t, true);
		if (t->now != last || !t->now)
			vclock_builder_add(&bar->now, t->now);
		last = t->now;
		vclock_builder_point(&bar->now, b->index, first + l, t->clock);
		for (unsigned k = 0; k < 2; k++) {
			if (t->release[k] && t->release[k] != last_release[k]) {
				vclock_builder_add(&bar->release[k], t->release[k]);
				bar->has_release[k] = true;
			}
			last_release[k] = t->release[k];
		}
		if (goes_on) {
			t->clock++;
			bar->is_full = false;
		}
		bar->n++;
	}
}

/* All have arrived. A whole block's clocks become one number. */
static void make(struct ptx_races *c, struct race_block *b, struct race_barrier *bar)
{
	bar->is_full = bar->is_full && bar->n >= b->blk->live;
	for (unsigned k = 0; bar->is_full && k < c->nthreads; k++)
		if (b->threads[k].clock > bar->floor)
			bar->floor = b->threads[k].clock;
	if (bar->is_full)
		vclock_builder_floor(&bar->now, b->index, bar->floor);
	bar->made[0] = vclock_builder_end(&bar->now);
	watch_size(c, bar->made[0]);
	for (unsigned k = 0; k < 2; k++)
		bar->made[1 + k] =
			bar->has_release[k] ? vclock_builder_end(&bar->release[k]) : NULL;
}

static void leave(struct ptx_races *c, struct race_block *b, struct race_barrier *bar,
	unsigned first, uint32_t mask)
{
	if (!bar->made[0])
		make(c, b, bar);
	EACH_LANE(l)
	{
		struct race_thread *t = &b->threads[first + l];
		set_now(b, t, vclock_ref(bar->made[0]));
		for (unsigned k = 0; k < 2; k++)
			if (bar->made[1 + k])
				assign(&t->release[k], vclock_ref(bar->made[1 + k]));
		t->clock = bar->is_full ? bar->floor + 1 : t->clock + 1;
	}
}

/* bar.warp.sync: a barrier of these lanes. Threads that have ended take no part in it, although the
 * lanes may be all that live. */
static void meet(struct ptx_races *c, struct race_block *b, unsigned first, uint32_t mask)
{
	struct race_barrier bar = {0};

	arrive(c, b, &bar, first, mask, false);
	bar.is_full = bar.n == c->nthreads;
	leave(c, b, &bar, first, mask);
	bar_clear(&bar);
}

/* --- fences, strong accesses --- */
static void fence(
	struct ptx_races *c, struct race_block *b, unsigned first, uint32_t mask, unsigned order)
{
	bool wide = (order & ORDER_SCOPE) != ORDER_CTA;

	EACH_LANE(l)
	{
		struct race_thread *t = &b->threads[first + l];
		if (order & ORDER_ACQUIRE)
			absorb(c, b, t, wide);
		if (!(order & ORDER_RELEASE))
			continue;
		assign(&t->release[0], snapshot(c, b, t, first + l));
		if (wide)
			assign(&t->release[1], vclock_ref(t->release[0]));
		t->clock++;
	}
}

static struct race_place *slot(struct race_place *p, size_t cap, uint64_t key)
{
	size_t at = (key * 0x9e3779b97f4a7c15ull >> 24) & (cap - 1);

	while (p[at].key && p[at].key != key)
		at = (at + 1) & (cap - 1);
	return &p[at];
}

/* NULL: there is none, or no memory for it. */
static struct race_place *place_at(struct ptx_races *c, uint64_t key, bool make_it)
{
	struct race_place *p = c->capplaces ? slot(c->places, c->capplaces, key) : NULL;

	if (p && p->key)
		return p;
	if (!make_it)
		return NULL;
	if (2 * (c->nplaces + 1) > c->capplaces) {
		size_t cap = c->capplaces ? 2 * c->capplaces : 64;
		struct race_place *t =
			race_take(c, cap * sizeof(*t)) ? calloc(cap, sizeof(*t)) : NULL;
		if (!t)
			return NULL;
		for (size_t k = 0; k < c->capplaces; k++)
			if (c->places[k].key)
				*slot(t, cap, c->places[k].key) = c->places[k];
		free(c->places);
		c->places = t;
		c->capplaces = cap;
		p = slot(t, cap, key);
	}
	p->key = key;
	c->nplaces++;
	return p;
}

static void see(struct ptx_races *c, struct race_thread *t, unsigned k, struct vclock *v)
{
	if (!v || v == t->seen[k])
		return;
	assign(&t->seen[k], vclock_ref(v));
	t->acquire[k] = t->acquire[k] ? vclock_join(t->acquire[k], v, c->nthreads) : vclock_ref(v);
}

static void publish(struct ptx_races *c, const struct race_block *b, struct race_place *p,
	struct vclock *const release[2], bool add)
{
	for (unsigned k = 0; k < 2; k++) {
		bool join = add && p->release[k] && (k || p->block == b->index);
		if (!join)
			assign(&p->release[k], vclock_ref(release[k]));
		else if (release[k])
			p->release[k] = vclock_join(p->release[k], release[k], c->nthreads);
	}
	p->block = b->index;
}

static void strong_word(struct ptx_races *c, struct race_block *b, struct race_thread *t,
	const struct ptx_access *a, uint64_t key, struct vclock *const release[2])
{
	struct race_place *p = place_at(c, key, a->kind != PTX_READ && (release[0] || release[1]));

	if (!p)
		return;
	if (a->kind != PTX_WRITE) {
		see(c, t, 0, p->block == b->index ? p->release[0] : NULL);
		see(c, t, 1, p->release[1]);
	}
	if (a->kind != PTX_READ)
		publish(c, b, p, release, a->kind == PTX_ATOMIC);
}

#define KEY_SHARED (1ull << 63)
#define KEY_OBJECT (1ull << 62)

void race_strong(struct ptx_races *c, struct race_block *b, struct race_thread *t, uint32_t number,
	const struct ptx_access *a, unsigned l)
{
	unsigned order = a->insn->order;
	bool wide = (order & ORDER_SCOPE) != ORDER_CTA,
	     releases = order & ORDER_RELEASE && a->kind != PTX_READ;
	struct vclock *own = releases ? snapshot(c, b, t, number) : NULL;
	struct vclock *release[2] = {releases ? own : t->release[0], !wide	? NULL
								     : releases ? own
										: t->release[1]};

	for (unsigned at = 0; at < a->size; at += 4) {
		uint64_t addr = (a->addr[l] + at) & ~3ull;
		strong_word(c, b, t, a,
			a->space == SP_SHARED ? KEY_SHARED | b->index << 20 | addr : addr, release);
	}
	if (releases)
		t->clock++;
	if (order & ORDER_ACQUIRE && a->kind != PTX_WRITE)
		absorb(c, b, t, wide);
	vclock_unref(own);
}

/* A block's shared memory is another block's later, unless others see it too. */
static uint64_t object_key(const struct ptx_races *c, const struct race_block *b, uint64_t id)
{
	uint64_t at = id - (uint64_t)(uintptr_t)b->blk->shared;

	return KEY_OBJECT |
	       (c->l->cluster[0] || at >= b->blk->shared_size ? id
							      : KEY_SHARED | b->index << 20 | at);
}

/* Objects that publish all that came before: mbarriers. */
static void object(struct ptx_races *c, struct race_block *b, unsigned first, uint32_t mask,
	uint64_t id, bool release)
{
	EACH_LANE(l)
	{
		struct race_thread *t = &b->threads[first + l];
		struct race_place *p = place_at(c, object_key(c, b, id), release);
		if (!p)
			continue;
		if (release) {
			struct vclock *own = snapshot(c, b, t, first + l);
			publish(c, b, p, (struct vclock *[2]){own, own}, true);
			vclock_unref(own);
			t->clock++;
		} else if (p->release[1]) {
			join_now(c, b, t, p->release[1]);
		}
	}
}

void race_sync(void *arg, const struct ptx_sync *s)
{
	struct ptx_races *c = arg;
	struct race_block *b = race_block_of(c, s->warp->blk);
	unsigned first = s->warp->id * PTX_LANES;

	if (!b)
		return;
	switch (s->kind) {
	case PTX_SYNC_ARRIVE:
		arrive(c, b, &b->bar[s->id % 16], first, s->mask,
			s->insn && s->insn->cls == BAR_ARRIVE);
		break;
	case PTX_SYNC_LEAVE:
		leave(c, b, &b->bar[s->id % 16], first, s->mask);
		break;
	case PTX_SYNC_RESET:
		bar_clear(&b->bar[s->id % 16]);
		break;
	case PTX_SYNC_WARP:
		meet(c, b, first, s->mask);
		break;
	case PTX_SYNC_FENCE:
		fence(c, b, first, s->mask, s->insn->order);
		break;
	case PTX_SYNC_RELEASE:
	case PTX_SYNC_ACQUIRE:
		object(c, b, first, s->mask, s->id, s->kind == PTX_SYNC_RELEASE);
		break;
	case PTX_SYNC_GRID_WAIT: /* between launches */
	case PTX_SYNC_GRID_TRIGGER:
		break;
	}
}

void race_order_free(struct ptx_races *c)
{
	while (c->blocks) {
		struct race_block *b = c->blocks;
		c->blocks = b->next;
		block_free(c, b);
	}
	for (size_t k = 0; k < c->capplaces; k++) {
		vclock_unref(c->places[k].release[0]);
		vclock_unref(c->places[k].release[1]);
	}
	free(c->places);
}
