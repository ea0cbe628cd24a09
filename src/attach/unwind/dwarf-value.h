/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: where a variable lives (dwarf-value.c) and how its bytes read (dwarf-print.c).
 */
#ifndef ATTACH_DWARF_VALUE_H
#define ATTACH_DWARF_VALUE_H

#include "attach/unwind/frames.h"

/* What a location may refer to. */
struct dwarf_context {
	struct inferior *inf;
	const struct raw_frame *frame;
	Dwarf_Addr pc;	     /* in the DWARF's terms, for location lists */
	uint64_t load_bias;  /* address in the inferior = DWARF address + this */
	Dwarf_Die *function; /* whose frame base counts */
};

enum dwarf_place_kind {
	PLACE_NONE,	/* optimised out here */
	PLACE_MEMORY,	/* addr */
	PLACE_VALUE,	/* value: in a register or computed */
	PLACE_UNKNOWN,	/* a form that we do not evaluate; why */
};
struct dwarf_place {
	enum dwarf_place_kind kind;
	uint64_t addr, value;
	const char *why;
};
/* Where var (a variable or parameter) is at ctx->pc. */
struct dwarf_place dwarf_locate(const struct dwarf_context *ctx, Dwarf_Die *var);

/* Appends the value of a type at a place. Memory of the inferior is read in small, bounded pieces. */
void dwarf_print(const struct dwarf_context *ctx, struct buf *out, Dwarf_Die *type, const struct dwarf_place *place);

#endif
