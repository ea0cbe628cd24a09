/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar arithmetic: SOP1, SOP2, SOPC and most of SOPK ("AMD Instinct MI200 ISA", 12.1 to 12.4).
 */
#include "softamd/insns/amd-insn.h"

static uint64_t src(const struct amd_wave *w, const struct amd_op *o, unsigned k)
{
	return amd_scalar(w, o, o->i.src[k], o->row->src[k]);
}

static void set(struct amd_wave *w, const struct amd_op *o, uint64_t v)
{
	if (o->row->dst[0] == '2')
		amd_set_pair(w, o->i.dst, v);
	else
		w->s[o->i.dst] = (uint32_t)v;
}

/* A scalar instruction: a and b are its sources, r its result; the body may set scc. */
#define SCALAR(name, type, body)                                                                   \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		type a = (type)src(w, o, 0);                                                       \
		type b = o->row->nsrc > 1 ? (type)src(w, o, 1) : 0;                                \
		uint64_t r;                                                                        \
		bool scc = w->scc;                                                                 \
                                                                                                   \
		(void)a;                                                                           \
		(void)b;                                                                           \
		body;                                                                              \
		set(w, o, r);                                                                      \
		w->scc = scc;                                                                      \
	}
#define S32(name, body) SCALAR(name, uint32_t, body)
#define S64(name, body) SCALAR(name, uint64_t, body)
#define SI(name, body) SCALAR(name, int32_t, body)
#define BITS(v) (r = (v), scc = r != 0)
#define WORD(v) (r = (uint32_t)(v), scc = r != 0)

S32(add_u32, r = (uint64_t)a + b; scc = r >> 32)
S32(sub_u32, r = a - b; scc = b > a)
SI(add_i32, scc = __builtin_add_overflow(a, b, &a); r = (uint32_t)a)
SI(sub_i32, scc = __builtin_sub_overflow(a, b, &a); r = (uint32_t)a)
S32(addc_u32, r = (uint64_t)a + b + w->scc; scc = r >> 32)
S32(subb_u32, r = a - b - w->scc; scc = (uint64_t)b + w->scc > a)
SI(min_i32, scc = a < b; r = (uint32_t)(a < b ? a : b))
S32(min_u32, scc = a < b; r = a < b ? a : b)
SI(max_i32, scc = a > b; r = (uint32_t)(a > b ? a : b))
S32(max_u32, scc = a > b; r = a > b ? a : b)
S64(cselect, r = w->scc ? a : b)
S32(and32, WORD(a &b))
S64(and64, BITS(a &b))
S32(or32, WORD(a | b))
S64(or64, BITS(a | b))
S32(xor32, WORD(a ^ b))
S64(xor64, BITS(a ^ b))
S32(andn2_32, WORD(a & ~b))
S64(andn2_64, BITS(a & ~b))
S32(orn2_32, WORD(a | ~b))
S64(orn2_64, BITS(a | ~b))
S32(nand_32, WORD(~(a &b)))
S64(nand_64, BITS(~(a &b)))
S32(nor32, WORD(~(a | b)))
S64(nor64, BITS(~(a | b)))
S32(xnor32, WORD(~(a ^ b)))
S64(xnor64, BITS(~(a ^ b)))
S32(lshl32, WORD(a << (b & 31)))
S64(lshl64, BITS(a << (b & 63)))
S32(lshr32, WORD(a >> (b & 31)))
S64(lshr64, BITS(a >> (b & 63)))
SI(ashr32, WORD(a >> (b & 31)))
S64(ashr64, BITS((uint64_t)((int64_t)a >> (b & 63))))
S32(bfm32, r = ((1u << (a & 31)) - 1) << (b & 31))
S64(bfm64, r = ((1ull << (a & 63)) - 1) << (b & 63))
S32(mul_i32, r = a * b)
S32(mul_hi_u32, r = (uint64_t)a * b >> 32)
SI(mul_hi_i32, r = (uint64_t)((int64_t)a * b) >> 32)
SI(absdiff, r = (uint32_t)(a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a);
	scc = r != 0)

/* A field of `width` bits from bit `offset` on; none when it is empty or beyond the end. */
static uint64_t field(uint64_t v, unsigned bits, unsigned offset, unsigned width, bool sign)
{
	if (!width || offset >= bits)
		return 0;
	if (sign && bits == 32)
		v = (uint64_t)(int64_t)(int32_t)v;
	v = sign ? (uint64_t)((int64_t)v >> offset) : v >> offset;
	if (width >= bits - offset)
		return v;
	return sign ? (uint64_t)((int64_t)(v << (64 - width)) >> (64 - width))
		    : v & ((1ull << width) - 1);
}

S32(bfe_u32, WORD(field(a, 32, b & 31, b >> 16 & 127, false)))
S32(bfe_i32, WORD(field(a, 32, b & 31, b >> 16 & 127, true)))
S64(bfe_u64, BITS(field(a, 64, b & 63, b >> 16 & 127, false)))
S64(bfe_i64, BITS(field(a, 64, b & 63, b >> 16 & 127, true)))

#define LSHL_ADD(n)                                                                                \
	S32(lshl##n##_add, uint64_t sum = ((uint64_t)a << (n)) + b; r = (uint32_t)sum;             \
		scc = sum >> 32 != 0)
LSHL_ADD(1)
LSHL_ADD(2)
LSHL_ADD(3)
LSHL_ADD(4)
S32(pack_ll, r = (a & 0xffff) | b << 16)
S32(pack_lh, r = (a & 0xffff) | (b & 0xffff0000))
S32(pack_hh, r = a >> 16 | (b & 0xffff0000))

/* --- one source --- */
S64(mov, r = a)
S32(not32, WORD(~a))
S64(not64, BITS(~a))

static uint64_t reversed(uint64_t v, unsigned bits)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < bits; k++)
		r |= (v >> k & 1) << (bits - 1 - k);
	return r;
}

S32(brev32, r = reversed(a, 32))
S64(brev64, r = reversed(a, 64))
S32(bcnt0_32, WORD(32 - __builtin_popcount(a)))
S64(bcnt0_64, WORD(64 - __builtin_popcountll(a)))
S32(bcnt1_32, WORD(__builtin_popcount(a)))
S64(bcnt1_64, WORD(__builtin_popcountll(a)))
#define NONE 0xffffffffu
S32(ff0_32, r = ~a ? (uint32_t)__builtin_ctz(~a) : NONE)
S64(ff0_64, r = ~a ? (uint32_t)__builtin_ctzll(~a) : NONE)
S32(ff1_32, r = a ? (uint32_t)__builtin_ctz(a) : NONE)
S64(ff1_64, r = a ? (uint32_t)__builtin_ctzll(a) : NONE)
S32(flbit_32, r = a ? (uint32_t)__builtin_clz(a) : NONE)
S64(flbit_64, r = a ? (uint32_t)__builtin_clzll(a) : NONE)
SI(flbit_i32, r = a == 0 || a == -1 ? NONE : (uint32_t)__builtin_clrsb(a) + 1)
S64(flbit_i64, r = a == 0 || a == ~0ull ? NONE : (uint32_t)__builtin_clrsbll((int64_t)a) + 1)
S32(sext_i8, r = (uint32_t)(int8_t)a)
S32(sext_i16, r = (uint32_t)(int16_t)a)
S32(bitset0_32, r = w->s[o->i.dst] & ~(1u << (a & 31)))
S32(bitset1_32, r = w->s[o->i.dst] | 1u << (a & 31))
S64(bitset0_64, r = amd_pair(w, o->i.dst) & ~(1ull << (a & 63)))
S64(bitset1_64, r = amd_pair(w, o->i.dst) | 1ull << (a & 63))
SI(abs_i32, WORD(a < 0 ? 0u - (uint32_t)a : (uint32_t)a))

static uint64_t quads(uint64_t v, unsigned bits, bool spread)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < bits; k += 4)
		if (v >> k & 15)
			r |= spread ? 15ull << k : 1ull << (k / 4);
	return r;
}

S32(wqm32, WORD(quads(a, 32, true)))
S64(wqm64, BITS(quads(a, 64, true)))
S32(quadmask32, WORD(quads(a, 32, false)))
S64(quadmask64, BITS(quads(a, 64, false)))
S32(bitreplicate, r = 0; for (unsigned k = 0; k < 32; k++) r |= (a >> k & 1 ? 3ull : 0) << 2 * k)

static void cmov(struct amd_wave *w, const struct amd_op *o)
{
	if (w->scc)
		set(w, o, src(w, o, 0));
}

static void movrels(struct amd_wave *w, const struct amd_op *o)
{
	unsigned code = o->i.src[0] + w->s[GFX_M0];

	if (code >= GFX_SGPRS - 1 || o->i.src[0] >= GFX_SGPRS || w->s[GFX_M0] >= GFX_SGPRS)
		amd_refuse(w, o, "reads a register that is none");
	set(w, o, o->row->dst[0] == '2' ? amd_pair(w, code) : w->s[code]);
}

static void movreld(struct amd_wave *w, const struct amd_op *o)
{
	unsigned code = o->i.dst + w->s[GFX_M0];
	uint64_t v = src(w, o, 0);

	if (code >= GFX_SGPRS - 1 || o->i.dst >= GFX_SGPRS || w->s[GFX_M0] >= GFX_SGPRS)
		amd_refuse(w, o, "writes a register that is none");
	if (o->row->dst[0] == '2')
		amd_set_pair(w, code, v);
	else
		w->s[code] = (uint32_t)v;
}

/* EXEC from EXEC and the source; the old one is the result. */
#define SAVEEXEC(name, value)                                                                      \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		uint64_t a = src(w, o, 0), e = amd_exec(w), r = (value);                           \
                                                                                                   \
		amd_set_pair(w, o->i.dst, e);                                                      \
		amd_set_pair(w, GFX_EXEC, r);                                                      \
		w->scc = r != 0;                                                                   \
	}
SAVEEXEC(and_saveexec, a &e)
SAVEEXEC(or_saveexec, a | e)
SAVEEXEC(xor_saveexec, a ^ e)
SAVEEXEC(andn2_saveexec, a & ~e)
SAVEEXEC(orn2_saveexec, a | ~e)
SAVEEXEC(nand_saveexec, ~(a &e))
SAVEEXEC(nor_saveexec, ~(a | e))
SAVEEXEC(xnor_saveexec, ~(a ^ e))
SAVEEXEC(andn1_saveexec, ~a &e)
SAVEEXEC(orn1_saveexec, ~a | e)

static void wrexec(struct amd_wave *w, const struct amd_op *o)
{
	uint64_t a = src(w, o, 0), e = amd_exec(w);
	uint64_t r = o->i.id == GFX_s_andn1_wrexec_b64 ? ~a & e : a & ~e;

	amd_set_pair(w, GFX_EXEC, r);
	amd_set_pair(w, o->i.dst, r);
	w->scc = r != 0;
}

/* --- comparisons --- */

#define COMPARE(name, type, imm_type, op)                                                          \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		w->scc = (type)src(w, o, 0) op(type) src(w, o, 1);                                 \
	}                                                                                          \
	/* with a constant: signed ones with its sign, unsigned ones with zeros */                 \
	static void k_##name(struct amd_wave *w, const struct amd_op *o)                           \
	{                                                                                          \
		w->scc = (type)w->s[o->i.dst] op(type)(imm_type) o->i.imm;                         \
	}
COMPARE(eq_i32, int32_t, int16_t, ==)
COMPARE(lg_i32, int32_t, int16_t, !=)
COMPARE(gt_i32, int32_t, int16_t, >)
COMPARE(ge_i32, int32_t, int16_t, >=)
COMPARE(lt_i32, int32_t, int16_t, <)
COMPARE(le_i32, int32_t, int16_t, <=)
COMPARE(eq_u32, uint32_t, uint16_t, ==)
COMPARE(lg_u32, uint32_t, uint16_t, !=)
COMPARE(gt_u32, uint32_t, uint16_t, >)
COMPARE(ge_u32, uint32_t, uint16_t, >=)
COMPARE(lt_u32, uint32_t, uint16_t, <)
COMPARE(le_u32, uint32_t, uint16_t, <=)

static void eq_u64(struct amd_wave *w, const struct amd_op *o)
{
	w->scc = src(w, o, 0) == src(w, o, 1);
}

static void lg_u64(struct amd_wave *w, const struct amd_op *o)
{
	w->scc = src(w, o, 0) != src(w, o, 1);
}

static void bitcmp(struct amd_wave *w, const struct amd_op *o)
{
	unsigned mask = o->row->src[0] == '2' ? 63 : 31;
	bool bit = src(w, o, 0) >> (src(w, o, 1) & mask) & 1;
	bool one = o->i.id == GFX_s_bitcmp1_b32 || o->i.id == GFX_s_bitcmp1_b64;

	w->scc = bit == one;
}

/* --- SOPK --- */

static void movk(struct amd_wave *w, const struct amd_op *o)
{
	w->s[o->i.dst] = (uint32_t)o->i.imm;
}

static void cmovk(struct amd_wave *w, const struct amd_op *o)
{
	if (w->scc)
		movk(w, o);
}

static void addk(struct amd_wave *w, const struct amd_op *o)
{
	int32_t r;

	w->scc = __builtin_add_overflow((int32_t)w->s[o->i.dst], o->i.imm, &r);
	w->s[o->i.dst] = (uint32_t)r;
}

static void mulk(struct amd_wave *w, const struct amd_op *o)
{
	w->s[o->i.dst] *= (uint32_t)o->i.imm;
}

const struct amd_entry amd_scalar_entries[] = {WAVE(s_add_u32, add_u32), WAVE(s_sub_u32, sub_u32),
	WAVE(s_add_i32, add_i32), WAVE(s_sub_i32, sub_i32), WAVE(s_addc_u32, addc_u32),
	WAVE(s_subb_u32, subb_u32), WAVE(s_min_i32, min_i32), WAVE(s_min_u32, min_u32),
	WAVE(s_max_i32, max_i32), WAVE(s_max_u32, max_u32), WAVE(s_cselect_b32, cselect),
	WAVE(s_cselect_b64, cselect), WAVE(s_and_b32, and32), WAVE(s_and_b64, and64),
	WAVE(s_or_b32, or32), WAVE(s_or_b64, or64), WAVE(s_xor_b32, xor32), WAVE(s_xor_b64, xor64),
	WAVE(s_andn2_b32, andn2_32), WAVE(s_andn2_b64, andn2_64), WAVE(s_orn2_b32, orn2_32),
	WAVE(s_orn2_b64, orn2_64), WAVE(s_nand_b32, nand_32), WAVE(s_nand_b64, nand_64),
	WAVE(s_nor_b32, nor32), WAVE(s_nor_b64, nor64), WAVE(s_xnor_b32, xnor32),
	WAVE(s_xnor_b64, xnor64), WAVE(s_lshl_b32, lshl32), WAVE(s_lshl_b64, lshl64),
	WAVE(s_lshr_b32, lshr32), WAVE(s_lshr_b64, lshr64), WAVE(s_ashr_i32, ashr32),
	WAVE(s_ashr_i64, ashr64), WAVE(s_bfm_b32, bfm32), WAVE(s_bfm_b64, bfm64),
	WAVE(s_mul_i32, mul_i32), WAVE(s_bfe_u32, bfe_u32), WAVE(s_bfe_i32, bfe_i32),
	WAVE(s_bfe_u64, bfe_u64), WAVE(s_bfe_i64, bfe_i64), WAVE(s_absdiff_i32, absdiff),
	WAVE(s_mul_hi_u32, mul_hi_u32), WAVE(s_mul_hi_i32, mul_hi_i32),
	WAVE(s_lshl1_add_u32, lshl1_add), WAVE(s_lshl2_add_u32, lshl2_add),
	WAVE(s_lshl3_add_u32, lshl3_add), WAVE(s_lshl4_add_u32, lshl4_add),
	WAVE(s_pack_ll_b32_b16, pack_ll), WAVE(s_pack_lh_b32_b16, pack_lh),
	WAVE(s_pack_hh_b32_b16, pack_hh),
	/* SOP1 */
	WAVE(s_mov_b32, mov), WAVE(s_mov_b64, mov), WAVE(s_cmov_b32, cmov), WAVE(s_cmov_b64, cmov),
	WAVE(s_not_b32, not32), WAVE(s_not_b64, not64), WAVE(s_wqm_b32, wqm32),
	WAVE(s_wqm_b64, wqm64), WAVE(s_brev_b32, brev32), WAVE(s_brev_b64, brev64),
	WAVE(s_bcnt0_i32_b32, bcnt0_32), WAVE(s_bcnt0_i32_b64, bcnt0_64),
	WAVE(s_bcnt1_i32_b32, bcnt1_32), WAVE(s_bcnt1_i32_b64, bcnt1_64),
	WAVE(s_ff0_i32_b32, ff0_32), WAVE(s_ff0_i32_b64, ff0_64), WAVE(s_ff1_i32_b32, ff1_32),
	WAVE(s_ff1_i32_b64, ff1_64), WAVE(s_flbit_i32_b32, flbit_32),
	WAVE(s_flbit_i32_b64, flbit_64), WAVE(s_flbit_i32, flbit_i32),
	WAVE(s_flbit_i32_i64, flbit_i64), WAVE(s_sext_i32_i8, sext_i8),
	WAVE(s_sext_i32_i16, sext_i16), WAVE(s_bitset0_b32, bitset0_32),
	WAVE(s_bitset0_b64, bitset0_64), WAVE(s_bitset1_b32, bitset1_32),
	WAVE(s_bitset1_b64, bitset1_64), WAVE(s_and_saveexec_b64, and_saveexec),
	WAVE(s_or_saveexec_b64, or_saveexec), WAVE(s_xor_saveexec_b64, xor_saveexec),
	WAVE(s_andn2_saveexec_b64, andn2_saveexec), WAVE(s_orn2_saveexec_b64, orn2_saveexec),
	WAVE(s_nand_saveexec_b64, nand_saveexec), WAVE(s_nor_saveexec_b64, nor_saveexec),
	WAVE(s_xnor_saveexec_b64, xnor_saveexec), WAVE(s_quadmask_b32, quadmask32),
	WAVE(s_quadmask_b64, quadmask64), WAVE(s_movrels_b32, movrels),
	WAVE(s_movrels_b64, movrels), WAVE(s_movreld_b32, movreld), WAVE(s_movreld_b64, movreld),
	WAVE(s_abs_i32, abs_i32), WAVE(s_andn1_saveexec_b64, andn1_saveexec),
	WAVE(s_orn1_saveexec_b64, orn1_saveexec), WAVE(s_andn1_wrexec_b64, wrexec),
	WAVE(s_andn2_wrexec_b64, wrexec), WAVE(s_bitreplicate_b64_b32, bitreplicate),
	/* SOPC */
	WAVE(s_cmp_eq_i32, eq_i32), WAVE(s_cmp_lg_i32, lg_i32), WAVE(s_cmp_gt_i32, gt_i32),
	WAVE(s_cmp_ge_i32, ge_i32), WAVE(s_cmp_lt_i32, lt_i32), WAVE(s_cmp_le_i32, le_i32),
	WAVE(s_cmp_eq_u32, eq_u32), WAVE(s_cmp_lg_u32, lg_u32), WAVE(s_cmp_gt_u32, gt_u32),
	WAVE(s_cmp_ge_u32, ge_u32), WAVE(s_cmp_lt_u32, lt_u32), WAVE(s_cmp_le_u32, le_u32),
	WAVE(s_cmp_eq_u64, eq_u64), WAVE(s_cmp_lg_u64, lg_u64), WAVE(s_bitcmp0_b32, bitcmp),
	WAVE(s_bitcmp1_b32, bitcmp), WAVE(s_bitcmp0_b64, bitcmp), WAVE(s_bitcmp1_b64, bitcmp),
	/* SOPK */
	WAVE(s_movk_i32, movk), WAVE(s_cmovk_i32, cmovk), WAVE(s_addk_i32, addk),
	WAVE(s_mulk_i32, mulk), WAVE(s_cmpk_eq_i32, k_eq_i32), WAVE(s_cmpk_lg_i32, k_lg_i32),
	WAVE(s_cmpk_gt_i32, k_gt_i32), WAVE(s_cmpk_ge_i32, k_ge_i32), WAVE(s_cmpk_lt_i32, k_lt_i32),
	WAVE(s_cmpk_le_i32, k_le_i32), WAVE(s_cmpk_eq_u32, k_eq_u32), WAVE(s_cmpk_lg_u32, k_lg_u32),
	WAVE(s_cmpk_gt_u32, k_gt_u32), WAVE(s_cmpk_ge_u32, k_ge_u32), WAVE(s_cmpk_lt_u32, k_lt_u32),
	WAVE(s_cmpk_le_u32, k_le_u32), END};
