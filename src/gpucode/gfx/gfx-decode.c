/* SPDX-License-Identifier: Apache-2.0
 *
 * Words to instructions. Each encoding has one function; what a row's letters do not allow is
 * unknown. Where the fields are: "AMD Instinct MI200 Instruction Set Architecture", chapter 13,
 * and "Vega Instruction Set Architecture", chapter 13.
 */
#include "gpucode/gfx-decode.h"

#include <string.h>

#include "gpucode/gfx/gfx-table.h"

struct reader {
	unsigned target;
	const uint32_t *w;
	size_t n;
	struct gfx_insn *i;
	const struct gfx_row *row;
};

static inline unsigned bits(uint32_t w, unsigned low, unsigned n)
{
	return w >> low & ((1u << n) - 1);
}

static bool find(struct reader *r, enum gfx_enc enc, unsigned op)
{
	r->row = gfx_find(enc, op, r->target, &r->i->id);
	return r->row != NULL;
}

static bool needs(struct reader *r, unsigned words)
{
	r->i->size = (uint8_t)(4 * words);
	return r->n >= words;
}

/* --- operands --- */

/* A scalar register that holds n registers of 32 bits, to be written (m0 and exec too). */
static bool scalar_register(unsigned code, unsigned n)
{
	unsigned align = n == 1 ? 1 : n == 2 ? 2 : 4;

	if (code % align)
		return false;
	if (code < GFX_SGPRS)
		return code + n <= GFX_SGPRS;
	if (code >= GFX_TTMP && code < GFX_M0)
		return code + n <= GFX_M0;
	if (n > 2)
		return false;
	return code < GFX_TTMP || (code == GFX_M0 && n == 1) || code == GFX_EXEC ||
	       code == GFX_EXEC + 1;
}

static bool vector_register(const struct reader *r, unsigned reg, unsigned n)
{
	/* gfx90a: pairs and more begin at an even one ("MI200", 3.7) */
	if (n > 1 && r->target & GFX_FROM_90A && reg & 1)
		return false;
	return reg + n <= 256;
}

/* A source by its number of 9 bits; a literal only where there may be one. */
static bool source(struct reader *r, unsigned code, char letter, bool literal)
{
	unsigned n = gfx_width(letter);

	if (code >= GFX_VGPR)
		return vector_register(r, code - GFX_VGPR, n);
	if (letter == 'v' || letter == 'V' || letter == 'q')
		return false;
	if (code < GFX_CONST_0)
		return scalar_register(code, n);
	if (n > 2)
		return false;
	if (code == GFX_LITERAL) {
		if (!literal || !needs(r, 2))
			return false;
		r->i->literal = r->w[1];
		return true;
	}
	return code <= 208 || (code >= GFX_SHARED_BASE && code <= GFX_PRIVATE_LIMIT) ||
	       (code >= GFX_FLOATS && code <= 248) || (code >= GFX_VCCZ && code <= GFX_SCC);
}

/* --- scalar --- */

static bool read_sop2(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;

	if (!find(r, GFX_SOP2, bits(w, 23, 7)))
		return false;
	i->dst = (uint16_t)bits(w, 16, 7);
	i->src[0] = (uint16_t)bits(w, 0, 8);
	i->src[1] = (uint16_t)bits(w, 8, 8);
	if (r->row->dst[0] ? !scalar_register(i->dst, gfx_width(r->row->dst[0])) : i->dst != 0)
		return false;
	return source(r, i->src[0], r->row->src[0], true) &&
	       source(r, i->src[1], r->row->src[1], true);
}

static bool read_sopk(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;

	if (!find(r, GFX_SOPK, bits(w, 23, 5)))
		return false;
	i->dst = (uint16_t)bits(w, 16, 7);
	i->imm = (int16_t)bits(w, 0, 16);
	if (r->row->src[0] == 'L') { /* s_setreg_imm32_b32 */
		if (i->dst || !needs(r, 2))
			return false;
		i->literal = r->w[1];
		return true;
	}
	return scalar_register(i->dst, r->row->dst[0] == '2' ? 2 : 1);
}

static bool read_sop1(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;

	if (!find(r, GFX_SOP1, bits(w, 8, 8)))
		return false;
	i->dst = (uint16_t)bits(w, 16, 7);
	i->src[0] = (uint16_t)bits(w, 0, 8);
	if (r->row->dst[0] ? !scalar_register(i->dst, gfx_width(r->row->dst[0])) : i->dst != 0)
		return false;
	if (!r->row->nsrc)
		return i->src[0] == 0;
	if (i->id == GFX_s_setpc_b64 || i->id == GFX_s_swappc_b64 || i->id == GFX_s_rfe_b64)
		return scalar_register(i->src[0], 2);
	if (i->id >= GFX_s_movrels_b32 && i->id <= GFX_s_movrels_b64)
		return scalar_register(i->src[0], gfx_width(r->row->src[0]));
	if (i->id == GFX_s_cbranch_join)
		return scalar_register(i->src[0], 1);
	return source(r, i->src[0], r->row->src[0], true);
}

static bool read_sopc(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;

	if (!find(r, GFX_SOPC, bits(w, 16, 7)))
		return false;
	i->src[0] = (uint16_t)bits(w, 0, 8);
	i->src[1] = (uint16_t)bits(w, 8, 8);
	if (!source(r, i->src[0], r->row->src[0], true))
		return false;
	if (r->row->src[1] == 'g') {
		i->imm = i->src[1];
		return i->imm < 16;
	}
	return source(r, i->src[1], r->row->src[1], true);
}

static bool read_sopp(struct reader *r)
{
	uint32_t w = r->w[0];

	if (!find(r, GFX_SOPP, bits(w, 16, 7)))
		return false;
	r->i->imm = (int16_t)bits(w, 0, 16);
	if (r->row->src[0] == 'm' && w & 0xfc80)
		return false;
	return r->row->nsrc || r->i->imm == 0;
}

static bool read_smem(struct reader *r)
{
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;
	const char *s;

	if (!find(r, GFX_SMEM, bits(w, 18, 8)) || !needs(r, 2))
		return false;
	w1 = r->w[1];
	i->dst = (uint16_t)bits(w, 6, 7);
	i->sbase = (uint8_t)(bits(w, 0, 6) << 1);
	i->glc = w >> 16 & 1;
	i->has_imm = w >> 17 & 1;
	i->has_soffset = w >> 14 & 1;
	i->imm = (int32_t)((w1 & 0x1fffff) << 11) >> 11;
	i->soffset = (uint8_t)(i->has_soffset ? bits(w1, 25, 7) : bits(w1, 0, 7));
	if (w & (1u << 13 | 1u << 15))
		return false;
	s = r->row->src;
	if (!r->row->nsrc && !r->row->dst[0])
		return (w & 0x3ffff) == 0 && w1 == 0;
	if (!r->row->nsrc) /* s_memtime */
		return scalar_register(i->dst, 2) && (w & 0x3e03f) == 0 && w1 == 0;
	if (i->has_imm ? i->has_soffset || w1 >> 21 : i->has_soffset || w1 >> 7)
		return false; /* one offset, and nothing beside it */
	if (!i->has_imm && !scalar_register(i->soffset, 1))
		return false;
	if (r->row->dst[0] == 'i' || (s[0] != 'o' && s[1] == 'o' && !r->row->dst[0]))
		return false; /* probes and discards: none executes them, none is read */
	if (r->row->dst[0] && !scalar_register(i->dst, gfx_width(r->row->dst[0])))
		return false;
	if (s[2] && !scalar_register(i->dst, gfx_width(s[0])))
		return false;
	return scalar_register(i->sbase, gfx_width(s[r->row->nsrc - 2]));
}

/* --- vector --- */

/* Whether the modifiers that are set have a meaning, or none that is seen (then i->odd). */
static bool modifiers(struct reader *r, const struct gfx_mods *m)
{
	struct gfx_insn *i = r->i;

	if (i->neg & ~(m->neg | m->ignored_neg) || i->abs & ~(m->abs | m->ignored_abs) ||
		i->opsel & ~(m->opsel | m->ignored_opsel) || i->sext & ~m->sext ||
		(i->clamp && !m->clamp && !m->ignored_clamp) ||
		(i->omod && !m->omod && !m->ignored_omod))
		return false;
	i->odd = i->neg & m->ignored_neg || i->abs & m->ignored_abs ||
		 i->opsel & m->ignored_opsel || (i->clamp && !m->clamp) || (i->omod && !m->omod);
	return true;
}

/* The registers that are written: by the letters of the row. */
static bool vector_dst(struct reader *r, unsigned code)
{
	char d = r->row->dst[0];

	r->i->dst = (uint16_t)code;
	if (!d)
		return code == 0;
	if (d == 's')
		return scalar_register(code, 1);
	if (d == 'c')
		return scalar_register(code, 2);
	return vector_register(r, code, gfx_width(d));
}

static bool read_sdwa(struct reader *r, unsigned src1)
{
	struct gfx_insn *i = r->i;
	uint32_t w;
	bool compare = r->row->enc == GFX_VOPC, one = r->row->enc == GFX_VOP1;

	if (!r->row->s.there || !needs(r, 2))
		return false;
	w = r->w[1];
	i->form = GFX_SDWA;
	i->src[0] = (uint16_t)(bits(w, 0, 8) + (w >> 23 & 1 ? 0 : GFX_VGPR));
	i->src[1] = (uint16_t)(src1 + (w >> 31 & 1 ? 0 : GFX_VGPR));
	i->sel[0] = (uint8_t)bits(w, 16, 3);
	i->sel[1] = (uint8_t)bits(w, 24, 3);
	i->sext = (uint8_t)((w >> 19 & 1) | (w >> 26 & 2));
	i->neg = (uint8_t)((w >> 20 & 1) | (w >> 27 & 2));
	i->abs = (uint8_t)((w >> 21 & 1) | (w >> 28 & 2));
	if (w >> 22 & 1 || w >> 30 & 1 || (one && w >> 24))
		return false;
	if (compare) {
		i->dst = (uint16_t)(w >> 15 & 1 ? bits(w, 8, 7) : GFX_VCC);
		if ((!(w >> 15 & 1) && bits(w, 8, 7)) || !scalar_register(i->dst, 2))
			return false;
	} else {
		i->dst_sel = (uint8_t)bits(w, 8, 3);
		i->dst_unused = (uint8_t)bits(w, 11, 2);
		i->clamp = w >> 13 & 1;
		i->omod = (uint8_t)bits(w, 14, 2);
	}
	if (i->dst_sel > 6 || i->dst_unused > 2 || i->sel[0] > 6 || i->sel[1] > 6)
		return false;
	if (i->src[0] == GFX_LITERAL || (!one && i->src[1] == GFX_LITERAL))
		return false;
	return modifiers(r, &r->row->s) && source(r, i->src[0], r->row->src[0], false) &&
	       (one || source(r, i->src[1], r->row->src[1], false));
}

static bool dpp_ctrl_known(const struct reader *r, unsigned c)
{
	if (c <= 0xff || c == 0x130 || c == 0x134 || c == 0x138 || c == 0x13c)
		return true;
	if (c >= 0x101 && c <= 0x12f)
		return c != 0x110 && c != 0x120;
	if (c >= 0x140 && c <= 0x143)
		return true;
	return r->target & GFX_FROM_90A && c >= 0x150 && c <= 0x15f;
}

static bool read_dpp(struct reader *r, unsigned src1)
{
	struct gfx_insn *i = r->i;
	bool one = r->row->enc == GFX_VOP1, wide;
	uint32_t w;

	if (!r->row->d.there || !needs(r, 2))
		return false;
	w = r->w[1];
	i->form = GFX_DPP;
	i->src[0] = (uint16_t)(bits(w, 0, 8) + GFX_VGPR);
	i->src[1] = (uint16_t)(src1 + GFX_VGPR);
	i->dpp_ctrl = (uint16_t)bits(w, 8, 9);
	i->bound_ctrl = w >> 19 & 1;
	i->neg = (uint8_t)((w >> 20 & 1) | (w >> 21 & 2));
	i->abs = (uint8_t)((w >> 21 & 1) | (w >> 22 & 2));
	i->bank_mask = (uint8_t)bits(w, 24, 4);
	i->row_mask = (uint8_t)bits(w, 28, 4);
	if (bits(w, 17, 2) || !dpp_ctrl_known(r, i->dpp_ctrl))
		return false;
	/* of 64 bits: gfx90a alone, and one lane of a row for all of it */
	wide = strchr("2V", r->row->src[0]) || r->row->dst[0] == '2';
	if (wide && (!(r->target & GFX_FROM_90A) || i->dpp_ctrl < 0x150))
		return false;
	return modifiers(r, &r->row->d) && source(r, i->src[0], r->row->src[0], false) &&
	       (one || source(r, i->src[1], r->row->src[1], false));
}

static bool read_vop2(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;
	unsigned src0 = bits(w, 0, 9), src1 = bits(w, 9, 8);

	if (!find(r, GFX_VOP2, bits(w, 25, 6)) || !vector_dst(r, bits(w, 17, 8)))
		return false;
	if (src0 == GFX_IN_SDWA)
		return read_sdwa(r, src1);
	if (src0 == GFX_IN_DPP)
		return read_dpp(r, src1);
	i->src[0] = (uint16_t)src0;
	i->src[1] = (uint16_t)(src1 + GFX_VGPR);
	if (strchr(r->row->src, 'L')) {
		if (src0 == GFX_LITERAL || !needs(r, 2))
			return false;
		i->literal = r->w[1];
	}
	return source(r, src0, r->row->src[0], true) &&
	       vector_register(r, src1, gfx_width(r->row->src[1] == 'L' ? '1' : r->row->src[1]));
}

static bool read_vop1(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;
	unsigned src0 = bits(w, 0, 9);

	if (!find(r, GFX_VOP1, bits(w, 9, 8)) || !vector_dst(r, bits(w, 17, 8)))
		return false;
	if (!r->row->nsrc)
		return src0 == 0;
	if (r->row->src[0] == 'A' || r->row->src[0] == 'v') { /* v_accvgpr_mov, v_swap */
		i->src[0] = (uint16_t)src0;
		return src0 >= GFX_VGPR;
	}
	if (src0 == GFX_IN_SDWA)
		return read_sdwa(r, 0);
	if (src0 == GFX_IN_DPP)
		return read_dpp(r, 0);
	i->src[0] = (uint16_t)src0;
	if (i->id == GFX_v_readfirstlane_b32 && src0 < GFX_VGPR)
		return false;
	return source(r, src0, r->row->src[0], true);
}

static bool read_vopc(struct reader *r)
{
	uint32_t w = r->w[0];
	struct gfx_insn *i = r->i;
	unsigned src0 = bits(w, 0, 9), src1 = bits(w, 9, 8);

	if (!find(r, GFX_VOPC, bits(w, 17, 8)))
		return false;
	if (src0 == GFX_IN_SDWA)
		return read_sdwa(r, src1);
	if (src0 == GFX_IN_DPP)
		return read_dpp(r, src1);
	i->dst = GFX_VCC;
	i->src[0] = (uint16_t)src0;
	i->src[1] = (uint16_t)(src1 + GFX_VGPR);
	return source(r, src0, r->row->src[0], true) &&
	       vector_register(r, src1, gfx_width(r->row->src[1]));
}

/* Which encoding's row a VOP3 opcode is, with the opcode there. */
static bool find_vop3(struct reader *r, unsigned op)
{
	if (op < 0x100	     ? find(r, GFX_VOPC, op)
		: op < 0x140 ? find(r, GFX_VOP2, op - 0x100)
		: op < 0x1c0 ? find(r, GFX_VOP1, op - 0x140)
			     : false) {
		r->i->form = GFX_LONG;
		return r->row->e.there;
	}
	return find(r, GFX_VOP3, op);
}

static bool read_vop3(struct reader *r)
{
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;
	unsigned n;

	if (!find_vop3(r, bits(w, 16, 10)) || !needs(r, 2))
		return false;
	w1 = r->w[1];
	if (!vector_dst(r, bits(w, 0, 8)))
		return false;
	if (r->row->dst[1] == 'c') {
		i->sdst = (uint8_t)bits(w, 8, 7);
		if (!scalar_register(i->sdst, 2))
			return false;
	} else {
		i->abs = (uint8_t)bits(w, 8, 3);
		i->opsel = (uint8_t)bits(w, 11, 4);
	}
	i->clamp = w >> 15 & 1;
	i->omod = (uint8_t)bits(w1, 27, 2);
	i->neg = (uint8_t)bits(w1, 29, 3);
	if (!modifiers(r, &r->row->e))
		return false;
	n = r->row->nsrc;
	for (unsigned k = 0; k < 3; k++) {
		unsigned code = bits(w1, 9 * k, 9);

		i->src[k] = (uint16_t)code;
		if (k >= n) {
			if (code)
				return false;
		} else if (r->row->src[k] == 'c') {
			if (!scalar_register(code, 2))
				return false;
		} else if (!source(r, code, r->row->src[k], false))
			return false;
	}
	return true;
}

static bool read_mfma(struct reader *r)
{
	uint32_t w = r->w[0], w1 = r->w[1];
	struct gfx_insn *i = r->i;

	i->cbsz = (uint8_t)bits(w, 8, 3);
	i->abid = (uint8_t)bits(w, 11, 4);
	i->acc = w >> 15 & 1;
	if (!(r->target & GFX_FROM_90A)) { /* always accumulation registers */
		if (i->acc)
			return false;
		i->acc = true;
	}
	i->acc_src = (uint8_t)bits(w1, 27, 2);
	i->blgp = (uint8_t)bits(w1, 29, 3);
	if (i->blgp && r->target == GFX_942 && strstr(r->row->name, "mfma_f64"))
		return false; /* signs of the sources there */
	for (unsigned k = 0; k < 3; k++) {
		char letter = r->row->src[k];

		i->src[k] = (uint16_t)bits(w1, 9 * k, 9);
		if (k < 2 && i->src[k] < GFX_VGPR)
			return false;
		if (i->src[k] >= GFX_VGPR) {
			if (!vector_register(r, i->src[k] - GFX_VGPR, gfx_width(letter)))
				return false;
		} else if (i->src[k] < GFX_CONST_0 || !source(r, i->src[k], '1', false))
			return false;
	}
	i->dst = (uint16_t)bits(w, 0, 8);
	return vector_register(r, i->dst, gfx_width(r->row->dst[1]));
}

static bool read_vop3p(struct reader *r)
{
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;

	if (!find(r, GFX_VOP3P, bits(w, 16, 7)) || !needs(r, 2))
		return false;
	w1 = r->w[1];
	if (r->row->dst[0] == 'a')
		return read_mfma(r);
	i->dst = (uint16_t)bits(w, 0, 8);
	if (r->row->dst[0] == 'A' || r->row->src[0] == 'A') { /* v_accvgpr_read, _write */
		i->src[0] = (uint16_t)bits(w1, 0, 9);
		/* newer assemblers set op_sel_hi, which means nothing here */
		if (bits(w, 8, 8) & 0xbf || (w1 & ~(3u << 27)) >> 9)
			return false;
		return r->row->src[0] == 'A' ? i->src[0] >= GFX_VGPR
					     : source(r, i->src[0], '1', false);
	}
	if (!vector_register(r, i->dst, gfx_width(r->row->dst[0])))
		return false;
	i->neg_hi = (uint8_t)bits(w, 8, 3);
	i->opsel = (uint8_t)bits(w, 11, 3);
	i->opsel_hi = (uint8_t)(bits(w1, 27, 2) | (w >> 12 & 4));
	i->clamp = w >> 15 & 1;
	i->neg = (uint8_t)bits(w1, 29, 3);
	if ((i->neg | i->neg_hi) & ~r->row->e.neg || i->opsel & ~r->row->e.opsel)
		return false;
	for (unsigned k = 0; k < 3; k++) {
		unsigned code = bits(w1, 9 * k, 9);

		i->src[k] = (uint16_t)code;
		if (k < r->row->nsrc ? !source(r, code, r->row->src[k], false) : code != 0)
			return false;
	}
	return true;
}

/* --- memory --- */

static bool read_ds(struct reader *r)
{
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;
	const char *s;
	bool a;

	if (!find(r, GFX_DS, bits(w, 17, 8)) || !needs(r, 2) || w >> 16 & 1)
		return false;
	w1 = r->w[1];
	i->acc = w >> 25 & 1;
	if (i->acc && !(r->target & GFX_FROM_90A))
		return false;
	i->imm = (int32_t)bits(w, 0, r->row->two_offsets ? 8 : 16);
	i->offset1 = (uint8_t)bits(w, 8, 8);
	i->addr = (uint8_t)bits(w1, 0, 8);
	i->data0 = (uint8_t)bits(w1, 8, 8);
	i->data1 = (uint8_t)bits(w1, 16, 8);
	i->dst = (uint16_t)bits(w1, 24, 8);
	s = r->row->src;
	a = s[0] == 'a';
	if (!a && i->addr)
		return false;
	s += a;
	if (s[0] ? !vector_register(r, i->data0, gfx_width(s[0])) : i->data0 != 0)
		return false;
	if (s[0] && s[1] ? !vector_register(r, i->data1, gfx_width(s[1])) : i->data1 != 0)
		return false;
	return r->row->dst[0] ? vector_register(r, i->dst, gfx_width(r->row->dst[0])) : i->dst == 0;
}

static bool read_flat(struct reader *r)
{
	static const enum gfx_enc encs[] = {GFX_FLAT, GFX_SCRATCH, GFX_GLOBAL};
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;
	unsigned seg = bits(w, 14, 2);
	bool atomic;

	if (seg > 2 || !find(r, encs[seg], bits(w, 18, 7)) || !needs(r, 2))
		return false;
	w1 = r->w[1];
	i->glc = w >> 16 & 1;
	i->slc = w >> 17 & 1;
	i->scc = w >> 25 & 1;
	i->lds = w >> 13 & 1;
	i->acc = w1 >> 23 & 1;
	if (seg == 1) { /* without FLAT_SCRATCH: both registers, or none; else one of them */
		i->no_vaddr = r->target == GFX_942 ? !i->lds : bits(w1, 16, 7) != 0x7f;
		i->lds = i->lds && r->target != GFX_942;
	}
	atomic = r->row->dst[0] && r->row->src[0];
	if (i->lds || ((i->scc || i->acc) && !(r->target & GFX_FROM_90A)))
		return false;
	if (atomic &&
		strstr(r->row->name, "_f")) /* of floats: without scc; gfx908's return nothing */
		if ((i->scc && r->target != GFX_942) ||
			(i->glc && r->target == GFX_908 && r->row->enc == GFX_GLOBAL))
			return false;
	i->addr = (uint8_t)bits(w1, 0, 8);
	i->data0 = (uint8_t)bits(w1, 8, 8);
	i->saddr = (uint8_t)bits(w1, 16, 7);
	i->dst = (uint16_t)bits(w1, 24, 8);
	if (seg == 0) {
		i->imm = (int32_t)bits(w, 0, 12);
		if (i->saddr || w >> 12 & 1)
			return false;
		i->saddr = 0x7f;
	} else {
		i->imm = (int32_t)(w << 19) >> 19;
		if (i->saddr != 0x7f && !scalar_register(i->saddr, seg == 1 ? 1 : 2))
			return false;
	}
	if (i->no_vaddr && i->addr && r->target == GFX_942)
		return false;
	if (!vector_register(r, i->addr, seg == 1 || i->saddr != 0x7f ? 1 : 2))
		return false;
	if (r->row->src[0] ? !vector_register(r, i->data0, gfx_width(r->row->src[0]))
			   : i->data0 != 0)
		return false;
	if (!r->row->dst[0] || r->row->dst[0] == '-' || (atomic && !i->glc))
		return i->dst == 0 && !(r->row->dst[0] == '-' && i->glc);
	return vector_register(r, i->dst, gfx_width(r->row->dst[0]));
}

static bool read_mubuf(struct reader *r)
{
	uint32_t w = r->w[0], w1;
	struct gfx_insn *i = r->i;
	char data;

	if (!find(r, GFX_MUBUF, bits(w, 18, 7)) || !needs(r, 2))
		return false;
	w1 = r->w[1];
	i->imm = (int32_t)bits(w, 0, 12);
	i->offen = w >> 12 & 1;
	i->idxen = w >> 13 & 1;
	i->glc = w >> 14 & 1;
	i->scc = w >> 15 & 1;
	i->lds = w >> 16 & 1;
	i->slc = w >> 17 & 1;
	i->addr = (uint8_t)bits(w1, 0, 8);
	i->data0 = (uint8_t)bits(w1, 8, 8);
	i->sbase = (uint8_t)(bits(w1, 16, 5) << 2);
	i->acc = w1 >> 23 & 1;
	i->soffset = (uint8_t)bits(w1, 24, 8);
	if (!r->row->dst[0] && !r->row->src[0]) /* the cache's */
		return (w & (i->id == GFX_buffer_wbl2 || i->id == GFX_buffer_inv ? 0x3ffff & ~0xc000
										 : 0x3ffff)) == 0 &&
		       w1 == 0;
	if (i->lds || w >> 25 & 1 || w1 >> 21 & 3)
		return false;
	if ((i->acc || i->scc) && !(r->target & GFX_FROM_90A))
		return false; /* tfe there */
	if (r->row->src[0] && r->row->dst[0] && strstr(r->row->name, "_f"))
		if ((i->scc && r->target != GFX_942) || (i->glc && r->target == GFX_908))
			return false;
	data = r->row->src[0] ? r->row->src[0] : r->row->dst[0];
	if (!vector_register(r, i->data0, gfx_width(data)) || !scalar_register(i->sbase, 4))
		return false;
	if (!vector_register(r, i->addr, i->offen && i->idxen ? 2 : 1))
		return false;
	if (!i->offen && !i->idxen && i->addr)
		return false;
	return i->soffset != GFX_LITERAL && source(r, i->soffset, '1', false);
}

/* --- all --- */

static bool read_one(struct reader *r)
{
	uint32_t w = r->w[0];

	if (w >> 31 == 0) {
		unsigned op = bits(w, 25, 6);

		return op == 63 ? read_vop1(r) : op == 62 ? read_vopc(r) : read_vop2(r);
	}
	if (w >> 30 == 2) {
		switch (w >> 23) {
		case 0x17d:
			return read_sop1(r);
		case 0x17e:
			return read_sopc(r);
		case 0x17f:
			return read_sopp(r);
		}
		return w >> 28 == 0xb ? read_sopk(r) : read_sop2(r);
	}
	switch (w >> 26) {
	case 0x30:
		return read_smem(r);
	case 0x34:
		return w >> 23 == 0x1a7 ? read_vop3p(r) : read_vop3(r);
	case 0x36:
		return read_ds(r);
	case 0x37:
		return read_flat(r);
	case 0x38:
		return read_mubuf(r);
	}
	return false;
}

bool gfx_decode(unsigned target, const uint32_t *words, size_t n, struct gfx_insn *i)
{
	struct reader r = {.target = target, .w = words, .n = n, .i = i};

	memset(i, 0, sizeof(*i));
	i->saddr = 0x7f;
	return n > 0 && needs(&r, 1) && read_one(&r);
}
