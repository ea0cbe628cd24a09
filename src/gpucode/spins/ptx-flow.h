/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel's instructions and where each goes on, from PTX text. Private to the drawer.
 */
#ifndef GPUCODE_PTX_FLOW_H
#define GPUCODE_PTX_FLOW_H

#include "gpucode/traits/ptx-names.h"
#include "gpucode/ptx-text.h"

#include <stdint.h>

#define FLOW_NONE UINT32_MAX
#define FLOW_ARGS 6u
#define FLOW_INSNS_MAX (1u << 20)

struct flow_insn {
	struct ptx_text op; /* with its modifiers */
	struct ptx_text arg[FLOW_ARGS];
	unsigned nargs;	       /* those beyond FLOW_ARGS are left out */
	uint32_t guard;	       /* a name; FLOW_NONE: it is always executed */
	bool negated;	       /* the guard */
	uint32_t next, target; /* instructions that may follow; FLOW_NONE: none */
	uint32_t file, line;
};

/* A register, a parameter, a label or a variable: PTX's names are of one kind here. */
struct flow_name {
	uint32_t param; /* number of the parameter; FLOW_NONE */
	uint32_t label; /* the instruction behind it; FLOW_NONE */
	bool twice;	/* label: there is another one of this name */
};

struct flow {
	const char *why; /* what makes it unusable; NULL: nothing */
	struct flow_insn *insn;
	size_t n, cap;
	struct ptx_names numbers;
	struct flow_name *name; /* by number */
	size_t nnames, names_cap;
};

/* Free with flow_free(), also when it is unusable. */
void flow_read(struct flow *ret, struct ptx_text text, const char *kernel);
void flow_free(struct flow *f);
/* The name's number; made if need be. */
uint32_t flow_name(struct flow *f, struct ptx_text text);
/* Whether it has been seen; *ret: its number. */
bool flow_find(const struct flow *f, struct ptx_text text, uint32_t *ret);
/* The next name, number or special register in an operand, and what is behind it in *at. Empty at
 * the end. */
struct ptx_text flow_word(struct ptx_text *at);

/* --- strongly connected components: ptx-parts.c --- */

struct flow_edge {
	uint32_t from, to;
};
/* part[i]: the number of the component of node i; cyclic[part]: it has a cycle. Both are to be
 * freed. */
struct flow_parts {
	uint32_t *part, n;
	bool *cyclic;
};
void flow_parts(struct flow_parts *ret, uint32_t nodes, const struct flow_edge *edge, size_t n);
void flow_parts_free(struct flow_parts *p);

#endif
