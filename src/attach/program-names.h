/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's own variables and types, by its debug information, as values of expressions. They
 * are those of a program that is stopped. Types live as long as l, which outlives the inferior.
 */
#ifndef ATTACH_PROGRAM_NAMES_H
#define ATTACH_PROGRAM_NAMES_H

#include <sys/types.h>
#include "base/buf.h"
#include "base/err.h"
#include "lang/lang.h"
#include "symbols/kernel-params.h"

struct inferior;

/* Which names are meant: those of a frame of a thread, and of the program round it. Where the frame
 * has no debug information, or is what nvcc makes for a kernel, they are those of the nearest one
 * further out that has. */
struct program_place {
	struct inferior *inf;
	struct lang *l;
	pid_t tid;
	unsigned frame; /* as backtraces count */
};

/* A variable or enumerator of the frame; else one outside of functions, or a function, of the file
 * that the frame lies in, then of the program. */
struct err *program_variable(const struct program_place *p, const char *name,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
/* A variable or function that a library, which the program has loaded, offers to others. */
struct err *program_library_variable(const struct program_place *p, const char *name,
	struct lang_value *ret, bool *ret_found) TS_CHECK;
/* A type by name, "struct point" or "real_t"; NULL: there is none. */
const struct lang_type *program_type(const struct program_place *p, const char *name);
/* The parameters of a kernel, by the first of the program's files whose debug information has it;
 * *ret_file (may be NULL) is that file, for as long as the program runs. False: none has. The
 * caller frees *ret. */
bool program_kernel_params(const struct program_place *p, const char *mangled,
	struct kernel_params *ret, const char **ret_file);
/* What of the program's files has the address; ret->module is the file. False: nothing has. */
bool program_symbol(const struct program_place *p, uint64_t addr, struct symbol *ret);
/* Appends " <main+4>", what of the program's files has the address. */
void program_describe(const struct program_place *p, uint64_t addr, struct buf *out);

/* Calls each for all variables and arguments of the frame itself, innermost block first. One whose
 * value is not known is void, and why says why. *ret_known: there is debug information. */
struct err *program_locals(const struct program_place *p,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg, bool *ret_known) TS_CHECK;

#endif
