/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory away from the hot path: which range an address is in, generic addresses, decoding of
 * loads, stores and atomics, moves that are not plain. The accesses themselves are ptx-ldst.c's.
 */
#include "softgpu/watch/ptx-observe.h"

#include "softgpu/machine/ptx-bounds.h"
#include "softgpu/ptx/ptx-dec.h"

/* --- ranges --- */
const struct ptx_cached *ptx_find_range(struct ptx_worker *wk, uint64_t a)
{
	const struct mem_range *r;
	struct ptx_cached *c, piece;

	for (unsigned k = 0; k < PTX_NCACHE; k++) {
		c = &wk->cache[k];
		if (a - c->start < c->end - c->start)
			return c;
	}
	r = mem_find(a);
	if (!r || (r->devices && wk->l->devices && !(r->devices & wk->l->devices)))
		return NULL;
	if (wk->l->heap && ptx_heap_find(wk->l->heap, a, &piece)) {
		if (!piece.end)
			return NULL;
		c = &wk->cache[wk->next_cache++ % PTX_NCACHE];
		*c = piece;
		return c;
	}
	piece = (struct ptx_cached){r->start, r->end, r->read_only};
	if (r->kind == MEM_MAPPED && !ptx_bounds_cut(a, &piece.start, &piece.end))
		return NULL;
	c = &wk->cache[wk->next_cache++ % PTX_NCACHE];
	*c = piece;
	return c;
}

static uint8_t *window(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t at,
	uint64_t size, uint8_t *base, unsigned n, uint64_t shown)
{
	if (at > size || size - at < n)
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, shown, n, NULL);
	return base + at;
}

/* Shared memory of a block of the cluster. */
static void *remote(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a, unsigned n)
{
	const struct ptx_cluster *c = w->blk->cluster;
	unsigned rank = ((uint32_t)a >> PTX_RANK_SHIFT) - 1;
	const struct ptx_block *b;

	if (rank >= c->n)
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n, "the cluster has no such block");
	b = c->blocks[rank];
	if (!b->live)
		ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n,
			"shared memory of a block that has ended");
	return window(
		w, i, lane, a & ((1u << PTX_RANK_SHIFT) - 1), b->shared_size, b->shared, n, a);
}

void *ptx_generic(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a,
	unsigned n, bool store)
{
	const struct ptx_cached *c;
	uint64_t at = (uint32_t)a;

	switch (PTX_WIN(a)) {
	case PTX_WIN_SHARED:
		if (at >> PTX_RANK_SHIFT)
			return remote(w, i, lane, a, n);
		return window(w, i, lane, at, w->blk->shared_size, w->blk->shared, n, a);
	case PTX_WIN_LOCAL:
		return window(w, i, lane, at, w->lstride, w->local + lane * w->lstride, n, a);
	case PTX_WIN_PARAM:
		if (!store)
			return window(w, i, lane, at, w->frames[0].fn->param_bytes,
				(uint8_t *)(uintptr_t)w->wk->l->params, n, a);
		break;
	default:
		c = ptx_find_range(w->wk, a);
		if (c && c->end - a >= n && !(store && c->ro))
			return (void *)(uintptr_t)a;
	}
	ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, a, n, NULL);
}

static const char *space_of(struct ptx_dec *d, unsigned *ret)
{
	ptx_mods m = d->mods &
		     (MB(global) | MB(shared) | MB(shcluster) | MB(local) | MB(const) | MB(param));

	if (m & (m - 1))
		return "two state spaces";
	*ret = m == MB(global)	    ? SP_GLOBAL
	       : m == MB(shared)    ? SP_SHARED
	       : m == MB(shcluster) ? SP_SHCLUSTER
	       : m == MB(local)	    ? SP_LOCAL
	       : m == MB(const)	    ? SP_CONST
	       : m == MB(param)	    ? SP_PARAM
				    : SP_GENERIC;
	return NULL;
}

static const struct ptx_opnd *mem_operand(const struct ptx_dec *d)
{
	for (unsigned k = 0; k < d->nops; k++)
		if (d->ops[k].kind == O_MEM)
			return &d->ops[k];
	return NULL;
}

/* The variable in the brackets must be in the instruction's space; .param of a function lives in
 * its local memory. */
static const char *check_space(struct ptx_dec *d, unsigned *space)
{
	const struct ptx_opnd *o = mem_operand(d);
	const struct ptx_variable *v = o && o->base == O_VAR ? o->sym->var : NULL;

	if (!v) {
		if (*space == SP_PARAM && !d->p->fn->is_entry)
			return "an address in .param space that is not a variable's";
		return NULL;
	}
	if (*space == SP_PARAM && v->space == SP_LOCAL) {
		*space = SP_LOCAL;
		return NULL;
	}
	if (*space == SP_GENERIC && (v->space == SP_GLOBAL || v->space == SP_CONST))
		return NULL;
	if (*space == SP_SHCLUSTER && v->space == SP_SHARED)
		return NULL;
	if (*space != v->space)
		return "a variable of another state space";
	return NULL;
}

const char *ptx_mem_space(struct ptx_dec *d)
{
	unsigned space;
	const char *why = space_of(d, &space);

	if (!why)
		why = check_space(d, &space);
	d->i->space = (uint8_t)space;
	return why;
}

/* By instruction set; 32 and 64 bits, the same of a kernel's parameter. */
static ptx_handler *const quick_ld[2][4] = {
	{h_ld_32_base, h_ld_64_base, h_ld_param_32_base, h_ld_param_64_base},
	{h_ld_32_avx2, h_ld_64_avx2, h_ld_param_32_avx2, h_ld_param_64_avx2}};

static ptx_handler *const quick_st[2][2] = {
	{h_st_32_base, h_st_64_base}, {h_st_32_avx2, h_st_64_avx2}};

const char *sel_mem(struct ptx_dec *d)
{
	struct ptx_insn *i = d->i;
	bool load = !strcmp(d->row->op, "ld") || !strcmp(d->row->op, "ldu");
	const struct ptx_opnd *o = mem_operand(d);
	unsigned space;
	const char *why = space_of(d, &space);

	if (!why)
		why = check_space(d, &space);
	if (why)
		return why;
	if (!load && (space == SP_CONST || space == SP_PARAM))
		return "a store to this state space";
	i->space = (uint8_t)space;
	i->cls = (uint8_t)(i->size | (load && ptx_is_signed(i->type) ? 0x80 : 0));
	if (i->cls == 0x88)
		i->cls = 8;
	if (!load) {
		const struct ptx_vec *v = i->u.vecs;
		if (i->vec == 1 && i->size >= 4 && v->width[0] == i->size) {
			i->o[1] = v->off[0];
			i->h = quick_st[d->row->arg][i->size == 8];
		}
		return NULL;
	}
	if (i->vec == 1) {
		i->o[0] = i->u.vecs->off[0];
		if (i->cls == 0x84 && i->u.vecs->width[0] == 4)
			i->cls = 4;
	}
	for (unsigned k = 0; k < i->vec; k++)
		if (i->cls == 0x84 && i->u.vecs->width[k] == 4)
			i->cls = 4;
	if (i->vec == 1 && i->cls == i->size && i->u.vecs->width[0] == i->size) {
		i->h = quick_ld[d->row->arg][i->size == 8];
		if (space == SP_PARAM && o->base == O_VAR) {
			uint64_t at = o->sym->var->addr + (uint64_t)o->disp;
			if (at > d->p->fn->param_bytes || d->p->fn->param_bytes - at < i->size)
				return "a parameter past the end";
			i->imm = (int64_t)at;
			i->h = quick_ld[d->row->arg][2 + (i->size == 8)];
		}
	}
	return NULL;
}

/* --- addresses --- */
/* imm: the window to add; its complement, to subtract. */
void h_cvta(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u64a *d = REG(u64a, 0);
	const u64a *a = REG(u64a, 1);
	uint64_t off = (uint64_t)i->imm;

	LANES({ d[l] = a[l] + off; });
}

static uint64_t window_of(unsigned space)
{
	return space == SP_SHARED || space == SP_SHCLUSTER ? PTX_WIN_SHARED
	       : space == SP_LOCAL			   ? PTX_WIN_LOCAL
	       : space == SP_PARAM			   ? PTX_WIN_PARAM
							   : 0;
}

const char *sel_cvta(struct ptx_dec *d)
{
	const struct ptx_opnd *o = &d->ops[1];
	unsigned space;
	const char *why = space_of(d, &space);

	if (why)
		return why;
	if (space == SP_GENERIC)
		return "no state space";
	if (o->kind == O_VAR &&
		(d->mods & MB(to) ||
			(o->sym->var->space != space &&
				!(space == SP_SHCLUSTER && o->sym->var->space == SP_SHARED))))
		return "a variable of another state space";
	if (space == SP_PARAM && !d->p->fn->is_entry)
		return "the generic address of a function's parameter";
	d->i->space = (uint8_t)space;
	d->i->imm = (int64_t)(d->mods & MB(to) ? 0 - window_of(space) : window_of(space));
	return NULL;
}

const char *sel_isspacep(struct ptx_dec *d)
{
	unsigned space = SP_GENERIC;
	const char *why = space_of(d, &space);

	d->i->space = (uint8_t)space;
	return why ? why : space == SP_GENERIC ? "no state space" : NULL;
}

void h_isspacep(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u64a *a = REG(u64a, 1);
	uint32_t r = 0;

	EACH_LANE(l)
	{
		uint64_t win = PTX_WIN(a[l]);
		bool yes = i->space == SP_GLOBAL || i->space == SP_CONST
				   ? win < PTX_WIN_SHARED
				   : win == window_of(i->space);
		if (i->space == SP_SHARED && (uint32_t)a[l] >> PTX_RANK_SHIFT &&
			(uint32_t)a[l] >> PTX_RANK_SHIFT != w->blk->rank + 1)
			yes = false; /* another block's */
		if (yes && (i->space == SP_GLOBAL || i->space == SP_CONST)) {
			const struct mem_range *m = mem_find(a[l]);
			yes = (m && m->read_only) == (i->space == SP_CONST);
		}
		r |= (uint32_t)yes << l;
	}
	ptx_set_pred(&PRED(0), mask, r);
}

/* --- atomics --- */
#define RMW_LOOP(T, NEW)                                                                           \
	T __attribute__((may_alias)) *q = p;                                                       \
	T old = __atomic_load_n(q, __ATOMIC_RELAXED), new;                                         \
	do                                                                                         \
		new = (T)(NEW);                                                                    \
	while (!__atomic_compare_exchange_n(                                                       \
		q, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));                          \
	return old
#define RMW(name, T, NEW)                                                                          \
	static uint64_t name(void *p, uint64_t b, uint64_t c)                                      \
	{                                                                                          \
		RMW_LOOP(T, NEW);                                                                  \
	}
#define RMW_EXT(name, T, NEW)                                                                      \
	uint64_t name(void *p, uint64_t b, uint64_t c)                                             \
	{                                                                                          \
		RMW_LOOP(T, NEW);                                                                  \
	}
#define RMW_INT(bits)                                                                              \
	static uint64_t rmw_add_##bits(void *p, uint64_t b, uint64_t c)                            \
	{                                                                                          \
		return __atomic_fetch_add((uint##bits##_t __attribute__((may_alias)) *)p,          \
			(uint##bits##_t)b, __ATOMIC_SEQ_CST);                                      \
	}                                                                                          \
	RMW(rmw_and_##bits, uint##bits##_t, old &(uint##bits##_t)b)                                \
	RMW(rmw_or_##bits, uint##bits##_t, old | (uint##bits##_t)b)                                \
	RMW(rmw_xor_##bits, uint##bits##_t, old ^ (uint##bits##_t)b)                               \
	RMW(rmw_exch_##bits, uint##bits##_t, b)                                                    \
	RMW(rmw_cas_##bits, uint##bits##_t, old == (uint##bits##_t)b ? (uint##bits##_t)c : old)    \
	RMW(rmw_minu_##bits, uint##bits##_t, old < (uint##bits##_t)b ? old : (uint##bits##_t)b)    \
	RMW(rmw_maxu_##bits, uint##bits##_t, old > (uint##bits##_t)b ? old : (uint##bits##_t)b)    \
	RMW(rmw_mins_##bits, uint##bits##_t,                                                       \
		(int##bits##_t)old < (int##bits##_t)b ? old : (uint##bits##_t)b)                   \
	RMW(rmw_maxs_##bits, uint##bits##_t,                                                       \
		(int##bits##_t)old > (int##bits##_t)b ? old : (uint##bits##_t)b)
RMW_INT(32)
RMW_INT(64)
RMW(rmw_cas_16, uint16_t, old == (uint16_t)b ? (uint16_t)c : old)
RMW(rmw_exch_16, uint16_t, b)
RMW(rmw_inc_32, uint32_t, old >= (uint32_t)b ? 0 : old + 1)
RMW(rmw_dec_32, uint32_t, !old || old > (uint32_t)b ? (uint32_t)b : old - 1)
RMW_EXT(ptx_add_f32, uint32_t, ptx_f2u(ptx_canon(ptx_u2f(old) + ptx_u2f((uint32_t)b))))
/* On global memory subnormals are flushed, on shared memory they are not: "PTX ISA 9.0", 9.7.13.5.
 */
RMW_EXT(ptx_add_f32_ftz, uint32_t,
	ptx_f2u(ptx_flush(ptx_canon(ptx_flush(ptx_u2f(old)) + ptx_flush(ptx_u2f((uint32_t)b))))))
/* Of two NaNs the one in memory stays. */
RMW(rmw_add_f64, uint64_t, ptx_d2u(ptx_nan2(ptx_u2d(old) + ptx_u2d(b), ptx_u2d(b), ptx_u2d(old))))

static const struct {
	unsigned mod;
	uint32_t types;
	ptx_rmw *fn;
	bool order; /* the memory's final contents depend on the order */
} rmws[] = {
	{M_add, TB(u32) | TB(s32), rmw_add_32, false},
	{M_add, TB(u64) | TB(s64), rmw_add_64, false},
	{M_add, TB(f32), ptx_add_f32, true},
	{M_add, TB(f64), rmw_add_f64, true},
	{M_add, TB(f16), ptx_add_f16, true},
	{M_add, TB(bf16), ptx_add_bf16, true},
	{M_add, TB(f16x2), ptx_add_f16x2, true},
	{M_add, TB(bf16x2), ptx_add_bf16x2, true},
	{M_min, TB(f16), ptx_min_f16, false},
	{M_min, TB(bf16), ptx_min_bf16, false},
	{M_min, TB(f16x2), ptx_min_f16x2, false},
	{M_min, TB(bf16x2), ptx_min_bf16x2, false},
	{M_max, TB(f16), ptx_max_f16, false},
	{M_max, TB(bf16), ptx_max_bf16, false},
	{M_max, TB(f16x2), ptx_max_f16x2, false},
	{M_max, TB(bf16x2), ptx_max_bf16x2, false},
	{M_and, TB(b32), rmw_and_32, false},
	{M_and, TB(b64), rmw_and_64, false},
	{M_or, TB(b32), rmw_or_32, false},
	{M_or, TB(b64), rmw_or_64, false},
	{M_xor, TB(b32), rmw_xor_32, false},
	{M_xor, TB(b64), rmw_xor_64, false},
	{M_exch, TB(b32), rmw_exch_32, true},
	{M_exch, TB(b64), rmw_exch_64, true},
	{M_exch, TB(b16), rmw_exch_16, true},
	{M_cas, TB(b16), rmw_cas_16, true},
	{M_cas, TB(b32), rmw_cas_32, true},
	{M_cas, TB(b64), rmw_cas_64, true},
	{M_inc, TB(u32), rmw_inc_32, true},
	{M_dec, TB(u32), rmw_dec_32, true},
	{M_min, TB(u32), rmw_minu_32, false},
	{M_min, TB(s32), rmw_mins_32, false},
	{M_min, TB(u64), rmw_minu_64, false},
	{M_min, TB(s64), rmw_mins_64, false},
	{M_max, TB(u32), rmw_maxu_32, false},
	{M_max, TB(s32), rmw_maxs_32, false},
	{M_max, TB(u64), rmw_maxu_64, false},
	{M_max, TB(s64), rmw_maxs_64, false},
};

ptx_rmw *ptx_rmw_of(ptx_mods mods, unsigned type, bool *order)
{
	static const ptx_mods ops = MB(add) | MB(and) | MB(or) | MB(xor) | MB(exch) | MB(cas) |
				    MB(inc) | MB(dec) | MB(min) | MB(max);

	for (unsigned k = 0; k < sizeof(rmws) / sizeof(rmws[0]); k++)
		if ((mods & ops) == (ptx_mods)1 << rmws[k].mod && rmws[k].types >> type & 1) {
			*order = rmws[k].order;
			return rmws[k].fn;
		}
	return NULL;
}

const char *sel_atom(struct ptx_dec *d)
{
	unsigned space;
	bool order;
	const char *why = space_of(d, &space);

	if (!why)
		why = check_space(d, &space);
	if (why)
		return why;
	if (space == SP_CONST || space == SP_PARAM || space == SP_LOCAL)
		return "an atomic on this state space";
	d->i->space = (uint8_t)space;
	d->i->u.rmw = ptx_rmw_of(d->mods, d->i->type, &order);
	if (!d->i->u.rmw)
		return "this atomic operation is not implemented";
	/* ptx_cfg() decides about the result */
	if (space != SP_SHARED && order)
		d->p->fn->ordered = true;
	return NULL;
}

/* --- moves that are not plain --- */
static void h_mov_clock(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t v = ptx_clock(w, i->arg);

	if (i->size == 8) {
		u64a *d = REG(u64a, 0);
		LANES({ d[l] = v; });
	} else {
		u32a *d = REG(u32a, 0);
		LANES({ d[l] = (uint32_t)v; });
	}
}

const char *sel_mov(struct ptx_dec *d)
{
	const struct ptx_opnd *o = &d->ops[1];

	if (o->kind == O_SREG && o->sreg > SR_VOLATILE) {
		if (ptx_type_bits[d->i->type] < 32)
			return "a clock in a narrow register";
		d->i->h = h_mov_clock;
		d->i->arg = o->sreg;
	}
	return NULL;
}

static uint64_t lane_value(const struct ptx_warp *w, int32_t off, unsigned width, unsigned l)
{
	return width == 8 ? REG_AT(u64a, off)[l] : REG_AT(u32a, off)[l];
}

/* mov.b64 %rd, {%r1, %r2}: the first element is the low one. */
void h_pack(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_vec *v = i->u.vecs;
	unsigned bits = i->size * 8u / i->vec;

	EACH_LANE(l)
	{
		uint64_t r = 0;
		for (unsigned k = 0; k < i->vec; k++)
			r |= (lane_value(w, v->off[k], v->width[k], l) & ((1ull << bits) - 1))
			     << (k * bits);
		if (i->size == 8)
			REG(u64a, 0)[l] = r;
		else
			REG(u32a, 0)[l] = (uint32_t)r;
	}
}

void h_unpack(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_vec *v = i->u.vecs;
	unsigned bits = i->size * 8u / i->vec;
	uint64_t in[PTX_LANES];

	EACH_LANE(l) in[l] = lane_value(w, i->o[1], i->size, l);
	for (unsigned k = 0; k < i->vec; k++) {
		if (v->off[k] == NO_REG)
			continue;
		EACH_LANE(l)
		REG_AT(u32a, v->off[k])[l] = (uint32_t)(in[l] >> (k * bits) & ((1ull << bits) - 1));
	}
}

void h_nop(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	if (i->order & ORDER_FENCE)
		ptx_observe_sync(w, i, PTX_SYNC_FENCE, mask, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* membar, fence; prefetches pay it too */
}

/* The warp's clock moves on, others get their turn. */
void h_nanosleep(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	w->count += REG(u32a, 0)[__builtin_ctz(mask)] / 2;
	ptx_give_way(w);
}
