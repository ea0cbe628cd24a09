/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector comparisons: a bit for each lane ("AMD Instinct MI200 ISA", 12.9).
 */
#include "softamd/insns/amd-insn.h"

#define MASK(name, condition)                                                                      \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		uint64_t mask = 0;                                                                 \
                                                                                                   \
		LANE_LOOP mask |= (uint64_t)(condition) << l;                                      \
		x->mask = mask;                                                                    \
	}

#define A32(type) ((type)x->a[l])
#define B32(type) ((type)x->b[l])
#define INTEGERS(suffix, A, B)                                                                     \
	MASK(lt_##suffix, A < B)                                                                   \
	MASK(eq_##suffix, A == B)                                                                  \
	MASK(le_##suffix, A <= B)                                                                  \
	MASK(gt_##suffix, A > B)                                                                   \
	MASK(ne_##suffix, A != B)                                                                  \
	MASK(ge_##suffix, A >= B)
INTEGERS(i32, A32(int32_t), B32(int32_t))
INTEGERS(u32, A32(uint32_t), B32(uint32_t))
INTEGERS(i16, A32(int16_t), B32(int16_t))
INTEGERS(u16, A32(uint16_t), B32(uint16_t))
INTEGERS(i64, (int64_t)wide(x->a, l), (int64_t)wide(x->b, l))
INTEGERS(u64, wide(x->a, l), wide(x->b, l))
MASK(never, 0)
MASK(always, 1)

/* "n" forms are true for NaN. */
#define FLOATS(suffix, A, B)                                                                       \
	MASK(lt_##suffix, A < B)                                                                   \
	MASK(eq_##suffix, A == B)                                                                  \
	MASK(le_##suffix, A <= B)                                                                  \
	MASK(gt_##suffix, A > B)                                                                   \
	MASK(lg_##suffix, A<B || A> B)                                                             \
	MASK(ge_##suffix, A >= B)                                                                  \
	MASK(o_##suffix, A == A && B == B)                                                         \
	MASK(u_##suffix, A != A || B != B)                                                         \
	MASK(nge_##suffix, !(A >= B))                                                              \
	MASK(nlg_##suffix, !(A < B || A > B))                                                      \
	MASK(ngt_##suffix, !(A > B))                                                               \
	MASK(nle_##suffix, !(A <= B))                                                              \
	MASK(neq_##suffix, !(A == B))                                                              \
	MASK(nlt_##suffix, !(A < B))
#define AF as_float(x->a[l])
#define BF as_float(x->b[l])
FLOATS(f32, AF, BF)
#define AD as_double(wide(x->a, l))
#define BD as_double(wide(x->b, l))
FLOATS(f64, AD, BD)
#define AH amd_half_to_float((uint16_t)x->a[l])
#define BH amd_half_to_float((uint16_t)x->b[l])
FLOATS(f16, AH, BH)

/* The ten classes, in the order of the mask's bits: signalling NaN, quiet NaN, -infinity, -normal,
 * -denormal, -0, +0, +denormal, +normal, +infinity. */
static unsigned class_of(bool sign, unsigned e, unsigned e_max, uint64_t m, bool quiet)
{
	unsigned kind; /* infinity, normal, denormal, zero */

	if (e == e_max && m)
		return quiet ? 1 : 0;
	kind = e == e_max ? 0 : e ? 1 : m ? 2 : 3;
	return sign ? 2 + kind : 9 - kind;
}

static unsigned class32(uint32_t v)
{
	return class_of(v >> 31, v >> 23 & 255, 255, v & 0x7fffff, v >> 22 & 1);
}

static unsigned class64(uint64_t v)
{
	return class_of(v >> 63, v >> 52 & 2047, 2047, v & 0xfffffffffffffull, v >> 51 & 1);
}

static unsigned class16(uint32_t v)
{
	return class_of(v >> 15 & 1, v >> 10 & 31, 31, v & 0x3ff, v >> 9 & 1);
}

MASK(class_f32, x->b[l] >> class32(x->a[l]) & 1)
MASK(class_f64, x->b[l] >> class64(wide(x->a, l)) & 1)
MASK(class_f16, x->b[l] >> class16(x->a[l]) & 1)

#define ROW(prefix, what, suffix, fn, type)                                                        \
	{                                                                                          \
		GFX_##prefix##_##what##_##suffix,                                                  \
		{                                                                                  \
			.lanes = fn, .from = type, .to = 'i'                                       \
		}                                                                                  \
	}
#define INTEGER_ROWS(prefix, suffix)                                                               \
	ROW(prefix, f, suffix, never, 'i'), ROW(prefix, lt, suffix, lt_##suffix, 'i'),             \
		ROW(prefix, eq, suffix, eq_##suffix, 'i'),                                         \
		ROW(prefix, le, suffix, le_##suffix, 'i'),                                         \
		ROW(prefix, gt, suffix, gt_##suffix, 'i'),                                         \
		ROW(prefix, ne, suffix, ne_##suffix, 'i'),                                         \
		ROW(prefix, ge, suffix, ge_##suffix, 'i'), ROW(prefix, t, suffix, always, 'i')
#define FLOAT_ROWS(prefix, suffix, type)                                                           \
	ROW(prefix, f, suffix, never, type), ROW(prefix, lt, suffix, lt_##suffix, type),           \
		ROW(prefix, eq, suffix, eq_##suffix, type),                                        \
		ROW(prefix, le, suffix, le_##suffix, type),                                        \
		ROW(prefix, gt, suffix, gt_##suffix, type),                                        \
		ROW(prefix, lg, suffix, lg_##suffix, type),                                        \
		ROW(prefix, ge, suffix, ge_##suffix, type),                                        \
		ROW(prefix, o, suffix, o_##suffix, type),                                          \
		ROW(prefix, u, suffix, u_##suffix, type),                                          \
		ROW(prefix, nge, suffix, nge_##suffix, type),                                      \
		ROW(prefix, nlg, suffix, nlg_##suffix, type),                                      \
		ROW(prefix, ngt, suffix, ngt_##suffix, type),                                      \
		ROW(prefix, nle, suffix, nle_##suffix, type),                                      \
		ROW(prefix, neq, suffix, neq_##suffix, type),                                      \
		ROW(prefix, nlt, suffix, nlt_##suffix, type),                                      \
		ROW(prefix, tru, suffix, always, type)
#define CLASS_ROW(prefix, suffix, type)                                                            \
	{                                                                                          \
		GFX_##prefix##_class_##suffix,                                                     \
		{                                                                                  \
			.lanes = class_##suffix, .from = type, .to = 'c'                           \
		}                                                                                  \
	}
#define ALL(prefix)                                                                                \
	INTEGER_ROWS(prefix, i16), INTEGER_ROWS(prefix, u16), INTEGER_ROWS(prefix, i32),           \
		INTEGER_ROWS(prefix, u32), INTEGER_ROWS(prefix, i64), INTEGER_ROWS(prefix, u64),   \
		FLOAT_ROWS(prefix, f16, 'h'), FLOAT_ROWS(prefix, f32, 'f'),                        \
		FLOAT_ROWS(prefix, f64, 'd'), CLASS_ROW(prefix, f16, 'h'),                         \
		CLASS_ROW(prefix, f32, 'f'), CLASS_ROW(prefix, f64, 'd')
const struct amd_entry amd_compare_entries[] = {ALL(v_cmp), ALL(v_cmpx), END};
