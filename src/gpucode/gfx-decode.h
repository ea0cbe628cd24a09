/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine code of GFX9, read: words to struct gfx_insn by the table gfx9-insns.def, and struct
 * gfx_insn to the text that LLVM's disassembler prints for the same words. A word that is not in
 * the table for the target, or has a bit set that the row has no meaning for, is unknown: it is
 * never read as something else. Pure: no memory but what is passed.
 */
#ifndef GPUCODE_GFX_DECODE_H
#define GPUCODE_GFX_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gfx_enc {
	GFX_SOP2,
	GFX_SOPK,
	GFX_SOP1,
	GFX_SOPC,
	GFX_SOPP,
	GFX_SMEM,
	GFX_VOP2,
	GFX_VOP1,
	GFX_VOPC,
	GFX_VOP3,
	GFX_VOP3P,
	GFX_DS,
	GFX_FLAT,
	GFX_SCRATCH,
	GFX_GLOBAL,
	GFX_MUBUF,
	GFX_ENC_N
};

/* Targets, as bits; the table's column is a set of them. */
enum gfx_target {
	GFX_900 = 1,
	GFX_906 = 2,
	GFX_908 = 4,
	GFX_90A = 8,
	GFX_942 = 16,
	GFX_FROM_90A = GFX_90A | GFX_942
};
/* The bit for a gfx number (0x90a); 0: not a target of the table. */
unsigned gfx_target(uint32_t gfx);

#define GFX(enc, op, name, targets, operands, forms) GFX_##name,
#define GFX_ALSO(enc, op, name, targets, operands, forms) GFX_##name##_also,
enum gfx_id {
#include "gpucode/gfx/gfx9-insns.def"
	GFX_ID_N
};
#undef GFX
#undef GFX_ALSO

/* Modifiers of one form, as masks over the sources. */
struct gfx_mods {
	bool there;
	uint8_t neg, abs, sext, opsel;
	bool clamp, omod;
	uint8_t ignored_neg, ignored_abs, ignored_opsel;
	bool ignored_clamp, ignored_omod;
};

#define GFX_SOURCES 4
/* A row of the table, its texts taken apart. */
struct gfx_row {
	const char *name;
	uint8_t enc;
	uint16_t op;
	uint8_t targets;
	char dst[3];		   /* letters of what is written, in the order of the text */
	char src[GFX_SOURCES + 1]; /* of what is read */
	uint8_t nsrc;
	struct gfx_mods e, s, d;
	bool two_offsets, swizzle;
};
const struct gfx_row *gfx_row(enum gfx_id id);

enum gfx_form {
	GFX_SHORT, /* the encoding's own: 32 bits and perhaps a literal; or the only one */
	GFX_LONG,  /* VOP1, VOP2 and VOPC in 64 bits */
	GFX_SDWA,
	GFX_DPP
};

/* Numbers of operands, as all encodings have them. */
enum {
	GFX_SGPRS = 102,
	GFX_FLAT_SCRATCH = 102,
	GFX_XNACK_MASK = 104,
	GFX_VCC = 106,
	GFX_TTMP = 108,
	GFX_M0 = 124,
	GFX_EXEC = 126,
	GFX_CONST_0 = 128, /* to 192: 0 to 64; to 208: -1 to -16 */
	GFX_SHARED_BASE = 235,
	GFX_SHARED_LIMIT,
	GFX_PRIVATE_BASE,
	GFX_PRIVATE_LIMIT,
	GFX_FLOATS = 240, /* 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi) */
	GFX_IN_SDWA = 249,
	GFX_IN_DPP = 250,
	GFX_VCCZ = 251,
	GFX_EXECZ = 252,
	GFX_SCC = 253,
	GFX_LDS_DIRECT = 254,
	GFX_LITERAL = 255,
	GFX_VGPR = 256
};

struct gfx_insn {
	uint16_t id; /* enum gfx_id */
	uint8_t form;
	uint8_t size; /* bytes */
	uint16_t dst; /* VGPR, or number of a scalar operand */
	uint8_t sdst; /* the mask that VOP3 writes beside it */
	uint16_t src[3];
	uint32_t literal;
	int32_t imm; /* simm16, offset of a memory instruction; DS with two: the first */
	uint8_t offset1;
	uint8_t neg, abs, sext, opsel, opsel_hi, neg_hi; /* VOP3P: neg is of the low halves */
	uint8_t omod;
	bool clamp;
	bool odd; /* has bits set that LLVM ignores: text, but not executed */
	/* SDWA: BYTE_0..3, WORD_0, WORD_1, DWORD are 0 to 6 */
	uint8_t dst_sel, dst_unused, sel[2];
	/* DPP */
	uint16_t dpp_ctrl;
	uint8_t row_mask, bank_mask;
	bool bound_ctrl;
	/* memory */
	bool glc, slc, scc, lds, offen, idxen, has_imm, has_soffset; /* gfx942: sc0, nt, sc1 */
	bool no_vaddr;	 /* SCRATCH: its address has no vector register */
	bool acc;	 /* data in accumulation registers; MFMA: src2 and dst */
	uint8_t acc_src; /* MFMA: sources 0 and 1 in accumulation registers, as a mask */
	uint8_t addr, data0, data1, saddr, sbase, soffset; /* saddr: 0x7f is "off" */
	uint8_t cbsz, abid, blgp;
};

/* Reads one instruction of at most n words. False: unknown for this target (enum gfx_target), or
 * it needs more words than there are. */
bool gfx_decode(unsigned target, const uint32_t *words, size_t n, struct gfx_insn *i);

/* The instruction as text, as `llvm-objdump -d` prints it but for the tab; for branches without a
 * known place the number of words. buf always ends in 0. */
void gfx_text(unsigned target, const struct gfx_insn *i, char *buf, size_t size);

/* Registers of 32 bits that an operand letter means; 0 for immediates. */
static inline unsigned gfx_width(char letter)
{
	switch (letter) {
	case '1':
	case 'h':
	case 'j':
	case 's':
	case 'v':
	case 'q':
	case 'A':
		return 1;
	case '2':
	case 'V':
	case 'c':
		return 2;
	case '3':
		return 3;
	case '4':
		return 4;
	case '8':
		return 8;
	case 'g':
		return 16;
	case 'w':
		return 32;
	}
	return 0;
}

#endif
