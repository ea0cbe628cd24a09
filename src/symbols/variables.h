/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints variables of a host function by its DWARF: where one lives (dwarf-value.c), how its bytes
 * read (dwarf-print.c), and all of a frame (variables.c). Registers and memory come from the
 * caller, so a stopped process and a core file would serve alike.
 */
#ifndef SYMBOLS_VARIABLES_H
#define SYMBOLS_VARIABLES_H

#include "base/buf.h"
#include "base/err.h"
#include "symbols/symbols.h"

enum { FRAME_REGISTERS = 17 }; /* DWARF numbers 0-15 of the x86-64 psABI, 16 the return address */

/* A frame's registers as they were when its function made its call. */
struct frame_registers {
	uint64_t cfa; /* canonical frame address; 0: not known (outermost) */
	uint64_t regs[FRAME_REGISTERS];
	uint32_t valid; /* a bit for each register */
};

/* What a location may refer to. */
struct dwarf_context {
	/* Reads n bytes of the program's memory at addr, all of them or none. */
	struct err *(*read)(void *arg, uint64_t addr, void *dst, size_t n);
	void *arg;
	const struct frame_registers *frame;
	Dwarf_Addr pc;	     /* in the DWARF's terms, for location lists */
	uint64_t load_bias;  /* address in the program = DWARF address + this */
	Dwarf_Die *function; /* whose frame base counts */
};

enum dwarf_place_kind {
	PLACE_NONE,    /* optimised out here */
	PLACE_MEMORY,  /* addr */
	PLACE_VALUE,   /* value: in a register or computed */
	PLACE_UNKNOWN, /* a form that we do not evaluate; why */
};
struct dwarf_place {
	enum dwarf_place_kind kind;
	uint64_t addr, value;
	const char *why;
};
/* Where var (a variable or parameter) is at ctx->pc. */
struct dwarf_place dwarf_locate(const struct dwarf_context *ctx, Dwarf_Die *var);

/* Appends the value of a type at a place. Memory is read in small, bounded pieces. */
void dwarf_print(const struct dwarf_context *ctx, struct buf *out, Dwarf_Die *type,
	const struct dwarf_place *place);

/*
 * Appends "name = value" lines: the variables and arguments of the function that is `depth` inlined
 * calls out from the innermost one of sc. Sets ctx->function.
 */
void variables_print(
	struct dwarf_context *ctx, const struct symbols_scope *sc, unsigned depth, struct buf *out);

#endif
