/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: names of a DWARF that is in no file of struct symbols.
 */
#ifndef SYMBOLS_FILE_NAMES_H
#define SYMBOLS_FILE_NAMES_H

#include "symbols/variables.h"

/* DWARF address = ELF address - bias. dw and l outlive it. */
struct file_names *file_names_new(Dwarf *dw, struct lang *l, Dwarf_Addr bias);
void file_names_free(struct file_names *f); /* NULL is fine */

#endif
