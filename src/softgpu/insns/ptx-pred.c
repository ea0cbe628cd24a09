/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons and predicates.
 */
#if !defined(__clang__) && defined(__OPTIMIZE__)
#ifdef __OPTIMIZE__	   /* -O0 stays -O0 */
#pragma GCC optimize("O3") /* vectorise the loops over lanes, also when CFLAGS say -O2 */
#endif
#endif
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"

static const uint32_t bit[PTX_LANES] = {1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5,
	1u << 6, 1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14,
	1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
	1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/* All 32 lanes are compared: those that are not active are masked later. */
/* Not laid out by clang-format: tables of expressions, which it takes for declarations. */
/* clang-format off */
#define CMP(name, T, C, EXPR)                                                                       \
	static uint32_t cmp_##name(const void *pa, const void *pb)                                  \
	{                                                                                           \
		const T *a = __builtin_assume_aligned(pa, 128), *b = __builtin_assume_aligned(pb, 128); \
		uint32_t m = 0;                                                                     \
		for (unsigned l = 0; l < PTX_LANES; l++) {                                          \
			C x = (C)a[l], y = (C)b[l];                                                 \
			m |= (EXPR) ? bit[l] : 0;                                                   \
		}                                                                                   \
		return m;                                                                           \
	}
#define CMP_INT(t, T, C)                                                                            \
	CMP(eq_##t, T, C, x == y)                                                                   \
	CMP(ne_##t, T, C, x != y)                                                                   \
	CMP(lt_##t, T, C, x < y)                                                                    \
	CMP(le_##t, T, C, x <= y)                                                                   \
	CMP(gt_##t, T, C, x > y)                                                                    \
	CMP(ge_##t, T, C, x >= y)
CMP_INT(u16, u32a, uint16_t)
CMP_INT(s16, u32a, int16_t)
CMP_INT(u32, u32a, uint32_t)
CMP_INT(s32, u32a, int32_t)
CMP_INT(u64, u64a, uint64_t)
CMP_INT(s64, u64a, int64_t)
#define CMP_FLOAT(t, T, C)                                                                          \
	CMP(eq_##t, T, C, x == y)                                                                   \
	CMP(ne_##t, T, C, x < y || x > y)                                                           \
	CMP(lt_##t, T, C, x < y)                                                                    \
	CMP(le_##t, T, C, x <= y)                                                                   \
	CMP(gt_##t, T, C, x > y)                                                                    \
	CMP(ge_##t, T, C, x >= y)                                                                   \
	CMP(equ_##t, T, C, !(x < y || x > y))                                                       \
	CMP(neu_##t, T, C, x != y)                                                                  \
	CMP(ltu_##t, T, C, !(x >= y))                                                               \
	CMP(leu_##t, T, C, !(x > y))                                                                \
	CMP(gtu_##t, T, C, !(x <= y))                                                               \
	CMP(geu_##t, T, C, !(x < y))                                                                \
	CMP(num_##t, T, C, x == x && y == y)                                                        \
	CMP(nan_##t, T, C, x != x || y != y)
CMP_FLOAT(f32, f32a, float)
CMP_FLOAT(f64, f64a, double)

#define NCMP 18
static const uint8_t cmp_mods[NCMP] = {M_eq, M_ne, M_lt, M_le, M_gt, M_ge, M_lo, M_ls, M_hi, M_hs, M_equ, M_neu, M_ltu, M_leu, M_gtu,
	M_geu, M_num, M_nan};
#define SIX(t) cmp_eq_##t, cmp_ne_##t, cmp_lt_##t, cmp_le_##t, cmp_gt_##t, cmp_ge_##t
#define EIGHT(t) cmp_equ_##t, cmp_neu_##t, cmp_ltu_##t, cmp_leu_##t, cmp_gtu_##t, cmp_geu_##t, cmp_num_##t, cmp_nan_##t
#define FOUR(t) cmp_lt_##t, cmp_le_##t, cmp_gt_##t, cmp_ge_##t
#define BITS(t) cmp_eq_##t, cmp_ne_##t
static ptx_cmp *const cmps[T_COUNT][NCMP] = {
	[T_u16] = {SIX(u16), FOUR(u16)},
	[T_u32] = {SIX(u32), FOUR(u32)},
	[T_u64] = {SIX(u64), FOUR(u64)},
	[T_s16] = {SIX(s16)},
	[T_s32] = {SIX(s32)},
	[T_s64] = {SIX(s64)},
	[T_b16] = {BITS(u16)},
	[T_b32] = {BITS(u32)},
	[T_b64] = {BITS(u64)},
	[T_f32] = {SIX(f32), NULL, NULL, NULL, NULL, EIGHT(f32)},
	[T_f64] = {SIX(f64), NULL, NULL, NULL, NULL, EIGHT(f64)},
};

enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };

/* set compares values of the second type, setp of the only one. */
const char *sel_cmp(struct ptx_dec *d)
{
	unsigned type = d->i->type2 ? d->i->type2 : d->i->type, found = 0;
	ptx_mods boolean = d->mods & (MB(and) | MB(or) | MB(xor));

	for (unsigned k = 0; k < NCMP; k++)
		if (d->mods >> cmp_mods[k] & 1) {
			found++;
			d->i->u.cmp = cmps[type][k];
		}
	if (found != 1 || !d->i->u.cmp)
		return "this comparison";
	if (d->mods & MB(ftz) && type != T_f32)
		return ".ftz on this type";
	if (!boolean != (d->i->o[3] == NO_REG) || boolean & (boolean - 1))
		return "this combination of predicates";
	d->i->flags &= ~(uint32_t)F_HI;
	d->i->arg = boolean == MB(and) ? BOOL_AND : boolean == MB(or) ? BOOL_OR : boolean == MB(xor) ? BOOL_XOR : BOOL_NONE;
	return NULL;
}

static uint32_t compare(struct ptx_warp *w, const struct ptx_insn *i)
{
	float fa[PTX_LANES] __attribute__((aligned(128))), fb[PTX_LANES] __attribute__((aligned(128)));
	const f32a *a, *b;

	if (!(i->flags & F_FTZ))
		return i->u.cmp(w->frame + i->o[1], w->frame + i->o[2]);
	a = REG(f32a, 1);
	b = REG(f32a, 2);
	for (unsigned l = 0; l < PTX_LANES; l++) {
		fa[l] = ptx_flush(a[l]);
		fb[l] = ptx_flush(b[l]);
	}
	return i->u.cmp(fa, fb);
}

static uint32_t combine(unsigned how, uint32_t r, uint32_t c)
{
	return how == BOOL_AND ? r & c : how == BOOL_OR ? r | c : how == BOOL_XOR ? r ^ c : r;
}

void h_setp(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t r = compare(w, i), c = 0;

	if (i->arg) {
		c = PRED(3);
		if (i->flags & F_NEG_SRC)
			c = ~c;
	}
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, combine(i->arg, ~r, c));
	if (i->o[0] != NO_REG)
		ptx_set_pred(&PRED(0), mask, combine(i->arg, r, c));
}

void h_set(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t r = compare(w, i), c = 0, one = i->type == T_f32 ? 0x3f800000u : i->type == T_f16 ? 0x3c00u : 0xffffffffu;
	u32a *d = REG(u32a, 0);

	if (i->arg) {
		c = PRED(3);
		if (i->flags & F_NEG_SRC)
			c = ~c;
	}
	r = combine(i->arg, r, c);
	LANES({ d[l] = r >> l & 1 ? one : 0; });
}

#define PRED2(name, EXPR)                                                                           \
	void h_##name(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)                  \
	{                                                                                           \
		uint32_t x = PRED(1), y = i->o[2] == NO_REG ? 0 : PRED(2);                          \
		(void)y;                                                                            \
		ptx_set_pred(&PRED(0), mask, EXPR);                                                 \
	}
PRED2(and_pred, x & y)
PRED2(or_pred, x | y)
PRED2(xor_pred, x ^ y)
PRED2(not_pred, ~x)
PRED2(mov_pred, x)

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL };
const char *sel_testp(struct ptx_dec *d)
{
	static const uint8_t mods[] = {M_finite, M_infinite, M_number, M_notanumber, M_normal, M_subnormal};
	unsigned found = 0;

	for (unsigned k = 0; k < 6; k++)
		if (d->mods >> mods[k] & 1) {
			d->i->arg = k;
			found++;
		}
	return found == 1 ? NULL : "this test";
}

static bool test(double v, unsigned what, bool is_f64)
{
	double least = is_f64 ? 0x1p-1022 : 0x1p-126;

	switch (what) {
	case TEST_FINITE:
		return isfinite(v);
	case TEST_INFINITE:
		return isinf(v);
	case TEST_NUMBER:
		return !isnan(v);
	case TEST_NAN:
		return isnan(v);
	case TEST_NORMAL:
		return isfinite(v) && (v == 0 || fabs(v) >= least); /* zero counts as normal */
	default:
		return v != 0 && fabs(v) < least;
	}
}

void h_testp(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint32_t r = 0;

	EACH_LANE(l)
	{
		bool is_f64 = i->type == T_f64;
		double v = is_f64 ? REG(f64a, 1)[l] : (double)REG(f32a, 1)[l];
		r |= (uint32_t)test(v, i->arg, is_f64) << l;
	}
	ptx_set_pred(&PRED(0), mask, r);
}
