/* SPDX-License-Identifier: Apache-2.0
 *
 * Access sets of PTX launches, see ptx-access.h: what softcore/access-set.h keeps, and how the
 * launches used griddepcontrol.
 */
#include "softgpu/watch/ptx-access.h"

#include <stdlib.h>

struct ptx_accesses {
	struct access_set *set;
	struct ptx_depends depends;
};

struct ptx_accesses *ptx_accesses_new(size_t limit)
{
	struct ptx_accesses *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->set = access_set_new(limit);
	if (a->set)
		return a;
	free(a);
	return NULL;
}

void ptx_accesses_clear(struct ptx_accesses *a)
{
	access_set_clear(a->set);
	a->depends = (struct ptx_depends){0};
}

void ptx_accesses_free(struct ptx_accesses *a)
{
	if (!a)
		return;
	access_set_free(a->set);
	free(a);
}

void ptx_accesses_add(
	struct ptx_accesses *a, enum ptx_access_kind kind, uint64_t addr, uint64_t size)
{
	access_set_add(a->set, kind, addr, size);
}

/* Lanes side by side are one piece. */
static void add_lanes(struct access_set *a, const struct ptx_access *x, unsigned set, uint32_t mask)
{
	uint64_t begin = 0, end = 0;

	EACH_LANE(l)
	{
		if (x->addr[l] >= begin && x->addr[l] <= end && end) {
			if (x->addr[l] + x->size > end)
				end = x->addr[l] + x->size;
			continue;
		}
		access_set_add_locked(a, set, begin, end - begin);
		begin = x->addr[l];
		end = begin + x->size;
	}
	access_set_add_locked(a, set, begin, end - begin);
}

static void on_access(void *arg, const struct ptx_access *x)
{
	struct ptx_accesses *a = arg;

	if (x->space != SP_GLOBAL)
		return;
	access_set_lock(a->set);
	add_lanes(a->set, x, x->kind, x->mask);
	if (x->warp->wk->l->early)
		add_lanes(a->set, x, PTX_ACCESS_KINDS + x->kind, x->mask & ~x->warp->waited);
	ptx_depends_access(&a->depends, x);
	access_set_unlock(a->set);
}

static void on_sync(void *arg, const struct ptx_sync *s)
{
	ptx_depends_sync(&((struct ptx_accesses *)arg)->depends, s);
}

static void on_block_start(void *arg, struct ptx_block *b)
{
	ptx_depends_block_start(&((struct ptx_accesses *)arg)->depends, b);
}

static void on_block_end(void *arg, struct ptx_block *b)
{
	ptx_depends_block_end(&((struct ptx_accesses *)arg)->depends, b);
}

struct ptx_observer ptx_accesses_observer(struct ptx_accesses *a)
{
	return (struct ptx_observer){.arg = a,
		.access = on_access,
		.sync = on_sync,
		.block_start = on_block_start,
		.block_end = on_block_end};
}

const struct ptx_depends *ptx_accesses_depends(const struct ptx_accesses *a)
{
	return &a->depends;
}

bool ptx_accesses_spans(struct ptx_accesses *a, unsigned set, size_t max, struct access_span **ret,
	size_t *ret_n, bool *inexact)
{
	return access_set_spans(a->set, set, max, ret, ret_n, inexact);
}
