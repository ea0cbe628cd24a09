/* SPDX-License-Identifier: Apache-2.0
 *
 * The race check's memory: for every word that was touched, its last write and the reads since that
 * no later read covers (after Flanagan and Freund, "FastTrack", 2009); a word that is accessed in
 * parts has four such cells. Who is ordered with whom, ptx-race-order.c knows.
 */
#include "softgpu/watch/ptx-race-int.h"

#include <stdlib.h>

#define LIMIT (1ull << 30)
#define INSN_MAX (1u << 20)

/* --- instructions --- */
static uint32_t insn_number(struct ptx_races *c, const struct ptx_warp *w, const struct ptx_insn *i)
{
	size_t at = ((uintptr_t)i / sizeof(*i) * 0x9e3779b97f4a7c15ull >> 32) % RACE_SEEN;

	if (c->seen[at].insn == i)
		return c->seen[at].number;
	for (uint32_t k = c->ninsns; k--;)
		if (c->insns[k].insn == i) {
			c->seen[at] = (struct race_seen){i, k};
			return k;
		}
	if (c->ninsns == c->capinsns) {
		uint32_t cap = c->capinsns ? 2 * c->capinsns : 256;
		struct race_insn *p = cap > INSN_MAX ? NULL : realloc(c->insns, cap * sizeof(*p));
		if (!p) {
			race_doubt(c, "more instructions than can be told apart");
			return 0;
		}
		c->insns = p;
		c->capinsns = cap;
	}
	c->insns[c->ninsns] = (struct race_insn){i, w->frames[w->nframes - 1].fn};
	c->seen[at] = (struct race_seen){i, c->ninsns};
	return c->ninsns++;
}

/* --- cells --- */
bool race_take(struct ptx_races *c, size_t n)
{
	if (c->used + n > c->limit) {
		race_doubt(c, "more memory was touched than the check has room for");
		return false;
	}
	c->used += n;
	return true;
}

static struct race_page *page_of(struct ptx_races *c, uint64_t addr)
{
	uint64_t key = addr / RACE_PAGE + 1;
	size_t at = (key * 0x9e3779b97f4a7c15ull >> 24) & (c->slots - 1);

	if (c->last_key == key)
		return c->last_page;
	while (c->pages[at].key && c->pages[at].key != key)
		at = (at + 1) & (c->slots - 1);
	if (!c->pages[at].key) {
		struct race_page *p = race_take(c, sizeof(*p)) ? calloc(1, sizeof(*p)) : NULL;
		if (!p)
			return NULL;
		c->pages[at] = (struct race_slot_page){key, p};
		if (2 * ++c->npages > c->slots) {
			size_t slots = 2 * c->slots;
			struct race_slot_page *t = calloc(slots, sizeof(*t));
			if (!t)
				return NULL;
			for (size_t k = 0; k < c->slots; k++) {
				size_t to = (c->pages[k].key * 0x9e3779b97f4a7c15ull >> 24) &
					    (slots - 1);
				while (c->pages[k].key && t[to].key)
					to = (to + 1) & (slots - 1);
				if (c->pages[k].key)
					t[to] = c->pages[k];
			}
			free(c->pages);
			c->pages = t;
			c->slots = slots;
		}
		c->last_page = p;
		c->last_key = key;
		return p;
	}
	c->last_key = key;
	return c->last_page = c->pages[at].page;
}

static struct race_more *more_of(struct ptx_races *c, struct race_cell *cell)
{
	if (!cell->more) {
		if (c->nmore == c->capmore) {
			uint32_t cap = c->capmore ? 2 * c->capmore : 1024;
			struct race_more *p = race_take(c, (cap - c->capmore) * sizeof(*p))
						      ? realloc(c->more, cap * sizeof(*p))
						      : NULL;
			if (!p)
				return NULL;
			c->more = p;
			c->capmore = cap;
		}
		c->more[c->nmore].n = 0;
		cell->more = ++c->nmore;
	}
	return &c->more[cell->more - 1];
}

static struct race_cell *split_of(struct ptx_races *c, struct race_cell *cell)
{
	if (!cell->split) {
		struct race_cell *four;
		if (c->nsplit == c->capsplit) {
			uint32_t cap = c->capsplit ? 2 * c->capsplit : 256;
			struct race_cell(*p)[4] = race_take(c, (cap - c->capsplit) * sizeof(*p))
							  ? realloc(c->split, cap * sizeof(*p))
							  : NULL;
			if (!p)
				return NULL;
			c->split = p;
			c->capsplit = cap;
		}
		four = c->split[c->nsplit];
		for (unsigned k = 0; k < 4; k++) {
			four[k] = (struct race_cell){.write = cell->write, .read = cell->read};
			if (cell->more) {
				struct race_more *to = more_of(c, &four[k]);
				if (to)
					*to = c->more[cell->more - 1];
			}
		}
		cell->split = ++c->nsplit;
	}
	return c->split[cell->split - 1];
}

/* --- conflicts --- */
struct now { /* one lane's access */
	struct ptx_races *c;
	const struct ptx_access *a;
	struct race_block *b;
	struct race_thread *t;
	struct race_mark mark; /* as it will be remembered */
	unsigned lane;
	uint32_t number; /* of the thread in its block */
	bool same;	 /* a write of what is there */
};

static bool is_exempt(const struct now *n, const struct race_mark *m)
{
	uint32_t both = m->insn & n->mark.insn;

	return both & RACE_STRONG && (both & RACE_WIDE || m->warp / n->c->nwarps == n->b->index);
}

/* The first lane of m that nothing orders before this access, or -1. */
static int unordered_lane(const struct now *n, const struct race_mark *m)
{
	uint64_t block = m->warp / n->c->nwarps;
	uint32_t first = m->warp % n->c->nwarps * PTX_LANES, mask = m->lanes;

	if (m->warp == n->mark.warp)
		mask &= ~(1u << n->lane);
	if (!mask || is_exempt(n, m))
		return -1;
	EACH_LANE(l) if (!race_covers(n->t, n->b, block, first + l, m->clock)) return (int)l;
	return -1;
}

static void thread_at(const struct ptx_races *c, uint64_t block, unsigned t, unsigned ret_block[3],
	unsigned ret_thread[3])
{
	const struct ptx_launch *l = c->l;

	ret_block[0] = (unsigned)(block % l->grid[0]);
	ret_block[1] = (unsigned)(block / l->grid[0] % l->grid[1]);
	ret_block[2] = (unsigned)(block / l->grid[0] / l->grid[1]);
	ret_thread[0] = t % l->block[0];
	ret_thread[1] = t / l->block[0] % l->block[1];
	ret_thread[2] = t / l->block[0] / l->block[1];
}

static void fill_side(const struct ptx_races *c, struct ptx_race_side *s, const struct race_mark *m,
	unsigned lane)
{
	const struct race_insn *i = &c->insns[m->insn & RACE_INSN];

	s->kind = m->insn & RACE_ATOMIC ? PTX_ATOMIC : m->insn & RACE_WRITE ? PTX_WRITE : PTX_READ;
	s->insn = i->insn;
	s->fn = i->fn;
	thread_at(c, m->warp / c->nwarps, m->warp % c->nwarps * PTX_LANES + lane, s->block,
		s->thread);
	s->file = ptx_source_of(i->fn, i->insn, &s->source_line);
}

/* One for each pair of instructions, whichever came first; of the graver tier as soon as one is. */
static struct race_found *find_pair(struct ptx_races *c, uint32_t a, uint32_t b, bool shared)
{
	for (size_t k = 0; k < c->nfound; k++) {
		struct race_found *f = &c->found[k];
		if (f->race.shared == shared &&
			((f->a == a && f->b == b) || (f->a == b && f->b == a)))
			return f;
	}
	if (c->nfound == RACE_PAIRS) {
		race_doubt(c, "more pairs of instructions race than are listed");
		return NULL;
	}
	c->found[c->nfound] = (struct race_found){
		.a = a, .b = b, .race = {.shared = shared, .tier = PTX_RACE_SAME_VALUE}};
	return &c->found[c->nfound++];
}

static void found(const struct now *n, const struct race_mark *m, unsigned lane,
	enum ptx_race_tier tier, uint64_t addr, unsigned size)
{
	struct race_found *f = find_pair(
		n->c, m->insn & RACE_INSN, n->mark.insn & RACE_INSN, n->a->space == SP_SHARED);

	if (!f)
		return;
	if (!f->race.count++ || tier < f->race.tier) {
		f->race.tier = tier;
		f->race.addr = addr;
		f->race.size = size;
		fill_side(n->c, &f->race.side[0], m, lane);
		fill_side(n->c, &f->race.side[1], &n->mark, n->lane);
	}
}

static void check(const struct now *n, const struct race_mark *m, uint64_t addr, unsigned size)
{
	int lane;
	bool same, reads;

	if (!m->lanes || !((m->insn | n->mark.insn) & RACE_WRITE))
		return;
	lane = unordered_lane(n, m);
	if (lane < 0)
		return;
	/* the later write's bytes, or when this is a read the earlier's, were there before */
	same = n->mark.insn & RACE_WRITE ? n->same : (m->insn & RACE_SAME) != 0;
	reads = !(m->insn & n->mark.insn & RACE_WRITE) && (m->insn | n->mark.insn) & RACE_ATOMIC;
	found(n, m, (unsigned)lane,
		same	? PTX_RACE_SAME_VALUE
		: reads ? PTX_RACE_ATOMIC_READ
			: PTX_RACE,
		addr, size);
}

/* --- remembering --- */
static bool is_covered(const struct now *n, const struct race_mark *m)
{
	uint64_t block = m->warp / n->c->nwarps;
	uint32_t first = m->warp % n->c->nwarps * PTX_LANES, mask = m->lanes;

	if (m->warp == n->mark.warp)
		mask &= ~(1u << n->lane);
	EACH_LANE(l) if (!race_covers(n->t, n->b, block, first + l, m->clock)) return false;
	return true;
}

/* Whether this access replaces m: accesses ordered after this one are ordered after m, and all that
 * conflicts with m conflicts with this one. */
static bool replaces(const struct now *n, const struct race_mark *m)
{
	uint32_t strong = n->mark.insn & RACE_STRONG, writes = m->insn & RACE_WRITE;

	return !(strong && !(m->insn & RACE_STRONG)) && !(writes && !(n->mark.insn & RACE_WRITE)) &&
	       is_covered(n, m);
}

static bool joins(const struct now *n, struct race_mark *m)
{
	if (m->warp != n->mark.warp || m->clock != n->mark.clock || m->insn != n->mark.insn)
		return false;
	m->lanes |= n->mark.lanes;
	return true;
}

/* A read, or an atomic, which is remembered as one that writes. Mostly the same warp was there
 * before. */
static void remember(const struct now *n, struct race_cell *cell)
{
	struct race_more *more = cell->more ? &n->c->more[cell->more - 1] : NULL;

	if (cell->read.lanes && joins(n, &cell->read))
		return;
	for (unsigned k = 0; more && k < more->n; k++)
		if (joins(n, &more->m[k]))
			return;
	if (!cell->read.lanes || replaces(n, &cell->read)) {
		cell->read = n->mark;
		return;
	}
	for (unsigned k = 0; more && k < more->n; k++)
		if (replaces(n, &more->m[k])) {
			more->m[k] = n->mark;
			return;
		}
	more = more_of(n->c, cell);
	if (more && more->n < RACE_MORE)
		more->m[more->n++] = n->mark;
	else if (more)
		more->m[n->c->random++ % RACE_MORE] = n->mark;
}

static void access_cell(const struct now *n, struct race_cell *cell, uint64_t addr, unsigned size)
{
	check(n, &cell->write, addr, size);
	if (n->mark.insn & RACE_WRITE) {
		check(n, &cell->read, addr, size);
		if (cell->more)
			for (unsigned k = 0; k < n->c->more[cell->more - 1].n; k++)
				check(n, &n->c->more[cell->more - 1].m[k], addr, size);
	} else {
		/* atomics are among the reads */
		if (cell->read.insn & RACE_WRITE)
			check(n, &cell->read, addr, size);
		if (cell->more)
			for (unsigned k = 0; k < n->c->more[cell->more - 1].n; k++)
				if (n->c->more[cell->more - 1].m[k].insn & RACE_WRITE)
					check(n, &n->c->more[cell->more - 1].m[k], addr, size);
	}
	if (!(n->mark.insn & RACE_WRITE) || n->mark.insn & RACE_ATOMIC) {
		remember(n, cell);
		return;
	}
	cell->write = n->mark;
	if (n->same)
		cell->write.insn |= RACE_SAME;
	cell->read.lanes = 0;
	if (cell->more)
		n->c->more[cell->more - 1].n = 0;
}

/* The same thread again, nothing having happened between: most accesses in a loop. */
static bool is_repeat(const struct now *n, const struct race_cell *cell)
{
	const struct race_mark *m = n->mark.insn & RACE_WRITE ? &cell->write : &cell->read;

	return m->warp == n->mark.warp && m->lanes == n->mark.lanes && m->clock == n->mark.clock &&
	       m->insn == n->mark.insn && !cell->split &&
	       (n->mark.insn & RACE_WRITE ? !cell->read.lanes : !cell->more);
}

static void access_word(
	const struct now *n, struct race_cell *cell, uint64_t addr, unsigned from, unsigned size)
{
	struct race_cell *four;

	if (is_repeat(n, cell) && size == 4)
		return;
	if (size == 4 && !cell->split) {
		access_cell(n, cell, addr, size);
		return;
	}
	four = split_of(n->c, cell);
	for (unsigned k = from; four && k < from + size; k++) {
		access_cell(n, &four[k], addr + k - from, 1);
		four = n->c->split[cell->split - 1];
	}
}

static void access_bytes(const struct now *n, uint64_t addr, unsigned size)
{
	while (size) {
		unsigned from = (unsigned)(addr % 4), here = 4 - from < size ? 4 - from : size;
		struct race_cell *cell;

		if (n->a->space == SP_SHARED) {
			cell = addr / 4 < n->b->nshared ? &n->b->shared[addr / 4] : NULL;
		} else {
			struct race_page *p = page_of(n->c, addr);
			cell = p ? &p->cell[addr % RACE_PAGE / 4] : NULL;
		}
		if (cell)
			access_word(n, cell, addr, from, here);
		addr += here;
		size -= here;
	}
}

/* --- the observer --- */
/* Whether lane's store changes nothing: neither memory nor what an earlier lane of the same
 * instruction stores there. */
static bool stores_the_same(const struct ptx_access *a, unsigned lane)
{
	uint32_t mask = a->mask & ((1u << lane) - 1);
	bool earlier = false;

	if (!a->value || a->kind != PTX_WRITE)
		return false;
	EACH_LANE(l)
	{
		if (a->addr[l] != a->addr[lane])
			continue;
		if (memcmp(a->value[l], a->value[lane], a->size))
			return false;
		earlier = true;
	}
	return earlier ||
	       !memcmp((const void *)(uintptr_t)a->pointer[lane], a->value[lane], a->size);
}

static void on_access(void *arg, const struct ptx_access *a)
{
	struct ptx_races *c = arg;
	struct now n = {.c = c, .a = a};
	uint32_t mask = a->mask, flags = insn_number(c, a->warp, a->insn);
	bool strong = a->kind == PTX_ATOMIC || a->insn->order & ORDER_STRONG;

	if ((a->space != SP_GLOBAL && a->space != SP_SHARED) ||
		(a->space == SP_GLOBAL && !race_is_memory(c, a->addr[__builtin_ctz(mask)])))
		return;
	n.b = race_block_of(c, a->warp->blk);
	if (!n.b)
		return;
	flags |= strong ? RACE_STRONG : 0;
	flags |= strong && (a->insn->order & ORDER_SCOPE) != ORDER_CTA ? RACE_WIDE : 0;
	flags |= a->kind != PTX_READ ? RACE_WRITE : 0;
	flags |= a->kind == PTX_ATOMIC ? RACE_ATOMIC : 0;
	EACH_LANE(l)
	{
		n.lane = l;
		n.number = a->warp->id * PTX_LANES + l;
		n.t = &n.b->threads[n.number];
		n.mark = (struct race_mark){(uint32_t)(n.b->index * c->nwarps + a->warp->id),
			1u << l, n.t->clock, flags};
		n.same = stores_the_same(a, l);
		access_bytes(&n, a->addr[l], a->size);
		if (strong)
			race_strong(c, n.b, n.t, n.number, a, l);
	}
}

struct ptx_observer ptx_races_observer(struct ptx_races *c)
{
	return (struct ptx_observer){.arg = c,
		.access = on_access,
		.sync = race_sync,
		.block_start = race_block_start,
		.block_end = race_block_end};
}

/* --- life --- */
struct ptx_races *ptx_races_new(const struct ptx_launch *l, size_t limit)
{
	struct ptx_races *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->l = l;
	c->limit = limit ? limit : LIMIT;
	c->nthreads = l->block[0] * l->block[1] * l->block[2];
	c->nwarps = (c->nthreads + PTX_LANES - 1) / PTX_LANES;
	c->slots = 256;
	c->pages = calloc(c->slots, sizeof(*c->pages));
	if (c->pages)
		return c;
	free(c);
	return NULL;
}

void ptx_races_free(struct ptx_races *c)
{
	if (!c)
		return;
	race_order_free(c);
	for (size_t k = 0; k < c->slots; k++)
		free(c->pages[k].page);
	free(c->pages);
	free(c->more);
	free(c->split);
	free(c->insns);
	free(c);
}

bool ptx_races_get(const struct ptx_races *c, size_t i, struct ptx_race *ret)
{
	if (i >= c->nfound)
		return false;
	*ret = c->found[i].race;
	return true;
}

const char *ptx_races_doubt(const struct ptx_races *c)
{
	return c->doubt;
}

void race_doubt(struct ptx_races *c, const char *why)
{
	if (!c->doubt)
		c->doubt = why;
}
