/* SPDX-License-Identifier: Apache-2.0
 *
 * The race check's memory: for every word that was touched its last write, its last atomic and some
 * of the reads since (after Flanagan and Freund, "FastTrack", 2009). Who is ordered with whom,
 * amd-race-order.c knows.
 */
#include "softamd/watch/amd-race-int.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT (1ull << 30)
#define GROUPS_MAX (4u << 20)
#define LANES 64u

void amd_race_doubt(struct amd_races *c, const char *why)
{
	if (!c->doubt)
		c->doubt = why;
}

bool amd_race_take(struct amd_races *c, size_t n)
{
	if (n > c->limit - c->used) {
		amd_race_doubt(c, "more memory was touched than the check has room for");
		return false;
	}
	c->used += n;
	return true;
}

/* --- instructions --- */

static uint32_t insn_number(struct amd_races *c, const struct amd_access *a)
{
	if (c->ninsns && c->insns[c->last_insn].pc == a->pc)
		return c->last_insn;
	for (uint32_t k = c->ninsns; k--;)
		if (c->insns[k].pc == a->pc)
			return c->last_insn = k;
	if (c->ninsns == c->capinsns) {
		uint32_t cap = c->capinsns ? 2 * c->capinsns : 256;
		struct amd_race_insn *p =
			cap > RACE_INSN ? NULL : realloc(c->insns, cap * sizeof(*p));

		if (!p) {
			amd_race_doubt(c, "more instructions than can be told apart");
			return 0;
		}
		c->insns = p;
		c->capinsns = cap;
	}
	c->insns[c->ninsns] = (struct amd_race_insn){a->pc, a->insn};
	return c->last_insn = c->ninsns++;
}

/* --- cells --- */

static struct amd_cells_slot *slot_of(struct amd_cells_slot *t, size_t slots, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 24) & (slots - 1);

	while (t[at].key && t[at].key != key)
		at = (at + 1) & (slots - 1);
	return &t[at];
}

static bool more_slots(struct amd_races *c)
{
	size_t slots = 2 * c->slots;
	struct amd_cells_slot *t = calloc(slots, sizeof(*t));

	if (!t) {
		amd_race_doubt(c, "no memory");
		return false;
	}
	for (size_t k = 0; k < c->slots; k++)
		if (c->pages[k].key)
			*slot_of(t, slots, c->pages[k].key) = c->pages[k];
	free(c->pages);
	c->pages = t;
	c->slots = slots;
	return true;
}

static struct amd_cells *page_of(struct amd_races *c, uint64_t addr)
{
	uint64_t key = addr / RACE_PAGE + 1;
	struct amd_cells_slot *s;

	if (c->last_key == key)
		return c->last_page;
	if (2 * (c->npages + 1) > c->slots && !more_slots(c))
		return NULL;
	s = slot_of(c->pages, c->slots, key);
	if (!s->key) {
		struct amd_cells *p = amd_race_take(c, sizeof(*p)) ? calloc(1, sizeof(*p)) : NULL;

		if (!p)
			return NULL;
		*s = (struct amd_cells_slot){key, p};
		c->npages++;
	}
	c->last_key = key;
	return c->last_page = s->page;
}

static struct amd_cell *lds_cell(struct amd_races *c, struct amd_race_group *g, uint64_t offset)
{
	uint32_t word = (uint32_t)(offset / 4), words = g->lds_words ? g->lds_words : 256;
	struct amd_cell *p;

	if (word < g->lds_words)
		return &g->lds[word];
	while (words <= word)
		words *= 2;
	p = amd_race_take(c, (words - g->lds_words) * sizeof(*p))
		    ? realloc(g->lds, words * sizeof(*p))
		    : NULL;
	if (!p)
		return NULL;
	memset(p + g->lds_words, 0, (words - g->lds_words) * sizeof(*p));
	g->lds = p;
	g->lds_words = words;
	return &p[word];
}

/* --- conflicts --- */

struct now { /* one lane's access */
	struct amd_races *c;
	const struct amd_access *a;
	struct amd_race_group *g;
	struct amd_race_wave *w;
	struct amd_mark mark; /* as it will be remembered */
};

static bool at_once(const struct amd_mark *x, const struct amd_mark *y)
{
	return x->wave == y->wave && x->when == y->when;
}

/* The first of the bytes that nothing orders; -1: none. Lanes of a wave are in step, so only those
 * of one instruction are not ordered. */
static int unordered_byte(const struct now *n, const struct amd_mark *m, uint32_t bytes)
{
	if (m->wave != n->mark.wave)
		return amd_race_covers(n->c, n->w, m->wave - 1, m->clock) ? -1
									  : __builtin_ctz(bytes);
	if (!at_once(m, &n->mark))
		return -1;
	for (int b = 0; b < 4; b++)
		if (bytes >> b & 1 && m->lane[b] != n->mark.lane[b])
			return b;
	return -1;
}

/* What may be synchronisation itself: a strong access against a store, or another strong one. */
static bool is_exempt(const struct amd_mark *x, const struct amd_mark *y)
{
	if (x->insn & y->insn & RACE_STRONG)
		return true;
	if (x->insn & RACE_STRONG)
		return y->insn & RACE_WRITE;
	return y->insn & RACE_STRONG && x->insn & RACE_WRITE;
}

static void item_of(const struct amd_races *c, uint32_t wave, unsigned lane, uint32_t group[3],
	uint32_t item[3])
{
	const struct amd_dispatch *d = c->d;
	uint64_t number = wave / c->nwaves;
	uint32_t n = wave % c->nwaves * LANES + lane, size[3];

	group[0] = (uint32_t)(number % c->groups[0]);
	group[1] = (uint32_t)(number / c->groups[0] % c->groups[1]);
	group[2] = (uint32_t)(number / c->groups[0] / c->groups[1]);
	for (unsigned k = 0; k < 3; k++) { /* the last ones of a grid may be smaller */
		uint32_t full = d->workgroup[k] ? d->workgroup[k] : 1;
		uint32_t left = (d->grid[k] ? d->grid[k] : 1) - group[k] * full;

		size[k] = left < full ? left : full;
	}
	item[0] = n % size[0];
	item[1] = n / size[0] % size[1];
	item[2] = n / size[0] / size[1];
}

static void fill_side(
	const struct amd_races *c, struct amd_race_side *s, const struct amd_mark *m, int byte)
{
	const struct amd_race_insn *i = &c->insns[m->insn & RACE_INSN];

	s->kind = m->insn & RACE_ATOMIC	 ? AMD_READ_WRITE
		  : m->insn & RACE_WRITE ? AMD_WRITE
					 : AMD_READ;
	s->pc = i->pc;
	s->insn = i->name;
	item_of(c, m->wave - 1, m->lane[byte], s->group, s->item);
}

/* One for each pair of instructions, whichever came first. NULL: there are too many. */
static struct amd_race *pair_of(struct amd_races *c, uint32_t a, uint32_t b, bool lds)
{
	for (size_t k = 0; k < c->nfound; k++)
		if (c->found[k].race.lds == lds &&
			((c->found[k].a == a && c->found[k].b == b) ||
				(c->found[k].a == b && c->found[k].b == a)))
			return &c->found[k].race;
	if (c->nfound == RACE_PAIRS) {
		amd_race_doubt(c, "more pairs of instructions race than are listed");
		return NULL;
	}
	c->found[c->nfound].a = a;
	c->found[c->nfound].b = b;
	c->found[c->nfound].race = (struct amd_race){.lds = lds, .tier = AMD_RACE_SAME_VALUE};
	return &c->found[c->nfound++].race;
}

static enum amd_race_tier tier_of(const struct amd_mark *old, const struct amd_mark *now)
{
	/* the later write's bytes, or when this is a read the earlier's, were there before */
	const struct amd_mark *writer = now->insn & RACE_WRITE ? now : old;

	if ((old->insn | now->insn) & RACE_ATOMIC && !(old->insn & now->insn & RACE_WRITE))
		return AMD_RACE_ATOMIC_READ;
	return writer->insn & RACE_SAME ? AMD_RACE_SAME_VALUE : AMD_RACE;
}

static void check(const struct now *n, const struct amd_mark *m, uint64_t word)
{
	uint32_t both = RACE_BYTES(m->insn & n->mark.insn);
	enum amd_race_tier tier;
	struct amd_race *r;
	int byte;

	if (!m->wave || !both || !((m->insn | n->mark.insn) & RACE_WRITE) || is_exempt(m, &n->mark))
		return;
	byte = unordered_byte(n, m, both);
	if (byte < 0)
		return;
	r = pair_of(n->c, m->insn & RACE_INSN, n->mark.insn & RACE_INSN, n->a->space == AMD_LDS);
	if (!r)
		return;
	tier = tier_of(m, &n->mark);
	if (r->count++ && tier >= r->tier)
		return;
	r->tier = tier;
	r->addr = word + (unsigned)byte;
	r->size = (unsigned)__builtin_popcount(both >> byte);
	fill_side(n->c, &r->side[0], m, byte);
	fill_side(n->c, &r->side[1], &n->mark, byte);
}

/* --- remembering --- */

/* The mark of this access, with the bytes that the same wave touched before by the same
 * instruction, or, when nothing has moved on since, by another one. */
static void replace(const struct now *n, struct amd_mark *m)
{
	struct amd_mark old = *m;

	*m = n->mark;
	if (old.wave != m->wave || old.clock != m->clock)
		return;
	m->insn |= old.insn & 15u << RACE_BYTES_AT;
	for (int b = 0; b < 4; b++)
		if (!(RACE_BYTES(n->mark.insn) >> b & 1))
			m->lane[b] = old.lane[b];
}

static void remember_read(const struct now *n, struct amd_cell *cell)
{
	struct amd_mark *free_one = NULL;

	for (unsigned k = 0; k < RACE_READERS; k++) {
		struct amd_mark *m = &cell->read[k];

		if (m->wave == n->mark.wave) {
			replace(n, m);
			return;
		}
		if (!free_one && (!m->wave || unordered_byte(n, m, 15) < 0))
			free_one = m;
	}
	*(free_one ? free_one : &cell->read[n->c->random++ % RACE_READERS]) = n->mark;
}

static void remember_write(const struct now *n, struct amd_cell *cell)
{
	if (at_once(&cell->write, &n->mark) && n->mark.insn & RACE_SAME &&
		RACE_BYTES(cell->write.insn & n->mark.insn))
		return; /* the lane that changed it counts */
	if (at_once(&cell->write, &n->mark))
		replace(n, &cell->write);
	else
		cell->write = n->mark;
	if (RACE_BYTES(n->mark.insn) == 15)
		memset(cell->read, 0, sizeof(cell->read));
}

static void access_word(const struct now *n, struct amd_cell *cell, uint64_t word)
{
	check(n, &cell->write, word);
	check(n, &cell->atomic, word);
	if (n->mark.insn & RACE_WRITE)
		for (unsigned k = 0; k < RACE_READERS; k++)
			check(n, &cell->read[k], word);
	if (n->mark.insn & RACE_STRONG)
		amd_race_strong(n->c, n->g, n->w, n->a, &cell->write);
	if (n->mark.insn & RACE_ATOMIC)
		cell->atomic = n->mark;
	else if (n->mark.insn & RACE_WRITE)
		remember_write(n, cell);
	else if (!(n->mark.insn & RACE_STRONG))
		remember_read(n, cell);
}

static void access_bytes(struct now *n, uint32_t flags)
{
	uint64_t addr = n->a->address;
	unsigned size = n->a->size;

	while (size) {
		unsigned from = (unsigned)(addr % 4), here = 4 - from < size ? 4 - from : size;
		struct amd_cell *cell = NULL;

		n->mark.insn = flags | ((1u << here) - 1) << from << RACE_BYTES_AT;
		if (n->a->space == AMD_LDS) {
			cell = lds_cell(n->c, n->g, addr);
		} else {
			struct amd_cells *p = page_of(n->c, addr);

			cell = p ? &p->cell[addr % RACE_PAGE / 4] : NULL;
		}
		if (cell)
			access_word(n, cell, addr - from);
		addr += here;
		size -= here;
	}
}

/* --- the observer --- */

void amd_race_flush(struct amd_races *c)
{
	const struct amd_access *a = &c->kept;
	struct now n = {.c = c, .a = a};
	uint32_t group[3], index, flags;

	if (!c->has_kept)
		return;
	c->has_kept = false;
	amd_wave_place(a->wave, group, &index);
	n.g = amd_race_group_of(c, amd_race_number(c, group));
	if (!n.g)
		return;
	n.w = &n.g->waves[index];
	n.w->moved++;
	flags = insn_number(c, a);
	flags |= a->coherent || a->kind == AMD_READ_WRITE ? RACE_STRONG : 0;
	flags |= a->kind != AMD_READ ? RACE_WRITE : 0;
	flags |= a->kind == AMD_READ_WRITE ? RACE_ATOMIC : 0;
	if (a->kind == AMD_WRITE && !memcmp(c->before, a->bytes, a->size))
		flags |= RACE_SAME;
	n.mark = (struct amd_mark){.wave = (uint32_t)(n.g->number * c->nwaves + index + 1),
		.clock = n.w->clock,
		.when = c->instant};
	memset(n.mark.lane, (int)a->lane, sizeof(n.mark.lane));
	access_bytes(&n, flags);
}

static void on_access(void *arg, const struct amd_access *a)
{
	struct amd_races *c = arg;

	amd_race_flush(c);
	if (a->space == AMD_PRIVATE || (a->kind != AMD_READ && a->size > sizeof(c->before)))
		return;
	c->kept = *a;
	c->has_kept = true;
	if (a->kind != AMD_READ)
		memcpy(c->before, a->bytes, a->size);
}

static bool on_step(void *arg, const struct amd_wave *w, uint64_t pc)
{
	struct amd_races *c = arg;

	(void)w;
	(void)pc;
	amd_race_flush(c);
	c->instant++;
	return true;
}

struct amd_observer amd_races_observer(struct amd_races *c)
{
	return (struct amd_observer){.arg = c,
		.step = on_step,
		.access = on_access,
		.sync = amd_race_sync,
		.barrier = amd_race_barrier,
		.group = amd_race_group_event};
}

/* --- life --- */

struct amd_races *amd_races_new(const struct amd_dispatch *d, size_t limit)
{
	struct amd_races *c = calloc(1, sizeof(*c));
	uint64_t items = 1;

	if (!c)
		return NULL;
	c->d = d;
	c->limit = limit ? limit : LIMIT;
	c->ngroups = 1;
	for (unsigned k = 0; k < 3; k++) {
		uint64_t size = d->workgroup[k] ? d->workgroup[k] : 1;

		c->groups[k] = (uint32_t)(((d->grid[k] ? d->grid[k] : 1) + size - 1) / size);
		items *= size;
		if (__builtin_mul_overflow(c->ngroups, c->groups[k], &c->ngroups))
			c->ngroups = UINT64_MAX;
	}
	c->nwaves = (uint32_t)((items + LANES - 1) / LANES);
	c->slots = 256;
	c->pages = calloc(c->slots, sizeof(*c->pages));
	if (c->ngroups <= GROUPS_MAX)
		c->group = calloc(c->ngroups, sizeof(struct amd_race_group *));
	else
		amd_race_doubt(c, "more workgroups than the check has room for");
	if (c->pages)
		return c;
	amd_races_free(c);
	return NULL;
}

void amd_races_free(struct amd_races *c)
{
	if (!c)
		return;
	amd_race_order_free(c);
	for (size_t k = 0; c->pages && k < c->slots; k++)
		free(c->pages[k].page);
	free(c->pages);
	free(c->insns);
	free(c);
}

bool amd_races_get(const struct amd_races *c, size_t i, struct amd_race *ret)
{
	if (i >= c->nfound)
		return false;
	*ret = c->found[i].race;
	return true;
}

const char *amd_races_doubt(const struct amd_races *c)
{
	return c->doubt;
}
