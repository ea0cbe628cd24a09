/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads, stores and atomics. Every lane's access is checked before any lane's is made; the check
 * that all lanes fall in one known range is a loop the compiler vectorises, and lanes that lie side
 * by side are one copy. Compiled twice, as ptx-alu.c is.
 */
#if !defined(__clang__) && defined(__OPTIMIZE__)
#ifdef __OPTIMIZE__	   /* -O0 stays -O0 */
#pragma GCC optimize("O3") /* vectorise the loops over lanes, also when CFLAGS say -O2 */
#endif
#endif
#include "softgpu/insns/ptx-async.h"
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-schedule.h"

#ifdef PTX_ALU_AVX2
#define V(h) h##_avx2
#else
#define V(h) h##_base
#endif

/* --- checking --- */
static void misaligned(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a, unsigned n)
{
	if (a & (n - 1))
		ptx_raise(w, i, lane, PTX_MISALIGNED_ADDRESS, a, n, NULL);
}

static void addresses(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned op, uint32_t mask, uint64_t *a)
{
	uint64_t disp = (uint64_t)i->imm;

	if (i->flags & F_A64) {
		const u64a *s = REG(u64a, op);
		LANES({ a[l] = s[l] + disp; });
	} else {
		const u32a *s = REG(u32a, op);
		LANES({ a[l] = (uint32_t)(s[l] + disp); });
	}
}

/* One bit set if any active lane lies outside [0, limit] counted from start, or is misaligned. */
static inline uint64_t any_bad(
	const uint64_t *a, uint32_t mask, uint64_t start, uint64_t limit, uint64_t am)
{
	uint64_t bad = 0;

	LANES({ bad |= (uint64_t)(a[l] - start > limit) | (a[l] & am); });
	return bad;
}

static void resolve_global(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, unsigned n,
	bool store, uint64_t *a)
{
	unsigned first = (unsigned)__builtin_ctz(mask);
	const struct ptx_cached *c = ptx_find_range(w->wk, a[first]);

	if (c && c->end - c->start >= n && !(store && c->ro) &&
		!any_bad(a, mask, c->start, c->end - c->start - n, n - 1))
		return;
	EACH_LANE(l)
	{
		if (i->space == SP_GENERIC || PTX_WIN(a[l]) < PTX_WIN_SHARED) {
			void *p = ptx_generic(w, i, l, a[l], n, store);
			misaligned(w, i, l, a[l], n);
			a[l] = (uint64_t)(uintptr_t)p;
		} else {
			ptx_raise(w, i, l, PTX_ILLEGAL_ADDRESS, a[l], n, NULL);
		}
	}
}

static void resolve_window(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, unsigned n,
	uint64_t *a, uint64_t size, uint8_t *base, size_t stride)
{
	if (size < n || any_bad(a, mask, 0, size - n, n - 1)) {
		EACH_LANE(l)
		{
			if (a[l] > size || size - a[l] < n)
				ptx_raise(w, i, l, PTX_ILLEGAL_ADDRESS, a[l], n, NULL);
			misaligned(w, i, l, a[l], n);
		}
	}
	LANES({ a[l] += (uint64_t)(uintptr_t)base + l * stride; });
}

/* Turns addresses into pointers, or raises the first lane's fault. */
static void resolve(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, unsigned n,
	bool store, uint64_t *a)
{
	switch (i->space) {
	case SP_SHARED:
		resolve_window(w, i, mask, n, a, w->blk->shared_size, w->blk->shared, 0);
		break;
	case SP_LOCAL:
		resolve_window(w, i, mask, n, a, w->lstride, w->local, w->lstride);
		break;
	case SP_SHCLUSTER:
		EACH_LANE(l)
		a[l] = (uint64_t)(uintptr_t)ptx_in_space(w, i, l, SP_SHCLUSTER, a[l], n, n, store);
		break;
	case SP_PARAM:
		resolve_window(w, i, mask, n, a, w->frames[0].fn->param_bytes,
			(uint8_t *)(uintptr_t)w->wk->l->params, 0);
		break;
	default:
		resolve_global(w, i, mask, n, store, a);
	}
}

/* --- loads and stores --- */
#define PTR(T, a) (*(const T __attribute__((may_alias)) *)(uintptr_t)(a))
#define WPTR(T, a) (*(T __attribute__((may_alias)) *)(uintptr_t)(a))
#define COLUMN(T, D, DC)                                                                           \
	do {                                                                                       \
		D *d = REG_AT(D, off);                                                             \
		LANES({ d[l] = (D)(DC)PTR(T, a[l] + at); });                                       \
	} while (0)

static void load_column(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask,
	const uint64_t *a, unsigned at, int32_t off, unsigned width)
{
	bool wide = width == 8;

	switch (i->cls) {
	case 1:
		if (wide)
			COLUMN(uint8_t, u64a, uint64_t);
		else
			COLUMN(uint8_t, u32a, uint32_t);
		break;
	case 2:
		if (wide)
			COLUMN(uint16_t, u64a, uint64_t);
		else
			COLUMN(uint16_t, u32a, uint32_t);
		break;
	case 4:
		if (wide)
			COLUMN(uint32_t, u64a, uint64_t);
		else
			COLUMN(uint32_t, u32a, uint32_t);
		break;
	case 8:
		COLUMN(uint64_t, u64a, uint64_t);
		break;
	case 0x81:
		if (wide)
			COLUMN(int8_t, u64a, int64_t);
		else
			COLUMN(int8_t, u32a, int32_t);
		break;
	case 0x82:
		if (wide)
			COLUMN(int16_t, u64a, int64_t);
		else
			COLUMN(int16_t, u32a, int32_t);
		break;
	default: /* 0x84 */
		COLUMN(int32_t, u64a, int64_t);
	}
}

/* A strong vector access: the others see all of a lane's vector or nothing, as on the hardware,
 * where programs build on it (CUB's look-back keeps status and value in one). PTX promises that for
 * an element only ("PTX ISA 9.0", 8.2.2). */
static bool is_whole(const struct ptx_insn *i)
{
	return i->vec > 1 && i->order;
}

/* A lane's vectors into its row, then the rows' elements into the registers' columns. */
static __attribute__((noinline)) void load_whole(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const uint64_t *a)
{
	const struct ptx_vec *v = i->u.vecs;
	uint8_t row[PTX_LANES][PTX_OBSERVE_BYTES] __attribute__((aligned(16)));
	uint64_t at[PTX_LANES];

	EACH_LANE(l)
	{
		ptx_whole_copy(row[l], (const void *)(uintptr_t)a[l], i->size * i->vec);
		at[l] = (uint64_t)(uintptr_t)row[l];
	}
	for (unsigned k = 0; k < i->vec; k++)
		if (v->off[k] != NO_REG)
			load_column(w, i, mask, at, k * i->size, v->off[k], v->width[k]);
}

void V(h_ld)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t a[PTX_LANES];
	const struct ptx_vec *v = i->u.vecs;

	addresses(w, i, 1, mask, a);
	resolve(w, i, mask, i->size * i->vec, false, a);
	ptx_observe(w, i, mask, a, i->size * i->vec, PTX_READ);
	if (is_whole(i)) {
		load_whole(w, i, mask, a);
		return;
	}
	for (unsigned k = 0; k < i->vec; k++)
		if (v->off[k] != NO_REG)
			load_column(w, i, mask, a, k * i->size, v->off[k], v->width[k]);
}

/* Where the accesses of all 32 lanes begin when they lie side by side and are allowed, else NULL. n
 * is a lane's. */
static inline uint8_t *side_by_side(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask,
	const uint64_t *a, unsigned n, bool store)
{
	const struct ptx_cached *c;
	uint64_t apart = a[0] & (n - 1);

	if (mask != PTX_FULL || ptx_is_observed(w))
		return NULL;
	for (unsigned l = 0; l < PTX_LANES; l++)
		apart |= a[l] ^ (a[0] + l * n);
	if (apart)
		return NULL;
	if (i->space == SP_SHARED)
		return a[0] <= w->blk->shared_size && w->blk->shared_size - a[0] >= PTX_LANES * n
			       ? w->blk->shared + a[0]
			       : NULL;
	if (i->space == SP_LOCAL || i->space == SP_PARAM || i->space == SP_SHCLUSTER)
		return NULL;
	c = ptx_find_range(w->wk, a[0]);
	return c && c->end - a[0] >= PTX_LANES * n && !(store && c->ro) ? (uint8_t *)(uintptr_t)a[0]
									: NULL;
}

/* A store of n columns, each of the instruction's size, that is watched, whose lanes have an order
 * of their own, or that is whole. */
static __attribute__((noinline)) void store_observed(struct ptx_warp *w, const struct ptx_insn *i,
	uint32_t mask, const uint64_t *a, const int32_t *off, const uint8_t *width, unsigned n)
{
	uint8_t value[PTX_LANES][PTX_OBSERVE_BYTES] __attribute__((aligned(16))), order[PTX_LANES];
	unsigned size = i->size, nlanes;

	for (unsigned k = 0; k < n; k++)
		EACH_LANE(l)
	memcpy(&value[l][k * size],
		width[k] == 8 ? (void *)&REG_AT(u64a, off[k])[l] : (void *)&REG_AT(u32a, off[k])[l],
		size);
	if (ptx_is_observed(w))
		ptx_observed(w, i, mask, a, n * size, PTX_WRITE, value);
	ptx_schedule_lanes(w->wk, mask, order, &nlanes);
	for (unsigned k = 0; k < nlanes; k++)
		ptx_whole_copy((void *)(uintptr_t)a[order[k]], value[order[k]], n * size);
}

/* Scalar 32-bit and 64-bit accesses from and to registers of that width. */
#define SCALAR(bits, S)                                                                            \
	void V(h_ld_##bits)(struct ptx_warp * w, const struct ptx_insn *i, uint32_t mask)          \
	{                                                                                          \
		uint64_t a[PTX_LANES];                                                             \
		S *d = REG(S, 0);                                                                  \
		const uint8_t *p;                                                                  \
		addresses(w, i, 1, mask, a);                                                       \
		p = side_by_side(w, i, mask, a, bits / 8, false);                                  \
		if (p) {                                                                           \
			memcpy(d, p, PTX_LANES *bits / 8);                                         \
			return;                                                                    \
		}                                                                                  \
		resolve(w, i, mask, bits / 8, false, a);                                           \
		ptx_observe(w, i, mask, a, bits / 8, PTX_READ);                                    \
		LANES({ d[l] = PTR(uint##bits##_t, a[l]); });                                      \
	}                                                                                          \
	void V(h_st_##bits)(struct ptx_warp * w, const struct ptx_insn *i, uint32_t mask)          \
	{                                                                                          \
		uint64_t a[PTX_LANES];                                                             \
		const S *s = REG(S, 1);                                                            \
		uint8_t *p;                                                                        \
		addresses(w, i, 0, mask, a);                                                       \
		p = side_by_side(w, i, mask, a, bits / 8, true);                                   \
		if (p) {                                                                           \
			memcpy(p, s, PTX_LANES *bits / 8);                                         \
			return;                                                                    \
		}                                                                                  \
		resolve(w, i, mask, bits / 8, true, a);                                            \
		if (ptx_is_observed(w)) {                                                          \
			store_observed(w, i, mask, a, &(const int32_t){i->o[1]},                   \
				&(const uint8_t){bits / 8}, 1);                                    \
			return;                                                                    \
		}                                                                                  \
		EACH_LANE(l) WPTR(uint##bits##_t, a[l]) = s[l];                                    \
	}
SCALAR(32, u32a)
SCALAR(64, u64a)

/* A kernel parameter at a fixed offset: the same for every lane; bounds were checked by the
 * decoder. */
void V(h_ld_param_32)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u32a *d = REG(u32a, 0);
	uint32_t v;

	memcpy(&v, (const char *)w->wk->l->params + i->imm, 4);
	LANES({ d[l] = v; });
}

void V(h_ld_param_64)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u64a *d = REG(u64a, 0);
	uint64_t v;

	memcpy(&v, (const char *)w->wk->l->params + i->imm, 8);
	LANES({ d[l] = v; });
}

#define SCATTER(T, S)                                                                              \
	do {                                                                                       \
		const S *s = REG_AT(S, v->off[k]);                                                 \
		EACH_LANE(l) WPTR(T, a[l] + at) = (T)s[l];                                         \
	} while (0)

/* Lanes are stored in rising order: when two lanes write one address, the higher lane wins. */
void V(h_st)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t a[PTX_LANES];
	const struct ptx_vec *v = i->u.vecs;

	addresses(w, i, 0, mask, a);
	resolve(w, i, mask, i->size * i->vec, true, a);
	if (ptx_is_observed(w) || is_whole(i)) {
		store_observed(w, i, mask, a, v->off, v->width, i->vec);
		return;
	}
	for (unsigned k = 0; k < i->vec; k++) {
		unsigned at = k * i->size;
		bool wide = v->width[k] == 8;
		switch (i->size) {
		case 1:
			if (wide)
				SCATTER(uint8_t, u64a);
			else
				SCATTER(uint8_t, u32a);
			break;
		case 2:
			if (wide)
				SCATTER(uint16_t, u64a);
			else
				SCATTER(uint16_t, u32a);
			break;
		case 4:
			if (wide)
				SCATTER(uint32_t, u64a);
			else
				SCATTER(uint32_t, u32a);
			break;
		default:
			SCATTER(uint64_t, u64a);
		}
	}
}

/* --- atomics --- */
static ptx_rmw *rmw_for(
	const struct ptx_warp *w, const struct ptx_insn *i, const uint64_t *a, unsigned l)
{
	bool shared = ptx_cluster_has(w->blk->cluster, a[l]);

	return i->u.rmw == ptx_add_f32 && !shared ? ptx_add_f32_ftz : i->u.rmw;
}

static inline void atomic_lane(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned first, const uint64_t *a, unsigned l)
{
	ptx_rmw *fn = rmw_for(w, i, a, l);
	void *p = (void *)(uintptr_t)a[l];
	bool has_c = i->o[first + 2] != NO_REG, wanted = first && i->o[0] != NO_REG;
	uint64_t old;

	if (i->size == 8) {
		old = fn(p, REG(u64a, first + 1)[l], has_c ? REG(u64a, first + 2)[l] : 0);
		if (wanted)
			REG(u64a, 0)[l] = old;
	} else {
		old = fn(p, REG(u32a, first + 1)[l], has_c ? REG(u32a, first + 2)[l] : 0);
		if (wanted)
			REG(u32a, 0)[l] = (uint32_t)old;
	}
}

static void atomic(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, unsigned first)
{
	uint64_t a[PTX_LANES];
	uint8_t order[PTX_LANES];
	unsigned n;

	addresses(w, i, first, mask, a);
	resolve(w, i, mask, i->size, true, a);
	if (ptx_is_observed(w)) {
		ptx_observed(w, i, mask, a, i->size, PTX_ATOMIC, NULL);
		ptx_schedule_lanes(w->wk, mask, order, &n);
		for (unsigned k = 0; k < n; k++)
			atomic_lane(w, i, first, a, order[k]);
		return;
	}
	EACH_LANE(l) atomic_lane(w, i, first, a, l);
}

void V(h_atom)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	atomic(w, i, mask, 1);
}

void V(h_red)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	atomic(w, i, mask, 0);
}
