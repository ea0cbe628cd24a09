/* SPDX-License-Identifier: Apache-2.0
 *
 * Which symbol an address belongs to, as dwfl_module_addrinfo() says it. That function reads the
 * whole table for each question, a tenth of a second in a library with two million symbols, and the
 * stacks of a training are a thousand questions. Here the symbols are sorted once.
 */
#ifndef SYMBOLS_SYMTAB_H
#define SYMBOLS_SYMTAB_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

struct symtab; /* of one module */

/* The symbol's name, NULL: none; *ret_sym and *ret_offset (from its beginning) when there is one.
 * *tab is made when it is worth it, and the caller frees it; NULL at first. One thread at a time.
 */
const char *symtab_find(struct symtab **tab, Dwfl_Module *m, uint64_t addr, GElf_Off *ret_offset,
	GElf_Sym *ret_sym);
void symtab_free(struct symtab *t); /* NULL is fine */

#endif
