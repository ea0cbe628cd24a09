/* SPDX-License-Identifier: Apache-2.0
 *
 * What the window's commands name: allocations that a launch has a pointer into among its
 * parameters, that a copy or a fill covers, and those that recorded contents of these point into,
 * and so on. The surprise: contents are looked at as if every eight bytes were a pointer. A number
 * that looks like one costs memory, nothing else; a pointer that the program computes is not found,
 * and what it points to is then missing.
 */
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"
#include "base/checked.h"
#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MAX (256ull << 20) /* bytes: larger contents are data, not tables of pointers */

struct touched {
	struct rp *rp;
	struct alloc_rows allocs;
	struct wanted **todo; /* touched, contents not yet looked at */
	size_t ntodo;
	struct at_node { /* where the last question about a graph's nodes was */
		const struct rgraph *g;
		unsigned i;
		size_t node, version;
	} at;
};

static int by_addr(const void *a, const void *b)
{
	const struct alloc_row *x = a, *y = b;

	return (x->w->addr > y->w->addr) - (x->w->addr < y->w->addr);
}

void alloc_rows_sort(struct alloc_rows *r, const struct place *p)
{
	uint64_t reach = 0;

	r->n = p->nwanted;
	r->row = xcalloc(r->n + 1, sizeof *r->row);
	for (size_t i = 0; i < r->n; i++)
		r->row[i].w = &p->wanted[i];
	qsort(r->row, r->n, sizeof *r->row, by_addr);
	for (size_t i = 0; i < r->n; i++) {
		const uint64_t end = r->row[i].w->addr + r->row[i].w->size;

		reach = end > reach ? end : reach;
		r->row[i].reach = reach;
	}
}

size_t alloc_rows_before(const struct alloc_rows *r, uint64_t end)
{
	return FIRST_WHERE(r->n, i,
		r->row[i].w->addr >= end); /* the first that begins at the end or behind it */
}

enum by { BY_COPY, BY_KERNEL };

/* Marks all allocations, of whatever time, that have a byte of the range. */
static void touch(struct touched *t, uint64_t addr, uint64_t size, enum by by)
{
	const uint64_t end = sat_add(addr, size);
	const struct alloc_row *row = t->allocs.row;

	for (size_t i = alloc_rows_before(&t->allocs, end); i-- && row[i].reach > addr;) {
		struct wanted *w = row[i].w;

		if (w->addr + w->size <= addr)
			continue;
		w->by_kernel |= by == BY_KERNEL;
		if (w->touched)
			continue;
		w->touched = true;
		t->todo[t->ntodo++] = w;
	}
}

static void touch_words(struct touched *t, const uint8_t *p, size_t n)
{
	uint64_t word;

	for (size_t i = 0; n - i >= 8 && i < n; i += 8) {
		memcpy(&word, p + i, 8);
		if (t->allocs.n && word >= t->allocs.row[0].w->addr &&
			word < t->allocs.row[t->allocs.n - 1].reach)
			touch(t, word, 1, BY_KERNEL);
	}
}

/* --- commands --- */

/* Gives the versions of all nodes, one after the other: whichever version a launch of the window
 * uses is among them. */
static bool a_node(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	struct touched *t = arg;
	struct at_node *at = &t->at;
	const struct rgraph *g = objects_graph(t->rp, graph);

	if (!g || g != at->g || i < at->i)
		*at = (struct at_node){.g = g};
	for (; g && at->node < g->nnodes; at->version = 0, at->node++)
		for (; at->version < g->nodes[at->node].nversions; at->version++, at->i++)
			if (at->i == i) {
				const struct rnode_version *v =
					&g->nodes[at->node].versions[at->version];

				*ret = (struct sbt_footprint_node){
					v->type, {v->payload, v->payload_size}};
				return true;
			}
	return false;
}

/* Host functions and calls of no known kind are not executed again: contents() handles their
 * recorded effect. */
static void command(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	struct touched *t = arg;

	if (f->does & SBT_RUNS_KERNEL)
		touch_words(t, c->u.launch.args.p, c->u.launch.args.len);
	if (f->does & SBT_DOES_UNKNOWN && c->kind != SBT_UNREPLAYABLE)
		touch(t, 0, UINT64_MAX, BY_KERNEL);
	for (unsigned i = 0; i < f->n; i++)
		if (f->touch[i].how & (SBT_READS | SBT_WRITES | SBT_UPDATES))
			touch(t, f->touch[i].rows.addr, sbt_rows_size(&f->touch[i].rows),
				f->touch[i].how == SBT_UPDATES ? BY_KERNEL : BY_COPY);
}

static struct err *commands(struct touched *t)
{
	const struct sbt_footprint_walk walk = {a_node, command, t};
	struct rp *rp = t->rp;
	const struct sbt_cmd *c;

	rp->cursor_seq = UINT64_MAX;
	TRY(sbt_cursor_seek(rp->cursor, rp->first));
	for (;;) {
		watchdog_on(rp, 0);
		TRY(sbt_cursor_next(rp->cursor, &c));
		if (!c || c->seq > rp->last)
			return NULL;
		sbt_footprint_each(c, &walk);
	}
}

/* --- contents --- */

static void look_into(struct touched *t, const struct sbt_memory *m)
{
	uint8_t *p;

	if (!m->has_bytes || m->size > LOOK_MAX || m->size < 8)
		return;
	watchdog_on(t->rp, 0);
	p = xmalloc(m->size);
	struct err *e = sbt_reader_memory_read(t->rp->trace, m, 0, p, m->size);
	if (!e)
		touch_words(t, p, m->size);
	err_free(e); /* restoring will fail in the same way and report it */
	free(p);
}

static void contents(struct touched *t)
{
	const struct contents *x = &t->rp->contents;
	const struct textures *o = &t->rp->objects.textures;

	for (size_t i = 0; i < o->nlist; i++) /* kernels have their handles, wherever from */
		if (!o->list[i].gone)
			touch(t, o->list[i].is.addr, o->list[i].is.size, BY_KERNEL);
	for (size_t i = 0; i < x->nflow; i++) {
		if (x->flow[i].role == SBT_MEMORY_HOST || x->flow[i].role == SBT_MEMORY_EFFECT)
			touch(t, x->flow[i].addr, x->flow[i].size, BY_COPY);
		look_into(t, &x->flow[i]);
	}
	for (size_t i = 0; i < x->nstart; i++)
		if (x->start[i].owner == SBT_MEMORY_GLOBAL)
			look_into(t, &x->start[i]);
	while (t->ntodo) {
		const struct wanted *w = t->todo[--t->ntodo];

		for (size_t i = 0; w->at_start && i < x->nstart; i++)
			if (x->start[i].addr == w->addr &&
				x->start[i].owner == SBT_MEMORY_ALLOCATION)
				look_into(t, &x->start[i]);
	}
}

struct err *touched_find(struct rp *rp)
{
	struct touched t = {.rp = rp, .todo = xcalloc(rp->place.nwanted + 1, sizeof *t.todo)};

	alloc_rows_sort(&t.allocs, &rp->place);
	for (size_t i = 0; i < rp->place.nwanted; i++)
		rp->place.wanted[i].touched = rp->place.wanted[i].by_kernel = false;
	struct err *e = commands(&t);
	if (!e)
		contents(&t);
	free(t.allocs.row);
	free(t.todo);
	return e;
}

struct err *touched_only(struct rp *rp)
{
	struct place *p = &rp->place;
	const size_t all = p->nwanted;
	uint64_t left_out = 0;
	size_t n = 0;

	TRY(touched_find(rp));
	for (size_t i = 0; i < all; i++)
		if (p->wanted[i].touched)
			p->wanted[n++] = p->wanted[i];
		else
			left_out += p->wanted[i].size;
	p->nwanted = n;
	if (n < all)
		window_note(rp, false,
			"%zu allocations of %llu bytes in all are not here: no command of the window names them",
			all - n, (unsigned long long)left_out);
	return NULL;
}
