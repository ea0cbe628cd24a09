/* SPDX-License-Identifier: Apache-2.0
 *
 * Translates addresses that differ here from the recording. The driver chooses where a module's
 * variables and functions are, and memory, payloads and parameters of the recording hold their
 * addresses. Such words are translated on their way to the device and back, so a kernel that
 * follows one finds what it found while recording, and comparisons and output use the recorded
 * addresses. The trace says where a variable was. A function's address is found from a variable
 * that begins with it (cubin-cells.h): the recording has the old address there, the freshly loaded
 * code the new one.
 */
#include "gpucode/cubin-cells.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"

#include <stdlib.h>
#include <string.h>

struct learning {
	struct rp *rp;
	uint32_t module;
	unsigned dev;
};

static void learn_cell(void *arg, const char *variable, uint64_t offset)
{
	const struct learning *l = arg;
	struct moved *m = &l->rp->moved;

	MAKE_ROOM(m->cells, m->ncells, m->cap_cells);
	m->cells[m->ncells++] = (struct moved_cell){l->module, l->dev, xstrdup(variable), offset};
}

void moved_learn_code(struct rp *rp, uint32_t module, const void *code, size_t size)
{
	if (module != SBT_NO_ID)
		(void)cubin_cells(
			code, size, learn_cell, &(struct learning){rp, module, rp->devices.now});
}

/* --- functions --- */

static const struct rglobal *variable_of(const struct rp *rp, const struct moved_cell *c)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->module == c->module && g->dev == c->dev && g->here &&
			!strcmp(g->name, c->variable))
			return g;
	}
	return NULL;
}

static const struct sbt_memory *piece_among(
	const struct sbt_memory *m, size_t n, const struct rglobal *g)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].owner == SBT_MEMORY_GLOBAL && m[i].addr == g->addr &&
			m[i].module == g->module && m[i].has_bytes)
			return &m[i];
	return NULL;
}

/* Reads a variable's bytes from offset on: the earliest ones in the trace, and those that the
 * loader put here. *n becomes 0 when the trace has none. */
static struct err *both_contents(struct rp *rp, const struct rglobal *g, uint64_t offset,
	uint8_t *there, uint8_t *here, size_t *n)
{
	const struct contents *x = &rp->contents;
	const struct sbt_memory *m = piece_among(x->start, x->nstart, g);

	if (!m)
		m = piece_among(x->end, x->nend, g);
	const uint64_t size = m && m->size < g->size ? m->size : g->size;
	*n = m && offset < size ? (size_t)(size - offset < *n ? size - offset : *n) : 0;
	if (!*n)
		return NULL;
	struct err *e = sbt_reader_memory_read(rp->trace, m, offset, there, *n);
	if (e) { /* restoring will fail in the same way and report it */
		err_free(e);
		*n = 0;
		return NULL;
	}
	TRY(devices_enter(rp, g->dev));
	GPU(rp, copy_to_host, here, g->here + offset, *n, rp->own);
	GPU(rp, stream_finish, rp->own);
	return devices_enter(rp, 0);
}

static bool is_of(const struct moved_cell *a, const struct moved_cell *b)
{
	return a->module == b->module && a->dev == b->dev && !strcmp(a->variable, b->variable);
}

/* Handles adjacent cells from *i on together: appends their pairs at pairs[*n]. So a table is read
 * once, not once for each of its words. */
static struct err *pairs_together(struct rp *rp, size_t *i, struct address_pair *pairs, size_t *n)
{
	const struct moved_cell *first = &rp->moved.cells[*i],
				*end = rp->moved.cells + rp->moved.ncells;
	const struct rglobal *g = variable_of(rp, first);
	static uint8_t there[SBT_PAGE], here[SBT_PAGE];
	size_t have = SBT_PAGE;

	watchdog_on(rp, 0);
	if (g)
		TRY(both_contents(rp, g, first->offset, there, here, &have));
	for (const struct moved_cell *c = first;
		c < end && is_of(c, first) && c->offset - first->offset < SBT_PAGE; c++, ++*i) {
		const uint64_t at = c->offset - first->offset;
		struct address_pair p;

		if (c != first && at > SBT_PAGE - 8)
			break;
		if (!g || have < 8 || at > have - 8)
			continue;
		memcpy(&p.there, there + at, 8);
		memcpy(&p.here, here + at, 8);
		if (p.there && p.here)
			pairs[(*n)++] = p;
	}
	return NULL;
}

static struct err *find_functions(struct rp *rp)
{
	struct moved *m = &rp->moved;
	struct address_pair *pairs = xcalloc(m->ncells + 1, sizeof *pairs);
	struct err *e = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->ncells && !e;)
		e = pairs_together(rp, &i, pairs, &n);
	n = e ? 0 : address_pairs_agree(pairs, n);
	for (size_t i = 0; i < n; i++) {
		address_map_add(&m->to_here, pairs[i].there, 1, pairs[i].here);
		address_map_add(&m->to_there, pairs[i].here, 1, pairs[i].there);
	}
	free(pairs);
	return e;
}

/* --- all of it --- */

/* Whether an allocation, or a variable that did not move, begins at addr. */
static bool something_begins(const struct rp *rp, const struct alloc_rows *r, uint64_t addr)
{
	const size_t before = alloc_rows_before(r, addr + 1);
	uint64_t here;

	if (before && r->row[before - 1].w->addr == addr)
		return true;
	return place_find(rp, addr, 1, &here) == PLACE_DEVICE && here == addr &&
	       !ranges_find(&rp->place.mapped, addr, 1);
}

/* Adds a variable. Loops compare with a variable's end address, so the end is translated, too,
 * unless something else begins there. */
static void add_variable(struct rp *rp, const struct rglobal *g, const struct alloc_rows *allocs)
{
	const uint64_t end = g->addr + g->size, here = g->here + g->size;
	struct moved *m = &rp->moved;

	address_map_add(&m->to_here, g->addr, g->size, g->here);
	address_map_add(&m->to_there, g->here, g->size, g->addr);
	if (!g->size || end < g->addr || here < g->here || something_begins(rp, allocs, end) ||
		something_begins(rp, allocs, here))
		return;
	address_map_add(&m->to_here, end, 1, here);
	address_map_add(&m->to_there, here, 1, end);
}

struct err *moved_find(struct rp *rp)
{
	struct moved *m = &rp->moved;
	const struct objects *o = &rp->objects;
	struct alloc_rows allocs;
	uint64_t here;

	alloc_rows_sort(&allocs, &rp->place);
	for (size_t i = 0; i < o->nglobals; i++) {
		const struct rglobal *g = &o->globals[i];

		/* If two variables share an address, place_find() decides between them. */
		if (!g->here || place_find(rp, g->addr, g->size ? 1 : 0, &here) != PLACE_DEVICE ||
			here != g->here)
			continue;
		add_variable(rp, g, &allocs);
	}
	free(allocs.row);
	TRY(find_functions(rp));
	address_map_end(&m->to_here);
	address_map_end(&m->to_there);
	return NULL;
}

bool moved_is(const struct rp *rp, uint64_t addr, const void *p, size_t n, struct sbt_hash want)
{
	if (sbt_hash_equal(sbt_range_hash(p, n), want))
		return true;
	if (!rp->moved.to_there.n)
		return false;
	uint8_t *copy = xmalloc(n + 1);
	memcpy(copy, p, n);
	const bool same =
		moved_to_there(rp, addr, copy, n) && sbt_hash_equal(sbt_range_hash(copy, n), want);
	free(copy);
	return same;
}
