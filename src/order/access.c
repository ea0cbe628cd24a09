/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command touches, by its record. The surprise: rows of a pitched copy are ranges of their own, since two streams may well
 * write neighbouring tiles of one image.
 */
#include <stdlib.h>
#include "order/order.h"
#include "state/args.h"

#define ROWS_MAX 65536 /* of one copy; more are taken as one range */
#define DEPTH_MAX 8    /* graphs in graphs */

const char *order_how_name(enum order_how how)
{
	static const char *const names[ORDER_HOWS] = {"reads", "writes", "updates atomically", "may touch", "was given the address", "allocates", "frees"};

	return (unsigned)how < ORDER_HOWS ? names[how] : "?";
}

void order_access_add(struct order_accesses *l, uint64_t addr, uint64_t end, enum order_how how)
{
	if (end <= addr)
		return;
	MAKE_ROOM(l->a, l->n, l->cap);
	l->a[l->n++] = (struct order_access){addr, end, how};
}

static uint64_t plus(uint64_t a, uint64_t n)
{
	return n > UINT64_MAX - a ? UINT64_MAX : a + n;
}

/* Memory of the program that no call allocated is the host's own affair: it is read or written before the call returns, or while it runs. */
static bool shared(const struct state *s, uint64_t addr, bool host_side)
{
	struct state_alloc a;

	return !host_side || state_alloc_at(s, addr, &a);
}

static void rows(struct order_accesses *l, uint64_t addr, uint64_t width, uint64_t n, uint64_t pitch, uint64_t depth, uint64_t slice,
	enum order_how how)
{
	if (n <= 1 && depth <= 1) {
		order_access_add(l, addr, plus(addr, width), how);
		return;
	}
	if (n > ROWS_MAX || depth > ROWS_MAX || n * depth > ROWS_MAX || pitch < width) {
		unsigned __int128 all = width;

		all += (unsigned __int128)(n ? n - 1 : 0) * pitch + (unsigned __int128)(depth ? depth - 1 : 0) * slice;
		order_access_add(l, addr, plus(addr, all > UINT64_MAX ? UINT64_MAX : (uint64_t)all), how);
		return;
	}
	for (uint64_t z = 0; z < (depth ? depth : 1); z++)
		for (uint64_t y = 0; y < n; y++)
			order_access_add(l, addr + z * slice + y * pitch, plus(addr + z * slice + y * pitch, width), how);
}

static void copy(struct order_accesses *l, const struct state *s, const struct sbt_cmd_copy *u)
{
	const uint64_t width = u->width ? u->width : u->size, n = u->width ? u->height : 1, depth = u->width ? u->depth : 1;
	const bool from_host = u->dir == SBT_COPY_H2D || u->dir == SBT_COPY_H2H || u->dir == SBT_COPY_ANY;
	const bool to_host = u->dir == SBT_COPY_D2H || u->dir == SBT_COPY_H2H || u->dir == SBT_COPY_ANY;

	if (shared(s, u->src, from_host))
		rows(l, u->src, width, n, u->src_pitch, depth, u->src_slice, ORDER_READ);
	if (shared(s, u->dst, to_host))
		rows(l, u->dst, width, n, u->dst_pitch, depth, u->dst_slice, ORDER_WRITE);
}

static void fill(struct order_accesses *l, const struct sbt_cmd_fill *u)
{
	if (u->width)
		rows(l, u->dst, u->width * (u->elem ? u->elem : 1), u->height, u->dst_pitch, 1, 0, ORDER_WRITE);
	else
		order_access_add(l, u->dst, plus(u->dst, u->size), ORDER_WRITE);
}

static void launch(struct order_accesses *l, const struct state *s, const struct sbt_cmd_launch *u)
{
	struct args_words w;
	struct state_kernel k;
	struct state_alloc a;
	uint64_t v;

	if (u->kernel >= SBT_NO_ID || !state_kernel_by_id(s, (uint32_t)u->kernel, &k) || (k.params.len >= 8 && !u->args.len)) {
		l->unknown = true;
		return;
	}
	w = args_words(u->args, k.params);
	while (args_words_next(&w, &v)) {
		if (!state_alloc_at(s, v, &a))
			continue;
		order_access_add(l, a.addr, plus(a.addr, a.size), ORDER_MAYBE);
		order_access_add(l, v, plus(v, 1), ORDER_POINTS);
	}
}

static void accesses(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c, unsigned depth);

static void graph(struct order_accesses *l, const struct state *s, uint64_t exec, unsigned depth)
{
	struct state_node n;
	unsigned i = 0;

	if (depth >= DEPTH_MAX || exec >= SBT_NO_ID) {
		l->unknown = true;
		return;
	}
	for (; state_graph_node(s, (uint32_t)exec, i, &n); i++) {
		struct sbt_cmd c;

		if (n.type == SBT_NODE_EMPTY || n.type == SBT_NODE_EVENT_RECORD || n.type == SBT_NODE_WAIT_EVENT)
			continue;
		if (n.type != SBT_NODE_OTHER && n.payload.len && sbt_unpack(&c, n.payload.p, n.payload.len))
			accesses(l, s, &c, depth + 1);
		else
			l->unknown = true;
	}
	if (!i)
		l->unknown = true; /* nobody saw what is in it */
}

/* A stream-ordered allocation or free is an access to all of it. */
static void lifetime(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c)
{
	struct state_alloc a;

	if (c->kind == SBT_ALLOC && c->u.alloc.stream < SBT_NO_ID)
		order_access_add(l, c->u.alloc.addr, plus(c->u.alloc.addr, c->u.alloc.size), ORDER_BIRTH);
	else if (c->kind == SBT_FREE && c->u.free.stream < SBT_NO_ID && state_alloc_at(s, c->u.free.addr, &a))
		order_access_add(l, a.addr, plus(a.addr, a.size), ORDER_DEATH);
}

static void accesses(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c, unsigned depth)
{
	switch (c->kind) {
	case SBT_LAUNCH:
		launch(l, s, &c->u.launch);
		break;
	case SBT_COPY:
		copy(l, s, &c->u.copy);
		break;
	case SBT_FILL:
		fill(l, &c->u.fill);
		break;
	case SBT_BATCH: /* writes and waits are made to meet: like atomics */
		order_access_add(l, c->u.batch.addr, plus(c->u.batch.addr, c->u.batch.elem), ORDER_ATOMIC);
		break;
	case SBT_GRAPH_LAUNCH:
		graph(l, s, c->u.graph_launch.exec, depth);
		break;
	case SBT_ALLOC:
	case SBT_FREE:
		lifetime(l, s, c);
		break;
	case SBT_HOST_FUNC:
		l->unknown = true;
		break;
	default:
		break;
	}
}

void order_accesses_of(struct order_accesses *l, const struct state *s, const struct sbt_cmd *c)
{
	accesses(l, s, c, 0);
}

bool order_reads_live(const struct state *s, const struct sbt_cmd *c)
{
	struct state_alloc a;

	return c->kind == SBT_COPY && !c->result && !(c->flags & SBT_F_GRAPH) && !c->u.copy.width && state_alloc_at(s, c->u.copy.src, &a) &&
	       (a.mem == SBT_MEM_PINNED || a.mem == SBT_MEM_REGISTERED) && c->u.copy.src + c->u.copy.size <= a.addr + a.size;
}

bool order_owns(const struct state *s, const struct sbt_cmd *c, uint64_t *ret_addr, uint64_t *ret_size)
{
	struct state_alloc a;

	if (c->kind == SBT_ALLOC) {
		*ret_addr = c->u.alloc.addr;
		*ret_size = c->u.alloc.size;
		return true;
	}
	if (c->kind != SBT_FREE || !state_alloc_at(s, c->u.free.addr, &a))
		return false;
	*ret_addr = a.addr;
	*ret_size = a.size;
	return true;
}
