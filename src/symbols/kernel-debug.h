/* SPDX-License-Identifier: Apache-2.0
 *
 * The debug information of kernels in their PTX (`nvcc -G`): its `.section .debug_*` (PTX ISA 9.0,
 * 11.5.3) are DWARF whose numbers are text. They are read as an ELF file would be. An address of
 * code is the number of a line of the PTX text here; one of a variable is a number of ours that
 * kernel_debug_symbol() takes apart.
 */
#ifndef SYMBOLS_KERNEL_DEBUG_H
#define SYMBOLS_KERNEL_DEBUG_H

#include <stdbool.h>
#include "symbols/variables.h"

struct kernel_debug;
/* Reads text, which is not needed any more afterwards. NULL: it has no debug information, and says
 * of no line that it was inlined. The types
 * live as long as l, which has to outlive it. */
struct kernel_debug *kernel_debug_new(struct lang *l, const char *text);
void kernel_debug_free(struct kernel_debug *d); /* NULL is fine */
/* The DWARF scopes of the instruction at a line of the PTX; false: there are none. The caller frees
 * ret->scopes. */
bool kernel_debug_scopes(struct kernel_debug *d, unsigned line, struct symbols_scope *ret);
/* NULL: there are no variables. */
struct file_names *kernel_debug_names(struct kernel_debug *d);
/* The call that made the function `depth` inlined calls out of the instruction at a line of the
 * PTX, by its debug information, or by `.loc` (nvcc -lineinfo). False: it was not inlined. */
bool kernel_debug_inlined(
	struct kernel_debug *d, unsigned line, unsigned depth, struct inlined_call *ret);
/* The variable of the PTX that addr is in, and how far behind its beginning; NULL: addr is no
 * address of one. Lives as long as d. */
const char *kernel_debug_symbol(const struct kernel_debug *d, uint64_t addr, uint64_t *ret_offset);
/* What `.file NUMBER "..."` says; NULL: nothing. Lives as long as d. */
const char *kernel_debug_file(const struct kernel_debug *d, uint64_t number);
/* A register's number in the DWARF of PTX is its name: the characters, the first one in the highest
 * byte. False: the number is no name. */
bool kernel_debug_register(uint64_t number, char ret[9]);

#endif
