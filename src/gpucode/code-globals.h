/* SPDX-License-Identifier: Apache-2.0
 *
 * The variables that GPU code of any kind declares outside functions. For the agent: allocates
 * nothing.
 */
#ifndef GPUCODE_CODE_GLOBALS_H
#define GPUCODE_CODE_GLOBALS_H

#include <stddef.h>
#include <stdint.h>

/* name: n bytes, which no NUL need end. A name may come twice, and be one that no driver knows: the
 * compiler's own. */
typedef void code_global_fn(void *arg, const char *name, size_t n);
typedef void code_cell_fn(void *arg, const char *variable, uint64_t offset);

/* Calls fn for each variable. Damaged code, and what is none, has fewer, or none. */
void code_globals(const void *code, size_t size, code_global_fn *fn, void *arg);
/* Calls fn for each word of a variable that holds a function's address (cubin-cells.h), one
 * variable after the other. */
void code_global_cells(const void *code, size_t size, code_cell_fn *fn, void *arg);

#endif
