/* SPDX-License-Identifier: Apache-2.0
 *
 * How far A's results move when its inputs move by one ULP. A's window is executed again, several
 * times; what a launch reads and no launch has written before is an input, and each float in it
 * goes one ULP up or down, by chance. What comes out is compared with what A gave. A difference
 * that is not larger says little about the program: its own inputs are hardly known better.
 *
 * Not moved: zero (masks, padding), infinities, NaN, words that are addresses of memory, arguments
 * that are passed by value, and inputs of a launch whose pointers have no one type of float.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "numeric/core/numeric-private.h"
#include "replay/values.h"

/* WITHIN: the largest of few executions is a rough figure. */
enum { PIECE = 1 << 20, WITHIN = 2, BEYOND = 4 };
#define KEPT_MOST (UINT64_C(256) << 20)

/* A finding whose results are watched. */
struct target {
	struct numeric_finding *f;
	const struct work *w;
	enum replayer_as as;
	struct extents out;
	uint8_t *was;		     /* A's bytes of out; heap */
	struct numeric_place *moved; /* by place of f: how far apart seeds took it */
	bool unmoved;		     /* it may depend on inputs that were not moved */
};
/* Addresses that were written by a launch, or moved: disjoint, in order. */
struct covered {
	struct span *v;
	size_t n, cap;
};
struct spread {
	struct numeric_job *j;
	struct target *t;
	size_t n;
	struct covered done;
	uint64_t seed;
	bool unmoved; /* an input of unknown type was read in this run */
};

const char *numeric_matters_name(enum numeric_matters m)
{
	static const char *const names[] = {NULL, "not known", "no", "yes"};

	return (unsigned)m < sizeof names / sizeof *names ? names[m] : NULL;
}

/* --- ranges of addresses --- */

static void put_span(struct covered *c, uint64_t from, uint64_t to)
{
	MAKE_ROOM(c->v, c->n, c->cap);
	c->v[c->n++] = (struct span){from, to - from};
}

/* Takes [from, to) out, and puts it in if `in`. */
static void cover(struct covered *c, uint64_t from, uint64_t to, bool in)
{
	struct covered now = {0};
	bool placed = !in;

	for (size_t i = 0; i < c->n; i++) {
		const uint64_t a = c->v[i].addr, b = a + c->v[i].size;

		if (!placed && a >= from) {
			put_span(&now, from, to);
			placed = true;
		}
		if (b <= from || a >= to) {
			put_span(&now, a, b);
			continue;
		}
		if (a < from)
			put_span(&now, a, from);
		if (!placed) {
			put_span(&now, from, to);
			placed = true;
		}
		if (b > to)
			put_span(&now, to, b);
	}
	if (!placed)
		put_span(&now, from, to);
	free(c->v);
	*c = now;
}

/* The first part of [from, to) that is not covered; false: all of it is. */
static bool first_gap(
	const struct covered *c, uint64_t from, uint64_t to, uint64_t *ret_from, uint64_t *ret_to)
{
	for (size_t i = 0; i < c->n && from < to; i++) {
		const uint64_t a = c->v[i].addr, b = a + c->v[i].size;

		if (b <= from)
			continue;
		if (a > from) {
			to = a < to ? a : to;
			break;
		}
		from = b;
	}
	*ret_from = from;
	*ret_to = to;
	return from < to;
}

static bool is_any_covered(const struct covered *c, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].addr < to && from < c->v[i].addr + c->v[i].size)
			return true;
	return false;
}

/* --- one ULP --- */

static uint64_t chance(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* A finite float that is not zero, one ULP up or down; others stay. */
static uint64_t moved(uint64_t bits, enum replayer_as as, bool up)
{
	const double v = value_of(bits, as);
	const uint64_t away = up == (v > 0) ? bits + 1 : bits - 1;

	return v == 0 || !isfinite(v) || !isfinite(value_of(away, as)) ? bits : away;
}

/* Whether the aligned word around an element is an address of A's memory. */
static bool is_address(const struct numeric_job *j, const uint8_t *word)
{
	uint64_t v;

	memcpy(&v, word, 8);
	return v > 0xffff && side_area_at(&j->a, v) != NUMERIC_NONE;
}

/* n bytes of j->buf_a, of address addr. */
static void move_bytes(struct spread *x, uint64_t addr, uint64_t n, enum replayer_as as)
{
	const unsigned bytes = value_types[as].bytes;
	uint8_t *p = x->j->buf_a;

	for (uint64_t i = 0; i + bytes <= n; i += bytes) {
		uint64_t bits = 0, now;

		if ((i & ~UINT64_C(7)) + 8 <= n && is_address(x->j, p + (i & ~UINT64_C(7))))
			continue;
		memcpy(&bits, p + i, bytes);
		now = moved(bits, as, chance(x->seed ^ chance(addr + i)) & 1);
		x->j->ret->moved += now != bits && x->seed == 1;
		memcpy(p + i, &now, bytes);
	}
}

/* Moves the elements that lie wholly in [from, to). */
static struct err *move_range(struct spread *x, uint64_t from, uint64_t to, enum replayer_as as)
{
	struct device *d = x->j->a.en.trace.device->d;
	const uint64_t mask = value_types[as].bytes - 1;

	from = (from + mask) & ~mask;
	to &= ~mask;
	for (uint64_t at = from, n; at < to; at += n) {
		/* up to the first whole word, then words, so that addresses are seen */
		n = at & 7 ? 8 - (at & 7) : PIECE;
		n = n < to - at ? n : to - at;
		TRY(device_read(d, at, x->j->buf_a, (size_t)n));
		move_bytes(x, at, n, as);
		TRY(device_write(d, at, x->j->buf_a, (size_t)n));
	}
	return NULL;
}

/* --- a run with moved inputs --- */

/* What w reads, or all memory that its arguments point to; i from 0. */
static bool read_span(const struct numeric_job *j, const struct work *w, size_t i, struct span *ret)
{
	const struct numeric_side *s = &j->a;

	if (j->ret->exact) {
		if (i >= w->nreads)
			return false;
		*ret = s->spans[w->reads + i];
		return true;
	}
	if (i >= w->nuses)
		return false;
	*ret = (struct span){
		s->areas[s->uses[w->use + i].area].addr, s->areas[s->uses[w->use + i].area].size};
	return true;
}

static struct err *move_inputs(struct spread *x, const struct work *w)
{
	const enum replayer_as as = numeric_type_for(x->j, w);
	struct span s;

	for (size_t i = 0; read_span(x->j, w, i, &s); i++) {
		uint64_t from = s.addr, to;

		while (first_gap(&x->done, from, s.addr + s.size, &from, &to)) {
			if (side_area_at(&x->j->a, from) == NUMERIC_NONE)
				; /* host memory that no call allocated, or the stack: not ours */
			else if (value_types[as].is_float && as != REPLAYER_AS_AUTO)
				TRY(move_range(x, from, to, as));
			else if (as == REPLAYER_AS_AUTO)
				x->unmoved = true;
			cover(&x->done, from, to, true);
			from = to;
		}
	}
	return NULL;
}

/* Whether a copy or a fill brings an input: what it writes is new. */
static bool brings_input(const struct spread *x, const struct work *w)
{
	if (w->from_host || w->kind == SBT_FILL)
		return true;
	for (size_t i = 0; i < w->nreads; i++) {
		const struct span *s = &x->j->a.spans[w->reads + i];

		if (is_any_covered(&x->done, s->addr, s->addr + s->size))
			return false;
	}
	return true;
}

static void note_writes(struct spread *x, const struct work *w)
{
	const bool input =
		w->kind != SBT_LAUNCH && w->kind != SBT_GRAPH_LAUNCH && brings_input(x, w);
	const struct numeric_side *s = &x->j->a;

	for (size_t i = 0; i < w->nwrites; i++)
		cover(&x->done, s->spans[w->writes + i].addr,
			s->spans[w->writes + i].addr + s->spans[w->writes + i].size, !input);
	for (size_t i = 0; !x->j->ret->exact && w->from_host && i < w->nuses; i++) {
		const struct area *a = &s->areas[s->uses[w->use + i].area];

		cover(&x->done, a->addr, a->addr + a->size, false);
	}
}

/* --- what comes out --- */

static uint64_t size_of(const struct extents *x)
{
	uint64_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		n += x->e[i].size;
	return n;
}

static struct err *read_out(struct numeric_job *j, const struct target *t, uint8_t *dst)
{
	for (size_t i = 0; i < t->out.n; i++) {
		const struct extent *e = &t->out.e[i];

		TRY(device_read(j->a.en.trace.device->d, j->a.areas[e->area].addr + e->off, dst,
			(size_t)e->size));
		dst += e->size;
	}
	return NULL;
}

static struct numeric_place *place_at(struct target *t, uint64_t addr)
{
	for (size_t i = 0; i < t->f->nplaces; i++)
		if (t->f->places[i].addr_a == addr)
			return &t->moved[i];
	return NULL;
}

static struct err *look(struct spread *x, struct target *t)
{
	uint8_t *now = xmalloc(size_of(&t->out) + 1);
	struct err *e = read_out(x->j, t, now);
	const uint8_t *was = t->was, *is = now;

	for (size_t i = 0; !e && i < t->out.n; i++) {
		const struct extent *out = &t->out.e[i];
		struct numeric_place *p = place_at(t, x->j->a.areas[out->area].addr);

		if (p)
			values_add(p, was, is, out->off, (size_t)out->size, t->as);
		was += out->size;
		is += out->size;
	}
	t->unmoved |= x->unmoved;
	free(now);
	return e;
}

static struct err *run_seed(struct spread *x)
{
	struct numeric_side *s = &x->j->a;
	struct device *d = s->en.trace.device->d;
	size_t next = 0;

	TRY(device_forget(d));
	x->done.n = 0;
	x->unmoved = false;
	for (size_t i = 0; i < s->nwork && next < x->n; i++) {
		const struct work *w = &s->work[i];

		if (w->seq < s->first)
			continue;
		engine_progress(&s->en, "moving inputs, command", w->seq, s->last);
		if (engine_cancelled(&s->en))
			return err_new(ERR_INTERRUPTED, "interrupted");
		side_live(s, w->seq);
		if (w->kind == SBT_LAUNCH) {
			TRY(device_seek(d, w->seq - 1));
			TRY(move_inputs(x, w));
		} else if (w->kind == SBT_GRAPH_LAUNCH) {
			x->unmoved = true;
		}
		note_writes(x, w);
		if (x->t[next].w != w)
			continue;
		TRY(device_seek(d, w->seq));
		TRY(look(x, &x->t[next++]));
	}
	return NULL;
}

/* --- verdicts --- */

/* Whether a difference is at most so many times what A moves by. No result is known better than to
 * one ULP, so that is the least that it counts as moving by. */
static bool is_at_most(
	const struct numeric_place *p, const struct numeric_place *moved, double times)
{
	const double ulp = moved->ulp > 1 ? moved->ulp : 1;

	return p->ulp <= times * ulp && (p->largest <= times * moved->largest || p->ulp <= times);
}

static enum numeric_matters judge_place(
	const struct target *t, const struct numeric_place *p, const struct numeric_place *moved)
{
	if (p->as == REPLAYER_AS_AUTO || !value_types[p->as].is_float)
		return NUMERIC_MATTERS_UNKNOWN;
	if (p->nan_a || p->nan_b) /* it is not for a number to say how far it is from none */
		return moved->nan_a || moved->nan_b || t->unmoved ? NUMERIC_MATTERS_UNKNOWN
								  : NUMERIC_MATTERS_YES;
	if (is_at_most(p, moved, WITHIN))
		return NUMERIC_MATTERS_NO;
	if (!t->unmoved && !is_at_most(p, moved, BEYOND))
		return NUMERIC_MATTERS_YES;
	return NUMERIC_MATTERS_UNKNOWN;
}

static void judge(struct target *t)
{
	enum numeric_matters worst = NUMERIC_MATTERS_NO;

	for (size_t i = 0; i < t->f->nplaces; i++) {
		struct numeric_place *p = &t->f->places[i];
		const enum numeric_matters m = judge_place(t, p, &t->moved[i]);

		p->spread = t->moved[i].largest;
		p->spread_ulp = t->moved[i].ulp;
		if (m == NUMERIC_MATTERS_YES || worst == NUMERIC_MATTERS_NO)
			worst = m;
	}
	t->f->matters = worst;
}

/* --- all of it --- */

static bool is_watched(const struct numeric_finding *f, const struct work *w)
{
	return w && f->nplaces && f->kind != NUMERIC_UNSTEADY &&
	       (w->kind == SBT_LAUNCH || w->kind == SBT_GRAPH_LAUNCH);
}

/* A copy of what differs already: that counts where it was written. */
static bool passes_on(const struct numeric_finding *f, const struct work *w)
{
	return f->kind == NUMERIC_HEIR && w && w->kind == SBT_COPY;
}

/* Findings in A's order, whose results are kept as A's window gave them. */
static struct err *keep_results(struct spread *x)
{
	struct numeric *r = x->j->ret;
	uint64_t kept = 0;

	TRY(device_forget(x->j->a.en.trace.device->d));
	for (size_t i = 0; i < r->n; i++) {
		struct numeric_finding *f = &r->f[i];
		const struct work *w = side_work(&x->j->a, f->a), *b = side_work(&x->j->b, f->b);
		struct target *t = &x->t[x->n];

		f->matters = passes_on(f, w) ? NUMERIC_MATTERS_NOT_ASKED : NUMERIC_MATTERS_UNKNOWN;
		if (!is_watched(f, w) || !b || (x->n && x->t[x->n - 1].w == w))
			continue;
		side_live(&x->j->a, f->a);
		side_live(&x->j->b, f->b);
		*t = (struct target){.f = f,
			.w = w,
			.as = numeric_type_for(x->j, w),
			.out = extents_of_pair(x->j, w, b, EXTENTS_WRITTEN),
			.moved = xcalloc(f->nplaces, sizeof *t->moved)};
		x->n++;
		kept += size_of(&t->out);
		if (kept > KEPT_MOST) {
			t->out.n = 0;
			return NULL; /* this one, and those behind it, stay unknown */
		}
		t->was = xmalloc(size_of(&t->out) + 1);
		TRY(device_seek(x->j->a.en.trace.device->d, f->a));
		TRY(read_out(x->j, t, t->was));
	}
	return NULL;
}

struct err *numeric_spread(struct numeric_job *j)
{
	struct spread x = {.j = j, .t = xcalloc(j->ret->n + 1, sizeof *x.t)};
	struct err *e = j->ask->seeds && j->ret->n ? keep_results(&x) : NULL;

	for (x.seed = 1; !e && x.n && x.seed <= j->ask->seeds; x.seed++)
		e = run_seed(&x);
	for (size_t i = 0; i < x.n; i++) {
		if (!e && x.t[i].out.n)
			judge(&x.t[i]);
		free(x.t[i].out.e);
		free(x.t[i].was);
		free(x.t[i].moved);
	}
	if (!e && x.n)
		e = device_forget(j->a.en.trace.device->d);
	j->ret->seeds = e ? 0 : j->ask->seeds;
	free(x.t);
	free(x.done.v);
	return e;
}

uint64_t numeric_not_within(const struct numeric *r)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < NUMERIC_KINDS; k++)
		n += k == NUMERIC_UNSTEADY ? 0 : r->by_kind[k];
	for (size_t i = 0; i < r->n; i++)
		n -= r->f[i].kind != NUMERIC_UNSTEADY &&
		     (r->f[i].matters == NUMERIC_MATTERS_NO ||
			     r->f[i].matters == NUMERIC_MATTERS_NOT_ASKED);
	return n;
}
