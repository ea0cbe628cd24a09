/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command touches, by its record. The surprise: rows of a pitched copy are ranges of their
 * own, since two streams may well write neighbouring tiles of one image.
 */
#include <stdlib.h>
#include "base/checked.h"
#include "order/order.h"
#include "sbt/footprint.h"
#include "state/args.h"

#define ROWS_MAX 65536 /* of one copy; more are taken as one range */

const char *order_how_name(enum order_how how)
{
	static const char *const names[ORDER_HOWS] = {"reads", "writes", "updates atomically",
		"may touch", "was given the address", "allocates", "frees"};

	return (unsigned)how < ORDER_HOWS ? names[how] : "?";
}

void order_access_add(struct order_accesses *l, uint64_t addr, uint64_t end, enum order_how how)
{
	if (end <= addr)
		return;
	MAKE_ROOM(l->a, l->n, l->cap);
	l->a[l->n++] = (struct order_access){addr, end, how};
}

/* False for host memory that no call allocated: it is read or written before the call returns, or
 * while it runs. */
static bool shared(const struct state *s, uint64_t addr, bool host_side)
{
	struct state_alloc a;

	return !host_side || state_alloc_at(s, addr, &a);
}

static bool has_gaps(const struct sbt_rows *r)
{
	return sbt_rows_size(r) > r->width * r->height * r->depth;
}

/* Too many rows become one range that may be touched, with the bytes between them. */
static void rows(struct order_accesses *l, const struct sbt_rows *r, enum order_how how)
{
	if (!has_gaps(r) || r->height > ROWS_MAX || r->depth > ROWS_MAX / r->height) {
		order_access_add(l, r->addr, sat_add(r->addr, sbt_rows_size(r)),
			has_gaps(r) ? ORDER_MAYBE : how);
		return;
	}
	for (uint64_t z = 0; z < r->depth; z++)
		for (uint64_t y = 0; y < r->height; y++)
			order_access_add(l, r->addr + z * r->slice + y * r->pitch,
				sat_add(r->addr + z * r->slice + y * r->pitch, r->width), how);
}

/* v may be the handle of textures and surfaces. */
static void textures(struct order_accesses *l, const struct state *s, uint64_t v)
{
	struct state_texture t;
	unsigned i = 0;

	while (state_texture_named(s, v, &i, &t))
		order_access_add(l, t.is->addr, sat_add(t.is->addr, t.is->size), ORDER_MAYBE);
}

static void launch(struct order_accesses *l, const struct state *s, const struct sbt_cmd_launch *u)
{
	struct args_words w;
	struct state_kernel k;
	struct state_alloc a;
	uint64_t v;

	if (u->kernel >= SBT_NO_ID || !state_kernel_by_id(s, (uint32_t)u->kernel, &k) ||
		(k.params.len >= 8 && !u->args.len)) {
		l->unknown = true;
		return;
	}
	w = args_words(u->args, k.params);
	while (args_words_any(&w, &v)) {
		textures(l, s, v);
		if (!state_alloc_at(s, v, &a))
			continue;
		order_access_add(l, a.addr, sat_add(a.addr, a.size), ORDER_MAYBE);
		order_access_add(l, v, sat_add(v, 1), ORDER_POINTS);
	}
}

struct listing {
	struct order_accesses *l;
	const struct state *s;
};

static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	return state_footprint_node(((struct listing *)arg)->s, graph, i, ret);
}

/* A stream-ordered allocation or free is an access to all of it. */
static void lifetime(struct listing *x, const struct sbt_cmd *c, const struct sbt_touch *t)
{
	const uint16_t at = sbt_stream_offset(c->kind);
	struct state_alloc a;

	if (!at || *(const uint64_t *)((const char *)c + at) >= SBT_NO_ID)
		return;
	if (t->how == SBT_ALLOCATES)
		rows(x->l, &t->rows, ORDER_BIRTH);
	else if (state_alloc_at(x->s, t->rows.addr, &a))
		order_access_add(x->l, a.addr, sat_add(a.addr, a.size), ORDER_DEATH);
}

static void touched(struct listing *x, const struct sbt_cmd *c, const struct sbt_touch *t)
{
	if (t->how == SBT_ALLOCATES || t->how == SBT_FREES)
		lifetime(x, c, t);
	else if (shared(x->s, t->rows.addr, t->host_side))
		rows(x->l, &t->rows,
			t->how == SBT_READS    ? ORDER_READ
			: t->how == SBT_WRITES ? ORDER_WRITE
					       : ORDER_ATOMIC);
}

static void found(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct listing *x = arg;

	if (f->does & SBT_RUNS_KERNEL)
		launch(x->l, x->s, &c->u.launch);
	if (f->does & (SBT_CALLS_HOST | SBT_DOES_UNKNOWN))
		x->l->unknown = true;
	for (unsigned i = 0; i < f->n; i++)
		touched(x, c, &f->touch[i]);
}

void order_accesses_of(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c)
{
	struct listing x = {l, s};

	sbt_footprint_each(c, &(struct sbt_footprint_walk){a_node, found, &x});
}

bool order_reads_live(const struct state *s, const struct sbt_cmd *c)
{
	struct state_alloc a;

	return c->kind == SBT_COPY && !c->result && !(c->flags & SBT_F_GRAPH) && !c->u.copy.width &&
	       state_alloc_at(s, c->u.copy.src, &a) &&
	       (a.mem == SBT_MEM_PINNED || a.mem == SBT_MEM_REGISTERED) &&
	       range_within(c->u.copy.src, c->u.copy.size, a.addr, a.size);
}

void order_owns(
	const struct state *s, const struct sbt_cmd *c, uint64_t *ret_addr, uint64_t *ret_size)
{
	struct state_alloc a;

	if (c->kind == SBT_ALLOC) {
		*ret_addr = c->u.alloc.addr;
		*ret_size = c->u.alloc.size;
	} else if (c->kind == SBT_FREE && state_alloc_at(s, c->u.free.addr, &a)) {
		*ret_addr = a.addr;
		*ret_size = a.size;
	}
}
