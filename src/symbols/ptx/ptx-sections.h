/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: the debug sections of a PTX text as bytes.
 */
#ifndef SYMBOLS_PTX_SECTIONS_H
#define SYMBOLS_PTX_SECTIONS_H

#include <stdbool.h>
#include "base/buf.h"

/* Addresses of variables: number + 1 of the name, times this, and the offset. */
#define PTX_SYMBOL_SIZE (1ull << 40)

enum { PTX_SECTIONS_MAX = 24 };
struct ptx_section {
	char name[32]; /* ".debug_info" */
	struct buf bytes;
};
struct ptx_file {
	uint64_t number;
	char *name;
};
/* A `.loc` (PTX ISA 9.0, 11.5.2) whose code was inlined: from its line of the PTX to the next
 * `.loc`. */
struct ptx_place {
	uint64_t file, line, column;
};
struct ptx_loc_line {
	unsigned ptx_line;
	bool inlined;
	struct ptx_place own, call; /* call: where the function was inlined */
	uint64_t name;		    /* of the function: offset in .debug_str */
};
struct ptx_sections {
	struct ptx_section v[PTX_SECTIONS_MAX];
	unsigned n;
	char **symbols; /* of the PTX, that the sections refer to */
	unsigned nsymbols, symbols_cap;
	struct ptx_file *files; /* by `.file` */
	unsigned nfiles, files_cap;
	struct ptx_loc_line *locs; /* all of them, by line; empty if none is inlined */
	unsigned nlocs, locs_cap;
};
/* False: the text has neither debug sections nor inlined lines, or what is there cannot be read.
 * *ret is to be freed either way. */
bool ptx_sections_read(const char *text, struct ptx_sections *ret);
void ptx_sections_free(struct ptx_sections *s);
/* An ELF file with these sections, in out. */
void ptx_sections_elf(const struct ptx_sections *s, struct buf *out);

#endif
