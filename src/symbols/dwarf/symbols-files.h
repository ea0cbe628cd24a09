/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: the files that a struct symbols has open.
 */
#ifndef SYMBOLS_FILES_H
#define SYMBOLS_FILES_H

#include "symbols/symbols.h"

/* What somebody keeps of a file; free(kept) is called before it is closed. */
struct file_kept {
	void *kept; /* NULL: nothing yet */
	void (*free)(void *kept);
};
/* The DWARF of path; NULL: it has none. DWARF address = ELF address - *ret_bias. */
Dwarf *symbols_dwarf(
	struct symbols *s, const char *path, Dwarf_Addr *ret_bias, struct file_kept **ret_kept);

#endif
