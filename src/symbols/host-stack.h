/* SPDX-License-Identifier: Apache-2.0
 *
 * Host call stacks with names: frames of a stopped thread (the room attach makes them) or recorded
 * ones, and which of them a user wants to see.
 */
#ifndef SYMBOLS_HOST_STACK_H
#define SYMBOLS_HOST_STACK_H

#include "sbt/sbt.h"
#include "symbols/symbols.h"

struct backtrace_frame {
	uint64_t pc, sp;
	struct symbol sym;
	bool inlined;	  /* an inlined call within the frame that follows */
	bool python;	  /* a Python function: pc is 0, sym has function, file and line */
	bool device;	  /* a GPU thread's: pc is a line of the PTX */
	bool interpreter; /* CPython's own, and there are Python frames */
	/* For inferior_frame_locals(); of Python frames, the native one that runs them. */
	unsigned number;
};

struct stack {
	struct backtrace_frame *frames; /* innermost first, inlined calls expanded; heap */
	unsigned n;
	bool recorded; /* out of the trace: pc is an ELF virtual address */
	/* of a recorded one: the first file that is gone, or not the one that was recorded; NULL:
	 * none. names_kept: the trace itself has names of its frames */
	const char *changed;
	bool names_kept;
	/* Set by stack_hide(): the call came through the GPU's runtime, not straight to the driver.
	 */
	bool through_runtime;
};
void stack_free(struct stack *st);

/* Appends a Python function; p NULL: it is not known. What p points to must live as long as st. */
void stack_add_python(struct stack *st, const struct sbt_place *p);
/* Appends the functions at offset f->offset of the file m; m NULL: in no file. */
void stack_add_native(struct stack *st, struct symbols *s, const struct sbt_host_module *m,
	const struct sbt_frame *f);
/* The recorded stack with this id. Its texts live as long as r and s. */
struct err *stack_read(
	struct stack *ret, struct symbols *s, struct sbt_reader *r, uint32_t id) TS_CHECK;

/* Python functions in place of the interpreter's own frames; only them; everything else. */
enum stack_only { STACK_MIXED, STACK_PYTHON, STACK_NATIVE };
struct stack_shown {
	enum stack_only only;
	bool agent;	  /* with the frames of the agent, CUPTI and the driver */
	bool runtime;	  /* with the GPU runtime's */
	bool interpreter; /* with CPython's own beside Python functions */
	bool past_main;	  /* with what called main() */
};
/* Whether a file is the agent's, the driver's or the GPU runtime's. */
bool stack_is_runtime_file(const char *path);
/* Whether a function comes from a header of the GPU runtime, such as cudaMalloc<float>(), which the
 * program's own code includes. */
bool stack_is_runtime_header(const struct symbol *sym);
/* Leaves out the frames that are not wanted; marks the interpreter's. */
void stack_hide(struct stack *st, const struct stack_shown *shown);

#endif
