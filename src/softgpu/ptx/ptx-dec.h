/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parser, which knows names and scopes, and the decoder, which knows instructions, share.
 */
#ifndef SOFTGPU_PTX_DEC_H
#define SOFTGPU_PTX_DEC_H

#include "softgpu/ptx/ptx-int.h"
#include "softgpu/ptx/ptx-lex.h"

enum ptx_sym_kind { SY_REG, SY_RANGE, SY_VAR, SY_LABEL, SY_FUNC, SY_PROTO };

struct ptx_sym {
	struct ptx_sym *next;  /* in its hash bucket */
	struct ptx_sym *older; /* declared before it, for leaving a scope */
	const char *name;
	uint32_t len, hash;
	uint32_t depth; /* scope */
	enum ptx_sym_kind kind;
	uint8_t type;	/* SY_REG, SY_RANGE */
	uint32_t count; /* SY_RANGE */
	int32_t *off;	/* registers: NO_REG until used */
	uint32_t pc;	/* SY_LABEL */
	struct ptx_variable *var;
	struct ptx_function *fn;
	struct ptx_proto *proto;
	struct ptx_table *table; /* a label of .branchtargets */
};

struct ptx_fix {       /* a branch target not resolved yet */
	uint32_t insn; /* or UINT32_MAX: *slot */
	uint32_t *slot;
	const char *name;
	uint32_t len, depth, line;
};

enum ptx_opnd_kind {
	O_REG,
	O_INT,
	O_F32,
	O_F64,
	O_SREG,
	O_VAR,
	O_FUNC,
	O_MEM,
	O_VEC,
	O_SINK,
	O_NAME,
	O_LIST
};
struct ptx_opnd {
	enum ptx_opnd_kind kind;
	bool not ; /* !p */
	bool minus;
	uint8_t type; /* of the register */
	int32_t off;  /* O_REG */
	uint64_t value;
	int64_t disp; /* O_MEM, O_VAR */
	bool at;      /* O_MEM: [texture, coordinates], which are elem */
	struct ptx_sym *sym;
	const char *name;
	uint32_t len;
	uint8_t sreg;
	uint8_t base;	 /* O_MEM: kind of its base; O_INT when there is only a number */
	bool pair;	 /* followed by |q, the next operand */
	const char *sel; /* what follows a register and a dot: video instructions' */
	uint32_t nsel;
	unsigned nelem;
	struct ptx_opnd *elem; /* O_VEC, O_LIST, coordinates */
};

/* The modifiers between a texture instruction's opcode and its types (ptx-tex.c). */
struct ptx_tex_form {
	uint8_t geom, level, bound, component, query, op;
};

#define PTX_MAX_OPNDS 12
struct ptx_parse {
	struct ptx_lex lx;
	struct ptx_module *m;
	struct ptx_function *fn; /* whose body this is, or NULL */
	struct ptx_sym *bucket[4096], *newest;
	uint32_t depth;
	struct ptx_fix *fixes;
	unsigned nfixes, capfixes;
	int32_t pred_next, pred_end; /* predicates are packed */
	struct ptx_opnd elems[256];  /* of the current instruction */
	unsigned nelems;
	struct header *header;	 /* ptx-function.c's */
	const char *names[1024]; /* of instructions, so that equal ones share their text */
	jmp_buf fail;
	char *log;
	size_t log_size;
};

/* The instruction being decoded. */
struct ptx_dec {
	struct ptx_parse *p;
	struct ptx_insn *i;
	const struct ptx_row *row;
	ptx_mods mods;
	uint8_t types[4];
	unsigned ntypes;
	struct ptx_opnd *ops;
	unsigned nops;
	bool is_tex; /* tex, tld4, txq, suld, sust, sured, suq */
	struct ptx_tex_form tex;
};

/* Ends the load with "line N: ..." in the log. */
void ptx_fail(struct ptx_parse *p, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void ptx_next(struct ptx_parse *p);
bool ptx_punct(const struct ptx_parse *p, char c);
bool ptx_accept(struct ptx_parse *p, char c);
void ptx_expect(struct ptx_parse *p, char c);
struct ptx_sym *ptx_lookup(struct ptx_parse *p, const char *s, size_t n);
/* Frame offset of a register by name; false when there is no such register. */
bool ptx_reg(struct ptx_parse *p, const char *s, size_t n, int32_t *off, uint8_t *type);
int32_t ptx_const_slot(
	struct ptx_parse *p, unsigned width, uint64_t value, enum ptx_reloc reloc, void *sym);
int32_t ptx_special_slot(struct ptx_parse *p, unsigned sreg, unsigned width, uint64_t add);
/* Room for a 32-bit register without a name. */
int32_t ptx_hidden_reg(struct ptx_parse *p);
struct ptx_insn *ptx_emit(struct ptx_parse *p);
void ptx_fix(struct ptx_parse *p, uint32_t insn, uint32_t *slot, const char *name, size_t len,
	unsigned line);

/* Reads one operand (ptx-operand.c); depth: of the lists around it. */
struct ptx_opnd ptx_operand(struct ptx_parse *p, unsigned depth);
/* A number or register as a source of this type, a register of at least or exactly so many bits:
 * the operand's place, or why not. */
const char *ptx_match_source(
	struct ptx_dec *d, const struct ptx_opnd *o, unsigned type, int32_t *ret);
const char *ptx_match_reg(const struct ptx_opnd *o, unsigned bits, bool loose, int32_t *ret);
/* Texture instructions: whether s is one's opcode; one suffix; one operand (letters u U t h). */
bool ptx_tex_opcode(const char *s, size_t n);
bool ptx_tex_suffix(struct ptx_dec *d, const struct ptx_token *t);
const char *ptx_tex_match(struct ptx_dec *d, const struct ptx_opnd *o, char letter, int32_t *ret);
/* Fills d->i from d->ops by d->row's pattern; why it cannot, or NULL. */
const char *ptx_match(struct ptx_dec *d);
/* Takes what a video instruction's operand says besides its register (ptx-video.c); why it cannot,
 * or NULL. */
const char *ptx_video_operand(struct ptx_dec *d, const struct ptx_opnd *o);
/* One instruction, the current token being its guard or opcode, to after its semicolon. */
void ptx_decode(struct ptx_parse *p);

#endif
