/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pages a command can have changed. For copies and fills the trace says it. For a launch, its
 * kernel's PTX says from which parameters the addresses of its stores are made, and the parameters'
 * values say which allocations those are. Without PTX, or when it does not show this, the launch
 * can change all memory. A kernel that writes outside the allocation it was given is not known
 * here: replayer-batch.c compares all memory from time to time.
 */
#include <stdlib.h>
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "base/checked.h"

/* --- runs of pages --- */

void reach_all(struct reach *r)
{
	r->all = true;
	r->n = 0;
}

static int by_first(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void merge(struct reach *r)
{
	unsigned to = 0;

	if (r->n)
		qsort(r->run, r->n, sizeof *r->run, by_first);
	for (unsigned i = 1; i < r->n; i++)
		if (r->run[i].first > r->run[to].last + 1)
			r->run[++to] = r->run[i];
		else if (r->run[i].last > r->run[to].last)
			r->run[to].last = r->run[i].last;
	r->n = r->n ? to + 1 : 0;
}

static void add_run(struct reach *r, uint32_t first, uint32_t last)
{
	if (r->all)
		return;
	if (r->n == HASH_KERNEL_ROWS)
		merge(r);
	if (r->n == HASH_KERNEL_ROWS) {
		reach_all(r);
		return;
	}
	r->run[r->n].first = first;
	r->run[r->n++].last = last;
}

static void add_of_area(struct reach *r, const struct area *a, uint64_t addr, uint64_t end)
{
	const uint64_t from = addr > a->recorded ? addr - a->recorded : 0;
	const uint64_t to = end - a->recorded < a->size ? end - a->recorded : a->size;

	add_run(r, (uint32_t)(a->page + from / SBT_PAGE),
		(uint32_t)(a->page + (to - 1) / SBT_PAGE));
}

void reach_add(struct reach *r, const struct checking *k, uint64_t addr, uint64_t size)
{
	const uint64_t end = sat_add(addr, size);

	if (!size)
		return;
	for (size_t i = 0; i < k->nareas; i++)
		if (addr < k->areas[i].recorded + k->areas[i].size && end > k->areas[i].recorded)
			add_of_area(r, &k->areas[i], addr, end);
}

void reach_rows(struct reach *r, const struct checking *k, struct hash_kernel_rows *ret)
{
	*ret = (struct hash_kernel_rows){0};
	if (r->all) {
		ret->n = 1;
		ret->total = (uint32_t)k->npages;
		return;
	}
	merge(r);
	for (unsigned i = 0; i < r->n; i++) {
		ret->row[ret->n].first = r->run[i].first;
		ret->row[ret->n++].before = ret->total;
		ret->total += r->run[i].last - r->run[i].first + 1;
	}
}

/* --- launches --- */

static struct err *stores_of(struct rp *rp, struct checking *k, const struct rkernel *kernel,
	const struct ptx_stores **ret)
{
	const size_t i = (size_t)(kernel - rp->objects.kernels);
	const uint64_t hash = kernel->name ? code_ptx(rp, kernel) : 0;
	enum code_kind kind;

	*ret = NULL;
	if (!hash)
		return NULL;
	if (!k->stores) {
		k->stores = xcalloc(rp->objects.nkernels, sizeof *k->stores);
		k->stores_known = xcalloc(rp->objects.nkernels, sizeof *k->stores_known);
	}
	if (!k->stores_known[i]) {
		if (k->ptx_hash != hash) {
			buf_clear(&k->ptx);
			k->ptx_hash = 0;
			TRY(sbt_reader_code(rp->trace, hash, &k->ptx, &kind));
			k->ptx_hash = hash;
		}
		ptx_stores_find(&k->stores[i], (const char *)k->ptx.data, k->ptx.len, kernel->name);
		k->stores_known[i] = true;
	}
	*ret = &k->stores[i];
	return NULL;
}

/* Adds the allocations, of whatever time, that the pointer points into or right behind. Page-locked
 * memory counts as found, though it has no pages. */
static bool add_pointer(struct reach *r, const struct checking *k, uint64_t pointer)
{
	const struct alloc_row *row = k->allocs.row;
	bool found = false;

	for (uint64_t at = pointer; !found && at && at + 1 >= pointer; at--)
		for (size_t i = alloc_rows_before(&k->allocs, at + 1); i-- && row[i].reach > at;)
			if (row[i].w->addr + row[i].w->size > at) {
				reach_add(r, k, row[i].w->addr, row[i].w->size);
				found = true;
			}
	for (size_t i = 0; i < k->nareas; i++)
		if (k->areas[i].here != k->areas[i].recorded &&
			pointer - k->areas[i].recorded <= k->areas[i].size) {
			reach_add(r, k, k->areas[i].recorded, k->areas[i].size);
			found = true;
		}
	return found;
}

static bool add_parameter(struct reach *r, const struct checking *k, const struct rkernel *kernel,
	const struct ptx_base *b, struct sbt_blob args)
{
	bool found = false;

	if (b->param >= kernel->nparams)
		return false;
	const uint32_t offset = kernel->params[2 * b->param],
		       size = kernel->params[2 * b->param + 1];
	const uint32_t end =
		b->size > size - (b->offset < size ? b->offset : size) ? size : b->offset + b->size;

	for (uint32_t at = b->offset; at + 8 <= end; at += 8) {
		uint64_t word;

		if (offset > args.len || args.len - offset < at + 8)
			break;
		memcpy(&word, args.p + offset + at, 8);
		found |= add_pointer(r, k, word);
	}
	return found;
}

static bool add_variable(struct reach *r, const struct rp *rp, const struct checking *k,
	const struct rkernel *kernel, const char *name)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->module != kernel->module || !g->here || !g->name || strcmp(g->name, name))
			continue;
		reach_add(r, k, g->addr, g->size);
		return true;
	}
	return false;
}

/* The address of each store must be made from something that is memory; otherwise the store may be
 * anywhere. */
static struct err *add_launch(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct reach *r)
{
	const struct rkernel *kernel = objects_kernel(rp, c->u.launch.kernel);
	const struct ptx_stores *s = NULL;

	if (kernel && !k->batch.distrust)
		TRY(stores_of(rp, k, kernel, &s));
	if (!s || s->anywhere) {
		reach_all(r);
		return NULL;
	}
	for (size_t i = 0; i < s->nstores; i++) {
		bool found = false;

		for (unsigned b = 0; b < s->nbases; b++)
			if (ptx_bases_has(&s->stores[i], b))
				found |=
					s->bases[b].symbol
						? add_variable(r, rp, k, kernel, s->bases[b].symbol)
						: add_parameter(r, k, kernel, &s->bases[b],
							  c->u.launch.args);
		if (!found)
			reach_all(r);
	}
	return NULL;
}

/* --- commands --- */

/* Whether the recording holds what the command did to memory that is compared. */
static bool has_effect(const struct rp *rp, uint64_t seq)
{
	size_t n;
	const struct sbt_memory *m = contents_of(rp, seq, &n);

	for (size_t i = 0; i < n; i++)
		if (m[i].role == SBT_MEMORY_EFFECT ||
			(m[i].role == SBT_MEMORY_HOST && rp->place.mixed.n))
			return true;
	return false;
}

struct err *reach_command(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct reach *r)
{
	struct sbt_footprint f;

	sbt_footprint(&f, c);
	if (f.does & SBT_RUNS_KERNEL)
		TRY(add_launch(rp, k, c, r));
	for (unsigned i = 0; i < f.n; i++)
		if (f.touch[i].how & (SBT_WRITES | SBT_UPDATES | SBT_ALLOCATES))
			reach_add(r, k, f.touch[i].rows.addr, sbt_rows_size(&f.touch[i].rows));
	if (f.does & (SBT_RUNS_GRAPH | SBT_CALLS_HOST | SBT_DOES_UNKNOWN))
		reach_all(r);
	if (has_effect(rp, c->seq))
		reach_all(r);
	return NULL;
}

void reach_close(struct rp *rp, struct checking *k)
{
	for (size_t i = 0; k->stores && i < rp->objects.nkernels; i++)
		ptx_stores_free(&k->stores[i]);
	free(k->stores);
	free(k->stores_known);
	free(k->allocs.row);
	buf_free(&k->ptx);
}
