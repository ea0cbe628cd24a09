/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics that are not one machine word: halves and pairs of them, vectors of sm_90, 128 bits; and
 * the loads, stores and moves of .b128. A register of 128 bits is two columns of 64 bits, the low
 * half first, 256 bytes apart. "PTX ISA 9.0", 9.7.13.5 and 9.7.13.7.
 */
#include "softgpu/insns/ptx-async.h"
#include "softgpu/insns/ptx-cvt.h"
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-schedule.h"

#include <pthread.h>

/* --- halves --- */
/* The sum of two halves is exact in a double but for far apart exponents of bf16, and then the
 * double has more than twice the digits: rounding twice is right. NaNs come out as the canonical
 * one. */
static uint16_t half_rmw(unsigned type, unsigned op, uint16_t a, uint16_t b)
{
	double x = ptx_to_double(type, a), y = ptx_to_double(type, b);

	if (op == M_add)
		return (uint16_t)ptx_from_double(type, x + y, 0);
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y) ? 0x7fff : isnan(x) ? b : a;
	if (x == y) /* zeros of two signs */
		return (a >> 15) == (op == M_min) ? a : b;
	return (x < y) == (op == M_min) ? a : b;
}

#define HALF(name, type, op)                                                                       \
	uint64_t ptx_##op##_##name(void *p, uint64_t b, uint64_t c)                                \
	{                                                                                          \
		uint16_t __attribute__((may_alias)) *q = p;                                        \
		uint16_t old = __atomic_load_n(q, __ATOMIC_RELAXED), new;                          \
		do                                                                                 \
			new = half_rmw(type, M_##op, old, (uint16_t)b);                            \
		while (!__atomic_compare_exchange_n(                                               \
			q, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));                  \
		return old;                                                                        \
	}
#define PAIR(name, type, op)                                                                       \
	uint64_t ptx_##op##_##name(void *p, uint64_t b, uint64_t c)                                \
	{                                                                                          \
		uint32_t __attribute__((may_alias)) *q = p;                                        \
		uint32_t old = __atomic_load_n(q, __ATOMIC_RELAXED), new;                          \
		do                                                                                 \
			new = half_rmw(type, M_##op, (uint16_t)old, (uint16_t)b) |                 \
			      (uint32_t)half_rmw(                                                  \
				      type, M_##op, (uint16_t)(old >> 16), (uint16_t)(b >> 16))    \
				      << 16;                                                       \
		while (!__atomic_compare_exchange_n(                                               \
			q, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));                  \
		return old;                                                                        \
	}
#define HALVES_OF(op)                                                                              \
	HALF(f16, T_f16, op) HALF(bf16, T_bf16, op) PAIR(f16x2, T_f16, op) PAIR(bf16x2, T_bf16, op)
HALVES_OF(add)
HALVES_OF(min)
HALVES_OF(max)

/* --- vectors --- */
static const char *match_vec_type(struct ptx_dec *d)
{
	unsigned n = d->mods & MB(v8) ? 8 : d->mods & MB(v4) ? 4 : 2, bytes = n * d->i->size;

	if (bytes > 16 || (d->i->type == T_f32 && d->mods & MB(noftz)) ||
		(d->i->type != T_f32 && !(d->mods & MB(noftz))))
		return "a vector of this type";
	return NULL;
}

/* Each element by itself is atomic, the vector is not. */
const char *sel_atom_vec(struct ptx_dec *d)
{
	const char *why = match_vec_type(d);
	bool order;

	if (!why)
		why = ptx_mem_space(d);
	if (why)
		return why;
	if (d->i->space != SP_GLOBAL && d->i->space != SP_GENERIC)
		return "a vector on this state space";
	d->i->u.vecatom->rmw = ptx_rmw_of(d->mods, d->i->type, &order);
	if (!d->i->u.vecatom->rmw)
		return "this atomic operation is not implemented";
	if (d->i->u.vecatom->rmw == ptx_add_f32)
		d->i->u.vecatom->rmw = ptx_add_f32_ftz;
	d->p->fn->ordered |= order || d->row->arg;
	return NULL;
}

static uint64_t address(const struct ptx_warp *w, const struct ptx_insn *i, unsigned op, unsigned l)
{
	if (i->flags & F_A64)
		return REG(u64a, op)[l] + (uint64_t)i->imm;
	return (uint32_t)(REG(u32a, op)[l] + (uint64_t)i->imm);
}

/* The pointers of all active lanes, for n bytes that lie at multiples of n. */
static void pointers(struct ptx_warp *w, const struct ptx_insn *i, unsigned op, uint32_t mask,
	unsigned n, bool store, uint64_t *p)
{
	EACH_LANE(l)
	p[l] = (uint64_t)(uintptr_t)ptx_in_space(
		w, i, l, i->space, address(w, i, op, l), n, n, store);
}

/* arg: 1 atom d, [a], b; 0 red [a], b */
void h_atom_vec(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_vec *d = i->arg ? &i->u.vecatom->d : NULL, *s = &i->u.vecatom->s;
	uint64_t p[PTX_LANES];
	uint8_t order[PTX_LANES];
	unsigned n;

	pointers(w, i, i->arg, mask, i->size * i->vec, true, p);
	ptx_observe(w, i, mask, p, i->size * i->vec, PTX_ATOMIC);
	ptx_schedule_lanes(w->wk, mask, order, &n);
	for (unsigned at = 0; at < n; at++)
		for (unsigned k = 0, l = order[at]; k < i->vec; k++) {
			uint64_t old = i->u.vecatom->rmw((void *)(uintptr_t)(p[l] + k * i->size),
				REG_AT(u32a, s->off[k])[l], 0);
			if (d && d->off[k] != NO_REG)
				REG_AT(u32a, d->off[k])[l] = (uint32_t)old;
		}
}

/* --- 128 bits --- */
#define HIGH 256 /* bytes from the low to the high column */

const char *sel_b128(struct ptx_dec *d)
{
	const char *why = ptx_mem_space(d);
	bool atomic = !strcmp(d->row->op, "atom");

	if (why)
		return why;
	if ((atomic || !strcmp(d->row->op, "st")) &&
		(d->i->space == SP_CONST || d->i->space == SP_PARAM))
		return "a store to this state space";
	if (atomic && d->i->space == SP_LOCAL)
		return "an atomic on this state space";
	if (atomic)
		d->p->fn->ordered = true;
	return NULL;
}

void h_ld_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, 1, mask, 16, false, p);
	ptx_observe(w, i, mask, p, 16, PTX_READ);
	EACH_LANE(l)
	{
		uint64_t v[2] __attribute__((aligned(16)));

		ptx_whole_copy(v, (void *)(uintptr_t)p[l], 16);
		REG(u64a, 0)[l] = v[0];
		REG_AT(u64a, i->o[0] + HIGH)[l] = v[1];
	}
}

void h_st_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, 0, mask, 16, true, p);
	ptx_observe(w, i, mask, p, 16, PTX_WRITE);
	EACH_LANE(l)
	{
		const uint64_t v[2] __attribute__((aligned(16))) = {
			REG(u64a, 1)[l], REG_AT(u64a, i->o[1] + HIGH)[l]};

		ptx_whole_copy((void *)(uintptr_t)p[l], v, 16);
	}
}

/* arg 0: exch d, [a], b; 1: cas d, [a], b, c. The host does not see half of one: it may not touch
 * memory that a kernel works on without an atomic of its own, and it has none of this width. */
void h_atom_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned new = i->arg ? 3 : 2;
	uint64_t p[PTX_LANES];

	pointers(w, i, 1, mask, 16, true, p);
	ptx_observe(w, i, mask, p, 16, PTX_ATOMIC);
	pthread_mutex_lock(&lock);
	EACH_LANE(l)
	{
		uint64_t want[2] = {REG(u64a, 2)[l], REG_AT(u64a, i->o[2] + HIGH)[l]}, old[2];
		uint64_t put[2] = {REG(u64a, new)[l], REG_AT(u64a, i->o[new] + HIGH)[l]};
		memcpy(old, (void *)(uintptr_t)p[l], 16);
		if (!i->arg || !memcmp(old, want, 16))
			memcpy((void *)(uintptr_t)p[l], put, 16);
		if (i->o[0] != NO_REG) {
			REG(u64a, 0)[l] = old[0];
			REG_AT(u64a, i->o[0] + HIGH)[l] = old[1];
		}
	}
	pthread_mutex_unlock(&lock);
}

void h_mov_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		REG(u64a, 0)[l] = REG(u64a, 1)[l];
		REG_AT(u64a, i->o[0] + HIGH)[l] = REG_AT(u64a, i->o[1] + HIGH)[l];
	}
}

/* mov.b128 d, {lo, hi} */
void h_pack_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_vec *v = i->u.vecs;

	EACH_LANE(l)
	{
		uint64_t lo = REG_AT(u64a, v->off[0])[l], hi = REG_AT(u64a, v->off[1])[l];
		REG(u64a, 0)[l] = lo;
		REG_AT(u64a, i->o[0] + HIGH)[l] = hi;
	}
}

void h_unpack_128(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_vec *v = i->u.vecs;

	EACH_LANE(l)
	for (unsigned k = 0; k < 2; k++)
		if (v->off[k] != NO_REG)
			REG_AT(u64a, v->off[k])[l] = REG_AT(u64a, i->o[1] + (int)k * HIGH)[l];
}

/* --- hints --- */
/* createpolicy: the cache policy is ignored; it cannot affect results. */
void h_policy(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l) REG(u64a, 0)[l] = 0;
}

/* discard.L2 [a], 128: the bytes are anything from now on. They become 0xA5, as fresh memory is, so
 * that reading them shows. */
void h_discard(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	EACH_LANE(l)
	p[l] = (uint64_t)(uintptr_t)ptx_in_space(
		w, i, l, SP_GLOBAL, address(w, i, 0, l), 128, 128, true);
	ptx_observe(w, i, mask, p, 128, PTX_WRITE);
	EACH_LANE(l) memset((void *)(uintptr_t)p[l], 0xa5, 128);
}

const char *sel_discard(struct ptx_dec *d)
{
	return d->ops[1].kind == O_INT && d->ops[1].value == 128
		       ? NULL
		       : "a discard of other than 128 bytes";
}
