/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: ranks, the barrier, and the addresses of other blocks' shared memory. "PTX
 * ISA 9.0", 9.7.13.4 (barrier.cluster), 9.7.9.23 (mapa), 9.7.9.24 (getctarank). An address in
 * .shared::cluster has one more than the block's rank above PTX_RANK_SHIFT; without, it is one's
 * own.
 */
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-path.h"

/* --- where a block is --- */
uint64_t ptx_cluster_block(const struct ptx_launch *l, uint64_t cluster, unsigned rank)
{
	uint64_t at[3], n = cluster;

	for (unsigned k = 0; k < 3; k++) {
		unsigned d = l->cluster[0] ? l->cluster[k] : 1, clusters = l->grid[k] / d;
		at[k] = n % clusters * d + rank % d;
		n /= clusters;
		rank /= d;
	}
	return at[0] + l->grid[0] * (at[1] + l->grid[1] * at[2]);
}

void ptx_cluster_of(
	const struct ptx_launch *l, const uint32_t ctaid[3], uint64_t *cluster, unsigned *rank)
{
	*cluster = 0;
	*rank = 0;
	for (unsigned k = 3; k-- > 0;) {
		unsigned d = l->cluster[0] ? l->cluster[k] : 1;
		*cluster = *cluster * (l->grid[k] / d) + ctaid[k] / d;
		*rank = *rank * d + ctaid[k] % d;
	}
}

uint32_t ptx_cluster_special(const struct ptx_warp *w, unsigned sreg)
{
	const struct ptx_launch *l = w->wk->l;
	const uint32_t *ctaid = w->blk->ctaid;
	uint64_t cluster;
	unsigned rank, d[3];

	ptx_cluster_of(l, ctaid, &cluster, &rank);
	for (unsigned k = 0; k < 3; k++)
		d[k] = l->cluster[0] ? l->cluster[k] : 1;
	if (sreg >= SR_clusterid_x && sreg <= SR_clusterid_z)
		return ctaid[sreg - SR_clusterid_x] / d[sreg - SR_clusterid_x];
	if (sreg >= SR_nclusterid_x && sreg <= SR_nclusterid_z)
		return l->grid[sreg - SR_nclusterid_x] / d[sreg - SR_nclusterid_x];
	if (sreg >= SR_cluster_ctaid_x && sreg <= SR_cluster_ctaid_z)
		return ctaid[sreg - SR_cluster_ctaid_x] % d[sreg - SR_cluster_ctaid_x];
	if (sreg >= SR_cluster_nctaid_x && sreg <= SR_cluster_nctaid_z)
		return d[sreg - SR_cluster_nctaid_x];
	if (sreg == SR_cluster_ctarank)
		return rank;
	if (sreg == SR_cluster_nctarank)
		return ptx_cluster_size(l);
	return l->cluster[0] != 0; /* %is_explicit_cluster */
}

/* --- the barrier --- */
void ptx_cluster_exit(struct ptx_warp *w, uint32_t mask)
{
	w->blk->cluster->arrived -= (uint32_t)__builtin_popcount(mask & w->cl_arrived);
	w->cl_arrived &= ~mask;
	w->cl_done &= ~mask;
}

static void wake_entries(struct ptx_warp *w, struct ptx_ent *ents, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct ptx_ent *e = &ents[k];
		if (e->state != ENT_CLUSTER || e->mask & ~w->cl_done)
			continue;
		w->cl_done &= ~e->mask;
		ptx_observe_sync(w, e->insn, PTX_SYNC_ACQUIRE, e->mask,
			(uint64_t)(uintptr_t)w->blk->cluster);
		e->state = ENT_RUN;
		e->insn = NULL;
		w->state = WARP_RUN;
	}
}

static void wake(struct ptx_warp *w)
{
	w->cl_done |= w->cl_arrived;
	w->cl_arrived = 0;
	if (w->state == WARP_DONE)
		return;
	wake_entries(w, w->ents, w->nents);
	for (unsigned k = 0; k < w->nparked; k++)
		wake_entries(w, w->parked[k].ents, w->parked[k].nents);
}

void ptx_cluster_check(struct ptx_cluster *c)
{
	uint32_t live = 0;

	if (!c->arrived)
		return;
	for (unsigned k = 0; k < c->n; k++)
		live += c->blocks[k]->live;
	if (c->arrived < live)
		return;
	c->arrived = 0;
	for (unsigned k = 0; k < c->n; k++)
		for (unsigned n = 0; n < c->blocks[k]->nwarps; n++)
			wake(&c->blocks[k]->warps[n]);
}

static bool any_waits(const struct ptx_ent *ents, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (ents[k].state == ENT_CLUSTER)
			return true;
	return false;
}

bool ptx_cluster_waits(const struct ptx_block *b)
{
	for (unsigned k = 0; b->cluster->n > 1 && k < b->nwarps; k++) {
		const struct ptx_warp *w = &b->warps[k];
		if (w->state == WARP_DONE)
			continue;
		if (any_waits(w->ents, w->nents))
			return true;
		for (unsigned p = 0; p < w->nparked; p++)
			if (any_waits(w->parked[p].ents, w->parked[p].nents))
				return true;
	}
	return false;
}

bool ptx_cluster_pass(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t never = mask & ~w->cl_arrived & ~w->cl_done;

	if (never)
		ptx_raise(w, i, (unsigned)__builtin_ctz(never), PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"a wait without an arrival");
	if (mask & ~w->cl_done)
		return false;
	w->cl_done &= ~mask;
	ptx_observe_sync(w, i, PTX_SYNC_ACQUIRE, mask, (uint64_t)(uintptr_t)w->blk->cluster);
	return true;
}

void h_cluster_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t again = mask & (w->cl_arrived | w->cl_done);

	if (again)
		ptx_raise(w, i, (unsigned)__builtin_ctz(again), PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"a second arrival without a wait");
	w->cl_arrived |= mask;
	w->blk->cluster->arrived += (uint32_t)__builtin_popcount(mask);
	ptx_observe_sync(w, i, PTX_SYNC_RELEASE, mask, (uint64_t)(uintptr_t)w->blk->cluster);
	ptx_cluster_check(w->blk->cluster);
}

/* --- addresses --- */
#define OFFSET_MASK ((1u << PTX_RANK_SHIFT) - 1)

static void check_window(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a)
{
	if (i->space == SP_SHCLUSTER ? a >> 32 != 0 : PTX_WIN(a) != PTX_WIN_SHARED)
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, 0, "not an address of shared memory");
}

/* mapa d, a, rank: the same place in another block of the cluster. */
void h_mapa(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *rank = REG(u32a, 2);

	EACH_LANE(l)
	{
		uint64_t a = i->size == 8 ? REG(u64a, 1)[l] : REG(u32a, 1)[l];
		check_window(w, i, l, a);
		if (rank[l] >= w->blk->cluster->n)
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"a rank that no block of the cluster has");
		a = (a & ~(uint64_t)UINT32_MAX) | (a & OFFSET_MASK) |
		    (uint64_t)(rank[l] + 1) << PTX_RANK_SHIFT;
		if (i->size == 8)
			REG(u64a, 0)[l] = a;
		else
			REG(u32a, 0)[l] = (uint32_t)a;
	}
}

void h_getctarank(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint64_t a = i->size == 8 ? REG(u64a, 1)[l] : REG(u32a, 1)[l];
		uint32_t r = (uint32_t)a >> PTX_RANK_SHIFT;
		check_window(w, i, l, a);
		REG(u32a, 0)[l] = r ? r - 1 : w->blk->rank;
	}
}

const char *sel_mapa(struct ptx_dec *d)
{
	const struct ptx_opnd *o = &d->ops[1];

	d->i->space = d->mods & MB(shcluster) ? SP_SHCLUSTER : SP_GENERIC;
	if (o->kind == O_VAR && (d->i->space == SP_GENERIC || o->sym->var->space != SP_SHARED))
		return "a variable of another state space";
	if (d->i->space == SP_GENERIC && d->i->size != 8)
		return "a generic address in 32 bits";
	return NULL;
}
