/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies: cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async. "PTX ISA
 * 9.0", 9.7.9.25 and 9.7.13.15. Two lists. What a thread waits for itself (groups) is its warp's;
 * what completes on an mbarrier is the worker's, because threads of any block of the cluster may
 * read that mbarrier. The surprising thing: nothing moves until a thread waits (ptx-async.h says
 * why).
 */
#include "softgpu/insns/ptx-async.h"
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-run.h"

#include <stdlib.h>

struct ptx_async {
	struct ptx_work *work;
	unsigned n;
	size_t cap;
	uint32_t groups[2][PTX_LANES]; /* committed so far: of cp.async, of bulk copies */
};

/* --- addresses --- */
void *ptx_in_space(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned space,
	uint64_t a, uint32_t n, uint32_t align, bool store)
{
	uint64_t g = a;
	void *p;

	if (space == SP_SHARED || space == SP_SHCLUSTER) {
		/* a register may hold it with the upper half of a generic address: only the offset
		 * counts */
		if (a >> 32 || (space == SP_SHARED && a >> PTX_RANK_SHIFT))
			ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n, NULL);
		g = PTX_WIN_SHARED + a;
	} else if (space == SP_LOCAL || space == SP_PARAM) {
		if (a >> 32)
			ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n, NULL);
		g = (space == SP_LOCAL ? PTX_WIN_LOCAL : PTX_WIN_PARAM) + a;
	} else if ((space == SP_GLOBAL || space == SP_CONST) && PTX_WIN(a) >= PTX_WIN_SHARED) {
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n, NULL);
	}
	p = ptx_generic(w, i, lane, g, n, store);
	if (a & (align - 1))
		ptx_raise(w, i, lane, PTX_MISALIGNED_ADDRESS, a, n, NULL);
	return p;
}

static uint64_t at_address(
	const struct ptx_warp *w, const struct ptx_insn *i, unsigned k, unsigned lane)
{
	const struct ptx_at *at = &i->u.ats[k];

	if (at->wide)
		return REG_AT(u64a, at->off)[lane] + (uint64_t)at->disp;
	return (uint32_t)(REG_AT(u32a, at->off)[lane] + (uint64_t)at->disp);
}

void ptx_at_pointers(struct ptx_warp *w, const struct ptx_insn *i, unsigned k, unsigned space,
	uint32_t mask, uint32_t n, uint32_t align, bool store, uint64_t *p)
{
	EACH_LANE(l)
	p[l] = (uint64_t)(uintptr_t)ptx_in_space(
		w, i, l, space, at_address(w, i, k, l), n, align, store);
}

const char *ptx_at_space(const struct ptx_dec *d, unsigned k, unsigned space)
{
	for (unsigned o = 0; o < d->nops; o++) {
		const struct ptx_variable *v;
		if (d->ops[o].kind != O_MEM || k--)
			continue;
		v = d->ops[o].base == O_VAR ? d->ops[o].sym->var : NULL;
		if (!v || v->space == space || (space == SP_SHCLUSTER && v->space == SP_SHARED) ||
			((space == SP_GENERIC || space == SP_GLOBAL) &&
				(v->space == SP_GLOBAL || v->space == SP_CONST)))
			return NULL;
		return "a variable of another state space";
	}
	return NULL;
}

/* --- lists --- */
void ptx_async_start(struct ptx_warp *w)
{
	if (w->async) {
		w->async->n = 0;
		memset(w->async->groups, 0, sizeof(w->async->groups));
	}
}

void ptx_async_free(struct ptx_warp *w)
{
	if (w->async)
		free(w->async->work);
	free(w->async);
	w->async = NULL;
}

void ptx_async_reset(struct ptx_worker *wk)
{
	wk->ntied = 0;
}

static struct ptx_async *async_of(struct ptx_warp *w)
{
	if (!w->async)
		w->async = calloc(1, sizeof(*w->async));
	if (!w->async)
		ptx_out_of_memory(w->wk);
	return w->async;
}

static struct ptx_work *add_own(struct ptx_warp *w, const struct ptx_work *x)
{
	struct ptx_async *a = async_of(w);

	a->work = ptx_more(w->wk, a->work, &a->cap, a->n + 1, sizeof(*a->work));
	a->work[a->n] = *x;
	a->work[a->n].group = a->groups[x->bulk][x->lane];
	a->work[a->n].waited = w->waited >> x->lane & 1;
	return &a->work[a->n++];
}

static void add_tied(struct ptx_worker *wk, const struct ptx_work *x)
{
	wk->tied = ptx_more(wk, wk->tied, &wk->captied, wk->ntied + 1, sizeof(*wk->tied));
	wk->tied[wk->ntied] = *x;
	wk->tied[wk->ntied++].waited = x->w->waited >> x->lane & 1;
}

/* What it touches may have been touched since it began: then counts whether its lane had waited for
 * the launch in front. */
static void observe_work(const struct ptx_work *x)
{
	const uint32_t was = x->w->waited;

	x->w->waited &= x->waited ? UINT32_MAX : ~(1u << x->lane);
	if (x->src && x->n)
		ptx_observe_lane(x->w, x->i, x->lane, x->src, x->n, PTX_READ);
	if (x->n + x->zero)
		ptx_observe_lane(x->w, x->i, x->lane, x->dst, x->n + x->zero,
			x->rmw ? PTX_ATOMIC : PTX_WRITE);
	x->w->waited = was;
}

static void do_work(struct ptx_work *x)
{
	const uint8_t *src = x->src ? x->src : x->value;

	if (x->done || x->arrive)
		return;
	x->done = true;
	observe_work(x);
	if (!x->rmw) {
		memmove(x->dst, src, x->n);
		memset(x->dst + x->n, 0, x->zero);
		return;
	}
	for (uint32_t at = 0; at < x->n; at += x->elem) {
		uint64_t v = 0;
		memcpy(&v, src + at, x->elem);
		x->rmw(x->dst + at, v, 0);
	}
}

void ptx_async_fire(struct ptx_worker *wk, const uint64_t *mbar)
{
	unsigned kept = 0;

	for (unsigned k = 0; k < wk->ntied; k++) {
		struct ptx_work x = wk->tied[k];
		if (x.mbar != mbar) {
			wk->tied[kept++] = x;
			continue;
		}
		do_work(&x);
		if (x.arrive)
			ptx_mbar_arrive(x.w, x.i, x.lane, x.mbar, 1);
		else if (x.tx)
			ptx_mbar_complete_tx(x.w, x.i, x.lane, x.mbar, x.tx);
	}
	wk->ntied = kept;
}

/* The lanes' work of groups before `before` is done and forgotten. */
static void finish(struct ptx_warp *w, uint32_t mask, bool bulk, const uint32_t *before)
{
	struct ptx_async *a = w->async;
	unsigned kept = 0;

	for (unsigned k = 0; k < a->n; k++) {
		struct ptx_work *x = &a->work[k];
		if (mask >> x->lane & 1 && x->bulk == bulk && x->group < before[x->lane])
			do_work(x);
		else if (kept++ != k)
			a->work[kept - 1] = *x;
	}
	a->n = kept;
	/* what cp.async.mbarrier.arrive has taken over may end early */
	for (unsigned k = 0; !bulk && k < w->wk->ntied; k++) {
		struct ptx_work *x = &w->wk->tied[k];
		if (x->w == w && mask >> x->lane & 1 && !x->bulk && !x->tx)
			do_work(x);
	}
}

void ptx_async_do(struct ptx_warp *w)
{
	for (unsigned k = 0; w->async && k < w->async->n; k++)
		do_work(&w->async->work[k]);
	for (unsigned k = 0; k < w->wk->ntied; k++)
		if (w->wk->tied[k].w == w)
			do_work(&w->wk->tied[k]);
}

void ptx_async_end(struct ptx_warp *w)
{
	for (unsigned k = 0; w->async && k < w->async->n; k++)
		if (w->async->work[k].bulk)
			do_work(&w->async->work[k]);
	ptx_async_start(w);
}

/* --- cp.async --- */
static const char *spaces(struct ptx_dec *d, unsigned n)
{
	const char *why = NULL;

	for (unsigned k = 0; k < n && !why; k++)
		why = ptx_at_space(d, k, d->i->u.ats[k].space);
	return why;
}

static void set_space(struct ptx_dec *d, unsigned k, unsigned space)
{
	d->i->u.ats[k].space = (uint8_t)space;
}

/* [dst], [src], cp-size [, src-size or ignore-src] */
const char *sel_cp_async(struct ptx_dec *d)
{
	uint64_t n = (uint64_t)d->i->imm;

	set_space(d, 0, SP_SHARED);
	set_space(d, 1, SP_GLOBAL);
	if (!(d->mods & MB(ca)) == !(d->mods & MB(cg)))
		return "neither .ca nor .cg";
	if (d->mods & MB(cg) ? n != 16 : n != 4 && n != 8 && n != 16)
		return "a copy of this size";
	d->i->size = (uint8_t)n;
	return spaces(d, 2);
}

/* arg 1: o[3] is src-size; 2: a predicate that says to ignore the source. */
void h_cp_async(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t dst[PTX_LANES];
	unsigned size = i->size;

	ptx_at_pointers(w, i, 0, SP_SHARED, mask, size, size, true, dst);
	EACH_LANE(l)
	{
		uint32_t n = size;
		if (i->arg == 1 && i->o[3] != NO_REG)
			n = REG(u32a, 3)[l];
		else if (i->arg == 2)
			n = (PRED(3) ^ (i->flags & F_NEG_SRC ? PTX_FULL : 0)) >> l & 1 ? 0 : size;
		if (n > size)
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"src-size is more than cp-size");
		struct ptx_work x = {.w = w,
			.i = i,
			.lane = (uint8_t)l,
			.dst = (uint8_t *)(uintptr_t)dst[l],
			.n = n,
			.zero = size - n};
		if (n) /* nothing is read: the address need not be one */
			x.src = ptx_in_space(
				w, i, l, SP_GLOBAL, at_address(w, i, 1, l), n, size, false);
		add_own(w, &x);
	}
}

/* arg: 0 cp.async, 1 cp.async.bulk */
void h_commit_group(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	struct ptx_async *a = async_of(w);

	EACH_LANE(l) a->groups[i->arg][l]++;
}

/* The newest n groups may go on. */
void h_wait_group(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	struct ptx_async *a = async_of(w);
	uint64_t n = (uint64_t)i->imm;
	uint32_t before[PTX_LANES];

	EACH_LANE(l)
	{
		uint32_t done = a->groups[i->arg][l];
		before[l] = n < done ? done - (uint32_t)n : 0;
	}
	finish(w, mask, i->arg, before);
}

void h_wait_all(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	struct ptx_async *a = async_of(w);

	EACH_LANE(l) a->groups[0][l]++;
	finish(w, mask, false, a->groups[0]);
}

/* cp.async.mbarrier.arrive [m]: it arrives when the thread's copies so far have ended. arg 1:
 * .noinc */
void h_cp_async_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];
	struct ptx_async *a = async_of(w);

	ptx_at_pointers(w, i, 0, i->space, mask, 8, 8, true, p);
	EACH_LANE(l)
	{
		uint64_t *m = (uint64_t *)(uintptr_t)p[l];
		unsigned kept = 0;
		if (!i->arg)
			ptx_mbar_expect_one(w, i, l, m);
		for (unsigned k = 0; k < a->n; k++) {
			struct ptx_work x = a->work[k];
			if (x.lane != l || x.bulk) {
				a->work[kept++] = x;
				continue;
			}
			x.mbar = m;
			add_tied(w->wk, &x);
		}
		a->n = kept;
		add_tied(w->wk,
			&(struct ptx_work){
				.w = w, .i = i, .lane = (uint8_t)l, .mbar = m, .arrive = true});
	}
}

/* --- bulk copies --- */
enum {
	BULK_G2S,
	BULK_S2S,
	BULK_S2G,
	BULK_G2CTA
}; /* row's arg; + 8: a reduction; + 16: .multicast */
const char *sel_bulk(struct ptx_dec *d)
{
	static const uint8_t space[][2] = {[BULK_G2S] = {SP_SHCLUSTER, SP_GLOBAL},
		[BULK_S2S] = {SP_SHCLUSTER, SP_SHARED},
		[BULK_S2G] = {SP_GLOBAL, SP_SHARED},
		[BULK_G2CTA] = {SP_SHARED, SP_GLOBAL}};
	unsigned how = d->i->arg & 7;
	bool order;

	set_space(d, 0, space[how][0]);
	set_space(d, 1, space[how][1]);
	if (how != BULK_S2G)
		set_space(d, 2, space[how][0]);
	d->i->space = SP_GLOBAL;
	if (d->i->arg & 8) {
		ptx_rmw *fn = ptx_rmw_of(d->mods & ~(ptx_mods)MB(noftz), d->i->type, &order);
		if (!fn || (how == BULK_S2S && ptx_is_float(d->i->type)))
			return "this reduction";
		if (ptx_type_bits[d->i->type] == 16 && d->mods & MB(add) && !(d->mods & MB(noftz)))
			return "an addition of halves without .noftz";
		d->i->cls = (uint8_t)ptx_type_bytes(d->i->type);
		d->i->u.ats[0].rmw = fn;
		if (how == BULK_S2G && order)
			d->p->fn->ordered = true;
	}
	return spaces(d, how == BULK_S2G ? 2 : 3);
}

static void bulk_lane(struct ptx_warp *w, const struct ptx_insn *i, unsigned l, uint32_t n,
	uint32_t more, bool tied)
{
	const struct ptx_at *at = i->u.ats;
	struct ptx_work x = {.w = w, .i = i, .lane = (uint8_t)l, .n = n, .tx = n, .bulk = true};

	x.dst = ptx_in_space(w, i, l, at[0].space, at_address(w, i, 0, l) + more, n, 16, true);
	x.src = ptx_in_space(w, i, l, at[1].space, at_address(w, i, 1, l), n, 16, false);
	if (i->arg & 8) {
		x.rmw = at[0].rmw == ptx_add_f32 && at[0].space == SP_GLOBAL ? ptx_add_f32_ftz
									     : at[0].rmw;
		x.elem = i->cls;
	}
	if (!tied) {
		add_own(w, &x);
		return;
	}
	x.mbar = ptx_in_space(w, i, l, at[2].space, at_address(w, i, 2, l) + more, 8, 8, true);
	add_tied(w->wk, &x);
}

/* [dst], [src], size [, mbar] [, ctaMask] */
void h_bulk(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	bool tied = (i->arg & 7) != BULK_S2G;

	EACH_LANE(l)
	{
		uint32_t n = REG(u32a, 2)[l];
		if (n % 16)
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"a bulk copy whose size is not a multiple of 16");
		if (!(i->arg & 16)) {
			bulk_lane(w, i, l, n, 0, tied);
			continue;
		}
		/* to the same offsets in each of these blocks: the addresses are of the block's own
		 * window */
		for (uint32_t to = REG(u32a, 4)[l] & 0xffff; to; to &= to - 1)
			bulk_lane(w, i, l, n, (uint32_t)(__builtin_ctz(to) + 1) << PTX_RANK_SHIFT,
				tied);
	}
}

/* Nothing but the address is checked. */
void h_bulk_prefetch(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	if (REG(u32a, 1)[l] % 16)
		ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"a bulk prefetch whose size is not a multiple of 16");
}

/* --- st.bulk --- */
/* [a], size, initval: "PTX ISA 8.6", st.bulk */
const char *sel_st_bulk(struct ptx_dec *d)
{
	set_space(d, 0, d->mods & MB(shared) ? SP_SHARED : SP_GENERIC);
	if (d->i->imm)
		return "an initial value other than 0";
	return spaces(d, 1);
}

void h_st_bulk(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES], n[PTX_LANES];

	EACH_LANE(l)
	{
		n[l] = REG(u64a, 1)[l];
		if (n[l] % 8 || n[l] > 1u << 24)
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"st.bulk of a size that is no multiple of 8, or above 16777216");
		if (n[l])
			p[l] = (uint64_t)(uintptr_t)ptx_in_space(w, i, l, i->u.ats[0].space,
				at_address(w, i, 0, l), (uint32_t)n[l], 8, true);
	}
	EACH_LANE(l)
	{
		if (!n[l])
			continue;
		ptx_observe_lane(w, i, l, (const void *)(uintptr_t)p[l], n[l], PTX_WRITE);
		memset((void *)(uintptr_t)p[l], 0, n[l]);
	}
}

/* --- st.async, red.async --- */
/* [a], b, [mbar] */
const char *sel_st_async(struct ptx_dec *d)
{
	bool order;

	set_space(d, 0, SP_SHCLUSTER);
	set_space(d, 1, SP_SHCLUSTER);
	if (d->i->arg) {
		d->i->u.ats[0].rmw = ptx_rmw_of(d->mods, d->i->type, &order);
		if (!d->i->u.ats[0].rmw)
			return "this reduction";
	}
	return spaces(d, 2);
}

void h_st_async(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	unsigned size = i->size, n = size * i->vec;
	uint64_t p[PTX_LANES], m[PTX_LANES];

	ptx_at_pointers(w, i, 0, SP_SHCLUSTER, mask, n, n, true, p);
	ptx_at_pointers(w, i, 1, SP_SHCLUSTER, mask, 8, 8, true, m);
	EACH_LANE(l)
	{
		struct ptx_work x = {.w = w,
			.i = i,
			.lane = (uint8_t)l,
			.mbar = (uint64_t *)(uintptr_t)m[l],
			.dst = (uint8_t *)(uintptr_t)p[l],
			.n = n,
			.tx = n,
			.rmw = i->u.ats[0].rmw,
			.elem = (uint8_t)size};
		for (unsigned k = 0; k < i->vec; k++) {
			int32_t off = i->u.ats[0].vec.off[k];
			uint64_t v = i->u.ats[0].vec.width[k] == 8 ? REG_AT(u64a, off)[l]
								   : REG_AT(u32a, off)[l];
			memcpy(x.value + k * size, &v, size);
		}
		add_tied(w->wk, &x);
	}
}
