/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks, see vclock.h.
 */
#include "softcore/vclock.h"
#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* --- clocks --- */
static void vec_unref(struct vclock_times *v)
{
	if (v && !--v->refs)
		free(v);
}

static struct vclock_times *vec_ref(struct vclock_times *v)
{
	if (v)
		v->refs++;
	return v;
}

static struct vclock_times *vec_new(unsigned n)
{
	struct vclock_times *v = calloc(1, sizeof(*v) + n * sizeof(v->v[0]));

	if (v)
		v->refs = 1;
	return v;
}

static struct vclock *vc_alloc(unsigned n)
{
	struct vclock *c = malloc(sizeof(*c) + n * sizeof(c->e[0]));

	if (c)
		*c = (struct vclock){.refs = 1, .n = n};
	return c;
}

struct vclock *vclock_new(uint64_t block, uint32_t floor)
{
	struct vclock *c = vc_alloc(1);

	if (c)
		c->e[0] = (struct vclock_entry){.block = block, .floor = floor, .xthread = NOBODY};
	return c;
}

struct vclock *vclock_ref(struct vclock *c)
{
	if (c)
		c->refs++;
	return c;
}

void vclock_unref(struct vclock *c)
{
	if (!c || --c->refs)
		return;
	for (unsigned k = 0; k < c->n; k++)
		vec_unref(c->e[k].vec);
	free(c);
}

const struct vclock_entry *vclock_entry(const struct vclock *c, uint64_t block)
{
	const unsigned at = FIRST_WHERE(c ? c->n : 0, i, c->e[i].block >= block);

	return c && at < c->n && c->e[at].block == block ? &c->e[at] : NULL;
}

bool vclock_covers(const struct vclock *c, uint64_t block, uint32_t thread, uint32_t clock)
{
	const struct vclock_entry *e;

	if (!c || c->all)
		return true;
	e = vclock_entry(c, block);
	return e && vclock_entry_at(e, thread) >= clock;
}

struct vclock *vclock_with(
	const struct vclock *c, unsigned nthreads, uint64_t block, uint32_t thread, uint32_t clock)
{
	struct vclock_builder b;
	const struct vclock_entry *e = vclock_entry(c, block);

	if (e && e->xthread == NOBODY) {
		struct vclock *ret = vc_alloc(c->n);
		if (!ret)
			return NULL;
		ret->all = c->all;
		memcpy(ret->e, c->e, c->n * sizeof(c->e[0]));
		for (unsigned k = 0; k < ret->n; k++)
			vec_ref(ret->e[k].vec);
		ret->e[e - c->e].xthread = thread;
		ret->e[e - c->e].xclock = clock;
		return ret;
	}
	vclock_builder_begin(&b, nthreads);
	vclock_builder_add(&b, c);
	vclock_builder_point(&b, block, thread, clock);
	return vclock_builder_end(&b);
}

struct vclock *vclock_join(struct vclock *a, struct vclock *b, unsigned nthreads)
{
	struct vclock_builder x;

	if (!a || a == b || (a->all))
		return a;
	vclock_builder_begin(&x, nthreads);
	vclock_builder_add(&x, a);
	vclock_builder_add(&x, b);
	vclock_unref(a);
	return vclock_builder_end(&x);
}

/* --- building --- */
void vclock_builder_begin(struct vclock_builder *b, unsigned nthreads)
{
	*b = (struct vclock_builder){.nthreads = nthreads};
}

static void drop(struct vclock_builder *b)
{
	for (unsigned k = 0; k < b->n; k++) {
		vec_unref(b->e[k].vec);
		vec_unref(b->e[k].merged);
	}
	b->n = 0;
	b->all = true;
}

static struct vclock_built *built_at(struct vclock_builder *b, uint64_t block)
{
	unsigned at = 0, hi = b->n;

	while (at < hi) {
		unsigned mid = at + (hi - at) / 2;
		if (b->e[mid].block < block)
			at = mid + 1;
		else
			hi = mid;
	}
	if (at < b->n && b->e[at].block == block)
		return &b->e[at];
	if (b->n == b->cap) {
		unsigned cap = b->cap ? 2 * b->cap : 4;
		struct vclock_built *e = realloc(b->e, cap * sizeof(*e));
		if (!e || b->n == VCLOCK_BLOCKS) {
			b->e = e ? e : b->e;
			drop(b);
			return NULL;
		}
		b->e = e;
		b->cap = cap;
	}
	memmove(&b->e[at + 1], &b->e[at], (b->n - at) * sizeof(*b->e));
	b->e[at] = (struct vclock_built){.block = block};
	b->n++;
	return &b->e[at];
}

static void point(
	struct vclock_builder *b, struct vclock_built *to, uint32_t thread, uint32_t clock)
{
	if (clock <= to->floor)
		return;
	if (!to->vec)
		to->vec = vec_new(b->nthreads);
	if (!to->vec)
		drop(b);
	else if (to->vec->v[thread] < clock)
		to->vec->v[thread] = clock;
}

static void merge(
	struct vclock_builder *b, struct vclock_built *to, const struct vclock_entry *from)
{
	if (from->floor > to->floor)
		to->floor = from->floor;
	if (from->vec && from->vec != to->merged) {
		if (!to->vec)
			to->vec = vec_new(b->nthreads);
		if (!to->vec) {
			drop(b);
			return;
		}
		for (unsigned t = 0; t < b->nthreads; t++)
			to->vec->v[t] =
				to->vec->v[t] > from->vec->v[t] ? to->vec->v[t] : from->vec->v[t];
		vec_unref(to->merged);
		to->merged = vec_ref(from->vec);
	}
	if (from->xthread != NOBODY)
		point(b, to, from->xthread, from->xclock);
}

void vclock_builder_add(struct vclock_builder *b, const struct vclock *c)
{
	if (!c || c->all)
		drop(b);
	for (unsigned k = 0; !b->all && k < c->n; k++) {
		struct vclock_built *to = built_at(b, c->e[k].block);
		if (to)
			merge(b, to, &c->e[k]);
	}
}

void vclock_builder_point(struct vclock_builder *b, uint64_t block, uint32_t thread, uint32_t clock)
{
	struct vclock_built *to = b->all ? NULL : built_at(b, block);

	if (to)
		point(b, to, thread, clock);
}

void vclock_builder_floor(struct vclock_builder *b, uint64_t block, uint32_t floor)
{
	struct vclock_built *to = b->all ? NULL : built_at(b, block);

	if (!to)
		return;
	vec_unref(to->vec);
	to->vec = NULL;
	to->floor = floor;
}

struct vclock *vclock_builder_end(struct vclock_builder *b)
{
	struct vclock *c = vc_alloc(b->n);

	if (c) {
		c->all = b->all;
		for (unsigned k = 0; k < b->n; k++)
			c->e[k] = (struct vclock_entry){
				b->e[k].block, b->e[k].floor, NOBODY, 0, vec_ref(b->e[k].vec)};
	}
	drop(b);
	free(b->e);
	*b = (struct vclock_builder){0};
	return c;
}
