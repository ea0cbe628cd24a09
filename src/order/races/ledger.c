/* SPDX-License-Identifier: Apache-2.0
 *
 * Last accesses, see ledger.h.
 */
#include <stdlib.h>
#include <string.h>
#include "order/races/ledger.h"
#include "base/first-where.h"

/* of one allocation; beyond that it is one piece, and what it knows is only possible */
#define PIECES_MAX 16384

struct piece {
	uint64_t addr, end;
	struct ledger_touch *t; /* n of cap, heap beyond the one inside */
	struct ledger_touch one;
	uint32_t n, cap;
};

struct book {
	uint64_t key;	 /* + 1; 0: a free slot */
	struct piece *p; /* sorted, apart */
	size_t n, cap;
	bool coarse, gone;
};

struct ledger {
	struct book *books; /* hash table, open addressing */
	size_t slots, used;
	ledger_fn *conflict;
	void *arg;
	uint64_t coarse;
};

bool ledger_conflict(enum order_how a, enum order_how b)
{
	static const bool table[ORDER_HOWS][ORDER_HOWS] = {
		[ORDER_READ] = {[ORDER_WRITE] = true,
			[ORDER_ATOMIC] = true,
			[ORDER_MAYBE] = true,
			[ORDER_BIRTH] = true,
			[ORDER_DEATH] = true},
		[ORDER_WRITE] = {true, true, true, true, true, true, true},
		[ORDER_ATOMIC] = {[ORDER_READ] = true,
			[ORDER_WRITE] = true,
			[ORDER_MAYBE] = true,
			[ORDER_BIRTH] = true,
			[ORDER_DEATH] = true},
		[ORDER_MAYBE] = {[ORDER_READ] = true,
			[ORDER_WRITE] = true,
			[ORDER_ATOMIC] = true,
			[ORDER_MAYBE] = true,
			[ORDER_BIRTH] = true,
			[ORDER_DEATH] = true},
		[ORDER_POINTS] = {[ORDER_WRITE] = true, [ORDER_BIRTH] = true, [ORDER_DEATH] = true},
		[ORDER_BIRTH] = {true, true, true, true, true, true, true},
		[ORDER_DEATH] = {true, true, true, true, true, true, true},
	};

	return table[a][b];
}

/* Whether `now` covers an earlier access that is ordered before it: all that conflicts with that
 * one conflicts with `now`. */
static bool stands_for(enum order_how now, enum order_how earlier)
{
	if (now == earlier || now == ORDER_WRITE || now == ORDER_BIRTH || now == ORDER_DEATH)
		return true;
	/* MAYBE conflicts with everything, but is a weaker finding than an exact access: it
	 * replaces none. */
	return false;
}

struct ledger *ledger_new(ledger_fn *conflict, void *arg)
{
	struct ledger *l = xcalloc(1, sizeof *l);

	l->conflict = conflict;
	l->arg = arg;
	l->slots = 1024;
	l->books = xcalloc(l->slots, sizeof *l->books);
	return l;
}

static void piece_free(struct piece *p)
{
	if (p->cap)
		free(p->t);
}

static void book_empty(struct book *b)
{
	for (size_t i = 0; i < b->n; i++)
		piece_free(&b->p[i]);
	free(b->p);
	b->p = NULL;
	b->n = b->cap = 0;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->slots; i++)
		book_empty(&l->books[i]);
	free(l->books);
	free(l);
}

uint64_t ledger_coarse(const struct ledger *l)
{
	return l->coarse;
}

/* --- books --- */

static struct book *slot_of(const struct ledger *l, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (l->slots - 1);

	while (l->books[i].key && l->books[i].key != key + 1)
		i = (i + 1) & (l->slots - 1);
	return &l->books[i];
}

/* Grows the table and drops the books of freed allocations. */
static void rehash(struct ledger *l)
{
	struct book *old = l->books;
	const size_t slots = l->slots;
	size_t live = 0;

	for (size_t i = 0; i < slots; i++)
		live += old[i].key && !old[i].gone;
	while (l->slots < 4 * live)
		l->slots *= 2;
	l->books = xcalloc(l->slots, sizeof *l->books);
	l->used = live;
	for (size_t i = 0; i < slots; i++)
		if (old[i].key && !old[i].gone)
			*slot_of(l, old[i].key - 1) = old[i];
	free(old);
}

static struct book *book_of(struct ledger *l, uint64_t key)
{
	struct book *b = slot_of(l, key);

	if (b->key) {
		b->gone = false;
		return b;
	}
	if (2 * (l->used + 1) > l->slots) {
		rehash(l);
		b = slot_of(l, key);
	}
	l->used++;
	*b = (struct book){.key = key + 1};
	return b;
}

void ledger_forget(struct ledger *l, uint64_t key)
{
	struct book *b = slot_of(l, key);

	if (!b->key)
		return;
	book_empty(b);
	b->gone = true;
}

/* --- pieces --- */

static struct ledger_touch *touches(struct piece *p)
{
	return p->cap ? p->t : &p->one;
}

static void piece_add(struct piece *p, const struct ledger_touch *t)
{
	if (!p->cap && !p->n) {
		p->one = *t;
		p->n = 1;
		return;
	}
	if (p->n >= (p->cap ? p->cap : 1)) {
		const uint32_t cap = p->cap ? 2 * p->cap : 4;
		struct ledger_touch *to = xmalloc(cap * sizeof *to);

		memcpy(to, touches(p), p->n * sizeof *to);
		piece_free(p);
		p->t = to;
		p->cap = cap;
	}
	p->t[p->n++] = *t;
}

static size_t first_at(const struct book *b, uint64_t addr)
{
	return FIRST_WHERE(b->n, i, b->p[i].end > addr);
}

bool ledger_each(const struct ledger *l, uint64_t key, uint64_t addr, uint64_t end,
	bool (*fn)(void *arg, const struct ledger_touch *t), void *arg)
{
	const struct book *b = slot_of(l, key);

	if (!b->key)
		return false;
	for (size_t i = first_at(b, addr); i < b->n && b->p[i].addr < end; i++)
		for (uint32_t k = 0; k < b->p[i].n; k++)
			if (fn(arg, &touches(&b->p[i])[k]))
				return true;
	return false;
}

static struct piece *insert(struct book *b, size_t at, const struct piece *p)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 2;
		b->p = xrealloc(b->p, b->cap * sizeof *b->p);
	}
	memmove(b->p + at + 1, b->p + at, (b->n - at) * sizeof *b->p);
	b->p[at] = *p;
	b->n++;
	return &b->p[at];
}

/* Cuts piece i at addr, which lies inside: it ends there, a copy of it begins there. */
static void cut(struct book *b, size_t i, uint64_t addr)
{
	struct piece right = b->p[i];

	if (right.cap) {
		right.t = xmalloc(right.cap * sizeof *right.t);
		memcpy(right.t, b->p[i].t, right.n * sizeof *right.t);
	}
	right.addr = addr;
	insert(b, i + 1, &right)[-1].end = addr;
}

static bool alike(struct piece *a, struct piece *b)
{
	const struct ledger_touch *x = touches(a), *y = touches(b);

	if (a->end != b->addr || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (x[i].seq != y[i].seq || x[i].lane != y[i].lane || x[i].how != y[i].how)
			return false;
	return true;
}

/* Neighbours from..to that know the same become one. */
static void merge(struct book *b, size_t from, size_t to)
{
	size_t at = from;

	if (to > b->n)
		to = b->n;
	for (size_t i = from + 1; i < to; i++) {
		if (alike(&b->p[at], &b->p[i])) {
			b->p[at].end = b->p[i].end;
			piece_free(&b->p[i]);
		} else {
			b->p[++at] = b->p[i];
		}
	}
	if (to > from + 1) {
		memmove(b->p + at + 1, b->p + to, (b->n - to) * sizeof *b->p);
		b->n -= to - at - 1;
	}
}

static void judge(struct ledger *l, struct piece *p, const struct order_item *item,
	const struct ledger_touch *now, uint64_t addr, uint64_t end)
{
	struct ledger_touch *t = touches(p);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		/* Memory that was freed may not be touched later either. */
		const bool before =
			t[i].seq == now->seq ||
			(t[i].how != ORDER_DEATH && fold_before(t[i].lane, t[i].index, item));

		if (!before && ledger_conflict(t[i].how, now->how))
			l->conflict(l->arg, &t[i], now, addr, end);
		/* A write or free also replaces the access that it was just reported with, so later
		 * accesses are not reported with that one again. */
		if (!stands_for(now->how, t[i].how) ||
			(!before && now->how != ORDER_WRITE && now->how != ORDER_DEATH))
			t[n++] = t[i];
	}
	p->n = n;
	for (uint32_t i = 0; i < n; i++)
		if (t[i].lane == now->lane && t[i].how == now->how) {
			t[i] = *now;
			return;
		}
	piece_add(p, now);
}

/* Replaces too many pieces by one, which every access to any of them may have touched. */
static void coarsen(struct ledger *l, struct book *b)
{
	struct piece all = {.addr = b->p[0].addr, .end = b->p[b->n - 1].end};

	for (size_t i = 0; i < b->n; i++)
		for (uint32_t k = 0; k < b->p[i].n; k++) {
			struct ledger_touch t = touches(&b->p[i])[k];
			uint32_t at = 0;

			t.how = ORDER_MAYBE;
			while (at < all.n && touches(&all)[at].lane != t.lane)
				at++;
			if (at == all.n)
				piece_add(&all, &t);
			else if (touches(&all)[at].index < t.index)
				touches(&all)[at] = t;
		}
	book_empty(b);
	insert(b, 0, &all);
	if (!b->coarse)
		l->coarse++;
	b->coarse = true;
}

void ledger_touch(struct ledger *l, uint64_t key, const struct order_item *item,
	const struct ledger_touch *now, uint64_t addr, uint64_t end)
{
	struct book *b = book_of(l, key);
	size_t i = first_at(b, addr), from = i;

	if (i < b->n && b->p[i].addr < addr)
		cut(b, i++, addr);
	while (addr < end) {
		if (i == b->n || b->p[i].addr >= end) { /* no earlier access here */
			const struct piece fresh = {.addr = addr, .end = end, .one = *now, .n = 1};

			insert(b, i++, &fresh);
			break;
		}
		if (b->p[i].addr > addr) {
			const struct piece fresh = {
				.addr = addr, .end = b->p[i].addr, .one = *now, .n = 1};

			insert(b, i++, &fresh);
			addr = fresh.end;
		}
		if (b->p[i].end > end)
			cut(b, i, end);
		judge(l, &b->p[i], item, now, addr, b->p[i].end);
		addr = b->p[i++].end;
	}
	merge(b, from ? from - 1 : 0, i + 1);
	if (b->n > PIECES_MAX)
		coarsen(l, b);
}
