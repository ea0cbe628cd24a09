/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of a graph, see graph-races.h. The surprise: the whole launch's exact set says which bytes
 * were touched, not by whom; bytes of an allocation that only one kernel was given are that
 * kernel's, less what copies and fills did there.
 */
#include <stdlib.h>
#include <string.h>
#include "order/races/ledger.h"
#include "order/races/graph-races.h"
#include "sbt/cmd-pack.h"

/* of a node; the rows of a larger copy are one range that it may touch */
#define TOUCHES_MAX 4096
#define WORK_MAX 200000000 /* comparisons; a graph that takes more is not judged */

struct touch {
	uint64_t addr, end;
	enum order_how how;
	bool deduced;
};
struct one {
	struct touch *t; /* sorted by addr */
	size_t n, cap;
	uint64_t low, high; /* all of them lie in [low, high) */
	uint32_t node, kernel;
	uint16_t kind;
	bool is_kernel, early; /* early: behind a programmatic edge */
};
struct nodes {
	struct one *one;
	uint32_t n;
	uint64_t *reach; /* n rows of words: the nodes before this one */
	uint64_t *hoped; /* the same if each kernel behind a programmatic edge waits before it
			  * touches memory, which is not known */
	uint32_t words;
	uint64_t work;
	bool blind; /* a kernel of which not even the arguments are known */
};

static void add(struct one *o, uint64_t addr, uint64_t end, enum order_how how, bool deduced)
{
	if (addr >= end)
		return;
	MAKE_ROOM(o->t, o->n, o->cap);
	o->t[o->n++] = (struct touch){addr, end, how, deduced};
}

/* --- the graph --- */

static uint32_t index_of(const struct nodes *g, uint32_t node)
{
	uint32_t i = 0;

	while (i < g->n && g->one[i].node != node)
		i++;
	return i;
}

/* Whether row i of `rows` gained anything from its dependency on d. early: i begins when d has
 * begun. */
static bool join(struct nodes *g, uint64_t *rows, uint32_t i, uint32_t d, bool early)
{
	uint64_t *to = rows + (size_t)i * g->words, *from = rows + (size_t)d * g->words;
	bool more = !early && !(to[d / 64] >> d % 64 & 1);

	if (!early)
		to[d / 64] |= UINT64_C(1) << d % 64;
	for (uint32_t w = 0; w < g->words; w++) {
		more |= (from[w] & ~to[w]) != 0;
		to[w] |= from[w];
	}
	return more;
}

/* Dependencies may be listed in any order, so until nothing is gained; a cycle, which no graph has,
 * ends as well. */
static void close_paths(struct nodes *g, const struct state *s, uint32_t exec)
{
	struct state_node n;
	bool more = true;

	g->words = (g->n + 63) / 64;
	g->reach = xcalloc((size_t)g->n * g->words + 1, sizeof *g->reach);
	g->hoped = xcalloc((size_t)g->n * g->words + 1, sizeof *g->hoped);
	while (more && g->work < WORK_MAX) {
		more = false;
		for (uint32_t i = 0; i < g->n && state_graph_node(s, exec, i, &n); i++)
			for (uint64_t j = 0; j + 4 <= n.deps.len && g->work < WORK_MAX; j += 4) {
				uint32_t dep;

				g->work += g->n;
				memcpy(&dep, (const char *)n.deps.p + j, 4);
				dep = index_of(g, dep);
				if (dep >= g->n || dep == i)
					continue;
				more |= join(g, g->reach, i, dep,
					g->one[i].early && g->one[dep].is_kernel);
				more |= join(g, g->hoped, i, dep, false);
			}
	}
}

static bool ordered(const struct nodes *g, const uint64_t *rows, uint32_t a, uint32_t b)
{
	return (rows[(size_t)a * g->words + b / 64] >> b % 64 & 1) ||
	       (rows[(size_t)b * g->words + a / 64] >> a % 64 & 1);
}

/* Accesses of one kind in a row become one range that may be touched. */
static void add_ranges(struct one *o, const struct order_accesses *l)
{
	for (size_t i = 0, next; i < l->n; i = next) {
		uint64_t addr = l->a[i].addr, end = l->a[i].end;

		for (next = i + 1; next < l->n && l->a[next].how == l->a[i].how; next++) {
			addr = l->a[next].addr < addr ? l->a[next].addr : addr;
			end = l->a[next].end > end ? l->a[next].end : end;
		}
		add(o, addr, end, ORDER_MAYBE, false);
	}
}

static void take_node(struct nodes *g, const struct state *s, const struct state_node *n)
{
	struct order_accesses l = {0};
	struct one *o = &g->one[g->n++];
	struct sbt_cmd c;

	*o = (struct one){.node = n->node, .kernel = SBT_NO_ID};
	if (n->type == SBT_NODE_OTHER || !n->payload.len ||
		!sbt_unpack(&c, n->payload.p, n->payload.len)) {
		g->blind |= n->type == SBT_NODE_KERNEL;
		return;
	}
	o->kind = c.kind;
	o->is_kernel = c.kind == SBT_LAUNCH;
	if (o->is_kernel)
		o->kernel = (uint32_t)c.u.launch.kernel;
	o->early = early_is(&c);
	c.flags &= (uint16_t)~SBT_F_GRAPH; /* it was recorded going into the graph; now it runs */
	order_accesses_of(&l, s, &c);
	g->blind |= l.unknown && c.kind != SBT_HOST_FUNC;
	for (size_t i = 0; i < l.n && l.n <= TOUCHES_MAX; i++)
		add(o, l.a[i].addr, l.a[i].end, l.a[i].how, false);
	if (l.n > TOUCHES_MAX)
		add_ranges(o, &l);
	free(l.a);
}

/* --- what one kernel must have done --- */

static bool alone_may_touch(const struct nodes *g, uint32_t i, const struct touch *x)
{
	for (uint32_t k = 0; k < g->n; k++)
		for (size_t j = 0; k != i && j < g->one[k].n; j++) {
			const struct touch *t = &g->one[k].t[j];

			if (t->how == ORDER_MAYBE && t->addr < x->end && x->addr < t->end)
				return false;
		}
	return true;
}

/* Adds that the kernel touched [addr, end) in this way; only possibly where a copy or a fill of the
 * graph did the same. k: the node to look at next. */
static void deduce(const struct nodes *g, struct one *to, uint64_t addr, uint64_t end,
	enum order_how how, uint32_t k)
{
	for (; k < g->n; k++)
		for (size_t j = 0; j < g->one[k].n; j++) {
			const struct touch *t = &g->one[k].t[j];

			if (t->how != how || t->addr >= end || addr >= t->end)
				continue;
			deduce(g, to, addr, t->addr, how, k);
			add(to, t->addr > addr ? t->addr : addr, t->end < end ? t->end : end,
				ORDER_MAYBE, false);
			if (t->end >= end)
				return;
			addr = t->end;
		}
	add(to, addr, end, how, true);
}

/* Narrows a kernel's touches to what `all` has. In allocations that it shares with other kernels
 * they stay possible. */
static void narrow(const struct nodes *g, uint32_t i, const struct order_accesses *all,
	struct one *to, uint64_t *work)
{
	const struct one *o = &g->one[i];

	for (size_t j = 0; j < o->n; j++) {
		const struct touch *x = &o->t[j];
		const bool alone = x->how == ORDER_MAYBE && alone_may_touch(g, i, x);

		if (x->how != ORDER_MAYBE) {
			add(to, x->addr, x->end, x->how, x->deduced);
			continue;
		}
		for (size_t k = 0; k < all->n && ++*work < WORK_MAX; k++) {
			const struct order_access *e = &all->a[k];
			const uint64_t addr = e->addr > x->addr ? e->addr : x->addr,
				       end = e->end < x->end ? e->end : x->end;

			if (addr >= end)
				continue;
			if (alone)
				deduce(g, to, addr, end, e->how, 0);
			else
				add(to, addr, end, ORDER_MAYBE, false);
		}
	}
}

static bool exact(const struct order_accesses *all)
{
	for (size_t i = 0; all && i < all->n; i++)
		if (all->a[i].how == ORDER_MAYBE)
			return false;
	return all && !all->unknown;
}

static void narrow_all(struct nodes *g, const struct order_accesses *all)
{
	struct one *as = xcalloc(g->n + 1, sizeof *as);

	for (uint32_t i = 0; i < g->n; i++)
		if (g->one[i].is_kernel)
			narrow(g, i, all, &as[i], &g->work);
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->one[i].is_kernel)
			continue;
		free(g->one[i].t);
		g->one[i].t = as[i].t;
		g->one[i].n = as[i].n;
		g->one[i].cap = as[i].cap;
	}
	free(as);
}

/* --- pairs --- */

static int by_addr(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void arrange(struct one *o)
{
	if (o->n)
		qsort(o->t, o->n, sizeof *o->t, by_addr);
	o->low = o->n ? o->t[0].addr : 0;
	for (size_t i = 0; i < o->n; i++)
		if (o->t[i].end > o->high)
			o->high = o->t[i].end;
}

static enum order_tier tier_of(const struct touch *a, const struct touch *b)
{
	if (a->how == ORDER_MAYBE || b->how == ORDER_MAYBE)
		return ORDER_POSSIBLE;
	return a->how == ORDER_POINTS || b->how == ORDER_POINTS || a->deduced || b->deduced
		       ? ORDER_LIKELY
		       : ORDER_CERTAIN;
}

static struct nodes_party party(const struct one *o, const struct touch *t)
{
	return (struct nodes_party){
		.node = o->node, .kernel = o->kernel, .kind = o->kind, .how = t->how};
}

/* The strongest conflict of the two, the first of those; false: none. */
static bool meet(struct nodes *g, const struct one *a, const struct one *b, struct nodes_race *ret)
{
	bool found = false;

	if (a->low >= b->high || b->low >= a->high)
		return false;
	for (size_t i = 0; i < a->n && g->work < WORK_MAX; i++)
		for (size_t j = 0; j < b->n && ++g->work && b->t[j].addr < a->t[i].end; j++) {
			const struct touch *x = &a->t[i], *y = &b->t[j];

			if (y->end <= x->addr || !ledger_conflict(x->how, y->how) ||
				(found && tier_of(x, y) >= ret->tier))
				continue;
			found = true;
			*ret = (struct nodes_race){.a = party(a, x),
				.b = party(b, y),
				.tier = tier_of(x, y),
				.addr = x->addr > y->addr ? x->addr : y->addr,
				.end = x->end < y->end ? x->end : y->end};
		}
	return found;
}

bool nodes_races(const struct state *s, uint32_t exec, const struct order_accesses *all,
	void (*fn)(void *arg, const struct nodes_race *r), void *arg)
{
	struct nodes g = {0};
	struct state_node n;
	struct nodes_race r;

	if (!state_graph_node(s, exec, 0, &n) || state_graph_node(s, exec, NODES_MAX, &n))
		return false;
	g.one = xcalloc(NODES_MAX, sizeof *g.one);
	for (uint32_t i = 0; state_graph_node(s, exec, i, &n); i++)
		take_node(&g, s, &n);
	close_paths(&g, s, exec);
	if (exact(all) && !g.blind)
		narrow_all(&g, all);
	for (uint32_t i = 0; i < g.n; i++)
		arrange(&g.one[i]);
	for (uint32_t i = 0; i < g.n; i++)
		for (uint32_t k = i + 1; k < g.n; k++)
			if (!ordered(&g, g.reach, i, k) && meet(&g, &g.one[i], &g.one[k], &r)) {
				r.early = ordered(&g, g.hoped, i, k);
				r.tier = r.early ? ORDER_POSSIBLE : r.tier;
				fn(arg, &r);
			}
	for (uint32_t i = 0; i < g.n; i++)
		free(g.one[i].t);
	free(g.one);
	free(g.reach);
	free(g.hoped);
	return g.work < WORK_MAX;
}
