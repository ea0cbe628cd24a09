/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks, see ptx-clock.h.
 */
#include "softgpu/watch/ptx-clock.h"
#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* --- clocks --- */
static void vec_unref(struct ptx_times *v)
{
	if (v && !--v->refs)
		free(v);
}

static struct ptx_times *vec_ref(struct ptx_times *v)
{
	if (v)
		v->refs++;
	return v;
}

static struct ptx_times *vec_new(unsigned n)
{
	struct ptx_times *v = calloc(1, sizeof(*v) + n * sizeof(v->v[0]));

	if (v)
		v->refs = 1;
	return v;
}

static struct ptx_vc *vc_alloc(unsigned n)
{
	struct ptx_vc *c = malloc(sizeof(*c) + n * sizeof(c->e[0]));

	if (c)
		*c = (struct ptx_vc){.refs = 1, .n = n};
	return c;
}

struct ptx_vc *ptx_vc_new(uint64_t block, uint32_t floor)
{
	struct ptx_vc *c = vc_alloc(1);

	if (c)
		c->e[0] = (struct ptx_entry){.block = block, .floor = floor, .xthread = NOBODY};
	return c;
}

struct ptx_vc *ptx_vc_ref(struct ptx_vc *c)
{
	if (c)
		c->refs++;
	return c;
}

void ptx_vc_unref(struct ptx_vc *c)
{
	if (!c || --c->refs)
		return;
	for (unsigned k = 0; k < c->n; k++)
		vec_unref(c->e[k].vec);
	free(c);
}

const struct ptx_entry *ptx_vc_entry(const struct ptx_vc *c, uint64_t block)
{
	const unsigned at = FIRST_WHERE(c ? c->n : 0, i, c->e[i].block >= block);

	return c && at < c->n && c->e[at].block == block ? &c->e[at] : NULL;
}

bool ptx_vc_covers(const struct ptx_vc *c, uint64_t block, uint32_t thread, uint32_t clock)
{
	const struct ptx_entry *e;

	if (!c || c->all)
		return true;
	e = ptx_vc_entry(c, block);
	return e && ptx_entry_at(e, thread) >= clock;
}

struct ptx_vc *ptx_vc_with(
	const struct ptx_vc *c, unsigned nthreads, uint64_t block, uint32_t thread, uint32_t clock)
{
	struct ptx_builder b;
	const struct ptx_entry *e = ptx_vc_entry(c, block);

	if (e && e->xthread == NOBODY) {
		struct ptx_vc *ret = vc_alloc(c->n);
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
	ptx_builder_begin(&b, nthreads);
	ptx_builder_add(&b, c);
	ptx_builder_point(&b, block, thread, clock);
	return ptx_builder_end(&b);
}

struct ptx_vc *ptx_vc_join(struct ptx_vc *a, struct ptx_vc *b, unsigned nthreads)
{
	struct ptx_builder x;

	if (!a || a == b || (a->all))
		return a;
	ptx_builder_begin(&x, nthreads);
	ptx_builder_add(&x, a);
	ptx_builder_add(&x, b);
	ptx_vc_unref(a);
	return ptx_builder_end(&x);
}

/* --- building --- */
void ptx_builder_begin(struct ptx_builder *b, unsigned nthreads)
{
	*b = (struct ptx_builder){.nthreads = nthreads};
}

static void drop(struct ptx_builder *b)
{
	for (unsigned k = 0; k < b->n; k++) {
		vec_unref(b->e[k].vec);
		vec_unref(b->e[k].merged);
	}
	b->n = 0;
	b->all = true;
}

static struct ptx_built *built_at(struct ptx_builder *b, uint64_t block)
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
		struct ptx_built *e = realloc(b->e, cap * sizeof(*e));
		if (!e || b->n == PTX_VC_BLOCKS) {
			b->e = e ? e : b->e;
			drop(b);
			return NULL;
		}
		b->e = e;
		b->cap = cap;
	}
	memmove(&b->e[at + 1], &b->e[at], (b->n - at) * sizeof(*b->e));
	b->e[at] = (struct ptx_built){.block = block};
	b->n++;
	return &b->e[at];
}

static void point(struct ptx_builder *b, struct ptx_built *to, uint32_t thread, uint32_t clock)
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

static void merge(struct ptx_builder *b, struct ptx_built *to, const struct ptx_entry *from)
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

void ptx_builder_add(struct ptx_builder *b, const struct ptx_vc *c)
{
	if (!c || c->all)
		drop(b);
	for (unsigned k = 0; !b->all && k < c->n; k++) {
		struct ptx_built *to = built_at(b, c->e[k].block);
		if (to)
			merge(b, to, &c->e[k]);
	}
}

void ptx_builder_point(struct ptx_builder *b, uint64_t block, uint32_t thread, uint32_t clock)
{
	struct ptx_built *to = b->all ? NULL : built_at(b, block);

	if (to)
		point(b, to, thread, clock);
}

void ptx_builder_floor(struct ptx_builder *b, uint64_t block, uint32_t floor)
{
	struct ptx_built *to = b->all ? NULL : built_at(b, block);

	if (!to)
		return;
	vec_unref(to->vec);
	to->vec = NULL;
	to->floor = floor;
}

struct ptx_vc *ptx_builder_end(struct ptx_builder *b)
{
	struct ptx_vc *c = vc_alloc(b->n);

	if (c) {
		c->all = b->all;
		for (unsigned k = 0; k < b->n; k++)
			c->e[k] = (struct ptx_entry){
				b->e[k].block, b->e[k].floor, NOBODY, 0, vec_ref(b->e[k].vec)};
	}
	drop(b);
	free(b->e);
	*b = (struct ptx_builder){0};
	return c;
}
