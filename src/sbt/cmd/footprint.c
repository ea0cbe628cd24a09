/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command does; see footprint.h. The column DOES of commands.def says it for each kind; the
 * functions here add the bytes. A kind that touches bytes and has no function here counts as
 * unknown, which is everything: forgetting one costs precision, never truth.
 */
#include "sbt/footprint.h"
#include "sbt/cmd-pack.h"
#include "base/checked.h"

#define DEPTH_MAX 8 /* graphs in graphs */
/* visits a launch: graphs that contain one another would make more than there is time for */
#define NODES_MAX (1u << 20)

/* --- rows --- */

uint64_t sbt_rows_size(const struct sbt_rows *r)
{
	return r->width ? (r->depth - 1) * r->slice + (r->height - 1) * r->pitch + r->width : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool sbt_rows_meet(const struct sbt_rows *r, uint64_t addr, uint64_t n)
{
	const uint64_t last = sat_add(addr, n - 1);
	uint64_t at = r->addr;

	if (!r->width || !n || last < at)
		return false;
	/* Of all rows that begin at `last` or before it, the one that begins last also ends last.
	 */
	at += least(r->depth - 1, (last - at) / r->slice) * r->slice;
	at += least(r->height - 1, (last - at) / r->pitch) * r->pitch;
	return at + (r->width - 1) >= addr;
}

/* Turns the 0s of r into numbers and checks the rest. size: the bytes that the record says are in
 * the rows. */
static const char *settle(struct sbt_rows *r, uint64_t size)
{
	uint64_t bytes, least_slice, end;

	if (ckd_mul(&bytes, r->width, r->height) || ckd_mul(&bytes, bytes, r->depth) ||
		bytes != size)
		return "do not add up to the bytes that it has";
	if (!bytes) {
		*r = (struct sbt_rows){.addr = r->addr};
		return NULL;
	}
	if (!r->pitch || (r->height == 1 && r->depth == 1))
		r->pitch = r->width;
	if (r->pitch < r->width)
		return "overlap: their pitch is less than their width";
	if (ckd_mul(&least_slice, r->pitch, r->height))
		return "reach beyond the end of memory";
	if (!r->slice || r->depth == 1)
		r->slice = least_slice;
	if (r->slice < least_slice)
		return "overlap: a slice begins before the one before it ends";
	if (r->slice % r->pitch)
		return "cannot be copied by any device: their slice is not a multiple of their pitch";
	if (ckd_mul(&end, r->slice, r->depth - 1) ||
		ckd_add(&end, end, r->pitch * (r->height - 1)) ||
		ckd_add(&end, end, r->width - 1) || ckd_add(&end, end, r->addr))
		return "reach beyond the end of memory";
	return NULL;
}

static const char *settled(struct sbt_rows *r, uint64_t size)
{
	const char *bad = settle(r, size);

	if (bad)
		*r = (struct sbt_rows){.addr = r->addr};
	return bad;
}

const char *sbt_rows_of_copy(struct sbt_rows *ret, const struct sbt_cmd_copy *u, bool dst)
{
	const uint64_t addr = dst ? u->dst : u->src;

	if (u->width)
		*ret = (struct sbt_rows){addr, u->width, u->height, u->depth,
			dst ? u->dst_pitch : u->src_pitch, dst ? u->dst_slice : u->src_slice};
	else
		*ret = sbt_rows_flat(addr, u->size);
	return settled(ret, u->size);
}

const char *sbt_rows_of_fill(struct sbt_rows *ret, const struct sbt_cmd_fill *u)
{
	uint64_t width;

	*ret = sbt_rows_flat(u->dst, u->size);
	if (u->elem != 1 && u->elem != 2 && u->elem != 4) {
		*ret = sbt_rows_flat(u->dst, 0);
		return "are of elements that no fill has";
	}
	if (u->size % u->elem || ckd_mul(&width, u->width, u->elem)) {
		*ret = sbt_rows_flat(u->dst, 0);
		return "do not add up to the bytes that it has";
	}
	if (u->width)
		*ret = (struct sbt_rows){u->dst, width, u->height, 1, u->dst_pitch, 0};
	return settled(ret, u->size);
}

void sbt_side_rows(const struct sbt_side *s, uint64_t width, uint64_t height, uint64_t *addr,
	uint64_t *pitch, uint64_t *slice)
{
	*pitch = s->pitch ? s->pitch : s->x + width;
	*slice = *pitch * (s->height ? s->height : s->y + height);
	*addr = s->base + s->z * *slice + s->y * *pitch + s->x;
}

/* --- kinds --- */

static void touch(
	struct sbt_footprint *f, enum sbt_does how, const struct sbt_rows *rows, bool host_side)
{
	if (rows->width)
		f->touch[f->n++] = (struct sbt_touch){how, host_side, *rows};
}

static void of_copy(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	const bool any = u->dir == SBT_COPY_H2H || u->dir >= SBT_COPY_ANY;
	struct sbt_rows src, dst;

	if (sbt_rows_of_copy(&src, u, false) || sbt_rows_of_copy(&dst, u, true)) {
		f->does |= SBT_DOES_UNKNOWN;
		return;
	}
	touch(f, SBT_READS, &src, any || u->dir == SBT_COPY_H2D);
	touch(f, SBT_WRITES, &dst, any || u->dir == SBT_COPY_D2H);
}

static void of_fill(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	struct sbt_rows dst;

	if (sbt_rows_of_fill(&dst, &c->u.fill))
		f->does |= SBT_DOES_UNKNOWN;
	touch(f, SBT_WRITES, &dst, false);
}

/* A value written, or waited for: 8 bytes, or 4. */
static void of_batch(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	const struct sbt_rows rows = sbt_rows_flat(c->u.batch.addr, c->u.batch.elem == 8 ? 8 : 4);

	f->does &= ~(unsigned)(c->u.batch.is_wait ? SBT_SIGNALS : SBT_WAITS);
	if (rows.addr > UINT64_MAX - (rows.width - 1))
		f->does |= SBT_DOES_UNKNOWN;
	else
		touch(f, SBT_UPDATES, &rows, false);
}

static void of_alloc(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	struct sbt_rows rows = sbt_rows_flat(c->u.alloc.addr, c->u.alloc.size);

	if (settled(&rows, rows.width))
		f->does |= SBT_DOES_UNKNOWN;
	touch(f, SBT_ALLOCATES, &rows, false);
}

static void of_free(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	const struct sbt_rows rows = sbt_rows_flat(c->u.free.addr, 1);

	touch(f, SBT_FREES, &rows, false);
}

static void (*const bytes[SBT_KIND_END])(struct sbt_footprint *, const struct sbt_cmd *) = {
	[SBT_COPY] = of_copy,
	[SBT_FILL] = of_fill,
	[SBT_BATCH] = of_batch,
	[SBT_ALLOC] = of_alloc,
	[SBT_FREE] = of_free,
};

#define TELLS_BYTES (SBT_READS | SBT_WRITES | SBT_UPDATES | SBT_ALLOCATES | SBT_FREES)

void sbt_footprint_when_run(struct sbt_footprint *f, const struct sbt_cmd *c)
{
	*f = (struct sbt_footprint){.does = sbt_kind_does(c->kind) & ~(unsigned)SBT_PASSED};
	if (!(f->does & TELLS_BYTES))
		return;
	if (bytes[c->kind])
		bytes[c->kind](f, c);
	else
		f->does |= SBT_DOES_UNKNOWN;
}

void sbt_footprint(struct sbt_footprint *ret, const struct sbt_cmd *c)
{
	if (c->result || c->flags & SBT_F_GRAPH)
		*ret = (struct sbt_footprint){0};
	else
		sbt_footprint_when_run(ret, c);
}

/* --- graphs --- */

struct walking {
	const struct sbt_footprint_walk *w;
	const struct sbt_cmd *launch;
	unsigned left; /* nodes that may still be visited */
};

static void found(struct walking *x, const struct sbt_cmd *c, unsigned does)
{
	x->w->found(x->w->arg, c, &(struct sbt_footprint){.does = does, .in_graph = true});
}

static void nodes(struct walking *x, uint64_t graph, unsigned depth);

static void node(struct walking *x, const struct sbt_footprint_node *n, unsigned depth)
{
	struct sbt_footprint f;
	struct sbt_cmd c;

	if (n->type == SBT_NODE_EMPTY)
		return;
	if (n->type == SBT_NODE_EVENT_RECORD || n->type == SBT_NODE_WAIT_EVENT) {
		found(x, x->launch, n->type == SBT_NODE_WAIT_EVENT ? SBT_WAITS : SBT_SIGNALS);
		return;
	}
	if (n->type >= SBT_NODE_OTHER || !n->payload.len ||
		!sbt_unpack(&c, n->payload.p, n->payload.len)) {
		found(x, x->launch, SBT_DOES_UNKNOWN);
		return;
	}
	sbt_footprint_when_run(&f, &c);
	f.in_graph = true;
	if (f.does & SBT_RUNS_GRAPH)
		nodes(x, c.u.graph_launch.exec, depth + 1);
	else
		x->w->found(x->w->arg, &c, &f);
}

static void nodes(struct walking *x, uint64_t graph, unsigned depth)
{
	struct sbt_footprint_node n;
	unsigned i = 0;

	for (; depth < DEPTH_MAX && x->left && x->w->node && x->w->node(x->w->arg, graph, i, &n);
		i++) {
		x->left--;
		node(x, &n, depth);
	}
	if (!i || !x->left) /* none of its nodes is known, or a limit was reached before the last
			     * one */
		found(x, x->launch, SBT_DOES_UNKNOWN);
}

void sbt_footprint_each(const struct sbt_cmd *c, const struct sbt_footprint_walk *w)
{
	struct walking x = {.w = w, .launch = c, .left = NODES_MAX};
	struct sbt_footprint f;

	sbt_footprint(&f, c);
	if (f.does & SBT_RUNS_GRAPH)
		nodes(&x, c->u.graph_launch.exec, 0);
	else
		w->found(w->arg, c, &f);
}
