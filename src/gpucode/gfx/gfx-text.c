/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions as text, to the letter as LLVM 15 prints them.
 */
#include "gpucode/gfx-decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpucode/gfx/gfx-table.h"

struct text {
	char *buf;
	size_t size, n;
	unsigned target;
	const char *before; /* what the next operand is written after: " ", then ", " */
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->buf + t->n, t->size - t->n, format, ap);
	va_end(ap);
	if (n > 0)
		t->n = t->n + (size_t)n < t->size ? t->n + (size_t)n : t->size - 1;
}

static void next(struct text *t)
{
	put(t, "%s", t->before);
	t->before = ", ";
}

/* --- operands --- */

static void put_registers(struct text *t, const char *bank, unsigned first, unsigned n)
{
	if (n == 1)
		put(t, "%s%u", bank, first);
	else
		put(t, "%s[%u:%u]", bank, first, first + n - 1);
}

static void put_scalar(struct text *t, unsigned code, unsigned n)
{
	static const char *const pairs[] = {"flat_scratch", "xnack_mask", "vcc"};

	if (code < GFX_SGPRS)
		put_registers(t, "s", code, n);
	else if (code < GFX_TTMP)
		put(t, "%s%s", pairs[(code - GFX_SGPRS) / 2],
			n == 2	   ? ""
			: code & 1 ? "_hi"
				   : "_lo");
	else if (code < GFX_M0)
		put_registers(t, "ttmp", code - GFX_TTMP, n);
	else if (code == GFX_M0)
		put(t, "m0");
	else
		put(t, "exec%s", n == 2 ? "" : code & 1 ? "_hi" : "_lo");
}

static const char *const floats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

static void put_value16(struct text *t, uint16_t v, bool is_float)
{
	static const uint16_t bits[] = {
		0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400};

	if ((int16_t)v >= -16 && (int16_t)v <= 64) {
		put(t, "%d", (int16_t)v);
		return;
	}
	for (unsigned k = 0; is_float && k < 8; k++)
		if (v == bits[k]) {
			put(t, "%s", floats[k]);
			return;
		}
	if (is_float && v == 0x3118)
		put(t, "0.15915494");
	else
		put(t, "0x%x", v);
}

static void put_value32(struct text *t, uint32_t v)
{
	static const uint32_t bits[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
		0xc0000000, 0x40800000, 0xc0800000};

	if ((int32_t)v >= -16 && (int32_t)v <= 64) {
		put(t, "%d", (int32_t)v);
		return;
	}
	for (unsigned k = 0; k < 8; k++)
		if (v == bits[k]) {
			put(t, "%s", floats[k]);
			return;
		}
	if (v == 0x3e22f983)
		put(t, "0.15915494");
	else
		put(t, "0x%x", v);
}

static void put_literal(struct text *t, uint32_t v, char letter)
{
	if (letter == 'h' || letter == 'j')
		put_value16(t, (uint16_t)v,
			letter == 'h' && v <= 0xffff); /* LLVM compares all 32 bits */
	else if (gfx_width(letter) == 2)
		put(t, v <= 64 ? "%u" : "0x%x", v);
	else
		put_value32(t, v);
}

static void put_constant(struct text *t, unsigned code, char letter)
{
	static const char *const names[] = {
		"src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit"};
	static const uint16_t halves[] = {
		0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

	if (code <= 192)
		put(t, "%u", code - GFX_CONST_0);
	else if (code <= 208)
		put(t, "-%u", code - 192);
	else if (code >= GFX_SHARED_BASE && code <= GFX_PRIVATE_LIMIT)
		put(t, "%s", names[code - GFX_SHARED_BASE]);
	else if (code >= GFX_FLOATS && code <= 248 && letter == 'j')
		put(t, "0x%x", halves[code - GFX_FLOATS]);
	else if (code == 248)
		put(t, "%s", gfx_width(letter) == 2 ? "0.15915494309189532" : "0.15915494");
	else if (code >= GFX_FLOATS && code < 248)
		put(t, "%s", floats[code - GFX_FLOATS]);
	else
		put(t, "%s",
			code == GFX_VCCZ    ? "src_vccz"
			: code == GFX_EXECZ ? "src_execz"
					    : "src_scc");
}

static void put_source(struct text *t, const struct gfx_insn *i, unsigned code, char letter)
{
	unsigned n = gfx_width(letter);

	if (code >= GFX_VGPR)
		put_registers(t, letter == 'A' ? "a" : "v", code - GFX_VGPR, n);
	else if (code < GFX_CONST_0)
		put_scalar(t, code, n);
	else if (code == GFX_LITERAL)
		put_literal(t, i->literal, letter);
	else
		put_constant(t, code, letter);
}

/* With its modifiers: -|v1|, neg(1.0), sext(v1). */
static void put_modified(struct text *t, const struct gfx_insn *i, unsigned k, char letter)
{
	unsigned code = i->src[k];
	bool neg = i->neg >> k & 1, abs = i->abs >> k & 1, sext = i->sext >> k & 1;
	bool plain = code >= GFX_CONST_0 && code < GFX_VGPR && !abs &&
		     (code <= 208 || (code >= GFX_FLOATS && code <= 248));

	put(t, "%s%s%s", neg ? (plain ? "neg(" : "-") : "", abs ? "|" : "", sext ? "sext(" : "");
	put_source(t, i, code, letter);
	put(t, "%s%s%s", sext ? ")" : "", abs ? "|" : "", neg && plain ? ")" : "");
}

/* --- immediates --- */

static void put_waitcnt(struct text *t, const struct gfx_insn *i)
{
	unsigned w = (uint16_t)i->imm;
	unsigned vm = (w & 15) | (w >> 10 & 0x30), ex = w >> 4 & 7, lgkm = w >> 8 & 15;
	bool all = vm == 63 && ex == 7 && lgkm == 15;
	const char *space = "";

	if (vm != 63 || all) {
		put(t, "vmcnt(%u)", vm);
		space = " ";
	}
	if (ex != 7 || all) {
		put(t, "%sexpcnt(%u)", space, ex);
		space = " ";
	}
	if (lgkm != 15 || all)
		put(t, "%slgkmcnt(%u)", space, lgkm);
}

static void put_message(struct text *t, unsigned m)
{
	static const char *const names[16] = {[1] = "MSG_INTERRUPT",
		[2] = "MSG_GS",
		[3] = "MSG_GS_DONE",
		[4] = "MSG_SAVEWAVE",
		[5] = "MSG_STALL_WAVE_GEN",
		[6] = "MSG_HALT_WAVES",
		[7] = "MSG_ORDERED_PS_DONE",
		[8] = "MSG_EARLY_PRIM_DEALLOC",
		[9] = "MSG_GS_ALLOC_REQ",
		[10] = "MSG_GET_DOORBELL",
		[15] = "MSG_SYSMSG"};
	static const char *const gs[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
	static const char *const sys[] = {NULL, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
		"SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"};
	unsigned id = m & 15, op = m >> 4 & 7, stream = m >> 8 & 3;

	if (m >> 10 || (m >> 7 & 1 && id != 2 && id != 3)) {
		put(t, "%u", m);
	} else if (id == 2 || id == 3) {
		if (op > 3 || (id == 2 && op == 0) || (id == 3 && op == 0 && stream))
			put(t, "sendmsg(%u, %u, %u)", id, op, stream);
		else if (op == 0)
			put(t, "sendmsg(%s, %s)", names[id], gs[op]);
		else
			put(t, "sendmsg(%s, %s, %u)", names[id], gs[op], stream);
	} else if (id == 15 && !stream && op >= 1 && op <= 4) {
		put(t, "sendmsg(%s, %s)", names[id], sys[op]);
	} else if (names[id] && id != 15 && !op && !stream) {
		put(t, "sendmsg(%s)", names[id]);
	} else {
		put(t, "sendmsg(%u, %u, %u)", id, op, stream);
	}
}

static void put_hwreg(struct text *t, unsigned v)
{
	static const char *const names[] = {[1] = "HW_REG_MODE",
		[2] = "HW_REG_STATUS",
		[3] = "HW_REG_TRAPSTS",
		[4] = "HW_REG_HW_ID",
		[5] = "HW_REG_GPR_ALLOC",
		[6] = "HW_REG_LDS_ALLOC",
		[7] = "HW_REG_IB_STS",
		[15] = "HW_REG_SH_MEM_BASES",
		[16] = "HW_REG_TBA_LO",
		[17] = "HW_REG_TBA_HI",
		[18] = "HW_REG_TMA_LO",
		[19] = "HW_REG_TMA_HI"};
	static const char *const of_942[] = {"HW_REG_XCC_ID", "HW_REG_SQ_PERF_SNAPSHOT_DATA",
		"HW_REG_SQ_PERF_SNAPSHOT_DATA1", "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
		"HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
	unsigned id = v & 63, offset = v >> 6 & 31, width = (v >> 11 & 31) + 1;

	put(t, "hwreg(");
	if (id < sizeof(names) / sizeof(names[0]) && names[id])
		put(t, "%s", names[id]);
	else if (t->target == GFX_942 && id >= 20 && id <= 24)
		put(t, "%s", of_942[id - 20]);
	else
		put(t, "%u", id);
	if (offset || width != 32)
		put(t, ", %u, %u", offset, width);
	put(t, ")");
}

static void put_gpr_idx(struct text *t, unsigned v)
{
	static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
	const char *comma = "";

	if (v > 15) {
		put(t, "0x%x", v);
		return;
	}
	put(t, "gpr_idx(");
	for (unsigned k = 0; k < 4; k++)
		if (v >> k & 1) {
			put(t, "%s%s", comma, names[k]);
			comma = ",";
		}
	put(t, ")");
}

static void put_swizzle(struct text *t, unsigned v)
{
	unsigned and = v & 31, or = v >> 5 & 31, xor = v >> 10 & 31, group = 32 - and;

	if (v >> 15 && !(v & 0x7f00)) {
		put(t, "swizzle(QUAD_PERM,%u,%u,%u,%u)", v & 3, v >> 2 & 3, v >> 4 & 3, v >> 6 & 3);
	} else if (v >> 15) {
		put(t, "%u", v);
	} else if (and == 31 && ! or &&xor&&!(xor&(xor-1))) {
		put(t, "swizzle(SWAP,%u)", xor);
	} else if (and == 31 && ! or &&xor&&!(xor&(xor+1))) {
		put(t, "swizzle(REVERSE,%u)", xor+1);
	} else if (group > 1 && !(group & (group - 1)) && or < group && !xor) {
		put(t, "swizzle(BROADCAST,%u,%u)", group, or);
	} else {
		unsigned zero = or ^xor, one = (and | or) ^ xor;

		put(t, "swizzle(BITMASK_PERM,\"");
		for (int k = 4; k >= 0; k--)
			put(t, "%c", "0pi1"[(zero >> k & 1) * 2 + (one >> k & 1)]);
		put(t, "\")");
	}
}

/* --- encodings --- */

static void text_sop(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	if (row->dst[0]) {
		next(t);
		put_scalar(t, i->dst, gfx_width(row->dst[0]));
	}
	for (unsigned k = 0; k < row->nsrc; k++) {
		next(t);
		if (row->src[k] == 'g')
			put_gpr_idx(t, (unsigned)i->imm);
		else
			put_source(t, i, i->src[k], row->src[k]);
	}
}

static void text_sopk(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	uint16_t imm = (uint16_t)i->imm;

	next(t);
	if (row->dst[0] == 'r')
		put_hwreg(t, imm);
	else
		put_scalar(t, i->dst, row->dst[0] == '2' ? 2 : 1);
	next(t);
	switch (row->src[row->nsrc - 1]) {
	case 'L':
		put_value32(t, i->literal);
		break;
	case 'r':
		put_hwreg(t, imm);
		break;
	case '1':
		put_scalar(t, i->dst, 1);
		break;
	case 'b':
		put(t, "%u", imm);
		break;
	default:
		put(t, "%s%x", "0x", imm);
	}
}

static void text_sopp(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	uint16_t imm = (uint16_t)i->imm;

	if (i->id == GFX_s_endpgm && !imm)
		return;
	if (!row->nsrc)
		return;
	next(t);
	switch (row->src[0]) {
	case 'w':
		put_waitcnt(t, i);
		break;
	case 'm':
		put_message(t, imm);
		break;
	case 'G':
		put_gpr_idx(t, imm);
		break;
	case 'b':
		put(t, "%u", imm);
		break;
	default:
		put(t, imm > 64 && i->id != GFX_s_endpgm ? "0x%x" : "%u", imm);
	}
}

static void text_smem(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	const char *s = row->src;

	if (row->dst[0] || s[2]) {
		next(t);
		put_scalar(t, i->dst, gfx_width(s[2] ? s[0] : row->dst[0]));
	}
	if (!row->nsrc)
		return;
	next(t);
	put_scalar(t, i->sbase, gfx_width(s[row->nsrc - 2]));
	next(t);
	if (!i->has_imm)
		put_scalar(t, i->soffset, 1);
	else if (i->imm < 0)
		put(t, "-0x%x", (unsigned)-i->imm);
	else
		put(t, "0x%x", (unsigned)i->imm);
	if (i->glc)
		put(t, " glc");
}

static void put_clamp_omod(struct text *t, const struct gfx_insn *i, const struct gfx_mods *m)
{
	static const char *const omods[] = {"", " mul:2", " mul:4", " div:2"};

	if (i->clamp && m->clamp)
		put(t, " clamp");
	if (m->omod)
		put(t, "%s", omods[i->omod]);
}

static void put_sdwa(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	static const char *const sels[] = {
		"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
	static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

	if (row->enc != GFX_VOPC)
		put(t, " dst_sel:%s dst_unused:%s", sels[i->dst_sel], unused[i->dst_unused]);
	put(t, " src0_sel:%s", sels[i->sel[0]]);
	if (row->enc != GFX_VOP1)
		put(t, " src1_sel:%s", sels[i->sel[1]]);
}

static void put_dpp(struct text *t, const struct gfx_insn *i)
{
	unsigned c = i->dpp_ctrl;

	if (c <= 0xff)
		put(t, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6);
	else if (c < 0x130)
		put(t, " %s:%u", c < 0x110 ? "row_shl" : c < 0x120 ? "row_shr" : "row_ror", c & 15);
	else if (c < 0x140)
		put(t, " wave_%s:1",
			c == 0x130   ? "shl"
			: c == 0x134 ? "rol"
			: c == 0x138 ? "shr"
				     : "ror");
	else if (c < 0x142)
		put(t, " row_%smirror", c == 0x140 ? "" : "half_");
	else if (c < 0x144)
		put(t, " row_bcast:%u", c == 0x142 ? 15 : 31);
	else
		put(t, " row_newbcast:%u", c & 15);
	put(t, " row_mask:0x%x bank_mask:0x%x", i->row_mask, i->bank_mask);
	if (i->bound_ctrl)
		put(t, " bound_ctrl:1");
}

static void put_bits(struct text *t, const char *name, unsigned v, unsigned n)
{
	put(t, " %s:[", name);
	for (unsigned k = 0; k < n; k++)
		put(t, "%s%u", k ? "," : "", v >> k & 1);
	put(t, "]");
}

static void put_dst(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	if (row->dst[0]) {
		next(t);
		if (row->dst[0] == 's' || row->dst[0] == 'c')
			put_scalar(t, i->dst, row->dst[0] == 'c' ? 2 : 1);
		else
			put_registers(
				t, row->dst[0] == 'A' ? "a" : "v", i->dst, gfx_width(row->dst[0]));
	}
	if (row->dst[1] == 'c') {
		next(t);
		put_scalar(t, i->form == GFX_LONG || row->enc == GFX_VOP3 ? i->sdst : GFX_VCC, 2);
	}
}

static void put_sources(
	struct text *t, const struct gfx_row *row, const struct gfx_insn *i, bool full)
{
	unsigned n = 0;

	for (unsigned k = 0; k < row->nsrc; k++) {
		next(t);
		if (row->src[k] == 'L') {
			put(t, "0x%x", i->literal);
			continue;
		}
		if (row->src[k] == 'c')
			put_scalar(t, full ? i->src[n] : GFX_VCC, 2);
		else
			put_modified(t, i, n, row->src[k]);
		n++;
	}
}

static void text_vop(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	static const char *const suffix[] = {"_e32", "_e64", "_sdwa", "_dpp"};
	const struct gfx_mods *m = i->form == GFX_SDWA	? &row->s
				   : i->form == GFX_DPP ? &row->d
							: &row->e;
	bool full = i->form == GFX_LONG || row->enc == GFX_VOP3;
	struct gfx_insn shown = *i;

	if (row->enc != GFX_VOP3 && row->nsrc &&
		(row->e.there || row->s.there || row->d.there || i->id == GFX_v_pk_fmac_f16))
		put(t, "%s", suffix[i->form]);
	put_dst(t, row, i);
	shown.neg &= m->neg;
	shown.abs &= m->abs;
	put_sources(t, row, &shown, full);
	if (full && i->opsel & m->opsel)
		put_bits(t, "op_sel",
			(i->opsel & ((1u << row->nsrc) - 1)) | (i->opsel >> 3 & 1u) << row->nsrc,
			row->nsrc + 1u);
	if (m->there)
		put_clamp_omod(t, i, m);
	if (i->form == GFX_SDWA)
		put_sdwa(t, row, i);
	if (i->form == GFX_DPP)
		put_dpp(t, i);
}

static void text_mfma(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	next(t);
	put_registers(t, i->acc ? "a" : "v", i->dst, gfx_width(row->dst[1]));
	for (unsigned k = 0; k < 3; k++) {
		bool acc = k < 2 ? i->acc_src >> k & 1 : i->acc;

		next(t);
		if (i->src[k] >= GFX_VGPR)
			put_registers(
				t, acc ? "a" : "v", i->src[k] - GFX_VGPR, gfx_width(row->src[k]));
		else
			put_constant(t, i->src[k], strstr(row->name, "mfma_f64") ? '2' : '1');
	}
	if (i->cbsz)
		put(t, " cbsz:%u", i->cbsz);
	if (i->abid)
		put(t, " abid:%u", i->abid);
	if (i->blgp)
		put(t, " blgp:%u", i->blgp);
}

static void text_vop3p(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	struct gfx_insn shown = *i;
	unsigned n = row->nsrc, all = (1u << n) - 1;
	bool mix = strstr(row->name, "_mix") != NULL;

	if (row->dst[0] == 'a') {
		text_mfma(t, row, i);
		return;
	}
	shown.neg = mix ? i->neg : 0;
	shown.abs = mix ? i->neg_hi : 0;
	put_dst(t, row, i);
	put_sources(t, row, &shown, true);
	if (row->dst[0] == 'A' || row->src[0] == 'A')
		return;
	if (i->opsel & all)
		put_bits(t, "op_sel", i->opsel, n);
	if (mix ? i->opsel_hi & all : (i->opsel_hi & all) != all)
		put_bits(t, "op_sel_hi", i->opsel_hi, n);
	if (!mix && i->neg & all)
		put_bits(t, "neg_lo", i->neg, n);
	if (!mix && i->neg_hi & all)
		put_bits(t, "neg_hi", i->neg_hi, n);
	if (i->clamp)
		put(t, " clamp");
}

static void put_data(struct text *t, const struct gfx_insn *i, unsigned reg, char letter)
{
	next(t);
	put_registers(t, i->acc ? "a" : "v", reg, gfx_width(letter));
}

static void text_ds(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	const char *s = row->src;

	if (row->dst[0])
		put_data(t, i, i->dst, row->dst[0]);
	if (s[0] == 'a') {
		next(t);
		put(t, "v%u", i->addr);
		s++;
	}
	if (s[0])
		put_data(t, i, i->data0, s[0]);
	if (s[0] && s[1])
		put_data(t, i, i->data1, s[1]);
	if (row->two_offsets) {
		if (i->imm)
			put(t, " offset0:%d", i->imm);
		if (i->offset1)
			put(t, " offset1:%u", i->offset1);
	} else if (i->imm) {
		put(t, " offset:");
		if (row->swizzle)
			put_swizzle(t, (unsigned)i->imm);
		else
			put(t, "%d", i->imm);
	}
}

static void put_cache(struct text *t, const struct gfx_insn *i)
{
	if (t->target == GFX_942) {
		put(t, "%s%s%s", i->glc ? " sc0" : "", i->slc ? " nt" : "", i->scc ? " sc1" : "");
		return;
	}
	put(t, "%s%s%s", i->glc ? " glc" : "", i->slc ? " slc" : "", i->scc ? " scc" : "");
}

static void text_flat(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	bool wide = row->enc == GFX_FLAT || (row->enc == GFX_GLOBAL && i->saddr == 0x7f);

	if (row->dst[0] && row->dst[0] != '-' && (!row->src[0] || i->glc))
		put_data(t, i, i->dst, row->dst[0]);
	next(t);
	if (i->no_vaddr)
		put(t, "off");
	else
		put_registers(t, "v", i->addr, wide ? 2 : 1);
	if (row->src[0])
		put_data(t, i, i->data0, row->src[0]);
	if (row->enc != GFX_FLAT) {
		next(t);
		if (i->saddr == 0x7f)
			put(t, "off");
		else
			put_scalar(t, i->saddr, row->enc == GFX_SCRATCH ? 1 : 2);
	}
	if (i->imm)
		put(t, " offset:%d", i->imm);
	put_cache(t, i);
}

static void text_mubuf(struct text *t, const struct gfx_row *row, const struct gfx_insn *i)
{
	char data = row->src[0] ? row->src[0] : row->dst[0];

	if (!data) {
		if (t->target == GFX_942)
			put_cache(t, i);
		return;
	}
	put_data(t, i, i->data0, data);
	next(t);
	if (i->offen || i->idxen)
		put_registers(t, "v", i->addr, i->offen && i->idxen ? 2 : 1);
	else
		put(t, "off");
	next(t);
	put_scalar(t, i->sbase, 4);
	next(t);
	put_source(t, i, i->soffset, '1');
	put(t, "%s%s", i->idxen ? " idxen" : "", i->offen ? " offen" : "");
	if (i->imm)
		put(t, " offset:%d", i->imm);
	put_cache(t, i);
}

void gfx_text(unsigned target, const struct gfx_insn *i, char *buf, size_t size)
{
	const struct gfx_row *row = gfx_row((enum gfx_id)i->id);
	struct text t = {.buf = buf, .size = size, .target = target, .before = " "};

	put(&t, "%s", row->name);
	switch (row->enc) {
	case GFX_SOP2:
	case GFX_SOP1:
	case GFX_SOPC:
		text_sop(&t, row, i);
		break;
	case GFX_SOPK:
		text_sopk(&t, row, i);
		break;
	case GFX_SOPP:
		text_sopp(&t, row, i);
		break;
	case GFX_SMEM:
		text_smem(&t, row, i);
		break;
	case GFX_VOP3P:
		text_vop3p(&t, row, i);
		break;
	case GFX_DS:
		text_ds(&t, row, i);
		break;
	case GFX_FLAT:
	case GFX_SCRATCH:
	case GFX_GLOBAL:
		text_flat(&t, row, i);
		break;
	case GFX_MUBUF:
		text_mubuf(&t, row, i);
		break;
	default:
		text_vop(&t, row, i);
	}
}
