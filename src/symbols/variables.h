/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's own names for expressions, by its DWARF: variables of a frame and of a file
 * (variables.c), where one lives (dwarf-value.c), and types (dwarf-types.c). Registers and memory
 * come from the caller, so a stopped process and a core file would serve alike.
 */
#ifndef SYMBOLS_VARIABLES_H
#define SYMBOLS_VARIABLES_H

#include "base/err.h"
#include "lang/lang.h"
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
	const struct frame_registers *frame; /* NULL: there are none but by `reg` */
	/* The value of a register by its number in the DWARF, where frame is NULL. NULL, or why it
	 * has none. */
	const char *(*reg)(void *arg, uint64_t number, uint64_t *ret);
	/* Makes of a value's place what the program means by it, where addresses in the DWARF are
	 * not the program's; may be NULL. */
	struct err *(*settle)(void *arg, const char *name, struct lang_value *v);
	Dwarf_Addr pc;	     /* in the DWARF's terms, for location lists */
	uint64_t load_bias;  /* address in the program = DWARF address + this */
	Dwarf_Die *function; /* whose frame base counts */
};

enum dwarf_place_kind {
	PLACE_NONE,    /* optimised out here */
	PLACE_MEMORY,  /* addr */
	PLACE_VALUE,   /* value: in a register or computed */
	PLACE_BYTES,   /* bytes: in the file */
	PLACE_UNKNOWN, /* a form that we do not evaluate; why */
};
struct dwarf_place {
	enum dwarf_place_kind kind;
	uint64_t addr, value;
	const void *bytes; /* nbytes of them; live as long as the file is open */
	size_t nbytes;
	const char *why;
};
/* Where var (a variable or parameter) is at ctx->pc. */
struct dwarf_place dwarf_locate(const struct dwarf_context *ctx, Dwarf_Die *var);
/* A number that an attribute computes, or that is in the variable it refers to. */
bool dwarf_number_at(const struct dwarf_context *ctx, Dwarf_Attribute *attr, uint64_t *ret);

/* The names of a file with DWARF. */
struct file_names;
/* Those of path, with types that live as long as l (which has to outlive s); NULL: the file has no
 * debug information. Lives as long as s, and until it is asked for with another l. */
struct file_names *symbols_names(struct symbols *s, struct lang *l, const char *path);
/* DWARF address = ELF address - this. */
uint64_t file_names_bias(const struct file_names *f);

/* A frame: the function that is `depth` inlined calls out from the innermost one of sc. Its
 * functions set ctx->function. */
struct variables_frame {
	struct file_names *names;
	struct dwarf_context *ctx;
	const struct symbols_scope *sc;
	unsigned depth;
	unsigned which; /* for frame_variables(): enum variables_which; 0: all */
};
enum variables_which { VARIABLES_ARGS = 1, VARIABLES_LOCALS = 2 };
/* Calls each for all variables and arguments, innermost block first. One whose value is not known
 * is void, and why says why. Values are freed behind each call. */
void frame_variables(const struct variables_frame *f,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg);
/* A call that the compiler inlined: what it calls, and where the call is. */
struct inlined_call {
	const char *function; /* mangled if it is known so; NULL: not known */
	uint64_t file;	      /* number in the unit's line table */
	unsigned line;
};
/* The call that made the function `depth` inlined calls out; false: it was not inlined. */
bool scope_inlined(const struct symbols_scope *sc, unsigned depth, struct inlined_call *ret);
/* Finds a variable, an enumerator or a type, innermost block first. */
struct err *frame_variable(const struct variables_frame *f, const char *name,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
const struct lang_type *frame_type(const struct variables_frame *f, const char *name);
/* Calls each for the variables and parameters that code at the scope's address can name, innermost
 * block first, out to the function that holds it: no values. line: of the declaration, 0: not
 * known. */
void scope_variables(struct file_names *f, const struct symbols_scope *sc,
	void (*each)(void *arg, const char *name, const struct lang_type *type, unsigned line,
		bool parameter),
	void *arg);
/* Whether it is the function that nvcc makes for a kernel: its variables are nobody's. */
bool frame_is_stub(const struct variables_frame *f);

/* Finds a variable outside of functions, a function or an enumerator; one of the unit of `near`
 * (may be NULL) first. ctx needs no frame. */
struct err *file_variable(struct file_names *f, struct dwarf_context *ctx, Dwarf_Die *near,
	const char *name, struct lang_value *ret, bool *ret_found) TS_CHECK;
/* The same among what other files see. */
struct err *file_external(struct file_names *f, struct dwarf_context *ctx, const char *name,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
/* The type of a variable, parameter or member of the file. */
const struct lang_type *file_type_of(struct file_names *f, Dwarf_Die *die);
/* "point" or "struct point"; NULL: there is none. */
const struct lang_type *file_type(struct file_names *f, Dwarf_Die *near, const char *name);

#endif
