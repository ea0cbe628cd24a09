/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and types of a kernel's parameters. Types come from the debug information of the host
 * program, where the compiler leaves a function with the kernel's name, or from the mangled name.
 * nvcc calls that function's parameters __cuda_0, __cuda_1 ..., but for templates; the real names
 * then come from the kernel's declaration in its source, if it agrees with the types. What is not
 * certain is NULL.
 */
#ifndef SYMBOLS_KERNEL_PARAMS_H
#define SYMBOLS_KERNEL_PARAMS_H

#include <stdbool.h>
#include "lang/lang.h"
#include "sbt/cmd.h"
#include "symbols/symbols.h"

struct kernel_param {
	char *name;		      /* heap; NULL: not known */
	const struct lang_type *type; /* lives as long as the struct lang; NULL: not known */
};
struct kernel_params {
	struct kernel_param *v; /* heap */
	unsigned n;
	bool named;    /* all have their names */
	bool newer;    /* a source would name them, but is newer than the program */
	char *file;    /* of the declaration, as the compiler has it; heap; NULL: not known */
	char *folder;  /* in which it was compiled, where file is relative; heap, NULL: not known */
	unsigned line; /* of the kernel's name there */
};
void kernel_params_free(struct kernel_params *p);
/* Whether number and sizes are those of a recorded layout: pairs of offset and size (kernel_def).
 */
bool kernel_params_fit(const struct kernel_params *p, const struct sbt_blob *layout);

/* By the debug information of the file path; false: it has none about this kernel. *ret is to be
 * freed either way. */
bool kernel_params_of_file(struct symbols *s, struct lang *l, const char *path, const char *mangled,
	struct kernel_params *ret);
/* Types by the mangled name alone. named_type finds structs by name and may be NULL; what it does
 * not find has no type. False: the name is not mangled, or not understood. */
bool kernel_params_of_name(struct symbols *s, struct lang *l,
	const struct lang_type *(*named_type)(void *arg, const char *name), void *arg,
	const char *mangled, struct kernel_params *ret);
/* Takes the names from a source text that declares `kernel` (its last name, "adam") in p->line.
 * Does nothing unless number and types of the parameters agree with p's, of which all types must be
 * known. Returns whether it did. */
bool kernel_params_take_names(struct kernel_params *p, const char *kernel, const char *text);

#endif
